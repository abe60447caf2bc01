"""The records in the state: plain JSON, so that any checkpointer can save them without our classes."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NotRequired
from uuid import NAMESPACE_OID, uuid5

from typing_extensions import TypedDict

from restgpt.calling.record import Request
from restgpt.tools.text.storable import storable_text

FORMAT = 8
"""The number of the checkpoint format, the only one that this program writes and reads."""


class StateError(ValueError):
    """A value written to a key of the state does not have the key's type; the state was not changed."""

    def __init__(self, key: str, place: str, reason: str) -> None:
        super().__init__(
            f"The state key {key!r} was not changed. The new value is invalid at {key}{place}: {reason}. Read "
            "the current value with get_state, and write a value of the same form."
        )


def newer(before: str, after: str) -> str:
    """Return the newer text, without characters such as NUL: PostgreSQL rejects them in a state value."""
    return storable_text(after) if isinstance(after, str) else ""


Text = Annotated[str, newer]
"""A text of the state."""


class Given(str):
    """A text from the current input, unlike a text that an earlier turn left in the state."""


def placed_id(place: int, kind: str, content: Any) -> str:
    """Return the id of a message that came without one: it gets it again whenever the state is read."""
    return str(uuid5(NAMESPACE_OID, f"{place} {kind} {content}"))


DecisionKind = Literal["plan", "continue", "program", "end"]


class Decision(TypedDict):
    """The planner's decision: the next sub-task, the rest of this one, or the answer (paper, section 3.2).

    With `program`, a program carries out the whole instruction, which is `text`; a rule decides so, without a model.
    `thought` is the planner's reason. `last` is set if the result of the sub-task is the answer. `fulfilled` is set at
    the end: whether the instruction was carried out, or the answer only explains why not.
    """

    kind: DecisionKind
    text: str
    thought: NotRequired[str]
    last: NotRequired[bool]
    fulfilled: NotRequired[bool]


class Proposal(TypedDict):
    """What the planner decides next without its model: the answer that another role gave it, or a sub-task.

    `remark` follows the answer. `shown` is the id of the message that was shown while the answer was written, and how
    many of its characters.
    """

    kind: Literal["plan", "end"]
    text: str
    thought: NotRequired[str]
    fulfilled: NotRequired[bool]
    remark: NotRequired[str]
    shown: NotRequired[tuple[str, int]]


class Look(TypedDict):
    """The caller's wish to see more functions or rules, and what the selector found for its `words`.

    `named` are the operations that the words name, `operations` others, `parts` large parts of the map of paths. A wish
    without an answer lacks all three. Its words find the rules when a prompt is written.
    """

    words: str
    thought: str
    named: NotRequired[list[str]]
    operations: NotRequired[list[str]]
    parts: NotRequired[list[str]]


class FunctionChoice(TypedDict):
    """The functions from which the caller writes a program for the whole instruction, chosen by search.

    The caller sees `operations` with their signatures, and `others` as lines without arguments. `reason` tells people
    why these were chosen. `looks` are what the caller asked for besides.
    """

    operations: list[str]
    others: list[str]
    reason: str
    looks: list[Look]


ProgramStatus = Literal["running", "failed", "over"]

ProgramEnd = Literal["report", "stopped", "unknown", "rejected", "failed", "budget"]
"""How a program ended: with its report, with `stop`, in a dry run at an answer that nobody has, at a refusal that it
did not catch, with an error, or because the time of the instruction was used up."""


Writer = Literal["caller", "recipe", "client"]


class Program(TypedDict):
    """A program that carries out a sub-task, or as that of a recipe, a client or an instruction, the whole turn.

    `number` counts the programs of the sub-task from 1. `is_last` is set if its report is the answer. `clock` (seconds
    since 1970) and `seed` are the time and the random numbers that it sees in every run, and `version` is that of the
    sandbox, which has to be the same in every run. `is_checked` is set after its first run. `taken` maps positions to
    the ids of requests of earlier programs that answered them. `feedback` tells the writer why the program failed.
    `seen` are the ids of the APIs that had answered when it was written. `end` is set when the program has ended.
    `functions` are the only functions that it may call; without the key, all of them. `refused` are claims of the
    refusals by a document that ended it, `insists` those of the programs that it corrects (`ArgumentError.claims`).
    `waits` maps positions to the times until which it waits there: of the host, and of the program's own clock.
    """

    code: str
    writer: Writer
    number: int
    is_last: bool
    clock: float
    seed: str
    version: str
    is_checked: bool
    taken: dict[str, str]
    status: ProgramStatus
    feedback: str
    seen: NotRequired[list[str]]
    end: NotRequired[ProgramEnd]
    functions: NotRequired[list[str]]
    refused: NotRequired[list[str]]
    insists: NotRequired[list[str]]
    waits: NotRequired[dict[str, tuple[float, float]]]


def waits_until(program: Program | None, now: float) -> float:
    """Return the time until which a program that runs waits, in seconds since 1970; 0 if it does not wait now."""
    if program is None or program["status"] != "running":
        return 0.0
    return min((until for until, _ in program.get("waits", {}).values() if until > now), default=0.0)


def shown_program(program: Program | None) -> dict[str, Any] | None:
    """Return what a document for users holds of a program: code, writer, number, status, and how it ended."""
    if program is None:
        return None
    kept = ("code", "writer", "number", "status", "end")
    return {key: value for key, value in program.items() if key in kept}


class RecipeRun(TypedDict):
    """The recipe of a turn, as JSON, and its inputs, so that a resumed run does not depend on the recipe's file.

    `heals` says that the planner goes on where the recipe stops before its first change. `is_chosen` says that the
    planner chose recipe and inputs, `is_passed` that the caller of a tool gave the inputs, so the inputs are not the
    user's words; nor are `defaults`, the names of those that the file has given. Intake or the planner sets `turn`.
    """

    name: str
    recipe: dict[str, Any]
    inputs: dict[str, Any]
    heals: NotRequired[bool]
    is_chosen: NotRequired[bool]
    is_passed: NotRequired[bool]
    defaults: NotRequired[list[str]]
    turn: NotRequired[int]


class ToolCall(TypedDict):
    """A native tool call of a model: its id, the name of the tool, and the arguments as the model wrote them."""

    id: str
    name: str
    arguments: dict[str, Any]


class PlannedCall(TypedDict):
    """One operation of an API plan, its purpose, and the numbers (from 1) of earlier calls whose results it needs.

    `tool_call` is set where the model called the operation as a native tool.
    """

    operation: str
    purpose: str
    needs: list[int]
    tool_call: NotRequired[ToolCall]


class ApiPlan(TypedDict):
    """The selector's reply: calls in order; or no calls, and the answer as `reason`."""

    calls: list[PlannedCall]
    reason: str


class Step(TypedDict):
    """One finished round: sub-task p_t, API plan a_t, requests, result r_t. `task` numbers sub-tasks in the turn.

    `program` is the program that carried out the round, the last one if there were several.
    """

    turn: int
    task: int
    round: int
    kind: DecisionKind
    plan: str
    thought: NotRequired[str]
    said: str
    api_plan: ApiPlan
    requests: list[Request]
    result: str
    program: NotRequired[Program]


class RoleUsage(TypedDict):
    """The model calls and tokens of a role."""

    calls: int
    input_tokens: int
    output_tokens: int


class Usage(TypedDict):
    """The cost of a thread: model calls and tokens by role, sent requests, and seconds without pauses for approval."""

    roles: dict[str, RoleUsage]
    requests: int
    seconds: float


_NOTHING: RoleUsage = {"calls": 0, "input_tokens": 0, "output_tokens": 0}


def no_usage() -> Usage:
    """Return an empty usage."""
    return {"roles": {}, "requests": 0, "seconds": 0.0}


def add_usage(before: Usage, more: Usage) -> Usage:
    """Add two usages, role by role."""
    return _combined(before or no_usage(), more, 1)


def turn_usage(state: Mapping[str, Any]) -> Usage:
    """Return the usage of the current turn so far; its seconds are without pauses for approval."""
    return spent_since(state.get("baseline") or no_usage(), state.get("usage") or no_usage())


def spent_since(baseline: Usage, usage: Usage) -> Usage:
    """Return the difference of two usages."""
    return _combined(usage, baseline, -1)


def _combined(one: Usage, other: Usage, sign: int) -> Usage:
    roles: dict[str, Any] = {}
    for role in {**one["roles"], **other["roles"]}:
        mine, more = (usage["roles"].get(role, _NOTHING) for usage in (one, other))
        roles[role] = {key: mine[key] + sign * more[key] for key in _NOTHING}  # type: ignore[literal-required]
    return {
        "roles": roles,
        "requests": one["requests"] + sign * other["requests"],
        "seconds": round(one["seconds"] + sign * other["seconds"], 3),
    }


def tokens(usage: Usage) -> int:
    """Return the sum of all input and output tokens."""
    return sum(spent["input_tokens"] + spent["output_tokens"] for spent in usage["roles"].values())


def add_steps(before: list[Step], more: list[Step]) -> list[Step]:
    """Append steps; strip those of earlier turns to what prompts need, because every state contains them all."""
    if not before or not more or before[-1]["turn"] == more[-1]["turn"]:
        return [*before, *more]
    ended = before[-1]["turn"]
    return [*(_slim(step) if step["turn"] == ended else step for step in before), *more]


def _slim(step: Step) -> Step:
    """Remove code, programs, provenance, flows, sketches, questions and targets from a step."""
    requests: list[Request] = []
    for request in step["requests"]:
        response = {key: value for key, value in request["response"].items() if key != "sketch"}
        slim: Request = {**request, "code": "", "response": response}
        for name in ("provenance", "settled", "exact", "question", "target", "flow", "request"):
            slim.pop(name, None)  # type: ignore[misc]
        requests.append(slim)
    slim_step: Step = {**step, "requests": requests}
    slim_step.pop("program", None)
    return slim_step


def merge_requests(before: list[Request], more: list[Request]) -> list[Request]:
    """Keep only the requests of the newest round, with the latest record of each, in the order of their calls."""
    newest = max((request["round"] for request in [*before, *more]), default=0)
    kept = {request["id"]: request for request in [*before, *more] if request["round"] == newest}
    return sorted(kept.values(), key=lambda request: (request["call"], request["attempt"]))
