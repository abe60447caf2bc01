"""Examples: the minimal valid arguments of an operation, built from its schemas."""

from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

from restgpt.specs.effort import spend, within
from restgpt.specs.media_type import MediaType
from restgpt.specs.operation import Operation
from restgpt.specs.parameter import Parameter
from restgpt.specs.problem import Problem, TooComplex
from restgpt.specs.reading.document import Document
from restgpt.specs.reading.tree import coerce, values_in
from restgpt.specs.schemas.json_schema import json_schema
from restgpt.specs.schemas.shape import Shape
from restgpt.specs.schemas.validation import first_fault, has_type, unique_texts

FORMATS = {
    "date": "2024-01-31",
    "date-time": "2024-01-31T12:00:00Z",
    "time": "12:00:00Z",
    "duration": "P1D",
    "email": "user@example.com",
    "uuid": "123e4567-e89b-12d3-a456-426614174000",
    "uri": "https://example.com",
    "url": "https://example.com",
    "ipv4": "192.0.2.1",
    "byte": "c3RyaW5n",
}
DEPTH = 32
# How many steps one attempt and one operation may take.
ATTEMPT_MOST, EXAMPLES_MOST = 10_000, 200_000
BODY_METHODS = frozenset({"POST", "PUT", "PATCH"})
# Whether to use documented examples, and the first alternative to try: in this order until the value is valid.
ATTEMPTS = ((True, 0), (False, 0), (False, 1), (False, 2))
# Keywords that decide whether a value is valid, but of which the search for one makes no use, or not all.
UNUSED_KEYS = frozenset(
    {"contains", "dependentRequired", "dependentSchemas", "if", "not", "pattern", "patternProperties", "propertyNames"}
    | {"unevaluatedItems", "unevaluatedProperties"}
)
OBJECT_KEYS = frozenset({"required", "additionalProperties", "minProperties"})
BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")

Schema = dict[str, Any]


class NoExample(ValueError):
    """No finite value fits the schema, or none was found."""


class ExampleFault(NamedTuple):
    """A part of a call for which no value was found that fits its schema."""

    problem: Problem
    schema: Schema

    @property
    def is_sure(self) -> bool:
        """Whether the schema is at fault: it has no keyword that the search for a value leaves out, or uses in part."""
        nodes = (node for node in values_in(self.schema) if isinstance(node, dict))
        return all(UNUSED_KEYS.isdisjoint(node) for node in nodes)


def minimal_arguments(operation: Operation) -> dict[str, Any]:
    """Build the minimal valid arguments, grouped by their place in the request.

    They are the required parameters, and the body if it is required or the method usually has one.
    """
    arguments: dict[str, Any] = {}
    with within(EXAMPLES_MOST, operation.document.allowance):
        for item in operation.parameters:
            if item.required:
                arguments.setdefault(item.location, {})[item.name] = _parameter_value(operation, item)
        body = operation.body
        if body is not None and (body.required or operation.method in BODY_METHODS):
            arguments["body"] = _body_value(operation, body.preferred)
    return arguments


def example_problems(operation: Operation, arguments: dict[str, Any]) -> list[Problem]:
    """List the required parameters, and the body, whose example in `arguments` is invalid by its own schema.

    Perhaps no value is valid for such a schema; its `ExampleFault` tells whether that is sure.
    """
    return [fault.problem for fault in example_faults(operation, arguments)]


def example_faults(operation: Operation, arguments: dict[str, Any]) -> list[ExampleFault]:
    """List the problems of `example_problems` with their schemas."""
    pointer = operation.pointer
    with within(EXAMPLES_MOST, operation.document.allowance):
        parts = [
            (
                pointer,
                f"{item.location} {item.name}",
                arguments.get(item.location, {}).get(item.name),
                operation.json_schema(item.schema),
            )
            for item in operation.parameters
            if item.required
        ]
        if "body" in arguments and operation.body is not None:
            schema = operation.json_schema(operation.body.preferred.schema, request=True)
            parts.append((f"{pointer}/requestBody", "the body", arguments["body"], schema))
        return [
            ExampleFault(Problem(place, f"no value was found that fits {name}: {fault}"), schema)
            for place, name, value, schema in parts
            if (fault := first_fault(value, schema))
        ]


def _parameter_value(operation: Operation, parameter: Parameter) -> Any:
    schema = dict(parameter.schema)
    if parameter.example is not None and not isinstance(parameter.example, dict | list):
        schema = {"allOf": [schema], "example": parameter.example} if "$ref" in schema else schema
        schema.setdefault("example", parameter.example)
    value = _valid_value(operation.document, schema, operation.json_schema(parameter.schema))
    # An empty path segment would name another resource.
    return "string" if value == "" and parameter.location == "path" else value


def _body_value(operation: Operation, media: MediaType) -> Any:
    """A value for the body; without a schema, an object if the media type is JSON or a form, else text.

    The body of a format of bytes is given as a file; any bytes may be a text.
    """
    if media.is_of_bytes and "octet-stream" not in media.media_type:
        return {"@bytes": "Ynl0ZXM="}
    if media.schema is None:
        return {} if "json" in media.media_type or "form" in media.media_type else "string"
    return _valid_value(operation.document, media.schema, operation.json_schema(media.schema, request=True))


def _valid_value(document: Document, schema: Schema, judge: Schema) -> Any:
    """A small value of a raw schema that `judge` accepts, if one is found; a documented example is preferred."""
    value: Any = None
    for hints, branch in ATTEMPTS:
        try:
            with within(ATTEMPT_MOST):
                value = _Builder(document, hints, branch).value(Shape(document, schema, request=True))
        except NoExample:
            continue
        except TooComplex:
            # Further attempts would take as long.
            break
        if not first_fault(value, judge):
            break
    return value


class _Builder(NamedTuple):
    """Builds a value; with `hints`, of documented examples; `branch` is the alternative that is tried first."""

    document: Document
    hints: bool
    branch: int

    def value(self, shape: Shape, seen: tuple[Any, ...] = ()) -> Any:
        """Build a value; `seen` has the names of the fields of each object around it. Raises NoExample."""
        spend()
        names = tuple(shape.names())
        if len(seen) > DEPTH or (names and seen.count(names) > 1):
            raise NoExample("the schema nests without end")
        try:
            return self._value(shape, (*seen, names))
        except NoExample:
            if shape.is_nullable:
                return None
            raise

    def _value(self, shape: Shape, seen: tuple[Any, ...]) -> Any:
        flat = shape.flat
        values = [*(_hints_of(shape) if self.hints and "const" not in flat else ()), *shape.values]
        if values:
            return values[0]
        if shape.branches:
            return self._alternative(shape, seen)
        kind = next(iter(shape.kinds), "object" if OBJECT_KEYS & flat.keys() else "")
        if kind == "object":
            return self._object(shape, seen)
        if kind == "array":
            return self._array(shape, seen)
        if kind in ("integer", "number") or not flat.keys().isdisjoint(BOUNDS):
            return self._number(flat, kind)
        if kind == "boolean":
            return True
        return None if not kind and shape.is_nullable else _string(flat)

    def _alternative(self, shape: Shape, seen: tuple[Any, ...]) -> Any:
        key = "oneOf" if isinstance(shape.flat.get("oneOf"), list) else "anyOf"
        base = {name: value for name, value in shape.flat.items() if name != key}
        start = min(self.branch, len(shape.branches) - 1)
        for branch in (*shape.branches[start:], *shape.branches[:start]):
            whole = Shape(self.document, {**base, "allOf": [branch.schema]}, request=True)
            try:
                return _discriminated(shape.flat, branch, self.value(whole, seen))
            except NoExample:
                continue
        raise NoExample(f"no alternative of {key} can be built")

    def _object(self, shape: Shape, seen: tuple[Any, ...]) -> Schema:
        fields, flat = shape.fields, shape.flat
        declared = flat.get("properties") or {}
        needed = [name for name in unique_texts(flat.get("required")) if name in fields or name not in declared]
        least = _size(flat, "minProperties", 0)
        wanted = max(least, int(len(seen) == 1)) - len(needed)
        names = [*needed, *islice((name for name in fields if name not in needed), max(0, wanted))]
        if flat.get("additionalProperties") is False and not fields.keys() >= set(names):
            raise NoExample("a field is required that may not be there")
        more = shape.mapped or Shape(self.document, {})
        built = {name: self.value(fields.get(name, more), seen) for name in names}
        if least > len(built):
            one, missing = self.value(more, seen), least - len(built)
            _spend_on(one, missing)
            built |= {f"key{number + 1}": one for number in range(missing)}
        return built

    def _array(self, shape: Shape, seen: tuple[Any, ...]) -> list[Any]:
        flat, items = shape.flat, shape.items or Shape(self.document, {})
        first = flat.get("prefixItems", flat.get("items"))
        least, most = _size(flat, "minItems", 0), _size(flat, "maxItems", None)
        if isinstance(first, list) or most == 0:
            listed = first if isinstance(first, list) else []
            return [self.value(Shape(self.document, item, request=True), seen) for item in listed][:most]
        try:
            one = self.value(items, seen)
        except NoExample:
            if least:
                raise
            return []
        count = max(1, least)
        _spend_on(one, count)
        if count == 1 or not flat.get("uniqueItems"):
            return [one] * count
        if len(items.values) >= count:
            return list(items.values[:count])
        if isinstance(one, int | float):
            return [one + number for number in range(count)]
        return [one, *(f"{one}{number}" for number in range(2, count + 1))] if isinstance(one, str) else [one] * count

    def _number(self, flat: Schema, kind: str) -> int | float:
        """Pick the plainest number within the bounds."""
        judge = json_schema(self.document, {**flat, "type": kind or "number"})
        found = [_finite(flat.get(key)) for key in ("multipleOf", *BOUNDS)]
        step, bounds = found[0] or 1, [bound for bound in found[1:] if bound is not None]
        candidates = [1, 0, step, *bounds]
        candidates += [bound + more for bound in bounds for more in (1, -1, step - bound % step, -(bound % step))]
        candidates += [sum(bounds) / len(bounds)] if bounds else []
        number = next((candidate for candidate in candidates if not first_fault(candidate, judge)), 1)
        return int(number) if kind == "integer" else number


def _hints_of(shape: Shape) -> Iterator[Any]:
    """Yield the documented scalar examples and the default that have the declared type."""
    many, kinds = shape.flat.get("examples"), list(shape.kinds)
    for hint in (shape.flat.get("example"), *(many if isinstance(many, list) else ()), shape.flat.get("default")):
        value = coerce(hint, kinds[0]) if kinds else None
        if value is not None and not isinstance(value, dict | list) and has_type(value, kinds):
            yield value


def _discriminated(flat: Schema, branch: Shape, value: Any) -> Any:
    """Set the discriminating property to the name of the chosen alternative."""
    discriminator = flat.get("discriminator")
    if not isinstance(discriminator, dict) or not isinstance(value, dict) or not branch.reference:
        return value
    name, short = discriminator.get("propertyName"), branch.reference.rsplit("/", 1)[-1]
    mapping = discriminator.get("mapping")
    labels = {target: label for label, target in mapping.items()} if isinstance(mapping, dict) else {}
    label = labels.get(branch.reference) or labels.get(short) or short
    return {**value, name: label} if isinstance(name, str) and value.get(name, "string") == "string" else value


def _size(flat: Schema, key: str, default: Any) -> Any:
    value = _finite(flat.get(key))
    return default if value is None or value < 0 else int(value)


def _finite(value: Any) -> Any:
    value = coerce(value, "number")
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_number and abs(value) < 1e300 else None


def _spend_on(value: Any, count: int) -> None:
    """Spend the steps for so many copies of a value."""
    for part in values_in(value):
        spend(count * (1 + len(part) // 100) if isinstance(part, str) else count)


def _string(flat: Schema) -> str:
    least, most = _size(flat, "minLength", 0), _size(flat, "maxLength", None)
    spend(least // 100)
    return FORMATS.get(str(flat.get("format")), "string").ljust(least, "x")[:most]
