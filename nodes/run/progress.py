"""Progress: what a run does, as events of LangGraph's stream mode `custom`, while it does it.

Each event is a JSON object whose `type` says what happened. A node's events go out when it has decided, before the next
node starts; those of a request go out right before it is sent and when its response is there. Events contain what the
state contains, no response bodies and no secrets; URLs are redacted. Events of other types may be added, and fields
to each event; none is removed or changes its meaning.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal, TypeAlias
from uuid import uuid4

from langgraph.types import StreamWriter
from typing_extensions import TypedDict

from restgpt.calling.record import Request
from restgpt.calling.session import RequestProgress, Session, Watch
from restgpt.nodes.state.records import FunctionChoice, Program, ProgramEnd, Step, Writer, add_usage, spent_since
from restgpt.nodes.state.results import shortened
from restgpt.specs import Operation
from restgpt.tools.request.build import PreparedRequest

RESULT_SHOWN = 2000
"""The maximum number of characters of a result in an event; the state has the whole result."""

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
    """The selector has chosen the functions for a program by search, for the `reason` that it states."""

    type: Literal["functions_selected"]
    operations: list[str]
    reason: str


class ProgramWritten(TypedDict):
    """A program is about to run; `writer` is the role that wrote it, or says that a recipe or a client gave it.

    `number` counts the programs of the sub-task from 1.
    """

    type: Literal["program_written"]
    number: int
    writer: Writer
    code: str


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


class StepFinished(TypedDict):
    """A round is over; `result` is cut to 2,000 characters, `end` says how a program ended."""

    type: Literal["step_finished"]
    turn: int
    task: int
    round: int
    operations: list[str]
    result: str
    end: ProgramEnd | None


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
    | RequestStarted
    | RequestFinished
    | ApprovalRequested
    | StepFinished
    | UsageReported
)


Redact = Callable[[str], str]


def events_of(state: Mapping[str, Any], update: Mapping[str, Any], *, redacted: Redact) -> Iterator[ProgressEvent]:
    """Yield the events of a node's update of the state; `redacted` hides secrets in a text."""
    turn = update.get("turn", state.get("turn", 0))
    decision = update.get("decision") or {}
    if decision.get("text") and decision["kind"] != "end":
        kind: TaskKind = decision["kind"]
        text = redacted(update["plan"] if kind == "program" else decision["text"])
        task = update.get("task", state.get("task", 0))
        # The program of a client comes without an instruction, and another one is no other task.
        if text and (kind != "program" or task != state.get("task")):
            yield {"type": "task_started", "turn": turn, "task": task, "kind": kind, "text": text}
    calls = (update.get("api_plan") or {}).get("calls")
    if calls and "round" in update:
        chosen: list[ChosenOperation] = [
            {"operation": call["operation"], "purpose": redacted(call["purpose"])} for call in calls
        ]
        yield {"type": "operations_chosen", "round": update["round"], "operations": chosen}
    selected: FunctionChoice | None = update.get("selection")
    if selected is not None and selected["operations"] != (state.get("selection") or {}).get("operations"):
        yield {
            "type": "functions_selected",
            "operations": selected["operations"],
            "reason": redacted(selected["reason"]),
        }
    program: Program | None = update.get("program")
    if program is not None and _is_new(program, state.get("program")):
        yield {
            "type": "program_written",
            "number": program["number"],
            "writer": program["writer"],
            "code": redacted(program["code"]),
        }
    if waiting := _newly_asked(state.get("requests") or (), update.get("requests") or ()):
        yield {"type": "approval_requested", "requests": [_waiting(request) for request in waiting]}
    for step in update.get("steps") or ():
        yield _finished(step, redacted)
    # The state of a parallel sender lacks the usage of the turn.
    if "baseline" in state and _has_cost(update):
        yield _usage(state, update)


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


def _finished(step: Step, redacted: Redact) -> StepFinished:
    program = step.get("program")
    return {
        "type": "step_finished",
        "turn": step["turn"],
        "task": step["task"],
        "round": step["round"],
        "operations": list(dict.fromkeys(request["operation"] for request in step["requests"])),
        "result": shortened(redacted(step["result"]), RESULT_SHOWN),
        "end": program.get("end") if program else None,
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
