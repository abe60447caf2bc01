"""The events of a run: read from the updates of its nodes, or again from a finished step of the state."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

from langgraph.types import StreamWriter

from restgpt.calling.record import UNSENT, Request, RequestLine
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
from restgpt.nodes.state.records import ApiPlan, FunctionChoice, Program, Step, add_usage, spent_since, tokens
from restgpt.nodes.state.results import shortened
from restgpt.specs import Operation
from restgpt.tools.request.build import PreparedRequest
from restgpt.tools.sandbox.code import clean_code, program_code

NO_FORM = (
    "Three replies in a row were neither JSON of the form, nor one fence, nor a tool call, so this turn goes on call "
    "by call. The setting `road: program` ends such a turn instead."
)
"""Why a turn changes its road."""

Redact = Callable[[str], str]
"""A function that hides the secrets in a text."""


def events_of(state: Mapping[str, Any], update: Mapping[str, Any], redacted: Redact) -> Iterator[ProgressEvent]:
    """Yield the events of a node's update of the state."""
    turn = update.get("turn", state.get("turn", 0))
    decision = update.get("decision") or {}
    if decision.get("text") and decision["kind"] != "end":
        kind: TaskKind = decision["kind"]
        text = redacted(update["plan"] if kind == "program" else decision["text"])
        task = update.get("task", state.get("task", 0))
        # The program of a client comes without an instruction, and another one is no other task.
        if text and (kind != "program" or task != state.get("task")):
            yield {"type": "task_started", "turn": turn, "task": task, "kind": kind, "text": text}
    if "round" in update:
        yield from _chosen(update["round"], update.get("api_plan"), redacted)
    selected: FunctionChoice | None = update.get("selection")
    if selected is not None and selected != state.get("selection"):
        yield _selected(selected, redacted)
    program, before = update.get("program"), state.get("program")
    if program is not None and _is_new(program, before):
        yield _written(program, redacted)
    if update.get("road"):
        yield {"type": "road_changed", "road": update["road"], "reason": NO_FORM}
    if update.get("hint"):
        yield {"type": "value_missing", "text": redacted(update["hint"])}
    yield from _called(state.get("requests") or (), update.get("requests") or (), redacted)
    if program is not None and program["status"] == "failed" and program != before:
        yield {"type": "program_failed", "number": program["number"], "problem": redacted(program["feedback"])}
    for step in update.get("steps") or ():
        proposal = update.get("proposal") or {"text": update.get("answer")}
        yield _finished(step, redacted, report=proposal["text"] or "")
    if decision.get("kind") == "end":
        yield {"type": "turn_finished", "turn": turn, "fulfilled": decision.get("fulfilled", True)}
    # The state of a parallel sender lacks the usage of the turn.
    if "baseline" in state and _has_cost(update):
        yield _usage(state, update)


def events_of_step(step: Step, redacted: Redact) -> Iterator[ProgressEvent]:
    """Yield the events of a finished step again, from the state alone; its requests went out long ago.

    A step of an earlier turn does not say any more how its program ended, so its result counts as a report.
    """
    program = step.get("program")
    if step["kind"] != "program":
        kind: TaskKind = "continue" if step["kind"] == "continue" else "plan"
        text = step["said"] or step["plan"]
        yield {"type": "task_started", "turn": step["turn"], "task": step["task"], "kind": kind, "text": text}
        yield from _chosen(step["round"], step["api_plan"], redacted)
    if program is not None:
        yield _written(program, redacted)
    elif step["kind"] == "program":
        # Steps of earlier turns keep only the planner's words, which are the code.
        yield {"type": "program_written", "number": 1, "writer": "caller", "code": program_code(step["said"])}
    for request in step["requests"]:
        yield from call_events(request, redacted)
    finished = _finished(step, redacted)
    if step["kind"] == "program" and program is None:
        finished["end"] = "report"
    yield finished


def call_events(request: Request, redacted: Redact) -> Iterator[ProgressEvent]:
    """Yield the events of a call that is over, and of the reading of its response, if no program reads it."""
    if request["status"] in UNSENT:
        return
    yield _call_finished(request, redacted)
    if request["status"] == "parsed" and "place" not in request:
        yield _read(request, redacted)


def _chosen(number: int, api_plan: ApiPlan | None, redacted: Redact) -> Iterator[OperationsChosen]:
    calls = api_plan["calls"] if api_plan else ()
    if calls:
        chosen: list[ChosenOperation] = [
            {"operation": call["operation"], "purpose": redacted(call["purpose"])} for call in calls
        ]
        yield {"type": "operations_chosen", "round": number, "operations": chosen}


def _selected(selected: FunctionChoice, redacted: Redact) -> FunctionsSelected:
    words, operations = "", selected["operations"]
    for look in selected["looks"][-1:]:
        words, operations = redacted(look["words"]), [*look.get("named", ()), *look.get("operations", ())]
    return {
        "type": "functions_selected",
        "operations": operations,
        "reason": redacted(selected["reason"]),
        "words": words,
    }


def _written(program: Program, redacted: Redact) -> ProgramWritten:
    return {
        "type": "program_written",
        "number": program["number"],
        "writer": program["writer"],
        "code": redacted(program["code"]),
    }


def _called(before: Sequence[Request], now: Sequence[Request], redacted: Redact) -> Iterator[ProgressEvent]:
    """Yield the events of calls that a node has made, asked about, finished or read."""
    known = {request["id"]: request for request in before}
    made: list[ProgramCall] = [
        {"id": item["id"], "operation": item["operation"], "line": place["line"], "source": redacted(place["source"])}
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
            yield from call_events(request, redacted)
        elif was == "sent" and request["status"] == "parsed" and "place" not in request:
            yield _read(request, redacted)


def _call_finished(request: Request, redacted: Redact) -> CallFinished:
    response, line = request["response"], request.get("request") or _unsent_line(request)
    return {
        "type": "call_finished",
        "id": request["id"],
        "operation": request["operation"],
        "method": line["method"],
        "url": line["url"],
        "line": request["place"]["line"] if "place" in request else 0,
        "outcome": "sent" if request["status"] == "parsed" else request["status"],  # type: ignore[typeddict-item]
        "status": response.get("status"),
        "ms": response.get("elapsed_ms"),
        "size": response.get("size"),
        "pages": response.get("pages", 1),
        "note": redacted(request["note"]),
        "outcome_unknown": request.get("outcome_unknown", False),
    }


def _unsent_line(request: Request) -> RequestLine:
    """Return the operation and arguments of a call that an edit has broken, or of an earlier turn."""
    return {"method": "", "url": f"{request['operation']} {json.dumps(request['arguments'], ensure_ascii=False)}"}


def _read(request: Request, redacted: Redact) -> ResponseRead:
    return {
        "type": "response_read",
        "id": request["id"],
        "operation": request["operation"],
        "code": redacted(clean_code(request["code"]).strip()),
        "result": shortened(redacted(request["result"]), RESULT_SHOWN),
    }


def _has_cost(update: Mapping[str, Any]) -> bool:
    used = update.get("usage")
    return bool(used and (tokens(used) or used["requests"] or update.get("steps")))


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


def _finished(step: Step, redacted: Redact, *, report: str = "") -> StepFinished:
    program = step.get("program")
    return {
        "type": "step_finished",
        "turn": step["turn"],
        "task": step["task"],
        "round": step["round"],
        "operations": list(dict.fromkeys(request["operation"] for request in step["requests"])),
        "result": shortened(redacted(step["result"]), RESULT_SHOWN),
        "end": program.get("end") if program else None,
        "report": shortened(redacted(report), RESULT_SHOWN) if program else "",
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
