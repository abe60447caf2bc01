"""What the state holds: plain JSON records, so that any checkpointer keeps them without knowing our classes."""

from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from restgpt.calling.origin import Provenance

DecisionKind = Literal["plan", "continue", "end"]
RequestStatus = Literal[
    "planned",  # arguments are known and valid
    "asked",  # a person decides
    "approved",  # may be sent
    "rejected",  # a person or a policy said no
    "held",  # dry run: shown, never sent
    "sent",  # the API answered, whatever the status
    "failed",  # no answer
    "parsed",  # the answer was read
]


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


class Request(TypedDict):
    """One request of the current API plan, from its arguments to what was extracted from the answer.

    `id` is unique in the thread and names the request in the write journal; `call` counts from 1 in the API plan;
    `round` numbers the API plans of the thread; `attempt` counts repairs from 0; `safe` is that of
    RFC 9110, section 9.2.1; `pages` is how many pages of a list are read at most. `provenance` says where the arguments
    come from. `unsure` counts how often a change was about to be sent without its outcome being known, and `sends` how
    often it may be, which is once unless a person allowed more.
    """

    id: str
    round: int
    call: int
    attempt: int
    operation: str
    safe: bool
    arguments: dict[str, Any]
    pages: int
    description: str
    output_instruction: str
    fingerprint: str
    status: RequestStatus
    note: str
    response: dict[str, Any]
    result: str
    code: str
    provenance: NotRequired[list[Provenance]]
    unsure: NotRequired[int]
    sends: NotRequired[int]


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
    """Without code, provenance and sketches."""
    requests: list[Request] = []
    for request in step["requests"]:
        response = {key: value for key, value in request["response"].items() if key != "sketch"}
        slim: Request = {**request, "code": "", "response": response}
        slim.pop("provenance", None)
        requests.append(slim)
    return {**step, "requests": requests}


def merge_requests(before: list[Request], more: list[Request]) -> list[Request]:
    """Keep the requests of the newest round only, the latest record of each, in the order of their calls."""
    newest = max((request["round"] for request in [*before, *more]), default=0)
    kept = {request["id"]: request for request in [*before, *more] if request["round"] == newest}
    return sorted(kept.values(), key=lambda request: (request["call"], request["attempt"]))
