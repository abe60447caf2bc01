"""The ablation without search closure: search compares words only, and no operation has producers."""

from collections.abc import Mapping, Sequence

import msgspec

from restgpt.nodes.run.services import Services
from restgpt.specs import Catalogue, Operation
from restgpt.specs.search.ranking import Search
from restgpt.specs.search.search_index import SearchIndex


class UnclosedCatalogue(Catalogue):
    """A catalogue whose search ignores producers."""

    def __init__(self, closed: Catalogue) -> None:
        super().__init__(closed.apis)
        self._unclosed: list[SearchIndex] | None = None

    def search(self, text: str, k: int = 10) -> list[Operation]:
        """Return the `k` operations whose words fit a text best."""
        if self._unclosed is None:
            self._unclosed = [without_edges(api.search_index) for api in self.apis]
        return [self.apis[place].operations[number] for place, number in Search(self._unclosed).find(text, k)]

    def producers(self, operation: Operation) -> Mapping[str, tuple[Operation, ...]]:
        """Return nothing: this catalogue has no producer graph."""
        return {}


class UnclosedResources(Services):
    """Services whose catalogue ignores producers."""

    def catalogue(self, names: Sequence[str]) -> Catalogue:
        """The operations of the APIs of these names, or of all."""
        return UnclosedCatalogue(super().catalogue(names))


def without_edges(index: SearchIndex) -> SearchIndex:
    """The same index, but with no edge of the producer graph."""
    none = msgspec.Raw(msgspec.msgpack.encode([]))
    return msgspec.structs.replace(index, edges=[none] * index.size)
