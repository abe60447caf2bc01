"""Operations in words: a ranked list for a query, and the documentation of a few with their functions and examples."""

import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from restgpt.prompts import fenced
from restgpt.specs import Api, Catalogue, Operation
from restgpt.specs.docs.documentation import TOKEN, documentation
from restgpt.specs.docs.example import NoExample, minimal_arguments
from restgpt.specs.docs.interface import UNKNOWN, Learned, interface
from restgpt.specs.effect import Effect, effect_of
from restgpt.specs.reading.coercion import marks

FOUND, MOST_FOUND = 10, 50
"""How many operations a list has, and how many it can have."""

LINE = 200
"""The most characters of one line of the list."""

FOUND_BUDGET = 1_300
"""The tokens of a list, of functions and lines."""

FUNCTIONS, FUNCTION = 850, 220
"""The tokens for the functions of the best operations, and for each of them."""

MOST_FUNCTIONS = 6
"""How many operations are shown as functions."""

DESCRIBED_BUDGET, MOST_DESCRIBED = 1_800, 8
"""The tokens of a description, and how many operations one can have."""

SIGNATURE_SHARE = 0.3
"""The part of the tokens of an operation for its function."""

EXAMPLE = 400
"""The most characters of an example; a longer one is left out."""


Effects = Callable[[Operation], Effect]
"""The effect of an operation: by its document, or by the rules of the user (`Rules.effect`)."""


def found_text(catalogue: Catalogue, query: str, limit: int = FOUND, *, learned: Learned = UNKNOWN) -> str:
    """Return the operations that fit a query best, fenced as data; for a path, that part of the map.

    The best ones are typed functions, the others have a line each. The text says how many operations there are and how
    to narrow the search, in at most `FOUND_BUDGET` tokens.
    """
    limit = min(max(1, limit), MOST_FOUND)
    count = f"{len(catalogue):,} operation{'' if len(catalogue) == 1 else 's'}"
    part = catalogue.map.find(query.strip()) if query.strip().startswith("/") else None
    if part is not None:
        shown = fenced("document", part.text(FOUND_BUDGET - 100))
        return f"There are {count}, {len(part):,} of them below this path.\n{shown}"
    found = catalogue.search(query, limit)
    if not found:
        paths = catalogue.map.open().text(FOUND_BUDGET - 100)
        return f"None of the {count} has words of the query. These are their paths:\n{fenced('document', paths)}"
    fits, functions = _functions(catalogue, found[:MOST_FUNCTIONS], learned)
    lines: list[str] = []
    room = (FOUND_BUDGET - 120) * TOKEN - len(functions)
    for operation in found[fits:]:
        line = _line(catalogue, operation)
        room -= len(line) + 1
        if room < 0:
            break
        lines.append(line)
    fitting = fits + len(lines)
    rest = len(catalogue) - fitting
    head = f"There are {count}. These fit best:" if rest else f"There are {count}:"
    text = "\n".join([functions, *(["", "Others that fit:", *lines] if lines else [])])
    more = "\nFor others, name the resource and what to do with it, or give a part of a path, such as /users."
    return f"{head}\n{fenced('document', text)}{more if rest else ''}"


def _functions(catalogue: Catalogue, operations: Sequence[Operation], learned: Learned) -> tuple[int, str]:
    """Return how many of the operations fit in `FUNCTIONS` tokens as functions, and these; one is cut if need be."""
    write = partial(interface, name_of=catalogue.function_name, budget=FUNCTIONS, most=FUNCTION, learned=learned)
    text = "\n".join(
        f"{_label(catalogue, api)}{write(own)}"
        for api in catalogue.apis
        if (own := [operation for operation in operations if operation.api is api])
    )
    if len(text) > FUNCTIONS * TOKEN and len(operations) > 1:
        fitting = len(operations) * FUNCTIONS * TOKEN // len(text)
        return _functions(catalogue, operations[: max(1, fitting)], learned)
    return len(operations), text[: FUNCTIONS * TOKEN]


def _label(catalogue: Catalogue, api: Api) -> str:
    """Return the line above the functions of an API, if there are several APIs."""
    return f"[{api.name}]\n" if len(catalogue.apis) > 1 else ""


def _line(catalogue: Catalogue, operation: Operation) -> str:
    """Return the line of an operation, with its API if there are several."""
    label = f"[{operation.api.name}] " if len(catalogue.apis) > 1 else ""
    line = f"{label}{catalogue.line(operation)}"
    return line if len(line) <= LINE else f"{line[: LINE - 1]}…"


def described_text(
    catalogue: Catalogue,
    names: Sequence[str],
    *,
    budget: int = DESCRIBED_BUDGET,
    effects: Effects = effect_of,
    learned: Learned = UNKNOWN,
) -> str:
    """Return the documentation of up to `MOST_DESCRIBED` operations in `budget` tokens, fenced as data.

    Raises `UnknownOperationError` with near names.
    """
    operations = [catalogue.operation(name) for name in dict.fromkeys(names)]
    shown = operations[:MOST_DESCRIBED]
    text = fenced("document", description(catalogue, shown, budget=budget - 40, effects=effects, learned=learned))
    left = len(operations) - len(shown)
    return f"{text}\n{left} more were asked for; ask for at most {MOST_DESCRIBED} at once." if left else text


def description(
    catalogue: Catalogue,
    operations: Sequence[Operation],
    *,
    budget: int = DESCRIBED_BUDGET,
    effects: Effects = effect_of,
    learned: Learned = UNKNOWN,
) -> str:
    """Describe operations in `budget` tokens: effect, function in a program, example and places of the arguments."""
    each = max(1, budget // max(1, len(operations)))
    return "\n\n".join(_described(catalogue, operation, each, effects(operation), learned) for operation in operations)


def _described(catalogue: Catalogue, operation: Operation, budget: int, effect: Effect, learned: Learned) -> str:
    name, function = catalogue.name_of(operation), catalogue.function_name(operation)
    room = int(budget * SIGNATURE_SHARE)
    signature = interface(
        [operation], lambda _: function, budget=room, most=room, reads=lambda _: effect.kind == "read", learned=learned
    )
    lines = [f"# {name}  ({_told(effect)})", f"In a program: {signature}"]
    if example := _example(operation):
        lines.append(f"Smallest arguments: {example}")
    text = "\n".join(lines)
    left = budget - len(text) // TOKEN - 2
    whole = f"{text}\n{documentation(operation, budget=left)}" if left > 0 else text
    return whole[: budget * TOKEN]


def _told(effect: Effect) -> str:
    if effect.is_read:
        return "reads"
    return (
        "seems to read; a person is asked first" if effect.is_proposed else "changes something; a person is asked first"
    )


@marks
def _example(operation: Operation) -> str:
    """Return minimal arguments, grouped by place, as JSON; empty if there are none, or only long ones."""
    try:
        arguments: dict[str, Any] = minimal_arguments(operation)
    except NoExample:
        return ""
    text = json.dumps(arguments, ensure_ascii=False, default=str)
    return text if len(text) <= EXAMPLE else ""
