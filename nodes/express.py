"""Express: the planner's first decision of a turn, with the functions in view, so that it can write a program.

Its report is the answer, so an instruction can take a single model call. Errors and doubts come back to the planner;
after `MAX_PROGRAMS` programs, or with the decision `plan`, the planner goes on with the paper's loop.
"""

import ast
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NotRequired

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, SystemMessage
from pydantic import BaseModel, Field, model_validator
from typing_extensions import TypedDict

from restgpt.nodes.dialogue.answer import doubt
from restgpt.nodes.dialogue.conversation import answered_apis
from restgpt.nodes.dialogue.knowledge import apis_text
from restgpt.nodes.dialogue.look import AROUND, MAX_LOOKS, opened, parts_in, whole_map
from restgpt.nodes.programs.program import MAX_PROGRAMS, written
from restgpt.nodes.programs.repetition import remarks
from restgpt.nodes.run.resources import Run
from restgpt.nodes.state.records import Program, RecipeRun, Request, Step, Usage
from restgpt.nodes.state.results import bounded_results, decision_message
from restgpt.prompts import fenced, render
from restgpt.specs import Operation
from restgpt.specs.docs.documentation import TOKEN
from restgpt.specs.docs.interface import interface
from restgpt.specs.docs.unsaid import unsaid

MOST_SHOWN = 8
"""The maximum number of functions that one look shows with their signatures."""

MOST_WHOLE = 3
"""The maximum number of functions that one look shows with all that their documentation says."""

LEAST, MOST = 45, 200
"""The fewest tokens for a function, types included, and the most of its signature; with fewer, the best are chosen."""

MOST_NAMED = 300
"""The most tokens of the signature of a function that was asked for by name, without what its documentation adds."""

BEYOND = "What their documentation says beyond:"
"""The line before what the signatures of functions leave out."""

LINES_PART = 4
"""The part of the budget that lines of further functions may take, if not all are shown with their signatures."""

MORE = (
    "ask for them with `functions`, by what they should do, or by a part of the map of their paths (`/` is all of it)"
)
NOTHING_FITS = f"No function has words of the instruction. This is the map of their paths; {MORE}."

UNSHOWN = "Without their arguments, which `functions` shows if you name them:"
"""The line before functions that are not shown with their signatures."""

_NAME = re.compile(r"[A-Za-z_][\w.-]*", re.ASCII)
_FENCE = re.compile(r"\A\s*```[a-zA-Z]*\n|\n```\s*\Z")
_FENCED = re.compile(r"^(?:```|~~~)[a-zA-Z]*\n(.*?)\n(?:```|~~~)", re.DOTALL | re.MULTILINE)
_METHOD_AND_PATH = re.compile(r"\b[A-Z]{3,10} /[^\s`]*")


DECISIONS = ("program", "functions", "plan", "end")


class ExpressReply(BaseModel):
    """The planner's first decision: a program, functions that it needs to see, a sub-task, or the answer.

    A program is read in the forms in which small models write it too: as it is or in a fence in place of the JSON,
    under the key `program` or `code`, or without a decision.
    """

    thought: str = Field(default="", description="How the functions give what is asked, in one sentence.")
    decision: Literal["program", "functions", "plan", "end"] = Field(description="What `text` is.")
    text: str = Field(min_length=1, description="The program, names of functions, the first sub-task, or the answer.")
    fulfilled: bool | None = Field(default=None, description="Only with end: whether all asked for was done or found.")

    @model_validator(mode="before")
    @classmethod
    def _read(cls, given: Any) -> Any:
        if isinstance(given, str) and (code := program_in(given)):
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
        if (
            found.get("decision") not in DECISIONS
            and isinstance(found.get("text"), str)
            and (key or program_in(found["text"]))
        ):
            found = {**found, "decision": "program"}
        return found


@dataclass(frozen=True, slots=True)
class Offer:
    """What the planner may choose besides in its first decision: the text about it, and the schema of such a reply."""

    text: str
    schema: type[ExpressReply]
    check: Callable[[ExpressReply], None]


class ExpressState(TypedDict):
    """The state keys that express reads."""

    messages: list[AnyMessage]
    instruction: str
    turn: int
    task: int
    round: int
    plan: str
    steps: list[Step]
    usage: Usage
    baseline: Usage
    program: Program | None
    requests: list[Request]
    recipe: NotRequired[RecipeRun | None]


def program_in(text: str) -> str:
    """Return a text, or its only fenced part, if it is a Python program that calls something and prints; else ""."""
    fenced_in = _FENCED.findall(text)
    code = (fenced_in[0] if len(fenced_in) == 1 else _FENCE.sub("", text)).strip()
    try:
        nodes = list(ast.walk(ast.parse(code)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    called = [node.func.id for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
    return code if set(called) & {"print", "stop"} and len(called) > 1 else ""


def is_open(run: Run, state: ExpressState, steps: Sequence[Step]) -> bool:
    """Return whether the planner may write a program: only programs of its own, and not too many, came before."""
    if not (run.context.express and run.context.execution == "program"):
        return False
    # A program that no other one could correct has the greatest number at once.
    program = state.get("program")
    number = max(len(steps), program["number"] if program and steps else 0)
    return number < MAX_PROGRAMS and all(step["kind"] == "program" for step in steps)


def ask_express(
    run: Run, state: ExpressState, steps: Sequence[Step], turn: HumanMessage, recipes: Offer | None = None
) -> ExpressReply:
    """Ask the planner for its first decision; `turn` is the message with the instruction.

    With `recipes` it may choose one of them.
    """
    prompt = _prompt(run, state, steps, turn, recipes.text if recipes else "")
    schema = recipes.schema if recipes else ExpressReply
    shown: set[str] = set()
    given = [check for check in (recipes.check if recipes else None, doubt(run, state, steps), _new(shown)) if check]
    for look in range(MAX_LOOKS + 1):
        checks = [*given, *([_check] if look == MAX_LOOKS else [])]
        reply = run.models.ask(
            "planner", prompt, schema, check=_all(checks) if checks else None, callbacks=[run.answer]
        )
        if reply.decision != "functions":
            return reply
        shown.add(_words(reply.text))
        functions = _looked(run, reply.text, state["instruction"])
        prompt += [
            AIMessage(reply.model_dump_json()),
            HumanMessage(
                render("express_functions", functions=fenced("document", functions), left=str(MAX_LOOKS - look - 1))
            ),
        ]
    return reply


def _all(checks: Sequence[Callable[[ExpressReply], None]]) -> Callable[[ExpressReply], None]:
    def check(reply: ExpressReply) -> None:
        for one in checks:
            one(reply)

    return check


def _new(shown: set[str]) -> Callable[[ExpressReply], None]:
    """Return a check that shows no functions again that were shown for the same words."""

    def check(reply: ExpressReply) -> None:
        if reply.decision == "functions" and _words(reply.text) in shown:
            raise ValueError("decision: these functions are shown above. Decide with them: program, plan or end.")

    return check


def _words(text: str) -> str:
    return " ".join(text.split()).casefold()


def _check(reply: ExpressReply) -> None:
    if reply.decision == "functions":
        raise ValueError(
            "decision: no more functions can be shown. Decide with those that you see: program, plan or end."
        )


def program_update(run: Run, state: ExpressState, steps: Sequence[Step], reply: ExpressReply) -> dict[str, Any]:
    """Return the update that has the parser run the planner's program."""
    before = state.get("program") if steps else None
    seen = answered_apis(state["steps"], messages=state["messages"])
    number = len(steps) + 1
    program = written(run, reply.text, writer="planner", number=number, is_last=True, before=before, seen=seen)
    return {
        "decision": {"kind": "program", "text": reply.text, "thought": reply.thought, "last": True},
        "plan": state["instruction"],
        "task": state["task"] if steps else state["task"] + 1,
        "round": state["round"] + 1,
        "api_plan": {"calls": [], "reason": reply.thought},
        "program": program,
        "hint": "",
        "usage": run.usage(),
    }


def _prompt(
    run: Run, state: ExpressState, steps: Sequence[Step], turn: HumanMessage, recipes: str
) -> list[BaseMessage]:
    text = render(
        "express",
        apis=apis_text(run),
        program=render("program", report=render("express_report")),
        functions=fenced("document", functions_text(run, state["instruction"])),
    )
    prompt: list[BaseMessage] = [SystemMessage(f"{text}\n\n{recipes}" if recipes else text), turn]
    for step, result, remark in zip(steps, bounded_results(steps), remarks(steps), strict=True):
        shown = f"{fenced('result', result)}{remark}"
        prompt += [decision_message(step), HumanMessage(render("express_again", result=shown))]
    return prompt


def functions_text(run: Run, instruction: str) -> str:
    """Write the functions for the prompt: all with their signatures, or the best of them, and others as lines."""
    operations = list(run.catalogue)
    room = run.context.functions_budget
    if room // max(1, len(operations)) >= LEAST:
        return _interface(run, operations, instruction, room)
    chosen = run.catalogue.best(instruction, room)
    if not chosen:
        return "\n".join([NOTHING_FITS, run.catalogue.map.open().text(room)])
    count = room * (LINES_PART - 1) // LINES_PART // MOST
    text = _interface(run, chosen[:count], instruction, room * (LINES_PART - 1) // LINES_PART)
    known = set(map(id, chosen))
    others = [*chosen[count:], *(operation for operation in operations if id(operation) not in known)]
    return "\n".join([text, *_rest(run, others, room * TOKEN // LINES_PART)])


def _interface(run: Run, operations: Sequence[Operation], focus: str, budget: int, *, most: int = MOST) -> str:
    """Write functions with their types, below the name of their API if there are several APIs."""
    groups: dict[str, list[Operation]] = {}
    for operation in operations:
        groups.setdefault(operation.api.title or operation.api.name, []).append(operation)
    texts = [
        interface(
            group,
            run.catalogue.function_name,
            budget=budget * len(group) // len(operations),
            most=most,
            focus=focus,
            learned=run.learned(focus),
            reads=run.rules.reads,
        )
        for group in groups.values()
    ]
    if len(run.catalogue.apis) == 1:
        return "\n".join(texts)
    return "\n\n".join(f"# {title}\n{text}" for title, text in zip(groups, texts, strict=True))


def _rest(run: Run, others: Sequence[Operation], room: int) -> list[str]:
    """Return lines of the functions that are not shown with their signatures, and how many there are besides."""
    lines: list[str] = []
    for operation in others:
        line = f"- {run.catalogue.line(operation)}"
        room -= len(line) + 1
        if room < 0:
            break
        lines.append(line)
    hidden = len(others) - len(lines)
    more = [f"… and {hidden} more functions; {MORE}."] if hidden > 0 else []
    return [UNSHOWN, *lines, *more] if lines else more


def _looked(run: Run, text: str, instruction: str) -> str:
    """Return the functions and parts of the map that the text names, else the functions that fit its words.

    A part with few functions is shown as these functions. If nothing fits, the whole map is shown.
    """
    named, rest = _named(run, text)
    found, large = list(named), []
    for name in parts_in(run, rest):
        part = run.catalogue.map.find(name)
        if part is not None and len(part) <= MOST_SHOWN:
            found += part.everything()
        else:
            large.append(name)
    if not (found or large):
        found = run.catalogue.search(text, MOST_SHOWN)
    texts = [_functions(run, found, named, f"{instruction} {text}")] if found else []
    return "\n\n".join([*texts, *([opened(run, large)] if large else [])]) or whole_map(run)


def _named(run: Run, text: str) -> tuple[list[Operation], str]:
    """Return the operations that a text names, as functions, as in lists or by method and path, and the other words."""
    functions, lookup = run.catalogue.functions, run.catalogue.lookup
    known: list[Operation | None] = []
    for pair in _METHOD_AND_PATH.findall(text):
        operation = lookup(pair) or lookup(pair.rstrip(AROUND))
        if operation is not None:
            known.append(operation)
            text = text.replace(pair, " ")
    plain = " ".join(word for word in text.split() if "/" not in word)
    names = (name.rstrip(".-") for name in _NAME.findall(plain))
    known += [functions.get(name) or lookup(name) for name in names]
    return _distinct(operation for operation in known if operation is not None), text


def _distinct(operations: Iterable[Operation]) -> list[Operation]:
    return list({id(operation): operation for operation in operations}.values())


def _functions(run: Run, found: Sequence[Operation], named: Sequence[Operation], wanted: str) -> str:
    """Write the signatures of functions; of the few that were asked for by name, also what these leave out."""
    budget = run.context.documentation_budget
    few = list(named[:MOST_WHOLE])
    others = [operation for operation in _distinct(found)[:MOST_SHOWN] if operation not in few]
    texts = [_interface(run, few, wanted, budget, most=MOST_NAMED)] if few else []
    texts += [_interface(run, others, wanted, budget)] if others else []
    each = budget if len(few) == 1 else budget * 2 // 3
    rest = {run.catalogue.function_name(item): unsaid(item, texts[0], budget=each, focus=wanted) for item in few}
    more = [f"{name}:\n{text}" for name, text in rest.items() if text]
    return "\n\n".join([*texts, *([BEYOND, *more] if more else [])])
