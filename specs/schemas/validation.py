"""The JSON types of a schema, and values that a document writes in another type than the declared one.

The values that the prose of a description lists for a text: quoted words after "possible values", or as bullets.

The keyword `pattern`: compiled for Python, and matched in bounded time.

JSON Schema validation for untrusted schemas: it fetches no reference, and it ends.

It tries no pattern that takes too long, and gives up after a number of steps: `anyOf` that refers to `anyOf` twice
would take 2^n of them. `jsonschema` is imported with the first validation, because it takes longer to import than most
of this package.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache, lru_cache
from importlib import import_module
from itertools import islice
from typing import TYPE_CHECKING, Any

from restgpt.specs.effort import spend, within
from restgpt.specs.problem import TooComplex
from restgpt.specs.reading.tree import coerce, values_in

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

TYPES = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})
# Names that documents use for types although no version of JSON Schema has them.
NEAR_TYPES = {
    "int": "integer",
    "int32": "integer",
    "int64": "integer",
    "long": "integer",
    "float": "number",
    "double": "number",
    "decimal": "number",
    "bool": "boolean",
    "date": "string",
    "datetime": "string",
    "date-time": "string",
    "uuid": "string",
    "uri": "string",
    "url": "string",
    "str": "string",
    "text": "string",
    "list": "array",
    "map": "object",
    "dict": "object",
}
PYTHON_TYPES: dict[str, tuple[type, ...]] = {
    "array": (list,),
    "boolean": (bool,),
    "integer": (int,),
    "null": (type(None),),
    "number": (int, float),
    "object": (dict,),
    "string": (str,),
}


def is_true(value: Any) -> bool:
    """Tell whether a boolean keyword is set, as a boolean or as a string."""
    return value is True or value == "true"


def unique_texts(values: Any) -> list[str]:
    """Return the texts of a list, each once; other values are left out."""
    return list(dict.fromkeys(item for item in values if isinstance(item, str))) if isinstance(values, list) else []


def schema_types(node: Any) -> list[str]:
    """Return the JSON types that a schema names, with `int` read as integer and so on; none if any is unknown."""
    if not isinstance(node, dict):
        return []
    declared = node.get("type")
    names = declared if isinstance(declared, list) else [declared]
    kinds = [NEAR_TYPES.get(name.lower(), name.lower()) for name in names if isinstance(name, str)]
    known = [kind for kind in dict.fromkeys(kinds) if kind in TYPES]
    return known if len(known) == len(set(kinds)) else []


def has_type(value: Any, kinds: list[str]) -> bool:
    """Tell whether a value has one of the JSON types; an empty list accepts every value."""
    if not kinds:
        return True
    if isinstance(value, bool):
        return "boolean" in kinds
    if isinstance(value, float) and value.is_integer() and "integer" in kinds:
        return True
    return any(isinstance(value, PYTHON_TYPES[kind]) for kind in kinds)


def fit_values(values: list[Any], kinds: list[str]) -> list[Any]:
    """Return the enumerated values that have the declared type, converted to it if possible."""
    fitting = []
    for value in values:
        if not has_type(value, kinds):
            value = _spell(value, kinds)
        if has_type(value, kinds):
            fitting.append(value)
    return fitting


def _spell(value: Any, kinds: list[str]) -> Any:
    if "string" in kinds and isinstance(value, bool):
        return "true" if value else "false"
    if "string" in kinds and isinstance(value, int | float):
        return str(value)
    for kind in kinds:
        value = coerce(value, kind)
    return value


def only_value(schema: Any) -> Any:
    """Return the one value that a flat schema allows, by `const` or an `enum` of one; None if it allows others."""
    if not isinstance(schema, Mapping):
        return None
    listed = [schema["const"]] if "const" in schema else schema.get("enum")
    return listed[0] if isinstance(listed, list) and len(listed) == 1 else None


_LEAD = r"\b(?:(?:possible|valid|allowed|supported|accepted|permitted) values(?: are)?|one of(?: the following)?)"
_WORD = r"""(?:"[\w./:+-]{1,40}"|'[\w./:+-]{1,40}'|`[\w./:+-]{1,40}`)"""
_LIST = rf"{_WORD}(?:\s*(?:[,|/;]\s*)?(?:\b(?:or|and)\b)?\s*{_WORD})+"
_SENTENCE = re.compile(rf"{_LEAD}\s*:?\s*({_LIST})\s*(?:[.;)\n]|$)", re.IGNORECASE)
_BULLET, _MARKED = re.compile(r"^\s*[-*•]\s+(.*)$", re.MULTILINE), re.compile(rf"({_WORD})\s*(?:[:–—-].*)?")
LISTS = re.compile(rf"\W*{_LEAD}", re.IGNORECASE)
"""The beginning of a sentence that lists values."""


@lru_cache(maxsize=4096)
def told_values(description: str) -> tuple[str, ...]:
    """Return the values that a description lists; empty unless it marks where each one begins and ends."""
    found = _SENTENCE.search(description)
    bullets = [_MARKED.fullmatch(text.rstrip()) for text in _BULLET.findall(description)]
    listed = re.findall(_WORD, found[1]) if found else [match[1] for match in bullets if match]
    is_sure = found is not None or (len(bullets) > 1 and None not in bullets)
    return tuple(dict.fromkeys(word[1:-1] for word in listed)) if is_sure else ()


# A longer pattern takes too long to compile.
PATTERN_MOST = 5000
MOST_WAYS = 10_000_000
REPEATS = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")
# Python warns that these may become operations on character classes.
DOUBTFUL = re.compile(r"\[[^\]]*(?:--|&&|~~|\|\||(?<!\\)\[)")
LITERAL = re.compile(r"/(\^?.*\$?)/([gimsuy]*)\Z", re.DOTALL)


def plain_pattern(value: Any) -> str | None:
    """Return a pattern that Python compiles, without the slashes and flags of a JavaScript literal; else None."""
    if not isinstance(value, str) or len(value) > PATTERN_MOST:
        return None
    literal = LITERAL.match(value)
    text = value if literal is None else ("(?i)" if "i" in literal.group(2) else "") + literal.group(1)
    return text if is_pattern(text) else None


def is_pattern(text: str) -> bool:
    """Tell whether a pattern, written for ECMA 262, also compiles in Python and certainly means the same there."""
    if len(text) > PATTERN_MOST or DOUBTFUL.search(text):
        return False
    try:
        re.compile(text)
    except (re.error, RecursionError, OverflowError):
        return False
    return True


def is_found(pattern: str, text: str) -> bool | None:
    """Tell whether a pattern is found in a text; None, without trying, if the search might take too long.

    Raises the errors of `re.compile`.
    """
    return bool(re.search(_of_python(pattern), text)) if is_quick(pattern, len(text)) else None


@lru_cache(maxsize=4096)
def _of_python(pattern: str) -> str:
    """Return a pattern of ECMA-262 for Python: `$` is the end of the text, and digits and letters are of ASCII."""
    found, is_class = [], False
    for token in re.findall(r"\\.|.", pattern, re.DOTALL):
        letters = {"d": "0-9", "w": "A-Za-z0-9_"}.get(token[1:].lower())
        if letters and not (is_class and token[1:].isupper()):
            token = letters if is_class else f"[{'^' * token[1:].isupper()}{letters}]"
        elif token == "$" and not is_class:
            token = r"\Z"
        elif token in ("[", "]"):
            is_class = token == "["
        found.append(token)
    return "".join(found)


@lru_cache(maxsize=4096)
def is_quick(pattern: str, length: int) -> bool:
    """Tell whether a pattern has few ways to match in a text of this length; raises the errors of `re.compile`.

    Python tries one way after the other and cannot be stopped: `(a+)+$` has 2^n ways in n letters.
    """
    tree = import_module("re._parser").parse(pattern)
    try:
        is_anchored = str(tree[:1]).startswith("[(AT, AT_BEGINNING") and not tree.state.flags & re.MULTILINE
        places = 1 if is_anchored else length + 1
        return math.log(places) + _ways(tree, length) <= math.log(MOST_WAYS)
    except (RecursionError, OverflowError):
        return False


def _ways(tree: Any, length: int) -> float:
    """Return the logarithm of an upper bound of the ways to match in a text of this length."""
    return sum(_ways_of(str(operator), argument, length) for operator, argument in tree)


def _ways_of(operator: str, argument: Any, length: int) -> float:
    if operator in REPEATS:
        low, high, inner = argument
        most: int = min(int(high), max(low, length))
        return math.log(most - low + 1) + most * _ways(inner, length)
    if operator == "BRANCH":
        branches = argument[1]
        return math.log(len(branches)) + max(_ways(branch, length) for branch in branches)
    if operator == "GROUPREF_EXISTS":
        return sum(_ways(branch, length) for branch in argument[1:] if branch is not None)
    if operator in ("SUBPATTERN", "ASSERT", "ASSERT_NOT"):
        return _ways(argument[-1], length)
    return _ways(argument, length) if operator == "ATOMIC_GROUP" else 0.0


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
