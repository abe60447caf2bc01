"""The modules that a program has: those of Monty, and parts of others, in the prelude or in the host."""

import ast
import calendar
import codecs
import difflib
import fnmatch
import importlib
import ipaddress
import pprint
import shlex
import string
import urllib.parse
from collections.abc import Callable, Mapping
from contextlib import suppress
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
    "hmac": ("compare_digest", "digest"),
    "html": ("escape", "unescape"),
    "shlex": ("quote",),
    "statistics": (
        "fmean", "mean", "median", "median_high", "median_low", "mode", "multimode", "pstdev", "pvariance", "quantiles",
        "stdev", "variance",
    ),
    "textwrap": ("dedent", "fill", "indent", "shorten", "wrap"),
    "urllib.parse": (
        "parse_qs", "parse_qsl", "quote", "quote_plus", "unquote", "unquote_plus", "urlencode", "urljoin",
    ),
}

_VALUES: Mapping[str, Mapping[str, Any]] = {
    "calendar": {name: list(getattr(calendar, name)) for name in ("month_name", "month_abbr", "day_name", "day_abbr")},
    "string": {name: value for name, value in vars(string).items() if name[0].islower() and isinstance(value, str)},
}

_PRELUDE: Mapping[str, tuple[str, ...]] = {
    "dataclasses": ("asdict",),
    "heapq": ("nlargest", "nsmallest"),
    "hmac": ("new",),
    "io": ("StringIO",),
    "ipaddress": ("ip_address", "ip_network"),
    "operator": ("attrgetter", "itemgetter"),
    "pprint": ("pformat", "pp", "pprint"),
    "string": ("Template",),
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

MOST_TEXTS, MOST_TEXT = 2000, 200
"""The maximum number of texts that are compared with one, and of the characters of a text beside a large one."""

MOST_DEPTH, MOST_ITEMS, MOST_NUMBER = 20, 20_000, 1000
"""The deepest nesting and the most items of a value that is printed nicely; the largest number of how much to make."""


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


def _pretty(value: Any, indent: int = 1, width: int = 80, depth: int | None = None, **how: bool) -> str:
    level, size = [value], 0
    for _ in range(MOST_DEPTH):
        inner = [[*each.values()] if isinstance(each, dict) else each for each in level]
        level = [item for each in inner if isinstance(each, list | tuple) for item in each]
        size += len(level)
    if level or size > MOST_ITEMS or not 0 <= indent <= MOST_DEPTH:
        raise ValueError("pprint takes less than this here: use json.dumps(value, indent=1)")
    return pprint.pformat(value, indent, width, depth, **how)


def _address(text: str | int) -> dict[str, Any]:
    found = ipaddress.ip_address(text)
    return _described(found, found, found)


def _network(text: str, strict: bool = True) -> dict[str, Any]:
    found = ipaddress.ip_network(text, strict)
    return {
        **_described(found, found[0], found[-1]),
        "prefixlen": found.prefixlen,
        "num_addresses": found.num_addresses,
    }


def _described(value: Any, first: Any, last: Any) -> dict[str, Any]:
    kinds = ("private", "global", "loopback", "link_local", "multicast", "reserved", "unspecified")
    told = {f"is_{kind}": getattr(value, f"is_{kind}") for kind in kinds}
    shown = {"_text": str(value), "_shown": repr(value), "_first": int(first), "_last": int(last)}
    return {**shown, "version": value.version, **told}


def _split_url(url: str, scheme: str, allow_fragments: bool, has_params: bool) -> list[str]:
    split = urllib.parse.urlparse if has_params else urllib.parse.urlsplit
    return [*split(_text(url), _text(scheme), allow_fragments)]


def _url(parts: list[str]) -> str:
    join = urllib.parse.urlunparse if len(parts) == 6 else urllib.parse.urlunsplit
    return join([_text(part) for part in parts])


def _server(netloc: str) -> dict[str, Any]:
    """Return what a URL says of its server; a port that is none is not there."""
    found = urllib.parse.SplitResult("", netloc, "", "", "")
    told: dict[str, Any] = {name: getattr(found, name) for name in ("username", "password", "hostname")}
    with suppress(ValueError):
        told["port"] = found.port
    return told


def _text(value: str) -> str:
    if not isinstance(value, str):
        raise TypeError("this takes a text here")
    return value


def _beside(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that takes one large argument; others say how much it makes of it."""

    def bounded(*given: Any, **named: Any) -> Any:
        for value in (*given[1:], *named.values()):
            is_large = isinstance(value, str) and len(value) > MOST_TEXT
            if is_large or (isinstance(value, int | float) and abs(value) > MOST_NUMBER):
                raise ValueError(f"at most {MOST_TEXT} characters and numbers up to {MOST_NUMBER} can stand here")
        return function(*given, **named)

    return bounded


_OURS: Mapping[str, Callable[..., Any]] = {
    "ast.literal_eval": _literal,
    "codecs._recoded": _recoded,
    "difflib.get_close_matches": _close_matches,
    "fnmatch.filter": _matching,
    "fnmatch.fnmatch": lambda name, pat: bool(_matching([name], pat)),
    "ipaddress._address": _address,
    "ipaddress._network": _network,
    "pprint._pretty": _pretty,
    "shlex.split": lambda s, comments=False, posix=True: shlex.split(_text(s), comments, posix),  # None is the input
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
        bounded = _beside if module in ("statistics", "textwrap") else lambda function: function
        found |= {part(f"{module}.{name}"): bounded(getattr(of, name)) for name in names}
    return found


HOST_VALUES = {f"{module}.{name}": value for module, of in _VALUES.items() for name, value in of.items()}
"""The values of modules, by their full names."""

PARTS = frozenset(
    {full for full in _OURS if "._" not in full}
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
