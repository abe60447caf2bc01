"""The search index of an API: the stems of its operations with their BM25 impacts, and the producer graph."""

import contextlib
from array import array
from collections import defaultdict
from collections.abc import Sequence

import msgspec

from restgpt.specs.effort import within
from restgpt.specs.operation import Operation
from restgpt.specs.reading.disk_cache import DiskSlices
from restgpt.specs.reading.document import Document
from restgpt.specs.search.acts import Act, acts_of
from restgpt.specs.search.bm25 import impacts
from restgpt.specs.search.features import WEIGHTS, Features, FieldNames, read_features
from restgpt.specs.search.producers import CHANGES, RELATED, Edge, ProducerGraph

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
    with contextlib.suppress(OSError, msgspec.DecodeError):
        return msgspec.msgpack.decode(slices.search_index(), type=SearchIndex)
    built = build_search_index(document, operations)
    slices.keep_search_index(msgspec.msgpack.encode(built))
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
