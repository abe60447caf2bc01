"""The operations that have words of a query: BM25 over stems, for the whole query and for each of its clauses.

A word is matched by its stem or, for less, by the stems of its synonyms; of one word, the best match in an operation
counts. Operations of several indexes are numbered through, in the order of the indexes.
"""

import heapq
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from restgpt.specs.search.bm25 import rarity
from restgpt.specs.search.index import SearchIndex
from restgpt.specs.search.query import PEOPLE_STEMS, Query
from restgpt.specs.search.synonyms import phrases, synonyms
from restgpt.specs.search.weights import Weights

# How many operations each clause of a query adds to the best ones of the whole query.
OF_CLAUSE = 30
# Quoted words and values have no synonyms: they name things, not operations.
PLAIN = 0.3

Scores = dict[int, float]


@dataclass(frozen=True, slots=True)
class Matches:
    """The scores of operations for the whole query and for each clause, each as a share of the best one."""

    whole: Mapping[int, float]
    clauses: Sequence[Mapping[int, float]]


@dataclass(frozen=True, slots=True)
class Stem:
    """A stem that stands for a word of the query, with the factor of its impacts."""

    word: str
    text: str
    factor: float


class Collection:
    """Several search indexes as one, whose operations are numbered through."""

    def __init__(self, indexes: Sequence[SearchIndex]) -> None:
        self.indexes = indexes
        self.starts = list(accumulate((index.size for index in indexes), initial=0))
        self.size = self.starts.pop()
        self.facts = [facts for index in indexes for facts in index.facts]

    def frequency(self, stem: str) -> int:
        """Return how many operations have a stem."""
        return sum(index.frequency(stem) for index in self.indexes)

    def rarity(self, stem: str) -> float:
        """Return the weight of a stem by the share of operations that have it."""
        return rarity(self.frequency(stem), self.size)

    def scores(self, stem: str, factor: float) -> Scores:
        """Return the impacts of a stem, times a factor, in the operations that have it."""
        found: Scores = {}
        for start, index in zip(self.starts, self.indexes, strict=True):
            packed = index.numbers.get(stem)
            if packed is not None:
                numbers = array("I", packed)
                weighted = [factor * impact for impact in array("f", index.impacts[stem])]
                found.update(zip([start + number for number in numbers] if start else numbers, weighted, strict=True))
        return found

    def place(self, number: int) -> int:
        """Return the place of the index that an operation belongs to."""
        return bisect_right(self.starts, number) - 1 if len(self.starts) > 1 else 0


def find_matches(collection: Collection, query: Query, weights: Weights, most: int) -> Matches:
    """Score the operations that have words of a query, and keep the best `most` and the best of each clause."""
    found = _impacts(collection, query, weights)
    whole = _sum(found.values())
    clauses = [
        _sum(found[stem] for stem in clause.stems if stem in found)
        for clause in (query.clauses if len(query.clauses) > 1 else ())
    ]
    chosen = set(_best(whole, most))
    for clause in clauses:
        chosen.update(_best(clause, OF_CLAUSE))
    return Matches(_shares(whole, chosen), [_shares(clause, chosen) for clause in clauses or [whole]])


def _impacts(collection: Collection, query: Query, weights: Weights) -> Mapping[str, Scores]:
    """Map each word to the weighted impacts of its best stem."""
    found: dict[str, Scores] = {}
    for stem in _stems(collection, query, weights):
        found[stem.word] = _higher(found.get(stem.word, {}), collection.scores(stem.text, stem.factor))
    return found


def _higher(one: Scores, other: Scores) -> Scores:
    """Return the higher of two scores of each operation."""
    if not one:
        return other
    for number, score in other.items():
        if score > one.get(number, 0.0):
            one[number] = score
    return one


def _stems(collection: Collection, query: Query, weights: Weights) -> Iterator[Stem]:
    """Yield the stems that stand for the words of a query; a synonym counts no more than its word does."""
    for word, weight in query.weights.items():
        most = collection.rarity(word)
        yield Stem(word, word, weight * most)
        # A phrase is what its words mean.
        factor = weight * (1.0 if word in phrases() else weights.synonym)
        for other in synonyms().get(word, ()) if weight > PLAIN else ():
            yield Stem(word, other, factor * min(most, collection.rarity(other)))
    if query.is_about_person:
        frequency = min(collection.size, sum(map(collection.frequency, PEOPLE_STEMS)))
        for stem in PEOPLE_STEMS:
            yield Stem("", stem, weights.person * rarity(frequency, collection.size))


def _sum(parts: Iterable[Scores]) -> Scores:
    total: Scores = {}
    for scores in sorted(parts, key=len, reverse=True):
        if not total:
            total = dict(scores)
            continue
        for number, score in scores.items():
            total[number] = total.get(number, 0.0) + score
    return total


def _best(scores: Scores, most: int) -> list[int]:
    """Return the operations with the best scores, in no order: at most `most`."""
    if len(scores) <= most:
        return list(scores)
    least = heapq.nlargest(most, scores.values())[-1]
    return [number for number, score in scores.items() if score >= least][:most]


def _shares(scores: Mapping[int, float], chosen: Iterable[int]) -> Scores:
    most = max(scores.values(), default=0.0) or 1.0
    return {number: scores[number] / most for number in chosen if number in scores}
