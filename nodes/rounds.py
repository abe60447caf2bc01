"""A round is the carrying out of one API plan: which calls come next, which are made again, when it is over."""

from collections.abc import Sequence
from itertools import takewhile

from restgpt.nodes.records import ApiPlan, Decision, Request, Step
from restgpt.specs import Catalogue
from restgpt.tools.response.reply import is_success

MAX_REPAIRS = 2
"""How often a request that the API refused as malformed is made again."""

REPAIRABLE = frozenset({400, 415, 422})
"""Statuses that speak of the request's form (RFC 9110, section 15.5): the caller may correct it."""


def lineage(request: Request) -> str:
    """What a request and its repairs have in common."""
    return request["id"].rpartition(".")[0]


def latest(requests: Sequence[Request]) -> list[Request]:
    """The newest attempt of each request, in the order of the plan."""
    return list({lineage(request): request for request in requests}.values())


def succeeded(request: Request) -> bool:
    """Whether the API carried the request out."""
    return request["status"] in ("sent", "parsed") and is_success(int(request["response"]["status"]))


def to_repair(requests: Sequence[Request]) -> list[Request]:
    """The requests that the API refused as malformed and that may be made again."""
    return [
        request
        for request in latest(requests)
        if request["status"] == "parsed"
        and request["response"]["status"] in REPAIRABLE
        and request["attempt"] < MAX_REPAIRS
    ]


def next_calls(catalogue: Catalogue, api_plan: ApiPlan, requests: Sequence[Request]) -> list[int]:
    """The planned calls to make now, by number: those whose needs are met, cut where safe and changing calls meet.

    Independent safe calls go out together; a change never overtakes a call that stands before it in the plan.
    """
    begun = {request["call"] for request in requests}
    fruitless = {request["call"] for request in latest(requests) if not succeeded(request)}
    waiting = [(number, call) for number, call in enumerate(api_plan["calls"], 1) if number not in begun]
    ready = takewhile(lambda pair: set(pair[1]["needs"]) <= begun - fruitless, waiting)
    batch: list[int] = []
    for number, call in ready:
        safe = catalogue.operation(call["operation"]).is_safe
        if batch and safe != catalogue.operation(api_plan["calls"][batch[0] - 1]["operation"]).is_safe:
            break
        batch.append(number)
    return batch


def is_over(catalogue: Catalogue, api_plan: ApiPlan, requests: Sequence[Request]) -> bool:
    """Whether the planner is to decide: nothing to repair, and nothing left to call or something went wrong."""
    if to_repair(requests):
        return False
    broken = any(request["status"] != "held" and not succeeded(request) for request in latest(requests))
    return broken or not next_calls(catalogue, api_plan, requests)


def step_of(
    *,
    turn: int,
    task: int,
    round_number: int,
    decision: Decision,
    plan: str,
    api_plan: ApiPlan,
    requests: Sequence[Request],
    result: str,
) -> Step:
    """The record of a finished round."""
    return {
        "turn": turn,
        "task": task,
        "round": round_number,
        "kind": decision["kind"],
        "plan": plan,
        "thought": decision.get("thought", ""),
        "said": decision["text"],
        "api_plan": api_plan,
        "requests": list(requests),
        "result": result,
    }
