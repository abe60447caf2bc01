"""JSON Schema validation for untrusted schemas: it fetches no reference, and it ends.

It tries no pattern that takes too long, and gives up after a number of steps: `anyOf` that refers to `anyOf` twice
would take 2^n of them. `jsonschema` is imported with the first validation, because it takes longer to import than most
of this package.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any

from restgpt.specs.effort import spend, within
from restgpt.specs.problem import TooComplex
from restgpt.specs.reading.tree import values_in
from restgpt.specs.schemas.pattern import is_found

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

# How many steps one validation may take: a step is a keyword that is applied to a value, or one of several parts of it.
# The size of the value decides, in which each part may be validated by some alternatives.
VALIDATED_LEAST, VALIDATED_PART, VALIDATED_MOST = 5000, 100, 1_000_000
# To look a reference up takes as long as several keywords.
REFERENCE_STEPS = 4
# How many characters of a message are written, and how many parts of a keyword are looked at, in one step.
STEP_CHARACTERS, STEP_PARTS = 32, 16

Keyword = Callable[[Any, Any, Any, Any], "Iterator[ValidationError] | None"]


def _pattern(validator: Any, pattern: str, instance: Any, schema: Any) -> "Iterator[ValidationError]":
    """Refuse a text in which a pattern is not found; accept it if the search might take too long."""
    from jsonschema.exceptions import ValidationError

    if validator.is_type(instance, "string") and is_found(pattern, instance) is False:
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


def _counted(keyword: Keyword, steps: int) -> Keyword:
    """Return a keyword that spends steps when it is applied, and for each error."""

    def apply(validator: Any, value: Any, instance: Any, schema: Any) -> "Iterator[ValidationError]":
        spend(steps + (len(value) // STEP_PARTS if isinstance(value, dict | list | str) else 0))
        for error in keyword(validator, value, instance, schema) or ():
            spend(len(error.message) // STEP_CHARACTERS)
            yield error

    return apply


def _counted_by_pairs(keyword: Keyword) -> Keyword:
    """Return a keyword that spends as many steps as there are pairs of its parts and of the parts of the value."""

    def apply(validator: Any, value: Any, instance: Any, schema: Any) -> "Iterator[ValidationError]":
        parts = len(value) if isinstance(value, dict) else len(instance) if isinstance(instance, list) else 0
        spend(1 + parts * (len(instance) if isinstance(instance, dict | list) else 0))
        yield from keyword(validator, value, instance, schema) or ()

    return apply


@cache
def _validator_class() -> Any:
    """Return the class of JSON Schema 2020-12 whose keywords spend steps."""
    from jsonschema import Draft202012Validator
    from jsonschema.validators import extend

    known: dict[str, Keyword] = {**Draft202012Validator.VALIDATORS, "pattern": _pattern}
    pairs = ("patternProperties", "uniqueItems")
    counted = {
        name: _counted_by_pairs(keyword)
        if name in pairs
        else _counted(keyword, REFERENCE_STEPS if name == "$ref" else 1)
        for name, keyword in known.items()
    }
    return extend(Draft202012Validator, counted)  # type: ignore[no-untyped-call]


def allowed_steps(value: Any) -> int:
    """Return how many steps the validation of a value may take."""
    parts = sum(1 for _ in islice(values_in(value), VALIDATED_MOST // VALIDATED_PART))
    return min(VALIDATED_MOST, VALIDATED_LEAST + VALIDATED_PART * parts)


def errors_of(value: Any, schema: Mapping[str, Any], *, most: int | None = None) -> "list[ValidationError]":
    """Return the errors of a value by JSON Schema 2020-12, at most `most` if it is given.

    Raises TooComplex after too many steps, and the errors of jsonschema for a broken schema.
    """
    from referencing import Registry

    with within(allowed_steps(value)):
        # With an empty registry, a reference to another document is not fetched.
        return list(islice(_validator_class()(schema, registry=Registry()).iter_errors(value), most))


def first_fault(value: Any, schema: Mapping[str, Any]) -> str:
    """Return the first error of a value, or an empty string; a schema that is too deep or complex refuses no value."""
    try:
        found = errors_of(value, schema, most=1)
    except (RecursionError, TooComplex):
        return ""
    return found[0].message[:200] if found else ""
