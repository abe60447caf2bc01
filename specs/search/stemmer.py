"""The stemmer: words of prose, paths and identifiers, without their English endings."""

import re
from functools import lru_cache

WORD = re.compile(r"[A-Za-z]+|\d+")
CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
POSSESSIVE = re.compile(r"['’]s\b")
SUFFIXES = (
    *("ations", "ation", "ities", "ments", "ings", "ions", "ment", "ing", "ity", "ion", "ers", "ors", "ies", "ied"),
    *("er", "or", "ed", "es", "ly", "s", "e", "y"),
)
# The shortest rest that an ending may leave: player does not become play, nor number numb; director becomes direct.
SHORTEST = {"er": 5, "ers": 5, "or": 5, "ors": 5}
WHOLE_WORDS = frozenset({"news"})

STOP_WORDS = """
a an the of in on at to for from by with and or is are was were be been am do does did can could would should will
shall may might must has have had having it its this that these those there their them they he she his her him as into
about than then so if not no up out over under please some any all each every most more less many much very just also
only you your we our us what which who whom whose when where why how give tell show find get list want need let make
know like me
"""


def words(text: str) -> list[str]:
    """Split prose, paths and identifiers into lower-case words and numbers; `camelCase` is split too."""
    return [word.lower() for word in WORD.findall(CAMEL.sub(" ", POSSESSIVE.sub("", text)))]


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """Return a word in lower case without its English ending: movies and movie, directed and director have one stem."""
    word = word.lower()
    if len(word) <= 3 or word in WHOLE_WORDS:
        return word
    for suffix in SUFFIXES:
        rest = word[: -len(suffix)]
        if not word.endswith(suffix) or len(rest) < SHORTEST.get(suffix, 3) or (suffix == "s" and rest.endswith("s")):
            continue
        if suffix in ("ies", "ied", "y"):
            return word if rest[-1] in "aeou" else rest + "i"
        if suffix in ("ity", "ities"):
            return rest
        return rest[:-1] if len(rest) > 3 and rest[-1] == rest[-2] and rest[-1] not in "ls" else rest
    return word


@lru_cache(maxsize=1 << 15)
def stems(text: str) -> tuple[str, ...]:
    """Return the stems of the words of a text, in order."""
    return tuple(stem(word) for word in words(text))


STOP_STEMS = frozenset(stems(STOP_WORDS))
