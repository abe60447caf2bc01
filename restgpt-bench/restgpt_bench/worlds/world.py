"""A world: a simulated API with a document, seeded data, handlers and a request log."""

import json
import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import replace
from datetime import date
from functools import cache
from typing import Any, ClassVar, Generic, TypeVar
from urllib.parse import parse_qsl, quote, urlencode

from restgpt.specs import Api, load_api
from restgpt.specs.reading.download import bundled_document
from restgpt.specs.reading.json_text import is_too_deep
from restgpt_bench.worlds.exchange import Call, Json, RefusalError, Reply, Request
from restgpt_bench.worlds.faults import Fault, FaultKind, FaultPlan
from restgpt_bench.worlds.log import LogEntry, RequestLog
from restgpt_bench.worlds.routing import Route, Router, Routes, decode_path, decode_query, parse_query

CREDENTIAL = "simulated-credential"
TODAY = date(2023, 12, 1)

State = TypeVar("State")
Exchanged = Mapping[tuple[str, Any], Any]
"""Other names and numbers for those that the judge of a task asks for, by their kind and value."""


@cache
def document(name: str) -> Api:
    """The bundled OpenAPI document of the world `name`, loaded once."""
    return load_api(bundled_document(name).read_bytes(), name=name)


def served_api(name: str, url: str) -> Api:
    """The API of the world `name` as an agent is given it: its document, its address and its credential."""
    auth = dict.fromkeys(document(name).security_schemes, CREDENTIAL)
    return load_api(bundled_document(name).read_bytes(), base_url=url, auth=auth, name=name)


@cache
def _router(name: str) -> Router:
    return Router(document(name).operations)


class World(ABC, Generic[State]):
    """The base class of worlds: routes requests by the document, checks the credential, logs, and applies faults.

    A subclass gives `name` (also the name of its document), `base_path` (path of the document's server), `routes`
    (a handler per operation), `key_parameter` (a query parameter that carries the credential; the header
    `Authorization: Bearer` always may), `invalid_status` (for arguments that break their schema), and the methods
    below. Handlers see the state only. Safe to call from several threads; requests are handled one at a time.
    """

    name: ClassVar[str]
    base_path: ClassVar[str] = ""
    routes: ClassVar[Mapping[str, Any]] = Routes()
    key_parameter: ClassVar[str | None] = None
    invalid_status: ClassVar[int] = 400
    fixtures: ClassVar[tuple[str, ...]] = ()

    def __init__(self, *, seed: int = 0) -> None:
        self.seed = seed
        self.fixture: str | None = None
        self.log = RequestLog()
        self.faults = FaultPlan(seed=seed)
        # The judge of a task reads it: set it to ask the same about other things.
        self.exchanged: Exchanged = {}
        self._lock = threading.RLock()
        self.state: State = self.build(None)

    @abstractmethod
    def build(self, fixture: str | None) -> State:
        """The state at the start, decided by `self.seed` and the fixture alone; None is the default fixture."""

    @abstractmethod
    def dump(self) -> Json:
        """The present state as plain JSON values, comparable with ==."""

    @abstractmethod
    def error(self, refusal: RefusalError) -> Json:
        """The body of an error reply in the API's own style."""

    @property
    def api(self) -> Api:
        """The world's document, shared by all worlds of this name."""
        return document(self.name)

    def reset(self, fixture: str | None = None) -> None:
        """Go back to the start: state of the fixture, empty log, no faults, nothing exchanged.

        Raises ValueError on an unknown fixture.
        """
        if fixture is not None and fixture not in self.fixtures:
            raise ValueError(f"the world {self.name} has no fixture {fixture}; it has: {', '.join(self.fixtures)}")
        with self._lock:
            self.fixture = fixture
            self.state = self.build(fixture)
            self.log.clear()
            self.faults.replace(())
            self.exchanged = {}

    def snapshot(self) -> dict[str, Json]:
        """The world now, as plain JSON values: name, seed, fixture and state; equal worlds have equal snapshots."""
        with self._lock:
            return {"world": self.name, "seed": self.seed, "fixture": self.fixture, "state": self.dump()}

    def call(
        self,
        operation: str,
        *,
        path: Mapping[str, Any] | None = None,
        query: Mapping[str, Any] | None = None,
        header: Mapping[str, str] | None = None,
        body: Json = None,
    ) -> Reply:
        """Handle "METHOD /template" in process, with the credential, as if it had come over the wire."""
        method, template = operation.split(" ", 1)
        for name, value in (path or {}).items():
            template = template.replace(f"{{{name}}}", quote(str(value), safe=""))
        headers = {"Authorization": f"Bearer {CREDENTIAL}", "Content-Type": "application/json", **(header or {})}
        content = b"" if body is None else json.dumps(body).encode()
        pairs = {
            name: str(value).lower() if isinstance(value, bool) else value for name, value in (query or {}).items()
        }
        return self.handle(Request(method, self.base_path + template, urlencode(pairs, doseq=True), headers, content))

    def handle(self, request: Request) -> Reply:
        """Answer one request and log it; never raises for what a client can send."""
        with self._lock:
            route: Route | None = None
            arguments: dict[str, Any] = {}
            body: Json = None
            fault: Fault | None = None
            try:
                route, raw = self._route(request)
                fault = self.faults.strike(route.key)
                self._refuse_by(fault)
                arguments, body = decode_path(route, raw), _decode_body(request)
                reply = self._perform(request, route, arguments, body, fault)
            except RefusalError as refusal:
                reply = Reply(refusal.status, self.error(refusal), refusal.headers, fault=fault)
            self._record(request, route, arguments, body, reply)
            return reply

    def _route(self, request: Request) -> tuple[Route, dict[str, str]]:
        if not request.path.startswith(f"{self.base_path}/"):
            raise RefusalError(404, "The resource you requested could not be found.")
        return _router(self.name).find(request.method, request.path.removeprefix(self.base_path))

    def _refuse_by(self, fault: Fault | None) -> None:
        if fault is None or fault.kind is not FaultKind.STATUS:
            return
        headers = {} if fault.retry_after is None else {"Retry-After": f"{fault.retry_after}"}
        raise RefusalError(fault.status, f"Simulated fault {fault.status}.", headers=headers)

    def _perform(
        self, request: Request, route: Route, arguments: dict[str, Any], body: Json, fault: Fault | None
    ) -> Reply:
        if not self._is_authorised(request):
            raise RefusalError(401, "Invalid API key: You must be granted a valid key.")
        if fault is not None and fault.kind is FaultKind.RESET and not fault.applied:
            return Reply(500, fault=fault)
        query = decode_query(route, request.query, invalid_status=self.invalid_status)
        call = Call(route.key, arguments, query, _lowered(request.headers), deepcopy(body), request.path)
        result = self.routes[route.key](self.state, call)
        reply = result if isinstance(result, Reply) else Reply(200, result)
        # A copy, so that later changes of the state do not change a body that was sent.
        return replace(reply, body=deepcopy(reply.body), fault=fault)

    def _is_authorised(self, request: Request) -> bool:
        if _lowered(request.headers).get("authorization") == f"Bearer {CREDENTIAL}":
            return True
        return self.key_parameter is not None and (self.key_parameter, CREDENTIAL) in parse_qsl(request.query)

    def _record(
        self, request: Request, route: Route | None, arguments: dict[str, Any], body: Json, reply: Reply
    ) -> None:
        query = parse_query(request.query)
        if self.key_parameter is not None:
            query.pop(self.key_parameter, None)
        self.log.append(
            LogEntry(
                number=len(self.log) + 1,
                method=request.method,
                template=None if route is None else route.operation.path,
                path=request.path.removeprefix(self.base_path),
                arguments=arguments,
                query=query,
                body=body,
                status=reply.status,
                fault=None if reply.fault is None else str(reply.fault.kind),
            )
        )


def _lowered(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def _decode_body(request: Request) -> Json:
    if not request.body:
        return None
    media_type = _lowered(request.headers).get("content-type", "application/json").partition(";")[0].strip()
    try:
        text = request.body.decode()
        if media_type == "application/x-www-form-urlencoded":
            return parse_query(text)
        if is_too_deep(request.body):
            raise ValueError("it is nested too deeply")
        return json.loads(text) if media_type.endswith("json") else text
    except ValueError as error:
        raise RefusalError(400, "The body could not be read.") from error
