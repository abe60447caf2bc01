"""Progress: what a run does, as events of LangGraph's stream mode `custom`, while it does it.

Each event is a JSON object whose `type` says what happened. A node's events go out when it has decided, before the next
node starts; those of a request go out right before it is sent and when its response is there. Events contain what the
state contains, no response bodies and no secrets; URLs are redacted. Events of other types may be added, and fields
to each event; none is removed or changes its meaning.
"""

from typing import Literal, TypeAlias

from typing_extensions import TypedDict

from restgpt.calling.record import End
from restgpt.nodes.state.records import ProgramEnd, Writer

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
    """A program waits for the answers to these calls; `id` is that of the call in the state."""

    type: Literal["program_called"]
    calls: list[ProgramCall]


class RoadChanged(TypedDict):
    """The turn goes on by another road than it began with, for the `reason` that it states."""

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
    """A call of the state is over: an answer came (`sent`), or none did, or somebody, a rule or a dry run held it back.

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
