"""The keyword `pattern`: compiled for Python, and matched in bounded time."""

import math
import re
from functools import lru_cache
from importlib import import_module
from typing import Any

# A longer pattern takes too long to compile.
PATTERN_MOST = 5000
MOST_WAYS = 10_000_000
REPEATS = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")
# Python warns that these may become operations on character classes.
DOUBTFUL = re.compile(r"\[[^\]]*(?:--|&&|~~|\|\||(?<!\\)\[)")
LITERAL = re.compile(r"/(\^?.*\$?)/([gimsuy]*)\Z", re.DOTALL)


def plain_pattern(value: Any) -> str | None:
    """Return a pattern that Python compiles, without the slashes and flags of a JavaScript literal; else None."""
    if not isinstance(value, str) or len(value) > PATTERN_MOST:
        return None
    literal = LITERAL.match(value)
    text = value if literal is None else ("(?i)" if "i" in literal.group(2) else "") + literal.group(1)
    return text if is_pattern(text) else None


def is_pattern(text: str) -> bool:
    """Tell whether a pattern, written for ECMA 262, also compiles in Python and certainly means the same there."""
    if len(text) > PATTERN_MOST or DOUBTFUL.search(text):
        return False
    try:
        re.compile(text)
    except (re.error, RecursionError, OverflowError):
        return False
    return True


def is_found(pattern: str, text: str) -> bool | None:
    """Tell whether a pattern is found in a text; None, without trying, if the search might take too long.

    Raises the errors of `re.compile`.
    """
    return bool(re.search(pattern, text)) if is_quick(pattern, len(text)) else None


@lru_cache(maxsize=4096)
def is_quick(pattern: str, length: int) -> bool:
    """Tell whether a pattern has few ways to match in a text of this length; raises the errors of `re.compile`.

    Python tries one way after the other and cannot be stopped: `(a+)+$` has 2^n ways in n letters.
    """
    tree = import_module("re._parser").parse(pattern)
    try:
        is_anchored = str(tree[:1]).startswith("[(AT, AT_BEGINNING") and not tree.state.flags & re.MULTILINE
        places = 1 if is_anchored else length + 1
        return math.log(places) + _ways(tree, length) <= math.log(MOST_WAYS)
    except (RecursionError, OverflowError):
        return False


def _ways(tree: Any, length: int) -> float:
    """Return the logarithm of an upper bound of the ways to match in a text of this length."""
    return sum(_ways_of(str(operator), argument, length) for operator, argument in tree)


def _ways_of(operator: str, argument: Any, length: int) -> float:
    if operator in REPEATS:
        low, high, inner = argument
        most: int = min(int(high), max(low, length))
        return math.log(most - low + 1) + most * _ways(inner, length)
    if operator == "BRANCH":
        branches = argument[1]
        return math.log(len(branches)) + max(_ways(branch, length) for branch in branches)
    if operator == "GROUPREF_EXISTS":
        return sum(_ways(branch, length) for branch in argument[1:] if branch is not None)
    if operator in ("SUBPATTERN", "ASSERT", "ASSERT_NOT"):
        return _ways(argument[-1], length)
    return _ways(argument, length) if operator == "ATOMIC_GROUP" else 0.0
