"""The caller's reply for a whole instruction: a program, functions that it needs to see, a sub-task, or the answer.

Repetition: finds rounds of a turn that did the same as an earlier round, with the same results.

The prompt tells the planner about the second equal round; the third one ends the turn. A successful change is never a
repetition ("skip two tracks"), and after it the planner may read the same things again.
"""

import ast
import json
import keyword
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, Field, model_validator

from restgpt.calling.decision import ANSWERED, REJECTED
from restgpt.calling.record import Request, succeeded
from restgpt.nodes.state.records import Step
from restgpt.nodes.state.results import RECEIVED
from restgpt.prompts import render
from restgpt.tools.model.reply import WrittenCall, written_calls
from restgpt.tools.sandbox.code import UNPARSABLE, syntax_tree
from restgpt.tools.text.quotation import fence_around

_PYTHON = frozenset({"python", "python3", "py"})
"""The languages of a fence that holds a program."""

DECISIONS = ("program", "functions", "plan", "end")


class ProgramReply(BaseModel):
    """The caller's reply: a program, functions that it needs to see, a sub-task, or the answer."""

    # A model reads the docstring. A program is read in the forms in which small models write it too: as it is or in a
    # fence in place of the JSON, under the key `program` or `code`, without a decision, or as tool calls.

    thought: str = Field(default="", description="How the functions give what is asked, in one sentence.")
    decision: Literal["program", "functions", "plan", "end"] = Field(description="What `text` is.")
    text: str = Field(min_length=1, description="The program, names of functions, the first sub-task, or the answer.")
    fulfilled: bool | None = Field(default=None, description="Only with end: whether all asked for was done or found.")

    @model_validator(mode="before")
    @classmethod
    def _read(cls, given: Any) -> Any:
        if code := _code(given):
            return {"decision": "program", "text": code}
        if not isinstance(given, dict):
            return given
        given = {str(name).lower(): value for name, value in given.items() if value is not None}
        if isinstance(given.get("decision"), str):
            given["decision"] = given["decision"].strip().lower()
        lines = given.get("text")
        if isinstance(lines, list) and all(isinstance(line, str) for line in lines):
            given["text"] = "\n".join(lines)
        key = next((name for name in ("program", "code", "python") if isinstance(given.get(name), str)), None)
        found = {**given, "text": given[key]} if key and not given.get("text") else given
        decision, text = found.get("decision"), found.get("text")
        if decision == "program" or decision not in DECISIONS:
            if code := _code(text):
                return {**found, "decision": "program", "text": code}
            if decision not in DECISIONS and key:
                return {**found, "decision": "program"}
        return found


@dataclass(frozen=True, slots=True)
class Alternatives:
    """What the caller may choose besides in its first reply: the text about it, and the schema of such a reply."""

    text: str
    schema: type[ProgramReply]
    check: Callable[[ProgramReply], None] | None = None


def program_in(text: Any) -> str:
    """Return the program that a text consists of, alone or in a fence; else "".

    Without the language of a fence it has to call something. A dict is a reply, and no program.
    """
    if not isinstance(text, str):
        return ""
    fence = fence_around(text)
    code = text if fence is None else fence.text
    is_python = fence is not None and fence.language in _PYTHON
    try:
        nodes = list(ast.walk(syntax_tree(code)))
    except UNPARSABLE:
        return code if is_python and not code.lstrip().startswith("{") else ""
    if len(nodes) > 2 and isinstance(nodes[1], ast.Expr) and isinstance(nodes[1].value, ast.Dict):
        return ""
    called = {node.func.id for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    return code if is_python or called - {"print"} else ""


def _code(reply: Any) -> str:
    """Return the program that a reply is, or that of the calls that it is written as; else ""."""
    return program_in(reply) or program_of(written_calls(reply))


def program_of(calls: Sequence[WrittenCall]) -> str:
    """Return the program that makes some calls and prints their answers; empty without a call that Python can make."""
    if not all(call.name.isidentifier() for call in calls):
        return ""
    written = [f"{call.name}({_keywords(call.arguments)})" for call in calls]
    return written[0] if len(written) == 1 else "\n".join(f"print({call})" for call in written)


def _keywords(arguments: dict[str, Any]) -> str:
    if not all(name.isidentifier() and not keyword.iskeyword(name) for name in arguments):
        return f"**{arguments!r}"
    return ", ".join(f"{name}={value!r}" for name, value in arguments.items())


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
