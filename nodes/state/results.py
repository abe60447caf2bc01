"""A round executes one API plan: selects the next calls, the calls to repair, and decides when it is over.

The results of earlier rounds as text for a prompt: r_1 … r_t-1 of the paper's equations (1) and (2).
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import takewhile
from typing import Any

from langchain_core.messages import AIMessage

from restgpt.calling.execution import FIRST_PAGE
from restgpt.calling.record import Request, succeeded
from restgpt.nodes.state.records import ApiPlan, FunctionChoice, Program, Step
from restgpt.nodes.state.state import State
from restgpt.prompts import fenced
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


BACKGROUND_BUDGET = 12_000
"""The maximum number of characters of background in a prompt; the newest are kept."""

SHAPES_HEAD, READS_HEAD = "Shapes of the responses, with values of their first items:", "Read: "
"""The beginnings of the lines about received answers in a result, below the output of the program."""

RECEIVED = re.compile(rf"\n(?:Shapes of the responses|{READS_HEAD})")
"""The beginning of the part of a result that tells about received answers."""

NOTHING_YET = "(nothing yet)"

RESULT_BUDGET = 16_000
"""The maximum number of characters of one result in a prompt."""

RESULTS_BUDGET = 64_000
"""The maximum number of characters of all results in a prompt; the oldest are shortened first."""

OLD_RESULT = 600
"""The number of characters that such a shortened result keeps."""

ARGUMENTS_BUDGET = 600
"""The maximum number of characters of a request's arguments in a result."""


FEW = 20
"""The largest page size that shows that not the whole list was wanted."""

_LETTERS = re.compile(r"[^a-z]")
_SEARCHED = frozenset(
    {"q", "query", "search", "searchtext", "searchterm", "searchquery", "term", "keyword", "keywords"}
)
_SIZES = frozenset({"limit", "perpage", "pagesize", "maxresults", "top", "size", "rows", "take"})
_WHOLE = re.compile(r"\b(all|every|each|count\w*|how many|totals?|number of|whole|entire|complete)\b", re.IGNORECASE)
_FIRST = re.compile(r"\bfirst\b", re.IGNORECASE)
_QUOTED = re.compile(r"(?<!\w)['\"‘“]([^'\"‘’“”]{2,80})['\"’”](?!\w)")


def result_of(requests: Sequence[Request], remark: str = "", *, numbered: bool = False) -> str:
    """Return the result r_t of a round, without a model: each call with its status and the extracted text.

    `numbered` starts each line with the number of the call in the API plan.
    """
    lines = [f"{request['call']}. {_line(request)}" if numbered else _line(request) for request in requests]
    if remark:
        lines.append(remark)
    return "\n".join(lines)


def _line(request: Request) -> str:
    arguments = json.dumps(request["arguments"], ensure_ascii=False)
    if len(arguments) > ARGUMENTS_BUDGET:
        arguments = arguments[:ARGUMENTS_BUDGET] + "…"
    return f"Called {request['operation']} {arguments}: {_outcome(request)}"


def _outcome(request: Request) -> str:
    status = request["status"]
    if status in ("sent", "parsed"):
        notices = " ".join(f"({notice})" for notice in notices_of(request))
        return f"status {request['response'].get('status')}. {request['result']} {notices}".rstrip()
    if status == "held":
        return f"not sent, because this is a dry run. It would be: {request['note']}"
    if status == "rejected":
        return f"not sent. {request['note']}"
    if status == "failed":
        return f"no response. {request['note']}"
    return "not sent"


def notices_of(request: Request) -> list[str]:
    """Return the notices of a request; that a list goes on is left out if its first page was all that was wanted."""
    notices = list(request["response"].get("notices", ()))
    return [notice for notice in notices if notice != FIRST_PAGE] if _wants_few(request) else notices


def wants_whole(text: str) -> bool:
    """Return whether a text asks about all items of a list, or their number."""
    return _WHOLE.search(text) is not None


def is_first_page(request: Request) -> bool:
    """Return whether the answer is the first page of a list that goes on, of no search and no small page."""
    is_unread = request["pages"] == 1 and request["response"].get("rest") == "unread"
    return is_unread and not _is_narrow(request["arguments"].get("query"))


def _wants_few(request: Request) -> bool:
    """Return whether the first items were wanted, or the best matches of a search, or an item that was found."""
    wanted = request["output_instruction"]
    if request["pages"] != 1 or wants_whole(wanted):
        return False
    if _is_narrow(request["arguments"].get("query")) or _FIRST.search(wanted):
        return True
    named = _QUOTED.findall(wanted)
    return bool(named) and all(name.casefold() in request["result"].casefold() for name in named)


def _is_narrow(query: Any) -> bool:
    """Return whether arguments search by words or ask for a small page."""
    for name, value in query.items() if isinstance(query, Mapping) else ():
        plain = _LETTERS.sub("", str(name).lower())
        if plain in _SEARCHED or (plain in _SIZES and str(value).isdecimal() and int(value) <= FEW):
            return True
    return False


def results_of(steps: Iterable[Step]) -> str:
    """Join the results of rounds, oldest first, without fences."""
    return "\n".join(step["result"] for step in steps if step["result"])


def told_results(steps: Iterable[Step]) -> str:
    """Return what was done and found for a person, who reads neither code nor JSON: a line for each call or report."""
    lines = []
    for step in steps:
        if step.get("program", {}).get("end") in ("report", "stopped", "budget") or not (
            step["requests"] or "program" in step
        ):
            lines.append(in_words(RECEIVED.split(step["result"], maxsplit=1)[0]))
        reads = "program" not in step
        lines += [_told(request) for request in step["requests"] if reads or not request["safe"]]
    return "\n".join(dict.fromkeys(f"- {line}" for line in lines if line))


def _told(request: Request) -> str:
    """Return the outcome of a request in words: what was found, what a change did, or why there is nothing."""
    values = [part for place in request["arguments"].values() for part in _pairs(place)]
    call = request["operation"] + (f" ({', '.join(values)})" if values else "")
    if not succeeded(request):
        return f"{call}: {_outcome(request)}" if request["status"] != "parsed" else f"{call}: refused by the API"
    found = in_words(request["result"])
    return f"{call}: {found}" if found and request["safe"] else f"{call}: done"


def in_words(text: str) -> str:
    """Return a text without the marks of JSON, if it is an object or a list, or has such lines."""
    try:
        value = json.loads(text)
    except ValueError:
        lines = text.split("\n")
        return "\n".join(map(in_words, lines)) if len(lines) > 1 else text
    return "; ".join(", ".join(_pairs(item)) for item in (value if isinstance(value, list) else [value]))


def _pairs(value: Any) -> list[str]:
    if not isinstance(value, dict):
        return [str(value)]
    return [f"{name} {in_words(json.dumps(part, ensure_ascii=False))}" for name, part in value.items()]


def shortened(text: str, limit: int) -> str:
    """Return the first `limit` characters of a text, with a remark if it is longer."""
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text) - limit} more characters left out)"


def bounded_results(steps: Sequence[Step]) -> list[str]:
    """Return the results of rounds, each cut to `RESULT_BUDGET`, the oldest further until all fit `RESULTS_BUDGET`."""
    results = [shortened(step["result"], RESULT_BUDGET) for step in steps]
    for number, result in enumerate(results):
        if sum(map(len, results)) <= RESULTS_BUDGET:
            break
        results[number] = shortened(result, OLD_RESULT)
    return results


def decision_message(step: Step) -> AIMessage:
    """Return the planner's decision that began a round, as an assistant message of the model."""
    said = {"thought": step.get("thought", ""), "decision": step["kind"], "text": step["said"]}
    return AIMessage(json.dumps(said, ensure_ascii=False))


def background(steps: Sequence[Step], *, before_task: int, turn: int) -> str:
    """Return the results of all rounds of the thread before the current sub-task, fenced as data and bounded."""
    earlier = [step for step in steps if step["turn"] < turn or step["task"] < before_task]
    text = results_of(earlier)
    if not text:
        return NOTHING_YET
    if len(text) > BACKGROUND_BUDGET:
        text = "(older results left out)\n" + text[-BACKGROUND_BUDGET:]
    return fenced("result", text)


def attempts(steps: Sequence[Step], *, task: int, turn: int) -> list[Step]:
    """Return the earlier rounds of the current sub-task."""
    return [step for step in steps if step["turn"] == turn and step["task"] == task]
