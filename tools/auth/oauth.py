"""OAuth2 access tokens: by client credentials, by refresh token, and by logging in (authorization code with PKCE).

What a scheme needs comes from the same places as any credential, with the parts `client_id`, `client_secret`,
`refresh_token`, `token_url`, `authorization_url` and `scopes`: in `apis.yaml` under the scheme's name, or as
`RESTGPT_AUTH_<SCHEME>_CLIENT_ID` and so on. Token addresses are judged like any other and must be https, or loopback.
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
from restgpt.tools.network.addresses import Flight, GuardedAdapter, Origin, Resolver, origin_of, reach_of_url, resolve
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
# The reasons that a token endpoint may give (RFC 6749 section 5.2, RFC 6750, OpenID Connect Core); any other word of
# the server's could be a secret that it was sent.
_REASONS = frozenset(
    {"invalid_request", "invalid_client", "invalid_grant", "unauthorized_client", "unsupported_grant_type"}
    | {"invalid_scope", "invalid_token", "access_denied", "server_error", "temporarily_unavailable", "login_required"}
    | {"interaction_required", "consent_required", "unsupported_token_type"}
)


@dataclass(frozen=True, slots=True)
class Client:
    """What this program is to an authorization server; never shown."""

    identifier: str
    secret: str | None
    token_url: str
    authorization_url: str
    scopes: str

    def __repr__(self) -> str:
        return "Client(…)"


@dataclass(frozen=True, slots=True)
class Invitation:
    """Where a person agrees in a browser, and what has to come back from there."""

    url: str
    state: str
    verifier: str
    redirect_uri: str

    def __repr__(self) -> str:
        return "Invitation(…)"


class OAuthTokens:
    """Gets, keeps and renews tokens; one instance serves all threads."""

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
        """Tell whether a token could be had without asking anyone."""
        if scheme.type not in ("oauth2", "openIdConnect"):
            return False
        kept = self._file.get(api.name, scheme.key)
        if kept is not None and (self._is_fresh(kept) or kept.get("refresh_token")):
            return True
        has_client = self._part(api, scheme, "client_id") is not None
        has_secret = self._part(api, scheme, "client_secret") is not None
        return has_client and (has_secret or self._part(api, scheme, "refresh_token") is not None)

    def token(self, api: Api, scheme: SecurityScheme, scopes: Iterable[str], *, renew: bool = False) -> str | None:
        """An access token, kept or new; None where none can be had. Raises LoginError or HttpFault."""
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
        """Every token of an API that was ever used here."""
        with self._lock:
            return tuple(self._seen.get(api.name, ()))

    def invite(self, api: Api, scheme: SecurityScheme, redirect_uri: str, scopes: Iterable[str] = ()) -> Invitation:
        """Begin a login: the address for the person's browser (RFC 6749 section 4.1, with PKCE, RFC 7636)."""
        client = self._client(api, scheme, scopes)
        if client is None or not client.authorization_url:
            raise LoginError(
                f"{scheme.key} of {api.name} cannot be logged in to: set {auth_variable(scheme.key, 'CLIENT_ID')}, and "
                "authorization_url and token_url in apis.yaml where the document does not name them"
            )
        # A browser is sent there: what is no address could be an option of it or a file.
        _encrypted(client.authorization_url)
        verifier = secrets.token_urlsafe(48)
        url, state = self._session(client, redirect_uri).create_authorization_url(
            client.authorization_url, state=secrets.token_urlsafe(24), code_verifier=verifier
        )
        return Invitation(url, state, verifier, redirect_uri)

    def accept(
        self, api: Api, scheme: SecurityScheme, invitation: Invitation, answer: str, scopes: Iterable[str] = ()
    ) -> None:
        """Finish a login with the code from the address that the browser came back to; raises LoginError."""
        client = self._client(api, scheme, scopes)
        if client is None:
            raise LoginError(f"set {auth_variable(scheme.key, 'CLIENT_ID')} to log in to {api.name}")
        found = self._ask(
            api,
            client,
            grant_type="authorization_code",
            code=answer,
            code_verifier=invitation.verifier,
            redirect_uri=invitation.redirect_uri,
        )
        with self._lock:
            self._keep(api, scheme, found)

    def forget(self, api: Api, scheme: SecurityScheme) -> None:
        """Drop the kept token."""
        self._file.forget(api.name, scheme.key)

    def _part(self, api: Api, scheme: SecurityScheme, part: str) -> str | None:
        return self._credentials.find(api, f"{scheme.key}_{part}")

    def _client(self, api: Api, scheme: SecurityScheme, scopes: Iterable[str]) -> Client | None:
        identifier = self._part(api, scheme, "client_id")
        if identifier is None:
            return None
        found = self._addresses(api, scheme)
        token_url = self._part(api, scheme, "token_url") or found.get("token_endpoint", "")
        authorize = self._part(api, scheme, "authorization_url") or found.get("authorization_endpoint", "")
        wanted = self._part(api, scheme, "scopes") or " ".join(scopes)
        if not token_url:
            raise LoginError(f"the document names no token address for {scheme.key}; give token_url in apis.yaml")
        return Client(identifier, self._part(api, scheme, "client_secret"), token_url, authorize, wanted)

    def _addresses(self, api: Api, scheme: SecurityScheme) -> dict[str, str]:
        """The token and authorization addresses that the document names, itself or by OpenID Connect discovery."""
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

        data = self._exchange(api, scheme.open_id_connect_url, discover)
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
        """Ask the token endpoint; one that refuses the client in the header is given it in the body."""
        code, found = self._try(api, client, None, grant)
        if code == "invalid_client" and client.secret is not None:
            code, found = self._try(api, client, "client_secret_post", grant)
        if code or not found.get("access_token"):
            reason = "it sent no token" if not code else code if code in _REASONS else "it does not say why"
            raise LoginError(f"the authorization server of {api.name} refused ({reason}); log in again")
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

        return self._exchange(api, client.token_url, fetch)

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
        # Neither proxies nor a .netrc of the environment may see what is sent here.
        session.trust_env = False
        session.verify = self._ca_bundle or True
        session.mount("http://", self._adapter)
        session.mount("https://", self._adapter)

    def _exchange(self, api: Api, url: str, action: Callable[[], Answer]) -> Answer:
        """Judge a token address, talk to it, and turn what goes wrong there into faults.

        They are raised outside any handler: the exceptions below hold the request with the client's secret.
        """
        origin = _encrypted(url)
        entry = self._credentials.entry(api)
        reach = reach_of_url(api, url, allow_private=bool(entry and entry.allow_private))
        flight = Flight(reach, origin, time.monotonic() + SECONDS, time.monotonic)
        self._adapter.flight = flight
        watchdog = threading.Timer(SECONDS, flight.abort)
        watchdog.daemon = True
        watchdog.start()
        fault: HttpFault
        try:
            return action()
        except HttpFault as known:
            fault = type(known)(str(known))
        except requests.exceptions.JSONDecodeError:
            fault = BrokenFault(f"{origin} did not answer as an authorization server does")
        except (requests.RequestException, urllib3.exceptions.HTTPError, OSError, ValueError, OverflowError) as error:
            fault = fault_of(error, flight)
        finally:
            watchdog.cancel()
            flight.hold(None)
        raise fault


def _encrypted(url: str) -> Origin:
    """The origin of an address that may be told secrets; raises AddressFault or LoginError."""
    origin = origin_of(url)
    if origin.scheme != "https" and origin.host not in _LOOPBACK:
        raise LoginError(f"{origin} is asked for tokens without encryption; that is not done")
    return origin


class _BoundedAdapter(GuardedAdapter):
    """Takes answers of at most `MOST_BYTES` and none compressed, since a few bytes of those can fill the memory."""

    def send(self, request: requests.PreparedRequest, *args: Any, **options: Any) -> requests.Response:
        """Send a request and read the answer; raises BoundFault."""
        request.headers["Accept-Encoding"] = "identity"
        response = super().send(request, *args, **options)
        body = response.raw.read(MOST_BYTES + 1, decode_content=False)
        response.close()
        if len(body) > MOST_BYTES or response.headers.get("content-encoding", "identity") != "identity":
            raise BoundFault(f"{self.flight.origin} sent more than {MOST_BYTES:,} bytes, or compressed what it sent")
        response.raw = io.BytesIO(body)
        return response
