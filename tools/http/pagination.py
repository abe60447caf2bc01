"""Pagination: find the arguments of the next page, request pages up to a limit, merge their values.

A response announces a next page by a link (RFC 8288), by a URL in its body, or by one of `STYLES`; the first one that
it shows decides. What a server sends only becomes arguments of the same operation.

Cursor, offset and page number are parameters of the query or the header, or fields of a JSON body: at its top, or in an
object such as `pagination`. Only such a parameter or field changes from page to page. A URL may add query values, and
changes those that lead to a page, only if it is on a server of the API and has the same path.
"""

import contextlib
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

from restgpt.specs import SpecError
from restgpt.specs.effort import within
from restgpt.specs.operation import Operation
from restgpt.specs.reading.json_text import is_too_deep
from restgpt.specs.schemas.shape import Shape
from restgpt.specs.servers import absolute_url
from restgpt.tools.errors import AddressFault, ArgumentError
from restgpt.tools.http.addresses import joined_url, origin_of
from restgpt.tools.request.prepared_request import PAGE, ServerPage, build_request
from restgpt.tools.response.content import Reply, memory_of
from restgpt.tools.text.redaction import MARK, is_secret_name

Arguments = Mapping[str, Any]
Send = Callable[[Arguments], Reply]

MOST_PAGES = 10
STEPS_MOST = 200_000
"""How many steps the schemas of an operation may take in the search for the next page."""
LONGEST_CURSOR = 65_536
"""The most characters of a cursor: a longer one is not sent back, because the request of each page would have it."""
# The estimated bytes of the values of all pages of one list; no further page is requested after that.
MOST_MEMORY = 128 * 1024 * 1024
NOT_WHOLE = "The list is not whole: {}."
REPEATED = "Page {} has the items of the page before it, so whether the list goes on is not known."
"""The notice of a list whose server sends a page again; the page is left out."""
# Objects with more names are maps, not the envelope of a page.
MOST_NAMES = 500


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# All names are plain ones. First those of parameters: what leads from page to page, and how much a page has.
CURSORS = _names(
    "cursor startcursor pagecursor nextcursor pagetoken nexttoken nextpagetoken paginationtoken token after pageafter"
    " startingafter continuationtoken continuation continue marker scrollid iterator"
)
OFFSETS = _names("offset skip start startindex startat from pageoffset")
PAGES = _names("page pagenumber pageno pageindex pagenum currentpage p")
SIZES = _names("limit pagelimit perpage pagesize count maxresults top size rows results take")
GROUPS = _names("page pagination paging pageable pageinfo pageoptions")
"""The names of objects of a body whose fields lead to pages."""
# The values of the first request that a next URL may change: a cursor to any text, each of them from number to number.
_LINKED_CURSORS = CURSORS | _names("skiptoken pageinfo cursormark bookmark next nextpage nextkey searchafter lastid")
_LINKED = _LINKED_CURSORS | OFFSETS | PAGES | SIZES | _names("first since sinceid until before maxid minid")
# The fields of a response, or its headers without their prefix.
_PREFIX = re.compile(r"(?:(?:x|ms|opc|amz|pagination)-)+")
_NEXT_CURSORS = _names(
    "next nextcursor nextpage nextpagetoken nexttoken nextmarker nextkey continuationtoken nextcontinuationtoken"
    " continuation endcursor cursor after paginationtoken scrollid"
)
_TOTAL_PAGES = _names("totalpages pagecount lastpage pages numpages")
_TOTALS = _names(
    "total totalcount totalresults totalitems totalrecords totalelements totalhits odatacount hydratotalitems"
)
NEXT = _names("nextpartitionkey nextrowkey nexttablename")
_MORE = _names("hasmore hasnext hasnextpage more hasmoreitems")
_LAST = _names("islast last islastpage done")
_ITEMS = _names("items data results records entries rows hits value resources objects")

_DIGITS = re.compile(r"[0-9]{1,18}")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}")
_LETTERS = re.compile(r"[^a-z0-9]")
_TEMPLATE = re.compile(r"\{[?&][\w,.*%-]*\}")
_RANGE = re.compile(r"[a-z]+ [0-9]+-[0-9]+/([0-9]{1,18})")
_LINK = re.compile(r"<([^<>]*)>((?:\s*;\s*[^,;\"=]+(?:=\s*\"[^\"]*\"|=[^,;\"]*)?)*)")
# Possessive, because a server may send many spaces.
_REL_NEXT = re.compile(r";\s*+rel\s*+=\s*+\"?[^\";]*\bnext\b", re.IGNORECASE)


def next_link(headers: Mapping[str, str]) -> str:
    """Return the URL of `rel="next"`, else the one of the header `Next-Page`, as Kinto sends it, or an empty string."""
    found = {name.lower(): value for name, value in headers.items()}
    links = (address for address, parameters in _LINK.findall(found.get("link", "")) if _REL_NEXT.search(parameters))
    page = found.get("next-page", "")
    return next(links, "" if page.isdigit() else page)


def plain(name: str) -> str:
    """Return the lower-case letters and digits of a name, by which names are compared."""
    return _LETTERS.sub("", name.lower())


def is_date(value: Any) -> bool:
    """Tell whether a value is the text of a date: one that the user gave is a filter, under whatever name."""
    return isinstance(value, str) and _DATE.match(value) is not None


class _Field(NamedTuple):
    """A place of a request with its value: a parameter of the query, or a field of the body."""

    path: tuple[str, ...]
    shape: Shape
    value: Any

    @property
    def name(self) -> str:
        """The name of the field, that of a header without its prefix."""
        return _PREFIX.sub("", self.path[-1].lower()) if self.path[0] == "header" else self.path[-1]

    @property
    def names(self) -> frozenset[str]:
        """The plain names of the field; `number` in an object for paging is `pagenumber` too."""
        own = plain(self.name)
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


class _Request:
    """The fields of a request that may lead to pages: those of the query, the header and a JSON body.

    A date that the `first` request has is left out. It is the one of the page number `read` since the first request.
    """

    def __init__(self, operation: Operation, arguments: Arguments, first: Arguments, read: int = 1) -> None:
        self._document, self._arguments, self._first, self._read = operation.document, arguments, first, read
        places = {
            (item.location, item.field): item.shape
            for item in operation.keywords
            if item.location in ("query", "header")
        }
        fields = [_Field(path, shape, _at(arguments, path)) for path, shape in places.items()]
        fields = [item for item in fields if item.path[0] == "query" or not is_secret_name(item.name)]
        body = operation.body
        if body and "json" in body.preferred.media_type.lower() and operation.method != "GET":
            fields += self._inner(("body",), Shape(self._document, body.preferred.schema, request=True))
        inner = [(GROUPS & field.names and self._inner(field.path, field.shape)) or [field] for field in fields]
        self._fields = [field for fields in inner for field in fields if not is_date(_at(first, field.path))]
        size = self.field(SIZES, of_numbers=True)
        self.size = (size and size.number) or 0
        """How many items the request asks for, at most; 0 if it does not say so."""

    def _inner(self, path: tuple[str, ...], shape: Shape) -> list[_Field]:
        """The fields of an object: those that the arguments have and the documented ones, without secrets."""
        value = _at(self._arguments, path)
        if value is not None and not isinstance(value, Mapping):
            return []
        shapes = {**{str(name): Shape(self._document, {}, request=True) for name in value or {}}, **shape.fields}
        names = (name for name in shapes if not is_secret_name(name))
        return [_Field((*path, name), shapes[name], _at(value, [name])) for name in names]

    @property
    def is_of_pages(self) -> bool:
        """Whether the request can ask for a page, and the first one asked for no page but the first."""
        found = [_at(self._first, field.path) for field in self._fields if field.names & (CURSORS | OFFSETS | PAGES)]
        return bool(found) and all(value is None or _whole(value) in (0, 1) for value in found)

    def position(self, field: _Field, echo: int | None) -> int:
        """Which page of the list this one is, counted from 1; `echo` is its number in the answer."""
        first, base = _whole(_at(self._first, field.path)), _whole(field.shape.flat.get("default"))
        if first is None:
            return self._read
        if base is None:
            base = 0 if first == 0 or (echo is not None and field.number == echo - 1) else 1
        return first - base + self._read

    @property
    def is_guess(self) -> bool:
        """Whether it asks for page 1, which may be the first page again, because that one was asked without number."""
        field = self.field(PAGES, of_numbers=True)
        return field is not None and _whole(field.value) == 1 and _at(self._first, field.path) is None

    def field(self, names: Collection[str], *, of_numbers: bool = False) -> _Field | None:
        """The first field with one of these plain names; with `of_numbers`, the first that takes numbers."""
        named = (field for field in self._fields if not field.names.isdisjoint(names))
        return next((field for field in named if not of_numbers or field.takes_number), None)


class _Page:
    """A response for pagination: its next URLs, its fields that may tell of pages, and the items of the page."""

    def __init__(self, operation: Operation, reply: Reply) -> None:
        value = reply.content.value
        headers = {_PREFIX.sub("", name.lower()): _typed(text) for name, text in reply.headers.items()}
        parts = (*_holders(value), *_holders(headers))
        held = [(str(name), item) for holder in parts for name, item in islice(holder.items(), MOST_NAMES)]
        self.tokens = {name: item for key, item in headers.items() if (name := plain(key[13:])) in NEXT}
        """The parts of a cursor of Azure's tables, `x-ms-continuation-NextRowKey`, by the names of their parameters."""
        if (whole := _RANGE.fullmatch(str(headers.get("content-range", "")))) is not None:
            held.append(("total", int(whole[1])))
        self._fields = [(plain(name), item) for name, item in held]
        self.items = _main_list(value, plain(operation.path.rstrip("/").rpartition("/")[2]))
        more, last = self.find(_MORE, bool), self.find(_LAST, bool)
        more = True if self.tokens else more
        self.more: bool | None = not last if more is None and last is not None else more
        """Whether a field such as `has_more` or `is_last` announces another page; None if there is no such field."""
        self.link = reply.next_link or next_link(reply.headers) or next(self._related(), "")
        self.address = _TEMPLATE.sub("", self.link or next(self._addresses(), ""))
        """The next URL; empty on the last page."""
        self.number = _whole(self.find(PAGES | {"number"}, int))
        """The number of the page, if the response tells it."""

    def find(self, names: Collection[str], *kinds: type) -> Any:
        """The first value of one of these types under one of these plain names; None if there is none."""
        return next((value for name, value in self._fields if name in names and type(value) in kinds), None)

    def _related(self) -> Iterator[str]:
        """The next URLs in lists of links, as FHIR, PayPal and Spring have them."""
        lists = (value for name, value in self._fields if name in ("link", "links") and isinstance(value, list))
        for link in (link for links in lists for link in links[:MOST_NAMES] if isinstance(link, Mapping)):
            address = link.get("href") or link.get("url") or link.get("uri")
            if "next" in (link.get("rel") or link.get("relation") or "") and isinstance(address, str):
                yield address

    def _addresses(self) -> Iterator[str]:
        """The next URLs in the body, each a string or an object with `href` or `url`."""
        values = [value for name, value in self._fields if name.removeprefix("odata").startswith("next")]
        for value in values if self.more is not False else ():
            found = value.get("href") or value.get("url") if isinstance(value, Mapping) else value
            if isinstance(found, str) and (found.startswith(("http://", "https://", "/")) or "?" in found):
                yield found

    def has_more(self, size: int, seen: int) -> bool:
        """Whether items follow the `seen` ones, from the total, from `has_more`, or because the page is full."""
        total = self.find(_TOTALS, int, dict)
        # Elasticsearch: {"value": 120, "relation": "eq"}
        if isinstance(total, dict) and total.get("relation") != "gte":
            total = total.get("value")
        if (total := _whole(total)) is not None:
            return seen < total
        return 0 < size <= len(self.items) if self.more is None else self.more


def _next_cursor(field: _Field, request: _Request, page: _Page) -> Any:
    """The cursor of the response; or id or cursor of the last item, if more follow it by a name as `starting_after`."""
    cursor = page.find(_NEXT_CURSORS | field.names, str, int)
    if not cursor and page.items and not field.names.isdisjoint(("startingafter", "after", "iterator")):
        last = page.items[-1]
        is_full = page.more is None and 0 < request.size <= len(page.items)
        cursor = (page.more and _at(last, ["id"])) or ((page.more or is_full) and _at(last, ["cursor"]))
    return cursor if cursor and isinstance(cursor, str | int) and len(str(cursor)) <= LONGEST_CURSOR else None


def _next_offset(field: _Field, request: _Request, page: _Page) -> int | None:
    # Beside its end, it is the start of a range that the user wants.
    if field.names & {"from", "start"} and request.field(("to", "until", "end", "stop")):
        return None
    echo, first = _whole(page.find(field.names, int)), 1 if "startindex" in field.names else 0
    first = echo if field.number is None and echo is not None else first
    following = (first if field.number is None else field.number) + len(page.items)
    return following if page.items and page.has_more(request.size, following - first) else None


def _next_number(field: _Field, request: _Request, page: _Page) -> Any:
    """The number after this one; 1 if nothing tells whether the first page is number 0 or 1."""
    following = page.find(("nextpage", "next"), int, str)
    if _whole(following) or (following and isinstance(following, str) and "integer" not in field.shape.kinds):
        return _whole(following) or following
    if not field.takes_number:
        return None
    current = field.number
    if current is None:
        current = 1 if page.number == 1 else 0
    position, pages = request.position(field, page.number), page.find(_TOTAL_PAGES, int)
    is_more = page.has_more(request.size, position * (request.size or len(page.items)))
    is_more = is_more if pages is None else position < pages
    return current + 1 if page.items and is_more else None


STYLES: dict[frozenset[str], Callable[[_Field, _Request, _Page], Any]] = {
    CURSORS: _next_cursor,
    OFFSETS: _next_offset,
    PAGES: _next_number,
}
"""By the names of the field that leads to the next page: the function of its next value; the first value decides."""


def next_request(
    operation: Operation, arguments: Arguments, reply: Reply, *, first: Arguments | None = None, read: int = 1
) -> Arguments | None:
    """The arguments of the next page; None if there is none or the response does not show one.

    `first` are the arguments of the first page, if these are not, and `read` pages begin with that one. Ask it only of
    an operation that reads.
    """
    if not reply.is_success:
        return None
    first = arguments if first is None else first
    with within(STEPS_MOST, operation.document.allowance):
        page = _Page(operation, reply)
        if page.address:
            return _linked(operation, arguments, first, page.address)
        queries = (item.field for item in operation.keywords if item.location == "query")
        if page.tokens and (takers := [name for name in queries if plain(name) in NEXT]):
            given = {name: item for name, item in (arguments.get("query") or {}).items() if name not in takers}
            found = {name: page.tokens.get(plain(name)) for name in takers}
            return {**arguments, "query": {**given, **{name: text for name, text in found.items() if text}}}
        request = _Request(operation, arguments, first, read)
        for names, value_of in STYLES.items() if page.more is not False else ():
            field = request.field(names, of_numbers=names is not CURSORS)
            # Oracle's `page` takes a token.
            field = request.field(PAGES) if field is None and names is PAGES else field
            value = value_of(field, request, page) if field else None
            if field and value is not None:
                following: Arguments = _put(arguments, field.path, value)
                return following if following != arguments else None
    return None


def _linked(operation: Operation, arguments: Arguments, first: Arguments, address: str) -> Arguments | None:
    """The arguments with the values of a next URL, which lead to another page; None if it has none.

    It may add a value, unless that is a credential or a method. A value of the first request stays as it is, unless it
    leads to pages: another account, for example, would make another request of it.
    """
    target = _target(operation, arguments, address)
    if target is None:
        return None
    declared = {item.name for item in operation.parameters if item.location == "query"}
    keys = {scheme.name for scheme in operation.api.security_schemes.values() if scheme.location == "query"}
    current = _query(build_request(operation, arguments).url)
    # By plain names, because some servers take `Account` and `account[]` for `account`.
    given = {plain(name): values for name, values in _query(build_request(operation, first).url).items()}
    changed = {
        name: values[0] if len(values) == 1 else values
        for name, values in _query(target).items()
        if values != current.get(name)
        and _leads(plain(name), given.get(plain(name), []), values)
        and (operation.method == "GET" or plain(name) in _LINKED)
        and name not in keys
        # A declared parameter such as `_token` may hold a cursor.
        and (not is_secret_name(name) or (name in declared and plain(name) in CURSORS))
    }
    # Another size alone would be the same page again.
    if all(plain(name) in SIZES for name in changed):
        return None
    query = {**(arguments.get("query") or {}), **{name: changed[name] for name in changed if name in declared}}
    page = {**(arguments.get(PAGE) or {}), **{name: changed[name] for name in changed if name not in declared}}
    return {**arguments, "query": query, **({PAGE: ServerPage(page)} if page else {})}


def unfollowed(operation: Operation, arguments: Arguments, reply: Reply) -> str:
    """What is wrong with the next URL that a response names, the end of a sentence; empty if it names none.

    It is not followed if it is on the path of the request and changes something, but not the page, or if it is on
    another server. One in the headers may have another path; in the body, that is the URL of something else.
    """
    page = _Page(operation, reply)
    if not reply.is_success or not page.address:
        return ""
    current, target = build_request(operation, arguments).url, _target(operation, arguments, page.address)
    if target is not None:
        return "" if _query(current) == _query(target) else "changes other arguments than those that lead to pages"
    path = _path_below(operation, current) or ""
    is_alike = bool(path) and "//" in page.address and page.address.partition("?")[0].rstrip("/").endswith(path)
    return "leads to another server or path" if page.link or is_alike else ""


def _target(operation: Operation, arguments: Arguments, address: str) -> str | None:
    """A next URL in full; None if it is on another server or has another path than the request."""
    try:
        current = build_request(operation, arguments).url
        target = joined_url(current, address)
        path = _path_below(operation, target)
        return target if path is not None and path == _path_below(operation, current) else None
    except (AddressFault, ArgumentError, SpecError, ValueError):
        return None


def _path_below(operation: Operation, url: str) -> str | None:
    """The path of a URL below the `base_url` of the operation, or below a server of the document; None otherwise."""
    bases = (operation.base_url, *(absolute_url(server, operation.api.location) for server in operation.servers))
    origin, path = origin_of(url), urlsplit(url).path
    for base in filter(None, bases):
        prefix = urlsplit(base).path.rstrip("/")
        if origin == origin_of(base) and path.startswith(f"{prefix}/"):
            return path[len(prefix) :].rstrip("/")
    return None


def _typed(text: str) -> Any:
    """The value of a header: a number, a boolean, an object as JSON, or its text."""
    if text.startswith("{") and not is_too_deep(text):
        with contextlib.suppress(ValueError):
            return json.loads(text)
    number = _whole(text)
    return number if str(number) == text else {"true": True, "false": False}.get(text.lower(), text)


def _query(url: str) -> dict[str, list[str]]:
    return parse_qs(urlsplit(url).query, keep_blank_values=True)


def _leads(name: str, given: Sequence[str], values: Sequence[str]) -> bool:
    """Whether values of a next URL are added, or only lead to a page; `given` are those of the first page."""
    if "method" in name or any(len(value) > LONGEST_CURSOR or MARK in value for value in values):
        return False
    if not given or len(values) + len(given) > 2:
        return not given
    if all(map(_DIGITS.fullmatch, (*given, values[0]))):
        return name in _LINKED
    return name in _LINKED_CURSORS and not any(map(is_date, given))


class PageWalk:
    """The first reply and the replies of the next pages, at most `most` in all.

    It ends at an error, at a page that was already requested, at the items of the page before it, and when the pages
    together take more than `MOST_MEMORY`. Then `goes_on` tells whether more pages may follow, and `doubt` why the list
    is not whole, as a sentence.
    """

    def __init__(
        self, send: Send, operation: Operation, arguments: Arguments, first: Reply, *, most: int = MOST_PAGES
    ) -> None:
        self._send, self._operation, self._first, self._most = send, operation, first, most
        self._asked = [arguments]
        self.goes_on, self.doubt = False, ""

    def __iter__(self) -> Iterator[Reply]:
        """Yield the replies, and request each page when it is wanted."""
        operation, asked, reply, left = self._operation, self._asked, self._first, MOST_MEMORY
        page = _Page(operation, reply)
        read, items = 1, len(page.items)
        yield reply
        while True:
            left -= memory_of(reply.content.raw)
            following = next_request(operation, asked[-1], reply, first=asked[0], read=read)
            self.goes_on = following is not None
            if following is None or following in asked:
                self.doubt = self._doubt(page, reply, items)
            if following is None or following in asked or read >= self._most or left < 0:
                return
            asked.append(following)
            before, number, reply = reply, page.number, self._send(following)
            page = _Page(operation, reply)
            if not reply.is_success:
                return
            if _repeats(before, reply):
                if len(asked) == 2 and _Request(operation, following, asked[0]).is_guess:
                    continue
                self.doubt = REPEATED.format(read + 1)
                return
            if number is not None and page.number is not None and page.number > number + 1:
                self.doubt = NOT_WHOLE.format(f"after page {number} came page {page.number}")
                return
            read, items = read + 1, items + len(page.items)
            yield reply

    def _doubt(self, page: _Page, reply: Reply, items: int) -> str:
        """Why a list is not whole after its last page; empty if it is."""
        if why := unfollowed(self._operation, self._asked[-1], reply):
            return NOT_WHOLE.format(f"the address of its next page {why}")
        is_short = page.more is None and page.has_more(0, items)
        if items and (
            page.more or (is_short and _Request(self._operation, self._asked[-1], self._asked[0]).is_of_pages)
        ):
            return NOT_WHOLE.format("the response says that more follows, but not how to ask for it")
        return ""


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


def _put(group: Any, path: Sequence[str], value: Any) -> Any:
    """An object with a new value in one place; everything else stays as it was."""
    return {**(group or {}), path[0]: _put(_at(group, path[:1]), path[1:], value)} if path else value


def _at(value: Any, path: Sequence[str]) -> Any:
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _whole(value: Any) -> int | None:
    """A whole number, of text too, because documents and models give numbers as text; None for anything else."""
    value = int(value) if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 19 else value
    return value if type(value) is int and 0 <= value < 10**18 else None
