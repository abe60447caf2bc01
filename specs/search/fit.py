"""The fit of one operation with a query, beside its words: what its path and title add, and whether it changes."""

from collections.abc import Sequence
from math import exp

from restgpt.specs.search.index import Facts
from restgpt.specs.search.matches import Collection, Matches
from restgpt.specs.search.query import PEOPLE_STEMS, Query
from restgpt.specs.search.synonyms import phrases, synonyms
from restgpt.specs.search.weights import Weights


class Fit:
    """Scores the operations of one query."""

    def __init__(self, collection: Collection, query: Query, matches: Matches, weights: Weights) -> None:
        self._collection = collection
        self._query = query
        self._matches = matches
        self._weights = weights
        people = PEOPLE_STEMS if query.is_about_person else frozenset()
        self._meant = {other for stem in query.weights if stem in phrases() for other in phrases()[stem].stems}
        self._known = {"search", *query.weights, *people, *self._meant}
        self._similar = {other for stem in query.weights for other in synonyms().get(stem, ())}
        self._asked = frozenset().union(*(clause.methods for clause in query.clauses))
        self._rarities: dict[str, tuple[float, float]] = {}

    def score(self, number: int, similarity: float | None = None) -> float:
        """Return the score of an operation: its share of words, by its fit; a similarity of vectors is mixed in."""
        weights = self._weights
        best, clause = 0.0, 0
        for at, shares in enumerate(self._matches.clauses):
            share = shares.get(number, 0.0)
            if share > best:
                best, clause = share, at
        words = (1 - weights.clause) * self._matches.whole.get(number, 0.0) + weights.clause * best
        if similarity is not None:
            words = (1 - weights.vector) * words + weights.vector * similarity
        facts = self._collection.facts[number]
        return words * exp(self._effect(facts, clause) - self._foreign(facts))

    def _effect(self, facts: Facts, clause: int) -> float:
        """Weigh a change by the verbs of the clause that it matches best, then by those of the others."""
        weights = self._weights
        if facts.is_read:
            return 0.0
        if clause < len(self._query.clauses) and facts.method in self._query.clauses[clause].methods:
            return weights.asked
        if self._query.seeks_change and not self._meant.isdisjoint(facts.last_stems):
            # A phrase says what the path ends with: `back up the disk` for POST …/backup.
            return weights.asked
        if facts.method in self._asked:
            return weights.elsewhere
        return -weights.other if self._asked or self._query.seeks_change else -weights.unasked

    def _foreign(self, facts: Facts) -> float:
        """Weigh the shares of path, last segment and title that the query does not mention."""
        weights = self._weights
        return (
            weights.path * self._unmatched(facts.path_stems)
            + weights.last * self._unmatched(facts.last_stems)
            + weights.title * self._unmatched(facts.title_stems)
            + weights.deprecated * facts.is_deprecated
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
