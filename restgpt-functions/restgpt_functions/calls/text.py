"""Call strings: Python-like calls in a text, with dotted names, balanced brackets and strings."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from restgpt_functions.calls.call import CallSyntaxError
from restgpt_functions.calls.literals import read_literal

DEPTH = 100
"""Deeper brackets are refused before Python's own parser sees them."""

ATTEMPTS = 50
"""After so many unreadable calls the rest of a text is not searched."""

NAME = r"[^\W\d][\w$.\-]*(?<![.\-])|\$[\w$.]+"
NOT_INSIDE = r"(?<![\w.$])(?<!\w-)"
KEYWORD = re.compile(r"^\s*([^\W\d][\w$.\-]*(?:\[\w*\])*)\s*=(?![=])(.*)$", re.DOTALL)
_PAIRS = {")": "(", "]": "[", "}": "{"}
_ESCAPES = frozenset("\\'\"abfnrtv01234567xNuU\n")
_STRING = re.compile(r"(?:\b[rRbBfFuU]{1,2})?(\"\"\"|'''|\"|')")


@dataclass(frozen=True, slots=True)
class Found:
    """A call in a text from `start` to `end`, or an attempt at one with the `error` that stopped its reading."""

    name: str
    start: int
    end: int
    keywords: dict[str, Any]
    positional: tuple[Any, ...]
    error: str = ""
    spaced: bool = False


def find_calls(text: str, names: tuple[str, ...] = ()) -> list[Found]:
    """All outermost calls in a text, with `names` (which may be no identifiers) taken first."""
    known = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True) if name)
    pattern = re.compile(rf"{NOT_INSIDE}({known + '|' if known else ''}{NAME})([ \t]?)\(")
    found: list[Found] = []
    position, attempts = 0, 0
    while attempts < ATTEMPTS and (match := pattern.search(text, position)):
        one = _read_call(text, match)
        found.append(one)
        attempts += bool(one.error)
        position = match.end() if one.error or _wraps(one, names) else one.end
        if not one.error and _wraps(one, names):
            found.pop()
    return found


def _wraps(one: Found, names: tuple[str, ...]) -> bool:
    """Whether the call only shows the result of another, which is then looked for inside."""
    return one.name == "print" and "print" not in names


def _read_call(text: str, match: re.Match[str]) -> Found:
    name, start, end, is_spaced = match[1], match.start(), match.end(), bool(match[2])
    try:
        pieces, end = split_arguments(text, end)
        return Found(name, start, end, *_read_arguments(pieces), spaced=is_spaced)
    except CallSyntaxError as error:
        return Found(name, start, end, {}, (), f"{name}(: {error}", is_spaced)


def split_arguments(text: str, start: int) -> tuple[list[str], int]:
    """The source of each argument from behind an opening bracket, and the position behind the closing one."""
    stack = ["("]
    pieces: list[str] = []
    written: list[str] = []
    position = start
    while position < len(text):
        char = text[position]
        if (string := _STRING.match(text, position)) and (position == start or not text[position - 1].isalnum()):
            source, position = _read_string(text, string)
            written.append(source)
            continue
        if char in "([{":
            stack.append(char)
            if len(stack) > DEPTH:
                raise CallSyntaxError(f"brackets are nested deeper than {DEPTH}")
        elif char in ")]}":
            if stack.pop() != _PAIRS[char]:
                raise CallSyntaxError(f"{char!r} closes a bracket of another kind")
            if not stack:
                pieces.append("".join(written))
                return pieces, position + 1
        elif char == "#":
            end = text.find("\n", position)
            position = len(text) if end < 0 else end
            continue
        if char == "," and len(stack) == 1:
            pieces.append("".join(written))
            written = []
        else:
            written.append(char)
        position += 1
    raise CallSyntaxError("the bracket is never closed")


def _read_string(text: str, opening: re.Match[str]) -> tuple[str, int]:
    """A string literal with its quotes, escapes that Python does not know doubled, and the position behind it."""
    quote = opening[1]
    is_raw = "r" in opening[0].lower().partition(quote[0])[0]
    written = [opening[0]]
    position = opening.end()
    while position < len(text):
        if text.startswith(quote, position):
            return "".join((*written, quote)), position + len(quote)
        char = text[position]
        if char == "\\" and position + 1 < len(text):
            following = text[position + 1]
            written.append(char + following if is_raw or following in _ESCAPES else f"\\\\{following}")
            position += 2
            continue
        # Models break lines inside plain quotes; Python would not allow it.
        written.append({"\n": "\\n", "\r": "\\r"}.get(char, char) if len(quote) == 1 and not is_raw else char)
        position += 1
    raise CallSyntaxError("a string is never closed")


def _read_arguments(pieces: list[str]) -> tuple[dict[str, Any], tuple[Any, ...]]:
    if pieces and not pieces[-1].strip():
        pieces = pieces[:-1]
    keywords: dict[str, Any] = {}
    positional: list[Any] = []
    for piece in pieces:
        for name, value in _read_argument(piece):
            if name is None:
                positional.append(value)
            elif name in keywords:
                raise CallSyntaxError(f"the argument {name} is given twice")
            else:
                keywords[name] = value
    return keywords, tuple(positional)


def _read_argument(piece: str) -> Iterator[tuple[str | None, Any]]:
    stripped = piece.strip()
    if not stripped:
        raise CallSyntaxError("there is nothing between two commas")
    if stripped.startswith("**"):
        value = read_literal(stripped[2:])
        if not isinstance(value, dict):
            raise CallSyntaxError("** must be followed by a literal object")
        yield from ((str(name), part) for name, part in value.items())
    elif stripped.startswith("*"):
        raise CallSyntaxError("* cannot be unpacked")
    elif match := KEYWORD.match(piece):
        if not match[2].strip():
            raise CallSyntaxError(f"the argument {match[1]} has no value")
        yield match[1], read_literal(match[2])
    else:
        yield None, read_literal(piece)
