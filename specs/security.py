"""Security schemes and requirements of a document (OpenAPI Security Scheme Object)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

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
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")

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
        if not _TOKEN.fullmatch(self.name):
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
