"""Undoing the compression of answers a bounded piece at a time, since a few bytes can be made to fill the memory."""

import zlib

from restgpt.tools.errors import BoundFault, BrokenFault
from restgpt.tools.network.addresses import Origin

LONGEST_ENCODING = 40


class Decoder:
    """Undoes Content-Encoding a bounded piece at a time: gzip, deflate, or none."""

    def __init__(self, encoding: str, origin: Origin) -> None:
        self._origin = origin
        names = [name.strip().lower() for name in encoding.split(",")]
        self._names = [name for name in reversed(names) if name not in ("", "identity")]
        if len(self._names) > 1 or any(name not in ("gzip", "x-gzip", "deflate") for name in self._names):
            # Never cut: half a secret in it would not be recognised.
            named = repr(encoding) if len(encoding) <= LONGEST_ENCODING else "something"
            raise BoundFault(f"{origin} compressed its answer as {named}, which was not asked for")
        self._inflater = zlib.decompressobj(zlib.MAX_WBITS | 32) if self._names else None
        self._seen = b""

    @property
    def is_complete(self) -> bool:
        """Whether the compressed data came to its end."""
        return self._inflater is None or self._inflater.eof or not self._seen

    def decode(self, chunk: bytes, most: int) -> bytes:
        """Decode the next piece, at most `most` bytes of it."""
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
                    # Several gzip members follow each other (RFC 1952 section 2.2); zeros are padding.
                    if not chunk.strip(b"\0"):
                        break
                    self._inflater = zlib.decompressobj(zlib.MAX_WBITS | 32)
                parts.append(self._inflater.decompress(chunk, left))
                left -= len(parts[-1])
                chunk = self._inflater.unconsumed_tail or self._inflater.unused_data
        except zlib.error:
            fault = BrokenFault(f"{self._origin} sent broken compressed data; try again")
        else:
            return b"".join(parts)
        raise fault
