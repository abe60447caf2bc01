"""Refuse an HTTP answer whose head never ended: Python's parser takes the end of the connection for that of the head.

Such an answer may lack any of its headers, and its status says nothing certain about the request (RFC 9112, section 8).
"""

from http.client import HTTPResponse, IncompleteRead
from typing import Any


class WholeHeadResponse(HTTPResponse):
    """An HTTP response whose status line and headers were followed by an empty line."""

    def begin(self) -> None:
        """Read the head; raises `IncompleteRead` if the connection ended before the head did."""
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
