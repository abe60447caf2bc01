"""The connections to servers: their TLS files, rate limits, failures, compressed answers, and log records of urllib3.

An encrypted key file fails, because no one can be asked for its password.
"""

import logging
import threading
import zlib
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from http.cookiejar import DefaultCookiePolicy
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import requests
from requests.adapters import BaseAdapter
from requests.cookies import RequestsCookieJar, extract_cookies_to_jar, get_cookie_header

from restgpt.tools.errors import (
    BoundFault,
    BrokenFault,
    ConnectFault,
    HttpFault,
    ResolveFault,
    SettingsError,
    TimeoutFault,
    TlsFault,
)
from restgpt.tools.http.addresses import Exchange, Origin
from restgpt.tools.settings import ApiEntry

LONGEST_ENCODING = 40
MOST_MEMBERS = 1000


@dataclass(frozen=True, slots=True)
class TlsOptions:
    """The TLS files of one API entry, and the CA bundle for all other connections (None: the default bundle)."""

    entry: ApiEntry | None
    ca_bundle: str | None

    def for_connection(self, *, home: bool) -> tuple[str | bool, tuple[str, str] | None]:
        """The arguments `verify` and `cert` of requests for a connection; raises SettingsError if a file is missing.

        `home` means a connection to the server of the API. Other servers, after a redirect, get none of its files.
        """
        entry = self.entry
        if entry is None or not home:
            return self.ca_bundle or True, None
        authorities = _found(entry, "ca_file", entry.ca_file) or self.ca_bundle or True
        certificate = _found(entry, "cert_file", entry.cert_file)
        key = _found(entry, "key_file", entry.key_file) or certificate
        return authorities, (certificate, key) if certificate and key else None


def _found(entry: ApiEntry, name: str, path: Path | None) -> str | None:
    if path is not None and not path.is_file():
        raise SettingsError(f"{entry.name}.{name} in apis.yaml names {path}, which is not a file")
    return None if path is None else str(path)


class SessionAdapter(BaseAdapter):
    """Sends by the adapters of a user's `requests.Session`, with its proxies, hooks, certificates, headers and auth.

    Headers and auth of the session go to the server of the API only (`home`), and nowhere in place of a header that the
    request has. The session connects by itself, so the address behind a name is not checked.
    """

    def __init__(self, session: requests.Session) -> None:
        super().__init__()
        self._session = session

    def send(self, request: Any, *args: Any, home: bool = False, **options: Any) -> requests.Response:
        """Send a request; the options are those of a requests adapter."""
        session, usual = self._session, requests.utils.default_headers()
        for name, value in session.headers.items() if home else ():
            if usual.get(name) != value:
                request.headers.setdefault(name, value)
        if home and session.auth:
            request.prepare_auth(session.auth)
        given = {} if options.get("cert") is None else {"cert": options.pop("cert")}
        given |= {} if options.get("verify") is True else {"verify": options.pop("verify")}
        options |= session.merge_environment_settings(request.url, {}, True, None, None) | given
        response = session.get_adapter(request.url).send(request, **options)
        for hooks in (request.hooks, session.hooks):
            response = requests.hooks.dispatch_hook("response", hooks, response, **options)  # type: ignore[no-untyped-call]
        return response

    def close(self) -> None:
        """Leave the session open: it is the user's."""


MOST_JARS = 1000
"""How many jars are kept, the newest ones."""


class CookieJars:
    """The cookies that APIs set (RFC 6265), in memory only: a jar for each thread, API and origin. Thread-safe."""

    def __init__(self) -> None:
        self._jars: OrderedDict[tuple[str, str, Origin], RequestsCookieJar] = OrderedDict()
        self._lock = threading.Lock()

    def add_to(self, request: requests.PreparedRequest, thread: str, api: str, origin: Origin) -> None:
        """Add the cookies of a jar to a request, but for those whose names its own header has."""
        given = request.headers.pop("Cookie", "")
        with self._lock:
            jar = self._jars.get((thread, api, origin))
            held = get_cookie_header(jar, request) or "" if jar is not None else ""  # type: ignore[no-untyped-call]
        own = {pair.partition("=")[0].strip() for pair in given.split(";")}
        more = [pair for pair in held.split("; ") if pair and pair.partition("=")[0] not in own]
        if given or more:
            request.headers["Cookie"] = "; ".join([given, *more] if given else more)

    def keep(self, response: requests.Response, thread: str, api: str, origin: Origin) -> None:
        """Keep the cookies that a response sets, and forget those that it ends."""
        if not thread or "set-cookie" not in response.headers:
            return
        with self._lock:
            # A jar of http gets nothing of https, so its own Secure cookies go back, as browsers do on loopback.
            policy = DefaultCookiePolicy(secure_protocols=("http", "https"))
            jar = self._jars.setdefault((thread, api, origin), RequestsCookieJar(policy=policy))
            self._jars.move_to_end((thread, api, origin))
            if len(self._jars) > MOST_JARS:
                self._jars.popitem(last=False)
            extract_cookies_to_jar(jar, response.request, response.raw)  # type: ignore[no-untyped-call]

    def names(self, thread: str, api: str) -> frozenset[str]:
        """The names of the cookies that a thread holds of an API."""
        return frozenset(cookie.name for cookie in self._cookies(api, thread))

    def secrets(self, api: str, least: int) -> frozenset[str]:
        """The values of the cookies of an API: long ones, and unless `least` is set those that look secret too."""
        found = set()
        for cookie in self._cookies(api):
            value = (cookie.value or "").strip('"')
            is_random = any(map(str.isdigit, value)) and any(map(str.isalpha, value))
            # A word, such as that of a language, occurs in answers too.
            is_hidden = is_random or cookie.has_nonstandard_attr("HttpOnly")
            if len(value) >= LEAST_COOKIE or (is_hidden and not least):
                found |= {value, unquote(value)}
        return frozenset(found)

    def _cookies(self, api: str, thread: str | None = None) -> list[Any]:
        with self._lock:
            jars = [jar for key, jar in self._jars.items() if key[1] == api and thread in (None, key[0])]
        return [cookie for jar in jars for cookie in jar.copy()]


LEAST_COOKIE = 16
"""The length from which the value of any cookie is a secret."""


class RateLimit:
    """A number of requests per second to one API, for all threads together, and delays after a 429. Thread-safe.

    A 429 delays only the operation that it answered.
    """

    def __init__(self, per_second: float | None, clock: Callable[[], float]) -> None:
        self._gap = 1.0 / per_second if per_second else 0.0
        self._clock = clock
        self._lock = threading.Lock()
        self._next = float("-inf")
        self._delays: dict[str, float] = {}

    def reserve(self, operation: str, latest: float, longest_delay: float) -> float | None:
        """Reserve the next free moment for an operation and return the seconds until then.

        Returns None and reserves nothing if that moment is after `latest`, or if the delay that the server asked for
        lasts more than `longest_delay` seconds.
        """
        with self._lock:
            now = self._clock()
            delayed_until = self._delays.get(operation, now)
            start = max(now, self._next, delayed_until)
            if start > latest or delayed_until - now > longest_delay:
                return None
            self._next = start + self._gap
            return start - now

    def delay(self, operation: str, seconds: float) -> None:
        """Delay all further requests of an operation by `seconds`, after a 429."""
        with self._lock:
            self._delays[operation] = max(self._delays.get(operation, 0.0), self._clock() + seconds)

    def delay_left(self, operation: str) -> float:
        """The seconds until the delay of the last 429 of an operation ends."""
        with self._lock:
            return max(0.0, self._delays.get(operation, 0.0) - self._clock())


def _causes(error: BaseException) -> list[BaseException]:
    """The error and the exceptions that it wraps."""
    found: list[BaseException] = []
    queue: list[Any] = [error]
    while queue and len(found) < 12:
        item = queue.pop(0)
        if isinstance(item, BaseException) and item not in found:
            found.append(item)
            queue += [*item.args, getattr(item, "reason", None), item.__cause__]
    return found


def fault_of(error: BaseException, exchange: Exchange, seconds: float) -> HttpFault:
    """Map an exception of requests, urllib3 or the system to a fault; an answer could take `seconds`.

    Their messages hold URLs, so the message of the fault quotes nothing of them but the TLS verification error.
    """
    causes = _causes(error)
    origin, unknown = exchange.origin, exchange.was_sent
    known = next((item for item in causes if isinstance(item, HttpFault)), None)
    if known is not None:
        return known
    kinds = {type(item).__name__ for item in causes}
    if isinstance(error, requests.exceptions.SSLError) or "SSLError" in kinds or "SSLCertVerificationError" in kinds:
        detail = next((getattr(item, "verify_message", "") for item in causes if hasattr(item, "verify_message")), "")
        hint = f" ({detail})" if detail else ""
        remedy = "check the host name, or name your authorities as ca_file, your certificate as cert_file, in apis.yaml"
        return TlsFault(f"the TLS connection to {origin} failed{hint}; {remedy}", outcome_unknown=unknown)
    if kinds & {"ReadTimeout", "ReadTimeoutError", "timeout", "TimeoutError", "ConnectTimeout"}:
        longer = "`timeout` of its entry in apis.yaml lets it take longer"
        return TimeoutFault(f"{origin} did not answer within {seconds:.3g} s; {longer}", outcome_unknown=unknown)
    if kinds & {"LineTooLong", "HTTPException"}:
        return BoundFault(f"{origin} sent too many or too long headers", outcome_unknown=unknown)
    if kinds & {"NewConnectionError", "ConnectionRefusedError"}:
        return ConnectFault(f"{origin} cannot be reached; check that it runs and that the URL is right")
    if "NameResolutionError" in kinds:
        return ResolveFault(f"the host {origin.host} has no address; check its name and the network")
    if not kinds & {"ConnectionError", "ProtocolError", "RemoteDisconnected", "IncompleteRead", "OSError"}:
        return BrokenFault(f"{origin} did not answer in HTTP ({type(error).__name__})", outcome_unknown=unknown)
    return BrokenFault(f"the connection to {origin} broke before the response was complete", outcome_unknown=unknown)


class Decoder:
    """Decodes a Content-Encoding (gzip, deflate or none) in pieces of bounded size."""

    def __init__(self, encoding: str, origin: Origin) -> None:
        self._origin = origin
        names = [name.strip().lower() for name in encoding.split(",")]
        self._names = [name for name in reversed(names) if name not in ("", "identity")]
        if len(self._names) > 1 or any(name not in ("gzip", "x-gzip", "deflate") for name in self._names):
            # The encoding is shown whole or not at all: redaction would not recognise a part of a secret.
            named = repr(encoding) if len(encoding) <= LONGEST_ENCODING else "something"
            raise BoundFault(f"{origin} compressed its response as {named}, which was not asked for")
        self._inflater = zlib.decompressobj(zlib.MAX_WBITS | 32) if self._names else None
        self._seen = b""
        self._members = 1

    @property
    def is_complete(self) -> bool:
        """Whether the compressed data is complete."""
        return self._inflater is None or self._inflater.eof or not self._seen

    def decode(self, chunk: bytes, most: int) -> bytes:
        """Decode the next chunk; returns at most `most` bytes."""
        if self._inflater is None:
            return chunk
        if not self._seen and self._names == ["deflate"] and chunk[0] & 0x0F != 8:
            # Some servers send deflate without its zlib wrapper.
            self._inflater = zlib.decompressobj(-zlib.MAX_WBITS)
        self._seen = self._seen or chunk[:1]
        parts, left = [], most
        try:
            while chunk and left > 0:
                if self._inflater.eof:
                    # A gzip file may have several members (RFC 1952 section 2.2); zero bytes after them are padding.
                    if not chunk.strip(b"\0"):
                        break
                    self._members += 1
                    if self._members > MOST_MEMBERS:
                        raise BoundFault(
                            f"{self._origin} sent more than {MOST_MEMBERS:,} compressed pieces in one response"
                        )
                    self._inflater = zlib.decompressobj(zlib.MAX_WBITS | 32)
                parts.append(self._inflater.decompress(chunk, left))
                left -= len(parts[-1])
                chunk = self._inflater.unconsumed_tail or self._inflater.unused_data
        except zlib.error:
            fault = BrokenFault(f"{self._origin} sent broken compressed data; try again")
        else:
            return b"".join(parts)
        raise fault


def filter_urllib3_logs() -> None:
    """Add a filter to the loggers of urllib3: their records may hold neither a query nor text of a server."""
    # `addFilter` ignores a filter that a logger already has.
    for name in ("urllib3.connection", "urllib3.connectionpool", "urllib3.util.retry"):
        logging.getLogger(name).addFilter(_without_secrets)


def _without_secrets(record: logging.LogRecord) -> bool:
    """Remove the query, which can hold an API key, from logged URLs, and the text of exceptions; every record passes.

    Exceptions of urllib3 quote the server, such as header lines that cannot be parsed.
    """
    if isinstance(record.args, tuple):
        record.args = tuple(_shown(item) for item in record.args)
    record.exc_info = None
    return True


def _shown(item: object) -> object:
    if isinstance(item, BaseException):
        return type(item).__name__
    return item.partition("?")[0] if isinstance(item, str) else item
