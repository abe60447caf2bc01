"""What one case of the wire suite says: an operation, its arguments, what must arrive, or what must come of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import unquote, unquote_plus


@dataclass(frozen=True, slots=True)
class Sent:
    """What must arrive at the server; None leaves a part open. Escapes are compared as servers undo them."""

    path: str | None = None
    query: str | None = None
    headers: Mapping[str, str | None] = field(default_factory=dict)
    body: bytes | None = None
    contains: tuple[bytes, ...] = ()
    method: str | None = None
    count: int | None = None


@dataclass(frozen=True, slots=True)
class Refused:
    """Nothing may arrive, and the reason must name this."""

    reason: str


@dataclass(frozen=True, slots=True)
class Got:
    """What the tool must make of the scripted replies: the value and status it hands on, or the reason it gives up."""

    value: Any = ...
    status: int | None = 200
    reason: str | None = None
    count: int | None = None


@dataclass(frozen=True, slots=True)
class Canned:
    """One scripted reply of the server."""

    body: bytes = b"{}"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: {"Content-Type": "application/json"})
    chunked: bool = False
    cut: bool = False
    close: bool = False


@dataclass(frozen=True, slots=True)
class Case:
    """One line of the yardstick."""

    group: str
    name: str
    operation: Mapping[str, Any]
    arguments: Mapping[str, Any]
    expect: Sent | Refused | Got
    replies: Sequence[Canned] = ()
    auth: Mapping[str, str] = field(default_factory=dict)
    schemes: Mapping[str, Any] = field(default_factory=dict)
    path: str = "/things"
    method: str = "get"
    version: str = "3.1.0"
    servers: Sequence[Mapping[str, Any]] | None = None
    pages: int = 1

    @property
    def label(self) -> str:
        """The name of the case in reports."""
        return f"{self.group}: {self.name}"

    def document(self, url: str) -> dict[str, Any]:
        """The OpenAPI document of the case, for a server at `url`."""
        operation = {"operationId": "probe", "responses": {"200": {"description": "fine"}}, **self.operation}
        if self.version == "2.0":
            address = {"host": url.removeprefix("http://"), "basePath": "/base", "schemes": ["http"]}
            paths = {self.path: {self.method: operation}}
            return {"swagger": "2.0", "info": {"title": "Wire", "version": "1"}, **address, "paths": paths}
        servers = [{**item, "url": item["url"].replace("URL", url)} for item in self.servers or [{"url": "URL"}]]
        components = {"securitySchemes": dict(self.schemes)} if self.schemes else {}
        return {
            "openapi": self.version,
            "info": {"title": "Wire", "version": "1"},
            "servers": servers,
            "paths": {self.path: {self.method: operation}},
            "components": components,
        }


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a tool made of a call: a status with a value, or the reason why there is none."""

    status: int | None
    value: Any = None
    reason: str = ""


class Adapter(Protocol):
    """A tool under test: it reads the document, calls the operation `probe` and hands back what came of it."""

    name: str

    def call(self, case: Case, document: Mapping[str, Any]) -> Outcome:
        """Perform the call of a case; whatever the tool raises is an Outcome with its reason."""


@dataclass(frozen=True, slots=True)
class Arrived:
    """One request as the server saw it."""

    method: str
    target: str
    headers: Sequence[tuple[str, str]]
    body: bytes

    @property
    def path(self) -> str:
        """The path, escapes as they came."""
        return self.target.partition("?")[0]

    @property
    def query(self) -> str:
        """The query, escapes as they came."""
        return self.target.partition("?")[2]

    def header(self, name: str) -> str | None:
        """The value of a header, None where it did not come."""
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)


def judge(case: Case, arrived: Sequence[Arrived], outcome: Outcome) -> str:
    """Say what is wrong with a call, an empty string if nothing is."""
    expect = case.expect
    if isinstance(expect, Refused):
        if arrived:
            return f"sent {arrived[0].method} {arrived[0].target}"
        return (
            "" if expect.reason in outcome.reason else f"the reason does not name {expect.reason!r}: {outcome.reason}"
        )
    if expect.count is not None and len(arrived) != expect.count:
        return f"{len(arrived)} requests arrived, not {expect.count} ({outcome.reason})"
    if isinstance(expect, Got):
        return _judge_outcome(expect, outcome)
    if not arrived:
        return f"nothing arrived: {outcome.reason}"
    return _judge_request(expect, arrived[0])


def _judge_outcome(expect: Got, outcome: Outcome) -> str:
    if expect.reason is not None:
        return "" if expect.reason in outcome.reason else f"expected the reason {expect.reason!r}: {outcome}"
    if outcome.status != expect.status:
        return f"status {outcome.status}, not {expect.status} ({outcome.reason})"
    if expect.value is not ... and (outcome.value != expect.value or type(outcome.value) is not type(expect.value)):
        return f"value {outcome.value!r:.200}, not {expect.value!r:.200}"
    return ""


def _judge_request(expect: Sent, arrived: Arrived) -> str:
    if expect.method is not None and arrived.method != expect.method:
        return f"method {arrived.method}, not {expect.method}"
    if expect.path is not None and _segments(arrived.path) != _segments(expect.path):
        return f"path {arrived.path}, not {expect.path}"
    if expect.query is not None and _pairs(arrived.query) != _pairs(expect.query):
        return f"query {arrived.query}, not {expect.query}"
    for name, wanted in expect.headers.items():
        found = arrived.header(name)
        if found != wanted:
            return f"header {name}: {found!r}, not {wanted!r}"
    if expect.body is not None and arrived.body != expect.body:
        return f"body {arrived.body!r:.200}, not {expect.body!r:.200}"
    missing = [part for part in expect.contains if part not in arrived.body]
    return f"body {arrived.body!r:.300} lacks {missing[0]!r}" if missing else ""


def _segments(path: str) -> list[str]:
    """Split before undoing escapes: an escaped slash is no border."""
    return [unquote(segment) for segment in path.split("/")]


def _pairs(query: str) -> list[str]:
    return [unquote_plus(pair) for pair in query.split("&") if pair]
