"""Examples: the minimal valid arguments of an operation, built from its schemas."""

from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

from restgpt.specs.content import MediaType
from restgpt.specs.effort import can_spend, spend, within
from restgpt.specs.operation import Operation
from restgpt.specs.parameter import Parameter
from restgpt.specs.problem import Problem, TooComplex
from restgpt.specs.reading.text.coercion import coerce
from restgpt.specs.reading.tree import values_in
from restgpt.specs.schemas.json_schema import json_schema
from restgpt.specs.schemas.types import has_type, schema_types
from restgpt.specs.schemas.validation import first_fault

FORMATS = {
    "date": "2024-01-31",
    "date-time": "2024-01-31T12:00:00Z",
    "time": "12:00:00Z",
    "duration": "P1D",
    "email": "user@example.com",
    "uuid": "123e4567-e89b-12d3-a456-426614174000",
    "guid": "123e4567-e89b-12d3-a456-426614174000",
    "uri": "https://example.com",
    "url": "https://example.com",
    "hostname": "example.com",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "byte": "c3RyaW5n",
    "base64": "c3RyaW5n",
}
DEPTH = 32
# How many items or fields a value of an example may have.
LARGEST = 10_000
# How many parts and characters a whole value may have, and how many steps one attempt and one operation may take.
HEAVIEST = 1_000_000
ATTEMPT_MOST, EXAMPLES_MOST = 10_000, 200_000
BODY_METHODS = frozenset({"POST", "PUT", "PATCH"})
# Whether to use documented examples, and the first alternative to try: in this order until the value is valid.
ATTEMPTS = ((True, 0), (False, 0), (False, 1), (False, 2))
OBJECT_KEYS = frozenset({"properties", "required", "additionalProperties", "minProperties"})
# Keywords that decide whether a value is valid, but of which the search for one makes no use, or not all.
UNUSED_KEYS = frozenset(
    {
        "contains",
        "dependentRequired",
        "dependentSchemas",
        "if",
        "not",
        "pattern",
        "patternProperties",
        "propertyNames",
        "unevaluatedItems",
        "unevaluatedProperties",
    }
)
ARRAY_KEYS = frozenset({"items", "prefixItems", "minItems"})
NUMBER_KEYS = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"})

Schema = dict[str, Any]


class NoExample(ValueError):
    """No finite value fits the schema, or none was found."""


def minimal_arguments(operation: Operation) -> dict[str, Any]:
    """Build the minimal valid arguments, grouped by their place in the request.

    They are the required parameters, and the body if it is required or the method usually has one.
    """
    with within(EXAMPLES_MOST, operation.document.allowance):
        return _arguments(operation)


def _arguments(operation: Operation) -> dict[str, Any]:
    arguments: dict[str, Any] = {}
    for parameter in operation.parameters:
        if parameter.required:
            arguments.setdefault(parameter.location, {})[parameter.name] = parameter_example(operation, parameter)
    body = operation.body
    if body is not None and (body.required or operation.method in BODY_METHODS):
        arguments["body"] = body_example(operation, body.preferred)
    return arguments


class ExampleFault(NamedTuple):
    """A part of a call for which no value was found that fits its schema."""

    problem: Problem
    schema: Schema

    @property
    def is_sure(self) -> bool:
        """Whether the schema is at fault: it has no keyword that the search for a value leaves out, or uses in part."""
        nodes = (node for node in values_in(self.schema) if isinstance(node, dict))
        return all(UNUSED_KEYS.isdisjoint(node) for node in nodes)


def example_problems(operation: Operation, arguments: dict[str, Any]) -> list[Problem]:
    """List the required parameters, and the body, whose example in `arguments` is invalid by its own schema.

    Perhaps no value is valid for such a schema; its `ExampleFault` tells whether that is sure.
    """
    return [fault.problem for fault in example_faults(operation, arguments)]


def example_faults(operation: Operation, arguments: dict[str, Any]) -> list[ExampleFault]:
    """List the problems of `example_problems` with their schemas."""
    with within(EXAMPLES_MOST, operation.document.allowance):
        return _faults(operation, arguments)


def _faults(operation: Operation, arguments: dict[str, Any]) -> list[ExampleFault]:
    found = []
    for parameter in operation.parameters:
        if parameter.required:
            value = arguments.get(parameter.location, {}).get(parameter.name)
            schema = operation.json_schema(parameter.schema)
            fault = first_fault(value, schema)
            if fault:
                message = f"no value was found that fits {parameter.location} {parameter.name}: {fault}"
                found.append(ExampleFault(Problem(operation.pointer, message), schema))
    if "body" in arguments and operation.body is not None:
        schema = operation.json_schema(operation.body.preferred.schema, request=True)
        fault = first_fault(arguments["body"], schema)
        if fault:
            problem = Problem(f"{operation.pointer}/requestBody", f"no value was found that fits the body: {fault}")
            found.append(ExampleFault(problem, schema))
    return found


def parameter_example(operation: Operation, parameter: Parameter) -> Any:
    """Build a value for one parameter; a documented example is preferred."""
    schema = dict(parameter.schema)
    if parameter.example is not None and not isinstance(parameter.example, dict | list):
        schema = {"allOf": [schema], "example": parameter.example} if "$ref" in schema else schema
        schema.setdefault("example", parameter.example)
    value = schema_example(operation, schema, request=False)
    if value != "" or parameter.location != "path":
        return value
    # An empty path segment would name another resource.
    choices = operation.json_schema(parameter.schema).get("enum", ())
    return next((choice for choice in choices if choice), "string")


def body_example(operation: Operation, media: MediaType) -> Any:
    """Build a value for a request body; without a schema, an object if the media type is JSON or a form, else text.

    The body of a format of bytes is given as a file; any bytes may be a text.
    """
    if media.is_of_bytes and "octet-stream" not in media.media_type:
        return {"@bytes": "Ynl0ZXM="}
    if media.schema is None:
        return {} if "json" in media.media_type or "form" in media.media_type else "string"
    return schema_example(operation, media.schema, request=True)


def schema_example(operation: Operation, schema: Schema, *, request: bool) -> Any:
    """Build a small value that a raw schema accepts; a documented example is preferred if it is valid."""
    closure = json_schema(operation.document, schema, request=request, hints=True)
    value: Any = None
    for hints, branch in ATTEMPTS:
        try:
            with within(ATTEMPT_MOST):
                value = _Builder(closure, hints=hints, branch=branch).value(closure, (), 0)
        except NoExample:
            continue
        except TooComplex:
            # Further attempts would take as long.
            break
        if not first_fault(value, closure):
            break
    return value


class _Builder:
    """Builds one value of a closed schema.

    With `hints`, documented examples are used; `branch` is the number of the alternative that is tried first.
    """

    def __init__(self, closure: Schema, *, hints: bool, branch: int) -> None:
        self._definitions: dict[str, Any] = closure.get("$defs", {})
        self._hints = hints
        self._branch = branch

    def value(self, schema: Any, seen: tuple[str, ...], depth: int) -> Any:
        """Build a value; `seen` lists the references that led here. Raises NoExample."""
        if schema is False:
            raise NoExample("nothing is accepted here")
        if not isinstance(schema, dict) or not schema:
            return "string"
        spend()
        if depth > DEPTH:
            raise NoExample("the schema nests without end")
        flat, seen = self._flatten(schema, seen)
        try:
            return self._value(flat, seen, depth)
        except NoExample:
            if "null" in schema_types(flat):
                return None
            raise

    def _flatten(self, schema: Schema, seen: tuple[str, ...], depth: int = 0) -> tuple[Schema, tuple[str, ...]]:
        """Merge the target of `$ref` and the members of `allOf` into one schema."""
        if depth > DEPTH:
            raise NoExample("the schema nests without end")
        spend(1 + len(schema.get("properties", ())) // 10)
        flat = {key: value for key, value in schema.items() if key not in ("$ref", "allOf", "$defs")}
        members = list(schema.get("allOf", ()))
        if "$ref" in schema:
            name = schema["$ref"].removeprefix("#/$defs/")
            if seen.count(name) > 1:
                raise NoExample(f"{name} contains itself")
            seen = (*seen, name)
            members.insert(0, self._definitions.get(name, {}))
        for member in members:
            if isinstance(member, dict):
                inner, seen = self._flatten(member, seen, depth + 1)
                _merge(flat, inner)
        return flat, seen

    def _value(self, flat: Schema, seen: tuple[str, ...], depth: int) -> Any:
        kinds = schema_types(flat)
        if "const" in flat:
            return flat["const"]
        if self._hints:
            for hint in _hints_of(flat, kinds):
                return hint
        if flat.get("enum"):
            return flat["enum"][0]
        for key in ("oneOf", "anyOf"):
            if flat.get(key):
                return self._alternative(flat, key, seen, depth)
        kind = next((kind for kind in kinds if kind != "null"), None) or _implied_kind(flat)
        if kind == "object":
            return self._object(flat, seen, depth)
        if kind == "array":
            return self._array(flat, seen, depth)
        if kind in ("integer", "number"):
            return _number(flat, kind)
        if kind == "boolean":
            return True
        return None if kinds == ["null"] else _string(flat)

    def _alternative(self, flat: Schema, key: str, seen: tuple[str, ...], depth: int) -> Any:
        branches = flat[key]
        base = {name: value for name, value in flat.items() if name != key}
        start = min(self._branch, len(branches) - 1)
        for branch in (*branches[start:], *branches[:start]):
            try:
                value = self.value({**base, "allOf": [branch]}, seen, depth + 1)
            except NoExample:
                continue
            return _discriminated(flat, branch, value)
        raise NoExample(f"no alternative of {key} can be built")

    def _object(self, flat: Schema, seen: tuple[str, ...], depth: int) -> dict[str, Any]:
        properties, more = flat.get("properties", {}), flat.get("additionalProperties", {})
        least = _few(flat.get("minProperties", 0))
        needed = dict.fromkeys(flat.get("required", ()))
        wanted = max(least, 1 if depth == 0 else 0) - len(needed)
        names = [*needed, *islice((name for name in properties if name not in needed), max(0, wanted))]
        spend(1 + len(names) // 10)
        built = {name: self.value(properties.get(name, more), seen, depth + 1) for name in names}
        missing = least - len(built)
        if missing > 0:
            one = self.value(more, seen, depth + 1)
            _check_weight(one, missing)
            built |= {f"key{number + 1}": one for number in range(missing)}
        return built

    def _array(self, flat: Schema, seen: tuple[str, ...], depth: int) -> list[Any]:
        first = [self.value(item, seen, depth + 1) for item in flat.get("prefixItems", ())]
        least, most = _few(flat.get("minItems", 0)), flat.get("maxItems")
        if first or most == 0:
            return first[:most]
        items = flat.get("items", {})
        try:
            one = self.value(items, seen, depth + 1)
        except NoExample:
            if least:
                raise
            return []
        count = max(1, least)
        _check_weight(one, count)
        return self._distinct(one, items, count) if flat.get("uniqueItems") and count > 1 else [one] * count

    def _distinct(self, one: Any, items: Any, count: int) -> list[Any]:
        flat = self._flatten(items, ())[0] if isinstance(items, dict) else {}
        values = flat.get("enum", ())
        if len(values) >= count:
            return list(values[:count])
        if isinstance(one, int | float) and not isinstance(one, bool):
            return [one + number for number in range(count)]
        return [one, *(f"{one}{number}" for number in range(2, count + 1))] if isinstance(one, str) else [one] * count


def _merge(into: Schema, other: Schema) -> None:
    for key, value in other.items():
        if key == "properties":
            into[key] = {**value, **into.get(key, {})}
        elif key == "required":
            into[key] = list(dict.fromkeys([*into.get(key, ()), *value]))
        elif key == "enum" and key in into:
            is_quick = can_spend(len(into[key]) * len(value) // 100)
            into[key] = [item for item in into[key] if item in value] or into[key] if is_quick else into[key]
        elif key in ("minimum", "minLength", "minItems", "minProperties") and key in into:
            into[key] = max(into[key], value)
        elif key in ("maximum", "maxLength", "maxItems", "maxProperties") and key in into:
            into[key] = min(into[key], value)
        else:
            into.setdefault(key, value)


def _hints_of(flat: Schema, kinds: list[str]) -> Iterator[Any]:
    """Yield the documented scalar examples and the default that have the declared type."""
    for hint in (*flat.get("examples", ()), flat.get("default")):
        value = coerce(hint, kinds[0]) if kinds else hint
        if value is not None and kinds and not isinstance(value, dict | list) and has_type(value, kinds):
            yield value


def _discriminated(flat: Schema, branch: Any, value: Any) -> Any:
    """Set the discriminating property to the name of the chosen alternative."""
    discriminator = flat.get("discriminator")
    reference = branch.get("$ref") if isinstance(branch, dict) else None
    if not isinstance(discriminator, dict) or not isinstance(value, dict) or reference is None:
        return value
    name = discriminator["propertyName"]
    label = discriminator["names"].get(reference)
    if label is not None and value.get(name, "string") == "string":
        return {**value, name: label}
    return value


def _few(least: int) -> int:
    """Return the least number of parts of a value; raises NoExample if it is too large for an example."""
    if least > LARGEST:
        raise NoExample(f"a value needs {least:,} parts")
    return least


def _check_weight(one: Any, count: int) -> None:
    """Raise NoExample if so many copies of a value are too large for an example."""
    weight = 0
    for part in values_in(one):
        weight += 1 + (len(part) if isinstance(part, str | dict | list) else 0)
        if weight > HEAVIEST // count:
            raise NoExample(f"a value needs {count:,} parts, which are too large")


def _implied_kind(flat: Schema) -> str:
    for kind, keys in (("object", OBJECT_KEYS), ("array", ARRAY_KEYS), ("number", NUMBER_KEYS)):
        if keys & flat.keys():
            return kind
    return "string"


def _number(flat: Schema, kind: str) -> int | float:
    """Pick the plainest number within the bounds."""
    from jsonschema import Draft202012Validator

    validator = Draft202012Validator({key: value for key, value in flat.items() if key in NUMBER_KEYS or key == "type"})
    bounds = [flat[key] for key in NUMBER_KEYS if key in flat and key != "multipleOf"]
    step = flat.get("multipleOf", 1)
    candidates: list[Any] = [1, 0, step, *bounds]
    candidates += [bound + 1 for bound in bounds] + [bound - 1 for bound in bounds] + [bound / 2 for bound in bounds]
    candidates += [step * -(-bound // step) for bound in bounds] + [step * (bound // step) for bound in bounds]
    if len(bounds) > 1:
        candidates.append(sum(bounds[:2]) / 2)
    for candidate in candidates:
        if validator.is_valid(candidate):
            number: int | float = int(candidate) if kind == "integer" else candidate
            return number
    return 1


def _string(flat: Schema) -> str:
    least, most = _few(flat.get("minLength", 0)), flat.get("maxLength")
    text = FORMATS.get(str(flat.get("format")), "string").ljust(least, "x")
    return text if most is None else text[:most]
