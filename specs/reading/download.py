"""Downloading a document over HTTP, within a time limit and a size limit, from the host that the URL names."""

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit, urlunsplit

from restgpt.specs.problem import SpecError

if TYPE_CHECKING:
    import requests

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


def fetch_url(url: str) -> Download:
    """Download a document; raises SpecError, whose message holds no secrets of the URL.

    A redirect to another host is refused: that host may be inside a private network.
    """
    import requests

    try:
        label, address = public_url(url), url
    except ValueError:
        raise SpecError("cannot fetch the document: its URL cannot be read") from None
    try:
        with requests.Session() as session:
            user = requests.utils.get_auth_from_url(url)
            session.auth = user if any(user) else None
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
    chunks, size, end = [], 0, time.monotonic() + DOWNLOAD_SECONDS
    for chunk in reply.iter_content(1 << 16):
        if time.monotonic() > end:
            raise SpecError(f"cannot fetch {label}: it took more than {DOWNLOAD_SECONDS:.0f} seconds")
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
