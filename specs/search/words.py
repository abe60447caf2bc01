"""The stemmer: words of prose, paths and identifiers, without their English endings.

Everyday English by which plain instructions meet the words of documents: one list, `synonyms.txt`.

A line without a colon lists words that people use for one another. Other lines list phrases, which are two words with
others between, and behind the colon the words that mean the same, and methods that these words do not ask for. A line
that begins with a method lists the verbs that ask for it. The list is general English: it has no names of products,
and no word because one document has it.

What a text says is done: a verb, and what it acts on. "Rename the folder of Ana" renames a folder.

A query and the operations of an API are read alike, so that an operation is found by what it does, not by its words
alone. The rules are about English and hold for every API.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from typing import NamedTuple

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


@cache
def synonyms() -> Mapping[str, frozenset[str]]:
    """Map the stem of a word, or a phrase, to the stems of the words and the phrases that people use for it."""
    found: dict[str, set[str]] = defaultdict(set)
    for line, colon, _ in _lines():
        group = set(() if colon else stems(line))
        for one in group:
            found[one] |= group - {one}
    for phrase, meaning in phrases().items():
        found[phrase] |= meaning.stems
        for one in meaning.stems:
            found[one].add(phrase)
    return {one: frozenset(others) for one, others in found.items()}


@cache
def opposites() -> Mapping[str, str]:
    """Map the stem of a word for a truth value to the words for it and its opposite."""
    return {one: line for head, _, line in _lines() if head == "opposites" for one in stems(line)}


@cache
def methods_by_verb() -> Mapping[str, frozenset[str]]:
    """Map each verb to the changing methods that it asks for."""
    found: dict[str, set[str]] = defaultdict(set)
    for method, _, verbs in _lines():
        for verb in words(verbs) if method.isupper() else ():
            found[verb].add(method)
    return {verb: frozenset(methods) for verb, methods in found.items()}


class Meaning(NamedTuple):
    """What a phrase means: the stems and phrases that mean the same, and the methods that it asks for."""

    stems: frozenset[str]
    methods: frozenset[str]


@cache
def phrases() -> Mapping[str, Meaning]:
    """Map each phrase, as two stems with a space, to its meaning."""
    found: dict[str, Meaning] = {}
    for verbs, colon, meaning in _lines():
        own = [" ".join(stems(verb)) for verb in verbs.split(",") if colon and verb.islower() and verb != "opposites"]
        same = [word for word in meaning.split() if word.islower()]
        methods = frozenset(meaning.split()).difference(same).union(*(methods_by_verb().get(word, ()) for word in same))
        found.update({verb: Meaning(frozenset({*own, *map(stem, same)} - {verb}), methods) for verb in own})
    return found


def phrases_in(found: Sequence[str], between: int = 0) -> Iterator[tuple[str, int, int]]:
    """Yield the phrases of a sequence of stems, with the places of both stems and at most some others between them."""
    for first, verb in enumerate(found):
        for last in range(first + 1, min(first + 2 + between, len(found))):
            if (phrase := f"{verb} {found[last]}") in phrases():
                yield phrase, first, last
                break


@cache
def _lines() -> list[tuple[str, str, str]]:
    """Return what is before the colon of each line, the colon, and what is behind it."""
    text = files("restgpt.specs.search").joinpath("synonyms.txt").read_text(encoding="utf-8")
    return [line.partition(":") for line in text.splitlines()]


# How many characters of a text are read.
LONGEST = 300
# How many words may stand between the two of a phrase.
BETWEEN = 5
# Words before the verb, as in `could you please`, but not the verbs among the stop words.
OPENINGS = STOP_STEMS.union(stems("i d")) - set(stems("give tell show find get list let make"))
# What is acted on is named before one of these words.
LINKS = frozenset(words("of from to in on onto into for with by at about between as under after before without that"))
# The verbs of an act by a method: on a path, and in the words of a document.
SAID = {
    "POST": ("POST", stem("create")),
    "PUT": ("PUT", stem("update")),
    "PATCH": ("PATCH", stem("update")),
    "DELETE": ("DELETE", stem("delete")),
}


class Act(NamedTuple):
    """The stem of a verb, a phrase or a method, and the stem of what it acts on; each may be empty."""

    verb: str
    noun: str


def act_of(text: str, names: Collection[str] = ()) -> Act:
    """Read the verb that an order begins with, and the last word before a preposition that is none of the names."""
    found = words(text[:LONGEST])
    while found and stem(found[0]) in OPENINGS:
        del found[0]
    own = [stem(word) for word in found]
    verb, places = "".join(own[:1]), {0}
    for phrase, first, last in phrases_in(own, BETWEEN):
        if first == 0:
            verb, places = phrase, {first, last}
    nouns: list[str] = []
    for place, word in enumerate(found):
        if word in LINKS and nouns:
            break
        if place not in places and own[place] not in STOP_STEMS:
            nouns.append("" if word in names or word.isdigit() else own[place])
    return Act(verb, next(filter(None, reversed(nouns)), ""))


def acts_of(method: str, path: str, name: str, summary: str) -> tuple[Act, ...]:
    """Return what an operation does by its operationId, by its summary, and, if it is a change, by its path.

    `POST /pages/{id}/move` creates a move or moves a page; a POST on an item changes it.
    """
    acts = [act_of(name), act_of(summary)]
    segments = [part for part in path.partition("#")[0].split("/") if part]
    fixed = [own for part in segments if "{" not in part and (own := stems(part))]
    if fixed and method in SAID:
        acts.append(Act("PUT" if method == "POST" and "{" in segments[-1] else method, fixed[-1][-1]))
        acts.append(Act(fixed[-1][0], fixed[-1][-1] if len(fixed[-1]) > 1 else fixed[-2][-1] if fixed[1:] else ""))
    return tuple(dict.fromkeys(act for act in acts if act.verb))
