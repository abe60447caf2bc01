"""A second look: operations that a prompt does not list, found by words or on the map of all paths."""

from collections.abc import Sequence

from restgpt.nodes.run.run import Run
from restgpt.specs.problem import UnknownPartError

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
