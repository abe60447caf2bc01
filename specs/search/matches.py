"""The operations that have words of a query: BM25 over stems, for the whole query and for each of its clauses.

A word is matched by its stem or, for less, by the stems of its synonyms; of one word, the best match in an operation
counts. Operations of several indexes are numbered through, in the order of the indexes.
"""

import heapq
from array import array
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from restgpt.specs.search.bm25 import rarity
from restgpt.specs.search.index import SearchIndex
from restgpt.specs.search.query import PEOPLE_STEMS, Query
from restgpt.specs.search.synonyms import synonyms
from restgpt.specs.search.weights import Weights

# How many entries of the index one query reads before common stems count for the operations found so far only.
READ = 12_000
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
    frequency: int
    is_own: bool


class Collection:
    """Several search indexes as one, whose operations are numbered through."""

    def __init__(self, indexes: Sequence[SearchIndex]) -> None:
        self.indexes = indexes
        self.starts = list(accumulate((index.size for index in indexes), initial=0))
        self.size = self.starts.pop()
        self.facts = [facts for index in indexes for facts in index.facts]
        self._frequencies: dict[str, int] = {}

    def frequency(self, stem: str) -> int:
        """Return how many operations have a stem."""
        found = self._frequencies.get(stem)
        if found is None:
            found = self._frequencies[stem] = sum(index.frequency(stem) for index in self.indexes)
        return found

    def rarity(self, stem: str) -> float:
        """Return the weight of a stem by the share of operations that have it."""
        return rarity(self.frequency(stem), self.size)

    def posting(self, stem: str) -> Iterator[tuple[int, float]]:
        """Yield the numbers of the operations that have a stem, with its impact in each."""
        for start, index in zip(self.starts, self.indexes, strict=True):
            for number, impact in index.posting(stem):
                yield start + number, impact

    def impacts(self, stem: str, numbers: Iterable[int]) -> Iterator[tuple[int, float]]:
        """Yield those of some operations that have a stem, with its impact in each."""
        packed = [(array("I", index.numbers.get(stem, b"")), index.impacts.get(stem, b"")) for index in self.indexes]
        for number in numbers:
            place = self.place(number)
            found, impacts = packed[place]
            own = number - self.starts[place]
            at = bisect_left(found, own)
            if at < len(found) and found[at] == own:
                yield number, memoryview(impacts).cast("f")[at]

    def place(self, number: int) -> int:
        """Return the place of the index that an operation belongs to."""
        return bisect_right(self.starts, number) - 1 if len(self.starts) > 1 else 0


def find_matches(collection: Collection, query: Query, weights: Weights, most: int) -> Matches:
    """Score the operations that have words of a query, and keep the best `most` and the best of each clause."""
    found = _impacts(collection, query, weights, most)
    whole: Scores = defaultdict(float)
    for scores in found.values():
        for number, score in scores.items():
            whole[number] += score
    clauses = [_sum(found, clause.stems) for clause in query.clauses] if len(query.clauses) > 1 else []
    chosen = set(heapq.nlargest(most, whole, key=whole.__getitem__))
    for clause in clauses:
        chosen.update(heapq.nlargest(OF_CLAUSE, clause, key=clause.__getitem__))
    return Matches(_shares(whole, chosen), [_shares(clause, chosen) for clause in clauses or [whole]])


def _impacts(collection: Collection, query: Query, weights: Weights, most: int) -> Mapping[str, Scores]:
    """Map each word to the weighted impacts of its best stem; common stems count for the best operations only."""
    found: dict[str, Scores] = {}
    read = 0
    rest: list[Stem] = []
    for stem in sorted(_stems(collection, query, weights), key=lambda item: (not item.is_own, item.frequency)):
        if read and read + stem.frequency > READ:
            rest.append(stem)
            continue
        read += stem.frequency
        _add(found.setdefault(stem.word, {}), stem.factor, collection.posting(stem.text))
    if rest:
        totals: Scores = defaultdict(float)
        for scores in found.values():
            for number, score in scores.items():
                totals[number] += score
        best = heapq.nlargest(most, totals, key=totals.__getitem__)
        for stem in rest:
            if stem.is_own:
                _add(found.setdefault(stem.word, {}), stem.factor, collection.impacts(stem.text, best))
    return found


def _add(scores: Scores, factor: float, posting: Iterable[tuple[int, float]]) -> None:
    if not scores:
        scores.update((number, factor * impact) for number, impact in posting)
        return
    for number, impact in posting:
        score = factor * impact
        if score > scores.get(number, 0.0):
            scores[number] = score


def _stems(collection: Collection, query: Query, weights: Weights) -> Iterator[Stem]:
    """Yield the stems that stand for the words of a query; a synonym counts no more than its word does."""
    for word, weight in query.weights.items():
        own = collection.frequency(word)
        most = collection.rarity(word)
        if own:
            yield Stem(word, word, weight * most, own, True)
        for other in synonyms().get(word, ()) if weight > PLAIN else ():
            frequency = collection.frequency(other)
            if frequency:
                yield Stem(word, other, weights.synonym * weight * min(most, collection.rarity(other)), frequency, False)
    if query.is_about_person:
        known = {stem: collection.frequency(stem) for stem in PEOPLE_STEMS}
        factor = weights.person * rarity(min(collection.size, sum(known.values())), collection.size)
        for stem, frequency in known.items():
            if frequency:
                yield Stem("", stem, factor, frequency, False)


def _sum(found: Mapping[str, Scores], stems: Iterable[str]) -> Scores:
    total: Scores = defaultdict(float)
    for stem in stems:
        for number, score in found.get(stem, {}).items():
            total[number] += score
    return total


def _shares(scores: Mapping[int, float], chosen: Iterable[int]) -> Scores:
    most = max(scores.values(), default=0.0) or 1.0
    return {number: scores[number] / most for number in chosen if number in scores}
