"""The caller's reply for a whole instruction: a program, functions that it needs to see, a sub-task, or the answer."""

import ast
import keyword
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, Field, model_validator

from restgpt.tools.model.reply import WrittenCall, written_calls
from restgpt.tools.sandbox.code import UNPARSABLE, syntax_tree
from restgpt.tools.text.fence import fence_around

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
