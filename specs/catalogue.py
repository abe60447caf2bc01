"""A catalogue of several APIs: one list of operations with unique names, one search, one list for the selector."""

import builtins
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cached_property

from restgpt.specs.api import Api
from restgpt.specs.docs.documentation import TOKEN
from restgpt.specs.docs.map import Map, summary_line
from restgpt.specs.operation import Operation, identifier
from restgpt.specs.problem import AmbiguousOperationError, BarredOperationError, UnknownOperationError
from restgpt.specs.reading.index import UniqueNames
from restgpt.specs.search.ranking import Search

# The divisor of the budget for a list that was searched: the needed operations are near its head.
SEARCHED_PART = 2
# Names of functions and exceptions that programs have besides the operations.
RESERVED = frozenset(
    {"gather", "stop", "left", "rows", "field", "one", "number", "table", "headers", "ApiError", "Rejected"}
)
# How many of the best operations bring those that yield any of their ids with them, and how many of these each.
FIRST, PRODUCERS_MOST = 8, 2

NEAR = 5
"""How many names an error about an unknown operation gives."""


class Catalogue:
    """The operations of several APIs; a name is qualified as `api.name` only if two APIs share it."""

    def __init__(self, apis: Sequence[Api]) -> None:
        self.apis = tuple(apis)
        self._operations = tuple(operation for api in self.apis for operation in api.operations)

    def __len__(self) -> int:
        return len(self._operations)

    def __iter__(self) -> Iterator[Operation]:
        return iter(self._operations)

    @cached_property
    def _labels(self) -> dict[int, str]:
        """The label of each API by identity: its name, numbered if two APIs have the same."""
        labels: dict[int, str] = {}
        for api in self.apis:
            label, number = api.name, 2
            while label in labels.values():
                label, number = f"{api.name}-{number}", number + 1
            labels[id(api)] = label
        return labels

    @cached_property
    def _counts(self) -> Counter[str]:
        return Counter(operation.name for operation in self._operations)

    @cached_property
    def _long_names(self) -> dict[str, Operation]:
        """The operations by the names that they have where none is shortened."""
        counts = Counter(operation.long_name for operation in self._operations)
        return {self._qualified(item, item.long_name, counts): item for item in self._operations}

    def _qualified(self, operation: Operation, name: str, counts: Counter[str]) -> str:
        return name if counts[name] < 2 else f"{self._labels[id(operation.api)]}.{name}"

    def name_of(self, operation: Operation) -> str:
        """Return the name of an operation, qualified by its API only if another API has the same name."""
        return self._qualified(operation, operation.name, self._counts)

    @cached_property
    def functions(self) -> Mapping[str, Operation]:
        """The operations by their names as Python functions."""
        return _functions((self.name_of(operation), operation) for operation in self._operations)

    @cached_property
    def long_functions(self) -> Mapping[str, Operation]:
        """The operations whose names are shortened, by their long names as Python functions."""
        return _functions(item for item in self._long_names.items() if item[1].name != item[1].long_name)

    @cached_property
    def _function_names(self) -> dict[tuple[int, str], str]:
        return {(id(item.api), item.name): name for name, item in self.functions.items()}

    def function_name(self, operation: Operation) -> str:
        """Return the name of an operation as a Python function."""
        return self._function_names[(id(operation.api), operation.name)]

    def operation(self, key: str) -> Operation:
        """Find an operation by name, qualified name, operationId, `METHOD /path` or its name as a Python function.

        Raises UnknownOperationError with the names that are spelled alike, then those that fit its words,
        BarredOperationError, and AmbiguousOperationError for a name that several APIs have.
        """
        found = self._find(key)
        if found is not None and self._counts[name := key.strip()] > 1 and name not in self._long_names:
            raise AmbiguousOperationError(name, [self.name_of(item) for item in self if item.name == name])
        if found is None:
            if rule := self.bars(key):
                raise BarredOperationError(key, rule)
            # The search compares whole words, so letters are compared too: a name may be mistyped.
            alike = get_close_matches(key, [self.name_of(item) for item in self])
            near = [f"{self.name_of(item)} ({item.method} {item.path})" for item in self.search(key, NEAR)]
            near = [item for item in near if item.partition(" ")[0] not in alike]
            raise UnknownOperationError(key, [*alike, *near][:NEAR])
        return found

    def knows(self, key: str) -> bool:
        """Whether `operation` finds an operation by this key."""
        return self._find(key) is not None

    def _find(self, key: str) -> Operation | None:
        return self.lookup(key) or self.functions.get(key) or self.long_functions.get(key)

    def bars(self, key: str) -> str:
        """Return the rule that bars the operation of this key; empty if there is none, or it may be used."""
        found = None if self._whole is self or self._find(key) else self._whole._find(key)
        return "" if found is None else next(api.bars(found) for api in self.apis if api.whole is found.api)

    @cached_property
    def _whole(self) -> "Catalogue":
        """The catalogue without reaches."""
        return Catalogue([api.whole for api in self.apis]) if any(api.reaches for api in self.apis) else self

    def lookup(self, key: str) -> Operation | None:
        """Find an operation like `operation`; with several APIs, the path may begin with a label, as on the map."""
        for api in self.apis:
            label, _, rest = key.strip().partition(".")
            if label == self._labels[id(api)] and (found := api.lookup(rest)) is not None:
                return found
        # A name of the past finds its own operation, also where another API has a short name like it.
        if (own := self._long_names.get(key.strip())) is not None:
            return own
        for api in self.apis:
            found = api.lookup(key)
            if found is not None:
                return found
        return self.map.operation(key) if len(self.apis) > 1 else None

    @cached_property
    def map(self) -> Map:
        """The map of the paths of all APIs."""
        return Map({self._labels[id(api)]: api.operations for api in self.apis}, self.line)

    def search(self, text: str, k: int = 10) -> list[Operation]:
        """Return the `k` operations of all APIs that fit a text best."""
        found = self._search.find(text, k)
        return [self.apis[place].operations[number] for place, number in found]

    @cached_property
    def _search(self) -> Search:
        return Search([api.search_index for api in self.apis])

    def line(self, operation: Operation) -> str:
        """Return the line of an operation in the selector's list: name, method, path and summary."""
        return f"{self.name_of(operation)}: {summary_line(operation)}"

    def offer(self, text: str, budget: int) -> list[Operation]:
        """Return all operations if their lines fit `budget` tokens, else the best that fit half of it, by rank."""
        # Names and paths first, because summaries need more of the document.
        least = sum(len(item.name) + len(item.path) for item in self._operations)
        if least <= budget * TOKEN and sum(len(self.line(item)) + 1 for item in self._operations) <= budget * TOKEN:
            return list(self._operations)
        return self.best(text, budget)

    def best(self, text: str, budget: int) -> list[Operation]:
        """Return the operations that fit a text best, with their producers, whose lines fit half of `budget` tokens."""
        left = budget * TOKEN // SEARCHED_PART
        chosen: dict[int, Operation] = {}
        for number, found in enumerate(self.search(text, max(10, budget // 8))):
            for operation in (found, *self._best_producers(found, all_ids=number < FIRST)):
                cost = len(self.line(operation)) + 1
                if id(operation) not in chosen and cost <= left:
                    chosen[id(operation)] = operation
                    left -= cost
        return list(chosen.values())

    def _best_producers(self, operation: Operation, *, all_ids: bool) -> list[Operation]:
        """Return the best producer of each variable of the path, or of each id, of which it needs few."""
        producers = self.producers(operation).items()
        best = [found[0] for name, found in producers if found and (all_ids or "{" + name + "}" in operation.path)]
        return best[:PRODUCERS_MOST] if all_ids else best

    def producers(self, operation: Operation) -> Mapping[str, tuple[Operation, ...]]:
        """Map each identifier that an operation takes to the operations of its API that yield it, best first."""
        return operation.api.producers(operation)


def _functions(named: Iterable[tuple[str, Operation]]) -> dict[str, Operation]:
    """Return operations by their names as Python functions."""
    taken, names = RESERVED.union(dir(builtins)), UniqueNames()
    return {names.claim(identifier(name, taken=taken, fallback="call")): operation for name, operation in named}
