"""Parsing: the calls in a model's text, read with a syntax tree and never evaluated.

Models write call strings with any separator, fences and prose around them, JSON, or XML.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from restgpt_functions.calls.call import Call, CallSyntaxError, Variable
from restgpt_functions.calls.data import calls_in_json, calls_in_xml, decoded, find_json
from restgpt_functions.calls.text import Found, find_calls
from restgpt_functions.docs.function import Function, legal_names

TEXT_CHARS = 1_000_000
"""Longer texts are refused: no model writes so much for one answer."""

_THOUGHT = re.compile(r"^\s*<think>.*?</think>", re.DOTALL)
_ANSWER = re.compile(r"(?:### Response:|ASSISTANT:)", re.IGNORECASE)
_FENCE = re.compile(r"```[\w+-]*[ \t]*\n?(.*?)```", re.DOTALL)
# Possessive, so that no text takes more than one pass.
_BETWEEN = re.compile(
    r"(?:^[ \t]*+\w++[ \t]*+=(?!=)|```[\w+-]*+|<<function>>|<\|[\w ]++\|>|</?s>|\[TOOL_CALLS\]"
    r"|(?<![\w.])(?:[-*•]|\d++[.)])(?=\s)|\b(?:await|return|print)\b|#[^\n]*+|[\s,;\[\]`)])*+",
    re.MULTILINE,
)
TAGS = ("tool_call", "TOOLCALL")


def parse_calls(text: str, functions: Iterable[Function] | None = None) -> list[Call]:
    """Read the calls in a model's text; an answer without any call is an empty list.

    With `functions`, legal tool names are mapped back, and positional values get the names of their parameters.
    Raises `CallSyntaxError` when the text attempts a call that cannot be read: a broken call is not an abstention.
    """
    if len(text) > TEXT_CHARS:
        raise CallSyntaxError(f"the text has {len(text)} characters; at most {TEXT_CHARS} are read")
    known = list(functions) if functions is not None else []
    calls = _read(_answer(text), _all_names(known))
    return [bind_call(call, known) for call in calls] if known else calls


def _all_names(functions: Sequence[Function]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*(function.name for function in functions), *legal_names(functions))))


def _answer(text: str) -> str:
    """The text without the model's thoughts, and without the prompt where it is repeated in front."""
    rest = _THOUGHT.sub("", text, count=1)
    if "<<question>>" in rest and (marks := list(_ANSWER.finditer(rest))):
        return rest[marks[-1].end() :]
    return rest


def _read(text: str, names: tuple[str, ...]) -> list[Call]:
    whole = calls_in_json(decoded(text), names) if text.strip()[:1] in ("{", "[") else None
    if whole is not None:
        return whole
    found = find_calls(text, names)
    if found and _is_only_calls(text, found):
        return _accepted(found)
    if calls := calls_in_xml(text):
        return calls
    for inner in (_tagged(text), _fenced(text)):
        if calls := [call for part in inner for call in _read(part, names)]:
            return calls
    return _read_prose(text, found, names)


def _is_only_calls(text: str, found: Sequence[Found]) -> bool:
    """Whether the text between, before and behind the calls has only separators."""
    position = 0
    for one in found:
        if not _BETWEEN.fullmatch(text[position : one.start]):
            return False
        if one.error:
            return True
        position = one.end
    return bool(_BETWEEN.fullmatch(text[position:]))


def _accepted(found: Iterable[Found]) -> list[Call]:
    calls = []
    for one in found:
        if one.error:
            raise CallSyntaxError(one.error)
        calls.append(Call(one.name, one.keywords, one.positional))
    return calls


def _tagged(text: str) -> Iterator[str]:
    """The texts between the tags that models are trained to put around calls."""
    for tag in TAGS:
        parts = (part.partition(f"</{tag}>") for part in text.split(f"<{tag}>")[1:])
        yield from (inner for inner, closing, _ in parts if closing)


def _fenced(text: str) -> Iterator[str]:
    return (match[1] for match in _FENCE.finditer(text) if match[1].strip() != text.strip())


def _read_prose(text: str, found: list[Found], names: tuple[str, ...]) -> list[Call]:
    """Calls among other words: those that cannot be mere mentions, or JSON where it comes first."""
    likely = [one for one in found if _is_likely(one, text, names)]
    first = min((one.start for one in likely), default=len(text))
    calls: list[Call] = []
    for start, value in find_json(text):
        if start > first and not calls:
            break
        # Behind the first calls in JSON there may be more, as when a model writes one object a line.
        calls += calls_in_json(value, names) or []
    return calls or _accepted(likely)


def _is_likely(one: Found, text: str, names: tuple[str, ...]) -> bool:
    """Whether a call in prose is an attempt to call: `parameter(s)` and `the get() function` are not."""
    if one.error:
        following = text[one.start : one.start + len(one.name) + 80]
        attempt = re.match(r"[^(]*\(\s*[\w.\-]+\s*=(?!=)", following)
        return not one.spaced and (one.name in names or attempt is not None)
    if one.keywords:
        return True
    if one.positional:
        is_literal = not any(isinstance(value, Variable) for value in one.positional)
        return not one.spaced and (is_literal or one.name in names)
    return _stands_alone(one, text)


def _stands_alone(one: Found, text: str) -> bool:
    start = text.rfind("\n", 0, one.start) + 1
    end = text.find("\n", one.end)
    line = text[start : one.start] + text[one.end : len(text) if end < 0 else end]
    return bool(_BETWEEN.fullmatch(line))


def bind_call(call: Call, functions: Sequence[Function]) -> Call:
    """The call under its documented name, its positional values under the names of their parameters."""
    function = find_function(call.name, functions, call.arguments)
    if function is None:
        return call
    names = [parameter.name for parameter in function.parameters]
    positional = call.positional
    if len(positional) == 1 and not call.arguments and isinstance(positional[0], dict):
        # A single object may hold all arguments, as in `f({"a": 1})`.
        given = {str(name): value for name, value in positional[0].items()}
        is_whole = len(names) > 1 or (bool(names) and function.parameters[0].schema.get("type") != "object")
        if given and given.keys() <= {*names} and is_whole:
            return Call(function.name, given)
    taken = names[: len(positional)]
    if given_twice := [name for name in taken if name in call.arguments]:
        raise CallSyntaxError(f"{function.name}(: the argument {given_twice[0]} is given by position and by name")
    arguments = {**dict(zip(taken, positional, strict=False)), **call.arguments}
    return Call(function.name, arguments, positional[len(taken) :])


def find_function(
    name: str, functions: Sequence[Function], arguments: Mapping[str, Any] | None = None
) -> Function | None:
    """The function that a call means: by its own name, its legal name, or with dots for underscores.

    If several functions share a name, as `requests.get` for several addresses, the address and the argument names
    decide.
    """
    named = [one for one in functions if one.name == name or (one.operation and name in one.operation.ids)]
    if not named:
        legal = [one for one, known in zip(functions, legal_names(functions), strict=True) if known == name]
        named = legal or [one for one in functions if _folded(one.name) == _folded(name)]
        return named[0] if len(named) == 1 else None
    return max(named, key=lambda function: _fit(function, arguments or {}))


def _fit(function: Function, arguments: Mapping[str, Any]) -> tuple[bool, int]:
    """A rank for how well arguments fit a function: its documented address first, then the number of known names."""
    url = arguments.get("url")
    pattern = re.sub(r"\\\{[^{}]*\\\}", "[^/?#]+", re.escape(function.url.partition("?")[0]))
    is_meant = isinstance(url, str) and bool(function.url) and re.match(rf"{pattern}/?(?:[?#]|$)", url) is not None
    known = {parameter.name for parameter in function.parameters}
    return is_meant, len(known & arguments.keys()) - len(set(function.required) - arguments.keys())


def _folded(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "_", name)
