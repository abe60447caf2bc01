"""Security schemes and requirements of a document (OpenAPI Security Scheme Object).

Servers of a document, and the base URL of requests (OpenAPI Server Object).
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urljoin, urlsplit

from restgpt.specs.problem import Problem, cut_problems

# Swagger 2.0 names two of the four OAuth2 flows differently.
FLOWS_OF_SWAGGER = {"accessCode": "authorizationCode", "application": "clientCredentials"}

KINDS = frozenset({"apiKey", "http", "oauth2", "openIdConnect", "mutualTLS"})

# A header of one of these names frames the message, directs it, or is written by the HTTP client (RFC 9110, RFC 9112).
HEADERS_OF_CLIENT = frozenset(
    {"host", "connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade", "expect"}
    | {"content-length", "content-type", "content-encoding", "accept-encoding", "cookie"}
)
# The syntax of the names of headers (RFC 9110, section 5.6.2) and cookies (RFC 6265, section 4.1.1).
TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")

# The HTTP authentication schemes, of the registry of IANA and others, that answer a challenge or sign each request.
SCHEMES_OF_PROOF = frozenset(
    {"concealed", "digest", "dpop", "gnap", "hoba", "mutual", "negotiate", "oauth", "privatetoken", "scram-sha-1"}
    | {"scram-sha-256", "ntlm", "aws4-hmac-sha256"}
)

# How many alternatives of a `security` list are read, many more than any published document has.
REQUIREMENTS_MOST = 200

Requirement = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class OAuthFlow:
    """One OAuth2 flow, with its URLs and scopes (OpenAPI OAuth Flow Object)."""

    authorization_url: str = ""
    token_url: str = ""
    scopes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SecurityScheme:
    """One way to present a credential.

    `type` is apiKey, http, oauth2, openIdConnect or mutualTLS; `name` and `location` (header, query, cookie) belong
    to apiKey, `scheme` (lower case: basic, bearer) to http, `flows` to oauth2.
    """

    key: str
    type: str
    name: str = ""
    location: str = ""
    scheme: str = ""
    flows: Mapping[str, OAuthFlow] = field(default_factory=dict)
    open_id_connect_url: str = ""

    @property
    def fault(self) -> str:
        """The reason why no credential can be sent as the scheme says; empty if one can."""
        if self.type == "http" and self.scheme in SCHEMES_OF_PROOF:
            return f"HTTP authentication by {self.scheme} needs a proof for each request, which RestGPT does not make"
        if self.type != "apiKey" or self.location == "query":
            return ""
        if not TOKEN.fullmatch(self.name):
            return f"the name of the API key is not one of a {self.location or 'header'}"
        if self.location != "cookie" and self.name.lower() in HEADERS_OF_CLIENT:
            return f"the API key has the name of the header {self.name.title()}, which holds no credential"
        return ""

    def is_sent_as(self, location: str, name: str) -> bool:
        """Return whether it is an API key in this place under this name; names of headers have no case."""
        fold = str.lower if location == "header" else str
        return (self.type, self.location, fold(self.name)) == ("apiKey", location, fold(name)) and not self.fault


def flat_credentials(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return credentials by scheme without nested mappings: the part `password` of `login` becomes `login.password`."""
    found: dict[str, Any] = {}
    for name, value in raw.items():
        inner = flat_credentials(value) if isinstance(value, Mapping) else None
        found |= {str(name): value} if inner is None else {f"{name}.{part}": item for part, item in inner.items()}
    return found


def read_scheme(key: str, raw: Any) -> SecurityScheme | None:
    """Read one security scheme of any OpenAPI version; None if it has no type."""
    if not isinstance(raw, dict) or not isinstance(raw.get("type"), str):
        return None
    kind = raw["type"]
    text = {name: raw[name] for name in raw if isinstance(raw[name], str)}
    if kind == "basic":
        return SecurityScheme(key, "http", scheme="basic")
    return SecurityScheme(
        key,
        kind,
        name=text.get("name", ""),
        location=text.get("in", ""),
        scheme=text.get("scheme", "").lower(),
        flows=_flows(raw) if kind == "oauth2" else {},
        open_id_connect_url=text.get("openIdConnectUrl", ""),
    )


def _flows(raw: dict[str, Any]) -> dict[str, OAuthFlow]:
    flows = raw.get("flows") or raw.get("flow")
    if not isinstance(flows, dict):
        flow = str(raw.get("flow") or "")
        flows = {FLOWS_OF_SWAGGER.get(flow, flow): raw} if flow else {}
    return {kind: _flow(item) for kind, item in flows.items() if isinstance(item, dict)}


def _flow(raw: dict[str, Any]) -> OAuthFlow:
    scopes = raw.get("scopes")
    return OAuthFlow(
        str(raw.get("authorizationUrl") or ""),
        str(raw.get("tokenUrl") or ""),
        {str(name): str(text or "") for name, text in scopes.items()} if isinstance(scopes, dict) else {},
    )


def read_requirements(raw: Any) -> tuple[Requirement, ...]:
    """Read a `security` list: each item is an alternative, which names the schemes that are needed together."""
    return tuple(
        {
            name: tuple(str(scope) for scope in scopes) if isinstance(scopes, list) else ()
            for name, scopes in item.items()
        }
        for item in _alternatives(raw)[:REQUIREMENTS_MOST]
    )


def requirement_problems(raw: Any, pointer: str) -> list[Problem]:
    """List the problem of the `security` list at `pointer`, if some of its alternatives are not read."""
    return cut_problems(pointer, len(_alternatives(raw)), REQUIREMENTS_MOST, "security requirements")


def _alternatives(raw: Any) -> list[dict[str, Any]]:
    found = [raw] if isinstance(raw, dict) else raw if isinstance(raw, list) else []
    return [item for item in found if isinstance(item, dict)]


VARIABLE = re.compile(r"\{([^{}]*)\}")
_HOST = re.compile(r"\A(?:[A-Za-z][A-Za-z0-9+.-]*:)?//[^/?#]*")


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
        """The path of the server, which follows a host that someone names; empty if it has a variable without value."""
        path = re.split("[?#]", _HOST.sub("", self.filled()))[0]
        return "" if "{" in path else path.strip("/")


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
    follows = ", whose path follows a base URL without one" if server.path else ""
    return f"the document names no host (its server is {server.url!r}{follows})"


def with_path(base_url: str, servers: Iterable[Server]) -> str:
    """Return a base URL without a slash at its end; one of a host alone gets the path of the first server."""
    path = next(iter(servers), ROOT).path
    is_host = not "".join(base_url.split("/", 3)[3:]) and "://" in base_url
    return (urljoin(base_url, f"/{path}") if is_host and path else base_url).rstrip("/")


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
