"""Servers of a document, and the base URL of requests (OpenAPI Server Object)."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin, urlsplit

from restgpt.specs.problem import Problem

VARIABLE = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True, slots=True)
class ServerVariable:
    """A variable of a server URL, with its default and the values that it may have (empty: any)."""

    default: str
    enum: tuple[str, ...] = ()
    description: str = ""


@dataclass(frozen=True, slots=True)
class Server:
    """One server URL as the document writes it, possibly relative or with variables in braces."""

    url: str
    description: str
    variables: Mapping[str, ServerVariable]

    def fill(self, values: Mapping[str, str] | None = None) -> str:
        """Return the URL with its variables set to `values`, else to their defaults; other braces stay."""
        chosen = values or {}

        def replace(match: re.Match[str]) -> str:
            name = match.group(1)
            variable = self.variables.get(name)
            return chosen.get(name) or (variable.default if variable else "") or match.group(0)

        return VARIABLE.sub(replace, self.url)


def read_servers(raw: Any) -> tuple[Server, ...]:
    """Read the `servers` list of a document, a path or an operation; entries without a URL are left out."""
    if not isinstance(raw, list):
        return ()
    return tuple(
        Server(item["url"].strip(), str(item.get("description") or ""), _variables(item.get("variables")))
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


def _variables(raw: Any) -> dict[str, ServerVariable]:
    if not isinstance(raw, dict):
        return {}
    variables = {}
    for name, item in raw.items():
        if not isinstance(item, dict):
            continue
        enum = tuple(str(value) for value in item.get("enum") or () if value is not None)
        default = item.get("default")
        chosen = str(default) if default is not None else (enum[0] if enum else "")
        variables[name] = ServerVariable(chosen, enum, str(item.get("description") or ""))
    return variables


def absolute_url(server: Server, location: str | None) -> str | None:
    """Return the base URL of a server without query and trailing slash, or None without a host or a value."""
    url = server.fill()
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
