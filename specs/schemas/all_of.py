"""Merging `allOf`: one schema with the properties of all members, for documentation and conversion."""

from collections.abc import Mapping
from typing import Any

from restgpt.specs.problem import BrokenReference
from restgpt.specs.reading.document import Document
from restgpt.specs.reading.references import LONGEST_CHAIN, resolve
from restgpt.specs.schemas.types import unique_texts


def merge_all_of(document: Document, schema: Mapping[str, Any], seen: tuple[str, ...] = ()) -> dict[str, Any]:
    """Merge the members of `allOf`: all properties and required names, and the first of each other keyword.

    A member that refers to itself or to no node is left out.
    """
    merged: dict[str, Any] = {key: value for key, value in schema.items() if key != "allOf"}
    members = schema.get("allOf")
    for member in members if isinstance(members, list) else ():
        flat = _flat_member(document, member, seen)
        if flat is not None:
            _merge(merged, flat)
    return merged


def _flat_member(document: Document, member: Any, seen: tuple[str, ...]) -> dict[str, Any] | None:
    # A member that is no reference makes the chain longer too.
    seen = (*seen, "")
    if len(seen) > LONGEST_CHAIN:
        return None
    while isinstance(member, dict) and isinstance(member.get("$ref"), str):
        reference = member["$ref"]
        if reference in seen:
            return None
        seen = (*seen, reference)
        try:
            member = resolve(document, reference)
        except BrokenReference:
            return None
    return merge_all_of(document, member, seen) if isinstance(member, dict) else None


def _merge(into: dict[str, Any], other: dict[str, Any]) -> None:
    for key, value in other.items():
        if key == "properties" and isinstance(value, dict):
            mine = into.get("properties")
            into["properties"] = {**value, **(mine if isinstance(mine, dict) else {})}
        elif key == "required" and isinstance(value, list):
            into["required"] = list(dict.fromkeys([*unique_texts(into.get("required")), *unique_texts(value)]))
        elif key in ("oneOf", "anyOf") and key in into:
            into.setdefault("allOf", []).append({key: value})
        elif key == "additionalProperties" and value is False:
            into.setdefault(key, False)
        else:
            into.setdefault(key, value)
