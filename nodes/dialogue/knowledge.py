"""The text about APIs in prompts: areas, description and rules from the document, and the notes of the user.

A second look: operations that a prompt does not list, found by words or on the map of all paths.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache

from restgpt.nodes.run.run import Run
from restgpt.prompts import fenced, render
from restgpt.specs import Api, Operation
from restgpt.specs.docs.map import areas
from restgpt.specs.docs.prose import names_rules
from restgpt.specs.docs.sections import Sections, Subject
from restgpt.specs.effect import seems_to_read
from restgpt.specs.problem import UnknownPartError

AREAS = 300
"""The number of characters that the list of an API's areas may take."""

LEAST = 100
"""The number of tokens that each of many APIs gets at least for its description and rules."""

READ_PART = 0.4
"""The part of the budget for an API whose operations all only read: there is nothing that a rule could prevent."""

CALLER_PART = 0.5
"""The part of the budget for planned calls, which need the rules only."""

BEST_FUNCTIONS = 4
"""How many of the functions that fit an instruction best choose sections with their words."""

FIELDS_MOST = 40
"""The maximum number of arguments of a function whose names choose sections."""

ASK = ", ask with `functions`"
"""How the caller sees the sections that were left out."""


def apis_text(run: Run, about: str, *, remedy: str = "") -> str:
    """Write the APIs for the planner: size, areas, description and rules as data, then the user's notes.

    Sections with the words in `about` come first; `remedy` says how to see those that were left out.
    """
    apis = run.catalogue.apis
    described = fenced("document", "\n".join(_described(run, api, about, remedy) for api in apis))
    return "\n\n".join([described, *_notes(apis)])


def rules_text(run: Run, operations: Sequence[Operation], instruction: str) -> str:
    """Write the rules and notes of the APIs of some operations for the caller; empty if there are none."""
    apis = list(dict.fromkeys(operation.api for operation in operations))
    subject = Subject(instruction, lambda: _words(operations))
    stated: list[str] = []
    for api in apis:
        budget = int(_share(run, apis, [one for one in operations if one.api is api]) * CALLER_PART)
        sections = _sections(api)
        lines = sections.lines(sections.chosen(subject, budget, rules_only=True))
        stated += [f"# {_title(api)}", *lines] if lines else []
    rules = [render("caller_rules", rules=fenced("document", "\n".join(stated)))] if stated else []
    parts = [*rules, *_notes(apis)]
    return "\n" + "\n\n".join(parts) + "\n" if parts else ""


def more_rules(run: Run, about: str, wishes: Sequence[str]) -> str:
    """Write the sections that the last wish names or fits, or the best of all if it asks for rules.

    The prompt shows some sections by what it is `about`, and each earlier wish others; these are left out. Empty if no
    more sections fit.
    """
    lines: list[str] = []
    for api in run.catalogue.apis:
        sections, budget = _sections(api), _share(run, run.catalogue.apis, api.operations)
        shown, found = _chosen(run, api, about), frozenset[int]()
        for wish in wishes:
            shown |= found
            found = sections.chosen(_subject(api, wish), budget, fitting_only=not names_rules(wish), shown=shown)
        lines += [f"# {_title(api)}", *sections.lines(found), *sections.left_out(shown | found)] if found else []
    return "\n".join(lines)


def notes_of(run: Run) -> list[str]:
    """Return the user's notes on the APIs of a run: ids in them are the user's, although not of this instruction."""
    return [api.notes for api in run.catalogue.apis if api.notes]


def _share(run: Run, apis: Sequence[Api], operations: Iterable[Operation]) -> int:
    """Return the tokens for one of several APIs, of which these operations may be called."""
    budget = max(LEAST, run.context.rules_budget // max(1, len(apis)))
    return int(budget * READ_PART) if all(map(seems_to_read, operations)) else budget


def _notes(apis: Sequence[Api]) -> list[str]:
    # By name, because the title is text of the document, which must not stand outside of a fence.
    return [render("notes", api=api.name, notes=api.notes) for api in apis if api.notes]


def _described(run: Run, api: Api, about: str, remedy: str) -> str:
    """Write an API as a list item; further lines are indented."""
    sections = _sections(api)
    chosen = _chosen(run, api, about)
    lines = [*sections.lines(chosen), *sections.left_out(chosen, remedy)]
    if len(lines) == 1:
        return f"- {_title(api)} ({_size(api)}). {lines[0]}"
    return "\n  ".join([f"- {_title(api)} ({_size(api)}).", *lines])


def _chosen(run: Run, api: Api, about: str) -> frozenset[int]:
    """Choose the passages of an API for a prompt about the whole instruction."""
    return _sections(api).chosen(_subject(api, about), _share(run, run.catalogue.apis, api.operations))


def _subject(api: Api, text: str) -> Subject:
    return Subject(text, lambda: _words(api.search(text, BEST_FUNCTIONS)))


def _words(operations: Sequence[Operation]) -> str:
    """Return the names, summaries and arguments of operations."""
    fields = (" ".join(item.name for item in operation.keywords[:FIELDS_MOST]) for operation in operations)
    return " ".join(f"{one.name} {one.summary} {names}" for one, names in zip(operations, fields, strict=True))


@lru_cache(maxsize=64)
def _sections(api: Api) -> Sections:
    return Sections(api.description, api.tag_descriptions, api.path_descriptions)


@lru_cache(maxsize=64)
def _size(api: Api) -> str:
    listed = areas(api.operations, most=AREAS)
    count = len(api.operations)
    return f"{count} operation{'' if count == 1 else 's'}{f': {listed}' if listed else ''}"


def _title(api: Api) -> str:
    return " ".join(api.title.split())[:200] or api.name


MAX_LOOKS = 4
"""How often a role may look before it decides. The largest APIs take three looks: their map, a part, a part of that."""

LOOK_SHARE = 2
"""A look shows as many tokens as `operations_budget` divided by this."""

MOST_PARTS = 5
"""The maximum number of parts of the map that one look opens."""

AROUND = "`'\"“”()[],;.:"
"""The characters that may stand around a path in a sentence."""


def parts_in(run: Run, text: str) -> list[str]:
    """Return the parts of the map that a text names: words with a slash that the map has, or that begin with one."""
    named: list[str] = []
    for word in text.split():
        forms = [form for form in (word, word.strip(AROUND)) if "/" in form]
        known = [form for form in forms if run.catalogue.map.find(form) is not None]
        named += known[:1] or [form for form in forms[-1:] if form.startswith("/")]
    return list(dict.fromkeys(named))[:MOST_PARTS]


def opened(run: Run, names: Sequence[str]) -> str:
    """Write parts of the map; for a missing part, name similar parts, and list the operations that fit its words.

    The parts share the tokens of one look.
    """
    budget = _budget(run) // max(1, len(names))
    texts: list[str] = []
    for name in names:
        try:
            texts.append(run.catalogue.map.open(name).text(budget))
        except UnknownPartError as error:
            found = run.catalogue.best(name, budget // LOOK_SHARE)
            texts.append("\n".join([f"{error}.", *(f"- {run.catalogue.line(operation)}" for operation in found)]))
    return "\n\n".join(texts)


def whole_map(run: Run) -> str:
    """Write the map of all operations, within the tokens of one look."""
    return run.catalogue.map.open().text(_budget(run))


def looked(run: Run, text: str) -> str:
    """Return the parts that the text names, else the operations that fit its words, else the whole map."""
    names = parts_in(run, text)
    if names:
        return opened(run, names)
    found = run.catalogue.best(text, _budget(run))
    return "\n".join(f"- {run.catalogue.line(operation)}" for operation in found) or whole_map(run)


def _budget(run: Run) -> int:
    return run.context.operations_budget // LOOK_SHARE
