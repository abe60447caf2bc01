"""Docstrings of Python functions, which frameworks publish as descriptions of operations: their text and their blocks.

Blocks are those of the Google style (`Args:` above deeper lines), of NumPy (a name above dashes) and of Sphinx
(`:param name:`).
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

_KINDS = {
    **dict.fromkeys(("args", "arguments", "parameters", "params", "param", "other parameters"), "arguments"),
    **dict.fromkeys(("returns", "return", "yields"), "returns"),
    **dict.fromkeys(("raises", "raise", "throws"), "raises"),
}
_HEADER = re.compile(r"\s*([A-Za-z]+(?: [A-Za-z]+)?)\s*:(?:\s+(\S.*))?\s*")
_DASHES = re.compile(r"\s*-{3,}\s*")
_ENTRY = re.compile(r"\s*(?:[-*] )?[*`]{0,2}(\w+)`{0,2}\s*(?:\(([^)]*)\))?\s*:\s*(.*)")
_NUMPY_ENTRY = re.compile(r"\*{0,2}(\w+(?:\s*,\s*\w+)*)\s*(?::\s*(.*))?")
_SPHINX = re.compile(r"\s*:(param|returns?|raises?|type|rtype)\b\s*(?:([\w\[\], .]+)\s+)?(\w*)\s*:\s*(.*)")


class Docstring(NamedTuple):
    """A description without its blocks, the texts of the arguments by name, and the text about the result.

    What is raised stays in the text, one sentence for each error.
    """

    text: str
    arguments: dict[str, str]
    returns: str


class Argument(NamedTuple):
    """What a docstring says of one argument: the word of its type, empty without one, and its text."""

    type: str
    text: str


@lru_cache(maxsize=1024)
def docstring(description: str) -> Docstring:
    """Take a description apart; one without blocks is the text of its own."""
    text, returns = list[str](), list[str]()
    for kind, style, lines in _parts(description.splitlines()):
        if kind == "text":
            text += lines
        elif kind == "returns":
            returns += [line.strip() for line in lines if line.strip()]
        elif kind == "raises":
            text += [f"Raises {name}: {one.text}" for name, one in _arguments(lines, style).items()]
    arguments = {name: one.text for name, one in docstring_arguments(description).items()}
    return Docstring("\n".join(text).strip(), arguments, " ".join(returns))


def docstring_arguments(description: str) -> dict[str, Argument]:
    """Return the arguments that a docstring describes."""
    parts = _parts(description.splitlines())
    found = (_arguments(lines, style) for kind, style, lines in parts if kind == "arguments")
    return {name: one for arguments in found for name, one in arguments.items()}


def _parts(lines: Sequence[str]) -> Iterator[tuple[str, str, list[str]]]:
    """Yield the parts of a docstring as their kind, their style and their lines without the header."""
    kind, style, depth, part = "text", "", 0, list[str]()
    for number, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        sphinx = _SPHINX.fullmatch(line)
        if sphinx:
            yield kind, style, part
            part, known = [], _KINDS.get(sphinx[1], "types")
            yield (
                known,
                "google",
                [sphinx[4] if known == "returns" else f"{sphinx[3]} ({sphinx[2] or ''}): {sphinx[4]}"],
            )
            continue
        header = _HEADER.fullmatch(line)
        known = _KINDS.get(header[1].lower(), "") if header else ""
        is_inside = style == "google" and indent > depth
        if known and header and not is_inside and (known != "arguments" or not header[2]):
            yield kind, style, part
            kind, style, depth, part = known, "google", indent, [header[2]] if header[2] else []
        elif number + 1 < len(lines) and line.strip() and _DASHES.fullmatch(lines[number + 1]):
            known = _KINDS.get(line.strip().lower(), "")
            if known or style == "numpy":
                yield kind, style, part
                kind, style, part = known or "text", "numpy" if known else "", [] if known else [line]
            else:
                part.append(line)
        elif style == "google" and line.strip() and indent <= depth:
            yield kind, style, part
            kind, style, part = "text", "", [line]
        elif not (style == "numpy" and _DASHES.fullmatch(line)):
            part.append(line)
    yield kind, style, part


def _arguments(lines: Sequence[str], style: str) -> dict[str, Argument]:
    """Read entries, each a name with text below it or beside it; deeper lines belong to the entry above them."""
    found: dict[str, Argument] = {}
    names, depth = list[str](), 0
    for line in lines:
        indent = len(line) - len(line.lstrip())
        entry = (_NUMPY_ENTRY if style == "numpy" else _ENTRY).fullmatch(line.strip() if style == "numpy" else line)
        if entry and (not names or indent <= depth):
            names, depth = [name.strip() for name in entry[1].split(",")], indent
            text = "" if style == "numpy" else entry[3].strip()
            found |= {name: Argument((entry[2] or "").strip(), text) for name in names}
        elif line.strip():
            found |= {name: Argument(found[name].type, f"{found[name].text} {line.strip()}".strip()) for name in names}
    return found
