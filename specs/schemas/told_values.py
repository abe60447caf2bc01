"""The values that the prose of a description lists for a text: quoted words after "possible values", or as bullets."""

import re
from functools import lru_cache

_LEAD = r"\b(?:(?:possible|valid|allowed|supported|accepted|permitted) values(?: are)?|one of(?: the following)?)"
_WORD = r"""(?:"[\w./:+-]{1,40}"|'[\w./:+-]{1,40}'|`[\w./:+-]{1,40}`)"""
_LIST = rf"{_WORD}(?:\s*(?:[,|/;]\s*)?(?:\b(?:or|and)\b)?\s*{_WORD})+"
_SENTENCE = re.compile(rf"{_LEAD}\s*:?\s*({_LIST})\s*(?:[.;)\n]|$)", re.IGNORECASE)
_BULLET, _MARKED = re.compile(r"^\s*[-*•]\s+(.*)$", re.MULTILINE), re.compile(rf"({_WORD})\s*(?:[:–—-].*)?")
LISTS = re.compile(rf"\W*{_LEAD}", re.IGNORECASE)
"""The beginning of a sentence that lists values."""


@lru_cache(maxsize=4096)
def told_values(description: str) -> tuple[str, ...]:
    """Return the values that a description lists; empty unless it marks where each one begins and ends."""
    found = _SENTENCE.search(description)
    bullets = [_MARKED.fullmatch(text.rstrip()) for text in _BULLET.findall(description)]
    listed = re.findall(_WORD, found[1]) if found else [match[1] for match in bullets if match]
    is_sure = found is not None or (len(bullets) > 1 and None not in bullets)
    return tuple(dict.fromkeys(word[1:-1] for word in listed)) if is_sure else ()
