"""Read an HTTP response from its final answer, whose head must be whole: `http.client` reads neither so.

It takes an interim answer, such as 102 or 103, for the final one, which is then left on the connection as the answer to
the next request (RFC 9110, section 15.2). And it takes the end of the connection for that of the head: such an answer
may lack any of its headers, and its status says nothing certain about the request (RFC 9112, section 8).

Downloading a document over HTTP, within a time limit and a size limit, from the host that the URL names.

The source of a document: a path, a URL, text, bytes or a mapping, read as bytes.

The OpenAPI documents that are installed with the package: toy, tmdb and spotify.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from http.client import BadStatusLine, HTTPResponse, IncompleteRead
from importlib.resources import files
from importlib.resources.abc import Traversable
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit, urlunsplit

from restgpt.specs.problem import SpecError
from restgpt.specs.reading.json_text import encode_json

if TYPE_CHECKING:
    import requests

    from restgpt.specs.watchdog import Watchdog

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


FETCH_SECONDS = 30.0
DOWNLOAD_SECONDS = 300.0
DOCUMENT_MOST = 150_000_000
"""The maximum size of a document in bytes, twice that of the largest published ones."""

REDIRECTS = 5
PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Download:
    """A downloaded document.

    `label` is the URL that was asked for, `location` the URL after redirects, both without user, password, query and
    fragment.
    """

    label: str
    location: str
    data: bytes = field(repr=False)


def public_url(url: str) -> str:
    """Return a URL without user, password, query and fragment, which can hold secrets."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path, "", ""))


def fetch_url(url: str, *, seconds: float = DOWNLOAD_SECONDS) -> Download:
    """Download a document; raises SpecError, whose message holds no secrets of the URL.

    A redirect to another host is refused: that host may be inside a private network. The download with its redirects
    ends after `seconds`, however slowly the server sends.
    """
    # Imported here because it loads socket, which takes longer to import than most documents to read.
    from restgpt.specs.watchdog import Watchdog

    try:
        label = public_url(url)
    except ValueError:
        raise SpecError("cannot fetch the document: its URL cannot be read") from None
    watchdog = Watchdog()
    try:
        with watchdog.within(seconds):
            found = _download(url, label, watchdog)
    except SpecError:
        if not watchdog.was_aborted:
            raise
    # A head or a body that the watchdog cut off can look like a whole one.
    if watchdog.was_aborted:
        raise SpecError(f"cannot fetch {label}: it took more than {seconds:g} seconds")
    return found


def _download(url: str, label: str, watchdog: "Watchdog") -> Download:
    """Send the requests of a download; raises SpecError."""
    import requests

    address = url
    try:
        with requests.Session() as session:
            user = requests.utils.get_auth_from_url(url)
            session.auth = user if any(user) else None
            _watch(session, watchdog)
            for _ in range(REDIRECTS + 1):
                with session.get(address, timeout=FETCH_SECONDS, stream=True, allow_redirects=False) as reply:
                    if not reply.is_redirect:
                        return Download(label, public_url(address), _body(reply, label))
                    address = _redirected(address, reply.headers["location"], label)
    except requests.ConnectionError as error:
        raise SpecError(
            f"cannot fetch {label}: no connection ({type(error).__name__}); check the address and the network"
        ) from None
    except requests.RequestException as error:
        raise SpecError(f"cannot fetch {label}: {type(error).__name__}") from None
    raise SpecError(f"cannot fetch {label}: it redirects more than {REDIRECTS} times")


def _watch(session: "requests.Session", watchdog: "Watchdog") -> None:
    """Let the session tell the watchdog the socket of each connection that it opens, through a proxy too."""
    from requests.adapters import HTTPAdapter

    class WatchedAdapter(HTTPAdapter):
        def init_poolmanager(self, *args: Any, **options: Any) -> None:
            super().init_poolmanager(*args, **options)
            self.poolmanager.pool_classes_by_scheme = _watched(self.poolmanager.pool_classes_by_scheme, watchdog)

        def proxy_manager_for(self, *args: Any, **options: Any) -> Any:
            manager = super().proxy_manager_for(*args, **options)
            manager.pool_classes_by_scheme = _watched(manager.pool_classes_by_scheme, watchdog)
            return manager

    session.mount("http://", WatchedAdapter())
    session.mount("https://", WatchedAdapter())


def _watched(pools: Mapping[str, Any], watchdog: "Watchdog") -> dict[str, Any]:
    """Connection pool classes whose connections tell the watchdog their socket."""

    def connection(base: Any) -> Any:
        class WatchedConnection(base):  # type: ignore[misc]
            response_class = WholeHeadResponse

            def connect(self) -> None:
                super().connect()
                # A TLS connection inside that of a TLS proxy is no socket, but has one.
                watchdog.use_socket(getattr(self.sock, "socket", self.sock))

        return WatchedConnection

    return {
        scheme: type("WatchedPool", (pool,), {"ConnectionCls": connection(pool.ConnectionCls)})
        for scheme, pool in pools.items()
    }


def _redirected(address: str, location: str, label: str) -> str:
    """Return the target of a redirect; raises SpecError if it is on another host."""
    try:
        target = urljoin(address, location)
        if _is_same_host(address, target):
            return target
        shown = public_url(target)
    except ValueError:
        raise SpecError(f"cannot fetch {label}: it redirects to an address that cannot be read") from None
    raise SpecError(
        f"cannot fetch {label}: it redirects to {shown}, another host; give that address to read from there"
    )


def _body(reply: "requests.Response", label: str) -> bytes:
    if not reply.ok:
        raise SpecError(f"cannot fetch {label}: the server answered {reply.status_code}")
    chunks, size = [], 0
    for chunk in reply.iter_content(1 << 16):
        chunks.append(chunk)
        size += len(chunk)
        if size > DOCUMENT_MOST:
            raise SpecError(f"cannot fetch {label}: it is larger than {DOCUMENT_MOST:,} bytes")
    return b"".join(chunks)


def _is_same_host(url: str, target: str) -> bool:
    """Tell whether a redirect stays on the same origin, or only changes its scheme from http to https."""
    here, there = urlsplit(url), urlsplit(target)
    if here.hostname != there.hostname:
        return False
    ports = here.port or PORTS.get(here.scheme), there.port or PORTS.get(there.scheme)
    is_upgrade = (here.scheme, there.scheme, *ports) == ("http", "https", 80, 443)
    return is_upgrade or (here.scheme == there.scheme and ports[0] == ports[1])


@dataclass(frozen=True)
class Source:
    """The bytes of a document and the place that they were read from.

    Messages show `label`: for a URL, without user, password, query and fragment. `location` is the absolute URL or
    file URI that relative servers and references are resolved against, None for text and mappings.
    """

    label: str
    location: str | None
    data: bytes = field(repr=False)
    path: Path | None = None

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the bytes in hexadecimal, the key of the index on disk."""
        return hashlib.sha256(self.data).hexdigest()


def read_source(source: "str | Path | bytes | Mapping[str, Any]") -> Source:
    """Read the bytes of a document; raises SpecError if they cannot be read, or are too many."""
    found = _read(source)
    if len(found.data) > DOCUMENT_MOST:
        raise SpecError(f"the document {found.label} has {len(found.data):,} bytes, of {DOCUMENT_MOST:,} that are read")
    return found


def _read(source: "str | Path | bytes | Mapping[str, Any]") -> Source:
    if isinstance(source, Mapping):
        return Source("mapping", None, encode_json(source))
    if isinstance(source, bytes):
        return Source("text", None, source)
    if isinstance(source, Path):
        return _read_file(source)
    if not isinstance(source, str):
        raise SpecError(f"a document is a path, a URL, text, bytes or a mapping, not {type(source).__name__}")
    if source.lower().startswith(("http://", "https://")):
        download = fetch_url(source)
        return Source(download.label, download.location, download.data)
    if source.startswith("file://"):
        return _read_file(Path(urlsplit(source).path))
    if "\n" in source or source.lstrip().startswith(("{", "[", "<")) or ": " in source:
        return Source("text", None, source.encode())
    return _read_file(Path(source))


def _read_file(path: Path) -> Source:
    try:
        with path.expanduser().open("rb") as file:
            data = file.read(DOCUMENT_MOST + 1)
    except OSError as error:
        raise SpecError(f"cannot read {path}: {error.strerror or error}") from None
    except (ValueError, RuntimeError) as error:
        raise SpecError(f"cannot read {str(path)[:200]!r}: {error}") from None
    place = path.expanduser().resolve()
    return Source(str(path), place.as_uri(), data, path=place)


def bundled_document(name: str) -> Traversable:
    """The file of the document `name`."""
    return files("restgpt.specs").joinpath("openapi", f"{name}.yaml")
