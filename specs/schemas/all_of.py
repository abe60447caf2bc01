"""Merging `allOf`: one schema with the properties of all members, for documentation and conversion."""

from collections.abc import Mapping
from typing import Any

from restgpt.specs.effort import can_spend, within
from restgpt.specs.problem import BrokenReference
from restgpt.specs.reading.document import Document
from restgpt.specs.reading.references import LONGEST_CHAIN, resolve
from restgpt.specs.schemas.types import unique_texts

# How many members and properties one merge reads.
MERGED_MOST = 20_000


def merge_all_of(document: Document, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Merge the members of `allOf`: all properties and required names, and the first of each other keyword.

    A member that refers to itself or to no node is left out, and so are those after `MERGED_MOST` steps.
    """
    if "allOf" not in schema:
        return dict(schema)
    with within(MERGED_MOST):
        return _Merge(document).merge(schema, ())


class _Merge:
    """One merge: it keeps the merged schema of each reference, which `allOf` may name again and again."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._known: dict[str, dict[str, Any]] = {}
        # How many members were left out because of the members around them.
        self._cut = 0

    def merge(self, schema: Mapping[str, Any], seen: tuple[str, ...]) -> dict[str, Any]:
        members = schema.get("allOf")
        merged = _Merged({key: value for key, value in schema.items() if key != "allOf"})
        for member in members if isinstance(members, list) else ():
            flat = self._flat(member, seen)
            if flat is not None:
                merged.add(flat)
        return merged.whole()

    def _flat(self, member: Any, seen: tuple[str, ...]) -> dict[str, Any] | None:
        reference = member.get("$ref") if isinstance(member, dict) else None
        if isinstance(reference, str) and reference in self._known:
            return self._known[reference]
        before = self._cut
        flat = self._read(member, seen)
        if isinstance(reference, str) and flat is not None and self._cut == before:
            self._known[reference] = flat
        return flat

    def _read(self, member: Any, seen: tuple[str, ...]) -> dict[str, Any] | None:
        # A member that is no reference makes the chain longer too.
        seen = (*seen, "")
        if len(seen) > LONGEST_CHAIN or not can_spend():
            self._cut += 1
            return None
        while isinstance(member, dict) and isinstance(member.get("$ref"), str):
            reference = member["$ref"]
            if reference in seen:
                self._cut += 1
                return None
            seen = (*seen, reference)
            try:
                member = resolve(self._document, reference)
            except BrokenReference:
                return None
        return self.merge(member, seen) if isinstance(member, dict) else None


class _Merged:
    """A schema that others are merged into; properties and required names are joined once, at the end."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self._schema = schema
        self._properties: list[Mapping[str, Any]] = []
        self._required: list[list[Any]] = []

    def add(self, other: Mapping[str, Any]) -> None:
        into = self._schema
        for key, value in other.items():
            if key == "properties" and isinstance(value, dict):
                if can_spend(len(value)):
                    self._properties.append(value)
                    into.setdefault(key, {})
            elif key == "required" and isinstance(value, list):
                if can_spend(len(value)):
                    self._required.append(value)
                    into.setdefault(key, [])
            elif key in ("oneOf", "anyOf") and key in into:
                into.setdefault("allOf", []).append({key: value})
            elif key == "allOf":
                # A list of its own, because the other schema may be merged again.
                into.setdefault(key, list(value))
            elif key == "additionalProperties" and value is False:
                into.setdefault(key, False)
            else:
                into.setdefault(key, value)

    def whole(self) -> dict[str, Any]:
        """Return the schema; properties of later members come first, and of equal names the earliest member's wins."""
        if self._properties:
            own = self._schema["properties"]
            joined: dict[str, Any] = {}
            for properties in reversed([own if isinstance(own, dict) else {}, *self._properties]):
                joined.update(properties)
            self._schema["properties"] = joined
        if self._required:
            names = [name for listed in [self._schema["required"], *self._required] for name in unique_texts(listed)]
            self._schema["required"] = list(dict.fromkeys(names))
        return self._schema
