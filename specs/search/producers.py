"""Producers of parameters: the operations whose responses hold the `person_id` that another operation needs.

They are recognised by paths, enumerated values and summaries.
"""

import heapq
from collections import defaultdict
from collections.abc import Sequence

import msgspec

from restgpt.specs.operation import Operation
from restgpt.specs.search.features import Features, Need, has_no_entity

# The weight of a producer, by the rule that recognises it.
SEARCH = 1.0
CURRENT = 1.0
COLLECTION = 0.8
ANY_SEARCH = 0.8
PARENT = 0.8
SAME_PATH = 0.6
MENTION = 0.4
BEHIND_VARIABLE = 0.3
LISTED = 1.0
# How much less the producers of a variable weigh for each further variable behind it in the path: a user more often
# gives the owner and the repository than the number of the comment.
EARLIER = 0.7
MOST = 12
RELATED = ""
# The name of the edge from a read to the changes of what it yields, which are on its path, and their weight.
CHANGES = "!"
OWN_CHANGE = 1.0


class Edge(msgspec.Struct, array_like=True, frozen=True):
    """The producers of one parameter of an operation, best first; `RELATED` and `CHANGES` stand for no parameter."""

    name: str
    targets: list[int]
    weights: list[float]


class ProducerGraph:
    """Finds producers through an index by entity, which avoids comparing every pair of operations."""

    def __init__(self, operations: Sequence[Operation], features: Sequence[Features]) -> None:
        self._operations = operations
        self._features = features
        self._by_entity: dict[str, dict[int, float]] = defaultdict(dict)
        self._any_search: dict[int, float] = {}
        self._changes: dict[str, list[int]] = defaultdict(list)
        for number, item in enumerate(operations):
            if item.method in ("PUT", "PATCH"):
                self._changes[item.path].append(number)
        self._reads = {item.path: number for number, item in enumerate(operations) if item.method == "GET"}
        for number, feature in enumerate(features):
            if feature.is_read:
                self._register(number, feature)
        self._best = {entity: self._top(found) for entity, found in self._by_entity.items()}

    def _register(self, number: int, feature: Features) -> None:
        factor = BEHIND_VARIABLE if feature.variables else 1.0
        worth: dict[str, float] = {}
        if feature.has_content:
            worth |= dict.fromkeys(feature.summary, MENTION)
        worth |= dict.fromkeys(feature.path_stems, MENTION)
        if feature.is_current and not feature.variables and not feature.has_required:
            worth |= dict.fromkeys(feature.summary, CURRENT)
        for last in feature.last_stems[-1:] if not feature.ends_in_variable else ():
            worth[last] = max(COLLECTION, worth.get(last, 0))
        if feature.is_search:
            worth |= dict.fromkeys((*feature.path_stems, *feature.choices), SEARCH)
            if feature.last_stems[-1:] == ("search",) and not feature.variables:
                self._any_search[number] = ANY_SEARCH
        for entity, value in worth.items():
            self._by_entity[entity][number] = value * factor

    def _top(self, found: dict[int, float]) -> list[tuple[int, float]]:
        """Keep the best `MOST`; of equal ones, those with shorter paths."""
        best = heapq.nsmallest(
            MOST, found.items(), key=lambda item: (-item[1], len(self._operations[item[0]].path), item[0])
        )
        return list(best)

    def edges(self, number: int) -> list[Edge]:
        """List the producers of every identifier of an operation, and its related operations."""
        feature = self._features[number]
        edges = []
        for need in feature.needs:
            found = self._producers(number, need)
            if found:
                edges.append(Edge(need.name, [item for item, _ in found], [round(weight, 3) for _, weight in found]))
        related = self._related(number)
        if related:
            edges.append(Edge(RELATED, list(related), list(related.values())))
        changes = self._changes_of(number)
        if changes:
            edges.append(Edge(CHANGES, list(changes), list(changes.values())))
        return edges

    def _changes_of(self, number: int) -> dict[int, float]:
        """Weigh the changes of what a GET yields, which are on its path."""
        operation = self._operations[number]
        found = self._changes.get(operation.path, ()) if operation.method == "GET" else ()
        return dict.fromkeys(found[:MOST], OWN_CHANGE)

    def _producers(self, number: int, need: Need) -> list[tuple[int, float]]:
        found = {
            target: weight * need.weight
            for target, weight in self._best.get(need.entity, ())
            if target != number and not (need.weight == 1.0 and need.name in self._features[target].variables)
        }
        if need.weight == 1.0:
            found = self._with_list(number, need, found)
        if need.weight < 1.0 and has_no_entity(need.name):
            for target, weight in self._any_search.items():
                found[target] = max(found.get(target, 0.0), weight * need.weight)
        return sorted(found.items(), key=lambda item: -item[1])

    def _with_list(self, number: int, need: Need, found: dict[int, float]) -> dict[int, float]:
        """Add the GET of the path before a variable, which lists what the variable names."""
        before, _, after = self._operations[number].path.partition("{" + need.name + "}")
        factor = EARLIER ** after.count("{")
        weighed = {target: weight * factor for target, weight in found.items()}
        listed = self._reads.get(before.rstrip("/"))
        if listed is not None and listed != number:
            weighed[listed] = max(weighed.get(listed, 0.0), LISTED * factor)
        return weighed

    def _related(self, number: int) -> dict[int, float]:
        """Weigh the related operations of one: the GET of its own path, and the GETs of the resources above it."""
        operation = self._operations[number]
        related: dict[int, float] = {}
        same = self._reads.get(operation.path)
        if same is not None and same != number:
            related[same] = SAME_PATH
        parts = operation.path.split("/")
        for end in range(len(parts) - 1, 1, -1):
            parent = self._reads.get("/".join(parts[:end])) if parts[end - 1].endswith("}") else None
            if parent is not None:
                related[parent] = PARENT
        return related
