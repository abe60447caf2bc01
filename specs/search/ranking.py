"""The weights of the ranking, learned on instructions for eleven documents (lab/measurements.md).

The operations that have words of a query: BM25 over stems, for the whole query and for each of its clauses.

A word is matched by its stem or, for less, by the stems of its synonyms; of one word, the best match in an operation
counts. Operations of several indexes are numbered through, in the order of the indexes.

Ranking of the operations of one or several APIs: words, fit, producers, variety.

An instruction names the result of a task and leaves out the steps before it. So every operation passes a part of its
score to the operations that yield its identifiers (`producers.py`), and a nested resource to the resource above it.
"""

import heapq
from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import exp
from operator import itemgetter

from restgpt.specs.search.query import PEOPLE_STEMS, SAID, Act, Query, phrases, read_query, synonyms
from restgpt.specs.search.search_index import CHANGES, Facts, SearchIndex, rarity


@dataclass(frozen=True, slots=True)
class Weights:
    """How much each sign counts; scores are multiplied by `exp` of the weights from `path` to `unasked`."""

    synonym: float = 0.5
    person: float = 2.0
    clause: float = 0.288
    path: float = 0.75
    last: float = 0.16
    title: float = 0.32
    similar: float = 0.3
    does: float = 0.5
    asked: float = 0.375
    other: float = 0.147
    unasked: float = 1.6
    flow: float = 0.75
    kept: float = 0.4
    changed: float = 0.7
    named: float = 1.2
    repeated: float = 0.85


WEIGHTS = Weights()


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


ROUNDS = 2
CANDIDATES = 150
# How many of the best operations pass scores on.
SOURCES = 60
# How much a score depends on its API, which is judged by this many of its best operations.
HOME, STRONGEST = 0.7, 5
# How much of the best score an operation needs to be listed for a bare query.
LISTED = 0.35
# How much less a read counts for a bare query that asks for a change.
READ_INSTEAD = 0.75
# How much an operation counts that does what a query orders by its method, but not in the words of the query.
IN_OTHER_WORDS = 0.5


class Search:
    """Ranks the operations of several indexes together; a stem counts by its rarity in all of them."""

    def __init__(self, indexes: Sequence[SearchIndex], weights: Weights = WEIGHTS) -> None:
        self._collection = Collection(indexes)
        self._weights = weights

    def find(self, text: str, k: int = 10) -> list[tuple[int, int]]:
        """Return the best `k` operations as pairs of the number of the index and the number in it, best first."""
        query = read_query(text)
        most = max(CANDIDATES, 2 * k)
        matches = find_matches(self._collection, query, self._weights, most)
        fit = _Fit(self._collection, query, matches, self._weights)
        scores = {number: fit.score(number) for number in matches.whole}
        best = dict(heapq.nlargest(most, scores.items(), key=itemgetter(1)))
        flowed = self._at_home(self._flow(best, query, max(SOURCES, k)))
        if query.is_bare:
            least = LISTED * max(flowed.values(), default=0.0)
            flowed = {number: score for number, score in flowed.items() if score >= least}
        places = ((self._collection.place(number), number) for number in self._varied(flowed, k))
        return [(place, number - self._collection.starts[place]) for place, number in places]

    def _flow(self, scores: Scores, query: Query, most: int) -> Scores:
        """Pass the scores of the best `most` on to their producers; an operation keeps its own if that is higher.

        If the query asks for a change, a read passes its score to the changes of what it yields, too.
        """
        weights, facts = self._weights, self._collection.facts
        edges: dict[int, list[tuple[int, float]]] = {}
        current = dict(scores)
        for _ in range(ROUNDS):
            following = dict(current)
            for number, score in heapq.nlargest(most, current.items(), key=itemgetter(1)):
                if number not in edges:
                    edges[number] = list(self._edges(number, query.seeks_change))
                for producer, weight in edges[number]:
                    gained = weight * score
                    if query.is_named and facts[producer].is_search:
                        gained *= weights.named
                    gained += weights.kept * scores.get(producer, 0.0)
                    if gained > following.get(producer, 0.0):
                        following[producer] = gained
            current = following
        return current

    def _edges(self, number: int, seeks_change: bool) -> Iterator[tuple[int, float]]:
        """Yield the operations that get a part of the score of one, with this part, once for each edge."""
        place = self._collection.place(number)
        start = self._collection.starts[place]
        for edge in self._collection.indexes[place].edges_of(number - start):
            if edge.name == CHANGES and not seeks_change:
                continue
            part = self._weights.changed if edge.name == CHANGES else self._weights.flow
            for target, weight in zip(edge.targets, edge.weights, strict=True):
                yield start + target, part * weight

    def _at_home(self, scores: Scores) -> Scores:
        """Damp the scores of APIs whose best operations score low, because a task mostly needs one API."""
        if len(self._collection.indexes) == 1:
            return scores
        by_place: dict[int, list[float]] = {}
        for number, score in scores.items():
            by_place.setdefault(self._collection.place(number), []).append(score)
        strengths = {place: sum(heapq.nlargest(STRONGEST, found)) for place, found in by_place.items()}
        most = max(strengths.values(), default=1.0) or 1.0
        return {
            number: score * (1 - HOME + HOME * strengths[self._collection.place(number)] / most)
            for number, score in scores.items()
        }

    def _varied(self, scores: Scores, k: int) -> list[int]:
        """Return the best `k`, lowering a score with every better operation of the same kind on the same resource."""
        waiting = [(-score, number, 0) for number, score in scores.items()]
        heapq.heapify(waiting)
        taken: Counter[tuple[bool, tuple[str, ...]]] = Counter()
        chosen: list[int] = []
        while waiting and len(chosen) < k:
            negated, number, lowered = heapq.heappop(waiting)
            facts = self._collection.facts[number]
            family = (facts.is_read, facts.last_stems)
            if taken[family] > lowered:
                factor = self._weights.repeated ** (taken[family] - lowered)
                heapq.heappush(waiting, (negated * factor, number, taken[family]))
                continue
            taken[family] += 1
            chosen.append(number)
        return chosen


class _Fit:
    """Scores the operations of one query: by its words, by what path and title add, and by whether they change."""

    def __init__(self, collection: Collection, query: Query, matches: Matches, weights: Weights) -> None:
        self._collection = collection
        self._query = query
        self._matches = matches
        self._weights = weights
        people = PEOPLE_STEMS if query.is_about_person else frozenset()
        meant = {other for stem in query.weights if stem in phrases() for other in phrases()[stem].stems}
        self._known = {"search", *query.weights, *people, *meant}
        self._similar = {other for stem in query.weights for other in synonyms().get(stem, ())}
        self._asked = frozenset().union(*(clause.methods for clause in query.clauses))
        self._ordered, self._implied = _acts(query)
        self._rarities: dict[str, tuple[float, float]] = {}

    def score(self, number: int) -> float:
        """Return the score of an operation: its share of words, by its fit."""
        weights = self._weights
        best = max(shares.get(number, 0.0) for shares in self._matches.clauses)
        words = (1 - weights.clause) * self._matches.whole.get(number, 0.0) + weights.clause * best
        facts = self._collection.facts[number]
        return words * exp(self._effect(facts) - self._foreign(facts))

    def _effect(self, facts: Facts) -> float:
        """Weigh a change by whether it does what the query orders, and by whether the query asks for its method."""
        weights = self._weights
        if facts.is_read:
            return -READ_INSTEAD if self._query.is_bare and self._asked else 0.0
        is_ordered = not self._ordered.isdisjoint(facts.acts)
        part = 1.0 if is_ordered else 0.0 if self._implied.isdisjoint(facts.acts) else IN_OTHER_WORDS
        does = weights.does * part
        if facts.method in self._asked or is_ordered:
            return does + weights.asked
        return does - (weights.other if self._asked or self._query.seeks_change else weights.unasked)

    def _foreign(self, facts: Facts) -> float:
        """Weigh the shares of path, last segment and title that the query does not mention."""
        weights = self._weights
        return (
            weights.path * self._unmatched(facts.path_stems)
            + weights.last * self._unmatched(facts.last_stems)
            + weights.title * self._unmatched(facts.title_stems)
        )

    def _unmatched(self, stems: Sequence[str]) -> float:
        """Return the share of stems, by rarity, that the query lacks; a synonym of one of its words counts in part."""
        total = missing = 0.0
        for stem in stems:
            rarity, lacking = self._rarities.get(stem) or self._weigh(stem)
            total += rarity
            missing += lacking
        return missing / total if total else 0.0

    def _weigh(self, stem: str) -> tuple[float, float]:
        """Return the rarity of a stem, and the part of it that the query lacks."""
        rarity = self._collection.rarity(stem)
        part = 0.0 if stem in self._known else self._weights.similar if stem in self._similar else 1.0
        self._rarities[stem] = (rarity, rarity * part)
        return rarity, rarity * part


def _acts(query: Query) -> tuple[set[Act], set[Act]]:
    """Return the acts that a query orders in its words or their synonyms, and those that its methods imply."""
    ordered: set[Act] = set()
    implied: set[Act] = set()
    for clause in query.clauses:
        verb, noun = clause.act
        verbs, nouns = {verb, *synonyms().get(verb, ())}, {noun, *synonyms().get(noun, ())}
        ordered.update(Act(one, other) for one in verbs for other in nouns)
        if noun:
            for method in clause.methods:
                # Whoever asks for a DELETE, by whatever verb, wants something deleted.
                acts = ordered if method == "DELETE" else implied
                acts.update(Act(said, other) for said in SAID[method] for other in nouns)
            implied.update(Act(made, one) for one in verbs for made in SAID["POST"])
    return ordered, implied
