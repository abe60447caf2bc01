"""Search over the operations of one or several APIs: BM25 over stemmed fields, closed over producers.

Raw instructions name the end of a task and leave the steps to it unsaid, so a score flows from every operation that
fits to those that yield what it needs (`producers`), and from a nested resource to the one that holds it.
"""

import heapq
import math
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter

import msgspec

from restgpt.specs.operation import Operation
from restgpt.specs.search.features import WEIGHTS, Features, FieldNames, read_features
from restgpt.specs.search.producers import RELATED, Edge, ProducerGraph
from restgpt.specs.search.words import PEOPLE_STEMS, asked_methods, names_something, query_terms, speaks_of_people

SATURATION = 1.2
LENGTH = 0.5
# Found by hand on the raw instructions of RestBench; each may vary by half without a visible change.
PERSON = 0.5
UNMATCHED = 0.5
ASKED, NOT_ASKED = 1.5, 0.6
FLOW, KEPT, NAMED = 0.75, 0.2, 1.2
ROUNDS = 2
CANDIDATES = 150
# How much belonging to the API that fits best counts, judged by this many of its operations.
HOME, STRONGEST = 0.7, 5
# A word of more than this share of a large index tells nothing, and costs the most.
COMMON, LARGE = 0.15, 4000

Hit = tuple[int, float]


class Facts(msgspec.Struct, array_like=True, gc=False):
    """What ranking needs of one operation beside its words."""

    method: str
    path_stems: tuple[str, ...]
    is_search: bool


class SearchIndex(msgspec.Struct, array_like=True):
    """The searchable form of one API: for each stem the operations that have it, packed; and the producer graph."""

    size: int
    numbers: dict[str, bytes]
    impacts: dict[str, bytes]
    facts: list[Facts]
    edges: list[msgspec.Raw]

    def posting(self, root: str) -> Iterator[Hit]:
        """Yield the operations that have a stem, with the share of BM25 that does not depend on rarity."""
        packed = self.numbers.get(root)
        if packed is None:
            return iter(())
        return zip(array("I", packed), array("f", self.impacts[root]), strict=True)

    def frequency(self, root: str) -> int:
        """Return how many operations have a stem."""
        return len(self.numbers.get(root, b"")) // array("I").itemsize

    def edges_of(self, number: int) -> list[Edge]:
        """Return the producers of one operation."""
        return msgspec.msgpack.decode(self.edges[number], type=list[Edge])


def build_search_index(operations: Sequence[Operation]) -> SearchIndex:
    """Read the words of every operation once; operations are decoded afresh so that none stays in memory."""
    names: dict[int, FieldNames] = {}
    features = []
    for operation in operations:
        fields = names.setdefault(id(operation.api), FieldNames(operation.api.document))
        features.append(read_features(operation.fresh(), fields))
    graph = ProducerGraph(operations, features)
    numbers, impacts = _postings(features)
    return SearchIndex(
        len(operations),
        {root: packed.tobytes() for root, packed in numbers.items()},
        {root: packed.tobytes() for root, packed in impacts.items()},
        [
            Facts(item.method, feature.path_stems, feature.is_search)
            for item, feature in zip(operations, features, strict=True)
        ],
        [msgspec.Raw(msgspec.msgpack.encode(graph.edges(number))) for number in range(len(operations))],
    )


def _postings(features: Sequence[Features]) -> "tuple[dict[str, array[int]], dict[str, array[float]]]":
    """Weigh every stem of every operation: fields summed by their weight, long fields damped, counts saturated."""
    count = max(1, len(features))
    averages = {field: sum(item.lengths[field] for item in features) / count or 1.0 for field in WEIGHTS}
    numbers: dict[str, array[int]] = defaultdict(lambda: array("I"))
    impacts: dict[str, array[float]] = defaultdict(lambda: array("f"))
    for number, item in enumerate(features):
        weights: dict[str, float] = {}
        for field, counts in item.fields.items():
            factor = WEIGHTS[field] / (1 - LENGTH + LENGTH * item.lengths[field] / averages[field])
            for root, occurrences in counts.items():
                weights[root] = weights.get(root, 0.0) + factor * occurrences
        for root, weighted in weights.items():
            numbers[root].append(number)
            impacts[root].append(weighted * (SATURATION + 1) / (weighted + SATURATION))
    return numbers, impacts


class Search:
    """Ranks the operations of several indexes together; a word counts by its rarity over all of them."""

    def __init__(self, indexes: Sequence[SearchIndex]) -> None:
        self._indexes = indexes
        self._size = sum(index.size for index in indexes)

    def find(self, text: str, k: int = 10) -> list[tuple[int, int]]:
        """Return the best `k` as pairs of the index and the number in it, best first."""
        terms = query_terms(text)
        asked, named = asked_methods(text), names_something(text)
        people = PEOPLE_STEMS if speaks_of_people(text) else frozenset()
        known = terms.keys() | people
        factors = self._factors(terms)
        most = max(CANDIDATES, 2 * k)
        candidates: list[tuple[float, int, int]] = []
        for place, (index, persons) in enumerate(zip(self._indexes, self._person_scores(people), strict=True)):
            scores: dict[int, float] = defaultdict(float, persons)
            for root, factor in factors.items():
                for number, impact in index.posting(root):
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
        """Weigh each word by its rarity over all indexes; the commonest words of a large catalogue are left out."""
        factors = {}
        for root, weight in terms.items():
            frequency = sum(index.frequency(root) for index in self._indexes)
            if frequency and not self._is_common(frequency):
                factors[root] = weight * self._rarity(frequency)
        return factors

    def _person_scores(self, people: Iterable[str]) -> list[dict[int, float]]:
        """Score the words for people as one word: the best of them counts, by the rarity of all together."""
        frequencies = [sum(index.frequency(root) for index in self._indexes) for root in people]
        if self._is_common(max(frequencies, default=0)):
            return [{} for _ in self._indexes]
        found: list[dict[int, float]] = []
        for index in self._indexes:
            best: dict[int, float] = {}
            for root in people:
                for number, impact in index.posting(root):
                    best[number] = max(best.get(number, 0.0), impact)
            found.append(best)
        frequency = sum(map(len, found))
        factor = 0.0 if self._is_common(frequency) else PERSON * self._rarity(frequency)
        return [{number: factor * impact for number, impact in best.items()} if factor else {} for best in found]

    def _is_common(self, frequency: int) -> bool:
        return self._size > LARGE and frequency > COMMON * self._size

    def _rarity(self, frequency: int) -> float:
        return math.log(1 + (self._size - frequency + 0.5) / (frequency + 0.5))


def _preferred(scores: Mapping[int, Mapping[int, float]]) -> Iterator[tuple[float, int, int]]:
    """Yield negated scores, those of an API raised with the strength of its best together: a task lives in one API."""
    strengths = {place: sum(heapq.nlargest(STRONGEST, found.values())) for place, found in scores.items()}
    most = max(strengths.values(), default=1.0) or 1.0
    for place, found in scores.items():
        factor = 1 - HOME + HOME * strengths[place] / most
        for number, score in found.items():
            yield -score * factor, place, number


def _fit(facts: Facts, known: Iterable[str], asked: frozenset[str]) -> float:
    """Damp an operation whose path says what nobody asked for, and a change that nobody asked for."""
    unmatched = [root for root in facts.path_stems if root not in known and root != "search"]
    factor = 1 - UNMATCHED * len(unmatched) / max(1, len(facts.path_stems))
    if facts.method not in ("GET", "HEAD"):
        factor *= ASKED if facts.method in asked else NOT_ASKED
    return factor


def _flow(index: SearchIndex, scores: dict[int, float], named: bool) -> dict[int, float]:
    """Let scores flow to producers; an operation keeps its own score where that is higher."""
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


def producers_of(index: SearchIndex, number: int) -> dict[str, list[int]]:
    """Map each identifier that an operation needs to the operations that yield it, best first."""
    return {edge.name: edge.targets for edge in index.edges_of(number) if edge.name != RELATED}
