"""Arguments by their place, and their coercion and validation by JSON Schema; problems are reported by JSON pointer.

Only coercions without loss are made: "5" for an integer, 5 for a string, "true" for a boolean, 2.0 for an integer, one
value for an array of such values, JSON text for an object or an array. A null counts as not given if the value is
optional and its schema does not allow null.
"""

import difflib
import hashlib
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Any, NamedTuple

from restgpt.specs.docs.function_arguments import SignatureError, grouped
from restgpt.specs.operation import Operation
from restgpt.specs.problem import TooComplex
from restgpt.specs.reading.json_text import is_too_deep
from restgpt.specs.reading.tree import parse_pointer, places_in
from restgpt.specs.schemas.validation import errors_of, is_found
from restgpt.tools.errors import ArgumentError, ArgumentProblem
from restgpt.tools.request.files import Blob, BlobText

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

MOST_PROBLEMS = 8
MOST_DEPTH = 60
"""The deepest nesting of an argument, as in a program: stores and checkpoints keep at most 100 levels of a call."""

_DOUBTFUL = frozenset(
    {"type", "enum", "pattern", "format", "required", "additionalProperties", "unevaluatedProperties"}
)
"""The keywords in which a document may be wrong about what its server takes."""

CLAIM = 16
"""The characters of a claim before its pointer."""

_SURROGATE = re.compile("[\ud800-\udfff]")
_INTEGER = re.compile(r"-?(0|[1-9][0-9]*)")
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_NAMES = {bool: "boolean", int: "integer", float: "number", str: "string", dict: "object", list: "array"}

Schema = Mapping[str, Any]


def by_place(operation: Operation, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments grouped by place, which may be named as those of the function; raises `ArgumentError`."""
    try:
        return grouped(operation, arguments)
    except SignatureError as error:
        raise ArgumentError([ArgumentProblem("", str(error))], operation=operation.name) from None


def pointer_part(name: str) -> str:
    """Escape a name for a JSON pointer (RFC 6901); a lone surrogate becomes a question mark."""
    return _whole(name).replace("~", "~0").replace("/", "~1")


def nearest(name: str, names: Iterable[str], *, likeness: float = 0.6) -> str:
    """The end of a sentence with the known names most like `name`, or with the first known names if none is like it."""
    known = list(names)
    folded = {re.sub(r"[^a-z0-9]", "", item.lower()): item for item in known}
    wanted = re.sub(r"[^a-z0-9]", "", name.lower())
    near = [folded[item] for item in difflib.get_close_matches(wanted, folded, 3, likeness)]
    if near:
        return f"; did you mean {' or '.join(near)}?"
    return f"; known here: {', '.join(known[:12])}" if known else "; nothing goes here"


MOST_LEVELS = 8
"""How many levels of composition of a schema are looked into."""


def types_of(schema: Any, root: Schema) -> frozenset[str] | None:
    """The JSON types that a schema allows at its top level; None if it does not restrict them."""
    return _types_of(schema, root, {}, 0)


def _types_of(schema: Any, root: Schema, known: dict[int, Any], depth: int) -> frozenset[str] | None:
    """The same; `known` holds the types of each schema of the walk, of which references may lead to one many times."""
    schema = follow(schema, root)
    if not isinstance(schema, Mapping) or depth > MOST_LEVELS:
        return None
    if id(schema) not in known:
        known[id(schema)] = None
        known[id(schema)] = _own_types(schema, root, known, depth)
    found: frozenset[str] | None = known[id(schema)]
    return found


def _own_types(schema: Schema, root: Schema, known: dict[int, Any], depth: int) -> frozenset[str] | None:
    kind = schema.get("type")
    if isinstance(kind, str):
        return frozenset({kind})
    if isinstance(kind, list):
        return frozenset(item for item in kind if isinstance(item, str))
    members = [schema["const"]] if "const" in schema else schema.get("enum")
    if isinstance(members, list) and members:
        return frozenset("null" if item is None else _NAMES.get(type(item), "string") for item in members)
    for key in ("anyOf", "oneOf"):
        if isinstance(schema.get(key), list):
            found = [_types_of(item, root, known, depth + 1) for item in schema[key]]
            return None if None in found else frozenset(name for item in found if item for name in item)
    for item in schema.get("allOf") or ():
        found_types = _types_of(item, root, known, depth + 1)
        if found_types is not None:
            return found_types
    return frozenset({"object"}) if "properties" in schema else None


def follow(schema: Any, root: Schema) -> Any:
    """Follow the local references of a self-contained schema."""
    for _ in range(16):
        reference = schema.get("$ref") if isinstance(schema, Mapping) else None
        if not isinstance(reference, str) or not reference.startswith("#"):
            return schema
        target: Any = root
        for part in reference.lstrip("#").split("/")[1:]:
            target = target.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(target, Mapping) else None
        schema = target
    return schema


def _parts(schema: Any, root: Schema, seen: set[int], depth: int = 0) -> Iterator[Schema]:
    """Yield the schemas of which a schema is composed, each once, inner ones first and the schema itself last."""
    schema = follow(schema, root)
    if not isinstance(schema, Mapping) or depth > MOST_LEVELS or id(schema) in seen:
        return
    seen.add(id(schema))
    for key in ("allOf", "anyOf", "oneOf"):
        for item in schema.get(key) or ():
            yield from _parts(item, root, seen, depth + 1)
    yield schema


def properties_of(schema: Any, root: Schema) -> dict[str, Any]:
    """The properties of a schema at its top level, with the properties in `allOf`, `anyOf` and `oneOf`."""
    found: dict[str, Any] = {}
    for part in _parts(schema, root, set()):
        own = part.get("properties")
        found.update(own if isinstance(own, Mapping) else {})
    return found


def _undeclared(name: str, schema: Any, root: Schema) -> Any:
    """The schema of the value of an undeclared property, by a pattern of names, else for all others; None without."""
    for part in reversed(list(_parts(schema, root, set()))):
        for pattern, item in (part.get("patternProperties") or {}).items():
            if is_found(pattern, name):
                return item
        if isinstance(part.get("additionalProperties"), Mapping):
            return part["additionalProperties"]
    return None


def is_open(schema: Any, root: Schema) -> bool:
    """Whether an object schema explicitly allows additional properties, or is none that is known."""
    parts = list(_parts(schema, root, set()))
    return not parts or any(
        part.get("additionalProperties") not in (None, False) or part.get("patternProperties") for part in parts
    )


def coerce(value: Any, schema: Any, root: Schema, depth: int = 0) -> Any:
    """Convert a value to the type in its schema, if the conversion loses nothing."""
    types = types_of(schema, root)
    if types is None or value is None or depth > 32:
        return value
    if isinstance(value, str):
        read = _from_text(value, types, schema, root)
        is_other = "string" not in types or (read != value and _is_only(read, value, schema, root))
        value = read if is_other else value
    elif (
        isinstance(value, float)
        and value.is_integer()
        and "integer" in types
        and ("number" not in types or abs(value) < 2**53)
    ):
        # The digits that JSON writes: 1e23 is no double.
        value = int(Decimal(repr(value)))
    elif isinstance(value, bool | int) and types <= {"string", "null"}:
        value = json.dumps(value)
    if "array" in types and not isinstance(value, list) and not types & {_NAMES.get(type(value), ""), "object"}:
        value = [value]
    node = follow(schema, root)
    if isinstance(value, list) and isinstance(node.get("items"), Mapping):
        return [coerce(item, node["items"], root, depth + 1) for item in value]
    if isinstance(value, dict):
        known = properties_of(node, root)
        schemas = {key: known[key] if key in known else _undeclared(str(key), node, root) for key in value}
        return {key: coerce(item, schemas[key], root, depth + 1) for key, item in value.items()}
    return value


def _is_only(read: Any, text: str, schema: Any, root: Schema) -> bool:
    """Whether a schema that allows texts, and other values too, refuses this text but allows the value read of it."""
    whole = {**schema, "$defs": root.get("$defs", {})}
    return bool(validate(text, whole, "")) and not validate(read, whole, "")


def _from_text(text: str, types: frozenset[str], schema: Any, root: Schema) -> Any:
    """Parse a string as one of the types in the schema; returns the string unchanged if it cannot be parsed."""
    if "boolean" in types and text in ("true", "false"):
        return text == "true"
    if types & {"integer", "number"} and _INTEGER.fullmatch(text):
        return int(text) if len(text) < 1000 else text
    try:
        if "number" in types and _NUMBER.fullmatch(text):
            return exact_float(text)
        if types & {"object", "array"} and text.lstrip()[:1] in ("{", "["):
            read = text if is_too_deep(text) else json.loads(text, parse_float=exact_float)
            return read if ("object" if isinstance(read, dict) else "array") in types else text
    except ValueError:
        return text
    if "array" in types and "," in text:
        items = follow(follow(schema, root).get("items"), root)
        choices = items.get("enum") if isinstance(items, Mapping) else None
        parts = [part.strip() for part in text.split(",")]
        if isinstance(choices, list) and text not in choices and all(part in choices for part in parts):
            return parts
    return text


def exact_float(text: str) -> float:
    """Read a decimal number; raises `ValueError` if the nearest double, which would be sent, is another number."""
    number = float(text)
    if not math.isfinite(number) or Decimal(repr(number)) != Decimal(text):
        raise ValueError(f"{_cut(text, 60)} has more digits than a number of JSON keeps: {number!r} would be sent")
    return number


def without_nulls(value: Any, schema: Schema) -> Any:
    """Leave out nulls of properties whose schema does not allow null: a form cannot encode them."""
    if not isinstance(value, dict):
        return value
    known = properties_of(schema, schema)
    either = frozenset({"null"})
    return {
        name: item
        for name, item in value.items()
        if item is not None or "null" in (types_of(known.get(name), schema) or either)
    }


def too_deep(value: Any, pointer: str = "") -> list[ArgumentProblem]:
    """The problem of a value that is nested more than `MOST_DEPTH` levels deep, which would end in a RecursionError."""
    is_deep = any(len(path) > MOST_DEPTH for path, _ in places_in(value))
    return [ArgumentProblem(pointer, f"is nested more than {MOST_DEPTH} levels deep")] if is_deep else []


def deep_arguments(arguments: Any) -> list[ArgumentProblem]:
    """The problems of the groups of arguments that are nested too deeply; other functions may then walk the rest."""
    groups = arguments.items() if isinstance(arguments, Mapping) else [("", arguments)]
    return [
        problem
        for name, values in groups
        for problem in too_deep(values, f"/{pointer_part(str(name))}" if name else "")
    ]


def unencodable(value: Any, pointer: str = "") -> list[ArgumentProblem]:
    """Problems for values that no encoding can represent: lone surrogates, infinity and NaN."""
    found = []
    for path, node in places_in(value):
        said = ""
        if any(isinstance(text, str) and _SURROGATE.search(text) for text in (node, *path[-1:])):
            said = "text holds half of a surrogate pair"
        elif isinstance(node, float) and not math.isfinite(node):
            said = f"{node} is no number in JSON"
        if said:
            place = "".join(f"/{pointer_part(str(key))}" for key in path)
            found.append(ArgumentProblem(pointer + place, said))
    return found


def validate(
    value: Any, schema: Schema, pointer: str, *, but: Callable[[ArgumentProblem], bool] = lambda _: False
) -> list[ArgumentProblem]:
    """Validate a value by JSON Schema 2020-12; a schema that is invalid or too complex gives no problems.

    Problems `but` those that the function tells are returned, at most `MOST_PROBLEMS`.

    Such a value is sent, because the author of the schema could just as well have accepted every value.
    """
    # With the first validation, because the import takes long.
    from jsonschema.exceptions import SchemaError
    from referencing.exceptions import Unresolvable

    # The exceptions of invalid schemas: bad patterns and references, keywords of the wrong type, recursion without end,
    # and too many steps.
    builtin = (re.error, TypeError, ValueError, AttributeError, RecursionError)
    try:
        errors = sorted(errors_of(_for_validation(value), schema), key=lambda error: [str(part) for part in error.path])
        chosen = [fault for error in errors for fault in _faults(error) if not isinstance(fault.instance, BlobText)]
    except (*builtin, Unresolvable, SchemaError, TooComplex):
        return []
    found = (
        replace(_problem(error, pointer), may_insist=error.validator in _DOUBTFUL or bool(_wanted(error)))
        for error in chosen
    )
    return list(islice((problem for problem in dict.fromkeys(found) if not but(problem)), MOST_PROBLEMS))


def claim_of(operation: Operation, pointer: str, value: Any) -> str:
    """Return what names a value, at a pointer, on which a model may insist; None is one that is not given."""
    text = json.dumps([operation.name, value], sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:CLAIM] + pointer


def claimed(claim: str) -> tuple[str, ...]:
    """Return the place of a claim in the grouped arguments; that of a list, for one of its items."""
    return tuple(takewhile(lambda part: not part.isdigit(), parse_pointer(claim[CLAIM:])))


def _for_validation(value: Any) -> Any:
    if isinstance(value, Blob):
        return BlobText("file")
    if isinstance(value, dict):
        return {key: _for_validation(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_for_validation(item) for item in value]
    return value


def _problem(error: "ValidationError", pointer: str) -> ArgumentProblem:
    place = pointer + "".join(f"/{pointer_part(str(part))}" for part in error.absolute_path)
    keyword, limit = error.validator, error.validator_value
    instance = error.instance
    if keyword == "required" and isinstance(instance, Mapping):
        missing = next((name for name in _members(limit) if name not in instance and repr(name) in error.message), "")
        return ArgumentProblem(f"{place}/{pointer_part(missing)}", "is required")
    if keyword == "dependentRequired" and (found := _dependency(error.message, limit, instance)):
        return ArgumentProblem(f"{place}/{pointer_part(found.missing)}", f"is required beside {found.given}")
    if keyword in ("minProperties", "maxProperties") and isinstance(instance, Mapping):
        return ArgumentProblem(place, _count_problem(error, instance))
    if keyword == "type":
        wanted = limit if isinstance(limit, list) else [str(limit)]
        hint = ""
        if isinstance(instance, list) and "string" in wanted:
            hint = "; join several values into one text, as its description says"
        return ArgumentProblem(place, f"must be {' or '.join(wanted)}, not {_named(instance)}{hint}")
    if keyword == "enum":
        return ArgumentProblem(place, f"must be one of {_listed(limit)}, not {_short(instance)}")
    if keyword == "additionalProperties" and isinstance(instance, Mapping):
        known = list((error.schema.get("properties") or {}) if isinstance(error.schema, Mapping) else {})
        extra = next((name for name in instance if name not in known), "")
        return ArgumentProblem(f"{place}/{pointer_part(str(extra))}", f"is unknown{nearest(str(extra), known)}")
    if keyword in ("anyOf", "oneOf"):
        if alternatives := _wanted(error):
            return ArgumentProblem(place, f"must be {alternatives}, not {_named(instance)}")
        name, values = _variants(error)
        if known := [json.dumps(value) for value in values if value is not None]:
            told = "must be one of" if isinstance(instance, Mapping) and name in instance else "is required:"
            return ArgumentProblem(f"{place}/{pointer_part(name)}", f"{told} {', '.join(known[:20])}")
        return ArgumentProblem(place, f"{_short(instance)} fits none, or several, of the alternatives")
    return ArgumentProblem(place, _cut(error.message, 200))


def _faults(error: "ValidationError") -> "list[ValidationError]":
    """The errors within the alternative that the caller meant; the error itself if none is nearer than the others."""
    if not error.context or _wanted(error):
        return [error]
    groups: dict[Any, list[ValidationError]] = {}
    for inner in error.context:
        groups.setdefault(inner.relative_schema_path[0], []).append(inner)
    chosen = groups.get(_discriminated(error))
    if chosen is None:
        nearest, *others = sorted(groups.values(), key=_distance)
        chosen = [] if others and _distance(others[0]) == _distance(nearest) else nearest
    return [fault for inner in chosen for fault in _faults(inner)] or [error]


def _variants(error: "ValidationError") -> tuple[str, list[str | None]]:
    """The name of the discriminator, and the value that it has for each alternative; without one, no name."""
    schema: Any = error.schema
    hint = schema.get("discriminator") if isinstance(schema, Mapping) and isinstance(error.instance, Mapping) else None
    variants: Any = error.validator_value
    references = [item.get("$ref") if isinstance(item, Mapping) else None for item in variants]
    return (hint["propertyName"], [hint["names"].get(item) for item in references]) if hint else ("", [])


def _discriminated(error: "ValidationError") -> int | None:
    """The index of the alternative that the value names by the discriminator of the schema, if it has one."""
    name, values = _variants(error)
    named = error.instance.get(name) if isinstance(error.instance, Mapping) else None
    return values.index(named) if named is not None and named in values else None


def _distance(errors: "Sequence[ValidationError]") -> tuple[int, int, int, int]:
    """How far a value is from an alternative: by its type, its fixed values, its unknown names, all its errors."""
    here = [error.validator for error in errors if not error.path]
    fixed = sum(error.validator in ("const", "enum") for error in errors if len(error.path) == 1)
    return here.count("type"), fixed, here.count("additionalProperties"), len(errors)


def _wanted(error: "ValidationError") -> str:
    """The types and values that alternatives ask for; empty if any of them asks for more than a type or a value."""
    asked = [(inner.validator, inner.validator_value) for inner in error.context or () if not inner.path]
    if len(asked) < len(error.context or ()) or any(keyword not in ("type", "enum", "const") for keyword, _ in asked):
        return ""
    texts = [
        str(value) if keyword == "type" else f"one of {_listed(value if keyword == 'enum' else [value])}"
        for keyword, value in asked
    ]
    return " or ".join(dict.fromkeys(texts))


def _count_problem(error: "ValidationError", instance: Mapping[str, Any]) -> str:
    """Say how many properties there are and may be; where there are too few, with the names of others."""
    if error.validator == "maxProperties":
        return f"has {len(instance)} of at most {error.validator_value} properties"
    schema = error.schema if isinstance(error.schema, Mapping) else {}
    others = _cut(", ".join(str(name) for name in properties_of(schema, schema) if name not in instance), 120)
    hint = f"; it can also have {others}" if others else ""
    return f"has {len(instance)} of at least {error.validator_value} properties{hint}"


class _Dependency(NamedTuple):
    """A property that is missing, and the given one that demands it."""

    missing: str
    given: str


def _dependency(message: str, demanded: Any, instance: Any) -> _Dependency | None:
    """Find the property that a message of the validation says is missing."""
    pairs = (
        _Dependency(other, name) for name in demanded if name in instance for other in _members(demanded.get(name))
    )
    return next((pair for pair in pairs if message == f"{pair.missing!r} is a dependency of {pair.given!r}"), None)


def _members(value: Any) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else []


def _named(value: Any) -> str:
    kind = "null" if value is None else _NAMES.get(type(value), "string")
    return f"the {kind} {_short(value)}" if kind in ("string", "integer", "number", "boolean") else kind


def _short(value: Any) -> str:
    return _cut(json.dumps(value, ensure_ascii=False, default=str), 60)


def _listed(values: Any) -> str:
    items = [json.dumps(item, ensure_ascii=False) for item in values]
    return ", ".join(items[:20]) + (f" and {len(items) - 20} more" if len(items) > 20 else "")


def _whole(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")


def _cut(text: str, length: int) -> str:
    text = _whole(text)
    return text if len(text) <= length else text[: length - 1] + "…"
