"""The events of a run: what it does, in LangGraph's stream mode `custom`, while it does it.

Each event is a JSON object whose `type` says what happened. A node's events go out when it has decided, before the next
node starts; they are read from its update of the state, or again from a finished step of the state. Those of a request
go out right before it is sent and when its response is there. Events contain what the state contains, no response
bodies and no secrets; URLs are redacted. Events of other types may be added, and fields to each event; none is removed
or changes its meaning.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal, TypeAlias
from uuid import uuid4

from langgraph.types import StreamWriter
from typing_extensions import TypedDict

from restgpt.calling.record import UNSENT, End, Request, RequestLine
from restgpt.calling.session import RequestProgress, Session, Watch
from restgpt.nodes.state.records import (
    ApiPlan,
    FunctionChoice,
    Program,
    ProgramEnd,
    Step,
    Usage,
    Writer,
    add_usage,
    spent_since,
    tokens,
)
from restgpt.nodes.state.results import shortened
from restgpt.specs import Operation
from restgpt.tools.request.prepared_request import PreparedRequest
from restgpt.tools.sandbox.code import clean_code, program_code

RESULT_SHOWN = 2000
"""The maximum number of characters of a result in an event; the state has the whole result."""

TEXTS = frozenset({"text", "purpose", "reason", "words", "code", "problem", "source", "note", "result", "report"})
"""The fields of events with text of a model, an API or a person, which may have secrets."""

TaskKind = Literal["plan", "continue", "program"]


class TaskStarted(TypedDict):
    """The planner has decided on a sub-task, on the rest of it, or on a program for the whole instruction.

    `task` numbers the sub-tasks of the turn from 1.
    """

    type: Literal["task_started"]
    turn: int
    task: int
    kind: TaskKind
    text: str


class ChosenOperation(TypedDict):
    """An operation of an API plan, and what it is for."""

    operation: str
    purpose: str


class OperationsChosen(TypedDict):
    """The selector has chosen the operations of a sub-task; `round` numbers the API plans of the thread."""

    type: Literal["operations_chosen"]
    round: int
    operations: list[ChosenOperation]


class FunctionsSelected(TypedDict):
    """The selector has chosen the functions for a program by search, for the `reason` that it states.

    `words` are those for which the caller wanted to see more, and `operations` then what was found for them.
    """

    type: Literal["functions_selected"]
    operations: list[str]
    reason: str
    words: str


class ProgramWritten(TypedDict):
    """A program is about to run; `writer` is the role that wrote it, or says that a recipe or a client gave it.

    `number` counts the programs of the sub-task from 1.
    """

    type: Literal["program_written"]
    number: int
    writer: Writer
    code: str


class ProgramFailed(TypedDict):
    """A program of a sub-task has failed, and `problem` is what its writer is told."""

    type: Literal["program_failed"]
    number: int
    problem: str


class ProgramCall(TypedDict):
    """A call of a program; `line` is 0 for code that the program made itself."""

    id: str
    operation: str
    line: int
    source: str


class ProgramCalled(TypedDict):
    """A program waits for the responses to these calls; `id` is that of the call in the state."""

    type: Literal["program_called"]
    calls: list[ProgramCall]


class ProgramWaiting(TypedDict):
    """A program waits until a time, in seconds since 1970."""

    type: Literal["program_waiting"]
    until: float


class RoadChanged(TypedDict):
    """The turn goes on in another way (`road`) than it began with, for the `reason` that it states."""

    type: Literal["road_changed"]
    road: str
    reason: str


class ValueMissing(TypedDict):
    """The caller knows no value for a required argument; `text` says which."""

    type: Literal["value_missing"]
    text: str


class RequestStarted(TypedDict):
    """A request is about to be sent; `id` is also that of its `request_finished`."""

    type: Literal["request_started"]
    id: str
    operation: str
    method: str
    url: str


class RequestFinished(TypedDict):
    """A response has come, with its `status`; or none has, and `error` is the name of the error."""

    type: Literal["request_finished"]
    id: str
    operation: str
    method: str
    url: str
    status: int | None
    ms: int
    error: str


class WaitingRequest(TypedDict):
    """A request about which a person is asked."""

    id: str
    operation: str
    method: str
    url: str


class ApprovalRequested(TypedDict):
    """The run is about to pause until a person has decided on these requests; the interrupt has the whole question."""

    type: Literal["approval_requested"]
    requests: list[WaitingRequest]


class CallFinished(TypedDict):
    """A call of the state is over: a response came (`sent`), or none, or somebody, a rule or a dry run held it back.

    `note` says why; `line` is its line in the program, 0 without one; `size` is that of the body in bytes, and `pages`
    how many pages of a list it joins. With `outcome_unknown` the API may have carried out a change, although no success
    was answered.
    """

    type: Literal["call_finished"]
    id: str
    operation: str
    method: str
    url: str
    line: int
    outcome: End
    status: int | None
    ms: float | None
    size: int | None
    pages: int
    note: str
    outcome_unknown: bool


class ResponseRead(TypedDict):
    """The parser has read a response, by `code` if a model wrote some; `result` is cut to 2,000 characters."""

    type: Literal["response_read"]
    id: str
    operation: str
    code: str
    result: str


class StepFinished(TypedDict):
    """A round is over; `result` is cut to 2,000 characters, `end` says how a program ended, `report` what it said."""

    type: Literal["step_finished"]
    turn: int
    task: int
    round: int
    operations: list[str]
    result: str
    end: ProgramEnd | None
    report: str


class TurnFinished(TypedDict):
    """The planner has ended the turn; the answer comes as a message."""

    type: Literal["turn_finished"]
    turn: int
    fulfilled: bool


class UsageReported(TypedDict):
    """The cost of the turn so far; `seconds` do not include pauses for approval."""

    type: Literal["usage"]
    model_calls: int
    input_tokens: int
    output_tokens: int
    requests: int
    seconds: float


ProgressEvent: TypeAlias = (
    TaskStarted
    | OperationsChosen
    | FunctionsSelected
    | ProgramWritten
    | ProgramFailed
    | ProgramCalled
    | ProgramWaiting
    | RoadChanged
    | ValueMissing
    | RequestStarted
    | RequestFinished
    | ApprovalRequested
    | CallFinished
    | ResponseRead
    | StepFinished
    | TurnFinished
    | UsageReported
)

NO_FORM = (
    "Three replies in a row were neither JSON of the form, nor one fence, nor a tool call, so this turn goes on call "
    "by call. The setting `road: program` ends such a turn instead."
)
"""Why a turn changes its road."""


def shown(event: Any, redacted: Callable[[str], str]) -> Any:
    """Return an event as it goes out: with its texts redacted, and results and reports cut to `RESULT_SHOWN`."""
    told = dict(event)
    for name, value in event.items():
        if isinstance(value, list):
            told[name] = [shown(item, redacted) if isinstance(item, dict) else item for item in value]
        elif value and name in TEXTS:
            text = redacted(value)
            told[name] = shortened(text, RESULT_SHOWN) if name in ("result", "report") else text
    return told


def events_of(state: Mapping[str, Any], update: Mapping[str, Any]) -> Iterator[ProgressEvent]:
    """Yield the events of a node's update of the state."""
    turn, task = (update.get(name, state.get(name, 0)) for name in ("turn", "task"))
    decision = update.get("decision") or {}
    if decision.get("text") and decision["kind"] != "end":
        kind: TaskKind = decision["kind"]
        text = update["plan"] if kind == "program" else decision["text"]
        # The program of a client comes without an instruction, and another one is no other task.
        if text and (kind != "program" or task != state.get("task")):
            yield {"type": "task_started", "turn": turn, "task": task, "kind": kind, "text": text}
    if "round" in update:
        yield from _chosen(update["round"], update.get("api_plan"))
    selected: FunctionChoice | None = update.get("selection")
    if selected is not None and selected != state.get("selection"):
        yield _selected(selected)
    program, before = update.get("program"), state.get("program")
    if program is not None and _is_new(program, before):
        yield _written(program)
    if update.get("road"):
        yield {"type": "road_changed", "road": update["road"], "reason": NO_FORM}
    if update.get("hint"):
        yield {"type": "value_missing", "text": update["hint"]}
    yield from _called(state.get("requests") or (), update.get("requests") or ())
    waits = [*(program or {}).get("waits", {}).values()][len((before or {}).get("waits", {})) :]
    if waits and not update.get("steps"):
        yield {"type": "program_waiting", "until": min(until for until, _ in waits)}
    if program is not None and program["status"] == "failed" and program != before:
        yield {"type": "program_failed", "number": program["number"], "problem": program["feedback"]}
    for step in update.get("steps") or ():
        proposal = update.get("proposal") or {"text": update.get("answer")}
        yield _finished(step, report=proposal["text"] or "")
    if decision.get("kind") == "end":
        yield {"type": "turn_finished", "turn": turn, "fulfilled": decision.get("fulfilled", True)}
    used = update.get("usage")
    # The state of a parallel sender lacks the usage of the turn.
    if "baseline" in state and used and (tokens(used) or used["requests"] or update.get("steps")):
        yield _usage(spent_since(state["baseline"], add_usage(state["usage"], used)))


def events_of_step(step: Step) -> Iterator[ProgressEvent]:
    """Yield the events of a finished step again, from the state alone; its requests went out long ago.

    A step of an earlier turn does not say any more how its program ended, so its result counts as a report.
    """
    program = step.get("program")
    if step["kind"] != "program":
        kind: TaskKind = "continue" if step["kind"] == "continue" else "plan"
        text = step["said"] or step["plan"]
        yield {"type": "task_started", "turn": step["turn"], "task": step["task"], "kind": kind, "text": text}
        yield from _chosen(step["round"], step["api_plan"])
    if program is not None:
        yield _written(program)
    elif step["kind"] == "program":
        # Steps of earlier turns keep only the planner's words, which are the code.
        yield {"type": "program_written", "number": 1, "writer": "caller", "code": program_code(step["said"])}
    for request in step["requests"]:
        yield from call_events(request)
    finished = _finished(step)
    if step["kind"] == "program" and program is None:
        finished["end"] = "report"
    yield finished


def call_events(request: Request) -> Iterator[ProgressEvent]:
    """Yield the events of a call that is over, and of the reading of its response, if no program reads it."""
    if request["status"] in UNSENT:
        return
    yield _call_finished(request)
    if request["status"] == "parsed" and "place" not in request:
        yield _read(request)


def _chosen(number: int, api_plan: ApiPlan | None) -> Iterator[OperationsChosen]:
    if calls := api_plan["calls"] if api_plan else ():
        chosen: list[ChosenOperation] = [{"operation": call["operation"], "purpose": call["purpose"]} for call in calls]
        yield {"type": "operations_chosen", "round": number, "operations": chosen}


def _selected(selected: FunctionChoice) -> FunctionsSelected:
    words, operations = "", selected["operations"]
    for look in selected["looks"][-1:]:
        words, operations = look["words"], [*look.get("named", ()), *look.get("operations", ())]
    return {"type": "functions_selected", "operations": operations, "reason": selected["reason"], "words": words}


def _written(program: Program) -> ProgramWritten:
    number, writer, code = program["number"], program["writer"], program["code"]
    return {"type": "program_written", "number": number, "writer": writer, "code": code}


def _called(before: Sequence[Request], now: Sequence[Request]) -> Iterator[ProgressEvent]:
    """Yield the events of calls that a node has made, asked about, finished or read."""
    known = {request["id"]: request for request in before}
    made: list[ProgramCall] = [
        {"id": item["id"], "operation": item["operation"], "line": place["line"], "source": place["source"]}
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
            yield from call_events(request)
        elif was == "sent" and request["status"] == "parsed" and "place" not in request:
            yield _read(request)


def _call_finished(request: Request) -> CallFinished:
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
        "note": request["note"] or response.get("reason", ""),
        "outcome_unknown": request.get("outcome_unknown", False),
    }


def _unsent_line(request: Request) -> RequestLine:
    """Return the operation and arguments of a call that an edit has broken, or of an earlier turn."""
    return {"method": "", "url": f"{request['operation']} {json.dumps(request['arguments'], ensure_ascii=False)}"}


def _read(request: Request) -> ResponseRead:
    return {
        "type": "response_read",
        "id": request["id"],
        "operation": request["operation"],
        "code": clean_code(request["code"]).strip(),
        "result": request["result"],
    }


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


def _finished(step: Step, *, report: str = "") -> StepFinished:
    program = step.get("program")
    if program and program["writer"] == "recipe":
        # The result of one that stopped is written for the planner, who sees the program too.
        report = report or program["feedback"]
    return {
        "type": "step_finished",
        "turn": step["turn"],
        "task": step["task"],
        "round": step["round"],
        "operations": list(dict.fromkeys(request["operation"] for request in step["requests"])),
        "result": step["result"],
        "end": program.get("end") if program else None,
        "report": report if program else "",
    }


def _usage(spent: Usage) -> UsageReported:
    roles = spent["roles"].values()
    return {
        "type": "usage",
        "model_calls": sum(role["calls"] for role in roles),
        "input_tokens": sum(role["input_tokens"] for role in roles),
        "output_tokens": sum(role["output_tokens"] for role in roles),
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
