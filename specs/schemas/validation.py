"""JSON Schema validation for untrusted schemas: it fetches no reference and tries no pattern that takes too long."""

from collections.abc import Iterator, Mapping
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend
from referencing import Registry

from restgpt.specs.schemas.pattern import is_found


def _pattern(validator: Any, pattern: str, instance: Any, schema: Any) -> Iterator[ValidationError]:
    """Refuse a text in which a pattern is not found; accept it if the search might take too long."""
    if validator.is_type(instance, "string") and is_found(pattern, instance) is False:
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


_Validator: Any = extend(Draft202012Validator, {"pattern": _pattern})  # type: ignore[no-untyped-call]


def errors_of(value: Any, schema: Mapping[str, Any]) -> Iterator[ValidationError]:
    """Yield the errors of a value by JSON Schema 2020-12; raises the errors of jsonschema for a broken schema."""
    # With an empty registry, a reference to another document is not fetched.
    yield from _Validator(schema, registry=Registry()).iter_errors(value)


def first_fault(value: Any, schema: Mapping[str, Any]) -> str:
    """Return the first error of a value, or an empty string; a schema too deep for recursion refuses no value."""
    try:
        error = next(errors_of(value, schema), None)
    except RecursionError:
        return ""
    return "" if error is None else error.message[:200]
