"""A round executes one API plan: selects the next calls, the calls to repair, and decides when it is over."""

from collections.abc import Callable, Sequence
from itertools import takewhile

from restgpt.calling.record import Request, succeeded
from restgpt.nodes.state.records import ApiPlan, FunctionChoice, Program, Step
from restgpt.nodes.state.state import State
from restgpt.specs import Catalogue, Operation
from restgpt.specs.effect import seems_to_read


def of_turn(state: State) -> list[Step]:
    """Return the finished rounds of the current turn."""
    return [step for step in state["steps"] if step["turn"] == state["turn"]]


def is_closed(state: State) -> bool:
    """Return whether the current round is over, so that the state has its step."""
    return bool(state["steps"]) and state["steps"][-1]["round"] == state["round"]


def of_round(state: State) -> list[Request]:
    """Return the requests of the current round."""
    return [request for request in state["requests"] if request["round"] == state["round"]]


def is_asked(choice: FunctionChoice | None) -> bool:
    """Return whether the caller asked for functions that the selector has not looked for yet."""
    return choice is not None and bool(choice["looks"]) and "named" not in choice["looks"][-1]


MAX_REPAIRS = 2
"""How often a request is repaired that the API refused as malformed."""

REPAIRABLE = frozenset({400, 415, 422})
"""Status codes for a malformed request (RFC 9110, section 15.5), which the caller may repair."""


def lineage(request: Request) -> str:
    """Return the part of the id that a request shares with its repairs."""
    return request["id"].rpartition(".")[0]


def latest(requests: Sequence[Request]) -> list[Request]:
    """Return the latest attempt of each request, in the order of the plan."""
    return list({lineage(request): request for request in requests}.values())


def to_repair(requests: Sequence[Request]) -> list[Request]:
    """Return the requests that the API refused as malformed and that have repairs left."""
    return [
        request
        for request in latest(requests)
        if request["status"] == "parsed"
        and request["response"]["status"] in REPAIRABLE
        and request["attempt"] < MAX_REPAIRS
    ]


Reads = Callable[[Operation], bool]


def next_calls(
    catalogue: Catalogue, api_plan: ApiPlan, requests: Sequence[Request], *, reads: Reads = seems_to_read
) -> list[int]:
    """Return the numbers of the planned calls to make now: those with all needs met, either reads or changes.

    Independent reads are sent together; a change is never sent before an earlier call of the plan. `reads` tells
    which operations read, or seem to.
    """
    begun = {request["call"] for request in requests}
    fruitless = {request["call"] for request in latest(requests) if not succeeded(request)}
    waiting = [(number, call) for number, call in enumerate(api_plan["calls"], 1) if number not in begun]
    ready = takewhile(lambda pair: set(pair[1]["needs"]) <= begun - fruitless, waiting)
    batch: list[int] = []
    for number, call in ready:
        is_read = reads(catalogue.operation(call["operation"]))
        if batch and is_read != reads(catalogue.operation(api_plan["calls"][batch[0] - 1]["operation"])):
            break
        batch.append(number)
    return batch


def is_over(
    catalogue: Catalogue, api_plan: ApiPlan, requests: Sequence[Request], *, reads: Reads = seems_to_read
) -> bool:
    """Return whether the round is over: no call to repair, and a call has failed or no call is left."""
    if to_repair(requests):
        return False
    broken = any(request["status"] != "held" and not succeeded(request) for request in latest(requests))
    return broken or not next_calls(catalogue, api_plan, requests, reads=reads)


def step_of(state: State, *, requests: Sequence[Request], result: str, program: Program | None = None) -> Step:
    """Return the record of a finished round, with the program that carried it out.

    Of a program for the whole instruction, what was thought and said is the thought and the code of its writer.
    """
    decision = state["decision"]
    thought, said = decision.get("thought", ""), decision["text"]
    if program is not None and decision["kind"] == "program":
        thought, said = state["api_plan"]["reason"], program["code"]
    step: Step = {
        "turn": state["turn"],
        "task": state["task"],
        "round": state["round"],
        "kind": decision["kind"],
        "plan": state["plan"],
        "thought": thought,
        "said": said,
        "api_plan": state["api_plan"],
        "requests": list(requests),
        "result": result,
    }
    return step if program is None else {**step, "program": program}
