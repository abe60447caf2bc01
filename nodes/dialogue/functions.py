"""Functions for a program: which operations its writer sees, chosen by search, and how their signatures are written.

The selector chooses them, for the whole instruction first, then for what the caller asks to see besides; the caller
writes them into its prompt.
"""

import re
from collections.abc import Iterable, Sequence

from restgpt.nodes.dialogue.look import AROUND, opened, parts_in, whole_map
from restgpt.nodes.run.run import Run
from restgpt.nodes.state.records import FunctionChoice, Look
from restgpt.specs import Operation
from restgpt.specs.docs.documentation import TOKEN
from restgpt.specs.docs.interface import interface

MOST_SHOWN = 8
"""The maximum number of functions that one look shows with their signatures."""

MOST_FIRST = 5
"""The number of functions that get their room before the others, because they fit the words of the instruction best."""

MOST_WHOLE = 3
"""The maximum number of functions that one look shows with all that the document says of them."""

LEAST, MOST = 45, 200
"""The fewest tokens for a function, types included, and the most of its signature; with fewer, the best are chosen."""

LINES_PART = 4
"""The part of the budget that lines of further functions may take, if not all are shown with their signatures."""

MORE = (
    "ask for them with `functions`, by what they should do, or by a part of the map of their paths (`/` is all of it)"
)
NOTHING_FITS = f"No function has words of the instruction. This is the map of their paths; {MORE}."

UNSHOWN = "Without their arguments, which `functions` shows if you name them:"
"""The line before functions that are not shown with their signatures."""

_NAME = re.compile(r"[A-Za-z_][\w.-]*", re.ASCII)
_METHOD_AND_PATH = re.compile(r"\b[A-Z]{3,10} /[^\s`]*")


def select(run: Run, instruction: str) -> FunctionChoice:
    """Choose the functions for an instruction: all if their signatures fit the budget, or the best of them."""
    operations = list(run.catalogue)
    room = run.context.functions_budget
    if room // max(1, len(operations)) >= LEAST:
        return selection(run, operations, reason="All functions fit the prompt.")
    best = run.catalogue.best(instruction, room)
    if not best:
        return selection(run, [], reason="No function has words of the instruction: the map of paths is shown.")
    count = room * (LINES_PART - 1) // LINES_PART // MOST
    known = set(map(id, best))
    rest = [*best[count:], *(operation for operation in operations if id(operation) not in known)]
    others = _fitting(run, rest, room * TOKEN // LINES_PART)
    reason = f"The best of {len(operations)} functions for the words of the instruction, others as lines."
    return selection(run, best[:count], others, reason=reason)


def selection(
    run: Run, operations: Iterable[Operation], others: Iterable[Operation] = (), *, reason: str
) -> FunctionChoice:
    """Return the record of a choice."""
    name = run.catalogue.name_of
    return {"operations": [*map(name, operations)], "others": [*map(name, others)], "reason": reason, "looks": []}


def _fitting(run: Run, others: Sequence[Operation], room: int) -> list[Operation]:
    """Return the operations whose lines have room, in `room` characters."""
    fitting: list[Operation] = []
    for operation in others:
        room -= len(_line(run, operation)) + 1
        if room < 0:
            break
        fitting.append(operation)
    return fitting


def _line(run: Run, operation: Operation) -> str:
    return f"- {run.catalogue.line(operation)}"


def functions_text(run: Run, selected: FunctionChoice, instruction: str) -> str:
    """Write the chosen functions for the prompt: signatures, then others as lines; or the map if none was chosen.

    Raises `UnknownOperationError` for an operation that no API has.
    """
    room, everything = run.context.functions_budget, len(run.catalogue)
    operations, others = _operations(run, selected["operations"]), _operations(run, selected["others"])
    if not operations:
        return "\n".join([NOTHING_FITS, run.catalogue.map.open().text(room)])
    if len(operations) == everything:
        return _interface(run, operations, instruction, room)
    text = _interface(run, operations, instruction, room * (LINES_PART - 1) // LINES_PART)
    hidden = everything - len(operations) - len(others)
    more = [f"… and {hidden} more functions; {MORE}."] if hidden > 0 else []
    return "\n".join([text, *([UNSHOWN] if others else []), *(_line(run, item) for item in others), *more])


def _operations(run: Run, names: Iterable[str]) -> list[Operation]:
    return [run.catalogue.operation(name) for name in names]


def look(run: Run, wish: Look) -> Look:
    """Find the functions and the parts of the map that a wish names, else the functions that fit its words.

    A part with few functions stands for these functions.
    """
    named, rest = _named(run, wish["words"])
    found, large = list(named), []
    for name in parts_in(run, rest):
        part = run.catalogue.map.find(name)
        if part is not None and len(part) <= MOST_SHOWN:
            found += part.everything()
        else:
            large.append(name)
    if not (found or large):
        found = run.catalogue.search(wish["words"], MOST_SHOWN)
    name_of, few = run.catalogue.name_of, named[:MOST_WHOLE]
    others = [operation for operation in _distinct(found)[:MOST_SHOWN] if operation not in few]
    return {**wish, "named": [*map(name_of, few)], "operations": [*map(name_of, others)], "parts": large}


def look_text(run: Run, wish: Look, instruction: str) -> str:
    """Write what was found for a wish; the whole map if that is nothing."""
    named, others = _operations(run, wish.get("named", ())), _operations(run, wish.get("operations", ()))
    texts = [_functions(run, named, others, f"{instruction} {wish['words']}")] if named or others else []
    parts = wish.get("parts", ())
    return "\n\n".join([*texts, *([opened(run, parts)] if parts else [])]) or whole_map(run)


def _interface(run: Run, operations: Sequence[Operation], focus: str, budget: int, *, most: int = MOST) -> str:
    """Write functions with their types, below the name of their API if there are several APIs."""
    groups: dict[str, list[Operation]] = {}
    best = run.catalogue.search(focus, MOST_FIRST) if len(operations) > MOST_FIRST else []
    for operation in operations:
        groups.setdefault(operation.api.title or operation.api.name, []).append(operation)
    texts = [
        interface(
            group,
            run.catalogue.function_name,
            budget=budget * len(group) // len(operations),
            most=most,
            focus=focus,
            first=best,
            learned=run.learned(focus),
            reads=run.rules.reads,
        )
        for group in groups.values()
    ]
    if len(run.catalogue.apis) == 1:
        return "\n".join(texts)
    return "\n\n".join(f"# {title}\n{text}" for title, text in zip(groups, texts, strict=True))


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


def _functions(run: Run, few: Sequence[Operation], others: Sequence[Operation], wanted: str) -> str:
    """Write functions; the few that were asked for by name get all the room that they need."""
    budget = run.context.documentation_budget
    texts = [_interface(run, few, wanted, budget, most=budget // len(few))] if few else []
    texts += [_interface(run, others, wanted, budget)] if others else []
    return "\n\n".join(texts)
