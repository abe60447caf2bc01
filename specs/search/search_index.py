"""BM25 over fields (BM25F, Robertson and Zaragoza 2009): how much a stem counts in a document, and in a collection.

A score is the sum, over the stems of the query, of `rarity` times impact.

Producers of parameters: the operations whose responses hold the `person_id` that another operation needs.

They are recognised by paths, enumerated values and summaries.

The search index of an API: the stems of its operations with their BM25 impacts, and the producer graph.
"""

import contextlib
import heapq
import math
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from restgpt.specs.effort import within
from restgpt.specs.operation import Operation
from restgpt.specs.reading.disk_cache import DiskSlices, replacing
from restgpt.specs.reading.document import Document
from restgpt.specs.search.features import WEIGHTS, Features, FieldNames, Need, has_no_entity, read_features
from restgpt.specs.search.query import Act, acts_of

# The parameter k1: a stem counts less with every further occurrence.
SATURATION = 1.2

Fields = Mapping[str, Counter[str]]


def impacts(documents: Sequence[Fields], weights: Mapping[str, float], *, length: float) -> Iterator[dict[str, float]]:
    """Yield the impact of each stem of each document.

    A document is the count of its stems by field. `weights` says how much one occurrence counts, by field; `length`
    is the parameter b: how much a field that is longer than the average is damped, from 0 (not at all) to 1.
    """
    count = max(1, len(documents))
    lengths = [{field: counts.total() for field, counts in document.items()} for document in documents]
    averages = {field: sum(item[field] for item in lengths) / count or 1.0 for field in weights}
    for document, own in zip(documents, lengths, strict=True):
        weighted: dict[str, float] = {}
        for field, counts in document.items():
            factor = weights[field] / (1 - length + length * own[field] / averages[field])
            for stem, occurrences in counts.items():
                weighted[stem] = weighted.get(stem, 0.0) + factor * occurrences
        yield {stem: weight * (SATURATION + 1) / (weight + SATURATION) for stem, weight in weighted.items()}


def rarity(frequency: int, size: int) -> float:
    """Return the weight of a stem that `frequency` of `size` documents have (inverse document frequency)."""
    return math.log(1 + (size - frequency + 0.5) / (frequency + 0.5))


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


# How many steps the schemas of one operation may take; the names below the schemas read by then are not found.
STEPS_MOST = 20_000
# How much a long field is damped (the parameter b of BM25).
LENGTH = 0.5


class Facts(msgspec.Struct, array_like=True, gc=False):
    """The properties of one operation that ranking uses beside its stems."""

    method: str
    is_read: bool
    is_search: bool
    path_stems: tuple[str, ...]
    last_stems: tuple[str, ...]
    title_stems: tuple[str, ...]
    acts: tuple[Act, ...]


class SearchIndex(msgspec.Struct, array_like=True):
    """The packed numbers and impacts of the operations that have a stem, by stem; facts and producers by number."""

    size: int
    numbers: dict[str, bytes]
    impacts: dict[str, bytes]
    facts: list[Facts]
    edges: list[msgspec.Raw]

    def frequency(self, stem: str) -> int:
        """Return how many operations have a stem."""
        return len(self.numbers.get(stem, b"")) // array("I").itemsize

    def edges_of(self, number: int) -> list[Edge]:
        """Return the producers of one operation."""
        return msgspec.msgpack.decode(self.edges[number], type=list[Edge])

    def producers_of(self, number: int) -> dict[str, list[int]]:
        """Map each identifier that an operation needs to the numbers of the operations that yield it, best first."""
        return {edge.name: edge.targets for edge in self.edges_of(number) if edge.name not in (RELATED, CHANGES)}


def load_search_index(document: Document, operations: Sequence[Operation]) -> SearchIndex:
    """Return the search index from the disk cache of the document, else build it and keep it there."""
    slices = document.slices
    if not isinstance(slices, DiskSlices):
        return build_search_index(document, operations)
    path = slices.search_path(operation.name for operation in operations)
    with contextlib.suppress(OSError, msgspec.DecodeError):
        return msgspec.msgpack.decode(path.read_bytes(), type=SearchIndex)
    built = build_search_index(document, operations)
    # A folder that cannot be written is left as it is.
    with contextlib.suppress(OSError), replacing(path) as partial:
        partial.write_bytes(msgspec.msgpack.encode(built))
    return built


def build_search_index(document: Document, operations: Sequence[Operation]) -> SearchIndex:
    """Read the features of every operation, each decoded afresh so that none stays in memory."""
    names = FieldNames(document)
    with within(document.allowance.left, document.allowance) as effort:
        features = [_features(operation, names) for operation in operations]
    document.allowance.left -= effort.granted - effort.left
    graph = ProducerGraph(operations, features)
    numbers, packed = _postings(features)
    return SearchIndex(
        len(operations),
        {stem: postings.tobytes() for stem, postings in numbers.items()},
        {stem: postings.tobytes() for stem, postings in packed.items()},
        [_facts(operation, feature) for operation, feature in zip(operations, features, strict=True)],
        [msgspec.Raw(msgspec.msgpack.encode(graph.edges(number))) for number in range(len(operations))],
    )


def _features(operation: Operation, names: FieldNames) -> Features:
    with within(STEPS_MOST):
        return read_features(operation.fresh(), names)


def _facts(operation: Operation, feature: Features) -> Facts:
    return Facts(
        operation.method,
        feature.is_read,
        feature.is_search,
        feature.path_stems,
        feature.last_stems,
        feature.title_stems,
        acts_of(operation.method, operation.path, operation.operation_id, operation.summary),
    )


def _postings(features: Sequence[Features]) -> "tuple[dict[str, array[int]], dict[str, array[float]]]":
    """List, for each stem, the numbers of the operations that have it and its impact in each."""
    numbers: dict[str, array[int]] = defaultdict(lambda: array("I"))
    packed: dict[str, array[float]] = defaultdict(lambda: array("f"))
    for number, found in enumerate(impacts([item.fields for item in features], WEIGHTS, length=LENGTH)):
        for stem, impact in found.items():
            numbers[stem].append(number)
            packed[stem].append(impact)
    return numbers, packed
