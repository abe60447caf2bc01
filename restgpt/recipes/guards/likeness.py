"""Compares texts of answers with names that inputs give, whatever their case, accents and punctuation."""

import re
import unicodedata
from typing import Literal

Relation = Literal["equal", "contains", "within"]

MOST_COMPARED = 2000
"""The maximum number of characters of a text that are compared."""

SHORTEST_WITHIN = 4
"""How many characters a name has at least that counts as a part of an input."""

_APOSTROPHES = re.compile("['’‘`´]")
_WORDS = re.compile(r"[^\W_]+")
_PARTS = re.compile(r"[a-z]+|[A-Z]+(?![a-z])|[A-Z][a-z]+|[0-9]+")
_NAMES = frozenset(
    {"name", "title", "label", "login", "username", "email", "mail", "subject", "headline", "heading", "handle", "slug"}
    | {"symbol", "nickname", "surname", "filename", "hostname", "key", "code", "sku", "isbn"}
)
_STRENGTH = {"equal": 3, "contains": 2, "within": 1}


def words_of(text: str) -> str:
    """Return the words of a text in lower case, without accents and punctuation, with one space between them."""
    bare = _APOSTROPHES.sub("", text[:MOST_COMPARED]).replace("&", " and ")
    plain = "".join(char for char in unicodedata.normalize("NFKD", bare) if not unicodedata.combining(char))
    return " ".join(_WORDS.findall(plain.casefold()))


def relation_of(found: str, named: str) -> Relation | None:
    """Return how a text that was found is like one that names it: equal to it, containing it as words, or within it."""
    one, other = words_of(found), words_of(named)
    if not one or not other:
        return "equal" if found.strip() and found.strip() == named.strip() else None
    if one.replace(" ", "") == other.replace(" ", ""):
        return "equal"
    if f" {other} " in f" {one} ":
        return "contains"
    return "within" if len(one) >= SHORTEST_WITHIN and f" {one} " in f" {other} " else None


def strength(relation: Relation | None) -> int:
    """Return how strong a relation is: 3 if equal, 0 if there is none."""
    return _STRENGTH[relation] if relation is not None else 0


def name_words(name: str) -> list[str]:
    """Return the words of a name in lower case: `display` and `name` for `displayName` and `display_name`."""
    return [word.lower() for word in _PARTS.findall(name)]


def is_name(field: str) -> bool:
    """Whether the name of a field says that it names its object, such as `title` or `displayName`."""
    parts = name_words(field)
    return bool(parts) and (parts[-1] in _NAMES or "".join(parts) in _NAMES)
