"""The modules that a program has: those of Monty, and parts of others, whose functions run in the host."""

import calendar
import difflib
import importlib
import string
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import pydantic_monty as monty

# fmt: off
_OF_MONTY = (
    "base64", "binascii", "bisect", "collections", "copy", "csv", "dataclasses", "datetime", "decimal", "functools",
    "hashlib", "itertools", "json", "math", "os", "pathlib", "posixpath", "random", "re", "sys", "time", "tomllib",
    "typing", "unicodedata",
)

# Functions that take time by the size of what they get, and give plain values.
_FUNCTIONS: Mapping[str, tuple[str, ...]] = {
    "calendar": ("isleap", "monthrange", "weekday"),
    "html": ("escape", "unescape"),
    "statistics": (
        "fmean", "mean", "median", "median_high", "median_low", "mode", "multimode", "pstdev", "pvariance", "quantiles",
        "stdev", "variance",
    ),
    "textwrap": ("dedent", "fill", "indent", "shorten", "wrap"),
    "urllib.parse": (
        "parse_qs", "parse_qsl", "quote", "quote_plus", "unquote", "unquote_plus", "urlencode", "urljoin",
    ),
}
# fmt: on

_VALUES: Mapping[str, Mapping[str, Any]] = {
    "calendar": {name: list(getattr(calendar, name)) for name in ("month_name", "month_abbr", "day_name", "day_abbr")},
    "string": {name: value for name, value in vars(string).items() if name.islower() and isinstance(value, str)},
}

MODULES = frozenset({*_OF_MONTY, *_VALUES, "difflib", *(name.partition(".")[0] for name in _FUNCTIONS)})
"""The modules that can be imported."""


MOST_TEXTS, MOST_TEXT = 2000, 200
"""The maximum number of texts that are compared with one, and of their characters."""


def _close_matches(word: str, possibilities: list[str], n: int = 3, cutoff: float = 0.6) -> list[str]:
    if len(possibilities) > MOST_TEXTS or any(len(text) > MOST_TEXT for text in (word, *possibilities)):
        raise ValueError(f"at most {MOST_TEXTS} texts of {MOST_TEXT} characters are compared")
    return difflib.get_close_matches(word, possibilities, n, cutoff)


@cache
def host_functions() -> dict[str, Callable[..., Any]]:
    """Return the functions of modules that run in the host, by their full names."""
    return {"difflib.get_close_matches": _close_matches} | {
        f"{module}.{name}": getattr(importlib.import_module(module), name)
        for module, names in _FUNCTIONS.items()
        for name in names
    }


@cache
def host_modules() -> dict[str, monty.ExternalModule]:
    """Return the modules whose parts run in the host, as Monty imports them."""
    found: dict[str, dict[str, Any]] = {name: dict(values) for name, values in _VALUES.items()}
    for full, function in host_functions().items():
        module, _, name = full.rpartition(".")
        found.setdefault(module, {})[name] = function
    for name in [name for name in found if "." in name]:
        parent, _, last = name.partition(".")
        found.setdefault(parent, {})[last] = monty.ExternalModule(found[name])
    return {name: monty.ExternalModule(attrs) for name, attrs in found.items() if "." not in name}
