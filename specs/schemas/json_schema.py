"""Conversion of schemas of any OpenAPI version to JSON Schema 2020-12, with the definitions that they refer to."""

import re
from collections import OrderedDict, deque
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from itertools import islice
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

from restgpt.specs.effort import spend, within
from restgpt.specs.problem import BrokenReference, TooComplex
from restgpt.specs.reading.document import LONGEST_CHAIN, Document, follow_safely, resolve
from restgpt.specs.reading.faults import ENUM_MOST
from restgpt.specs.reading.index import UniqueNames
from restgpt.specs.reading.tree import coerce
from restgpt.specs.schemas.shape import merge_all_of
from restgpt.specs.schemas.validation import (
    fit_values,
    is_pattern,
    is_quick,
    is_true,
    plain_pattern,
    schema_types,
    unique_texts,
)

KEPT = frozenset({"title", "description", "default", "format", "const", "contentEncoding", "contentMediaType"})
SUBSCHEMA = ("not", "if", "then", "else", "contains", "propertyNames", "unevaluatedItems", "unevaluatedProperties")
SUBSCHEMA_LISTS = ("oneOf", "anyOf", "prefixItems")
SIZES = (
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "minContains",
    "maxContains",
)
LONGEST_NAME = 1000
# How many patterns of names of one object are compiled.
PATTERNS_MOST = 100
# How many steps one conversion may take: a step is a schema, some properties, or a kilobyte that is decoded for it.
CONVERTED_MOST = 60_000
# How many steps all conversions took that are kept of one document.
KEPT_MOST = 150_000
TOO_COMPLEX = {"$comment": "The schema is too complex to be read, so it accepts any value."}
"""The conversion of a schema that takes too many steps."""

LIMITS = frozenset({*SIZES, "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "pattern"})
ILLEGAL = re.compile(r"[^A-Za-z0-9_.-]+")


def json_schema(
    document: Document, schema: Mapping[str, Any] | None, *, request: bool = False, patterns: bool = True
) -> dict[str, Any]:
    """Convert a raw schema to JSON Schema 2020-12, with every definition that it refers to in `$defs`.

    With `request`, read-only properties are left out; without, write-only ones are not required. A broken reference
    becomes a schema that accepts any value; so does a schema that takes too many steps, as `TOO_COMPLEX`. `oneOf`
    becomes `anyOf`, because alternatives overlap in real documents and a value that fits two of them is valid. A
    discriminator is kept as a note, with the value that names each alternative: it refuses nothing. Without `patterns`,
    regular expressions are left out.
    """
    raw = schema or {}
    known = _CONVERSIONS.setdefault(document, _Conversions())
    key = (raw["$ref"] if list(raw) == ["$ref"] else id(raw), request, patterns)
    found = known.get(key, raw)
    if found is None:
        with within(CONVERTED_MOST, document.allowance) as effort:
            found = _converted(document, raw, request, patterns)
        if not effort.is_spent or effort.granted == CONVERTED_MOST:
            # Else an outer limit was reached, and the schema may be read when there is more left.
            known.put(key, raw, found, CONVERTED_MOST - effort.left)
    return dict(found)


def _converted(document: Document, schema: Mapping[str, Any], request: bool, patterns: bool) -> dict[str, Any]:
    try:
        return _Closure(document, request, patterns).build(dict(schema))
    except TooComplex:
        return TOO_COMPLEX


@dataclass(frozen=True, slots=True)
class _Conversion:
    """One conversion, the schema that it is of, which keeps its `id`, and the steps that it took."""

    schema: Mapping[str, Any]
    converted: dict[str, Any]
    steps: int


class _Conversions:
    """The last conversions of one document: a request and its answer convert the same schema again and again."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Hashable, _Conversion] = OrderedDict()
        self._steps = 0
        self._lock = Lock()

    def get(self, key: Hashable, schema: Mapping[str, Any]) -> dict[str, Any] | None:
        with self._lock:
            found = self._kept.get(key)
            if found is None or not (found.schema is schema or found.schema == {"$ref": schema.get("$ref")}):
                return None
            self._kept.move_to_end(key)
            return found.converted

    def put(self, key: Hashable, schema: Mapping[str, Any], converted: dict[str, Any], steps: int) -> None:
        with self._lock:
            before = self._kept.pop(key, None)
            self._kept[key] = _Conversion(schema, converted, steps)
            self._steps += steps - (before.steps if before is not None else 0)
            while self._steps > KEPT_MOST and len(self._kept) > 1:
                _, oldest = self._kept.popitem(last=False)
                self._steps -= oldest.steps


_CONVERSIONS: "WeakKeyDictionary[Document, _Conversions]" = WeakKeyDictionary()


class _Closure:
    """Converts one schema and the definitions that it refers to, each once."""

    def __init__(self, document: Document, request: bool, patterns: bool) -> None:
        self._document = document
        self._request = request
        self._patterns = patterns
        self._names: dict[str, str] = {}
        self._unique = UniqueNames()
        self._queue: deque[str] = deque()
        self._defs: dict[str, Any] = {}
        self._edges: dict[str, list[dict[str, Any]]] = {}
        self._home = ""

    def build(self, schema: dict[str, Any]) -> dict[str, Any]:
        root = self._convert(schema, in_place=True)
        while self._queue:
            reference = self._queue.popleft()
            self._home = name = self._names[reference]
            try:
                node = resolve(self._document, reference)
            except TooComplex:
                raise
            except BrokenReference:
                node = True
            self._defs[name] = self._convert(node, in_place=True)
        self._cut_circles()
        root = root if isinstance(root, dict) else ({} if root else {"not": {}})
        return {**root, "$defs": self._defs} if self._defs else root

    def _cut_circles(self) -> None:
        """Empty one reference of each circle or long chain that descends into no value: validation would not end."""
        state: dict[str, int] = {}

        def visit(name: str, depth: int) -> None:
            state[name] = 1
            for edge in self._edges.get(name, ()):
                target = edge["$ref"].removeprefix("#/$defs/")
                if state.get(target) == 1 or depth > LONGEST_CHAIN:
                    edge.clear()
                elif target not in state:
                    visit(target, depth + 1)
            state[name] = 2

        visit("", 0)

    def _reference(self, reference: str, in_place: bool) -> dict[str, Any]:
        if reference not in self._names:
            self._names[reference] = self._free_name(reference)
            self._queue.append(reference)
        converted = {"$ref": f"#/$defs/{self._names[reference]}"}
        if in_place:
            self._edges.setdefault(self._home, []).append(converted)
        return converted

    def _free_name(self, reference: str) -> str:
        stem = ILLEGAL.sub("_", reference.rstrip("/").rsplit("/", 1)[-1].rsplit("#", 1)[-1]) or "schema"
        return self._unique.claim(stem)

    def _convert(self, node: Any, *, in_place: bool = False) -> Any:
        if isinstance(node, bool):
            return node
        if not isinstance(node, dict):
            return {}
        spend()
        if isinstance(node.get("$ref"), str):
            return self._convert_reference(node, in_place)
        members = node.get("allOf")
        if isinstance(members, list) and (self._is_closed(node, members) or self._is_split(node, members)):
            node = merge_all_of(self._document, node)
        out: dict[str, Any] = {key: node[key] for key in KEPT if key in node}
        self._convert_type(node, out)
        if "default" in out and isinstance(out.get("type"), str):
            out["default"] = coerce(out["default"], out["type"])
        self._convert_limits(node, out)
        self._convert_object(node, out)
        self._convert_array(node, out)
        self._convert_applicators(node, out, in_place)
        self._convert_discriminator(node, out)
        return _nullable(out) if is_true(node.get("nullable")) or is_true(node.get("x-nullable")) else out

    def _convert_reference(self, node: dict[str, Any], in_place: bool) -> Any:
        converted = self._reference(node["$ref"], in_place)
        siblings = {key: value for key, value in node.items() if key != "$ref"}
        if is_true(siblings.pop("nullable", False)) or is_true(siblings.pop("x-nullable", False)):
            return {"anyOf": [converted, {"type": "null"}]}
        if not self._document.has_ref_siblings:
            return converted
        others = self._convert(siblings, in_place=in_place)
        return {**others, **converted} if others else converted

    def _is_closed(self, schema: dict[str, Any], members: list[Any]) -> bool:
        """Tell whether a member of `allOf` forbids the properties of the other members, a common mistake."""
        nodes = [schema, *(follow_safely(self._document, member) for member in members)]
        return any(isinstance(node, dict) and node.get("additionalProperties") is False for node in nodes)

    def _is_split(self, schema: dict[str, Any], members: list[Any]) -> bool:
        """Tell whether a member requires a property of another one, which may be read-only, in a request."""
        nodes = [schema, *(follow_safely(self._document, member) for member in members)] if self._request else []
        return any(
            set(unique_texts(required)) - set(properties if isinstance(properties, dict) else ())
            for node in nodes
            if isinstance(node, dict) and isinstance(required := node.get("required"), list)
            for properties in [node.get("properties")]
        )

    def _convert_type(self, node: dict[str, Any], out: dict[str, Any]) -> None:
        kinds = schema_types(node)
        if kinds:
            out["type"] = kinds[0] if len(kinds) == 1 else kinds
        values = node.get("enum")
        if isinstance(values, list) and len(values) > ENUM_MOST:
            # Comparing a list of values with so many takes too long, and no person reads them.
            return
        if isinstance(values, list) and values and "array" not in kinds:
            fitting = fit_values(values, kinds)
            if fitting:
                out["enum"] = fitting

    def _convert_limits(self, node: dict[str, Any], out: dict[str, Any]) -> None:
        if LIMITS.isdisjoint(node):
            return
        for key in SIZES:
            value = coerce(node.get(key), "integer")
            if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0:
                out[key] = int(value)
        low, high = _number(node.get("minimum")), _number(node.get("maximum"))
        for key, strict, limit in (("minimum", "exclusiveMinimum", low), ("maximum", "exclusiveMaximum", high)):
            bound = node.get(strict)
            if is_true(bound) and limit is not None:
                out[strict] = limit
            elif limit is not None:
                out[key] = limit
            if not isinstance(bound, bool) and _number(bound) is not None:
                out[strict] = _number(bound)
        step = _number(node.get("multipleOf"))
        # A fraction is left out: 19.99 is no multiple of 0.01 in binary arithmetic.
        if step is not None and step > 0 and step == int(step):
            out["multipleOf"] = int(step)
        pattern = plain_pattern(node.get("pattern"))
        if pattern is not None and self._patterns:
            out["pattern"] = pattern

    def _convert_object(self, node: dict[str, Any], out: dict[str, Any]) -> None:
        properties = node.get("properties")
        hidden = self._hidden(properties)
        if isinstance(properties, dict):
            out["properties"] = {
                name: self._convert(item) for name, item in properties.items() if not (self._request and name in hidden)
            }
        required = node.get("required")
        if isinstance(required, list):
            names = [name for name in unique_texts(required) if name not in hidden]
            if names:
                out["required"] = names
        more = node.get("additionalProperties")
        if isinstance(more, bool | dict):
            out["additionalProperties"] = self._convert(more)

    def _hidden(self, properties: Any) -> set[str]:
        """Name the properties that a request, or an answer, does not have: nothing may require them."""
        flag = "readOnly" if self._request else "writeOnly"
        found = properties.items() if isinstance(properties, dict) else ()
        return {name for name, item in found if self._has_flag(item, flag)}

    def _has_flag(self, item: Any, flag: str) -> bool:
        if isinstance(item, dict) and isinstance(item.get("$ref"), str) and not is_true(item.get(flag)):
            item = follow_safely(self._document, item)
        return isinstance(item, dict) and is_true(item.get(flag))

    def _convert_array(self, node: dict[str, Any], out: dict[str, Any]) -> None:
        items = node.get("items")
        if isinstance(items, list):
            out["prefixItems"] = [self._convert(item) for item in items] or [{}]
        elif isinstance(items, bool | dict):
            out["items"] = self._convert(items)
            values = node.get("enum")
            # An `enum` beside `type: array` lists the items, unless it lists arrays.
            listed = values if isinstance(values, list) and len(values) <= ENUM_MOST else []
            if "array" in schema_types(node) and listed and isinstance(out["items"], dict):
                kept = fit_values([v for v in listed if not isinstance(v, list)], schema_types(items))
                if kept and "$ref" not in out["items"]:
                    out["items"]["enum"] = kept
        if is_true(node.get("uniqueItems")):
            out["uniqueItems"] = True

    def _convert_applicators(self, node: dict[str, Any], out: dict[str, Any], in_place: bool) -> None:
        for key in SUBSCHEMA:
            if isinstance(node.get(key), bool | dict):
                out[key] = self._convert(node[key], in_place=in_place and key in ("not", "if", "then", "else"))
        dependent, named = node.get("dependentSchemas"), node.get("patternProperties")
        if isinstance(dependent, dict):
            out["dependentSchemas"] = {name: self._convert(item, in_place=in_place) for name, item in dependent.items()}
        if isinstance(named, dict):
            judged = {
                name: item
                for name, item in islice(named.items(), PATTERNS_MOST)
                if self._patterns and is_pattern(name) and is_quick(name, LONGEST_NAME)
            }
            out["patternProperties"] = {name: self._convert(item) for name, item in judged.items()}
            if len(judged) < len(named):
                # A pattern that is left out may match any name.
                out["additionalProperties"] = True
        for key in ("allOf", *SUBSCHEMA_LISTS):
            members = node.get(key)
            if isinstance(members, list) and members:
                converted = [self._convert(member, in_place=in_place and key != "prefixItems") for member in members]
                out["anyOf" if key == "oneOf" and "anyOf" not in node else key] = converted
        demanded = node.get("dependentRequired")
        if isinstance(demanded, dict):
            hidden = self._hidden(node.get("properties"))
            out["dependentRequired"] = {
                name: [other for other in unique_texts(others) if other not in hidden]
                for name, others in demanded.items()
                if isinstance(others, list)
            }

    def _convert_discriminator(self, node: dict[str, Any], out: dict[str, Any]) -> None:
        discriminator = node.get("discriminator")
        if isinstance(discriminator, dict) and isinstance(discriminator.get("propertyName"), str):
            mapping = discriminator.get("mapping")
            pairs = mapping.items() if isinstance(mapping, dict) else ()
            targets = {target: value for value, target in pairs if isinstance(target, str)}
            spend(len(targets) + len(self._names))
            names = {}
            for reference, name in self._names.items():
                short = reference.rsplit("/", 1)[-1]
                names[f"#/$defs/{name}"] = targets.get(reference) or targets.get(short) or short
            out["discriminator"] = {"propertyName": discriminator["propertyName"], "names": names}


def _nullable(out: dict[str, Any]) -> dict[str, Any]:
    """Accept null as well (`nullable` of OpenAPI 3.0)."""
    if "type" in out:
        kinds = out["type"] if isinstance(out["type"], list) else [out["type"]]
        out["type"] = kinds if "null" in kinds else [*kinds, "null"]
    if "enum" in out and None not in out["enum"]:
        out["enum"] = [*out["enum"], None]
    if any(key in out for key in ("allOf", "oneOf", "anyOf", "const")):
        notes: dict[str, Any] = {key: out.pop(key) for key in ("title", "description", "default") if key in out}
        return {**notes, "anyOf": [out, {"type": "null"}]}
    return out


def _number(value: Any) -> int | float | None:
    value = coerce(value, "number")
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
