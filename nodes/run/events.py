"""The events of a run: read from the updates of its nodes, or again from a finished step of the state."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any, Protocol
from uuid import uuid4

from langgraph.types import StreamWriter

from restgpt.calling.record import UNSENT, Request
from restgpt.calling.session import RequestProgress, Session, Watch
from restgpt.nodes.run.progress import (
    RESULT_SHOWN,
    CallFinished,
    ChosenOperation,
    FunctionsSelected,
    OperationsChosen,
    ProgramCall,
    ProgramWritten,
    ProgressEvent,
    RequestFinished,
    RequestStarted,
    ResponseRead,
    StepFinished,
    TaskKind,
    UsageReported,
    WaitingRequest,
)
from restgpt.nodes.state.records import ApiPlan, FunctionChoice, Program, Step, add_usage, spent_since
from restgpt.nodes.state.results import shortened
from restgpt.specs import Operation
from restgpt.tools.errors import ArgumentError
from restgpt.tools.request.build import PreparedRequest, build_request
from restgpt.tools.sandbox.code import clean_code


class Shown(Protocol):
    """How texts and calls are shown to people."""

    def text(self, text: str) -> str:
        """Return a text without secrets."""
        ...

    def call(self, request: Request) -> tuple[str, str]:
        """Return the method and the URL of a call, without secrets."""
        ...


class SessionShown:
    """What people may see of the calls of a session, which is opened if there is something to show."""

    def __init__(self, session: Callable[[], Session]) -> None:
        self._open = session

    @cached_property
    def _session(self) -> Session:
        return self._open()

    def text(self, text: str) -> str:
        """Return a text without secrets."""
        return self._session.redacted(text) if text else ""

    def call(self, request: Request) -> tuple[str, str]:
        """Return method and URL, or the path template if the arguments do not fit the document any more."""
        operation = self._session.catalogue.operation(request["operation"])
        try:
            shown = self._session.shown(build_request(operation, request["arguments"]))
        except ArgumentError:
            return operation.method, operation.path
        return shown["method"], shown["url"]


def events_of(state: Mapping[str, Any], update: Mapping[str, Any], shown: Shown) -> Iterator[ProgressEvent]:
    """Yield the events of a node's update of the state."""
    turn = update.get("turn", state.get("turn", 0))
    decision = update.get("decision") or {}
    if decision.get("text") and decision["kind"] != "end":
        kind: TaskKind = decision["kind"]
        text = shown.text(update["plan"] if kind == "program" else decision["text"])
        task = update.get("task", state.get("task", 0))
        # The program of a client comes without an instruction, and another one is no other task.
        if text and (kind != "program" or task != state.get("task")):
            yield {"type": "task_started", "turn": turn, "task": task, "kind": kind, "text": text}
    if "round" in update:
        yield from _chosen(update["round"], update.get("api_plan"), shown)
    selected: FunctionChoice | None = update.get("selection")
    if selected is not None and selected != state.get("selection"):
        yield _selected(selected, shown)
    program, before = update.get("program"), state.get("program")
    if program is not None and _is_new(program, before):
        yield _written(program, shown)
    if update.get("hint"):
        yield {"type": "value_missing", "text": shown.text(update["hint"])}
    yield from _called(state.get("requests") or (), update.get("requests") or (), shown)
    if program is not None and program["status"] == "failed" and program != before:
        yield {"type": "program_failed", "number": program["number"], "problem": shown.text(program["feedback"])}
    for step in update.get("steps") or ():
        proposal = update.get("proposal") or {"text": update.get("answer")}
        yield _finished(step, shown, report=proposal["text"] or "")
    if decision.get("kind") == "end":
        yield {"type": "turn_finished", "turn": turn, "fulfilled": decision.get("fulfilled", True)}
    # The state of a parallel sender lacks the usage of the turn.
    if "baseline" in state and _has_cost(update):
        yield _usage(state, update)


def events_of_step(step: Step, shown: Shown) -> Iterator[ProgressEvent]:
    """Yield the events of a finished step again, from the state alone; its requests went out long ago.

    A step of an earlier turn does not say any more how its program ended, so its result counts as a report.
    """
    program = step.get("program")
    if step["kind"] != "program":
        kind: TaskKind = "continue" if step["kind"] == "continue" else "plan"
        text = step["said"] or step["plan"]
        yield {"type": "task_started", "turn": step["turn"], "task": step["task"], "kind": kind, "text": text}
        yield from _chosen(step["round"], step["api_plan"], shown)
    if program is not None:
        yield _written(program, shown)
    elif step["kind"] == "program":
        # Steps of earlier turns keep only the planner's words, which are the code.
        yield {"type": "program_written", "number": 1, "writer": "caller", "code": clean_code(step["said"])}
    for request in step["requests"]:
        yield from call_events(request, shown)
    finished = _finished(step, shown)
    if step["kind"] == "program" and program is None:
        finished["end"] = "report"
    yield finished


def call_events(request: Request, shown: Shown) -> Iterator[ProgressEvent]:
    """Yield the events of a call that is over, and of the reading of its response, if no program reads it."""
    if request["status"] in UNSENT:
        return
    yield _call_finished(request, shown)
    if request["status"] == "parsed" and "place" not in request:
        yield _read(request, shown)


def _chosen(number: int, api_plan: ApiPlan | None, shown: Shown) -> Iterator[OperationsChosen]:
    calls = api_plan["calls"] if api_plan else ()
    if calls:
        chosen: list[ChosenOperation] = [
            {"operation": call["operation"], "purpose": shown.text(call["purpose"])} for call in calls
        ]
        yield {"type": "operations_chosen", "round": number, "operations": chosen}


def _selected(selected: FunctionChoice, shown: Shown) -> FunctionsSelected:
    words, operations = "", selected["operations"]
    for look in selected["looks"][-1:]:
        words, operations = shown.text(look["words"]), [*look.get("named", ()), *look.get("operations", ())]
    return {
        "type": "functions_selected",
        "operations": operations,
        "reason": shown.text(selected["reason"]),
        "words": words,
    }


def _written(program: Program, shown: Shown) -> ProgramWritten:
    return {
        "type": "program_written",
        "number": program["number"],
        "writer": program["writer"],
        "code": shown.text(program["code"]),
    }


def _called(before: Sequence[Request], now: Sequence[Request], shown: Shown) -> Iterator[ProgressEvent]:
    """Yield the events of calls that a node has made, asked about, finished or read."""
    known = {request["id"]: request for request in before}
    made: list[ProgramCall] = [
        {"id": item["id"], "operation": item["operation"], "line": place["line"], "source": shown.text(place["source"])}
        for item in now
        if item["id"] not in known and (place := item.get("place"))
    ]
    if made:
        yield {"type": "program_called", "calls": made}
    if waiting := _newly_asked(before, now):
        yield {"type": "approval_requested", "requests": [_waiting(request) for request in waiting]}
    for request in now:
        was = known[request["id"]]["status"] if request["id"] in known else "planned"
        if was in UNSENT:
            yield from call_events(request, shown)
        elif was == "sent" and request["status"] == "parsed" and "place" not in request:
            yield _read(request, shown)


def _call_finished(request: Request, shown: Shown) -> CallFinished:
    method, url = shown.call(request)
    response = request["response"]
    return {
        "type": "call_finished",
        "id": request["id"],
        "operation": request["operation"],
        "method": method,
        "url": url,
        "line": request["place"]["line"] if "place" in request else 0,
        "outcome": "sent" if request["status"] == "parsed" else request["status"],  # type: ignore[typeddict-item]
        "status": response.get("status"),
        "ms": response.get("elapsed_ms"),
        "size": response.get("size"),
        "note": shown.text(request["note"]),
        "outcome_unknown": request.get("outcome_unknown", False),
    }


def _read(request: Request, shown: Shown) -> ResponseRead:
    return {
        "type": "response_read",
        "id": request["id"],
        "operation": request["operation"],
        "code": shown.text(clean_code(request["code"]).strip()),
        "result": shortened(shown.text(request["result"]), RESULT_SHOWN),
    }


def _has_cost(update: Mapping[str, Any]) -> bool:
    used = update.get("usage")
    return bool(used and (used["roles"] or used["requests"] or update.get("steps")))


def _is_new(program: Program, before: Program | None) -> bool:
    """Return whether a program was written by this node; running it does not change code and number."""
    if program["status"] != "running":
        return False
    if before is None or before["status"] != "running":
        return True
    return (before["number"], before["seed"], before["code"]) != (program["number"], program["seed"], program["code"])


def _newly_asked(before: Sequence[Request], now: Sequence[Request]) -> list[Request]:
    """Return the requests about which a person is asked now, and was not asked the same before."""
    known = {request["id"]: request.get("question") for request in before if request["status"] == "asked"}
    return [
        request
        for request in now
        if request["status"] == "asked" and (request["id"] not in known or known[request["id"]] != request["question"])
    ]


def _waiting(request: Request) -> WaitingRequest:
    # The request in the question has no secrets, as people see it.
    shown = request["question"]["request"]
    return {
        "id": request["id"],
        "operation": request["operation"],
        "method": str(shown.get("method", "")),
        "url": str(shown.get("url", "")),
    }


def _finished(step: Step, shown: Shown, *, report: str = "") -> StepFinished:
    program = step.get("program")
    return {
        "type": "step_finished",
        "turn": step["turn"],
        "task": step["task"],
        "round": step["round"],
        "operations": list(dict.fromkeys(request["operation"] for request in step["requests"])),
        "result": shortened(shown.text(step["result"]), RESULT_SHOWN),
        "end": program.get("end") if program else None,
        "report": shortened(shown.text(report), RESULT_SHOWN) if program else "",
    }


def _usage(state: Mapping[str, Any], update: Mapping[str, Any]) -> UsageReported:
    spent = spent_since(state["baseline"], add_usage(state["usage"], update["usage"]))
    return {
        "type": "usage",
        "model_calls": sum(role["calls"] for role in spent["roles"].values()),
        "input_tokens": sum(role["input_tokens"] for role in spent["roles"].values()),
        "output_tokens": sum(role["output_tokens"] for role in spent["roles"].values()),
        "requests": spent["requests"],
        "seconds": spent["seconds"],
    }


def request_reporter(writer: StreamWriter) -> Watch:
    """Return the watch of a session that writes an event before and one after each request."""

    @contextmanager
    def reported(session: Session, request: PreparedRequest, operation: Operation) -> Iterator[RequestProgress]:
        begun: RequestStarted = {
            "type": "request_started",
            "id": uuid4().hex,
            "operation": session.catalogue.name_of(operation),
            "method": request.method,
            "url": session.redactor().url(request.url),
        }
        writer(begun)
        exchange = RequestProgress()
        started, error = session.clock(), ""
        try:
            yield exchange
        except BaseException as raised:
            error = type(raised).__name__
            raise
        finally:
            ms = round((session.clock() - started) * 1000)
            done: RequestFinished = {
                **begun,
                "type": "request_finished",
                "status": exchange.status,
                "ms": ms,
                "error": error,
            }
            writer(done)

    return reported
