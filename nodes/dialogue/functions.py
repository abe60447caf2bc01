"""Functions for a program: which operations its writer sees, chosen by search, and how their signatures are written.

The selector chooses them, for the whole instruction first, then for what the caller asks to see besides; the caller
writes them into its prompt.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from difflib import get_close_matches

from restgpt.nodes.dialogue.knowledge import AROUND, more_rules, opened, parts_in, whole_map
from restgpt.nodes.run.run import Run
from restgpt.nodes.state.records import FunctionChoice, Look
from restgpt.specs import Operation
from restgpt.specs.docs.documentation import TOKEN
from restgpt.specs.docs.interface import interface
from restgpt.specs.docs.map import function_line
from restgpt.specs.search.query import read_query, stems, synonyms

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

ALL_SHOWN = "All functions that fit are shown above."
"""The line of a look that finds only functions which were shown before."""

UNSHOWN = "With the names of their arguments only; name those to `functions` whose types or rules you must see:"
"""The line before functions that are not shown with their signatures."""

NEAREST = 3
"""How many functions are named for a wish that none fits."""

_NAME = re.compile(r"[A-Za-z_][\w.-]*", re.ASCII)
_ASIDE = re.compile(r"\([^()]*\)")
_BETWEEN = re.compile(r"[;,\n]|\band\b")
_METHOD_AND_PATH = re.compile(r"\b[A-Z]{3,10} /[^\s`]*")


def select(run: Run, instruction: str) -> FunctionChoice:
    """Choose the functions for an instruction: all if their signatures fit the budget, or the best of them."""
    operations = _all_offered(run)
    room = run.context.functions_budget
    if room // max(1, len(operations)) >= LEAST:
        return selection(run, operations, reason="All functions fit the prompt.")
    best = _offered(run, run.catalogue.best(instruction, room))
    if not best:
        return selection(run, [], reason="No function has words of the instruction: the map of paths is shown.")
    count = room * (LINES_PART - 1) // LINES_PART // MOST
    known = set(map(id, best))
    rest = [*best[count:], *(operation for operation in operations if id(operation) not in known)]
    others = _fitting(run, rest, room * TOKEN // LINES_PART)
    reason = f"The best of {len(operations)} functions for the words of the instruction, others as lines."
    return selection(run, best[:count], others, reason=reason)


def _is_denied(run: Run, operation: Operation) -> bool:
    """Return whether a rule denies an operation, so that a program would be refused there."""
    return run.rules.verdict(operation) == "deny"


def _offered(run: Run, operations: Iterable[Operation]) -> list[Operation]:
    """Return the operations that no rule denies."""
    return [operation for operation in operations if not _is_denied(run, operation)]


def _all_offered(run: Run) -> list[Operation]:
    """Return all operations; of an API whose functions may all fit the prompt, those that no rule denies."""
    operations = list(run.catalogue)
    return _offered(run, operations) if run.context.functions_budget // max(1, len(operations)) >= LEAST else operations


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
        if _is_denied(run, operation):
            continue
        room -= len(_line(run, operation)) + 1
        if room < 0:
            break
        fitting.append(operation)
    return fitting


def _line(run: Run, operation: Operation) -> str:
    return f"- {function_line(operation, run.catalogue.function_name(operation))}"


def functions_text(run: Run, selected: FunctionChoice, instruction: str) -> str:
    """Write the chosen functions for the prompt: signatures, then others as lines; or the map if none was chosen.

    Raises `UnknownOperationError` for an operation that no API has.
    """
    room, everything = run.context.functions_budget, len(_all_offered(run))
    operations, others = _operations(run, selected["operations"]), _operations(run, selected["others"])
    if not operations:
        return "\n".join([NOTHING_FITS, run.catalogue.map.open().text(room)])
    if len(operations) == everything:
        text = _interface(run, operations, instruction, room)
        gone = len(run.catalogue) - everything
        return f"{text}\n{gone} more functions are denied by rules of the user." if gone else text
    text = _interface(run, operations, instruction, room * (LINES_PART - 1) // LINES_PART)
    hidden = everything - len(operations) - len(others)
    more = [f"… and {hidden} more functions; {MORE}."] if hidden > 0 else []
    return "\n".join([text, *([UNSHOWN] if others else []), *(_line(run, item) for item in others), *more])


def _operations(run: Run, names: Iterable[str]) -> list[Operation]:
    return [run.catalogue.operation(name) for name in names]


def look(run: Run, choice: FunctionChoice, instruction: str) -> Look:
    """Find the functions and the parts of the map that the last wish names, and functions for each of its other wishes.

    A part with few functions stands for these functions. A function that was shown with its signature is found again
    only if the wish names it and more can be said of it.
    """
    wish, earlier = choice["looks"][-1], choice["looks"][:-1]
    whole = {name for one in earlier for name in one.get("named", ())}
    shown = whole.union(choice["operations"], *(one.get("operations", ()) for one in earlier))
    name_of, wanted = run.catalogue.name_of, _focus(wish, instruction)
    names, rest = _named(run, wish["words"])
    named = [
        operation
        for operation in names
        if name_of(operation) not in shown
        or (name_of(operation) not in whole and _says_more(run, operation, wanted, len(choice["operations"])))
    ]
    found, large = list(names), []
    for name in parts_in(run, rest):
        part = run.catalogue.map.find(name)
        if part is not None and len(part) <= MOST_SHOWN:
            found += part.everything()
        else:
            large.append(name)
    wishes = _wishes(run, wish["words"])
    each = max(2, MOST_SHOWN // max(1, len(wishes)))
    for words in wishes:
        fitting = _offered(run, run.catalogue.search(words, MOST_SHOWN + len(shown)))
        found += [operation for operation in fitting if name_of(operation) not in shown][:each]
    few = [*map(name_of, named[:MOST_WHOLE])]
    others = [name for name in map(name_of, _distinct(found)) if name not in shown and name not in few]
    return {**wish, "named": few, "operations": others[:MOST_SHOWN], "parts": large}


def _wishes(run: Run, text: str) -> list[str]:
    """Return the single wishes of a text that say in words what functions should do."""
    told = _ASIDE.sub(" ", text)
    wishes = [wish for part in _BETWEEN.split(told) if _objects(wish := part.strip(" \t.:*-"))]
    wishes = wishes if len(wishes) > 1 else [told]
    return [wish for wish in wishes if not (_named(run, wish)[0] or parts_in(run, wish))]


def _objects(wish: str) -> frozenset[str]:
    """Return the stems of a wish, and of their synonyms, that are no verbs, names or values."""
    found = [stem for stem, weight in read_query(wish).weights.items() if weight >= 1.0]
    return frozenset(found).union(*(synonyms().get(stem, ()) for stem in found))


def _unanswered(run: Run, wishes: Sequence[str], shown: Collection[str]) -> Iterator[str]:
    """Yield a sentence for each wish that no function fits, and for each of several whose function stands above."""
    for wish in wishes:
        near, objects = _offered(run, run.catalogue.search(wish, NEAREST)), _objects(wish)
        said = [stems(f"{one.name} {one.path} {one.summary}") for one in near]
        alike = get_close_matches("_".join(wish.split()), run.catalogue.functions, NEAREST)
        names = ", ".join(map(run.catalogue.function_name, near or _operations(run, alike)))
        if objects and objects.isdisjoint(stem for own in said for stem in own):
            yield f"Nothing fits `{wish}`{f'; nearest: {names}' if names else ''}."
        elif len(wishes) > 1 and near and run.catalogue.name_of(near[0]) in shown:
            yield f"`{wish}`: {run.catalogue.function_name(near[0])} is shown above."


def look_text(run: Run, choice: FunctionChoice, number: int, about: str) -> str:
    """Write the functions, the parts of the map and the rules for a wish of a choice, counted from 0.

    If that is nothing, write the whole map, or that all functions are shown. The prompt is `about` these words.
    """
    wish, everything = choice["looks"][number], len(_all_offered(run))
    named, others = _operations(run, wish.get("named", ())), _operations(run, wish.get("operations", ()))
    denied, named = [one for one in named if _is_denied(run, one)], _offered(run, named)
    texts = [_functions(run, named, others, _focus(wish, about))] if named or others else []
    parts = wish.get("parts", ())
    texts += [opened(run, parts)] if parts else []
    texts += [
        f"A rule of the user denies {run.catalogue.function_name(one)}. {run.rules.reason(one)}" for one in denied
    ]
    rules = more_rules(run, about, [one["words"] for one in choice["looks"][: number + 1]])
    earlier = [name for one in choice["looks"][:number] for name in one.get("operations", ())]
    wishes = _wishes(run, wish["words"])
    unmet = [] if rules and len(wishes) == 1 else [*_unanswered(run, wishes, {*choice["operations"], *earlier})]
    if not texts:
        fits = rules or _named(run, wish["words"])[0] or run.catalogue.search(wish["words"], 1)
        told = ALL_SHOWN if fits or len(choice["operations"]) == everything else whole_map(run)
        texts = [] if fits and unmet else [told]
    return "\n\n".join([*(["\n".join(unmet)] if unmet else []), *texts, *([rules] if rules else [])])


def _focus(wish: Look, instruction: str) -> str:
    return f"{instruction} {wish['words']}"


def _says_more(run: Run, operation: Operation, wanted: str, shared: int) -> bool:
    """Return whether more can be said of an operation than its signature says, one of several in the prompt."""
    budget = run.context.documentation_budget
    shown = _interface(run, [operation], wanted, run.context.functions_budget // max(1, shared))
    return len(_interface(run, [operation], wanted, budget, most=budget)) > len(shown)


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
