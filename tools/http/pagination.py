"""Pagination: find the arguments of the next page, request pages up to a limit, merge their values.

`STEPS` lists the ways to announce a next page, in the order in which they are tried; the first one that a response
shows decides. What a server sends only becomes arguments of the same operation.

Cursor, offset and page number are parameters of the query, or fields of a JSON body: at its top, or in an object such
as `pagination`. Only such a parameter or field changes from page to page.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

from restgpt.specs.effort import within
from restgpt.specs.operation import Operation
from restgpt.specs.schemas.shape import Shape
from restgpt.tools.http.next_link import (
    CURSORS,
    LONGEST_CURSOR,
    OFFSETS,
    PAGES,
    SIZES,
    Arguments,
    arguments_of_link,
    is_date,
    next_link,
    plain,
    unfollowed_link,
)
from restgpt.tools.response.content import memory_of
from restgpt.tools.response.reply import Reply
from restgpt.tools.text.redaction import is_secret_name

MOST_PAGES = 10
STEPS_MOST = 200_000
"""How many steps the schemas of an operation may take in the search for the next page."""
# The estimated bytes of the values of all pages of one list; no further page is requested after that.
MOST_MEMORY = 128 * 1024 * 1024
# Objects with more names are maps, not the envelope of a page.
MOST_NAMES = 500
_MOST_NUMBER = 10**18
GROUPS = frozenset({"page", "pagination", "paging", "pageable", "pageinfo", "pageoptions"})
"""The plain names of objects of a body whose fields lead to pages."""
# The fields of a response, by the step that reads them: next URL, cursor, page number, offset or page number.
_NEXT_URLS = frozenset(
    {"next", "nexturl", "nexturi", "nextlink", "nextpageurl", "nextpageuri", "nextpagelink", "nexthref", "nextpage"}
    | {"odatanextlink"}
)
_NEXT_CURSORS = frozenset(
    {"nextcursor", "nextpagetoken", "nexttoken", "continuationtoken", "continuation", "endcursor", "nextmarker"}
    | {"nextpage", "next", "cursor", "after", "paginationtoken", "nextkey", "scrollid", "nextcontinuationtoken"}
)
_NEXT_PAGES = frozenset({"nextpage", "next"})
_TOTAL_PAGES = frozenset({"totalpages", "pagecount", "lastpage", "pages", "numpages"})
_TOTALS = frozenset({"total", "totalcount", "totalresults", "totalitems", "totalrecords", "totalelements", "totalhits"})
_MORE = frozenset({"hasmore", "hasnext", "hasnextpage", "more", "hasmoreitems"})
_LAST = frozenset({"islast", "last", "islastpage", "done"})
_ITEMS = frozenset({"items", "data", "results", "records", "entries", "rows", "hits", "value", "resources", "objects"})


@dataclass(frozen=True, slots=True)
class _Field:
    """A place of a request with its value: a parameter of the query, or a field of the body."""

    path: tuple[str, ...]
    shape: Shape
    value: Any

    @property
    def names(self) -> frozenset[str]:
        """The plain names of the field; `number` in an object for paging is `pagenumber` too."""
        own = plain(self.path[-1])
        return frozenset({own, f"page{own}"} if len(self.path) > 2 else {own})

    @property
    def number(self) -> int | None:
        """The value, else the default in the schema, if it is a whole number."""
        return _whole(self.shape.flat.get("default") if self.value is None else self.value)

    @property
    def takes_number(self) -> bool:
        """Whether the field takes numbers, by its value or else by its schema; the query is text anyway."""
        if self.value is not None:
            return self.number is not None
        return self.path[0] == "query" or not {"integer", "number"}.isdisjoint(self.shape.kinds)


@dataclass(frozen=True)
class _Request:
    """The request of a page; `first` are the arguments of the first page."""

    operation: Operation
    arguments: Arguments
    first: Arguments

    @cached_property
    def fields(self) -> list[_Field]:
        """The parameters of the query and the fields of a JSON body, those of an object for paging in its place.

        A date that the first request has is left out.
        """
        found = [
            _Field(("query", item.field), item.shape, _at(self.arguments, ("query", item.field)))
            for item in self.operation.keywords
            if item.location == "query"
        ]
        body = self.operation.body
        if body and "json" in body.preferred.media_type.lower() and self.operation.method != "GET":
            for field in self._inner(("body",), self._shape(body.preferred.schema)):
                found += (GROUPS & field.names and self._inner(field.path, field.shape)) or [field]
        return [field for field in found if not is_date(_at(self.first, field.path))]

    def _shape(self, schema: Any) -> Shape:
        return Shape(self.operation.document, schema, request=True)

    def _inner(self, path: tuple[str, ...], shape: Shape) -> list[_Field]:
        """The fields of an object: those that the arguments have and the documented ones, without secrets."""
        value = _at(self.arguments, path)
        if value is not None and not isinstance(value, Mapping):
            return []
        shapes = {**{str(name): self._shape({}) for name in value or {}}, **shape.fields}
        names = (name for name in shapes if not is_secret_name(name))
        return [_Field((*path, name), shapes[name], _at(value, [name])) for name in names]

    def field(self, names: Collection[str], *, of_numbers: bool = False) -> _Field | None:
        """The first field with one of these plain names; with `of_numbers`, the first that takes numbers."""
        named = (field for field in self.fields if not field.names.isdisjoint(names))
        return next((field for field in named if not of_numbers or field.takes_number), None)

    @property
    def size(self) -> int:
        """How many items the request asks for, at most; 0 if it does not say so."""
        field = self.field(SIZES, of_numbers=True)
        return (field.number if field else None) or 0

    def with_value(self, field: _Field, value: Any) -> Arguments:
        """The arguments with a new value in one place; everything else stays as it was."""

        def put(group: Any, path: Sequence[str]) -> Any:
            return {**(group or {}), path[0]: put((group or {}).get(path[0]), path[1:])} if path else value

        changed: Arguments = put(self.arguments, field.path)
        return changed

    def at_link(self, address: str) -> Arguments:
        """The arguments of the page that a next URL leads to; the same arguments if it leads to none."""
        return arguments_of_link(self.operation, self.arguments, self.first, address)


class _Page:
    """A response for pagination: its next links, the objects that may have its fields, and the items of the page."""

    def __init__(self, operation: Operation, reply: Reply) -> None:
        value = reply.content.value
        self._holders = list(_holders(value))
        self.items = _main_list(value, plain(operation.path.rstrip("/").rpartition("/")[2]))
        self.link = reply.next_link or next_link(reply.headers)

    def _values(self, names: Collection[str]) -> Iterator[Any]:
        for holder in self._holders:
            for key, value in islice(holder.items(), MOST_NAMES):
                if plain(str(key)) in names:
                    yield value

    def find(self, names: Collection[str], *kinds: type) -> Any:
        """The first value of one of these types under one of these plain names; None if there is none."""
        return next((value for value in self._values(names) if type(value) in kinds), None)

    @cached_property
    def more(self) -> bool | None:
        """Whether a field such as `has_more` or `is_last` announces another page; None if there is no such field."""
        last = self.find(_LAST, bool)
        more = self.find(_MORE, bool)
        return not last if more is None and last is not None else more

    @cached_property
    def url(self) -> str:
        """The URL of the next page in the body, a string or an object with `href` or `url`; empty on the last page."""
        for value in self._values(_NEXT_URLS if self.more is not False else ()):
            found = value.get("href") or value.get("url") if isinstance(value, Mapping) else value
            if isinstance(found, str) and (found.startswith(("http://", "https://", "/")) or "?" in found):
                return found
        return ""

    def has_more(self, request: _Request, seen: int) -> bool:
        """Whether items follow the `seen` ones, from the total, from `has_more`, or because the page is full."""
        total = self.find(_TOTALS, int, dict)
        if isinstance(total, dict):
            # Elasticsearch: {"value": 120, "relation": "eq"}
            total = None if total.get("relation") == "gte" else total.get("value")
        if (total := _whole(total)) is not None:
            return seen < total
        if self.more is not None:
            return self.more
        return 0 < request.size <= len(self.items)


def _by_link_header(request: _Request, page: _Page) -> Arguments | None:
    return request.at_link(page.link) if page.link else None


def _by_next_url(request: _Request, page: _Page) -> Arguments | None:
    return request.at_link(page.url) if page.url else None


def _by_cursor(request: _Request, page: _Page) -> Arguments | None:
    """The cursor of the response; or id or cursor of the last item, if more follow it by a name as `starting_after`."""
    field = request.field(CURSORS)
    if field is None:
        return None
    cursor = page.find(_NEXT_CURSORS | field.names, str, int)
    if not cursor and page.items and not field.names.isdisjoint(("startingafter", "after", "iterator")):
        last = page.items[-1]
        is_full = page.more is None and 0 < request.size <= len(page.items)
        cursor = (page.more and _at(last, ["id"])) or ((page.more or is_full) and _at(last, ["cursor"]))
    is_usable = isinstance(cursor, str | int) and cursor and len(str(cursor)) <= LONGEST_CURSOR
    return request.with_value(field, cursor) if is_usable else None


def _by_offset(request: _Request, page: _Page) -> Arguments | None:
    field = request.field(OFFSETS, of_numbers=True)
    if field is None or not page.items:
        return None
    # Beside its end, it is the start of a range that the user wants.
    if field.names & {"from", "start"} and request.field({"to", "until", "end", "stop"}):
        return None
    first = 1 if "startindex" in field.names else 0
    following = (first if field.number is None else field.number) + len(page.items)
    return request.with_value(field, following) if page.has_more(request, following - first) else None


def _by_page_number(request: _Request, page: _Page) -> Arguments | None:
    field = request.field(PAGES, of_numbers=True)
    if field is None:
        return None
    if following := _whole(page.find(_NEXT_PAGES, int)):
        return request.with_value(field, following)
    if not page.items:
        return None
    numbers = (field.number, _whole(page.find(PAGES, int)), 1)
    current = next(number for number in numbers if number is not None)
    pages = page.find(_TOTAL_PAGES, int)
    seen = current * (request.size or len(page.items))
    is_more = page.has_more(request, seen) if pages is None else current < pages
    return request.with_value(field, current + 1) if is_more else None


STEPS = (_by_link_header, _by_next_url, _by_cursor, _by_offset, _by_page_number)
"""Each returns the arguments of the next page; the same arguments at the end; None if the response has no such sign."""


def next_request(
    operation: Operation, arguments: Arguments, reply: Reply, *, first: Arguments | None = None
) -> Arguments | None:
    """The arguments of the next page; None if there is none or the response does not show one.

    `first` are the arguments of the first page, if these are not. Ask it only of an operation that reads.
    """
    if not reply.is_success:
        return None
    with within(STEPS_MOST, operation.document.allowance):
        request, page = _Request(operation, arguments, first or arguments), _Page(operation, reply)
        if page.more is False and not page.link:
            return None
        found = (step(request, page) for step in STEPS)
        following = next((arguments for arguments in found if arguments is not None), None)
    return following if following != arguments else None


def unfollowed(operation: Operation, arguments: Arguments, reply: Reply) -> str:
    """What is wrong with the next URL that a response names, the end of a sentence; empty if it names none.

    It is not followed if it is on the path of the request and changes something, but not the page, or if it is on
    another server.
    """
    if not reply.is_success:
        return ""
    page = _Page(operation, reply)
    address = page.link or page.url
    return unfollowed_link(operation, arguments, address, in_header=bool(page.link)) if address else ""


def follow_pages(
    send: Callable[[Arguments], Reply],
    operation: Operation,
    arguments: Arguments,
    first: Reply,
    *,
    most: int = MOST_PAGES,
) -> Iterator[Reply]:
    """Yield the first reply and the replies of the next pages, at most `most` in all.

    The iteration ends at an error, at a page that was already requested, at the items of the page before it, and when
    the pages together take more than `MOST_MEMORY`.
    """
    seen = [arguments]
    reply = first
    yield reply
    left = MOST_MEMORY
    while len(seen) < most:
        left -= memory_of(reply.content.raw)
        if left < 0:
            return
        following = next_request(operation, seen[-1], reply, first=arguments)
        if following is None or following in seen:
            return
        seen.append(following)
        before, reply = reply, send(following)
        if not reply.is_success or _repeats(before, reply):
            return
        yield reply


def _repeats(before: Reply, reply: Reply) -> bool:
    """Whether a page has the items of the page before it: the server does not know the argument, or is at the end."""
    lists = _lists(reply.content.value)
    return any(lists.values()) and lists == _lists(before.content.value)


def merge_pages(values: Sequence[Any]) -> Any:
    """Merge the values of pages; return a list of pages if they have no list in common.

    Pages that are lists are joined. Of objects, each list that is at most two names deep is joined, unless it is the
    same on every page; all else is that of the first page that has it.
    """
    if len(values) == 1 or not values:
        return values[0] if values else None
    return _joined(values, 0) if set.intersection(*(set(_lists(value)) for value in values)) else list(values)


def _joined(values: Sequence[Any], depth: int) -> Any:
    given = [value for value in values if value is not None] or [None]
    if any(isinstance(value, list) for value in given):
        is_same = depth > 0 and all(value == given[0] for value in given)
        lists = (value if isinstance(value, list) else [value] for value in given)
        return given[0] if is_same else [item for value in lists for item in value]
    if depth == 2 or not all(isinstance(value, Mapping) for value in given):
        return given[0]
    names = dict.fromkeys(name for value in given for name in value)
    return {name: _joined([value.get(name) for value in given], depth + 1) for name in names}


def _lists(value: Any, path: tuple[str, ...] = (), *, most: int | None = None) -> dict[tuple[str, ...], list[Any]]:
    """The lists of a page by their paths, at most two names deep; of each object, the first `most` names count."""
    if isinstance(value, list):
        return {path: value}
    inner = islice(value.items(), most) if isinstance(value, Mapping) and len(path) < 2 else ()
    return {where: found for name, item in inner for where, found in _lists(item, (*path, name), most=most).items()}


def _holders(value: Any, depth: int = 0) -> Iterator[Mapping[str, Any]]:
    """The object itself and the objects in it, two levels deep, outer objects first; lists are not searched."""
    if not isinstance(value, Mapping):
        return
    yield value
    if depth < 2:
        for item in islice(value.values(), 50):
            yield from _holders(item, depth + 1)


def _main_list(value: Any, own: str) -> list[Any]:
    """The longest list, at most two names deep; one with a name for items, or the `own` name, goes before others."""

    def rank(found: tuple[tuple[str, ...], list[Any]]) -> tuple[bool, bool, int, int]:
        path, items = found
        has_objects = bool(items) and isinstance(items[0], Mapping)
        return plain(path[-1] if path else "") in _ITEMS | {own}, has_objects, len(items), -len(path)

    return max(_lists(value, most=50).items(), key=rank, default=((), []))[1]


def _at(value: Any, path: Sequence[str]) -> Any:
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _whole(value: Any) -> int | None:
    """A whole number, of text too, because documents and models give numbers as text; None for anything else."""
    value = int(value) if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 19 else value
    return value if type(value) is int and 0 <= value < _MOST_NUMBER else None
