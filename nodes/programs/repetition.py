"""Repetition: finds rounds of a turn that did the same as an earlier round, with the same results.

The prompt tells the planner about the second equal round; the third one ends the turn. A successful change is never a
repetition ("skip two tracks"), and after it the planner may read the same things again.
"""

import json
from collections import Counter
from collections.abc import Sequence

from restgpt.calling.decision import ANSWERED, REJECTED
from restgpt.calling.record import Request, succeeded
from restgpt.nodes.state.records import Step
from restgpt.nodes.state.results import RECEIVED
from restgpt.prompts import render

MOST_EQUAL = 3
"""The number of rounds with the same calls and results that ends a turn."""


def times(steps: Sequence[Step]) -> list[int]:
    """Return for each round of a turn how often its sub-task, calls and results have come up by then, itself included.

    Rounds are compared with those since the last change that succeeded.
    """
    seen: Counter[str] = Counter()
    found = []
    for step in steps:
        if changes(step):
            seen.clear()
            found.append(1)
            continue
        mark = _mark(step)
        seen[mark] += 1
        found.append(seen[mark])
    return found


def repeated(steps: Sequence[Step]) -> str:
    """Return the reason to end the turn if the last round was the same too often; else an empty text."""
    count = times(steps)[-1] if steps else 0
    return f"{count} rounds with the same calls and results" if count >= MOST_EQUAL else ""


def remarks(steps: Sequence[Step]) -> list[str]:
    """Return for each round the remark below its result: what the user said, and that it was the second of its kind."""
    again = (f"\n{render('planner_repeated')}" if count == MOST_EQUAL - 1 else "" for count in times(steps))
    return [f"{_said(step)}{text}" for step, text in zip(steps, again, strict=True)]


def _said(step: Step) -> str:
    """Return what a person said to the questions of a round: words of the user, which are no data."""
    noted = [(item["operation"], item["note"]) for item in step["requests"] if item["status"] == "rejected"]
    told = [pair for pair in noted if pair[1].startswith((REJECTED, ANSWERED)) and pair[1] != REJECTED]
    return "".join(f"\nOf {name}: {note}" for name, note in told)


def changes(step: Step) -> bool:
    """Return whether a round changed something, or would have but for a dry run."""
    return any(map(_is_done, step["requests"]))


def _is_done(request: Request) -> bool:
    return not request["safe"] and (succeeded(request) or request["status"] == "held")


def is_same(text: str, other: str) -> bool:
    """Return whether two texts have the same words."""
    return text.casefold().split() == other.casefold().split()


def _mark(step: Step) -> str:
    """Return a text that is equal for equal rounds."""
    said = " ".join(step["said"].split()).casefold()
    program = step.get("program")
    if program is not None and step["kind"] == "program":
        # Answers that are known already are not requested again, so the requests of two equal runs may differ.
        outcome = RECEIVED.split(step["result"], maxsplit=1)[0]
        return json.dumps([program["code"].strip(), program.get("end"), outcome])
    calls = [_call(request) for request in step["requests"]]
    return json.dumps([said, calls, "" if calls else step["result"]], sort_keys=True)


def _call(request: Request) -> list[object]:
    response = request["response"]
    outcome = [request["status"], response.get("status"), response.get("handle"), request["note"]]
    return [request["operation"], request["arguments"], *outcome]
