"""Ranking of the operations of one or several APIs: BM25 over stems, then scores passed on to producers.

An instruction names the result of a task and leaves out the steps before it. So every operation passes a part of its
score to the operations that yield its identifiers (`producers.py`), and a nested resource to the resource above it.
"""

import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter

from restgpt.specs.search.bm25 import rarity
from restgpt.specs.search.index import Facts, SearchIndex
from restgpt.specs.search.query import PEOPLE_STEMS, asked_methods, mentions_name, mentions_person, query_terms

# Chosen by hand on the instructions of RestBench; each may vary by half without a visible change.
PERSON = 0.5
UNMATCHED = 0.5
ASKED, NOT_ASKED = 1.5, 0.6
FLOW, KEPT, NAMED = 0.75, 0.2, 1.2
ROUNDS = 2
CANDIDATES = 150
# How much a score depends on its API, which is judged by this many of its best operations.
HOME, STRONGEST = 0.7, 5
# A stem of more than this share of a large index is ignored: it tells little and costs the most time.
COMMON, LARGE = 0.15, 4000


class Search:
    """Ranks the operations of several indexes together; a stem counts by its rarity in all of them."""

    def __init__(self, indexes: Sequence[SearchIndex]) -> None:
        self._indexes = indexes
        self._size = sum(index.size for index in indexes)

    def find(self, text: str, k: int = 10) -> list[tuple[int, int]]:
        """Return the best `k` operations as pairs of the number of the index and the number in it, best first."""
        terms = query_terms(text)
        asked, named = asked_methods(text), mentions_name(text)
        people = PEOPLE_STEMS if mentions_person(text) else frozenset()
        known = terms.keys() | people
        factors = self._factors(terms)
        most = max(CANDIDATES, 2 * k)
        candidates: list[tuple[float, int, int]] = []
        for place, (index, persons) in enumerate(zip(self._indexes, self._person_scores(people), strict=True)):
            scores: dict[int, float] = defaultdict(float, persons)
            for stem, factor in factors.items():
                for number, impact in index.posting(stem):
                    scores[number] += factor * impact
            leading = heapq.nlargest(most, scores.items(), key=itemgetter(1))
            candidates += [(-score, place, number) for number, score in leading]
        best: dict[int, dict[int, float]] = {}
        for score, place, number in heapq.nsmallest(most, candidates):
            fit = _fit(self._indexes[place].facts[number], known, asked)
            best.setdefault(place, {})[number] = -score * fit
        flowed = {place: _flow(self._indexes[place], fitted, named) for place, fitted in best.items()}
        return [(place, number) for _, place, number in heapq.nsmallest(k, _preferred(flowed))]

    def _factors(self, terms: Mapping[str, float]) -> dict[str, float]:
        """Weigh each stem by its rarity in all indexes; the commonest stems of a large catalogue are left out."""
        factors = {}
        for stem, weight in terms.items():
            frequency = sum(index.frequency(stem) for index in self._indexes)
            if frequency and not self._is_common(frequency):
                factors[stem] = weight * rarity(frequency, self._size)
        return factors

    def _person_scores(self, people: Iterable[str]) -> list[dict[int, float]]:
        """Score all stems for people as one: the one with the highest impact counts, by the rarity of all together."""
        frequencies = [sum(index.frequency(stem) for index in self._indexes) for stem in people]
        if self._is_common(max(frequencies, default=0)):
            return [{} for _ in self._indexes]
        found: list[dict[int, float]] = []
        for index in self._indexes:
            best: dict[int, float] = {}
            for stem in people:
                for number, impact in index.posting(stem):
                    best[number] = max(best.get(number, 0.0), impact)
            found.append(best)
        frequency = sum(map(len, found))
        factor = 0.0 if self._is_common(frequency) else PERSON * rarity(frequency, self._size)
        return [{number: factor * impact for number, impact in best.items()} if factor else {} for best in found]

    def _is_common(self, frequency: int) -> bool:
        return self._size > LARGE and frequency > COMMON * self._size


def _preferred(scores: Mapping[int, Mapping[int, float]]) -> Iterator[tuple[float, int, int]]:
    """Yield negated scores, damped for APIs whose best operations score low, because a task mostly needs one API."""
    strengths = {place: sum(heapq.nlargest(STRONGEST, found.values())) for place, found in scores.items()}
    most = max(strengths.values(), default=1.0) or 1.0
    for place, found in scores.items():
        factor = 1 - HOME + HOME * strengths[place] / most
        for number, score in found.items():
            yield -score * factor, place, number


def _fit(facts: Facts, known: Iterable[str], asked: frozenset[str]) -> float:
    """Return the factor of a score: lower for path stems that the query lacks, and for changes it does not ask for."""
    unmatched = [stem for stem in facts.path_stems if stem not in known and stem != "search"]
    factor = 1 - UNMATCHED * len(unmatched) / max(1, len(facts.path_stems))
    if not facts.is_read and facts.method != "HEAD":
        factor *= ASKED if facts.method in asked else NOT_ASKED
    return factor


def _flow(index: SearchIndex, scores: dict[int, float], named: bool) -> dict[int, float]:
    """Pass scores on to producers; an operation keeps its own score if that is higher."""
    edges = {number: index.edges_of(number) for number in scores}
    current = dict(scores)
    for _ in range(ROUNDS):
        following = dict(current)
        for number, score in current.items():
            if number not in edges:
                edges[number] = index.edges_of(number)
            for edge in edges[number]:
                for target, weight in zip(edge.targets, edge.weights, strict=True):
                    factor = weight * (NAMED if named and index.facts[target].is_search else 1.0)
                    gained = FLOW * factor * score + KEPT * scores.get(target, 0.0)
                    if gained > following.get(target, 0.0):
                        following[target] = gained
        current = following
    return current
