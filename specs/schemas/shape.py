"""Merging `allOf`: one schema with the properties of all members, for documentation and conversion.

Shapes: the types, fields and items of a schema, with references followed and `allOf` merged when they are read.
"""

from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import islice
from typing import Any

from restgpt.specs.effort import can_spend, within
from restgpt.specs.problem import BrokenReference
from restgpt.specs.reading.document import LONGEST_CHAIN, Document, follow_safely, resolve
from restgpt.specs.schemas.validation import fit_values, has_type, is_true, schema_types, told_values, unique_texts

# How many members and properties one merge reads.
MERGED_MOST = 20_000


def merge_all_of(document: Document, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Merge the members of `allOf`: all properties and required names, and the first of each other keyword.

    Properties of one name, items and additional properties are joined, each as an `allOf` of its own.

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
            elif key in ("items", "additionalProperties") and isinstance(value, dict):
                into[key] = _both(into[key], value) if key in into else value
            else:
                into.setdefault(key, value)

    def whole(self) -> dict[str, Any]:
        """Return the schema; properties of later members come first, and those of equal names hold together."""
        if self._properties:
            own = self._schema["properties"]
            joined: dict[str, Any] = {}
            for properties in reversed([own if isinstance(own, dict) else {}, *self._properties]):
                joined |= {name: _both(value, joined.get(name)) for name, value in properties.items()}
            self._schema["properties"] = joined
        if self._required:
            names = [name for listed in [self._schema["required"], *self._required] for name in unique_texts(listed)]
            self._schema["required"] = list(dict.fromkeys(names))
        return self._schema


def _both(first: Any, second: Any) -> Any:
    """What two schemas ask for of one value; of keywords that both have and that cannot be joined the first counts."""
    if first == second or not isinstance(second, dict) or not second:
        return first
    if not isinstance(first, dict) or (not first and first is not False):
        return second if isinstance(first, dict) else first
    return {"allOf": [first, second]}


# How many alternatives are read, and how often one may lead to others before a value is reached.
BRANCH_MOST, CHAIN_MOST = 8, 2
# How many properties of one object are read; more enumerated values than these count as none.
FIELDS_MOST, VALUES_MOST = 500, 500
# Keywords that may add fields and that are not read.
UNREAD = frozenset({"patternProperties", "if", "dependentSchemas", "allOf", "$dynamicRef"})
SIBLINGS = ("default", "nullable", "x-nullable", "description")

Schema = dict[str, Any]


class Shape:
    """One schema of a document; alternatives count as one object with the fields of all.

    In a request, read-only fields are left out; in a response, write-only ones. Each part is read on first use, so a
    schema that contains itself costs as much as is read of it.
    """

    def __init__(
        self,
        document: Document,
        schema: Any,
        *,
        request: bool = False,
        known: dict[str, Schema] | None = None,
        chain: int = 0,
    ) -> None:
        self._document = document
        self._schema: Schema = schema if isinstance(schema, dict) else {}
        self._request = request
        # The schemas that were already found, by reference; all shapes of one value share them.
        self._known: dict[str, Schema] = {} if known is None else known
        self._chain = chain

    def _inner(self, schema: Any, *, chain: int = 0) -> "Shape":
        return Shape(self._document, schema, request=self._request, known=self._known, chain=chain)

    @property
    def document(self) -> Document:
        """The document of the schema."""
        return self._document

    @property
    def schema(self) -> Schema:
        """The schema as the document writes it."""
        return self._schema

    @property
    def reference(self) -> str:
        """The reference that the schema is, as the document writes it; empty if it is written in place."""
        reference = self._schema.get("$ref")
        return reference if isinstance(reference, str) else ""

    @cached_property
    def flat(self) -> Schema:
        """The schema itself, with its reference followed and `allOf`, or an only alternative, merged into it."""
        reference = self._schema.get("$ref")
        if not can_spend():
            return {}
        if not isinstance(reference, str):
            return self._merged(self._schema)
        if reference not in self._known:
            self._known[reference] = self._merged(follow_safely(self._document, {"$ref": reference}))
        siblings = {key: self._schema[key] for key in SIBLINGS if key in self._schema}
        return {**self._known[reference], **siblings}

    def _merged(self, schema: Any) -> Schema:
        if not isinstance(schema, dict):
            return {}
        flat = merge_all_of(self._document, schema) if "allOf" in schema else schema
        for key in ("oneOf", "anyOf"):
            members = flat.get(key)
            if isinstance(members, list):
                real = [member for member in members if schema_types(member) != ["null"]]
                if len(real) == 1:
                    rest = {name: value for name, value in flat.items() if name != key}
                    nullable = {"nullable": True} if len(members) > 1 else {}
                    return merge_all_of(self._document, {**rest, **nullable, "allOf": real})
        return flat

    @cached_property
    def branches(self) -> "tuple[Shape, ...]":
        """The alternatives of `oneOf` or `anyOf`, without null."""
        lists = (self.flat.get(key) for key in ("oneOf", "anyOf"))
        members: list[Any] = next((members for members in lists if isinstance(members, list)), [])
        if self._chain >= CHAIN_MOST:
            return ()
        real = (member for member in members if schema_types(member) != ["null"])
        return tuple(self._inner(member, chain=self._chain + 1) for member in islice(real, BRANCH_MOST))

    @cached_property
    def _declared(self) -> list[str]:
        return schema_types(self.flat)

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """The JSON types without null; none if the document does not restrict them."""
        flat = self.flat
        if self._declared:
            return tuple(kind for kind in self._declared if kind != "null")
        if isinstance(flat.get("properties"), dict) and flat["properties"]:
            return ("object",)
        if "items" in flat:
            return ("array",)
        if self.values:
            return _kinds_of(self.values)
        each = [branch.kinds for branch in self.branches]
        return tuple(dict.fromkeys(kind for kinds in each for kind in kinds)) if all(each) else ()

    @property
    def is_nullable(self) -> bool:
        """Whether the value may be null."""
        return is_true(self.flat.get("nullable")) or is_true(self.flat.get("x-nullable")) or "null" in self._declared

    @cached_property
    def values(self) -> tuple[Any, ...]:
        """The enumerated scalars, or the constant, that the value must be one of; empty if it is free."""
        listed = [self.flat["const"]] if "const" in self.flat else self.flat.get("enum")
        if not isinstance(listed, list) or len(listed) > VALUES_MOST or "array" in self._declared:
            return ()
        found = fit_values(listed, self._declared)
        return tuple(value for value in found if value is not None and not isinstance(value, dict | list))

    @property
    def shown_values(self) -> tuple[Any, ...]:
        """The values, or those that the description of a text that is sent lists; nothing is refused for the latter."""
        is_text = self._request and set(self._declared) - {"null"} == {"string"}
        return self.values or (told_values(self.description) if is_text and "enum" not in self.flat else ())

    def names(self) -> Iterator[str]:
        """Yield the names of the documented fields, those that `fields` leaves out too."""
        yield from islice(self._properties, FIELDS_MOST)
        for branch in self.branches:
            yield from branch.names()

    @property
    def has_fields(self) -> bool:
        """Whether the document describes fields."""
        return any(True for _ in self.names())

    @property
    def _properties(self) -> Schema:
        properties = self.flat.get("properties")
        return properties if isinstance(properties, dict) else {}

    @cached_property
    def fields(self) -> "Mapping[str, Shape]":
        """The documented fields of an object in document order, those of the alternatives last."""
        found: dict[str, Shape] = {}
        if not can_spend():
            return found
        for name, schema in islice(self._properties.items(), FIELDS_MOST):
            shape = self._inner(schema)
            if not is_true(shape.flat.get("readOnly" if self._request else "writeOnly")):
                found[str(name)] = shape
        others: dict[str, list[Shape]] = {}
        for branch in self.branches:
            for name, shape in branch.fields.items():
                others.setdefault(name, []).append(shape)
        found.update({name: self._either(shapes) for name, shapes in others.items() if name not in found})
        return found

    def _either(self, shapes: "list[Shape]") -> "Shape":
        """Return the shape of a value that has one of several shapes."""
        schemas: list[Schema] = []
        for shape in shapes:
            if shape._schema not in schemas:
                schemas.append(shape._schema)
        return shapes[0] if len(schemas) == 1 else self._inner({"anyOf": schemas})

    @property
    def required(self) -> frozenset[str]:
        """The fields that every alternative requires."""
        names = self.flat.get("required")
        return frozenset(map(str, names)) & self.fields.keys() if isinstance(names, list) else frozenset()

    @property
    def is_open(self) -> bool:
        """Whether the document says that other fields than `fields` may occur."""
        more = self.flat.get("additionalProperties")
        return (
            is_true(more)
            or isinstance(more, dict)
            or not UNREAD.isdisjoint(self.flat)
            or any(branch.has_fields or branch.is_open for branch in self.branches)
        )

    @property
    def is_base(self) -> bool:
        """Whether the schema itself has a discriminator, so that a value may have the fields of one that extends it."""
        raw = follow_safely(self._document, self._schema)
        members = raw.get("allOf") if isinstance(raw, dict) else None
        own = [raw, *(members if isinstance(members, list) else ())]
        return any(isinstance(node, dict) and "discriminator" in node for node in own)

    @cached_property
    def items(self) -> "Shape | None":
        """The items of an array; None if the value is no array."""
        if "array" not in self.kinds:
            return None
        items = self.flat.get("items")
        if items is None and self.branches:
            found = [branch.items for branch in self.branches if branch.items is not None]
            return self._either(found) if found else None
        values = self.flat.get("enum")
        # An `enum` beside `type: array` lists the items.
        return self._inner({**items, "enum": values} if isinstance(items, dict) and isinstance(values, list) else items)

    @property
    def mapped(self) -> "Shape | None":
        """The values of an object whose names are free; None if the document does not describe them."""
        more = self.flat.get("additionalProperties")
        return self._inner(more) if isinstance(more, dict) and more else None

    @property
    def description(self) -> str:
        """The description, or an empty string."""
        text = self.flat.get("description")
        return text if isinstance(text, str) else ""


def _kinds_of(values: tuple[Any, ...]) -> tuple[str, ...]:
    order = ("boolean", "integer", "number", "string")
    return tuple(dict.fromkeys(next(kind for kind in order if has_type(value, [kind])) for value in values))
