"""Pagination: find the arguments of the next page, request pages up to a limit, merge their values.

The next page is looked for in this order: a link in the headers, a next URL in the body, a cursor, an offset, a page
number. The values that a server sends only become arguments of the same operation: the client takes the query
values of a next URL that lead to a page, and only if that URL is on a server of the API and has the same path. All
other arguments stay those of the first request, so no response can make the client request anything else.

Cursor, offset and page number are parameters of the query, or fields of a JSON body: at its top, or in an object such
as `pagination`. In a body only such a field changes from page to page.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from restgpt.specs import SpecError
from restgpt.specs.docs.shape import Shape
from restgpt.specs.effort import within
from restgpt.specs.operation import Operation
from restgpt.specs.schemas.types import schema_types
from restgpt.specs.server import absolute_url
from restgpt.tools.errors import AddressFault, ArgumentError
from restgpt.tools.http.next_link import next_link
from restgpt.tools.network.addresses import Origin, joined_url, origin_of
from restgpt.tools.request.build import PAGE, ServerPage, build_request
from restgpt.tools.response.content import memory_of
from restgpt.tools.response.reply import Reply
from restgpt.tools.text.redaction import MARK, is_secret_name

Arguments = Mapping[str, Any]

MOST_PAGES = 10
STEPS_MOST = 200_000
"""How many steps the schemas of an operation may take in the search for the next page."""
# The estimated bytes of the values of all pages of one list; no further page is requested after that.
MOST_MEMORY = 128 * 1024 * 1024
# Objects with more names are maps, not the envelope of a page.
MOST_NAMES = 500
_LETTERS = re.compile(r"[^a-z0-9]")
_DIGITS = re.compile(r"[0-9]{1,18}")
_MOST_NUMBER = 10**18
# The longest cursor that is sent back: each of up to MOST_PAGES requests would carry a longer one.
_LONGEST_CURSOR = 65_536
_NEXT_ADDRESSES = frozenset(
    {"next", "nexturl", "nexturi", "nextlink", "nextpageurl", "nextpageuri", "nextpagelink", "nexthref", "nextpage"}
    | {"odatanextlink"}
)
_CURSORS = frozenset(
    {"nextcursor", "nextpagetoken", "nexttoken", "continuationtoken", "continuation", "endcursor", "nextmarker"}
    | {"nextpage", "next", "cursor", "after", "paginationtoken", "nextkey", "scrollid", "nextcontinuationtoken"}
)
_CURSOR_PARAMETERS = frozenset(
    {"cursor", "pagetoken", "nexttoken", "after", "startingafter", "continuationtoken", "continuation", "marker"}
    | {"startcursor", "pagecursor", "nextcursor", "paginationtoken", "nextpagetoken", "scrollid", "pageafter", "token"}
    | {"continue"}
)
_OFFSETS = frozenset({"offset", "skip", "start", "startindex", "startat", "from", "pageoffset", "first"})
_PAGES = frozenset({"page", "pagenumber", "pageno", "pageindex", "pagenum", "currentpage", "p"})
# Beside one of these, the first one is the start of a range that the user wants.
_RANGES = {"from": frozenset({"to", "until"}), "start": frozenset({"end", "stop", "until"})}
_SIZES = frozenset({"limit", "perpage", "pagesize", "count", "maxresults", "top", "size", "rows", "results", "take"})
# The names of query values that a next URL may set: cursors have any text, the others are numbers.
_LINKED_CURSORS = _CURSOR_PARAMETERS | {"skiptoken", "pageid", "pageinfo", "cursormark", "afterid", "bookmark"}
_LINKED_CURSORS |= {"next", "nextpage", "nextkey", "pagingtoken", "pagestate", "pagekey", "resumptiontoken"}
_LINKED_CURSORS |= {"startafter", "searchafter", "startkey", "lastkey", "lastid", "exclusivestartkey", "pagebefore"}
_LINKED_CURSORS |= {"idafter", "lastseenid", "deltatoken"}
_LINKED_NUMBERS = _OFFSETS | _PAGES | {"pagestart", "startrow", "startposition", "startrecord", "resultoffset"}
_LINKED_SIZES = _SIZES | {"pagelimit"}
# Some servers call their cursors so: an address that leads to a page by nothing else may add text under these names.
_LINKED_EITHER = frozenset({"offset", "page"})
# A filter of the user may have these names too, so a value of the first request only changes if it is a number.
_LINKED_BOUNDS = frozenset({"since", "sinceid", "until", "before", "maxid", "minid"})
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}")
# Of a body, which names fields more freely, fewer names count, and an offset or a page is a number.
_BODY_CURSORS = _CURSOR_PARAMETERS - {"token", "continue"}
_BODY_OFFSETS = _OFFSETS - {"first"}
_BODY_GROUPS = frozenset({"page", "pagination", "paging", "pageable", "pageinfo", "pageoptions"})
_INNER_OFFSETS, _INNER_PAGES = _BODY_OFFSETS | {"first"}, _PAGES | {"number", "index"}
_TOTALS = frozenset({"total", "totalcount", "totalresults", "totalitems", "totalrecords", "totalelements", "totalhits"})
_TOTAL_PAGES = frozenset({"totalpages", "pagecount", "lastpage", "pages", "numpages"})
_MORE = frozenset({"hasmore", "hasnext", "hasnextpage", "more", "hasmoreitems"})
_LAST = frozenset({"islast", "last", "islastpage"})
_ITEMS = frozenset({"items", "data", "results", "records", "entries", "rows", "hits", "value", "resources", "objects"})


@dataclass(frozen=True, slots=True)
class _Field:
    """A place of a request that leads from page to page: a parameter of the query, or a field of the body."""

    path: tuple[str, ...]
    schema: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The name without the object that it is in."""
        return self.path[-1]


@dataclass(frozen=True, slots=True)
class _View:
    """The parts of a response for pagination: the objects that may have its fields, and the items of the page."""

    holders: tuple[Mapping[str, Any], ...]
    items: Sequence[Any]

    def find(self, names: frozenset[str], *, scalar: bool = False) -> Any:
        """The first value that is not null under one of these names; names are compared by letters and digits only."""
        for holder in self.holders:
            for key, value in islice(holder.items(), MOST_NAMES):
                is_wanted = value is not None and not (scalar and isinstance(value, Mapping | list))
                if _plain(str(key)) in names and is_wanted:
                    return value
        return None

    @property
    def more(self) -> bool | None:
        """Whether a field such as `has_more` or `is_last` announces another page; None if there is no such field."""
        said = self.find(_MORE)
        if isinstance(said, bool):
            return said
        last = self.find(_LAST)
        return not last if isinstance(last, bool) else None


def next_request(
    operation: Operation, arguments: Arguments, reply: Reply, *, first: Arguments | None = None
) -> dict[str, Any] | None:
    """The arguments of the next page; None if there is none or the response does not show one.

    `first` are the arguments of the first page, if these are not. Ask it only of an operation that reads.
    """
    if not reply.is_success:
        return None
    with within(STEPS_MOST, operation.document.allowance):
        return _next_request(operation, arguments, reply, first or arguments)


def _next_request(operation: Operation, arguments: Arguments, reply: Reply, first: Arguments) -> dict[str, Any] | None:
    linked = reply.next_link or next_link(reply.headers)
    if linked:
        return _from_address(operation, arguments, linked, first)
    value = reply.content.value()
    if not isinstance(value, Mapping | list):
        return None
    own = _plain(operation.path.rstrip("/").rpartition("/")[2])
    view = _View(tuple(_holders(value)), _main_list(value, own))
    if view.more is False:
        return None
    address = _address(view)
    if address:
        return _from_address(operation, arguments, address, first)
    for step in (_by_cursor, _by_last_item, _by_offset, _by_page):
        found = step(operation, arguments, view)
        if found is not None:
            return found if found != arguments and not _sets_a_filter(first, found) else None
    return None


def _sets_a_filter(first: Arguments, following: Arguments) -> bool:
    """Whether the arguments of a next page replace a date of the first page: it is a filter, under whatever name."""
    return any(
        isinstance(value, str) and _DATE.match(value) and (following.get(place) or {}).get(name) != value
        for place in ("query", "body")
        if isinstance(first.get(place), Mapping)
        for name, value in first[place].items()
    )


def unfollowed(operation: Operation, arguments: Arguments, reply: Reply) -> str:
    """What is wrong with the next address that a response names, the end of a sentence; empty if it names none.

    It is not followed if it is on the path of the request and changes something, but not the page, or if it is on
    another server. One in the headers may have another path too; in the body, that is the address of something else.
    """
    if not reply.is_success:
        return ""
    value = reply.content.value() if reply.content.kind == "json" else None
    view = _View(tuple(_holders(value)), ())
    linked = reply.next_link or next_link(reply.headers)
    address = linked or ("" if view.more is False else _address(view))
    if not address:
        return ""
    current = build_request(operation, arguments).url
    target = _target(operation, arguments, address)
    if target is None:
        return "leads to another server or path" if linked or _ends_alike(operation, current, address) else ""
    is_same = _grouped(urlsplit(current).query) == _grouped(urlsplit(target).query)
    return "" if is_same else "changes other arguments than those that lead to pages"


def _ends_alike(operation: Operation, current: str, address: str) -> bool:
    """Whether an address has the path of the request below a base URL that the operation does not name."""
    try:
        path, other = _path_below(current, _bases(operation)), urlsplit(address)
    except (AddressFault, ValueError):
        return False
    return bool(path and other.netloc) and other.path.rstrip("/").endswith(path or "")


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
    seen = [dict(arguments)]
    reply = first
    yield reply
    left = MOST_MEMORY
    while len(seen) < most:
        left -= memory_of(reply.content.data)
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
    lists = _lists(reply.content.value())
    return any(lists.values()) and lists == _lists(before.content.value())


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


def _plain(name: str) -> str:
    return _LETTERS.sub("", name.lower())


def _holders(value: Any, depth: int = 0) -> Iterator[Mapping[str, Any]]:
    """The object itself and the objects in it, two levels deep, outer objects first; lists are not searched."""
    if not isinstance(value, Mapping):
        return
    yield value
    if depth < 2:
        for item in islice(value.values(), 50):
            yield from _holders(item, depth + 1)


def _main_list(value: Any, own: str = "") -> list[Any]:
    """The longest list, at most two names deep; one with a name for items, or the `own` name, goes before others."""

    def rank(found: tuple[tuple[str, ...], list[Any]]) -> tuple[bool, bool, int, int]:
        path, items = found
        has_objects = bool(items) and isinstance(items[0], Mapping)
        return _plain(path[-1] if path else "") in _ITEMS | {own}, has_objects, len(items), -len(path)

    return max(_lists(value, most=50).items(), key=rank, default=((), []))[1]


def _at(value: Any, path: Sequence[str]) -> Any:
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _address(view: _View) -> str:
    """The URL of the next page in the body: a string, or an object with `href` or `url`."""
    for holder in view.holders:
        for key, value in islice(holder.items(), MOST_NAMES):
            if _plain(str(key)) not in _NEXT_ADDRESSES:
                continue
            found = value.get("href") or value.get("url") if isinstance(value, Mapping) else value
            if isinstance(found, str) and (found.startswith(("http://", "https://", "/", "?")) or "?" in found):
                return found
    return ""


def _from_address(operation: Operation, arguments: Arguments, address: str, first: Arguments) -> dict[str, Any] | None:
    """The arguments from the query of a next URL; None if the URL belongs to another operation."""
    target = _target(operation, arguments, address)
    if target is None:
        return None
    given = _grouped(urlsplit(build_request(operation, first).url).query)
    return _changed(operation, arguments, given, _grouped(urlsplit(target).query))


def _target(operation: Operation, arguments: Arguments, address: str) -> str | None:
    """A next URL in full; None if it is on another server or has another path than the request."""
    try:
        current = build_request(operation, arguments).url
        target = joined_url(current, address)
        bases = _bases(operation)
        path = _path_below(target, bases)
        return target if path is not None and path == _path_below(current, bases) else None
    except (AddressFault, ArgumentError, SpecError, ValueError):
        return None


def _bases(operation: Operation) -> list[tuple[Origin, str]]:
    """The origin and path of each base URL of the operation: its own `base_url` and the servers of the document."""
    urls = [operation.base_url, *(absolute_url(server, operation.api.location) for server in operation.servers)]
    return [(origin_of(url), urlsplit(url).path.rstrip("/")) for url in urls if url is not None]


def _path_below(url: str, bases: Sequence[tuple[Origin, str]]) -> str | None:
    """The path of a URL below one of the base URLs; None if the URL is below none of them."""
    origin, path = origin_of(url), urlsplit(url).path
    for base, prefix in bases:
        if origin == base and path.startswith(f"{prefix}/"):
            return path[len(prefix) :].rstrip("/")
    return None


def _changed(
    operation: Operation, arguments: Arguments, given: Mapping[str, list[str]], linked: Mapping[str, list[str]]
) -> dict[str, Any] | None:
    """The arguments with the values of a next URL that lead to another page; None if it has none.

    Every other value stays as it is in the arguments: one that the URL adds, changes or leaves out, such as an account
    or `_method`, would make another request of it. `given` are the values in the query of the first page.
    """
    declared = {item.name for item in operation.parameters if item.location == "query"}
    query, page = dict(arguments.get("query") or {}), ServerPage(arguments.get(PAGE) or {})
    leading = [
        name
        for name, values in linked.items()
        if not _is_credential(operation, name, declared) and _leads(_plain(name), given.get(name), values)
    ]
    # Another size alone would be the same page again.
    if all(_plain(name) in _LINKED_SIZES for name in leading):
        leading += [name for name, values in linked.items() if _is_opaque(_plain(name), given.get(name), values)][:1]
    is_moved = False
    for name in leading:
        group, value = query if name in declared else page, linked[name][0]
        if str(group.get(name)) != value:
            group[name] = value
            is_moved = is_moved or _plain(name) not in _LINKED_SIZES
    return {**arguments, "query": query, **({PAGE: page} if page else {})} if is_moved else None


def _is_credential(operation: Operation, name: str, declared: Collection[str]) -> bool:
    """Whether a query value may be a credential; a declared parameter such as `_token` may hold a cursor."""
    schemes = operation.api.security_schemes.values()
    if any(scheme.location == "query" and scheme.name == name for scheme in schemes):
        return True
    return is_secret_name(name) and not (name in declared and _plain(name) in _CURSOR_PARAMETERS)


def _is_opaque(name: str, given: Sequence[str] | None, values: Sequence[str]) -> bool:
    """Whether an address adds one text under a name that is usually a number."""
    return (
        given is None
        and name in _LINKED_EITHER
        and len(values) == 1
        and 0 < len(values[0]) <= _LONGEST_CURSOR
        and MARK not in values[0]
    )


def _leads(name: str, given: Sequence[str] | None, values: Sequence[str]) -> bool:
    """Whether values of a next URL only lead to a page; `given` are those of the first page, if it has any."""
    if len(values) != 1 or len(given or ()) > 1 or len(values[0]) > _LONGEST_CURSOR or MARK in values[0]:
        return False
    are_numbers = all(map(_DIGITS.fullmatch, (*(given or ()), values[0])))
    if name in _LINKED_NUMBERS or name in _LINKED_SIZES:
        return are_numbers
    if name in _LINKED_BOUNDS:
        return given is None or are_numbers
    # A date that the user gave is a filter.
    return name in _LINKED_CURSORS and not any(map(_DATE.match, given or ()))


def _grouped(query: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, value in parse_qsl(query, keep_blank_values=True)[:200]:
        found.setdefault(name, []).append(value)
    return found


def _field(operation: Operation, arguments: Arguments, names: frozenset[str], in_body: frozenset[str]) -> _Field | None:
    """The parameter of the query with one of these names, else the field of the body with one of its own."""
    for item in operation.parameters:
        if item.location == "query" and _plain(item.name) in names:
            return _Field(("query", item.name), item.schema)
    fields = _body_fields(operation, arguments)
    return next((item for item in fields if _plain(item.name) in in_body), None)


def _inner(operation: Operation, arguments: Arguments, names: frozenset[str]) -> _Field | None:
    """The field with one of these names in an object for paging that the body has."""
    for group in _body_fields(operation, arguments):
        if _plain(group.name) in _BODY_GROUPS:
            given = _at(arguments, group.path)
            for name, schema in _named(operation, group.schema, given).items():
                if _plain(name) in names:
                    return _Field((*group.path, name), schema)
    return None


def _body_fields(operation: Operation, arguments: Arguments) -> list[_Field]:
    """The fields of a JSON body: the documented ones, and further ones that the arguments have."""
    body = operation.body
    if body is None or "json" not in body.preferred.media_type.lower() or operation.method == "GET":
        return []
    fields = _named(operation, body.preferred.schema, arguments.get("body"))
    return [_Field(("body", name), schema) for name, schema in fields.items()]


def _named(operation: Operation, schema: Any, given: Any) -> dict[str, Mapping[str, Any]]:
    if given is not None and not isinstance(given, Mapping):
        return {}
    shape = Shape(operation.document, schema, request=True)
    documented: dict[str, Mapping[str, Any]] = {name: field.flat for name, field in shape.fields.items()}
    return {**{str(name): {} for name in given or {}}, **documented}


def _with(arguments: Arguments, field: _Field, value: Any) -> dict[str, Any]:
    """The arguments with a new value in one place; everything else stays as it was."""

    def put(group: Any, path: Sequence[str]) -> Any:
        inner = value if not path else put((group or {}).get(path[0]), path[1:])
        return inner if not path else {**(group or {}), path[0]: inner}

    changed: dict[str, Any] = put(arguments, field.path)
    return changed


def _cursor_field(operation: Operation, arguments: Arguments, names: frozenset[str]) -> _Field | None:
    found = _field(operation, arguments, names, names & _BODY_CURSORS)
    return found or _inner(operation, arguments, names & _BODY_CURSORS)


def _by_cursor(operation: Operation, arguments: Arguments, view: _View) -> dict[str, Any] | None:
    """The arguments with the cursor from the response, if the operation has a parameter for it."""
    parameter = _cursor_field(operation, arguments, _CURSOR_PARAMETERS)
    names = _CURSORS | ({_plain(parameter.name)} if parameter else set())
    cursor = view.find(names, scalar=True)
    if parameter is None:
        # `next_page: 3` in a response is the number of the next page.
        parameter = _page_field(operation, arguments)
        cursor = view.find(frozenset({"nextpage", "next"}))
        if not isinstance(cursor, int) or cursor < 0:
            return None
    if isinstance(cursor, bool) or not isinstance(cursor, str | int) or cursor in ("", 0) or parameter is None:
        return None
    if isinstance(cursor, str) and len(cursor) > _LONGEST_CURSOR:
        return None
    return _with(arguments, parameter, cursor)


def _by_last_item(operation: Operation, arguments: Arguments, view: _View) -> dict[str, Any] | None:
    """The arguments with the id of the last item, if more items follow and the operation has `starting_after`."""
    parameter = _cursor_field(operation, arguments, frozenset({"startingafter", "after", "afterid", "sinceid"}))
    if parameter is None or view.more is not True or not view.items:
        return None
    last = view.items[-1]
    found = last.get("id") if isinstance(last, Mapping) else None
    return _with(arguments, parameter, found) if isinstance(found, str | int) else None


def _offset_field(operation: Operation, arguments: Arguments) -> _Field | None:
    found = _field(operation, arguments, _OFFSETS, _BODY_OFFSETS) or _inner(operation, arguments, _INNER_OFFSETS)
    if found is not None and _field(operation, arguments, *[_RANGES.get(_plain(found.name), frozenset())] * 2):
        return None
    return found if _is_number(arguments, found) else None


def _page_field(operation: Operation, arguments: Arguments) -> _Field | None:
    found = _field(operation, arguments, _PAGES, _PAGES)
    if found is not None and found.path[0] == "body" and not _is_number(arguments, found):
        # An object `page` holds the numbers.
        found = None
    found = found or _inner(operation, arguments, _INNER_PAGES)
    return found if _is_number(arguments, found) else None


def _size_field(operation: Operation, arguments: Arguments) -> _Field | None:
    return _field(operation, arguments, _SIZES, _SIZES) or _inner(operation, arguments, _SIZES)


def _is_number(arguments: Arguments, field: _Field | None) -> bool:
    """Whether a field of the body takes numbers, by its schema or by the value given; the query is text anyway."""
    if field is None or field.path[0] == "query":
        return True
    given, kinds = _at(arguments, field.path), schema_types(dict(field.schema))
    if given is not None:
        return isinstance(given, int) and not isinstance(given, bool)
    return bool({"integer", "number"} & set(kinds))


def _number(operation: Operation, arguments: Arguments, parameter: _Field | None) -> int | None:
    """The value of a numeric parameter: the argument, else the default in its schema."""
    if parameter is None:
        return None
    value = _at(arguments, parameter.path)
    if value is None:
        value = operation.json_schema(parameter.schema).get("default")
    # Documents and models give numbers as text too.
    value = int(value) if isinstance(value, str) and _DIGITS.fullmatch(value) else value
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MOST_NUMBER else None


def _by_offset(operation: Operation, arguments: Arguments, view: _View) -> dict[str, Any] | None:
    parameter = _offset_field(operation, arguments)
    count = len(view.items)
    if parameter is None or not count:
        return None
    first = 1 if _plain(parameter.name) == "startindex" else 0
    current = _number(operation, arguments, parameter)
    following = (first if current is None else current) + count
    if not _has_more(operation, arguments, view, following - first):
        return None
    return _with(arguments, parameter, following)


def _has_more(operation: Operation, arguments: Arguments, view: _View, seen: int) -> bool:
    """Whether more items follow, from the total, from a field such as `has_more`, or because the page is full."""
    total = view.find(_TOTALS)
    if isinstance(total, Mapping) and total.get("relation") != "gte":
        # Elasticsearch: {"value": 120, "relation": "eq"}
        total = total.get("value")
    if isinstance(total, int) and not isinstance(total, bool):
        return seen < total
    if view.more is not None:
        return view.more
    size = _number(operation, arguments, _size_field(operation, arguments))
    return size is not None and 0 < size <= len(view.items)


def _by_page(operation: Operation, arguments: Arguments, view: _View) -> dict[str, Any] | None:
    parameter = _page_field(operation, arguments)
    if parameter is None or not view.items:
        return None
    current = _number(operation, arguments, parameter)
    if current is None:
        said = view.find(_PAGES)
        current = said if isinstance(said, int) and not isinstance(said, bool) and said >= 0 else 1
    pages = view.find(_TOTAL_PAGES)
    if isinstance(pages, int) and not isinstance(pages, bool):
        return _with(arguments, parameter, current + 1) if current < pages else None
    size = _number(operation, arguments, _size_field(operation, arguments)) or len(view.items)
    if not _has_more(operation, arguments, view, current * size):
        return None
    return _with(arguments, parameter, current + 1)
