"""The one Markdown fence around a whole text, in which a model puts a reply (CommonMark, fenced code blocks)."""

import re
from typing import NamedTuple

_FENCE = re.compile(r"(`{3,}|~{3,})[ \t]*([\w+#.-]*)[ \t]*\n(.*?)\n?[ \t]*\1", re.DOTALL)


class Fence(NamedTuple):
    """The language that a fence names, in lower case, and the text in it."""

    language: str
    text: str


def fence_around(text: str) -> Fence | None:
    """Return the fence that a text consists of; None if it has none, several, or text outside of it."""
    found = _FENCE.fullmatch(text.strip())
    if found is None or any(line.lstrip().startswith(found[1]) for line in found[3].split("\n")):
        return None
    return Fence(found[2].lower(), found[3])


def unfenced(text: str) -> str:
    """Return a text without the fence around it; any other text is only stripped."""
    fence = fence_around(text)
    return text.strip() if fence is None else fence.text.strip()
