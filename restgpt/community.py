"""The credentials of langchain-community's `RequestsWrapper` in our HTTP client, where no prompt and no log has them.

Its headers and its basic authentication become headers of the API's entry in the settings, so they are redacted like
those of `apis.yaml`. Any other `auth` object of requests signs each request when it is sent.

The credentials of langchain-community's `RequestsWrapper` for a graph of RestGPT.

`services_of` needs no further package. The other names are those of langchain-community itself, which the extra
`restgpt[community]` installs.
"""

import base64
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import parse_qsl, urlsplit

import requests
from requests.auth import HTTPBasicAuth, HTTPDigestAuth, HTTPProxyAuth

from restgpt.nodes.run.services import Services
from restgpt.specs.api import Api, load_api
from restgpt.tools.auth.oauth import OAuthTokens
from restgpt.tools.http.addresses import GuardedAdapter, Origin, origin_of, origins_of
from restgpt.tools.http.http_client import USER_AGENT, HttpClient
from restgpt.tools.settings import ApiEntry, Secret, Settings

Sign = Callable[[requests.PreparedRequest], requests.PreparedRequest]

OWN_HEADERS = frozenset(
    {"accept-encoding", "connection", "content-length", "content-type", "host", "transfer-encoding"}
)
"""The headers that describe the message itself; our client sets them for each request, so they are not taken over."""

MOST_SEEN = 64
"""How many values of an `auth` object are redacted, the first ones: one that signs has another value each time."""


class Wrapper(Protocol):
    """The attributes of langchain-community's `GenericRequestsWrapper` that are used."""

    headers: dict[str, str] | None
    auth: Any
    verify: bool


def services_of(
    source: str | Path | bytes | Mapping[str, Any],
    requests_wrapper: Wrapper,
    *,
    base_url: str | None = None,
    **given: Any,
) -> Services:
    """Return the services of a graph over one API, whose requests have the credentials of a wrapper.

    `source` and `base_url` are what `load_api` takes, and `given` what `Services` takes, such as `model`. Raises
    `ValueError` for a wrapper that cannot be used, and what `load_api` raises.
    """
    name = load_api(source).name
    settings = replace(Settings.from_env(is_allowed=True), apis={name: (entry := entry_of(requests_wrapper, name))})
    api = load_api(source, base_url=base_url, name=name, entry=name, given=entry.given)
    return Services([api], settings=settings, http=client_of(requests_wrapper, api, settings), **given)


def entry_of(wrapper: Wrapper, name: str) -> ApiEntry:
    """Return an entry of the settings with the headers of a wrapper; raises `ValueError` for what cannot be sent."""
    if getattr(wrapper, "verify", True) is False:
        raise ValueError(
            "requests_wrapper has verify=False, but RestGPT always verifies certificates. Name the certificate "
            "authority of the server in the environment variable REQUESTS_CA_BUNDLE, and leave verify out."
        )
    found = {
        str(header): Secret(str(value))
        for header, value in (wrapper.headers or {}).items()
        if str(header).lower() not in OWN_HEADERS
    }
    if (pair := _basic(wrapper.auth)) is not None:
        found = {header: value for header, value in found.items() if header.lower() != "authorization"}
        encoded = base64.b64encode(":".join(pair).encode()).decode("ascii")
        found["Authorization"] = Secret(f"Basic {encoded}")
    elif wrapper.auth is not None and not found:
        # Any header of an entry stands in for the credential that the document asks for, which `auth` adds later.
        found["User-Agent"] = Secret(USER_AGENT)
    hidden = (Secret(":".join(pair)),) if pair is not None else ()
    return ApiEntry(name, spec="", headers=found, hidden=hidden)


def _basic(auth: Any) -> tuple[str, str] | None:
    """Return user and password of a pair or an object for basic authentication, of requests or of aiohttp."""
    if isinstance(auth, HTTPBasicAuth) and not isinstance(auth, HTTPProxyAuth):
        return str(auth.username), str(auth.password)
    # The class of aiohttp is a tuple of user, password and encoding.
    if isinstance(auth, tuple) and len(auth) >= 2:
        return str(auth[0]), str(auth[1])
    return None


def client_of(wrapper: Wrapper, api: Api, settings: Settings) -> HttpClient:
    """Return the HTTP client for an API with the `auth` object of a wrapper; raises `ValueError` for one of no use."""
    auth = wrapper.auth
    if auth is None or _basic(auth) is not None:
        return HttpClient(settings=settings)
    if not callable(auth) or isinstance(auth, HTTPDigestAuth | HTTPProxyAuth):
        raise ValueError(
            f"requests_wrapper.auth is a {type(auth).__name__}, which RestGPT cannot use. Give a pair of user and "
            "password, an auth object that signs each request by itself, or headers."
        )
    adapter = SigningAdapter(auth, origins_of(api)[:1])
    return HttpClient(settings=settings, adapter=adapter, tokens=_Tokens(settings, adapter))


class SigningAdapter(GuardedAdapter):
    """Lets an `auth` object of requests sign each request to the first server of an API. Thread-safe if the object is.

    `seen` has the values that it added, which are secrets.
    """

    def __init__(self, sign: Sign, origins: Iterable[Origin]) -> None:
        super().__init__()
        self._sign = sign
        self._origins = frozenset(origins)
        self.seen: dict[str, None] = {}

    def send(self, request: requests.PreparedRequest, *args: Any, **kwargs: Any) -> requests.Response:
        """Sign a request and send it."""
        return super().send(self.signed(request), *args, **kwargs)

    def signed(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        """Return a signed request; one that was redirected to another server stays unsigned."""
        if origin_of(request.url or "") not in self._origins:
            return request
        before = _values(request)
        signed = self._sign(request)
        for value in _values(signed) - before:
            if len(self.seen) < MOST_SEEN:
                self.seen.setdefault(value)
        return signed


def _values(request: requests.PreparedRequest) -> set[str]:
    """Return the values of the headers and of the query of a request."""
    headers: Mapping[str, Any] = request.headers
    texts = {value.decode("latin-1") if isinstance(value, bytes) else str(value) for value in headers.values()}
    tokens = {rest for text in texts if (rest := text.partition(" ")[2])}
    return {*texts, *tokens, *(value for _, value in parse_qsl(urlsplit(request.url or "").query))}


class _Tokens(OAuthTokens):
    """The OAuth tokens of the settings, whose secrets include the values of an `auth` object."""

    def __init__(self, settings: Settings, adapter: SigningAdapter) -> None:
        super().__init__(settings)
        self._signing = adapter

    def secrets(self, api: Api) -> list[str]:
        """List the secrets that must be redacted."""
        return [*super().secrets(api), *self._signing.seen]


THEIRS = ("RequestsWrapper", "TextRequestsWrapper")
"""The names of langchain-community that programs import beside ours."""


def __getattr__(name: str) -> Any:
    """Import a name on its first use (PEP 562); raises `ImportError` if langchain-community is not installed."""
    from importlib import import_module

    if name not in THEIRS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module("langchain_community.utilities.requests"), name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "langchain_community":
            raise
        from restgpt.tools.errors import extra_command

        raise ImportError(
            f"{name} is a part of langchain-community, which is not installed: {extra_command('community')}"
        ) from None


def __dir__() -> list[str]:
    """Return all names, for tab completion."""
    return sorted(["services_of", *THEIRS])
