"""Read an HTTP response from its final answer, whose head must be whole: `http.client` reads neither so.

It takes an interim answer, such as 102 or 103, for the final one, which is then left on the connection as the answer to
the next request (RFC 9110, section 15.2). And it takes the end of the connection for that of the head: such an answer
may lack any of its headers, and its status says nothing certain about the request (RFC 9112, section 8).
"""

import re
from http.client import BadStatusLine, HTTPResponse, IncompleteRead
from itertools import count
from typing import Any

SWITCHING_PROTOCOLS = 101
_SIZE = re.compile(rb"[0-9A-Fa-f]{1,4}")
"""The size of a small chunk without extensions (RFC 9112, section 7.1); of any other one, the parser reads."""
MOST_HEADS, MOST_TRAILERS, LONGEST_LINE = 100, 100, 65_537
"""The most interim heads and trailers of an answer, and bytes of a trailer that are read at once."""


class WholeHeadResponse(HTTPResponse):
    """The final answer to a request, whose status line and headers were followed by an empty line."""

    def begin(self) -> None:
        """Read the interim heads and the final one.

        Raises `IncompleteRead` if the connection ended before a head did, and `BadStatusLine` for a switch of protocols
        (RFC 9110, section 15.2.2), which nobody asked for, or for more than `MOST_HEADS` interim heads.
        """
        self._begin()
        for number in count():
            if not 100 <= self.status < 200:
                return
            if self.status == SWITCHING_PROTOCOLS or number == MOST_HEADS:
                self.close()
                raise BadStatusLine(str(self.status))
            self.headers = self.msg = None  # type: ignore[assignment]
            self._begin()

    def _read1_chunked(self, amount: int) -> bytes:
        """Read all whole chunks that have arrived at once: an answer may come in as many chunks as it has bytes."""
        if self.chunk_left != 0 or amount <= 0:
            return super()._read1_chunked(amount)  # type: ignore[misc, no-any-return]
        arrived, parts, at = self.fp.peek(1), list[bytes](), 0
        while arrived[at : at + 2] == b"\r\n" and (end := arrived.find(b"\r\n", at + 2)) > 0:
            size = arrived[at + 2 : end]
            stop = end + 2 + (int(size, 16) if _SIZE.fullmatch(size) else 0)
            if stop == end + 2 or stop > len(arrived) or stop - at > amount:
                break
            parts.append(arrived[end + 2 : stop])
            amount, at = amount - (stop - at), stop
        self.fp.read(at)
        return b"".join(parts) if parts else super()._read1_chunked(amount)  # type: ignore[misc]

    def _read_and_discard_trailer(self) -> None:
        """Read the trailers of a chunked body, which are bounded like a head; raises `IncompleteRead`."""
        for _ in range(MOST_TRAILERS):
            if self.fp.readline(LONGEST_LINE) in (b"\r\n", b"\n", b""):
                return
        raise IncompleteRead(b"")

    def _begin(self) -> None:
        """Read one head."""
        lines = _Lines(self.fp)
        self.fp = lines  # type: ignore[assignment]
        try:
            super().begin()
        finally:
            if self.fp is lines:  # type: ignore[comparison-overlap]
                self.fp = lines.stream
        # The parser drops the line of HTTP/0.9-like answers itself, so only heads that it accepted are judged here.
        if lines.last not in (b"\r\n", b"\n"):
            self.close()
            raise IncompleteRead(b"")


class _Lines:
    """A stream that remembers the last line that was read from it."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream
        self.last = b""

    def readline(self, *args: Any) -> bytes:
        self.last = self.stream.readline(*args)
        return self.last

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)
