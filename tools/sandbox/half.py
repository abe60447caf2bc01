"""Halves of surrogate pairs, which JSON may have and Monty's texts cannot: each has a private character there."""

import json
import re
from collections.abc import Callable
from typing import Any

from restgpt.tools.sandbox.run import Entry

_SHIFT = 0x10F800 - 0xD800
"""From a half of a pair to its private character: there are as many of both."""

_HALF = re.compile("[\ud800-\udfff]")
_PRIVATE = re.compile("[\U0010f800-\U0010ffff]")
_ESCAPED = re.compile(r"\\U0010(f[89a-f][0-9a-f]{2})|\\udb(f[ef])\\u(d[c-f][0-9a-f]{2})")
"""How Python and JSON write a private character where they escape it."""


class Halves:
    """Hides halves of pairs from one program, and shows them again in what it sends and prints.

    A program whose answers have such private characters themselves gets an error in the place of a half.
    """

    def __init__(self) -> None:
        self._has_halves = self._has_private = False

    def text(self, entry: Entry) -> str | None:
        """Return the JSON of an answer that the program's process can read itself, which takes a third of the time."""
        self._has_private = self._has_private or b"\xf4\x8f" in entry.body
        text = entry.body.decode("utf-8", "replace") if entry.media == "json" else "\\ud"
        return None if "\\ud" in text.lower() else text

    def parsed(self, entry: Entry) -> Any:
        """Return the body of an answer as a value. Raises ValueError if the program could not tell what it has."""
        if entry.media == "empty":
            return None
        if entry.media == "binary":
            return entry.body
        self._has_private = self._has_private or b"\xf4\x8f" in entry.body or b"\\udbf" in entry.body.lower()
        text = entry.body.decode("utf-8", "replace")
        if entry.media != "json":
            return text
        try:
            value = json.loads(text)
        except ValueError:
            return text  # the body was cut, or the API calls something JSON that is not
        return self.hidden(value) if "\\ud" in text.lower() else value

    def hidden(self, value: Any) -> Any:
        """Return a value with private characters in the place of halves. Raises ValueError."""
        found = _replaced(value, _HALF, _SHIFT)
        self._has_halves = self._has_halves or found != value
        if self._has_halves and self._has_private:
            raise ValueError("a text has half of a surrogate pair beside private characters, and cannot be read")
        return found

    def shown(self, value: Any) -> Any:
        """Return a value with its halves."""
        return _replaced(value, _PRIVATE, -_SHIFT) if self._has_halves else value

    def shown_text(self, printed: bytes) -> bytes:
        """Return printed text with its halves escaped."""
        if not self._has_halves:
            return printed
        text = _ESCAPED.sub(_private, printed.decode("utf-8", "replace"))
        return str(self.shown(text)).encode("utf-8", "backslashreplace")


def _replaced(value: Any, pattern: re.Pattern[str], shift: int) -> Any:
    shifted: Callable[[re.Match[str]], str] = lambda match: chr(ord(match[0]) + shift)  # noqa: E731
    if isinstance(value, str):
        return pattern.sub(shifted, value)
    if isinstance(value, list):
        return [_replaced(item, pattern, shift) for item in value]
    if isinstance(value, dict):
        return {_replaced(name, pattern, shift): _replaced(item, pattern, shift) for name, item in value.items()}
    return value


def _private(escaped: re.Match[str]) -> str:
    if escaped[1]:
        return chr(0x100000 + int(escaped[1], 16))
    return chr(0x10000 + ((int(f"db{escaped[2]}", 16) - 0xD800) << 10) + int(escaped[3], 16) - 0xDC00)
