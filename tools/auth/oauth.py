"""OAuth2 access tokens: by client credentials, by refresh token, and by a login (authorization code with PKCE).

A scheme is configured like any credential, by the parts `client_id`, `client_secret`, `refresh_token`, `token_url`,
`authorization_url` and `scopes`: in `apis.yaml` under the scheme's name, or as `RESTGPT_AUTH_<SCHEME>_CLIENT_ID` and so
on. The address policy applies to token URLs too, and they must be https or loopback.
"""

import io
import secrets
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import requests
import urllib3

from restgpt.specs.api import Api
from restgpt.specs.security import SecurityScheme
from restgpt.tools.auth.credentials import Credentials
from restgpt.tools.auth.token_file import Token, TokenFile
from restgpt.tools.errors import BoundFault, BrokenFault, HttpFault, LoginError
from restgpt.tools.network.addresses import (
    Exchange,
    GuardedAdapter,
    Origin,
    Resolver,
    address_policy_of_url,
    origin_of,
    resolve,
)
from restgpt.tools.network.exceptions import fault_of
from restgpt.tools.settings import Settings, auth_variable

if TYPE_CHECKING:
    from authlib.integrations.requests_client import OAuth2Session

Answer = TypeVar("Answer")

SECONDS = 30.0
# Tokens are renewed this many seconds before they expire.
LEEWAY = 60.0
MOST_BYTES = 1024 * 1024
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
# The error codes of a token endpoint (RFC 6749 section 5.2, RFC 6750, OpenID Connect Core). No other text of the server
# is shown, because it could repeat a secret from the request.
_REASONS = frozenset(
    {"invalid_request", "invalid_client", "invalid_grant", "unauthorized_client", "unsupported_grant_type"}
    | {"invalid_scope", "invalid_token", "access_denied", "server_error", "temporarily_unavailable", "login_required"}
    | {"interaction_required", "consent_required", "unsupported_token_type"}
)


@dataclass(frozen=True, slots=True)
class Client:
    """The OAuth2 client: its id, its secret and the endpoints of the server; its repr shows none of them."""

    identifier: str
    secret: str | None
    token_url: str
    authorization_url: str
    scopes: str

    def __repr__(self) -> str:
        return "Client(…)"


@dataclass(frozen=True, slots=True)
class AuthorizationRequest:
    """An authorization request (RFC 6749 section 4.1.1): its URL, and the values to check the redirect by."""

    url: str
    state: str
    verifier: str
    redirect_uri: str

    def __repr__(self) -> str:
        return "AuthorizationRequest(…)"


class OAuthTokens:
    """Obtains, stores and refreshes tokens. Thread-safe."""

    def __init__(
        self,
        settings: Settings,
        *,
        file: TokenFile | None = None,
        clock: Callable[[], float] = time.time,
        resolver: Resolver = resolve,
    ) -> None:
        self._credentials = Credentials(settings)
        self._file = file or TokenFile(settings.home / "tokens.json")
        self._ca_bundle = settings.ca_bundle
        self._clock = clock
        self._adapter = _BoundedAdapter(resolver=resolver, pool_size=2)
        self._lock = threading.RLock()
        self._seen: dict[str, set[str]] = {}

    def can_get(self, api: Api, scheme: SecurityScheme) -> bool:
        """Whether a token can be obtained, as far as the settings and the token file show; sends no request."""
        if scheme.type not in ("oauth2", "openIdConnect"):
            return False
        kept = self._file.get(api.name, scheme.key)
        if kept is not None and (self._is_fresh(kept) or kept.get("refresh_token")):
            return True
        has_client = self._part(api, scheme, "client_id") is not None
        has_secret = self._part(api, scheme, "client_secret") is not None
        return has_client and (has_secret or self._part(api, scheme, "refresh_token") is not None)

    def token(self, api: Api, scheme: SecurityScheme, scopes: Iterable[str], *, renew: bool = False) -> str | None:
        """An access token, stored or new; None if none can be obtained. Raises LoginError or HttpFault."""
        with self._lock:
            kept = self._file.get(api.name, scheme.key)
            known = self._note(api, kept) if kept is not None else None
            if kept is not None and self._is_fresh(kept) and not renew:
                return known
            refresh = (kept or {}).get("refresh_token") or self._part(api, scheme, "refresh_token")
            client = self._client(api, scheme, scopes)
            if client is None:
                return None
            if refresh:
                found = self._refresh(api, client, str(refresh))
            elif client.secret is not None:
                found = self._ask(api, client, grant_type="client_credentials", scope=client.scopes or None)
            else:
                return None
            return self._keep(api, scheme, found)

    def secrets(self, api: Api) -> Iterable[str]:
        """All tokens of an API that this instance has used."""
        with self._lock:
            return tuple(self._seen.get(api.name, ()))

    def start_login(
        self, api: Api, scheme: SecurityScheme, redirect_uri: str, scopes: Iterable[str] = ()
    ) -> AuthorizationRequest:
        """Start a login: the authorization request for the user's browser (RFC 6749 section 4.1, PKCE of RFC 7636)."""
        client = self._client(api, scheme, scopes)
        if client is None or not client.authorization_url:
            raise LoginError(
                f"{scheme.key} of {api.name} is not configured for logins: set {auth_variable(scheme.key, 'CLIENT_ID')}"
                " and, in apis.yaml, authorization_url and token_url if the document lacks them"
            )
        # Only a URL may go to the browser: other text could be a command-line option or a file.
        _encrypted(client.authorization_url)
        verifier = secrets.token_urlsafe(48)
        url, state = self._session(client, redirect_uri).create_authorization_url(
            client.authorization_url, state=secrets.token_urlsafe(24), code_verifier=verifier
        )
        return AuthorizationRequest(url, state, verifier, redirect_uri)

    def finish_login(
        self,
        api: Api,
        scheme: SecurityScheme,
        authorization: AuthorizationRequest,
        code: str,
        scopes: Iterable[str] = (),
    ) -> None:
        """Finish a login with the authorization code from the redirect; raises LoginError."""
        client = self._client(api, scheme, scopes)
        if client is None:
            raise LoginError(f"set {auth_variable(scheme.key, 'CLIENT_ID')} to log in to {api.name}")
        found = self._ask(
            api,
            client,
            grant_type="authorization_code",
            code=code,
            code_verifier=authorization.verifier,
            redirect_uri=authorization.redirect_uri,
        )
        with self._lock:
            self._keep(api, scheme, found)

    def forget(self, api: Api, scheme: SecurityScheme) -> None:
        """Delete the stored token."""
        self._file.forget(api.name, scheme.key)

    def _part(self, api: Api, scheme: SecurityScheme, part: str) -> str | None:
        return self._credentials.find(api, f"{scheme.key}_{part}")

    def _client(self, api: Api, scheme: SecurityScheme, scopes: Iterable[str]) -> Client | None:
        identifier = self._part(api, scheme, "client_id")
        if identifier is None:
            return None
        found = self._endpoints(api, scheme)
        token_url = self._part(api, scheme, "token_url") or found.get("token_endpoint", "")
        authorize = self._part(api, scheme, "authorization_url") or found.get("authorization_endpoint", "")
        wanted = self._part(api, scheme, "scopes") or " ".join(scopes)
        if not token_url:
            raise LoginError(f"the document has no token URL for {scheme.key}; set token_url in apis.yaml")
        return Client(identifier, self._part(api, scheme, "client_secret"), token_url, authorize, wanted)

    def _endpoints(self, api: Api, scheme: SecurityScheme) -> dict[str, str]:
        """The token and authorization endpoints, from the document or from OpenID Connect discovery."""
        flows = [scheme.flows[kind] for kind in ("authorizationCode", "clientCredentials") if kind in scheme.flows]
        flows += [flow for flow in scheme.flows.values() if flow not in flows]
        token = next((flow.token_url for flow in flows if flow.token_url), "")
        authorize = next((flow.authorization_url for flow in flows if flow.authorization_url), "")
        if token or not scheme.open_id_connect_url:
            return {"token_endpoint": token, "authorization_endpoint": authorize}
        session = requests.Session()
        self._guard(session)

        def discover() -> Any:
            return session.get(scheme.open_id_connect_url, timeout=SECONDS, allow_redirects=False).json()

        data = self._call(api, scheme.open_id_connect_url, discover)
        return {name: value for name, value in data.items() if isinstance(value, str)} if isinstance(data, dict) else {}

    def _is_fresh(self, token: Token) -> bool:
        expires = token.get("expires_at")
        return not isinstance(expires, int | float) or expires > self._clock() + LEEWAY

    def _refresh(self, api: Api, client: Client, refresh: str) -> Token:
        found = self._ask(api, client, grant_type="refresh_token", refresh_token=refresh)
        return {"refresh_token": refresh, **found}

    def _keep(self, api: Api, scheme: SecurityScheme, token: Token) -> str:
        self._file.put(api.name, scheme.key, token)
        return self._note(api, token)

    def _note(self, api: Api, token: Token) -> str:
        seen = self._seen.setdefault(api.name, set())
        seen.update(str(token[name]) for name in ("access_token", "refresh_token", "id_token") if token.get(name))
        return str(token["access_token"])

    def _ask(self, api: Api, client: Client, **grant: Any) -> Token:
        """Request a token; if the endpoint refuses the client in the header, send it in the body."""
        code, found = self._try(api, client, None, grant)
        if code == "invalid_client" and client.secret is not None:
            code, found = self._try(api, client, "client_secret_post", grant)
        if code or not found.get("access_token"):
            reason = "no token in its response" if not code else code if code in _REASONS else "unknown error"
            raise LoginError(
                f"the authorization server of {api.name} refused the token request ({reason}); log in again"
            )
        expires = found.get("expires_in")
        if isinstance(expires, int | float | str) and str(expires).isdigit():
            found = {**found, "expires_at": self._clock() + int(expires)}
        names = ("access_token", "refresh_token", "id_token", "expires_at", "scope", "token_type")
        return {name: found[name] for name in names if name in found}

    def _try(self, api: Api, client: Client, method: str | None, grant: dict[str, Any]) -> tuple[str, Token]:
        from authlib.integrations.base_client import OAuthError

        session = self._session(client, None, method)
        values = {name: value for name, value in grant.items() if value}

        def fetch() -> tuple[str, Token]:
            try:
                found = session.fetch_token(client.token_url, timeout=SECONDS, allow_redirects=False, **values)
            except OAuthError as error:
                return str(error.error or "error"), {}
            return "", dict(found)

        return self._call(api, client.token_url, fetch)

    def _session(self, client: Client, redirect_uri: str | None = None, method: str | None = None) -> "OAuth2Session":
        from authlib.integrations.requests_client import OAuth2Session

        session = OAuth2Session(
            client.identifier,
            client.secret,
            token_endpoint_auth_method=method,
            scope=client.scopes or None,
            redirect_uri=redirect_uri,
            code_challenge_method="S256",
        )
        self._guard(session)
        return session

    def _guard(self, session: requests.Session) -> None:
        # No proxy and no .netrc of the environment is used, because the requests hold secrets.
        session.trust_env = False
        session.verify = self._ca_bundle or True
        session.mount("http://", self._adapter)
        session.mount("https://", self._adapter)

    def _call(self, api: Api, url: str, action: Callable[[], Answer]) -> Answer:
        """Check a token URL, run the requests of `action`, and map their exceptions to faults.

        Faults are raised outside any `except` block, because the exceptions hold the request with the client secret.
        """
        origin = _encrypted(url)
        entry = self._credentials.entry(api)
        policy = address_policy_of_url(api, url, allow_private=bool(entry and entry.allow_private))
        exchange = Exchange(policy, origin, time.monotonic() + SECONDS, time.monotonic)
        self._adapter.exchange = exchange
        watchdog = threading.Timer(SECONDS, exchange.abort)
        watchdog.daemon = True
        watchdog.start()
        fault: HttpFault
        try:
            return action()
        except HttpFault as known:
            fault = type(known)(str(known))
        except requests.exceptions.JSONDecodeError:
            fault = BrokenFault(f"{origin} did not code as an authorization server does")
        except (requests.RequestException, urllib3.exceptions.HTTPError, OSError, ValueError, OverflowError) as error:
            fault = fault_of(error, exchange)
        finally:
            watchdog.cancel()
            exchange.use_socket(None)
        raise fault


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
        response = super().send(request, *args, **options)
        body = response.raw.read(MOST_BYTES + 1, decode_content=False)
        response.close()
        if len(body) > MOST_BYTES or response.headers.get("content-encoding", "identity") != "identity":
            raise BoundFault(f"{self.exchange.origin} sent more than {MOST_BYTES:,} bytes, or compressed what it sent")
        response.raw = io.BytesIO(body)
        return response
