"""Calls written as data: JSON in the shapes that providers and benchmarks use, and XML."""

import json
import math
import re
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

from restgpt_functions.calls.call import Call, CallSyntaxError, Variable
from restgpt_functions.calls.literals import read_literal

ARGUMENT_KEYS = ("arguments", "parameters", "args", "input", "kwargs")
ELEMENTS = ("functions", "function_calls", "invoke")


def calls_in_json(value: object, names: tuple[str, ...] = ()) -> list[Call] | None:
    """The calls that decoded JSON denotes, or None if it has none of the shapes below.

    Understood are `{"name", "arguments"}` with arguments as an object or as JSON text, tool calls with `function`,
    messages with `tool_calls` or `function_call`, `{name: arguments}`, and lists of them.
    """
    if isinstance(value, list):
        parts = [calls_in_json(part, names) for part in value]
        if any(part is None for part in parts):
            return None
        return [call for part in parts if part for call in part]
    if not isinstance(value, dict):
        return None
    for key in ("tool_calls", "function_call"):
        if value.get(key):
            return calls_in_json(value[key], names)
    return _from_object(value, names)


def _from_object(value: dict[str, Any], names: tuple[str, ...]) -> list[Call] | None:
    function = value.get("function")
    if isinstance(function, dict):
        return _from_object(function, names)
    name = function if isinstance(function, str) else value.get("name", value.get("tool"))
    given = [key for key in ARGUMENT_KEYS if key in value]
    if isinstance(name, str) and (given or set(value) <= {"name", "type", "id", "function", "tool"}):
        arguments = _as_object(value[given[0]]) if given else {}
        if arguments is None:
            raise CallSyntaxError(f"the arguments of {name} must be an object")
        return [Call(name, arguments, tuple(value.get("positional", ())))]
    if len(value) == 1:
        name, found = next(iter(value.items()))
        arguments = _as_object(found)
        if arguments is not None and (not names or name in names):
            return [Call(name, arguments)]
    return None


def _as_object(value: object) -> dict[str, Any] | None:
    found = decoded(value or "{}") if isinstance(value, str) else {} if value is None else value
    return found if isinstance(found, dict) else None


def decoded(text: str) -> Any:
    """The value of JSON; None if the text is none. What JSON lacks, infinities among it, becomes a variable."""
    try:
        return json.loads(text, **_JSON)
    except (json.JSONDecodeError, RecursionError):
        return None


def _float(text: str) -> float | Variable:
    number = float(text)
    return number if math.isfinite(number) else Variable("1e309" if number > 0 else "-1e309")


_JSON: dict[str, Any] = {"parse_constant": Variable, "parse_float": _float, "strict": False}


def find_json(text: str) -> Iterator[tuple[int, Any]]:
    """The outermost JSON objects and lists in a text, with where they start."""
    decoder = json.JSONDecoder(**_JSON)
    position, failures = 0, 0
    while failures < 50 and (match := re.compile(r"[\[{]").search(text, position)):
        try:
            value, end = decoder.raw_decode(text, match.start())
        except (json.JSONDecodeError, RecursionError):
            position, failures = match.end(), failures + 1
            continue
        yield match.start(), value
        position = end


def calls_in_xml(text: str) -> list[Call] | None:
    """The calls of a `<functions>` or `<invoke>` element in a text, or None when there is no such element.

    Raises `CallSyntaxError` for an element that is not well-formed, and for one that declares entities.
    """
    element = next((found for name in ELEMENTS if (found := _element(text, name))), "")
    if not element:
        return None
    if re.search(r"<!(?!\[CDATA\[)", element):
        raise CallSyntaxError("declarations are not allowed in XML calls")
    try:
        root = ElementTree.fromstring(f"<calls>{element}</calls>")
    except ElementTree.ParseError as error:
        raise CallSyntaxError(f"the XML is not well-formed: {error}") from None
    return [_from_element(element) for element in root.iter() if element.tag in ("function", "invoke")]


def _element(text: str, name: str) -> str:
    """The text from the first opening to the last closing tag of this name; empty without both."""
    match = re.search(rf"<{name}\b", text)
    end = text.rfind(f"</{name}>")
    return text[match.start() : end + len(name) + 3] if match and end > match.start() else ""


def _from_element(element: ElementTree.Element) -> Call:
    arguments = {}
    for part in element.iter():
        if part.tag in ("param", "parameter") and (name := part.get("name")):
            text = part.get("value")
            arguments[name] = _typed(part.text or "" if text is None else text, part.get("type", ""))
    name = element.get("name")
    if not name:
        raise CallSyntaxError("a function element has no name")
    return Call(name, arguments)


def _typed(text: str, word: str) -> Any:
    """The value of a parameter by its type word; text without one is a literal if it reads as one, else itself."""
    stripped = text.strip()
    if word in ("string", "str"):
        return stripped
    try:
        value = read_literal(stripped)
    except CallSyntaxError:
        return stripped
    return stripped if isinstance(value, Variable) or (not word and isinstance(value, str)) else value
