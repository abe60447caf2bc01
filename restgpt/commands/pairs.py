"""The arguments of a call, as JSON or as `name=text`, `name:=JSON`, `Header:text` and `name@FILE`.

The document places such a name. It may begin with its place, as in `query.limit`, and goes into the body along its
points: `body.address.city`, of a list with the number of an item: `body.passengers.0.name`.
"""

import json
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_plus

from restgpt.commands.terminal import UsageError
from restgpt.tools.text.quotation import named

if TYPE_CHECKING:
    from restgpt.specs import Operation

Find = Callable[[str], "Operation"]
"""Finds the operation of a call by its name."""

MOST_SHOWN = 48
"""The number of characters up to which a pair is shown whole."""

MOST_PAIRS = 12
"""How many arguments are shown as pairs."""

PLAIN_KEY = re.compile("[^=:@.]+")
PAIR = re.compile("([^=:@]+)(:=|=|:|@)(.*)", re.DOTALL)


def json_arguments(text: str, subject: str) -> Any:
    """Parse arguments that were typed; raises `UsageError`, which begins with the subject."""
    from restgpt.specs.reading.json_text import is_too_deep
    from restgpt.tools.request.arguments import exact_float

    if is_too_deep(text):
        raise UsageError(f"{subject} nested too deeply to be read. Give arguments with fewer levels.")
    try:
        return json.loads(text, parse_float=exact_float)
    except ValueError as error:
        raise UsageError(
            f'{subject} not JSON that can be sent ({error}). Write, for example, \'{{"path": {{"id": 1}}}}\'.'
        ) from None


def arguments_of(text: str, option: str = "--args") -> dict[str, Any]:
    """Read a JSON object of an option, or of the file or stdin that it names; raises `UsageError`."""
    if text == "-":
        text = sys.stdin.read()
    elif text.startswith("@"):
        text = _read(Path(text[1:]))
    value = json_arguments(text, f"{option} is")
    if not isinstance(value, dict):
        raise UsageError(f'{option} is not a JSON object, such as {{"path": {{…}}, "query": {{…}}, "body": …}}.')
    return value


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise UsageError(
            f"The file {path} of --args cannot be read: {why}. Give a UTF-8 text file that you may read."
        ) from None


def given_arguments(operation: "Operation", pairs: Sequence[str] | None, text: str) -> dict[str, Any]:
    """Return the arguments of a command, given as pairs or as JSON with --args; raises `UsageError`."""
    if pairs and text != "{}":
        raise UsageError("Give arguments as NAME=VALUE or with --args, not in both ways.")
    return paired_arguments(operation, pairs) if pairs else arguments_of(text)


def pointer_to(operation: "Operation", name: str) -> str:
    """Return the JSON pointer of an argument that is named as in a pair; raises `UsageError`."""
    from restgpt.specs.reading.tree import format_pointer

    return name if name.startswith("/") else format_pointer(_keys(operation, name, "="))


def paired_arguments(
    operation: "Operation", pairs: Sequence[str], over: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return arguments by place, over those of `over`; one given several times is a list. Raises `UsageError`."""
    found: dict[str, Any] = deepcopy(dict(over or {}))
    given: set[tuple[str, ...]] = set()
    for pair in pairs:
        if (parts := PAIR.fullmatch(pair)) is None:
            raise UsageError(f"{pair!r} names no value. Write name=text, name:=JSON, Header:text or name@FILE.")
        name, sign, text = parts.groups()
        *way, last = keys = _keys(operation, name, sign)
        value = json_arguments(text, f"{pair} is") if sign == ":=" else {"@file": text} if sign == "@" else text
        inner = found
        for depth, key in enumerate(way, 1):
            held = inner.get(key)
            if not isinstance(held, dict):
                if keys[:depth] in given:
                    raise UsageError(f"{pair} is a part of {key}, which is given as a whole too. Give one of them.")
                items = enumerate(held if isinstance(held, list) else ())
                inner[key] = _Items({str(at): item for at, item in items}) if keys[depth].isdecimal() else {}
            inner = inner[key]
        if any(other != keys and other[: len(keys)] == keys for other in given):
            raise UsageError(f"{pair} is the whole of {last}, of which a part is given too. Give one of them.")
        before = inner.get(last)
        inner[last] = value if keys not in given else [*(before if isinstance(before, list) else [before]), value]
        given.add(keys)
    whole: dict[str, Any] = _with_lists(found)
    return whole


class _Items(dict[str, Any]):
    """The items of a list by their numbers."""


def _with_lists(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    found = {key: _with_lists(inner) for key, inner in value.items()}
    if not isinstance(value, _Items):
        return found
    if missing := [number for number in map(str, range(len(found))) if number not in found]:
        told = f"A list has an item {max(found, key=int)}, but no item {missing[0]}."
        raise UsageError(f"{told} Number them from 0, or give an object with such names as JSON (:=).")
    return [found[str(number)] for number in range(len(found))]


def pairs_of(action: Mapping[str, Any]) -> list[str]:
    """Return the arguments of a question as pairs, quoted for a shell.

    A value that is long, or that the question hides as a credential, is left out; such a pair is refused if it is sent.
    """
    return [pair for pair, _ in _shown_pairs(action)]


def _shown_pairs(action: Mapping[str, Any]) -> Iterator[tuple[str, bool]]:
    """Yield the pairs of a question, each with whether its value is in it."""
    seen = unquote_plus(f"{action.get('description')} {action.get('request')}")
    for name, value in islice(_leaves("", action["args"]), MOST_PAIRS):
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        pair = f"{name}={text}" if isinstance(value, str) else f"{name}:={text}"
        is_seen = text in seen or repr(value) in seen
        is_whole = is_seen and pair.isprintable() and "  " not in pair and len(pair) <= MOST_SHOWN
        yield shlex.quote(pair if is_whole else f"{named(name)}:=…"), is_whole


def arguments_of_all(actions: Sequence[Mapping[str, Any]]) -> str:
    """Return the arguments of several questions as a list in JSON, quoted for a shell; `{…}` for those left out."""

    def text(action: Mapping[str, Any]) -> str:
        shown = [is_whole for _, is_whole in _shown_pairs(action)]
        return json.dumps(action["args"], ensure_ascii=False) if len(shown) < MOST_PAIRS and all(shown) else "{…}"

    return shlex.quote(f"[{', '.join(map(text, actions))}]")


def _leaves(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the values inside of arguments that a pair can name, with their names."""
    inner = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    parts = [(str(key), item) for key, item in inner]
    is_list_of_values = isinstance(value, list) and not any(isinstance(item, Mapping | list) for item in value)
    if not parts or is_list_of_values or any(PLAIN_KEY.fullmatch(key) is None for key, _ in parts):
        yield name, value
        return
    for key, item in parts:
        yield from _leaves(f"{name}.{key}".lstrip("."), item)


def _keys(operation: "Operation", name: str, sign: str) -> tuple[str, ...]:
    """Return the keys of the argument that a name means, from its place on."""
    from restgpt.specs.docs.function_arguments import argument_names

    known = list(dict.fromkeys(_meanings(operation, name, is_header=sign == ":")))
    if len(known) > 1:
        forms = " or ".join(f"{'.'.join(keys)}{sign}…" for keys in known)
        raise UsageError(f"{name} may mean several arguments of {operation.name}. Write {forms}")
    if not known:
        kind = "header" if sign == ":" else "argument"
        takes = argument_names(operation) or "no arguments"
        raise UsageError(f"{operation.name} has no {kind} {name}. It takes {takes}.")
    return known[0]


def _meanings(operation: "Operation", name: str, *, is_header: bool) -> Iterator[tuple[str, ...]]:
    from restgpt.specs.docs.function_arguments import body_fields
    from restgpt.specs.operation import BODY

    for item in operation.accepted:
        if item.location == "header":
            spelled = name.lower() in (item.name.lower(), item.field.lower(), f"header.{item.field.lower()}")
        else:
            spelled = not is_header and name in (item.name, item.field, f"{item.location}.{item.field}")
        if spelled:
            yield item.location, item.field
    if is_header:
        if name.lower() == "content-type" and operation.takes_type:
            yield "header", name
    elif operation.body is not None:
        fields, inside = body_fields(operation.sent), name.removeprefix(f"{BODY}.")
        if name == BODY:
            yield (BODY,)
        elif inside in fields:
            yield BODY, fields[inside]
        elif inside != name or name.partition(".")[0] in fields:
            first, *rest = inside.split(".")
            yield BODY, fields.get(first, first), *rest
