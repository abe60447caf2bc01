"""Findings: what the reads of a program did not give, a line each: matches of a filter, fields that were asked for."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from restgpt.calling.record import Request, is_done, seems_to_read
from restgpt.nodes.run.run import Run
from restgpt.specs.reading.tree import values_in
from restgpt.tools.http.pagination import CURSORS, GROUPS, OFFSETS, PAGES, SIZES, is_date, plain
from restgpt.tools.sandbox.library import LISTS, rows

MOST_FINDINGS, MOST_SHOWN = 5, 60
"""The maximum number of lines, and of characters of one value in a line."""

_FIELDS = frozenset({"fields", "select"})
_PLACES = CURSORS | OFFSETS | PAGES | GROUPS
_FORMS = SIZES | _FIELDS | {"sort", "sortby", "sortorder", "order", "orderby", "direction", "include", "expand"}
_NAMES = re.compile(r"[\w.]+(\s*,\s*[\w.]+)*", re.ASCII)


def findings(run: Run, requests: Sequence[Request]) -> list[str]:
    """Return a line for each read whose filters matched nothing, and for fields that were asked for but did not come.

    A filter is not told of if a later read of the same operation gave something.
    """
    reads = [request for request in requests if seems_to_read(request) and is_done(request)]
    asking = {item["operation"] for item in reads if _filters(item) or _fields(item)}
    lines: list[str] = []
    full: set[str] = set()
    for request in reversed([item for item in reads if item["operation"] in asking]):
        name, answer = request["operation"], run.session.responses.read(request["response"].get("handle"))
        if not _is_empty(answer):
            full.add(name)
            lines += [f"({name}: {line})" for line in _missing(_fields(request), answer)]
        elif name not in full and (filters := _filters(request)):
            given = run.session.redactor().json({**request["arguments"].get("path", {}), **filters}, by_name=True)
            told = ", ".join(f"{key}={_shown(value)}" for key, value in given.items())
            lines.append(f"({name}: no match for {told})")
    return list(dict.fromkeys(reversed(lines)))[:MOST_FINDINGS]


def _filters(request: Request) -> dict[str, Any]:
    """Return the arguments of the query and the body that choose among items, not their page, order or form.

    There are none on a further page, which is empty after the last item.
    """
    places = (request["arguments"].get("query"), request["arguments"].get("body"))
    given = {name: value for place in places if isinstance(place, Mapping) for name, value in place.items()}
    pages = [name for name, value in given.items() if plain(name) in _PLACES and not is_date(value)]
    if any(str(given[name]) not in ("0", "1", "None") for name in pages):
        return {}
    forms = _FORMS.union(map(plain, pages))
    return {name: value for name, value in given.items() if value is not None and plain(name) not in forms}


def _fields(request: Request) -> dict[str, list[str]]:
    """Return the plain names of fields by the arguments of the query that ask for them."""
    query = request["arguments"].get("query") or {}
    texts = {name: ",".join(map(str, text)) if isinstance(text, list) else str(text) for name, text in query.items()}
    asked = {name: text for name, text in texts.items() if plain(name) in _FIELDS and _NAMES.fullmatch(text)}
    return {name: [part for part in re.split(r"\s*,\s*", text) if "." not in part] for name, text in asked.items()}


def _missing(asked: Mapping[str, Sequence[str]], answer: Any) -> list[str]:
    """Return what to say of fields whose names are nowhere in an answer with items."""
    if not asked or not isinstance(answer, list | Mapping):
        return []
    there = {plain(name) for value in values_in(answer) if isinstance(value, Mapping) for name in value}
    gone = {by: ", ".join(name for name in names if plain(name) not in there) for by, names in asked.items()}
    return [f"asked for with {by}=: not in the answer: {names}" for by, names in gone.items() if names]


def _is_empty(answer: Any) -> bool:
    """Return whether an answer is an empty list, or an envelope around one.

    An object with a text or an id may be an item, whose own list is empty, unless the list has a name of envelopes.
    """
    try:
        found = None if answer is None else rows(answer)
    except (LookupError, ValueError):  # several lists, or a text
        return False
    if found != [] or isinstance(answer, list):
        return found == []
    around = [value for value in (answer, *answer.values()) if isinstance(value, Mapping) and [] in value.values()]
    return bool(around) and all(map(_is_envelope, around))


def _is_envelope(value: Mapping[str, Any]) -> bool:
    is_item = any((isinstance(part, str) and part) or plain(name) == "id" for name, part in value.items())
    return not is_item or any(part == [] and plain(name) in LISTS for name, part in value.items())


def _shown(value: Any) -> str:
    text = " ".join((value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)).split())
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}…"
