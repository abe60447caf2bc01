"""What the state holds: plain JSON records, so that any checkpointer keeps them without knowing our classes."""

from typing import Literal, NotRequired, cast

from typing_extensions import TypedDict

from restgpt.calling.record import CallRecord

FORMAT = 2
"""The format of the checkpoints that this version writes.

1: requests without the built request, the target and the question; they are built again when they are next needed.
2: calls as `restgpt.calling.record` describes them.
"""

DecisionKind = Literal["plan", "continue", "end"]


class Decision(TypedDict):
    """What the planner said: the next sub-task, what is still missing, or the answer (paper, section 3.2).

    `thought` is why. `fulfilled` comes with the end: whether the instruction was carried out, or only an account of why
    not is given.
    """

    kind: DecisionKind
    text: str
    thought: NotRequired[str]
    fulfilled: NotRequired[bool]


class PlannedCall(TypedDict):
    """One operation of an API plan, what it is for, and the earlier calls of this plan (from 1) it needs results of."""

    operation: str
    purpose: str
    needs: list[int]


class ApiPlan(TypedDict):
    """What the selector said: calls in order, or none and the answer that needs no call."""

    calls: list[PlannedCall]
    reason: str


class Request(CallRecord):
    """One call of the current API plan, from its arguments to what was extracted from the answer.

    `round` numbers the API plans of the thread, `call` counts from 1 in the API plan, `attempt` counts repairs from 0.
    `output_instruction` says what to extract, `result` is what `code` extracted.
    """

    round: int
    call: int
    attempt: int
    output_instruction: str
    result: str
    code: str


def placed(
    record: CallRecord, *, round_number: int, call: int, attempt: int = 0, output_instruction: str = ""
) -> Request:
    """A call in its place in an API plan, nothing extracted yet."""
    place = {"round": round_number, "call": call, "attempt": attempt, "output_instruction": output_instruction}
    return cast(Request, {**record, **place, "result": "", "code": ""})


def advanced(request: Request, record: CallRecord) -> Request:
    """A request whose call is at another stage now, in the same place."""
    place = {key: value for key, value in request.items() if key not in CallRecord.__annotations__}
    return cast(Request, {**place, **record})


class Step(TypedDict):
    """One finished round: sub-task p_t, API plan a_t, requests, result r_t. `task` numbers sub-tasks in the turn."""

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


class RoleUsage(TypedDict):
    """What a role cost."""

    calls: int
    input_tokens: int
    output_tokens: int


class Usage(TypedDict):
    """What a thread cost: model calls and tokens by role, requests sent, and active seconds (waiting excluded).

    `began` is in what branches report that run at once: the thread's seconds before them, from which each counts on.
    """

    roles: dict[str, RoleUsage]
    requests: int
    seconds: float
    began: NotRequired[float]


_NOTHING: RoleUsage = {"calls": 0, "input_tokens": 0, "output_tokens": 0}


def no_usage() -> Usage:
    """Nothing spent."""
    return {"roles": {}, "requests": 0, "seconds": 0.0}


def add_usage(before: Usage, more: Usage) -> Usage:
    """Add up two usages, role by role; a thread begins with an empty one. Time that passed at once counts once."""
    before = before or no_usage()
    roles = dict(before["roles"])
    for role, spent in more["roles"].items():
        mine = roles.get(role, _NOTHING)
        roles[role] = {
            "calls": mine["calls"] + spent["calls"],
            "input_tokens": mine["input_tokens"] + spent["input_tokens"],
            "output_tokens": mine["output_tokens"] + spent["output_tokens"],
        }
    return {
        "roles": roles,
        "requests": before["requests"] + more["requests"],
        "seconds": max(before["seconds"], round(more.get("began", before["seconds"]) + more["seconds"], 3)),
    }


def spent_since(baseline: Usage, usage: Usage) -> Usage:
    """What was spent between two readings."""
    roles: dict[str, RoleUsage] = {}
    for role, now in usage["roles"].items():
        then = baseline["roles"].get(role, _NOTHING)
        roles[role] = {
            "calls": now["calls"] - then["calls"],
            "input_tokens": now["input_tokens"] - then["input_tokens"],
            "output_tokens": now["output_tokens"] - then["output_tokens"],
        }
    return {
        "roles": roles,
        "requests": usage["requests"] - baseline["requests"],
        "seconds": round(usage["seconds"] - baseline["seconds"], 3),
    }


def tokens(usage: Usage) -> int:
    """All tokens, read and written."""
    return sum(spent["input_tokens"] + spent["output_tokens"] for spent in usage["roles"].values())


def add_steps(before: list[Step], more: list[Step]) -> list[Step]:
    """Append; of the steps of earlier turns only what later prompts need is kept, since a checkpoint holds them all."""
    if not before or not more or before[-1]["turn"] == more[-1]["turn"]:
        return [*before, *more]
    return [*(_slim(step) for step in before), *more]


def _slim(step: Step) -> Step:
    """Without code, provenance, sketches, and the requests of calls that were not sent."""
    requests: list[Request] = []
    for request in step["requests"]:
        response = {key: value for key, value in request["response"].items() if key != "sketch"}
        slim: Request = {**request, "code": "", "response": response}
        for name in ("provenance", "request", "settled", "question", "target"):
            slim.pop(name, None)  # type: ignore[misc]
        requests.append(slim)
    return {**step, "requests": requests}


def merge_requests(before: list[Request], more: list[Request]) -> list[Request]:
    """Keep the requests of the newest round only, the latest record of each, in the order of their calls."""
    newest = max((request["round"] for request in [*before, *more]), default=0)
    kept = {request["id"]: request for request in [*before, *more] if request["round"] == newest}
    return sorted(kept.values(), key=lambda request: (request["call"], request["attempt"]))
