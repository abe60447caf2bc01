"""Credentials of an operation, found by security scheme and added to a copy of its request at the moment of sending.

A scheme's credential comes from `load_api(auth=…)`, else `apis.yaml`, else `RESTGPT_AUTH_<API>_<SCHEME>`, else
`RESTGPT_AUTH_<SCHEME>`. Of the alternatives that an operation accepts, the first that can be satisfied is used; one
that asks for nothing comes last, so that a credential that is there is presented (OpenAPI Security Requirement Object).
Headers, query values and cookies that `apis.yaml` adds to an API go along with every request to it.
"""

import base64
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol
from urllib.parse import quote, unquote_plus

from restgpt.specs.api import Api, slug
from restgpt.specs.operation import Operation
from restgpt.specs.security import SecurityScheme
from restgpt.tools.errors import MissingCredentialError, SettingsError
from restgpt.tools.request.build import PreparedRequest
from restgpt.tools.settings import ApiEntry, Secret, Settings, auth_variable, variable_part

_UNFIT = re.compile(r"[\x00-\x1f\x7f]")
_SHAPES = {"basic": '"user:password"', "bearer": "a bearer token"}


class TokenSource(Protocol):
    """Gets OAuth2 access tokens that are not configured as such: by client credentials or a refresh token."""

    def token(self, api: Api, scheme: SecurityScheme, scopes: Iterable[str], *, renew: bool = False) -> str | None:
        """An access token for the scheme, a new one with `renew`; None where nothing to get one with is configured."""

    def can_get(self, api: Api, scheme: SecurityScheme) -> bool:
        """Tell whether a token could be had, without asking anyone."""

    def secrets(self, api: Api) -> Iterable[str]:
        """What has to be redacted because of this source."""


@dataclass(frozen=True, slots=True)
class Presented:
    """What is added to a request to say who asks; `schemes` names the security schemes that it satisfies."""

    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    query: Mapping[str, str] = field(default_factory=dict, repr=False)
    cookies: Mapping[str, str] = field(default_factory=dict, repr=False)
    secrets: frozenset[str] = field(default=frozenset(), repr=False)
    schemes: tuple[str, ...] = ()

    def joined(self, other: "Presented") -> "Presented":
        """Both together; the other's values win."""
        return Presented(
            {**self.headers, **other.headers},
            {**self.query, **other.query},
            {**self.cookies, **other.cookies},
            self.secrets | other.secrets,
            (*self.schemes, *other.schemes),
        )

    def sign(self, request: PreparedRequest) -> PreparedRequest:
        """A copy of the request that carries the credentials."""
        names = {name.lower() for name in self.headers}
        headers = {name: value for name, value in request.headers.items() if name.lower() not in names}
        headers |= self.headers
        if self.cookies:
            pairs = [f"{name}={value}" for name, value in self.cookies.items()]
            headers["Cookie"] = "; ".join([headers["Cookie"], *pairs] if headers.get("Cookie") else pairs)
        return replace(request, url=self._sign_url(request.url), headers=headers)

    def _sign_url(self, url: str) -> str:
        if not self.query:
            return url
        bare = self.stripped(url)
        added = "&".join(f"{quote(name, safe='')}={quote(value, safe='')}" for name, value in self.query.items())
        return f"{bare}{'&' if '?' in bare else '?'}{added}"

    def stripped(self, url: str) -> str:
        """An address without the query values that carry credentials, as a server may have copied them into it."""
        if not self.query:
            return url
        base, _, text = url.partition("?")
        kept = [pair for pair in text.split("&") if pair and unquote_plus(pair.partition("=")[0]) not in self.query]
        return f"{base}?{'&'.join(kept)}" if kept else base


class Credentials:
    """Finds the credentials of operations; knows everything that has to be redacted."""

    def __init__(self, settings: Settings, tokens: TokenSource | None = None) -> None:
        self._settings = settings
        self._tokens = tokens
        self._entries = {slug(name): entry for name, entry in settings.apis.items()}

    def entry(self, api: Api) -> ApiEntry | None:
        """What `apis.yaml` says of an API."""
        return self._entries.get(api.name)

    def secrets(self, *apis: Api) -> frozenset[str]:
        """Every secret that is known: those of the settings, and those given with the APIs."""
        found = set(self._settings.secrets())
        for api in apis:
            found.update(api.auth.values())
            found.update(self._tokens.secrets(api) if self._tokens else ())
        return frozenset(part for secret in found for part in _parts(secret))

    def find(self, api: Api, scheme: str) -> str | None:
        """The configured credential of a scheme, in the clear."""
        wanted = variable_part(scheme)
        for name, value in api.auth.items():
            if variable_part(name) == wanted and value:
                return value
        entry = self.entry(api)
        for name, secret in entry.auth.items() if entry else ():
            if variable_part(name) == wanted and secret:
                return secret.reveal()
        found = self._settings.credential(scheme, api.name)
        return found.reveal() if found else None

    def present(self, operation: Operation, *, renew: bool = False) -> Presented:
        """What to add to a request of this operation; raises MissingCredentialError naming what to set."""
        api, entry = operation.api, self.entry(operation.api)
        if entry is not None and entry.missing:
            names = " and ".join(entry.missing)
            raise MissingCredentialError(f"set {names}, which apis.yaml needs for {entry.name}", entry.missing)
        extras = _extras(entry) if entry else Presented()
        named = [item for item in operation.security if item]
        for requirement in named:
            if all(self._can_satisfy(api, scheme) for scheme in requirement):
                found = Presented()
                for scheme, scopes in requirement.items():
                    found = found.joined(self._present_scheme(api, scheme, scopes, renew))
                return extras.joined(found)
        is_open = len(named) < len(operation.security) or not named
        if is_open or extras.secrets:
            return extras
        raise self._missing(operation)

    def can_renew(self, operation: Operation, presented: Presented) -> bool:
        """Tell whether a refused token could be replaced by a fresh one."""
        api = operation.api
        schemes = [api.security_schemes.get(name) for name in presented.schemes]
        tokens = self._tokens
        return tokens is not None and any(
            scheme is not None and self.find(api, scheme.key) is None and tokens.can_get(api, scheme)
            for scheme in schemes
        )

    def _can_satisfy(self, api: Api, name: str) -> bool:
        scheme = _scheme(api, name)
        if scheme.type == "mutualTLS":
            entry = self.entry(api)
            return entry is not None and entry.cert_file is not None
        has_tokens = self._tokens is not None and self._tokens.can_get(api, scheme)
        return self.find(api, name) is not None or has_tokens

    def _present_scheme(self, api: Api, name: str, scopes: Iterable[str], renew: bool) -> Presented:
        scheme = _scheme(api, name)
        if scheme.type == "mutualTLS":
            # The connection shows the certificate; nothing is added to the request.
            return Presented(schemes=(name,))
        value = self.find(api, name)
        if value is None and self._tokens is not None:
            value = self._tokens.token(api, scheme, scopes, renew=renew)
        if value is None:
            raise MissingCredentialError(f"no token could be had for {name}; log in again", [auth_variable(name)])
        value = value.strip()
        if _UNFIT.search(value):
            raise SettingsError(f"the credential for {name} holds a line break or another control character")
        return _present(scheme, value)

    def _missing(self, operation: Operation) -> MissingCredentialError:
        api = operation.api
        variables: list[str] = []
        choices = []
        for requirement in operation.security:
            lacking = [name for name in requirement if not self._can_satisfy(api, name)]
            choices.append(" and ".join(_wanted(_scheme(api, name)) for name in lacking))
            variables += [auth_variable(name) for name in lacking if _scheme(api, name).type != "mutualTLS"]
        text = ", or ".join(dict.fromkeys(choices))
        return MissingCredentialError(
            f"{operation.name} of {api.name} needs a credential: set {text}; or name it under auth in apis.yaml",
            list(dict.fromkeys(variables)),
        )


def _scheme(api: Api, name: str) -> SecurityScheme:
    """The declared scheme; one that the document only mentions is taken for a bearer token."""
    return api.security_schemes.get(name) or SecurityScheme(name, "http", scheme="bearer")


def _wanted(scheme: SecurityScheme) -> str:
    variable = auth_variable(scheme.key)
    if scheme.type == "mutualTLS":
        return f"cert_file in apis.yaml, for {scheme.key} is a client certificate"
    if scheme.type == "http":
        return f"{variable} to {_SHAPES.get(scheme.scheme, f'a credential for {scheme.scheme}')}"
    if scheme.type == "apiKey":
        return f"{variable} to the API key"
    return f"{variable} to an access token (or log in)"


def _extras(entry: ApiEntry) -> Presented:
    groups = [{name: secret.reveal() for name, secret in group.items()} for group in _groups(entry)]
    for group in groups:
        for name, value in group.items():
            if _UNFIT.search(value):
                raise SettingsError(f"{entry.name}.{name} in apis.yaml holds a line break or another control character")
    headers, query, cookies = groups
    return Presented(headers, query, cookies, frozenset(value for group in groups for value in group.values()))


def _groups(entry: ApiEntry) -> tuple[Mapping[str, Secret], ...]:
    return entry.headers, entry.query, entry.cookies


def _present(scheme: SecurityScheme, value: str) -> Presented:
    secrets = frozenset(_parts(value))
    if scheme.type == "apiKey":
        place = {"query": "query", "cookie": "cookies"}.get(scheme.location, "headers")
        value = quote(value, safe="!#$%&'()*+-./:<=>?@[]^_`{|}~") if place == "cookies" else value
        return Presented(**{place: {scheme.name: value}}, secrets=secrets, schemes=(scheme.key,))
    return Presented({"Authorization": _authorization(scheme, value)}, secrets=secrets, schemes=(scheme.key,))


def _authorization(scheme: SecurityScheme, value: str) -> str:
    kind = scheme.scheme if scheme.type == "http" else "bearer"
    given, _, rest = value.partition(" ")
    if rest and given.lower() == kind:
        return value
    if kind == "basic":
        return "Basic " + base64.b64encode(value.encode()).decode("ascii")
    return f"{kind.capitalize()} {value}"


def _parts(secret: str) -> list[str]:
    """A secret and what it consists of: the password of `user:password`, the token after `Bearer `."""
    parts = [secret, secret.strip()]
    scheme, _, rest = secret.partition(" ")
    if rest and scheme.isalpha():
        parts.append(rest.strip())
    user, _, password = secret.partition(":")
    if password and "/" not in user:
        parts.append(password)
    return list(dict.fromkeys(part for part in parts if part))
