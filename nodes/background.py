"""What earlier rounds found, as text for a prompt: r_1 … r_t-1 of the paper's equations (1) and (2)."""

import json
from collections.abc import Iterable, Sequence

from restgpt.nodes.records import Request, Step
from restgpt.prompts import fenced

BACKGROUND_BUDGET = 12_000
"""How many characters of background a prompt holds, the newest."""

NOTHING_YET = "(nothing yet)"

RESULT_BUDGET = 16_000
"""How many characters of one result a prompt holds."""

RESULTS_BUDGET = 64_000
"""How many characters of results a conversation holds; the oldest are shortened first."""

OLD_RESULT = 600
"""What is left of a result that is shortened for that."""

ARGUMENTS_BUDGET = 600
"""How many characters of a request's arguments a result repeats."""


def result_of(requests: Sequence[Request], remark: str = "", *, numbered: bool = False) -> str:
    """The result r_t of a round, assembled without a model: what was called, the status, what was extracted.

    `numbered` puts the call's number in the API plan before each line.
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
        notices = " ".join(f"({notice})" for notice in request["response"].get("notices", ()))
        return f"status {request['response'].get('status')}. {request['result']} {notices}".rstrip()
    if status == "held":
        return f"not sent, because this is a dry run. It would be: {request['note']}"
    if status == "rejected":
        return f"not sent. {request['note']}"
    if status == "failed":
        return f"no answer. {request['note']}"
    return "not sent"


def results_of(steps: Iterable[Step]) -> str:
    """The results of some rounds, oldest first, without marks."""
    return "\n".join(step["result"] for step in steps if step["result"])


def shortened(text: str, limit: int) -> str:
    """A text as far as `limit` goes, with a remark if that is not all of it."""
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text) - limit} more characters left out)"


def bounded_results(steps: Sequence[Step]) -> list[str]:
    """The results of some rounds, each bounded, and together too: the newest stay whole."""
    results = [shortened(step["result"], RESULT_BUDGET) for step in steps]
    for number, result in enumerate(results):
        if sum(map(len, results)) <= RESULTS_BUDGET:
            break
        results[number] = shortened(result, OLD_RESULT)
    return results


def background(steps: Sequence[Step], *, before_task: int, turn: int) -> str:
    """The results of all rounds of the thread before the current sub-task, marked as data and bounded."""
    earlier = [step for step in steps if step["turn"] < turn or step["task"] < before_task]
    text = results_of(earlier)
    if not text:
        return NOTHING_YET
    if len(text) > BACKGROUND_BUDGET:
        text = "(older results left out)\n" + text[-BACKGROUND_BUDGET:]
    return fenced("result", text)


def attempts(steps: Sequence[Step], *, task: int, turn: int) -> list[Step]:
    """The rounds that worked on the current sub-task already."""
    return [step for step in steps if step["turn"] == turn and step["task"] == task]
