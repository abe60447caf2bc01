"""The one way to a target API: credentials added, addresses judged, time and size bounded, secrets taken out.

Repeated are requests that certainly did not arrive, those that a 429 turned away, and safe or idempotent ones after a
broken connection, a timeout or a 408, 425, 502, 503 or 504 (safe ones after a 500 too). Retry-After is honoured as far
as the time goes. Redirects are followed by hand: GET and HEAD only, to the servers of the API or configured hosts,
credentials to the very same origin only.
"""

import codecs
import email.utils
import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Any
from urllib.parse import urljoin

import requests
import urllib3
from requests.adapters import BaseAdapter

from restgpt.specs.api import Api
from restgpt.specs.operation import Operation
from restgpt.tools.auth.credentials import Credentials, TokenSource
from restgpt.tools.auth.oauth import OAuthTokens
from restgpt.tools.errors import (
    AddressFault,
    BoundFault,
    BrokenFault,
    ConnectFault,
    HttpFault,
    LoginError,
    RedirectFault,
    ResolveFault,
    TimeoutFault,
    TlsFault,
)
from restgpt.tools.http.rate_limit import Pace
from restgpt.tools.network.addresses import Flight, GuardedAdapter, Origin, Resolver, origin_of, reach_of, resolve
from restgpt.tools.network.decompression import Decoder
from restgpt.tools.network.exceptions import fault_of
from restgpt.tools.network.tls import Trust
from restgpt.tools.network.urllib3_log import quieten_urllib3
from restgpt.tools.redaction import Redactor
from restgpt.tools.request.build import PreparedRequest
from restgpt.tools.response.content import recoded
from restgpt.tools.response.reply import Reply
from restgpt.tools.settings import Settings
from restgpt.tools.telemetry import here, span

log = logging.getLogger("restgpt.http")

REDIRECTS = frozenset({301, 302, 303, 307, 308})
TURNED_AWAY = 429
TRANSIENT = frozenset({408, 425, 502, 503, 504})
NEVER_AGAIN = (AddressFault, TlsFault, RedirectFault, BoundFault)
IDEMPOTENCY_KEYS = frozenset({"idempotency-key", "x-idempotency-key"})
LONGEST_HOLD = 3600.0
LONGEST_REASON = 100
CHUNK = 64 * 1024
USER_AGENT = "restgpt"


@dataclass(frozen=True, slots=True)
class HttpLimits:
    """Bounds of one `send`: seconds, bytes and counts."""

    connect_seconds: float = 10.0
    read_seconds: float = 30.0
    total_seconds: float = 120.0
    longest_wait: float = 60.0
    backoff_seconds: float = 0.5
    attempts: int = 4
    redirects: int = 5
    body_bytes: int = 64 * 1024 * 1024
    header_bytes: int = 64 * 1024


class HttpClient:
    """Sends prepared requests; one instance serves all threads and keeps connections, rate limits and secrets.

    Seams: `adapter` (a requests adapter, for tests), `clock` and `sleep`, `resolver`, `tokens`.
    """

    def __init__(
        self,
        *,
        settings: Settings | None = None,
        limits: HttpLimits | None = None,
        tokens: TokenSource | None = None,
        adapter: BaseAdapter | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        resolver: Resolver = resolve,
    ) -> None:
        self.limits = limits or HttpLimits()
        if tokens is None and settings is not None:
            tokens = OAuthTokens(settings, resolver=resolver)
        self.credentials = Credentials(settings or Settings(), tokens)
        quieten_urllib3()
        self._ca_bundle = settings.ca_bundle if settings else None
        self._adapter = adapter or GuardedAdapter(resolver=resolver, connect_seconds=self.limits.connect_seconds)
        self._clock = clock
        self._sleep = sleep
        self._lock = threading.Lock()
        self._paces: dict[str, Pace] = {}
        self._redactors: dict[tuple[frozenset[str], frozenset[str]], Redactor] = {}

    def redactor(self, *apis: Api) -> Redactor:
        """A redactor that knows every secret of the settings and of these APIs."""
        secrets = self.credentials.secrets(*apis)
        names = frozenset(scheme.name for api in apis for scheme in api.security_schemes.values() if scheme.name)
        with self._lock:
            if (secrets, names) not in self._redactors:
                self._redactors[secrets, names] = Redactor(secrets, names=names)
            return self._redactors[secrets, names]

    def send(self, request: PreparedRequest, operation: Operation, *, deadline: float | None = None) -> Reply:
        """Send a request and return the reply, whatever its status.

        `deadline` is a moment of the client's clock (`time.monotonic`) by which everything is over, waits included.
        Raises a subclass of HttpFault where no usable reply came, MissingCredentialError where one is needed.
        """
        limit = self._clock() + self.limits.total_seconds
        journey = _Journey(self, request, operation, min(limit, deadline) if deadline is not None else limit)
        with span("restgpt.request", {**here(), "api": request.api, "operation": request.operation}) as current:
            outcome = journey.run()
            current.set_attribute("restgpt.outcome", _outcome_of(outcome))
        _record(request, outcome)
        if isinstance(outcome, HttpFault):
            # Raised here, outside any handler, so that no lower exception with a full URL hangs on to it.
            raise outcome
        return outcome

    def close(self) -> None:
        """Close all connections."""
        self._adapter.close()

    def pace(self, api: Api) -> Pace:
        """The pace of an API, shared by all threads."""
        entry = self.credentials.entry(api)
        with self._lock:
            return self._paces.setdefault(api.name, Pace(entry.requests_per_second if entry else None, self._clock))


@dataclass(slots=True)
class _Answer:
    """One HTTP response, read as far as its bounds go."""

    status: int
    reason: str
    headers: dict[str, str]
    body: bytes
    truncated: bool
    url: str


class _Journey:
    """One `send`: its attempts, redirects and waits until there is a reply, a fault or no time left."""

    def __init__(self, client: HttpClient, request: PreparedRequest, operation: Operation, deadline: float) -> None:
        self._client = client
        self._request = request
        self._operation = operation
        self._deadline = deadline
        self._clock = client._clock
        self._started = self._clock()
        self._attempts = 0
        entry = client.credentials.entry(operation.api)
        self._reach = reach_of(
            operation, allow_private=bool(entry and entry.allow_private), hosts=entry.hosts if entry else ()
        )
        self._presented = client.credentials.present(operation)
        self._trust = Trust(entry, client._ca_bundle)
        self._renewed = False

    def run(self) -> Reply | HttpFault:
        """Try until it is no use; faults are returned, not raised."""
        pace = self._client.pace(self._operation.api)
        while True:
            turn = pace.reserve(self._deadline, self._client.limits.longest_wait)
            if turn is None:
                return _impatient(pace, is_over=self._clock() > self._deadline)
            if turn > 0:
                self._client._sleep(turn)
            self._attempts += 1
            outcome = self._once()
            wait = self._wait_before_next(outcome, pace)
            if wait is None:
                return self._finished(outcome)
            if wait > 0:
                self._client._sleep(wait)

    def _once(self) -> _Answer | HttpFault:
        try:
            return self._follow()
        except HttpFault as fault:
            return fault

    def _follow(self) -> _Answer:
        """Send the request and follow its redirects."""
        home = origin_of(self._request.url)
        self._reach.check(home)
        if home not in self._reach.origins:
            raise AddressFault(f"{home} is not a server of this API; build the request again")
        request = self._presented.sign(self._request)
        for _ in range(self._client.limits.redirects + 1):
            origin = origin_of(request.url)
            self._reach.check(origin)
            answer = self._exchange(request, origin)
            target = answer.headers.get("location")
            if answer.status not in REDIRECTS or not target or request.method not in ("GET", "HEAD"):
                return answer
            request = self._redirected(home, origin, urljoin(request.url, target.replace(" ", "%20")).partition("#")[0])
        raise RedirectFault(f"{home} redirects more than {self._client.limits.redirects} times; check the URL")

    def _redirected(self, home: Origin, origin: Origin, url: str) -> PreparedRequest:
        """The next request of a redirect, with credentials for the very same origin only."""
        try:
            target = origin_of(url)
            self._reach.check(target)
        except AddressFault as fault:
            reason = f"{origin} redirects to an address that is not followed: {fault}"
        else:
            if origin.scheme == "https" and target.scheme == "http":
                raise RedirectFault(f"{origin} redirects to unencrypted {target}; that is not followed")
            moved = replace(self._request, url=url, body=None)
            if _is_home(home, target):
                return self._presented.sign(moved)
            kept = {name: value for name, value in moved.headers.items() if name == "Accept"}
            return replace(moved, url=self._presented.stripped(url), headers=kept)
        raise RedirectFault(reason)

    def _exchange(self, request: PreparedRequest, origin: Origin) -> _Answer:
        """One request, one response; a watchdog breaks it off at the deadline whatever the server drips."""
        flight = Flight(self._reach, origin, self._deadline, self._clock)
        left = flight.remaining(float("inf"))
        adapter = self._client._adapter
        if isinstance(adapter, GuardedAdapter):
            adapter.flight = flight
        watchdog = threading.Timer(left, flight.abort)
        watchdog.daemon = True
        watchdog.start()
        try:
            return self._transfer(request, flight)
        finally:
            watchdog.cancel()
            flight.hold(None)

    def _transfer(self, request: PreparedRequest, flight: Flight) -> _Answer:
        fault: HttpFault
        limits = self._client.limits
        timeout = (flight.remaining(limits.connect_seconds), flight.remaining(limits.read_seconds))
        try:
            verify, cert = self._trust.towards(home=_is_home(origin_of(self._request.url), flight.origin))
            response = self._client._adapter.send(
                _wire(request), stream=True, timeout=timeout, verify=verify, cert=cert
            )
            try:
                return _read(response, request, flight, limits)
            finally:
                response.close()
        except HttpFault as known:
            fault = type(known)(str(known), outcome_unknown=flight.was_sent)
        except (requests.RequestException, urllib3.exceptions.HTTPError, OSError, ValueError) as error:
            fault = fault_of(error, flight)
        if flight.was_aborted:
            fault = TimeoutFault(
                f"{flight.origin} did not finish answering in the time left; raise the time budget or ask for less",
                outcome_unknown=flight.was_sent,
            )
        raise fault

    def _wait_before_next(self, outcome: _Answer | HttpFault, pace: Pace) -> float | None:
        """The seconds to wait before the next attempt; None where there is none."""
        if isinstance(outcome, _Answer) and outcome.status == 401 and self._renew():
            return 0.0
        if not self._may_repeat(outcome):
            return None
        asked = _retry_after(outcome.headers) if isinstance(outcome, _Answer) else None
        limits = self._client.limits
        wait = asked if asked is not None else limits.backoff_seconds * 2 ** (self._attempts - 1)
        if isinstance(outcome, _Answer) and outcome.status == TURNED_AWAY:
            pace.hold(min(wait, LONGEST_HOLD))
        is_too_long = wait > limits.longest_wait or self._clock() + wait >= self._deadline
        most = 2 if isinstance(outcome, ConnectFault | ResolveFault) else limits.attempts
        return None if is_too_long or self._attempts >= most else wait

    def _renew(self) -> bool:
        """Get a fresh token once after a 401, which says that nothing was done."""
        credentials = self._client.credentials
        if self._renewed or not credentials.can_renew(self._operation, self._presented):
            return False
        self._renewed = True
        try:
            self._presented = credentials.present(self._operation, renew=True)
        except (HttpFault, LoginError):
            # The 401 says what matters: the credential is no longer good.
            return False
        return True

    def _may_repeat(self, outcome: _Answer | HttpFault) -> bool:
        if isinstance(outcome, HttpFault):
            if isinstance(outcome, NEVER_AGAIN):
                return False
            return not outcome.outcome_unknown or self._is_idempotent
        if outcome.status == TURNED_AWAY:
            return True
        if outcome.status == 500:
            return self._operation.is_safe
        return outcome.status in TRANSIENT and self._is_idempotent

    @property
    def _is_idempotent(self) -> bool:
        """Whether repeating does no more: by its method, or by a documented key that the server remembers."""
        has_key = any(name.lower() in IDEMPOTENCY_KEYS for name in self._request.headers)
        return self._operation.is_idempotent or has_key

    def _finished(self, outcome: _Answer | HttpFault) -> Reply | HttpFault:
        """The outcome without secrets."""
        redactor = self._client.redactor(self._operation.api).extended(self._presented.secrets)
        if isinstance(outcome, HttpFault):
            tried = f" (tried {self._attempts} times)" if self._attempts > 1 else ""
            return type(outcome)(redactor.message(str(outcome)) + tried, outcome_unknown=outcome.outcome_unknown)
        headers = redactor.headers(outcome.headers)
        return Reply(
            status=outcome.status,
            reason=redactor.text(outcome.reason)[:LONGEST_REASON],
            headers=headers,
            media_type=headers.get("content-type", "").partition(";")[0].strip().lower(),
            body=_without_secrets(outcome, redactor),
            truncated=outcome.truncated,
            elapsed_ms=round((self._clock() - self._started) * 1000),
            attempts=self._attempts,
            url=redactor.url(outcome.url),
        )


def _without_secrets(answer: _Answer, redactor: Redactor) -> bytes:
    """The body without secrets, in UTF-8 with a mark where it held one in another charset."""
    body = redactor.data(answer.body, cut=answer.truncated)
    text = recoded(body, answer.headers.get("content-type", ""))
    shown = text and redactor.data(text, cut=answer.truncated)
    return body if not shown or shown == text else codecs.BOM_UTF8 + shown


def _impatient(pace: Pace, *, is_over: bool) -> TimeoutFault:
    """Nothing was sent, for the time was over, or the API's pace does not allow it in time."""
    if is_over:
        return TimeoutFault("the time is used up, so it was not sent; raise the time budget or ask for less")
    held = pace.held()
    if held:
        return TimeoutFault(f"this API asked for no requests for another {held:.0f} seconds; try again then")
    return TimeoutFault("the time is used up waiting for the rate limit of this API; ask for less")


def _is_home(home: Origin, target: Origin) -> bool:
    """Tell whether a redirect stays on the origin, or only changes http to https on the same host's usual ports."""
    return target == home or (home.host, home.scheme, home.port, target.scheme, target.port) == (
        target.host,
        "http",
        80,
        "https",
        443,
    )


def _wire(request: PreparedRequest) -> requests.PreparedRequest:
    """The request as requests sends it, byte for byte: its own preparation would undo some of the escaping."""
    prepared = requests.PreparedRequest()
    prepared.method = request.method
    prepared.url = request.url
    headers = {"User-Agent": USER_AGENT, "Accept-Encoding": "gzip, deflate", **request.headers}
    if request.body is not None or request.method in ("POST", "PUT", "PATCH"):
        headers["Content-Length"] = str(len(request.body or b""))
    folded = {name: value.encode("utf-8").decode("latin-1") for name, value in headers.items()}
    prepared.headers = requests.structures.CaseInsensitiveDict(folded)
    prepared.body = request.body
    return prepared


def _read(response: requests.Response, request: PreparedRequest, flight: Flight, limits: HttpLimits) -> _Answer:
    headers = {name.lower(): value for name, value in response.headers.items()}
    size = sum(len(name) + len(value) for name, value in headers.items())
    if size > limits.header_bytes:
        raise BoundFault(f"{flight.origin} sent {size:,} bytes of headers, more than {limits.header_bytes:,}")
    parts: list[bytes] = []
    truncated = False
    if request.method != "HEAD" and response.status_code not in (204, 304):
        try:
            truncated = _read_body(response, headers, flight, limits.body_bytes, parts)
        except (HttpFault, urllib3.exceptions.HTTPError, OSError):
            if request.method in ("GET", "OPTIONS"):
                raise
            # The status says what became of the change; it is worth more than the end of the body.
            truncated = True
    text = {name: value.encode("latin-1", "replace").decode("utf-8", "replace") for name, value in headers.items()}
    body = b"".join(parts)[: limits.body_bytes]
    return _Answer(response.status_code, _reason(response), text, body, truncated, request.url)


def _reason(response: requests.Response) -> str:
    if response.reason:
        return str(response.reason)
    return HTTPStatus(response.status_code).phrase if response.status_code in HTTPStatus._value2member_map_ else ""


def _read_body(
    response: requests.Response, headers: Mapping[str, str], flight: Flight, bound: int, parts: list[bytes]
) -> bool:
    """Read a body into `parts`, decompressed; True where it goes past its bound, BrokenFault where it ends early."""
    decoder = Decoder(headers.get("content-encoding", ""), flight.origin)
    size = received = 0
    while True:
        flight.remaining(float("inf"))
        chunk = _next_chunk(response.raw)
        received += len(chunk)
        parts.append(decoder.decode(chunk, bound + 1 - size) if chunk else b"")
        size += len(parts[-1])
        if size > bound or received > bound:
            return True
        if not chunk:
            break
    expected = headers.get("content-length", "")
    is_short = expected.isdigit() and received < int(expected) and "transfer-encoding" not in headers
    if is_short or not decoder.is_complete:
        raise BrokenFault(f"the connection to {flight.origin} ended before the answer was complete; try again")
    return False


def _next_chunk(raw: Any) -> bytes:
    """What has arrived, at most a chunk; never waits for a full one, so that the deadline is seen between drips."""
    if isinstance(raw, urllib3.response.BaseHTTPResponse):
        return raw.read1(CHUNK, decode_content=False) or b""
    return raw.read(CHUNK) or b""


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds that Retry-After asks for, as a number or a date (RFC 9110 section 10.2.3)."""
    text = headers.get("retry-after", "").strip()
    if text.replace(".", "", 1).isdigit() and text.isascii():
        return float(text)
    try:
        moment = email.utils.parsedate_to_datetime(text) if text else None
    except ValueError:
        moment = None
    return max(0.0, moment.timestamp() - time.time()) if moment is not None else None


def _outcome_of(outcome: Reply | HttpFault) -> str:
    return type(outcome).__name__ if isinstance(outcome, HttpFault) else str(outcome.status)


def _record(request: PreparedRequest, outcome: Reply | HttpFault) -> None:
    """Log one structured event per request, without URL, headers or bodies."""
    event: dict[str, Any] = {
        **here(),
        "api": request.api,
        "operation": request.operation,
        "method": request.method,
    }
    if isinstance(outcome, HttpFault):
        event |= {"fault": type(outcome).__name__, "outcome_unknown": outcome.outcome_unknown}
    else:
        event |= {"status": outcome.status, "ms": outcome.elapsed_ms, "bytes": len(outcome.body)}
        event["attempts"] = outcome.attempts
    log.info("request %s %s", request.method, request.operation, extra={"event": event})
