"""The notices of a call that its result shows: how the answer differs from the document, and whether a list goes on."""

import re
from collections.abc import Mapping
from typing import Any

from restgpt.calling.execution import FIRST_PAGE
from restgpt.calling.record import Request

FEW = 20
"""The largest page size that shows that not the whole list was wanted."""

_LETTERS = re.compile(r"[^a-z]")
_SEARCHED = frozenset(
    {"q", "query", "search", "searchtext", "searchterm", "searchquery", "term", "keyword", "keywords"}
)
_SIZES = frozenset({"limit", "perpage", "pagesize", "maxresults", "top", "size", "rows", "take"})
_WHOLE = re.compile(r"\b(all|every|each|count\w*|how many|totals?|number of|whole|entire|complete)\b", re.IGNORECASE)
_FIRST = re.compile(r"\bfirst\b", re.IGNORECASE)
_QUOTED = re.compile(r"(?<!\w)['\"‘“]([^'\"‘’“”]{2,80})['\"’”](?!\w)")


def notices_of(request: Request) -> list[str]:
    """Return the notices of a request; that a list goes on is left out if its first page was all that was wanted."""
    notices = list(request["response"].get("notices", ()))
    return [notice for notice in notices if notice != FIRST_PAGE] if _wants_few(request) else notices


def wants_whole(text: str) -> bool:
    """Return whether a text asks about all items of a list, or their number."""
    return _WHOLE.search(text) is not None


def is_first_page(request: Request) -> bool:
    """Return whether the answer is the first page of a list that goes on, of no search and no small page."""
    is_unread = request["pages"] == 1 and request["response"].get("rest") == "unread"
    return is_unread and not _is_narrow(request["arguments"].get("query"))


def _wants_few(request: Request) -> bool:
    """Return whether the first items were wanted, or the best matches of a search, or an item that was found."""
    wanted = request["output_instruction"]
    if request["pages"] != 1 or wants_whole(wanted):
        return False
    if _is_narrow(request["arguments"].get("query")) or _FIRST.search(wanted):
        return True
    named = _QUOTED.findall(wanted)
    return bool(named) and all(name.casefold() in request["result"].casefold() for name in named)


def _is_narrow(query: Any) -> bool:
    """Return whether arguments search by words or ask for a small page."""
    for name, value in query.items() if isinstance(query, Mapping) else ():
        plain = _LETTERS.sub("", str(name).lower())
        if plain in _SEARCHED or (plain in _SIZES and str(value).isdecimal() and int(value) <= FEW):
            return True
    return False
