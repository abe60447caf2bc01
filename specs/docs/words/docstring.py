"""Docstrings of Python functions, which frameworks publish as descriptions of operations: their text and their blocks.

Blocks are those of the Google style (`Args:` above deeper lines) and the fields of Sphinx (`:param name:`).
"""

import re
from functools import lru_cache
from typing import NamedTuple

_KINDS = {
    **dict.fromkeys(("args", "arguments", "parameters", "params", "param", "other parameters"), "arguments"),
    **dict.fromkeys(("returns", "return", "yields"), "returns"),
    **dict.fromkeys(("raises", "raise", "throws", "type", "rtype"), "aside"),
}
_HEADER = re.compile(r"\s*([A-Za-z]+(?: [A-Za-z]+)?)\s*:(?:\s+(\S.*))?\s*")
_ENTRY = re.compile(r"\s*(?:[-*] )?[*`]{0,2}(\w+)`{0,2}\s*(?:\([^)]*\))?\s*:\s*(.*)")
_FIELD = re.compile(r"\s*:(param|returns?|raises?|type|rtype)\b\s*(?:[\w\[\], .]+\s+)?(\w*)\s*:\s*(.*)")


class Docstring(NamedTuple):
    """A description without its blocks, the texts of the arguments by name, and the text about the result.

    What is raised is in none of them: a failed call says it.
    """

    text: str
    arguments: dict[str, str]
    returns: str


@lru_cache(maxsize=1024)
def docstring(description: str) -> Docstring:
    """Take a description apart; one without blocks is the text of its own."""
    text, returns, arguments = list[str](), list[str](), dict[str, str]()
    kind, depth, name, entry_depth = "", 0, "", 0
    for line in description.splitlines():
        indent = len(line) - len(line.lstrip())
        header, field = _HEADER.fullmatch(line), _FIELD.fullmatch(line)
        known = _KINDS.get(header[1].lower(), "") if header else ""
        if field is not None:
            kind, depth, name, entry_depth = _KINDS[field[1]], indent, field[2], indent
            if kind == "arguments":
                arguments[name] = field[3]
            returns += [field[3]] if kind == "returns" else []
        elif known and header and not (kind and indent > depth) and (known != "arguments" or not header[2]):
            kind, depth, name = known, indent, ""
            returns += [header[2]] if kind == "returns" and header[2] else []
        elif kind and (not line.strip() or indent > depth):
            entry = _ENTRY.fullmatch(line) if kind == "arguments" and (not name or indent <= entry_depth) else None
            if entry is not None:
                name, entry_depth = entry[1], indent
                arguments[name] = entry[2].strip()
            elif kind == "arguments" and name and line.strip():
                arguments[name] = f"{arguments[name]} {line.strip()}".strip()
            returns += [line.strip()] if kind == "returns" and line.strip() else []
        else:
            kind = ""
            text.append(line)
    return Docstring("\n".join(text).strip(), arguments, " ".join(returns))
