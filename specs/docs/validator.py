"""JSON Schema validation that ends, whatever a document says: it fetches nothing and tries no pattern for ever."""

from collections.abc import Iterator, Mapping
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend
from referencing import Registry

from restgpt.specs.reading.pattern import is_found


def _pattern(validator: Any, pattern: str, instance: Any, schema: Any) -> Iterator[ValidationError]:
    """Refuse a text in which a pattern is not found; where finding out may take too long, the text passes."""
    if validator.is_type(instance, "string") and is_found(pattern, instance) is False:
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


_Validator: Any = extend(Draft202012Validator, {"pattern": _pattern})  # type: ignore[no-untyped-call]


def errors_of(value: Any, schema: Mapping[str, Any]) -> Iterator[ValidationError]:
    """Yield what is wrong with a value by JSON Schema 2020-12; raises what a broken schema makes a validator raise."""
    # An empty registry: a reference that leaves the schema is not fetched.
    yield from _Validator(schema, registry=Registry()).iter_errors(value)


def first_fault(value: Any, schema: Mapping[str, Any]) -> str:
    """Return why a value does not fit its schema, or an empty string; one too deep to judge by refuses nothing."""
    try:
        error = next(errors_of(value, schema), None)
    except RecursionError:
        return ""
    return "" if error is None else error.message[:200]
