"""The check for invented values: a function call may only have values that the conversation gives.

A value is grounded if the conversation says it, the documentation gives it as the default, or it can be worked out
from the conversation (see `restgpt/functions/calls/paraphrase.py`). Every boolean counts as grounded: people rarely
say yes or no in words.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from restgpt.functions.calls.call import Call, Variable
from restgpt.functions.calls.paraphrase import Paraphrase, is_date, words_of
from restgpt.functions.docs.function import GROUPS, Function, FunctionParameter
from restgpt.specs.reading.tree import values_in
from restgpt.specs.search.stemmer import stem
from restgpt.tools.request.arguments import follow, pointer_part

_DEFAULT = re.compile(r"\bdefaults?(?:\s+(?:is|to|value|value is))?\s*[:=]?\s*['\"`]?([\w.\-/]+)", re.IGNORECASE)
_TIMELY = re.compile(
    r"date|time|day|month|year|hour|when|start|begin|end|until|since|from|before|after|birth|deadline|(?:^|_)(?:at|on|by)\b",
    re.IGNORECASE,
)
_STANDS_FOR = re.compile(r"\b([\w.\-]{1,12})\s+(?:for|means|=|is)\s+([\w.\-]+)")


@dataclass(frozen=True, slots=True)
class Ungrounded:
    """A value without evidence in the conversation; `pointer` leads to its parameter."""

    pointer: str
    name: str
    value: Any
    required: bool


def ungrounded_values(call: Call, function: Function, texts: Iterable[str]) -> list[Ungrounded]:
    """The parameters of a call whose values cannot come from the texts of the conversation."""
    evidence = Paraphrase(*texts)
    found = []
    for pointer, parameter, value in _given(call, function):
        leaves = [part for part in values_in(value) if not isinstance(part, Mapping | list | tuple)]
        unsaid = [leaf for leaf in leaves if not _is_grounded(leaf, parameter, evidence)]
        # One odd element of a list may be worked out; most of them may not.
        if leaves and len(unsaid) * 2 > len(leaves):
            found.append(Ungrounded(pointer, parameter.name, value, parameter.required))
    return found


def _given(call: Call, function: Function) -> Iterator[tuple[str, FunctionParameter, Any]]:
    """The given values with their parameters; the places of a request are looked into."""
    definitions = {"$defs": dict(function.definitions)}
    for name, value in call.arguments.items():
        parameter = function.parameter(name)
        if parameter is None:
            continue
        if function.dialect == "requests":
            if name == "url":
                yield from _address_values(function, parameter, value)
            if name not in ("params", "json", "data"):
                # No person says credentials and options of the library.
                continue
        schema = follow(dict(parameter.schema), definitions)
        properties = schema.get("properties")
        is_place = function.is_rest and (name in GROUPS or name in ("params", "headers", "cookies", "json", "data"))
        if is_place and isinstance(value, Mapping) and isinstance(properties, Mapping):
            for key, part in value.items():
                inner = follow(properties.get(key, {}), definitions)
                needed = parameter.required and key in schema.get("required", ())
                described = FunctionParameter(str(key), inner, needed, str(inner.get("description", "")))
                yield f"/{pointer_part(name)}/{pointer_part(str(key))}", described, part
        else:
            yield f"/{pointer_part(name)}", parameter, value


def _address_values(
    function: Function, parameter: FunctionParameter, value: Any
) -> Iterator[tuple[str, FunctionParameter, Any]]:
    """The values of the variables in a documented address; a variable that is still there was not given."""
    pattern = re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[^/?#]+)", re.escape(function.url))
    match = re.match(pattern, value) if isinstance(value, str) and "{" in function.url else None
    for name, text in (match.groupdict() if match else {}).items():
        yield "/url", FunctionParameter(name, parameter.schema, True), text


def _is_grounded(value: Any, parameter: FunctionParameter, evidence: Paraphrase) -> bool:
    if value is None or isinstance(value, bool) or value == "" or _is_documented(value, parameter):
        return True
    if isinstance(value, int | float):
        return evidence.has_number(value)
    text = value.text if isinstance(value, Variable) else str(value)
    if is_date(text) and _TIMELY.search(f"{parameter.name} {parameter.description} {parameter.schema.get('format')}"):
        return evidence.has_date(text)
    if _stands_for_something_said(text, parameter, evidence):
        return True
    if number := re.fullmatch(r"[-+]?\d{1,15}(?:\.\d+)?%?", text):
        return evidence.has_number(float(number[0].rstrip("%")))
    own = frozenset(stem(word) for word in words_of(parameter.name))
    # The last part of a path such as Europe/Oslo implies the parts before it.
    is_path = re.fullmatch(r"(?:\w+/)+[\w\-]+", text) is not None
    return evidence.has_text(text, own) or (is_path and evidence.has_text(text.rpartition("/")[2], own))


def _is_documented(value: Any, parameter: FunctionParameter) -> bool:
    """Whether the documentation itself gives the value: as its default, or as the only one."""
    schema = parameter.schema
    if parameter.has_default and value == parameter.default:
        return True
    if "const" in schema or len(schema.get("enum", ())) == 1:
        return True
    said = _DEFAULT.search(parameter.description)
    return said is not None and said[1].rstrip(".").lower() == str(value).lower()


def _stands_for_something_said(text: str, parameter: FunctionParameter, evidence: Paraphrase) -> bool:
    """Whether the documentation explains the value, as in `AAPL for Apple`, and the texts say the explanation."""
    for code, meaning in _STANDS_FOR.findall(parameter.description):
        if code.lower() == text.lower() and stem(meaning.rstrip(".,)")) in evidence.stems:
            return True
    return False
