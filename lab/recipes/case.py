"""A case: a recipe as it ran on the API that it was saved on, with all that mutations of this API need to know."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from lab.recipes.mutated_world import Exchange
from lab.recipes.mutation import Document
from lab.recipes.pointer import fields, joined
from lab.recipes.written import Written
from restgpt_bench.worlds.exchange import Json


@dataclass(frozen=True, slots=True)
class Chosen:
    """A list in an answer of which the program takes one named item: its pattern, the item's index and the name."""

    operation: str
    pattern: str
    index: int
    name: str
    items: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """A program, the document of its world, its exchanges with the world, and the operations of its functions.

    A case equals only itself, so that what is found in its large document can be cached.
    """

    written: Written
    document: Document
    exchanges: tuple[Exchange, ...]
    operations: Mapping[str, str]

    @property
    def used(self) -> list[str]:
        """The operations that answered the program's calls, in order."""
        return list(dict.fromkeys(item.operation for item in self.exchanges if item.operation in self._called))

    @property
    def _called(self) -> set[str]:
        return {key for name, key in self.operations.items() if re.search(rf"\b{name}\(", self.written.code)}

    def mentions(self, name: str) -> bool:
        """Return whether the program has this word, so that a field of the name may be read."""
        return re.search(rf"\b{re.escape(name)}\b", self.written.code) is not None

    def answered(self, operation: str) -> dict[str, Json]:
        """Return the fields in the answers of an operation, by pattern, each with a value."""
        found: dict[str, Json] = {}
        for item in self.exchanges:
            if item.operation == operation and item.reply.ok:
                found = dict(fields(item.reply.body)) | found
        return found

    def sent(self, operation: str) -> set[tuple[str, str]]:
        """Return the places and names of the arguments that were sent to an operation: `query` and `body`."""
        found: set[tuple[str, str]] = set()
        for item in self.exchanges:
            if item.operation == operation:
                found |= {("query", name) for name, _ in parse_qsl(item.request.query, keep_blank_values=True)}
                found |= {("body", name) for name in item.body}
        return found

    def chosen(self) -> list[Chosen]:
        """Return the lists of which the program takes one named item."""
        found = {}
        for function, given in self.written.chooses.items():
            operation, name = self.operations[function], str(self.written.inputs[given])
            for item in self.exchanges:
                if item.operation == operation and item.reply.ok and (hit := _list_with(item.reply.body, name)):
                    found[operation] = Chosen(operation, hit[0], hit[1], name, hit[2])
        return list(found.values())


def _list_with(body: Json, name: str) -> tuple[str, int, list[Any]] | None:
    for pattern, value in fields({"": body} if isinstance(body, list) else body):
        if not isinstance(value, list):
            continue
        for index, item in enumerate(value):
            if isinstance(item, dict) and is_named(item, name):
                return ("" if pattern == joined("") else pattern), index, value
    return None


def is_named(item: Mapping[str, Any], name: str) -> bool:
    """Return whether a text of an item is, or has in it, a name in any case."""
    return any(isinstance(value, str) and name.casefold() in value.casefold() for value in item.values())
