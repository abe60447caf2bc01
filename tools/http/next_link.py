"""The next link of a list (RFC 8288): where response headers have it, and to which arguments its URL leads.

The URL only gives arguments for the same operation: the client takes the query values that lead to a page, and only if
the URL is on a server of the API and has the same path. All other arguments stay those of the first request, so no
response can make the client request anything else.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import parse_qs, urlsplit

from restgpt.specs import SpecError
from restgpt.specs.operation import Operation
from restgpt.specs.server import absolute_url
from restgpt.tools.errors import AddressFault, ArgumentError
from restgpt.tools.network.addresses import joined_url, origin_of
from restgpt.tools.request.build import PAGE, ServerPage, build_request
from restgpt.tools.text.redaction import MARK, is_secret_name

Arguments = Mapping[str, Any]

LONGEST_CURSOR = 65_536
"""The most characters of a cursor: a longer one is not sent back, because the request of each page would have it."""

CURSORS = frozenset(
    {"cursor", "pagetoken", "nexttoken", "after", "startingafter", "continuationtoken", "continuation", "marker"}
    | {"startcursor", "pagecursor", "nextcursor", "paginationtoken", "nextpagetoken", "scrollid", "pageafter", "token"}
    | {"continue", "iterator"}
)
OFFSETS = frozenset({"offset", "skip", "start", "startindex", "startat", "from", "pageoffset"})
PAGES = frozenset({"page", "pagenumber", "pageno", "pageindex", "pagenum", "currentpage", "p"})
SIZES = frozenset({"limit", "perpage", "pagesize", "count", "maxresults", "top", "size", "rows", "results", "take"})
"""The plain names of parameters that lead from page to page, and of those that say how much a page has."""

# The names of query values that a next URL may set: cursors have any text, sizes and positions are numbers.
_LINKED_CURSORS = CURSORS | {"skiptoken", "pageid", "pageinfo", "cursormark", "afterid", "bookmark"}
_LINKED_CURSORS |= {"next", "nextpage", "nextkey", "pagingtoken", "pagestate", "pagekey", "resumptiontoken"}
_LINKED_CURSORS |= {"startafter", "searchafter", "startkey", "lastkey", "lastid", "exclusivestartkey", "pagebefore"}
_LINKED_CURSORS |= {"idafter", "lastseenid", "deltatoken"}
_LINKED_SIZES = SIZES | {"pagelimit"}
_LINKED_NUMBERS = _LINKED_SIZES | OFFSETS | PAGES
_LINKED_NUMBERS |= {"first", "pagestart", "startrow", "startposition", "startrecord", "resultoffset"}
# The name of a number or of a filter of the user too: a value of the first request only changes if it is a number.
_LINKED_EITHER = frozenset({"offset", "page", "since", "sinceid", "until", "before", "maxid", "minid"})
_DIGITS = re.compile(r"[0-9]{1,18}")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}")
_LETTERS = re.compile(r"[^a-z0-9]")

_LINK = re.compile(r"<([^<>]*)>((?:\s*;\s*[^,;\"=]+(?:=\s*\"[^\"]*\"|=[^,;\"]*)?)*)")
# Possessive, because a server may send many spaces.
_REL_NEXT = re.compile(r";\s*+rel\s*+=\s*+\"?[^\";]*\bnext\b", re.IGNORECASE)


def next_link(headers: Mapping[str, str]) -> str:
    """Return the URL of `rel="next"`, else the one of the header `Next-Page`, as Kinto sends it, or an empty string."""
    found = {name.lower(): value for name, value in headers.items()}
    for address, parameters in _LINK.findall(found.get("link", "")):
        if _REL_NEXT.search(parameters):
            return str(address)
    return found.get("next-page", "")


def plain(name: str) -> str:
    """Return the lower-case letters and digits of a name, by which names are compared."""
    return _LETTERS.sub("", name.lower())


def is_date(value: Any) -> bool:
    """Tell whether a value is the text of a date: one that the user gave is a filter, under whatever name."""
    return isinstance(value, str) and _DATE.match(value) is not None


def arguments_of_link(operation: Operation, arguments: Arguments, first: Arguments, address: str) -> Arguments:
    """Return the arguments with the values of a next URL that lead to another page; the same arguments if it has none.

    `first` are the arguments of the first page. Every other value stays as it is in the arguments: one that the URL
    adds, changes or leaves out, such as an account or `_method`, would make another request of it.
    """
    target = _target(operation, arguments, address)
    if target is None:
        return arguments
    declared = {item.name for item in operation.parameters if item.location == "query"}
    given = _query(build_request(operation, first).url)
    query, page = dict(arguments.get("query") or {}), ServerPage(arguments.get(PAGE) or {})
    changed = {
        name: values[0]
        for name, values in _query(target).items()
        if _leads(plain(name), given.get(name, []), values)
        and not _is_credential(operation, name, is_declared=name in declared)
        and str({**query, **page}.get(name)) != values[0]
    }
    # Another size alone would be the same page again.
    if all(plain(name) in _LINKED_SIZES for name in changed):
        return arguments
    query |= {name: value for name, value in changed.items() if name in declared}
    page |= {name: value for name, value in changed.items() if name not in declared}
    return {**arguments, "query": query, **({PAGE: page} if page else {})}


def unfollowed_link(operation: Operation, arguments: Arguments, address: str, *, in_header: bool) -> str:
    """What is wrong with a next URL that leads to no other page, the end of a sentence; empty if nothing is.

    One in the headers may have another path; in the body, that is the URL of something else.
    """
    current = build_request(operation, arguments).url
    target = _target(operation, arguments, address)
    if target is None:
        path = _path_below(operation, current)
        is_alike = bool(path) and "//" in address and address.partition("?")[0].rstrip("/").endswith(path or "")
        return "leads to another server or path" if in_header or is_alike else ""
    return "" if _query(current) == _query(target) else "changes other arguments than those that lead to pages"


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


def _query(url: str) -> dict[str, list[str]]:
    return parse_qs(urlsplit(url).query, keep_blank_values=True)


def _leads(name: str, given: Sequence[str], values: Sequence[str]) -> bool:
    """Whether values of a next URL only lead to a page; `given` are those of the first page."""
    if len(values) != 1 or len(given) > 1 or len(values[0]) > LONGEST_CURSOR or MARK in values[0]:
        return False
    if all(map(_DIGITS.fullmatch, (*given, values[0]))):
        return name in _LINKED_NUMBERS | _LINKED_CURSORS | _LINKED_EITHER
    return (name in _LINKED_EITHER and not given) or (name in _LINKED_CURSORS and not any(map(is_date, given)))


def _is_credential(operation: Operation, name: str, *, is_declared: bool) -> bool:
    """Whether a query value may be a credential; a declared parameter such as `_token` may hold a cursor."""
    schemes = operation.api.security_schemes.values()
    if any(scheme.location == "query" and scheme.name == name for scheme in schemes):
        return True
    return is_secret_name(name) and not (is_declared and plain(name) in CURSORS)
