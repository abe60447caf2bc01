"""The modules that a program has: those of Monty, and parts of others, in the prelude or in the host."""

import ast
import calendar
import codecs
import difflib
import fnmatch
import importlib
import ipaddress
import shlex
import string
import textwrap
import urllib.parse
from collections import namedtuple
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any

from restgpt.tools.sandbox.code import PARSING

# fmt: off
OF_MONTY = frozenset({
    "base64", "binascii", "bisect", "collections", "copy", "csv", "dataclasses", "datetime", "decimal", "functools",
    "hashlib", "itertools", "json", "math", "os", "pathlib", "posixpath", "random", "re", "sys", "time", "tomllib",
    "typing", "unicodedata",
})

# Functions that take time by the size of what they get, and give plain values.
_FUNCTIONS: Mapping[str, tuple[str, ...]] = {
    "calendar": ("isleap", "monthrange", "weekday"),
    "email.utils": ("parsedate_to_datetime",),
    "html": ("escape", "unescape"),
    "shlex": ("quote",),
    "statistics": (
        "fmean", "mean", "median", "median_high", "median_low", "mode", "multimode", "pstdev", "pvariance", "stdev",
        "variance",
    ),
    "textwrap": ("dedent", "shorten"),
    "urllib.parse": (
        "parse_qs", "parse_qsl", "quote", "quote_plus", "unquote", "unquote_plus", "urlencode", "urljoin",
    ),
}

_VALUES: Mapping[str, Mapping[str, Any]] = {
    "calendar": {name: list(getattr(calendar, name)) for name in ("month_name", "month_abbr", "day_name", "day_abbr")},
    "string": {name: value for name, value in vars(string).items() if name[0].islower() and isinstance(value, str)},
}

_PRELUDE: Mapping[str, tuple[str, ...]] = {
    "heapq": ("nlargest", "nsmallest"),
    "io": ("StringIO",),
    "ipaddress": ("ip_address", "ip_network"),
    "operator": ("attrgetter", "itemgetter"),
    "sys": ("exit", "stdout"),
    "urllib.parse": ("urlparse", "urlsplit", "urlunparse", "urlunsplit"),
}
"""Parts that take functions, or whose values are more than plain."""

_ENCODINGS = frozenset({
    *("ascii", "utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"),
    *("iso8859-1", "iso8859-2", "iso8859-15", "cp1250", "cp1251", "cp1252", "cp437", "mac-roman", "koi8-r"),
    *("shift_jis", "euc_jp", "euc_kr", "gb2312", "gbk", "gb18030", "big5"),
})  # fmt: skip
# fmt: on

_TIMES = "tm_year tm_mon tm_mday tm_hour tm_min tm_sec tm_wday tm_yday tm_isdst"

MOST_TEXTS, MOST_TEXT = 2000, 200
"""The maximum number of texts that are compared with one, and of their characters."""


def _bound(text: str, texts: list[str]) -> None:
    if len(texts) > MOST_TEXTS or any(len(each) > MOST_TEXT for each in (text, *texts)):
        raise ValueError(f"at most {MOST_TEXTS} texts of {MOST_TEXT} characters are compared")


def _close_matches(word: str, possibilities: list[str], n: int = 3, cutoff: float = 0.6) -> list[str]:
    _bound(word, possibilities)
    return difflib.get_close_matches(word, possibilities, n, cutoff)


def _matching(names: list[str], pat: str) -> list[str]:
    _bound(pat, names)
    return fnmatch.filter(names, pat)


def _literal(text: str) -> Any:
    with PARSING:
        tree = ast.parse(text.lstrip(" \t"), mode="eval")
    if any(isinstance(getattr(node, "value", None), complex | type(...)) for node in ast.walk(tree)):
        raise ValueError("there are no complex numbers here")
    try:
        return ast.literal_eval(tree)
    except ValueError:  # its message has an address of the host
        raise ValueError("malformed node or string") from None


def _recoded(value: str | bytes, encoding: str, errors: str) -> str | bytes:
    """Return a text as bytes, or bytes as a text, in an encoding that Monty does not have."""
    name = codecs.lookup(encoding).name
    known = _ENCODINGS | ({"idna", "unicode-escape"} if isinstance(value, str) else set())
    if name not in known or errors not in ("strict", "ignore", "replace", "backslashreplace", "xmlcharrefreplace"):
        raise LookupError(f"the encoding {encoding} is not here with errors={errors!r}")
    if name == "idna" and len(value) > MOST_TEXT:
        raise ValueError("label too long")
    return value.encode(encoding, errors) if isinstance(value, str) else value.decode(encoding, errors)


def _described(text: str | int, strict: bool | None = None) -> dict[str, Any]:
    """Return what an address, or with `strict` a network, says of itself."""
    found: Any = ipaddress.ip_address(text) if strict is None else ipaddress.ip_network(text, strict)
    ends = (found, found) if strict is None else (found[0], found[-1])
    told = {
        name: getattr(found, name) for name in ("version", "is_private", "is_global", "is_loopback", "is_multicast")
    }
    return {**told, "_text": str(found), "_shown": repr(found), "_first": int(ends[0]), "_last": int(ends[1])}


def _named(module: str, kind: str, names: str, values: Iterable[Any]) -> Any:
    return namedtuple(kind, names, module=module)(*values)


def _split_url(url: str, scheme: str, allow_fragments: bool, has_params: bool) -> list[str]:
    split = urllib.parse.urlparse if has_params else urllib.parse.urlsplit
    return [*split(_text(url), _text(scheme), allow_fragments)]


def _url(parts: list[str], count: int = 0) -> str:
    if len(parts) != (count or len(parts)):
        raise ValueError(f"a URL has {count} parts here")
    join = urllib.parse.urlunparse if len(parts) == 6 else urllib.parse.urlunsplit
    return join([_text(part) for part in parts])


def _server(netloc: str, name: str) -> Any:
    return getattr(urllib.parse.SplitResult("", netloc, "", "", ""), name)


def _translated(text: str, table: dict[int, str | int | None]) -> str:
    _bound("", [value for value in table.values() if isinstance(value, str)])
    return text.translate(table)


def _text(value: str) -> str:
    if not isinstance(value, str):
        raise TypeError("this takes a text here")
    return value


_OURS: Mapping[str, Callable[..., Any]] = {
    "ast.literal_eval": _literal,
    "codecs._recoded": _recoded,
    "difflib.get_close_matches": _close_matches,
    "fnmatch.filter": _matching,
    "fnmatch.fnmatch": lambda name, pat: bool(_matching([name], pat)),
    "ipaddress._described": _described,
    "shlex.split": lambda s, comments=False, posix=True: shlex.split(_text(s), comments, posix),  # None is the input
    "isocalendar": lambda day: _named("datetime", "IsoCalendarDate", "year week weekday", day.isocalendar()),
    "timetuple": lambda day: _named("time", "struct_time", _TIMES, day.timetuple()),
    "day": lambda seconds: datetime.fromtimestamp(seconds, UTC).date(),
    "moment": lambda seconds, tz=None: datetime.fromtimestamp(seconds, tz or UTC).replace(tzinfo=tz),
    "maketrans": lambda owner, *given: str.maketrans(*given),  # that of bytes takes no texts
    "string._translated": _translated,
    "textwrap.fill": lambda text, width=70: textwrap.fill(text, width),  # the others repeat what they get
    "textwrap.wrap": lambda text, width=70: textwrap.wrap(text, width),
    "urllib.parse._server": _server,
    "urllib.parse._split": _split_url,
    "urllib.parse._url": _url,
}
"""Functions of our own that run in the host; the prelude has those with an underscore."""


def part(full: str) -> str:
    """Return the name under which Monty has a part of a module that is not its own."""
    return "_host_" + full.replace(".", "_")


@cache
def host_functions() -> Mapping[str, Callable[..., Any]]:
    """Return the functions of modules that run in the host, by their names in Monty."""
    found = {part(full): function for full, function in _OURS.items()}
    for module, names in _FUNCTIONS.items():
        of = importlib.import_module(module)
        found |= {part(f"{module}.{name}"): getattr(of, name) for name in names}
    return found


HOST_VALUES = {f"{module}.{name}": value for module, of in _VALUES.items() for name, value in of.items()}
"""The values of modules, by their full names."""

PARTS = frozenset(
    {full for full in _OURS if "." in full and "._" not in full}
    | {f"{module}.{name}" for of in (_FUNCTIONS, _VALUES, _PRELUDE) for module, names in of.items() for name in names}
)
"""The parts of modules that Monty does not have."""

PARTIAL = frozenset(full.rpartition(".")[0] for full in PARTS) - OF_MONTY
"""The modules that Monty does not have, of which there are parts."""

MODULES = frozenset({*OF_MONTY, *(full.partition(".")[0] for full in PARTS)})
"""The top-level modules that can be imported."""


def lacking(full: str) -> str:
    """Return the sentence about a part of a module that is not there; empty for other names."""
    module = full.rpartition(".")[0]
    if module not in PARTIAL or full in PARTS | PARTIAL:
        return ""
    there = sorted(known.rpartition(".")[2] for known in PARTS if known.rpartition(".")[0] == module)
    return f"{full} is not here: {module} has {', '.join(there)}"
