"""OAuth2 access tokens: by client credentials, by refresh token, and by a login (authorization code with PKCE).

A scheme is configured like any credential, by the parts `client_id`, `client_secret`, `refresh_token`, `token_url`,
`authorization_url` and `scopes`: in `apis.yaml` under the scheme's name, or as `RESTGPT_AUTH_<SCHEME>_CLIENT_ID` and so
on. The address policy applies to token URLs too, and they must be https or loopback.

A document may name any token server, so client secret and refresh token go to it only if it has the origin of the API,
if the user named it (`token_url`, or `auth_servers` in `apis.yaml`), or if the user logged in at it.
"""

import io
import secrets
import threading
import time
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import parse_qsl, urlencode, urlsplit

import requests
import urllib3

from restgpt.specs.api import Api
from restgpt.specs.security import SecurityScheme
from restgpt.tools.auth.credentials import Credentials, login_name
from restgpt.tools.auth.token import Token, TokenFile, read_discovery, read_token_answer
from restgpt.tools.errors import AddressFault, BoundFault, HttpFault, LoginError, TimeoutFault
from restgpt.tools.http.addresses import (
    Exchange,
    GuardedAdapter,
    Origin,
    Resolver,
    address_policy_of_url,
    origin_of,
    origins_of,
    resolve,
)
from restgpt.tools.http.connection import fault_of
from restgpt.tools.settings import Settings
from restgpt.tools.tracing.span import answered, http_span

Answer = TypeVar("Answer")

SECONDS = 30.0
# Tokens are renewed this many seconds before they expire.
LEEWAY = 60.0
MOST_BYTES = 1024 * 1024
MOST_SEEN = 12
"""How many tokens of an API are known for redaction, the newest: those of four renewals, which an answer may echo."""

RENEWAL_S = 4 * SECONDS
"""How long a renewal waits for that of another thread or process, in seconds: longer than all its requests last."""

_REQUEST = frozenset(
    {"response_type", "client_id", "redirect_uri", "scope", "state", "code_challenge", "code_challenge_method"}
    | {"request", "request_uri"}
)
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True, repr=False)
class Client:
    """The OAuth2 client: its id, its secret and the endpoints of the server; its repr shows none of them.

    `named` has those of the two URLs that the user named.
    """

    identifier: str
    secret: str | None
    token_url: str
    authorization_url: str
    scopes: str
    named: frozenset[str]


@dataclass(frozen=True, slots=True, repr=False)
class AuthorizationRequest:
    """An authorization request (RFC 6749 section 4.1.1): its URL, and the values to check the redirect by.

    `strangers` are the origins of the login that neither belong to the API nor were named by the user.
    """

    url: str
    state: str
    verifier: str
    redirect_uri: str
    client: Client
    strangers: tuple[str, ...]


class OAuthTokens:
    """Obtains, stores and refreshes tokens. Thread-safe.

    `seconds` limits each request to an authorization server, however slowly the server sends.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        file: TokenFile | None = None,
        clock: Callable[[], float] = time.time,
        resolver: Resolver = resolve,
        seconds: float = SECONDS,
    ) -> None:
        self._credentials = Credentials(settings)
        self._file = file or TokenFile(settings.home / "tokens.json")
        self._ca_bundle = settings.ca_bundle
        self._clock = clock
        self._seconds = seconds
        self._adapter = _BoundedAdapter(resolver=resolver, pool_size=2)
        self._lock = threading.Lock()
        self._seen: dict[str, dict[str, None]] = {}

    def can_get(self, api: Api, scheme: SecurityScheme) -> bool:
        """Whether a token can be obtained, as far as the settings and the token file show; sends no request."""
        if scheme.type not in ("oauth2", "openIdConnect"):
            return False
        kept = self._file.get(api, scheme.key)
        return self._is_fresh(kept) or self._obstacle(api, scheme, kept) == ""

    def obstacle(self, api: Api, scheme: SecurityScheme) -> str:
        """The reason why a token server that the document names is not asked, and the remedy; empty if it is asked."""
        if scheme.type not in ("oauth2", "openIdConnect"):
            return ""
        return self._obstacle(api, scheme, self._file.get(api, scheme.key)) or ""

    def _obstacle(self, api: Api, scheme: SecurityScheme, kept: Token) -> str | None:
        """The same; None if settings and stored token do not suffice for the request of a token."""
        has_client, has_secret, has_refresh = (
            self._part(api, scheme, part) is not None for part in ("client_id", "client_secret", "refresh_token")
        )
        if not kept.get("refresh_token") and not (has_client and (has_secret or has_refresh)):
            return None
        # Empty if OpenID Connect discovery, which sends a request, has to find it.
        url = self._part(api, scheme, "token_url") or _documented(scheme)["token_endpoint"]
        return self._distrust(api, scheme, url, kept)

    def token(
        self, api: Api, scheme: SecurityScheme, scopes: Iterable[str], *, refused: Container[str] = ()
    ) -> str | None:
        """An access token, stored or new; None if none can be obtained. Raises LoginError or HttpFault."""
        _, usable = self._stored(api, scheme, refused)
        if usable is not None:
            return usable
        with self._file.renewal(api, scheme.key, RENEWAL_S):
            kept, usable = self._stored(api, scheme, refused)
            if usable is not None:
                return usable
            refresh = kept.get("refresh_token") or self._part(api, scheme, "refresh_token")
            client = self._client(api, scheme, scopes)
            if client is None:
                return None
            if distrust := self._distrust(api, scheme, client.token_url, kept):
                raise LoginError(f"no token for {scheme.key} of {api.name} was requested: {distrust}")
            if refresh:
                grant = {"grant_type": "refresh_token", "refresh_token": str(refresh), "scope": client.scopes}
                found: Token = {"refresh_token": refresh, **self._ask(api, client, grant)}
            elif client.secret is not None:
                found = self._ask(api, client, {"grant_type": "client_credentials", "scope": client.scopes})
            else:
                return None
            if found.get("refresh_token") or kept.get("auth_server"):
                found = {**found, "auth_server": str(origin_of(client.token_url))}
            return self._keep(api, scheme, found)

    def _stored(self, api: Api, scheme: SecurityScheme, refused: Container[str]) -> tuple[Token, str | None]:
        """The stored token, empty if there is none, and its access token if that can be used."""
        kept = self._file.get(api, scheme.key)
        access = self._note(api, kept) if kept else ""
        return kept, access if self._is_fresh(kept) and access not in refused else None

    def secrets(self, api: Api) -> Iterable[str]:
        """The newest tokens of an API that this instance has used."""
        with self._lock:
            return tuple(self._seen.get(api.identity, ()))

    def start_login(
        self, api: Api, scheme: SecurityScheme, redirect_uri: str, scopes: Iterable[str] = ()
    ) -> AuthorizationRequest:
        """Start a login: the authorization request for the user's browser (RFC 6749 section 4.1, PKCE of RFC 7636)."""
        from authlib.oauth2.rfc6749.parameters import prepare_grant_uri
        from authlib.oauth2.rfc7636 import create_s256_code_challenge

        client = self._client(api, scheme, scopes)
        if client is None or not client.authorization_url:
            raise LoginError(
                f"{scheme.key} of {api.name} is not configured for logins: set {self._place(api, scheme, 'client_id')}"
                " and, in apis.yaml, authorization_url and token_url if the document lacks them"
            )
        # Only a URL may go to the browser: other text could be a command-line option or a file.
        servers = {url: _encrypted(url) for url in (client.authorization_url, client.token_url)}
        strangers = [str(origin) for url, origin in servers.items() if not self._is_known(api, url, client.named)]
        verifier, state = secrets.token_urlsafe(48), secrets.token_urlsafe(24)
        challenge = {"code_challenge": create_s256_code_challenge(verifier), "code_challenge_method": "S256"}
        endpoint = _without_ours(client.authorization_url)
        url = prepare_grant_uri(endpoint, client.identifier, "code", redirect_uri, client.scopes, state, **challenge)
        return AuthorizationRequest(url, state, verifier, redirect_uri, client, tuple(dict.fromkeys(strangers)))

    def finish_login(self, api: Api, scheme: SecurityScheme, authorization: AuthorizationRequest, code: str) -> None:
        """Finish a login with the authorization code from the redirect; raises LoginError.

        Code and client secret go to the token server of the authorization request, which is kept with the token.
        """
        client = authorization.client
        grant = {
            "grant_type": "authorization_code",
            "code": code,
            "code_verifier": authorization.verifier,
            "redirect_uri": authorization.redirect_uri,
        }
        found = self._ask(api, client, grant)
        with self._file.renewal(api, scheme.key, RENEWAL_S):
            self._keep(api, scheme, {**found, "auth_server": str(origin_of(client.token_url))})

    def _part(self, api: Api, scheme: SecurityScheme, part: str) -> str | None:
        return self._credentials.find(api, f"{scheme.key}_{part}")

    def _place(self, api: Api, scheme: SecurityScheme, part: str) -> str:
        return self._credentials.place_for(api, f"{scheme.key}_{part}")

    def _is_known(self, api: Api, url: str, named: Iterable[str]) -> bool:
        """Whether the user named this URL, or its server, or it is on a server of the API."""
        return url in named or self._is_named(api, url) or origin_of(url) in origins_of(api)

    def _is_named(self, api: Api, url: str) -> bool:
        """Whether `auth_servers` in `apis.yaml` has the server of a URL."""
        entry = self._credentials.entry(api)
        return entry is not None and origin_of(url) in map(origin_of, entry.auth_servers)

    def _distrust(self, api: Api, scheme: SecurityScheme, url: str, kept: Token) -> str:
        """The reason why client secret and refresh token do not go to a token URL, and the remedy; empty if they do.

        A refresh token, or any token of a login, is kept with its token server; then only that server is trusted, and
        servers that the user named.
        """
        if not url or url == self._part(api, scheme, "token_url"):
            return ""
        try:
            server = origin_of(url)
        except AddressFault as fault:
            return f"its document has no token URL that can be read ({fault})"
        pinned = kept.get("auth_server")
        if self._is_named(api, url) or str(server) == pinned or (pinned is None and server in origins_of(api)):
            return ""
        own, remedy = own_servers(api), self._permit(api, scheme, server)
        known = f"not {pinned}, which the stored token is from" if pinned else f"not a server of the API ({own})"
        return f"its document names the token server {server}, {known}; if that is right, {remedy}"

    def _permit(self, api: Api, scheme: SecurityScheme, server: Origin) -> str:
        """How the user names a token server."""
        login = f"log in with `restgpt login {login_name(api)}`"
        if (entry := self._credentials.entry(api)) is not None:
            return f"add `auth_servers: [{server}]` to {entry.name} in apis.yaml, or {login}"
        named = f"set {self._place(api, scheme, 'token_url')} to its token URL"
        return named if api.location is None else f"{named}, or {login}"

    def _client(self, api: Api, scheme: SecurityScheme, scopes: Iterable[str]) -> Client | None:
        identifier = self._part(api, scheme, "client_id")
        if identifier is None:
            return None
        found = self._endpoints(api, scheme)
        given = [self._part(api, scheme, part) for part in ("token_url", "authorization_url")]
        token_url = given[0] or found.get("token_endpoint", "")
        authorize = given[1] or found.get("authorization_endpoint", "")
        wanted = self._part(api, scheme, "scopes") or " ".join(scopes)
        if not token_url:
            raise LoginError(f"the document has no token URL for {scheme.key}; set token_url in apis.yaml")
        named = frozenset(url for url in given if url)
        return Client(identifier, self._part(api, scheme, "client_secret"), token_url, authorize, wanted, named)

    def _endpoints(self, api: Api, scheme: SecurityScheme) -> dict[str, str]:
        """The token and authorization endpoints, from the document or from OpenID Connect discovery."""
        documented = _documented(scheme)
        if documented["token_endpoint"] or not scheme.open_id_connect_url:
            return documented
        url, session = scheme.open_id_connect_url, self._session()

        def discover() -> dict[str, str]:
            answer = session.get(url, timeout=self._seconds, allow_redirects=False)
            return read_discovery(answer.status_code, answer.content, origin_of(url))

        return self._call(api, url, discover)

    def _is_fresh(self, token: Token) -> bool:
        expires = token.get("expires_at")
        return bool(token) and (not isinstance(expires, int | float) or expires > self._clock() + LEEWAY)

    def _keep(self, api: Api, scheme: SecurityScheme, token: Token) -> str:
        self._file.put(api, scheme.key, token)
        return self._note(api, token)

    def _note(self, api: Api, token: Token) -> str:
        values = [str(token[name]) for name in ("access_token", "refresh_token", "id_token") if token.get(name)]
        with self._lock:
            older = [value for value in self._seen.get(api.identity, ()) if value not in values]
            self._seen[api.identity] = dict.fromkeys([*older, *values][-MOST_SEEN:])
        return str(token["access_token"])

    def _ask(self, api: Api, client: Client, grant: Mapping[str, str]) -> Token:
        """Request a token; if the endpoint refuses the client in the header, send it in the body."""
        basic = None if client.secret is None else (client.identifier, client.secret)
        found = self._try(api, client, grant, basic)
        if found.get("error") == "invalid_client" and basic is not None:
            found = self._try(api, client, {**grant, "client_secret": basic[1]}, None)
        if not found.get("access_token"):
            raise LoginError(
                f"the authorization server of {api.name} refused the token request "
                f"({found.get('error', 'no token in its response')}); log in again"
            )
        lifetime = found.pop("expires_in", None)
        return found if lifetime is None else {**found, "expires_at": self._clock() + lifetime}

    def _try(self, api: Api, client: Client, grant: Mapping[str, str], basic: tuple[str, str] | None) -> dict[str, Any]:
        """The answer to a token request, whose client is in the header or in the body (RFC 6749 section 2.3.1)."""
        url, session = client.token_url, self._session()
        form = {name: value for name, value in grant.items() if value}
        if basic is None:
            form["client_id"] = client.identifier

        def fetch() -> dict[str, Any]:
            answer = session.post(url, form, auth=basic, timeout=self._seconds, allow_redirects=False)
            return read_token_answer(answer.status_code, answer.content, origin_of(url))

        return self._call(api, url, fetch, is_named=url in client.named)

    def _session(self) -> requests.Session:
        session = requests.Session()
        # No proxy and no .netrc of the environment is used, because the requests hold secrets.
        session.trust_env = False
        session.verify = self._ca_bundle or True
        session.headers["Accept"] = "application/json"
        session.mount("http://", self._adapter)
        session.mount("https://", self._adapter)
        return session

    def _call(self, api: Api, url: str, action: Callable[[], Answer], *, is_named: bool = False) -> Answer:
        """Check a token URL, run the requests of `action`, and map their exceptions to faults.

        Faults are raised outside any `except` block, because the exceptions hold the request with the client secret.
        """
        origin = _encrypted(url)
        entry = self._credentials.entry(api)
        is_typed = is_named or self._is_named(api, url)
        policy = address_policy_of_url(api, url, allow_private=bool(entry and entry.allow_private), is_typed=is_typed)
        exchange = Exchange(policy, origin, time.monotonic() + self._seconds, time.monotonic)
        self._adapter.exchange = exchange
        fault: HttpFault | LoginError
        try:
            with exchange.within(self._seconds):
                found = action()
            if not exchange.was_aborted:
                return found
        except (HttpFault, LoginError) as known:
            fault = type(known)(str(known))
        except (requests.RequestException, urllib3.exceptions.HTTPError, OSError, ValueError) as error:
            fault = fault_of(error, exchange, self._seconds)
        if exchange.was_aborted:
            # Whatever came before: a head or a body that the watchdog cut off can look like a whole one.
            fault = TimeoutFault(f"{origin} did not answer within {self._seconds:g} seconds; try again later")
        raise fault


def _documented(scheme: SecurityScheme) -> dict[str, str]:
    """The token and authorization endpoints that the document names, each possibly empty."""
    flows = [scheme.flows[kind] for kind in ("authorizationCode", "clientCredentials") if kind in scheme.flows]
    flows += [flow for flow in scheme.flows.values() if flow not in flows]
    return {
        "token_endpoint": next((flow.token_url for flow in flows if flow.token_url), ""),
        "authorization_endpoint": next((flow.authorization_url for flow in flows if flow.authorization_url), ""),
    }


def _without_ours(url: str) -> str:
    """An authorization URL without the parameters of its query that an authorization request sets, or that replace it.

    `request` and `request_uri` would replace the whole request (RFC 9101).
    """
    parts = urlsplit(url)
    kept = [pair for pair in parse_qsl(parts.query, keep_blank_values=True) if pair[0] not in _REQUEST]
    return parts._replace(query=urlencode(kept)).geturl()


def own_servers(api: Api) -> str:
    """The origins of an API, as text."""
    return ", ".join(str(origin) for origin in origins_of(api)) or "no server"


def _encrypted(url: str) -> Origin:
    """The origin of a URL that secrets may be sent to; raises AddressFault or LoginError."""
    origin = origin_of(url)
    if origin.scheme != "https" and origin.host not in _LOOPBACK:
        raise LoginError(f"no token is requested from {origin}, because it is without encryption; use an https URL")
    return origin


class _BoundedAdapter(GuardedAdapter):
    """Accepts responses of at most `MOST_BYTES`, and no compression, as a protection against decompression bombs."""

    def send(self, request: requests.PreparedRequest, *args: Any, **options: Any) -> requests.Response:
        """Send a request and read the response; raises BoundFault."""
        request.headers["Accept-Encoding"] = "identity"
        origin = self.exchange.origin
        with http_span(str(request.method), origin.host, origin.port) as current:
            response = super().send(request, *args, **options)
            answered(current, response.status_code)
        body = response.raw.read(MOST_BYTES + 1, decode_content=False)
        response.close()
        if len(body) > MOST_BYTES or response.headers.get("content-encoding", "identity") != "identity":
            raise BoundFault(f"{origin} sent more than {MOST_BYTES:,} bytes, or compressed what it sent")
        response.raw = io.BytesIO(body)
        return response
