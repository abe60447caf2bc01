"""The credentials of an operation: found by security scheme, added to a copy of its request, or refused by its reply.

The credential of a scheme comes from `load_api(auth=…)`, else from the entry of `apis.yaml` that the API was loaded
from, else from `RESTGPT_AUTH_<ENTRY>_<SCHEME>`, else, if only one API is in use, from `RESTGPT_AUTH_<SCHEME>`. An
operation may accept alternatives (OpenAPI Security Requirement Objects): the first one with all its credentials is
used, and the empty requirement only if there is none. Headers, query values and cookies that `apis.yaml` configures for
an API are added to every request to it.

A reply of status 401 or 403 may be about the credential, which only users repair. A 401 is, if a credential was sent or
the document names one for the operation. Most replies of status 403 are ordinary results: this object is not the
user's, this account may not do that, and the planner can answer or go another way. A 403 counts only if it says that
the credential lacks a scope or is not valid. A refused login is an ordinary result too.
"""

import base64
import re
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Protocol, TypeVar
from urllib.parse import quote, unquote_plus

from restgpt.specs.api import Api
from restgpt.specs.operation import Operation
from restgpt.specs.security import Requirement, SecurityScheme
from restgpt.tools.errors import MissingCredentialError, RefusedCredentialError, SettingsError
from restgpt.tools.request.prepared_request import PreparedRequest
from restgpt.tools.response.content import Reply
from restgpt.tools.settings import ApiEntry, Secret, Settings
from restgpt.tools.settings.environment import variable_part, variable_with

Value = TypeVar("Value", str, Secret)

_UNFIT = re.compile(r"[\x00-\x1f\x7f]")
LEAST_TOKEN = 16
"""The length from which a token is a secret outside of the answers of its API: a guess must fail (RFC 6749, 10.10)."""

MOST_READ = 4000
"""The maximum number of bytes of a body, and of characters of a header, that are searched for a reason."""

_LOGIN = re.compile(r"(?:log|sign)[-_]?in|authenticate|sessions?|tokens?|password", re.IGNORECASE)
_CREDENTIAL = r"(?:api[ _-]?key|(?:access|auth\w*|bearer|oauth|refresh)?[ _-]?token|credentials?|jwt)"
_ABOUT_CREDENTIAL = re.compile(
    rf"insufficient[ _-]?(?:\w+[ _-])?scopes?|(?:missing|lacks?|requires?|needs?)(?: \S+){{0,3}} scopes?"
    rf"|(?:invalid|expired|revoked|missing|unknown|wrong|bad|no)[ _-](?:or \w+ )?{_CREDENTIAL}"
    rf"|{_CREDENTIAL} (?:(?:is|has|was|been|not|no longer) ){{0,3}}(?:invalid|valid|expired|revoked|missing|required)"
    r"|not authenticated|unauthenticated|authentication (?:is )?required",
    re.IGNORECASE,
)

BASIC_PARTS = ("username", "password")
OAUTH_PARTS = ("client_id", "client_secret", "refresh_token", "token_url", "authorization_url", "scopes")
"""The parts of the credential of a scheme that may be given in its place."""

_SHAPES = {"basic": '"user:password"', "bearer": "a bearer token"}


class TokenSource(Protocol):
    """Obtains OAuth2 access tokens that are not configured: by client credentials or by a refresh token."""

    def token(
        self, api: Api, scheme: SecurityScheme, scopes: Iterable[str], *, refused: Container[str] = ()
    ) -> str | None:
        """An access token for the scheme, none of those refused; None if the settings do not suffice to obtain one."""

    def can_get(self, api: Api, scheme: SecurityScheme) -> bool:
        """Whether a token can be obtained, as far as the settings show; sends no request."""

    def obstacle(self, api: Api, scheme: SecurityScheme) -> str:
        """How to allow the request of a token that the settings suffice for; empty if nothing is in its way."""

    def secrets(self, api: Api) -> Iterable[str]:
        """The tokens and other secrets of this source that must be redacted."""


@dataclass(frozen=True, slots=True)
class RequestAuth:
    """The headers, query values and cookies that authenticate a request, and the security schemes that they satisfy."""

    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    query: Mapping[str, str] = field(default_factory=dict, repr=False)
    cookies: Mapping[str, str] = field(default_factory=dict, repr=False)
    secrets: frozenset[str] = field(default=frozenset(), repr=False)
    schemes: tuple[str, ...] = ()

    def joined(self, other: "RequestAuth") -> "RequestAuth":
        """Merge with another RequestAuth, whose values take precedence."""
        return RequestAuth(
            {**self.headers, **other.headers},
            {**self.query, **other.query},
            {**self.cookies, **other.cookies},
            self.secrets | other.secrets,
            (*self.schemes, *other.schemes),
        )

    def apply(self, request: PreparedRequest) -> PreparedRequest:
        """A copy of the request with the credentials."""
        names = {name.lower() for name in self.headers}
        headers = {name: value for name, value in request.headers.items() if name.lower() not in names}
        headers |= self.headers
        if self.cookies:
            pairs = [f"{name}={value}" for name, value in self.cookies.items()]
            headers["Cookie"] = "; ".join([headers["Cookie"], *pairs] if headers.get("Cookie") else pairs)
        return replace(request, url=self._apply_to_url(request.url), headers=headers)

    def _apply_to_url(self, url: str) -> str:
        if not self.query:
            return url
        bare = self.stripped(url)
        added = "&".join(f"{quote(name, safe='')}={quote(value, safe='')}" for name, value in self.query.items())
        return f"{bare}{'&' if '?' in bare else '?'}{added}"

    def stripped(self, url: str) -> str:
        """The URL without the query values that hold credentials, which a server may have copied into a redirect."""
        if not self.query:
            return url
        base, _, text = url.partition("?")
        kept = [pair for pair in text.split("&") if pair and unquote_plus(pair.partition("=")[0]) not in self.query]
        return f"{base}?{'&'.join(kept)}" if kept else base


class Credentials:
    """Finds the credentials of operations, and lists all secrets for redaction."""

    def __init__(self, settings: Settings, tokens: TokenSource | None = None) -> None:
        self._settings = settings
        self._tokens = tokens

    def entry(self, api: Api) -> ApiEntry | None:
        """The entry of `apis.yaml` that an API was loaded from; raises SettingsError if there is no such entry."""
        return self._settings.entry(api)

    def retries_429(self, api: Api) -> bool:
        """Return whether a change that an API answers 429 (too many requests) is sent again; its entry decides."""
        entry = self.entry(api)
        return entry is None or entry.retry_429

    def secrets(self, *apis: Api, about: Api | None = None, least: int = LEAST_TOKEN) -> frozenset[str]:
        """All secrets: from the settings, from `load_api(auth=…)` and from the token source.

        Of the tokens, only those of so many characters, and of the API that a text is `about`: a token server chooses
        its tokens, and could hide by them what a person is asked about another API.
        """
        found = set(self._settings.secrets())
        for api in apis:
            found.update(api.auth.values())
            tokens = self._tokens.secrets(api) if self._tokens and (about or api).identity == api.identity else ()
            found.update(token for token in tokens if len(token) >= least)
        return frozenset(part for secret in found for part in _parts(secret))

    def find(self, api: Api, scheme: str) -> str | None:
        """The configured credential of a scheme, as plain text; `basic` may have a `username` and a `password`."""
        found = self._configured(api, scheme)
        if found is None and _scheme(api, scheme).scheme == "basic":
            user, password = (self._configured(api, f"{scheme}_{part}") for part in BASIC_PARTS)
            # A user alone is an API key of those that have no password.
            found = None if user is None else f"{user}:{password or ''}"
        return found

    def _configured(self, api: Api, scheme: str) -> str | None:
        if given := _named(api.auth, scheme):
            return given
        entry = self.entry(api)
        found = (entry and _named(entry.auth, scheme)) or self._settings.credential(scheme, api)
        return found.reveal() if found else None

    def auth_for(
        self, operation: Operation, *, refused: Container[str] = (), cookies: Container[str] = ()
    ) -> RequestAuth:
        """The credentials for a request of this operation, without the tokens that were refused.

        `cookies` are the names of those that the API has set, which the HTTP client adds.
        Raises MissingCredentialError with the variables to set.
        """
        requirement = self.check(operation, cookies)
        entry = self.entry(operation.api)
        found = _extras(entry) if entry else RequestAuth()
        for scheme, scopes in requirement.items():
            found = found.joined(self._auth_for_scheme(operation.api, scheme, scopes, refused, cookies))
        return found

    def stand_ins(self, operation: Operation, stand_in: Callable[[str], str]) -> RequestAuth:
        """The credentials for a request of this operation, each value replaced by a stand-in for its name.

        That of a user and a password (RFC 7617) is not encoded.
        """
        api, entry = operation.api, self.entry(operation.api)
        groups = _groups(entry) if entry else ({}, {}, {})
        headers, query, cookies = ({name: stand_in(name) for name in group} for group in groups)
        found = RequestAuth(headers, query, cookies)
        try:
            requirement = self.check(operation)
        except MissingCredentialError:
            requirement = operation.security[0]
        for scheme in (_scheme(api, name) for name in requirement):
            value = stand_in(scheme.key)
            is_basic = scheme.scheme == "basic"
            own = RequestAuth({"Authorization": f"Basic {value}"}) if is_basic else _scheme_auth(scheme, value)
            found = found if scheme.type == "mutualTLS" else found.joined(own)
        return found

    def missing(self, entry: ApiEntry | None) -> MissingCredentialError | None:
        """The error of an entry of `apis.yaml` that names variables which are not set; None if they are."""
        if entry is None or not entry.missing:
            return None
        names = " and ".join(entry.missing)
        return MissingCredentialError(f"set {names}, which apis.yaml needs for {entry.name}", entry.missing)

    def check(self, operation: Operation, cookies: Container[str] = ()) -> Requirement:
        """The security requirement that a request of this operation will meet, which is empty if none has to be met.

        `cookies` are the names of those that the API has set; the operation that logs in needs none.
        Raises MissingCredentialError if its credentials are not configured; sends no request.
        """
        api, entry = operation.api, self.entry(operation.api)
        if fault := self.missing(entry):
            raise fault
        self._check_names(operation)
        named = [item for item in operation.security if item]
        for requirement in named:
            if all(self._can_satisfy(api, scheme, cookies) for scheme in requirement):
                return requirement
        is_open = len(named) < len(operation.security) or not named
        if is_open or (entry is not None and any(_groups(entry))):
            return {}
        missing = self._missing(operation)
        if missing.can_log_in and logs_in(operation):
            return {}
        raise missing

    def _check_names(self, operation: Operation) -> None:
        """Raise SettingsError for a credential that is given for no security scheme of the document."""
        api, entry = operation.api, self.entry(operation.api)
        needed = {name for requirement in (*operation.security, *api.security) for name in requirement}
        known = sorted({*api.security_schemes, *needed})
        parts = ("", *(f"_{part}" for part in (*BASIC_PARTS, *OAUTH_PARTS)))
        fitting = {variable_part(f"{name}{part}") for name in known for part in parts}
        for name in [*api.auth, *(entry.auth if entry else ())]:
            if variable_part(name) not in fitting:
                schemes = ", ".join(known) or "none"
                raise SettingsError(f"auth names {name}, but the security schemes of {api.name} are: {schemes}")

    def session_hint(self, operation: Operation, reply: Reply) -> str:
        """How to log in, if an answer refuses a request for its session cookie or for the lack of one; else empty."""
        api, entry = operation.api, self.entry(operation.api)
        if not _refuses(reply) or logs_in(operation) or (entry is not None and any(_groups(entry))):
            return ""
        named: list[Requirement] = [item for item in operation.security if item] or [{}]
        is_session = any(all(_is_cookie(api, name) for name in item) for item in named)
        has_other = any(self.find(api, name) for item in named for name in item)
        login = _login_of(api) if is_session and not has_other else None
        return SESSION.format(login) if login else ""

    def remedies(self, operation: Operation) -> list[str]:
        """How to repair the credentials of a request that the API refuses: the places where its credentials are set.

        For a request without credentials, the credentials that the document offers; empty if it offers none.
        """
        api, entry = operation.api, self.entry(operation.api)
        places = [self._place(api, scheme) for scheme in self.check(operation)]
        if entry is not None and any(_groups(entry)):
            places.append(f"correct headers, query or cookies of {entry.name} in apis.yaml")
        return places or [
            " and ".join(self._remedy(api, name) for name in requirement)
            for requirement in operation.security
            if requirement
        ]

    def _place(self, api: Api, name: str) -> str:
        """How to replace the credential of a scheme where it is now."""
        entry = self.entry(api)
        if entry is not None and (held := _named(entry.auth, name)):
            variable = variable_with(held.reveal())
            return f"correct {variable and f'{variable}, which is '}auth.{name} of {entry.name} in apis.yaml"
        if _named(api.auth, name):
            return f"give a valid credential as auth[{name!r}] of load_api"
        if _scheme(api, name).type == "mutualTLS" or self.find(api, name) is not None:
            return self._remedy(api, name)
        return f"log in again with `restgpt login {login_name(api)}`, or {self._remedy(api, name)}"

    def _remedy(self, api: Api, name: str) -> str:
        """How to give the credential of a scheme."""
        scheme = _scheme(api, name)
        if scheme.type == "mutualTLS":
            return f"set cert_file in apis.yaml, because {scheme.key} is a client certificate"
        if scheme.fault:
            return f"correct the scheme {name} in the document, or use another one, because {scheme.fault}"
        if self._tokens is not None and (obstacle := self._tokens.obstacle(api, scheme)):
            return f"no token can be requested for {name}: {obstacle}"
        todo = f"set {self.place_for(api, name)} to {_value_of(scheme)}"
        if api.entry is None and not self._settings.auth_variables(name, api):
            todo += (
                ", and use --api (with several APIs, a document without an entry gets no credential from the "
                "environment; in Python, give load_api(auth=…))"
            )
        return todo

    def place_for(self, api: Api, name: str) -> str:
        """The variable that holds the credential of a scheme or could hold it, else the place in `apis.yaml`."""
        variables = self._settings.auth_variables(name, api)
        if variables:
            return next((item for item in variables if self._settings.variable(item)), variables[0])
        entry = self.entry(api)
        return f"auth.{name} of {entry.name if entry else 'an entry for it'} in apis.yaml"

    def can_renew(self, operation: Operation, auth: RequestAuth) -> bool:
        """Whether a new token can replace the one that the server has refused."""
        api = operation.api
        schemes = [api.security_schemes.get(name) for name in auth.schemes]
        tokens = self._tokens
        return tokens is not None and any(
            scheme is not None and self.find(api, scheme.key) is None and tokens.can_get(api, scheme)
            for scheme in schemes
        )

    def _can_satisfy(self, api: Api, name: str, cookies: Container[str] = ()) -> bool:
        scheme = _scheme(api, name)
        if _is_cookie(api, name) and scheme.name in cookies:
            return True
        if scheme.fault:
            return False
        if scheme.type == "mutualTLS":
            entry = self.entry(api)
            return entry is not None and entry.cert_file is not None
        has_tokens = self._tokens is not None and self._tokens.can_get(api, scheme)
        return self.find(api, name) is not None or has_tokens

    def _auth_for_scheme(
        self, api: Api, name: str, scopes: Iterable[str], refused: Container[str], cookies: Container[str]
    ) -> RequestAuth:
        scheme = _scheme(api, name)
        if scheme.type == "mutualTLS":
            # The TLS connection sends the certificate; nothing is added to the request.
            return RequestAuth(schemes=(name,))
        value = self.find(api, name)
        if value is None and _is_cookie(api, name) and scheme.name in cookies:
            return RequestAuth(schemes=(name,))
        if value is None and self._tokens is not None:
            value = self._tokens.token(api, scheme, scopes, refused=refused)
        if value is None:
            raise MissingCredentialError(
                f"no token for {name} of {api.name} could be obtained; log in again",
                self._settings.auth_variables(name, api)[:1],
            )
        value = value.strip()
        if not value:
            raise SettingsError(f"the credential for {name} of {api.name} is blank; give it, or leave it out")
        if _UNFIT.search(value):
            raise SettingsError(f"the credential for {name} holds a line break or another control character")
        return _scheme_auth(scheme, value)

    def _missing(self, operation: Operation) -> MissingCredentialError:
        api = operation.api
        variables: list[str] = []
        choices = []
        login, can_log_in = _login_of(api), False
        for requirement in operation.security:
            lacking = [name for name in requirement if not self._can_satisfy(api, name)]
            choices.append(" and ".join(self._remedy(api, name) for name in lacking))
            if login is not None and all(_is_cookie(api, name) for name in lacking):
                can_log_in = True
                choices[-1] = f"{SESSION.format(login)}, or {choices[-1]}"
            variables += [item for name in lacking for item in self._variables_for(api, name)]
        text = ", or ".join(dict.fromkeys(choices)) + ("; or name it under auth in apis.yaml" if variables else "")
        return MissingCredentialError(
            f"{operation.name} of {api.name} needs a credential: {text}",
            list(dict.fromkeys(variables)),
            can_log_in=can_log_in,
        )

    def _variables_for(self, api: Api, name: str) -> tuple[str, ...]:
        """The variable that would give the credential of a scheme, if there is one."""
        is_possible = _scheme(api, name).type != "mutualTLS" and not _scheme(api, name).fault
        return self._settings.auth_variables(name, api)[-1:] if is_possible else ()


SESSION = (
    "log in first with {0.name} ({0.method} {0.path}), which sets a session cookie; again, if the process was started "
    "anew since, because cookies are kept in memory only"
)


def _is_cookie(api: Api, name: str) -> bool:
    scheme = _scheme(api, name)
    return scheme.type == "apiKey" and scheme.location == "cookie" and not scheme.fault


def _login_of(api: Api) -> Operation | None:
    """The operation that logs in by a password or the like; None if the document names none."""
    return next((item for item in api.operations if logs_in(item) and not item.path.endswith("password")), None)


def _named(values: Mapping[str, Value], scheme: str) -> Value | None:
    """The credential of a scheme, if it is there and not empty."""
    wanted = variable_part(scheme)
    return next((value for name, value in values.items() if variable_part(name) == wanted and value), None)


def _scheme(api: Api, name: str) -> SecurityScheme:
    """The declared scheme; a scheme that the document names but does not declare is treated as a bearer token."""
    return api.security_schemes.get(name) or SecurityScheme(name, "http", scheme="bearer")


def _value_of(scheme: SecurityScheme) -> str:
    """What the credential of a scheme is."""
    if scheme.type == "http":
        return _SHAPES.get(scheme.scheme, f"a credential for {scheme.scheme}")
    return "the API key" if scheme.type == "apiKey" else "an access token (or log in)"


def login_name(api: Api) -> str:
    """The argument of `restgpt login` for an API."""
    return api.entry or api.source


def _extras(entry: ApiEntry) -> RequestAuth:
    groups = [{name: secret.reveal() for name, secret in group.items()} for group in _groups(entry)]
    for group in groups:
        for name, value in group.items():
            if _UNFIT.search(value):
                raise SettingsError(f"{entry.name}.{name} in apis.yaml holds a line break or another control character")
    headers, query, cookies = groups
    return RequestAuth(headers, query, cookies, frozenset(secret.reveal() for secret in entry.secrets()))


def _groups(entry: ApiEntry) -> tuple[Mapping[str, Secret], ...]:
    return entry.headers, entry.query, entry.cookies


def _scheme_auth(scheme: SecurityScheme, value: str) -> RequestAuth:
    secrets = frozenset(_parts(value))
    if scheme.type == "apiKey":
        place = {"query": "query", "cookie": "cookies"}.get(scheme.location, "headers")
        value = quote(value, safe="!#$%&'()*+-./:<=>?@[]^_`{|}~") if place == "cookies" else value
        return RequestAuth(**{place: {scheme.name: value}}, secrets=secrets, schemes=(scheme.key,))
    return RequestAuth({"Authorization": _authorization(scheme, value)}, secrets=secrets, schemes=(scheme.key,))


def _authorization(scheme: SecurityScheme, value: str) -> str:
    kind = scheme.scheme if scheme.type == "http" else "bearer"
    given, _, rest = value.partition(" ")
    if rest and given.lower() == kind:
        return value
    if kind == "basic":
        value = value if ":" in value else f"{value}:"
        return "Basic " + base64.b64encode(value.encode()).decode("ascii")
    return f"{kind.capitalize()} {value}"


def _parts(secret: str) -> list[str]:
    """A secret and its parts: the password of `user:password`, the token after `Bearer `."""
    parts = [secret, secret.strip()]
    scheme, _, rest = secret.partition(" ")
    if rest and scheme.isalpha():
        parts.append(rest.strip())
    user, _, password = secret.partition(":")
    if "/" not in user:
        parts.append(password or user)
    return list(dict.fromkeys(part for part in parts if part))


def refused_credential(operation: Operation, reply: Reply, credentials: Credentials) -> RefusedCredentialError | None:
    """Return the error for a reply that refuses the credential of its request; None for every other reply."""
    if not _refuses(reply) or logs_in(operation):
        return None
    remedies = credentials.remedies(operation)
    if not remedies:
        return None
    scopes = sorted({scope for needed in operation.security for names in needed.values() for scope in names})
    named = f" The operation names the scopes {', '.join(scopes)}." if scopes else ""
    todo = ", or ".join(dict.fromkeys(remedies))
    return RefusedCredentialError(
        f"{operation.name} of {operation.api.name} was refused with status {reply.status}, because of its credential: "
        f"{todo}.{named}",
        status=reply.status,
    )


def _refuses(reply: Reply) -> bool:
    return reply.status == HTTPStatus.UNAUTHORIZED or (reply.status == HTTPStatus.FORBIDDEN and _is_told(reply))


def _is_told(reply: Reply) -> bool:
    """Return whether a reply says in its header (RFC 6750, section 3.1) or its body that it is about the credential."""
    header = reply.header("www-authenticate")[:MOST_READ]
    text = f"{header} {reply.body[:MOST_READ].decode('utf-8', 'replace')}"
    return bool(_ABOUT_CREDENTIAL.search(text))


def logs_in(operation: Operation) -> bool:
    """Return whether an operation itself checks a password or the like, which the user gave for this instruction."""
    names = (operation.path.rstrip("/").rpartition("/")[2], operation.name)
    return operation.method == "POST" and any(map(_LOGIN.fullmatch, names))
