"""Call strings: Python-like calls in a text, with dotted names, balanced brackets and strings."""

import re
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
_ESCAPE = re.compile(r"\\(.)|[\r\n]", re.DOTALL)
_BREAKS = {"\n": "\\n", "\r": "\\r"}
# A string literal, which begins behind no letter or digit; a comment; or any other character.
_TOKEN = re.compile(
    r"(?<![^\W_])(?P<prefix>(?:\b[rRbBfFuU]{1,2})?)(?P<quote>\"\"\"|'''|\"|')"
    r"(?P<body>(?:\\.|(?!(?P=quote)).)*)(?P<closing>(?P=quote))?|#[^\n]*|.",
    re.DOTALL,
)


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
        # `print` only shows the result of another call, which is then looked for inside.
        is_shown = not one.error and one.name == "print" and "print" not in names
        found += [] if is_shown else [one]
        attempts += bool(one.error)
        position = match.end() if one.error or is_shown else one.end
    return found


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
    pieces: list[list[str]] = [[]]
    for match in _TOKEN.finditer(text, start):
        token = match[0]
        if match["quote"]:
            if match["closing"] is None:
                raise CallSyntaxError("a string is never closed")
            token = _escaped(match)
        elif token in "([{":
            stack.append(token)
            if len(stack) > DEPTH:
                raise CallSyntaxError(f"brackets are nested deeper than {DEPTH}")
        elif token in ")]}":
            if stack.pop() != _PAIRS[token]:
                raise CallSyntaxError(f"{token!r} closes a bracket of another kind")
            if not stack:
                return ["".join(piece) for piece in pieces], match.end()
        if token == "," and len(stack) == 1:
            pieces.append([])
        elif not token.startswith("#"):
            pieces[-1].append(token)
    raise CallSyntaxError("the bracket is never closed")


def _escaped(string: re.Match[str]) -> str:
    """A string literal in which escapes that Python does not know are doubled, and line breaks are escapes."""
    if "r" in string["prefix"].lower():
        return string[0]

    def escaped(match: re.Match[str]) -> str:
        if match[1]:
            return match[0] if match[1] in _ESCAPES else f"\\{match[0]}"
        # Models break lines inside plain quotes; Python would not allow it.
        return _BREAKS[match[0]] if len(string["quote"]) == 1 else match[0]

    return f"{string['prefix']}{string['quote']}{_ESCAPE.sub(escaped, string['body'])}{string['quote']}"


def _read_arguments(pieces: list[str]) -> tuple[dict[str, Any], tuple[Any, ...]]:
    keywords: dict[str, Any] = {}
    positional: list[Any] = []
    # A comma may stand behind the last argument.
    for piece in pieces if pieces[-1].strip() else pieces[:-1]:
        named = _read_named(piece.strip())
        if named is None:
            positional.append(read_literal(piece))
        elif given_twice := [name for name in named if name in keywords]:
            raise CallSyntaxError(f"the argument {given_twice[0]} is given twice")
        else:
            keywords |= named
    return keywords, tuple(positional)


def _read_named(piece: str) -> dict[str, Any] | None:
    """The values with a name in an argument; None for a value without one."""
    if not piece:
        raise CallSyntaxError("there is nothing between two commas")
    if piece.startswith("**"):
        value = read_literal(piece[2:])
        if not isinstance(value, dict):
            raise CallSyntaxError("** must be followed by a literal object")
        return {str(name): part for name, part in value.items()}
    if piece.startswith("*"):
        raise CallSyntaxError("* cannot be unpacked")
    match = KEYWORD.match(piece)
    if match and not match[2].strip():
        raise CallSyntaxError(f"the argument {match[1]} has no value")
    return {match[1]: read_literal(match[2])} if match else None
