"""The text about APIs in prompts: areas, description and rules from the document, and the notes of the user."""

from collections.abc import Sequence
from functools import lru_cache

from restgpt.nodes.run.run import Run
from restgpt.prompts import fenced, render
from restgpt.specs import Api, Operation
from restgpt.specs.docs.overview.areas import areas
from restgpt.specs.docs.words.rules import description_of, rules_of

AREAS = 300
"""The number of characters that the list of an API's areas may take."""

LEAST = 100
"""The number of tokens that each of many APIs gets at least for its description and rules."""

CALLER_PART = 2
"""The part of the budget that the caller gets, which needs the rules only."""


def apis_text(run: Run) -> str:
    """Write the APIs for the planner: size, areas, description and rules as data, then the user's notes."""
    apis = run.catalogue.apis
    budget = _share(run, apis)
    described = fenced("document", "\n".join(_described(api, budget) for api in apis))
    return "\n\n".join([described, *_notes(apis)])


def rules_text(run: Run, operations: Sequence[Operation]) -> str:
    """Write the rules and notes of the APIs of some operations for the caller; empty if there are none."""
    apis = list(dict.fromkeys(operation.api for operation in operations))
    budget = _share(run, apis) // CALLER_PART
    stated = [text for api in apis if (text := _ruled(api, budget))]
    rules = [render("caller_rules", rules=fenced("document", "\n".join(stated)))] if stated else []
    parts = [*rules, *_notes(apis)]
    return "\n" + "\n\n".join(parts) + "\n" if parts else ""


def notes_of(run: Run) -> list[str]:
    """Return the user's notes on the APIs of a run: ids in them are the user's, although not of this instruction."""
    return [api.notes for api in run.catalogue.apis if api.notes]


def _share(run: Run, apis: Sequence[Api]) -> int:
    return max(LEAST, run.context.rules_budget // max(1, len(apis)))


def _notes(apis: Sequence[Api]) -> list[str]:
    # By name, because the title is text of the document, which must not stand outside of a fence.
    return [render("notes", api=api.name, notes=api.notes) for api in apis if api.notes]


@lru_cache(maxsize=64)
def _described(api: Api, budget: int) -> str:
    """Write an API as a list item; further lines are indented."""
    listed = areas(api.operations, most=AREAS)
    count = len(api.operations)
    size = f"{count} operation{'' if count == 1 else 's'}{f': {listed}' if listed else ''}"
    lines = description_of(api.description, api.tag_descriptions, budget)
    if len(lines) == 1:
        return f"- {_title(api)} ({size}). {lines[0]}"
    return "\n  ".join([f"- {_title(api)} ({size}).", *lines])


@lru_cache(maxsize=64)
def _ruled(api: Api, budget: int) -> str:
    lines = rules_of(api.description, api.tag_descriptions, budget)
    return "\n".join([f"# {_title(api)}", *lines]) if lines else ""


def _title(api: Api) -> str:
    return " ".join(api.title.split())[:200] or api.name
