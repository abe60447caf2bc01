"""Everyday English by which plain instructions meet the words of documents: one list, `synonyms.txt`.

A line without a colon lists words that people use for one another. Other lines list phrases, which are two words with
others between, and behind the colon the words that mean the same, and methods that these words do not ask for. A line
that begins with a method lists the verbs that ask for it. The list is general English: it has no names of products,
and no word because one document has it.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from restgpt.specs.search.stemmer import stem, stems, words


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
