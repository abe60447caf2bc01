"""Ranking of the operations of one or several APIs: words, fit, producers, variety.

An instruction names the result of a task and leaves out the steps before it. So every operation passes a part of its
score to the operations that yield its identifiers (`producers.py`), and a nested resource to the resource above it.
"""

import heapq
from collections import Counter
from collections.abc import Iterator, Sequence
from math import exp
from operator import itemgetter

from restgpt.specs.search.acts import SAID, Act
from restgpt.specs.search.index import Facts, SearchIndex
from restgpt.specs.search.matches import Collection, Matches, Scores, find_matches
from restgpt.specs.search.producers import CHANGES
from restgpt.specs.search.query import PEOPLE_STEMS, Query, read_query
from restgpt.specs.search.synonyms import phrases, synonyms
from restgpt.specs.search.weights import WEIGHTS, Weights

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
