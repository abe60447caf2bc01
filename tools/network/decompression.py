"""Decompression of response bodies in bounded pieces, as a protection against decompression bombs."""

import zlib

from restgpt.tools.errors import BoundFault, BrokenFault
from restgpt.tools.network.addresses import Origin

LONGEST_ENCODING = 40
MOST_MEMBERS = 1000


class Decoder:
    """Decodes a Content-Encoding (gzip, deflate or none) in pieces of bounded size."""

    def __init__(self, encoding: str, origin: Origin) -> None:
        self._origin = origin
        names = [name.strip().lower() for name in encoding.split(",")]
        self._names = [name for name in reversed(names) if name not in ("", "identity")]
        if len(self._names) > 1 or any(name not in ("gzip", "x-gzip", "deflate") for name in self._names):
            # The encoding is shown whole or not at all: redaction would not recognise a part of a secret.
            named = repr(encoding) if len(encoding) <= LONGEST_ENCODING else "something"
            raise BoundFault(f"{origin} compressed its answer as {named}, which was not asked for")
        self._inflater = zlib.decompressobj(zlib.MAX_WBITS | 32) if self._names else None
        self._seen = b""
        self._members = 1

    @property
    def is_complete(self) -> bool:
        """Whether the compressed data is complete."""
        return self._inflater is None or self._inflater.eof or not self._seen

    def decode(self, chunk: bytes, most: int) -> bytes:
        """Decode the next chunk; returns at most `most` bytes."""
        if self._inflater is None:
            return chunk
        if not self._seen and self._names == ["deflate"] and chunk[0] & 0x0F != 8:
            # Some servers send deflate without its zlib wrapper.
            self._inflater = zlib.decompressobj(-zlib.MAX_WBITS)
        self._seen = self._seen or chunk[:1]
        parts, left = [], most
        try:
            while chunk and left > 0:
                if self._inflater.eof:
                    # A gzip file may have several members (RFC 1952 section 2.2); zero bytes after them are padding.
                    if not chunk.strip(b"\0"):
                        break
                    self._members += 1
                    if self._members > MOST_MEMBERS:
                        raise BoundFault(
                            f"{self._origin} sent more than {MOST_MEMBERS:,} compressed pieces in one answer"
                        )
                    self._inflater = zlib.decompressobj(zlib.MAX_WBITS | 32)
                parts.append(self._inflater.decompress(chunk, left))
                left -= len(parts[-1])
                chunk = self._inflater.unconsumed_tail or self._inflater.unused_data
        except zlib.error:
            fault = BrokenFault(f"{self._origin} sent broken compressed data; try again")
        else:
            return b"".join(parts)
        raise fault
