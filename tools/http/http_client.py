"""The HTTP client for target APIs: it adds credentials, checks addresses, bounds time and size, and redacts secrets.

The client retries requests that certainly did not arrive, requests that got a 429, and safe or idempotent requests
after a broken connection, a timeout or a 408, 425, 502, 503 or 504 (safe requests after a 500 too). It waits as long as
Retry-After asks, unless that exceeds `longest_wait` or the deadline. It follows redirects itself: only GET and HEAD,
only to the servers of the API or to configured hosts, and with credentials only to the same origin.
"""

import codecs
import email.utils
import logging
import re
import threading
import time
from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Any

import requests
import urllib3
from requests.adapters import BaseAdapter

from restgpt.specs.api import Api
from restgpt.specs.operation import Operation
from restgpt.specs.problem import is_success
from restgpt.tools.auth.credentials import LEAST_TOKEN, Credentials, TokenSource
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
from restgpt.tools.http.addresses import (
    Exchange,
    GuardedAdapter,
    Origin,
    Resolver,
    address_policy_of,
    joined_url,
    origin_of,
    resolve,
)
from restgpt.tools.http.cancellation import CancelledRunError, cancellation, pause
from restgpt.tools.http.connection import (
    CookieJars,
    Decoder,
    RateLimit,
    SessionAdapter,
    TlsOptions,
    fault_of,
    filter_urllib3_logs,
)
from restgpt.tools.http.pagination import next_link
from restgpt.tools.request.prepared_request import PreparedRequest
from restgpt.tools.response.content import Reply, utf8_version
from restgpt.tools.settings import Settings
from restgpt.tools.text.redaction import Redactor
from restgpt.tools.tracing.span import answered, http_span
from restgpt.tools.tracing.telemetry import node_context

log = logging.getLogger("restgpt.http")

REDIRECTS = frozenset({301, 302, 303, 307, 308})
ACCEPTED, TOO_MANY_REQUESTS = 202, 429
TRANSIENT = frozenset({408, 425, 502, 503, 504})
GATEWAY = frozenset({502, 504})
"""No good answer came to a gateway, so the server behind it may have acted (RFC 9110, sections 15.6.3 and 15.6.5)."""

NOT_RETRIED = (AddressFault, TlsFault, RedirectFault, BoundFault)
IDEMPOTENCY_KEYS = frozenset({"idempotency-key", "x-idempotency-key"})
LONGEST_PAUSE = 3600.0
LONGEST_REASON = 100
CHUNK = 64 * 1024
MAX_DIGITS = 18
USER_AGENT = "restgpt"


@dataclass(frozen=True, slots=True)
class HttpLimits:
    """The limits of one `send`: seconds, bytes and counts."""

    connect_seconds: float = 10.0
    read_seconds: float = 30.0
    total_seconds: float = 120.0
    longest_wait: float = 60.0
    backoff_seconds: float = 0.5
    attempts: int = 4
    redirects: int = 5
    body_bytes: int = 32 * 1024 * 1024
    header_bytes: int = 64 * 1024


class HttpClient:
    """Sends prepared requests. Thread-safe: threads share the connections, rate limits and secrets of one instance.

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
        sleep: Callable[[float], None] = pause,
        resolver: Resolver = resolve,
    ) -> None:
        self.limits = limits or HttpLimits()
        if tokens is None and settings is not None:
            tokens = OAuthTokens(settings, resolver=resolver)
        self.credentials = Credentials(settings or Settings(), tokens)
        filter_urllib3_logs()
        self._ca_bundle = settings.ca_bundle if settings else None
        self._adapter = adapter or GuardedAdapter(resolver=resolver, connect_seconds=self.limits.connect_seconds)
        self._clock = clock
        self._sleep = sleep
        self._lock = threading.Lock()
        self.cookies = CookieJars()
        self._rate_limits: dict[str, RateLimit] = {}
        self._redactors: dict[Hashable, tuple[frozenset[str], Redactor]] = {}

    def redactor(self, *apis: Api, about: Api | None = None, least: int = LEAST_TOKEN) -> Redactor:
        """A redactor for every secret of the settings and of these APIs; the other arguments as of `Credentials`."""
        secrets = self.credentials.secrets(*apis, about=about, least=least)
        for api in (about,) if about is not None else apis:
            secrets |= self.cookies.secrets(api.identity, least)
        names = frozenset(scheme.name for api in apis for scheme in api.security_schemes.values() if scheme.name)
        key = (names, frozenset(api.identity for api in apis), about and about.identity, least)
        with self._lock:
            known, redactor = self._redactors.get(key, (None, None))
            if redactor is None or known != secrets:
                # It takes the place of the one before: each renewal of a token makes other secrets.
                redactor = Redactor(secrets, names=names)
                self._redactors[key] = secrets, redactor
            return redactor

    def send(
        self,
        request: PreparedRequest,
        operation: Operation,
        *,
        deadline: float | None = None,
        is_read: bool | None = None,
        before_send: Callable[[], None] | None = None,
        thread: str = "",
    ) -> Reply:
        """Send a request and return the reply, whatever its status.

        `before_send` is called before each attempt, when the connection is open and no byte of the request was sent;
        an exception that it raises ends the `send`. `is_read` says whether the request only reads, so that it may be
        repeated; without it, the method decides. `deadline` is the moment on the client's clock (`time.monotonic`) by
        which `send` ends, waits included. Cookies that the API sets are kept for the same `thread` and origin, and sent
        with its later requests; without a thread they are forgotten. Raises a subclass of HttpFault if no usable reply
        comes, MissingCredentialError if the operation needs a credential that is not configured, CancelledRunError if
        the work was cancelled before the request was sent.
        """
        limit = self._clock() + max(self.limits.total_seconds, self.answer_seconds(operation))
        limit = min(limit, deadline) if deadline is not None else limit
        only_reads = operation.is_safe if is_read is None else is_read
        loop = _RetryLoop(self, request, operation, limit, is_read=only_reads, before_send=before_send, thread=thread)
        outcome = loop.run()
        _record(request, outcome)
        if isinstance(outcome, HttpFault):
            # Raised outside any `except` block, so that no exception with the full URL becomes its context.
            raise outcome
        return outcome

    def answer_seconds(self, operation: Operation) -> float:
        """How long the answer of an operation may take, in seconds: as `apis.yaml` says, else the limit."""
        entry = self.credentials.entry(operation.api)
        rules = (rule.seconds for rule in entry.timeouts if rule.applies_to(operation)) if entry else iter(())
        return next(rules, (entry.timeout if entry else None) or self.limits.read_seconds)

    def close(self) -> None:
        """Close all connections."""
        self._adapter.close()

    def rate_limit(self, api: Api) -> RateLimit:
        """The rate limit of an API, shared by all threads."""
        entry = self.credentials.entry(api)
        with self._lock:
            return self._rate_limits.setdefault(
                api.identity, RateLimit(entry.requests_per_second if entry else None, self._clock)
            )


@dataclass(slots=True)
class _Response:
    """One HTTP response; its body is read up to the size limit."""

    status: int
    reason: str
    headers: dict[str, str]
    body: bytes
    truncated: bool
    url: str


class _RetryLoop:
    """The attempts, redirects and waits of one `send`, until a reply, a fault or the deadline ends it."""

    def __init__(
        self,
        client: HttpClient,
        request: PreparedRequest,
        operation: Operation,
        deadline: float,
        *,
        is_read: bool,
        before_send: Callable[[], None] | None = None,
        thread: str = "",
    ) -> None:
        self._client = client
        self._jar = (thread, operation.api.identity)
        self._request = request
        self._operation = operation
        self._is_read = is_read
        self._before_send = before_send
        self._deadline = deadline
        self._clock = client._clock
        self._started = self._clock()
        self._tries: list[str] = []
        self._outcome_unknown = False
        self._resends = 0
        entry = client.credentials.entry(operation.api)
        self._policy = address_policy_of(
            operation, allow_private=bool(entry and entry.allow_private), hosts=entry.hosts if entry else ()
        )
        self._auth = client.credentials.auth_for(operation, cookies=client.cookies.names(*self._jar))
        self._answer_seconds = client.answer_seconds(operation)
        self._tls_options = TlsOptions(entry, client._ca_bundle)
        self._renewed = False

    def run(self) -> Reply | HttpFault:
        """Send the request until no retry is allowed; faults are returned, not raised."""
        rate_limit = self._client.rate_limit(self._operation.api)
        outcome: _Response | HttpFault | None = None
        while True:
            wait = rate_limit.reserve(self._operation.name, self._deadline, self._client.limits.longest_wait)
            if wait is None:
                delay = rate_limit.delay_left(self._operation.name)
                return self._redacted(outcome or _wait_fault(delay, is_over=self._clock() > self._deadline))
            if wait > 0:
                self._client._sleep(wait)
            try:
                with cancellation().sending():
                    outcome = self._attempt()
            except CancelledRunError:
                if outcome is None:
                    raise
                return self._redacted(outcome)
            self._tries.append("no response" if isinstance(outcome, HttpFault) else str(outcome.status))
            wait = self._wait_before_next(outcome, rate_limit)
            self._outcome_unknown |= self._may_have_acted(outcome, GATEWAY if wait is None else GATEWAY | {503})
            if wait is None:
                return self._redacted(outcome)
            if wait > 0:
                self._client._sleep(wait)

    def _attempt(self) -> _Response | HttpFault:
        try:
            return self._follow()
        except HttpFault as fault:
            return fault

    def _follow(self) -> _Response:
        """Send the request and follow its redirects."""
        home = origin_of(self._request.url)
        self._policy.check(home)
        if home not in self._policy.origins:
            raise AddressFault(f"{home} is not a server of this API; build the request again")
        request = self._auth.apply(self._request)
        template = self._operation.path
        for hop in range(self._client.limits.redirects + 1):
            origin = origin_of(request.url)
            self._policy.check(origin)
            try:
                answer = self._send_once(request, origin, template)
            except HttpFault as fault:
                # A change was sent before its redirect, whatever became of the redirected request.
                unknown = fault.outcome_unknown or (hop > 0 and not self._is_read)
                raise type(fault)(str(fault), outcome_unknown=unknown) from None
            target = answer.headers.get("location")
            if answer.status not in REDIRECTS or not target:
                return answer
            try:
                url = joined_url(request.url, target.replace(" ", "%20")).partition("#")[0]
                if request.method not in ("GET", "HEAD") and not self._may_move(home, answer.status, url):
                    return answer
                request, template = self._redirected(home, origin, url), ""
            except HttpFault as fault:
                if not self._is_read:
                    return answer
                reason = f"{origin} redirects to an address that is not followed: {fault}"
            else:
                continue
            raise RedirectFault(reason)
        if not self._is_read:
            return answer
        raise RedirectFault(f"{home} redirects more than {self._client.limits.redirects} times; check the URL")

    def _may_move(self, home: Origin, status: int, url: str) -> bool:
        """Whether a request with a body is sent again at its new place.

        Only one that reads, after a status that keeps method and body (RFC 9110, sections 15.4.8 and 15.4.9), and only
        on its own origin: the body holds the user's words.
        """
        try:
            return self._is_read and status in (307, 308) and _is_home(home, origin_of(url))
        except AddressFault:
            return False

    def _redirected(self, home: Origin, origin: Origin, url: str) -> PreparedRequest:
        """The request that follows a redirect; it carries credentials only if the origin is the same.

        Raises AddressFault for an address that is not followed.
        """
        target = origin_of(url)
        self._policy.check(target)
        if origin.scheme == "https" and target.scheme == "http":
            raise AddressFault(f"{target} is unencrypted")
        moved = replace(self._request, url=url)
        if moved.method in ("GET", "HEAD"):
            moved = replace(moved, body=None)
        if _is_home(home, target):
            return self._auth.apply(moved)
        kept = {name: value for name, value in moved.headers.items() if name == "Accept"}
        return replace(moved, url=self._auth.stripped(url), headers=kept)

    def _send_once(self, request: PreparedRequest, origin: Origin, template: str) -> _Response:
        """Send one request under a span of its own; `template` is the path of the operation, empty for a redirect."""
        resends, self._resends = self._resends, self._resends + 1
        with http_span(request.method, origin.host, origin.port, template=template, resends=resends) as current:
            answer = self._exchange(request, origin)
            answered(current, answer.status)
            return answer

    def _exchange(self, request: PreparedRequest, origin: Origin) -> _Response:
        """Send one request and read its response; the watchdog aborts the exchange at the deadline."""
        exchange = Exchange(self._policy, origin, self._deadline, self._clock, self._before_send)
        left = exchange.remaining(float("inf"))
        adapter = self._client._adapter
        if isinstance(adapter, GuardedAdapter):
            adapter.exchange = exchange
        elif isinstance(adapter, SessionAdapter):
            exchange.begin()
        elif self._before_send is not None:
            self._before_send()
        with exchange.within(left):
            return self._transfer(request, exchange)

    def _transfer(self, request: PreparedRequest, exchange: Exchange) -> _Response:
        fault: HttpFault
        limits = self._client.limits
        timeout = (exchange.remaining(limits.connect_seconds), exchange.remaining(self._answer_seconds))
        try:
            home, adapter = _is_home(origin_of(self._request.url), exchange.origin), self._client._adapter
            verify, cert = self._tls_options.for_connection(home=home)
            options: dict[str, Any] = {"stream": True, "timeout": timeout, "verify": verify, "cert": cert}
            options |= {"home": home} if isinstance(adapter, SessionAdapter) else {}
            prepared, cookies = _for_adapter(request), self._client.cookies
            cookies.add_to(prepared, *self._jar, exchange.origin)
            response = adapter.send(prepared, **options)
            cookies.keep(response, *self._jar, exchange.origin)
            try:
                return _read(response, request, exchange, limits, is_read=self._is_read)
            finally:
                response.close()
        except HttpFault as known:
            fault = type(known)(str(known), outcome_unknown=exchange.was_sent)
        except (requests.RequestException, urllib3.exceptions.HTTPError, OSError, ValueError) as error:
            fault = fault_of(error, exchange, timeout[1])
        if exchange.was_aborted:
            fault = TimeoutFault(
                f"{exchange.origin} did not finish answering in the time left; raise the time budget or ask for less",
                outcome_unknown=exchange.was_sent,
            )
        raise fault

    def _wait_before_next(self, outcome: _Response | HttpFault, rate_limit: RateLimit) -> float | None:
        """The seconds to wait before the next attempt; None if the request must not be sent again."""
        if isinstance(outcome, _Response) and outcome.status == 401 and self._renew():
            return 0.0
        if not self._may_retry(outcome):
            return None
        asked = retry_after(outcome.headers) if isinstance(outcome, _Response) else None
        limits = self._client.limits
        wait = asked if asked is not None else limits.backoff_seconds * 2 ** (len(self._tries) - 1)
        if isinstance(outcome, _Response) and outcome.status == TOO_MANY_REQUESTS:
            rate_limit.delay(self._operation.name, min(wait, LONGEST_PAUSE))
        is_too_long = wait > limits.longest_wait or self._clock() + wait >= self._deadline
        most = 2 if isinstance(outcome, ConnectFault | ResolveFault) else limits.attempts
        return None if is_too_long or len(self._tries) >= most else wait

    def _renew(self) -> bool:
        """Get a new token, once per `send`, after a 401: the server has not carried out that request."""
        credentials = self._client.credentials
        if self._renewed or not credentials.can_renew(self._operation, self._auth):
            return False
        self._renewed = True
        try:
            held = self._client.cookies.names(*self._jar)
            self._auth = credentials.auth_for(self._operation, refused=self._auth.secrets, cookies=held)
        except (HttpFault, LoginError):
            # The caller gets the 401, which already means that the credential is not valid.
            return False
        return True

    def _may_retry(self, outcome: _Response | HttpFault) -> bool:
        if isinstance(outcome, HttpFault):
            if isinstance(outcome, NOT_RETRIED) or (isinstance(outcome, TimeoutFault) and outcome.outcome_unknown):
                return False
            return not outcome.outcome_unknown or self._is_idempotent
        if outcome.status == TOO_MANY_REQUESTS:
            return self._is_read or self._client.credentials.retries_429(self._operation.api)
        if outcome.status == ACCEPTED:
            return self._is_read and retry_after(outcome.headers) is not None
        if outcome.status == 500:
            return self._is_read
        return outcome.status in TRANSIENT and self._is_idempotent

    @property
    def _is_idempotent(self) -> bool:
        """Whether a retry has no second effect: it only reads, is idempotent, or has an idempotency key."""
        has_key = any(name.lower() in IDEMPOTENCY_KEYS for name in self._request.headers)
        # Of a GET that changes something, RFC 9110 does not hold.
        by_method = self._operation.is_idempotent and not self._operation.is_safe
        return self._is_read or by_method or has_key

    def _check_time(self) -> None:
        if self._clock() >= self._deadline:
            raise TimeoutFault("the time is used up; raise the time budget or ask for less")

    def _may_have_acted(self, outcome: _Response | HttpFault, statuses: Collection[int]) -> bool:
        """Whether the server may have carried out a change that it did not answer, or answered with such a status."""
        unknown = outcome.outcome_unknown if isinstance(outcome, HttpFault) else outcome.status in statuses
        return unknown and not self._is_read

    def _redacted(self, outcome: _Response | HttpFault) -> Reply | HttpFault:
        """The outcome, with secrets redacted."""
        redactor = self._client.redactor(self._operation.api, least=0).extended(self._auth.secrets)
        if isinstance(outcome, HttpFault):
            tried = f" (tried {len(self._tries)} times)" if len(self._tries) > 1 else ""
            unknown = outcome.outcome_unknown or self._outcome_unknown
            return type(outcome)(redactor.message(str(outcome)) + tried, outcome_unknown=unknown)
        headers, truncated = redactor.answer(outcome.headers), outcome.truncated
        try:
            body = _without_secrets(outcome, redactor, self._check_time)
        except TimeoutFault:
            # The status tells what became of the request. The text is unknown, so it may hold a secret.
            body, truncated = b"", True
        return Reply(
            status=outcome.status,
            reason=redactor.text(outcome.reason)[:LONGEST_REASON],
            headers=headers,
            media_type=headers.get("content-type", "").partition(";")[0].strip().lower(),
            body=body,
            truncated=truncated,
            elapsed_ms=round((self._clock() - self._started) * 1000),
            tries=tuple(self._tries),
            outcome_unknown=self._outcome_unknown and not is_success(outcome.status),
            url=redactor.url(outcome.url),
            next_link=redactor.text(next_link(outcome.headers)),
        )


def _without_secrets(answer: _Response, redactor: Redactor, check: Callable[[], None]) -> bytes:
    """The body with secrets redacted.

    A body in another charset that contains a secret is returned in UTF-8, with a byte order mark.
    """
    body = redactor.data(answer.body, cut=answer.truncated)
    text = utf8_version(body, answer.headers.get("content-type", ""), check)
    shown = text and redactor.data(text, cut=answer.truncated)
    return body if not shown or shown == text else codecs.BOM_UTF8 + shown


def _wait_fault(delay: float, *, is_over: bool) -> TimeoutFault:
    """The fault for a request that was not sent, because of the deadline or a rate limit that delays it too long."""
    if is_over:
        return TimeoutFault("the time is used up, so it was not sent; raise the time budget or ask for less")
    if delay:
        return TimeoutFault(
            f"this API asked for no requests of this operation for another {delay:.0f} seconds; try again then"
        )
    return TimeoutFault("the time is used up waiting for the rate limit of this API; ask for less")


def _is_home(home: Origin, target: Origin) -> bool:
    """Whether a redirect stays on its origin, or only changes http (port 80) to https (port 443) on the same host."""
    return target == home or (home.host, home.scheme, home.port, target.scheme, target.port) == (
        target.host,
        "http",
        80,
        "https",
        443,
    )


def _for_adapter(request: PreparedRequest) -> requests.PreparedRequest:
    """The request in the type of `requests`, byte for byte: `requests` itself would undo some percent-encoding."""
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


def _read(
    response: requests.Response, request: PreparedRequest, exchange: Exchange, limits: HttpLimits, *, is_read: bool
) -> _Response:
    headers = {name.lower(): value for name, value in response.headers.items()}
    size = sum(len(name) + len(value) for name, value in headers.items())
    if size > limits.header_bytes:
        raise BoundFault(f"{exchange.origin} sent {size:,} bytes of headers, more than {limits.header_bytes:,}")
    parts: list[bytes] = []
    truncated = False
    if request.method != "HEAD" and response.status_code not in (204, 304):
        try:
            truncated = _read_body(response, headers, exchange, limits.body_bytes, parts)
        except (HttpFault, urllib3.exceptions.HTTPError, OSError):
            is_stream = headers.get("content-type", "").lower().startswith("text/event-stream")
            if is_read and not (is_stream and parts):
                raise
            # The status shows whether the change succeeded, and a stream of events need not end: so the reply is kept
            # although its body is incomplete.
            truncated = True
    text = {name: value.encode("latin-1", "replace").decode("utf-8", "replace") for name, value in headers.items()}
    body = b"".join(parts)[: limits.body_bytes]
    return _Response(response.status_code, _reason(response), text, body, truncated, request.url)


def _reason(response: requests.Response) -> str:
    if response.reason:
        return str(response.reason)
    return HTTPStatus(response.status_code).phrase if response.status_code in HTTPStatus._value2member_map_ else ""


def _read_body(
    response: requests.Response, headers: Mapping[str, str], exchange: Exchange, bound: int, parts: list[bytes]
) -> bool:
    """Read and decompress a body into `parts`; True if it exceeds the bound. Raises BrokenFault if it ends early."""
    decoder = Decoder(headers.get("content-encoding", ""), exchange.origin)
    expected, size, received = headers.get("content-length", ""), 0, 0
    if "transfer-encoding" not in headers and not re.fullmatch(r"[0-9, ]*", expected):
        raise BrokenFault(f"{exchange.origin} sent a Content-Length that is no number of bytes")
    while True:
        exchange.remaining(float("inf"))
        chunk = _next_chunk(response.raw)
        received += len(chunk)
        parts.append(decoder.decode(chunk, bound + 1 - size) if chunk else b"")
        size += len(parts[-1])
        if size > bound or received > bound:
            return True
        if not chunk:
            break
    is_short = _is_less(received, expected) and "transfer-encoding" not in headers
    if is_short or exchange.was_aborted or not decoder.is_complete:
        raise BrokenFault(f"the connection to {exchange.origin} ended before the response was complete; try again")
    return False


def _is_less(received: int, expected: str) -> bool:
    """Whether a Content-Length (RFC 9110, section 8.6) names more bytes; it may have more digits than `int` reads."""
    if not (expected.isascii() and expected.isdigit()):
        return False
    return len(expected) > MAX_DIGITS or received < int(expected)


def _next_chunk(raw: Any) -> bytes:
    """The bytes that have arrived, at most CHUNK; does not wait for more, so the deadline is checked often."""
    if isinstance(raw, urllib3.response.BaseHTTPResponse):
        return raw.read1(CHUNK, decode_content=False) or b""
    return raw.read(CHUNK) or b""


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds in the Retry-After header, given as a number or a date (RFC 9110 section 10.2.3)."""
    text = headers.get("retry-after", "").strip()
    if text.replace(".", "", 1).isdigit() and text.isascii():
        return float(text)
    try:
        moment = email.utils.parsedate_to_datetime(text) if text else None
    except (ValueError, OverflowError):
        moment = None
    if moment is None:
        return None
    return max(0.0, moment.timestamp() - _time_of(headers))


def _time_of(headers: Mapping[str, str]) -> float:
    """The time of an answer by the server's clock, from its Date header; else by the clock of this machine."""
    try:
        return email.utils.parsedate_to_datetime(headers.get("date", "")).timestamp()
    except (ValueError, OverflowError):
        return time.time()


def _record(request: PreparedRequest, outcome: Reply | HttpFault) -> None:
    """Log one structured event per request, without URL, headers or bodies."""
    event: dict[str, Any] = {
        **node_context(),
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
