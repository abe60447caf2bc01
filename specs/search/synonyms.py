"""Synonyms of everyday English, by which plain instructions meet the words of documents.

A line of `synonyms.txt` lists words that people use for one another. A line of `phrases.txt` lists phrases, which are
two words with others between, and behind the colon the words that mean the same, and methods that these words do not
ask for. Both hold general English only: no names of products, and no word because one document has it.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from restgpt.specs.search.stemmer import stem, stems


@cache
def synonyms() -> Mapping[str, frozenset[str]]:
    """Map the stem of a word, or a phrase, to the stems of the words and the phrases that people use for it."""
    found: dict[str, set[str]] = defaultdict(set)
    for line in _lines("synonyms.txt"):
        group = set(stems(line))
        for one in group:
            found[one] |= group - {one}
    for phrase, meaning in phrases().items():
        found[phrase] |= meaning.stems
        for one in meaning.stems:
            found[one].add(phrase)
    return {one: frozenset(others) for one, others in found.items()}


class Meaning(NamedTuple):
    """What a phrase means: the stems and phrases that mean the same, and the methods that it asks for."""

    stems: frozenset[str]
    methods: frozenset[str]


@cache
def phrases() -> Mapping[str, Meaning]:
    """Map each phrase, as two stems with a space, to its meaning."""
    found: dict[str, Meaning] = {}
    for line in _lines("phrases.txt"):
        verbs, _, meaning = line.partition(":")
        own = [" ".join(stems(verb)) for verb in verbs.split(",")]
        methods = frozenset(word for word in meaning.split() if word.isupper())
        same = {stem(word) for word in meaning.split() if word not in methods}
        found.update({verb: Meaning(frozenset({*own, *same} - {verb}), methods) for verb in own})
    return found


def phrases_in(found: Sequence[str], between: int = 0) -> Iterator[tuple[str, int, int]]:
    """Yield the phrases of a sequence of stems, with the places of both stems and at most some others between them."""
    for first, verb in enumerate(found):
        for last in range(first + 1, min(first + 2 + between, len(found))):
            if (phrase := f"{verb} {found[last]}") in phrases():
                yield phrase, first, last
                break


def _lines(name: str) -> list[str]:
    return files("restgpt.specs.search").joinpath(name).read_text(encoding="utf-8").splitlines()
