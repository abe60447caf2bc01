"""Guards the reading of chunked bodies: as the parser does it, whatever their chunks are and however they arrive."""

import io
import random
import socket
from http.client import HTTPResponse, IncompleteRead

import pytest

from restgpt.specs.reading.download import WholeHeadResponse

HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


class Arriving(io.RawIOBase):
    """A connection whose bytes arrive in pieces of these sizes, over and over."""

    def __init__(self, data: bytes, sizes: list[int]) -> None:
        self._data, self._sizes, self.reads = data, sizes, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "bytearray") -> int:  # type: ignore[override]
        size = min(len(buffer), self._sizes[self.reads % len(self._sizes)])
        self.reads += 1
        piece, self._data = self._data[:size], self._data[size:]
        buffer[: len(piece)] = piece
        return len(piece)


class Sock(socket.socket):
    def __init__(self, raw: Arriving) -> None:
        super().__init__()
        self._raw = raw

    def makefile(self, *args: object, **options: object) -> io.BufferedReader:  # type: ignore[override]
        return io.BufferedReader(self._raw)


def body_of(kind: type[HTTPResponse], data: bytes, sizes: list[int], most: int) -> tuple[bytes, int]:
    """The body as it is read in pieces of at most `most` bytes, and how many pieces there were."""
    with Sock(Arriving(HEAD + data, sizes)) as sock:
        response = kind(sock)
        response.begin()
        pieces = []
        while piece := response.read1(most):
            pieces.append(piece)
    return b"".join(pieces), len(pieces)


def chunked(parts: list[bytes], extension: bytes = b"") -> bytes:
    return b"".join(b"%x%s\r\n%s\r\n" % (len(part), extension, part) for part in parts) + b"0\r\n\r\n"


@pytest.mark.parametrize("extension", [b"", b";a=b", b' ; q="x"'])
@pytest.mark.parametrize("sizes", [[1], [2, 3, 50], [8192]])
@pytest.mark.parametrize("most", [1, 7, 65_536])
def test_a_chunked_body_is_read_as_the_parser_reads_it(extension: bytes, sizes: list[int], most: int) -> None:
    chance = random.Random(f"{extension!r}{sizes}{most}")
    parts = [chance.randbytes(chance.choice([1, 1, 2, 15, 16, 300])) for _ in range(60)]
    data = chunked(parts, extension)
    assert body_of(WholeHeadResponse, data, sizes, most)[0] == b"".join(parts)
    assert body_of(HTTPResponse, data, sizes, most)[0] == b"".join(parts)


def test_small_chunks_that_arrive_together_are_read_together() -> None:
    parts = [b"x"] * 20_000
    body, pieces = body_of(WholeHeadResponse, chunked(parts), [8192], 65_536)
    assert (len(body), pieces < 100) == (20_000, True)


@pytest.mark.parametrize("data", [b"1\r\nx\r\n5\r\nxx", b"1\r\nx\r\n1\r\nx", b"1\r\nx\r\nzz\r\nx\r\n"])
def test_a_body_that_is_broken_is_as_broken_as_for_the_parser(data: bytes) -> None:
    found = []
    for kind in (WholeHeadResponse, HTTPResponse):
        try:
            found.append(body_of(kind, data, [8192], 100)[0])
        except (IncompleteRead, ValueError) as error:
            found.append(type(error).__name__.encode())
    assert found[0] == found[1]
