"""The keyword `pattern`: compiled for Python, matched in bounded time, and a short text that matches it."""

import math
import re
from functools import lru_cache
from importlib import import_module
from typing import Any

LIKED = "a0A1b_-. "
LONGEST = 4096
LARGEST = 100_000
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


def matching_text(pattern: str, shortest: int = 0, longest: int = LONGEST) -> str | None:
    """Build a text of `shortest` to `longest` characters in which `pattern` is found; None if none is found.

    A text is not checked against a pattern that might take too long.
    """
    try:
        tree = import_module("re._parser").parse(pattern)
        re.compile(pattern)
        return _shortest_match(pattern, tree, shortest, longest)
    except (re.error, RecursionError, OverflowError):
        return None


def _shortest_match(pattern: str, tree: Any, shortest: int, longest: int) -> str | None:
    for times in (0, 1, _fewest_repeats(tree, shortest)):
        text = _sequence(tree, times, {})
        if text is None:
            return None
        # A pattern without an end allows anything after it.
        text = text.ljust(shortest, "a")
        if len(text) <= longest and is_found(pattern, text) is not False:
            return text
    return None


def _fewest_repeats(tree: Any, shortest: int) -> int:
    """Return how often to apply each repetition so that the text just reaches its shortest length."""
    low, high = 0, max(1, min(shortest, LONGEST))
    while low < high:
        middle = (low + high) // 2
        if len(_sequence(tree, middle, {}) or "") >= shortest:
            high = middle
        else:
            low = middle + 1
    return low


def _sequence(tree: Any, times: int, groups: dict[int, str]) -> str | None:
    parts = []
    for operator, argument in tree:
        part = _part(str(operator), argument, times, groups)
        if part is None:
            return None
        parts.append(part)
    return "".join(parts)


def _part(operator: str, argument: Any, times: int, groups: dict[int, str]) -> str | None:
    if operator == "LITERAL":
        return chr(argument)
    if operator == "NOT_LITERAL":
        return "a" if argument != ord("a") else "b"
    if operator == "ANY":
        return "a"
    if operator == "IN":
        return _member(argument)
    if operator == "BRANCH":
        return _sequence(argument[1][0], times, groups)
    if operator in REPEATS:
        low, high, inner = argument
        text = _sequence(inner, times, groups)
        count = min(max(low, times), int(high), LONGEST)
        return None if text is None or len(text) * count > LARGEST else text * count
    if operator in ("SUBPATTERN", "ATOMIC_GROUP"):
        inner = argument[-1] if operator == "SUBPATTERN" else argument
        text = _sequence(inner, times, groups)
        if operator == "SUBPATTERN" and argument[0] is not None and text is not None:
            groups[argument[0]] = text
        return text
    if operator == "GROUPREF":
        return groups.get(argument, "")
    return "" if operator in ("AT", "ASSERT", "ASSERT_NOT") else None


def _member(choices: Any) -> str | None:
    """Pick one character of a class, one of `LIKED` if the class has one."""
    negated = bool(choices) and str(choices[0][0]) == "NEGATE"
    candidates = [*LIKED, *(_first(str(kind), value) for kind, value in choices), *map(chr, range(33, 127))]
    for character in candidates:
        if character and any(_matches(str(kind), value, character) for kind, value in choices) != negated:
            return str(character)
    return None


def _first(kind: str, value: Any) -> str:
    if kind == "LITERAL":
        return chr(value)
    return chr(value[0]) if kind == "RANGE" else ""


def _matches(kind: str, value: Any, character: str) -> bool:
    if kind == "LITERAL":
        return ord(character) == int(value)
    if kind == "RANGE":
        return bool(value[0] <= ord(character) <= value[1])
    if kind == "CATEGORY":
        name = str(value)
        tests = {
            "DIGIT": character.isdigit(),
            "WORD": character.isalnum() or character == "_",
            "SPACE": character.isspace(),
        }
        found = tests.get(name.rsplit("_", 1)[-1], False)
        return found != ("_NOT_" in name)
    return False
