"""The text about APIs in prompts: areas, description and rules from the document, and the notes of the user."""

from collections.abc import Iterable, Sequence
from functools import lru_cache

from restgpt.nodes.run.run import Run
from restgpt.prompts import fenced, render
from restgpt.specs import Api, Operation
from restgpt.specs.docs.overview.areas import areas
from restgpt.specs.docs.words.rules import names_rules
from restgpt.specs.docs.words.sections import Sections, Subject
from restgpt.specs.effect import seems_to_read

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
