"""Servers of a document, and the base URL of requests (OpenAPI Server Object)."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin, urlsplit

from restgpt.specs.problem import Problem

VARIABLE = re.compile(r"\{([^{}]*)\}")

_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")


@dataclass(frozen=True, slots=True)
class Server:
    """One server URL as the document writes it, possibly relative; `defaults` fill the variables in braces."""

    url: str
    defaults: Mapping[str, str]

    def filled(self) -> str:
        """Return the URL with the default of each variable; braces without a default stay."""
        return VARIABLE.sub(lambda match: self.defaults.get(match.group(1), match.group(0)), self.url)

    @property
    def path(self) -> str:
        """The path of a server without a host, which follows the host that someone names; empty for any other."""
        filled = self.filled()
        return "" if _ABSOLUTE.match(filled) or "{" in filled else filled.strip("/")


ROOT = Server("/", {})
"""The server of a document that names none (OpenAPI 3.1, section 4.8.1)."""


def read_servers(raw: Any) -> tuple[Server, ...]:
    """Read the `servers` list of a document, a path or an operation; entries without a URL are left out."""
    if not isinstance(raw, list):
        return ()
    return tuple(
        Server(item["url"].strip(), _defaults(item.get("variables")))
        for item in raw
        if isinstance(item, dict) and isinstance(item.get("url"), str)
    )


def server_problems(servers: Iterable[Server], pointer: str) -> list[Problem]:
    """List the servers whose URL has a query; the Server Object does not allow one, and requests leave it out."""
    return [
        Problem(pointer, f"the query of the server URL ({_names(server.url)}) is left out of every request")
        for server in servers
        if "?" in server.url.partition("#")[0]
    ]


def _names(url: str) -> str:
    """Return the names in the query of a URL, without the values, which may be secret."""
    query = url.partition("#")[0].partition("?")[2]
    return ", ".join(part.partition("=")[0] for part in query.split("&"))


def _defaults(raw: Any) -> dict[str, str]:
    """Read the default of each server variable, else the first of its `enum`."""
    if not isinstance(raw, dict):
        return {}
    defaults: dict[str, str] = {}
    for name, item in raw.items():
        if not isinstance(item, dict):
            continue
        enum = item.get("enum")
        values = [item.get("default"), *(enum if isinstance(enum, list) else ())]
        default = next((str(value) for value in values if value is not None), None)
        defaults |= {} if default is None else {name: default}
    return defaults


def no_host(servers: Iterable[Server]) -> str:
    """Return the sentence that no server has a host, with the first one."""
    server = next(iter(servers), ROOT)
    follows = ", which follows a base URL without a path" if server.path else ""
    return f"the document names no host (its server is {server.url!r}{follows})"


def with_path(base_url: str, servers: Iterable[Server]) -> str:
    """Return a base URL without a slash at its end; one of a host alone gets the path of a server without a host."""
    parts = base_url.split("/", 3)
    server = next(iter(servers), ROOT)
    is_host = not "".join(parts[3:]) and server.path
    return ((is_host and absolute_url(server, base_url)) or base_url).rstrip("/")


def absolute_url(server: Server, location: str | None) -> str | None:
    """Return the base URL of a server without query and trailing slash, or None without a host or a value."""
    url = server.filled()
    try:
        if location is not None and location.startswith(("http://", "https://")):
            url = urljoin(location, url)
        elif url.startswith("//"):
            url = "https:" + url
        parts = urlsplit(url) if "{" not in url else None
    except ValueError:
        # urlsplit reads a placeholder in brackets, as in `https://[host]/v1`, as a broken IPv6 address.
        return None
    if parts is None or parts.scheme not in ("http", "https") or not parts.netloc:
        return None
    return url.split("#")[0].split("?")[0].rstrip("/")
