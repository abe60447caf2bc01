"""The file of a recipe: read with every fault at its place, and written as YAML that people read and edit."""

import json
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any
from uuid import uuid4

import yaml
from pydantic import BaseModel, ValidationError

from restgpt.recipes.input_schema import schema_fault
from restgpt.recipes.recipe import FORMAT, Recipe, RecipeApi, Saved, UsedOperation
from restgpt.specs.reading.text.yaml_events import events_of, kind_of, scalar
from restgpt.tools.errors import StoppingError
from restgpt.tools.text.quotation import quoted

MOST_BYTES = 1_000_000
"""The maximum size of a recipe file."""

MOST_DEPTH = 40
"""The maximum depth of mappings and lists in a recipe file."""

INLINE = 96
"""How many characters a list or mapping of plain values may have to be written on one line."""

AGAIN = "Correct the file, or save the recipe again."

Place = tuple[str | int, ...]

_BREAKS = frozenset("\x85\u2028\u2029")
"""Line breaks of YAML but not of Python: only escapes keep them, so that no comment of a program becomes code."""

_PARTS: Mapping[Place, type[BaseModel]] = {
    (): Recipe,
    ("saved",): Saved,
    ("apis", 0): RecipeApi,
    ("operations", 0): UsedOperation,
}
_KEYS = [item.alias or name for name, item in Recipe.model_fields.items()]
"""The keys of a recipe file in the order in which they are written."""

_KINDS = {
    "string_type": "a text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "mapping_type": "a mapping",
    "dict_type": "a mapping",
    "model_type": "a mapping",
}


class RecipeFileError(StoppingError):
    """A recipe file is missing or has a fault; the message names file, line, place and remedy."""


def read_recipe(path: Path) -> Recipe:
    """Read the recipe of a file; raises `RecipeFileError`."""
    return parsed_recipe(_text(path), path)


def parsed_recipe(text: str, path: Path) -> Recipe:
    """Return the recipe of a text; `path` is the name of its file in the messages of `RecipeFileError`."""
    document = _Reader(path, text).document()
    _check_form(document)
    try:
        given = json.dumps(document.value, ensure_ascii=False, allow_nan=False)
        recipe = Recipe.model_validate_json(given, strict=True)
    except ValidationError as error:
        raise document.fault(*_told(document, error)) from None
    except UnicodeEncodeError:
        raise document.fault((), f"has an escape such as \\ud800, which is no character. {AGAIN}") from None
    if found := schema_fault(recipe.inputs):
        place, what = found
        raise document.fault(place, f"{what}. {AGAIN}")
    return recipe


def recipe_text(recipe: Recipe) -> str:
    """Return a recipe as YAML: the program as a block, short lists on one line, no aliases."""
    values = recipe.to_json()
    sections: list[str] = []
    for key in sorted(values, key=_KEYS.index):
        text = _section(key, values[key])
        # An empty line before each part of several lines lets people find it.
        sections.append(f"\n{text}" if text.count("\n") > 1 and sections else text)
    return "".join(sections)


def write_file(path: Path, text: str) -> None:
    """Write a new file so that readers see all of it or nothing; raises `FileExistsError`."""
    partial = path.with_name(f".{path.name}.{uuid4().hex}.part")
    try:
        with partial.open("x", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        os.link(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def _text(path: Path) -> str:
    """Return the text of a recipe file; raises `RecipeFileError` if it cannot be read or is too large."""
    if not path.is_file():
        raise _missing(path)
    try:
        with path.open("rb") as stream:
            read = stream.read(MOST_BYTES + 1)
        if len(read) > MOST_BYTES:
            raise RecipeFileError(f"{path} has more than {MOST_BYTES:,} bytes, so it is no recipe. Give another file.")
        return read.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise RecipeFileError(f"{path} is not UTF-8 text, so it is no recipe. Give another file.") from None
    except FileNotFoundError:
        raise _missing(path) from None
    except OSError as error:
        raise RecipeFileError(f"{path} cannot be read: {error.strerror}. Check its permissions.") from None


def _missing(path: Path) -> RecipeFileError:
    return RecipeFileError(f"There is no file {path}. List the recipes with `restgpt recipe list`.")


@dataclass(frozen=True, slots=True)
class _Document:
    """The content of a recipe file, and the line of each of its parts."""

    path: Path
    value: Any
    lines: Mapping[Place, int] = field(default_factory=dict)

    def fault(self, place: Place, what: str) -> RecipeFileError:
        """Return the error about a place in the file; `what` has the remedy."""
        known = next((place[:size] for size in range(len(place), 0, -1) if place[:size] in self.lines), ())
        line = f", line {self.lines[known]}" if known else ""
        return RecipeFileError(f"{self.path}{line}: {_spelled(place) or 'the file'} {what}")


class _Reader:
    """Reads YAML from its events: without aliases, tags and repeated keys, and with the line of each part."""

    def __init__(self, path: Path, text: str) -> None:
        self._path = path
        self._text = text
        self._lines: dict[Place, int] = {}

    def document(self) -> _Document:
        """Return the content of the file; raises `RecipeFileError`."""
        try:
            return _Document(self._path, self._whole(), self._lines)
        except yaml.YAMLError as error:
            mark = error.problem_mark if isinstance(error, yaml.MarkedYAMLError) else None
            line = f", line {mark.line + 1}" if mark else ""
            why = (error.problem if isinstance(error, yaml.MarkedYAMLError) else "") or "it has a character of no text"
            raise RecipeFileError(f"{self._path}{line}: the file is not YAML: {why}. {AGAIN}") from None

    def _whole(self) -> Any:
        events = events_of(self._text)
        value: Any = None
        documents = 0
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    raise self._fault(event, (), f"has a second document after the line ---. {AGAIN}")
                value = self._value(next(events), events, ())
            elif isinstance(event, yaml.StreamEndEvent):
                break
        return value

    def _value(self, event: Any, events: Iterator[Any], place: Place) -> Any:
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise self._fault(
                event, place, f"has an anchor or alias of YAML. Write the value out at each place. {AGAIN}"
            )
        if len(place) > MOST_DEPTH:
            raise self._fault(event, (), f"is nested deeper than {MOST_DEPTH} levels. {AGAIN}")
        if event.tag not in (None, "!"):
            raise self._fault(event, place, f"has the tag {quoted(event.tag, 60)}. Remove the tag. {AGAIN}")
        self._lines.setdefault(place, event.start_mark.line + 1)
        if isinstance(event, yaml.MappingStartEvent):
            return dict(self._pairs(events, place))
        if isinstance(event, yaml.SequenceStartEvent):
            return self._items(events, place)
        return self._scalar(event, place)

    def _pairs(self, events: Iterator[Any], place: Place) -> Iterator[tuple[str, Any]]:
        seen: set[str] = set()
        while not isinstance(event := next(events), yaml.MappingEndEvent):
            key = self._scalar(event, place) if isinstance(event, yaml.ScalarEvent) else None
            if not isinstance(key, str):
                raise self._fault(event, place, f"has a key that is no text. Put it in quotes. {AGAIN}")
            if key in seen:
                raise self._fault(event, (*place, key), "is there twice. Remove one of the two.")
            seen.add(key)
            self._lines[(*place, key)] = event.start_mark.line + 1
            yield key, self._value(next(events), events, (*place, key))

    def _items(self, events: Iterator[Any], place: Place) -> list[Any]:
        items: list[Any] = []
        while not isinstance(event := next(events), yaml.SequenceEndEvent):
            items.append(self._value(event, events, (*place, len(items))))
        return items

    def _scalar(self, event: Any, place: Place) -> Any:
        try:
            value = scalar(event)
        except ValueError:
            raise self._fault(event, place, f"is a number that is too long. {AGAIN}") from None
        if isinstance(value, float) and not math.isfinite(value):
            raise self._fault(event, place, f"is no number that JSON has. {AGAIN}")
        return value

    def _fault(self, event: Any, place: Place, what: str) -> RecipeFileError:
        line = event.start_mark.line + 1
        return RecipeFileError(f"{self._path}, line {line}: {_spelled(place) or 'the file'} {what}")


def _spelled(place: Place) -> str:
    """Return a place as people write it: `operations[0].path`."""
    parts = [f"[{part}]" if isinstance(part, int) else f".{_key(part)}" for part in place]
    return "".join(parts).removeprefix(".")


def _key(name: str) -> str:
    return name if name.replace("_", "").isalnum() and name.isascii() else quoted(name, 60)


def _check_form(document: _Document) -> None:
    """Raise `RecipeFileError` unless the file is a recipe in the form of this version."""
    value = document.value
    form = value.get("recipe") if isinstance(value, Mapping) else None
    if not isinstance(form, str) or not form.startswith("restgpt/recipe/"):
        raise document.fault((), f"is no recipe: its first line has to be `recipe: {FORMAT}`.")
    if form != FORMAT:
        raise document.fault(
            ("recipe",),
            f"is {quoted(form, 60)}, the form of a newer version of RestGPT. This version reads {FORMAT}: update "
            "RestGPT, or save the recipe again with this version.",
        )


def _told(document: _Document, error: ValidationError) -> tuple[Place, str]:
    """Return the place of the first fault that pydantic found, and what is wrong there."""
    # An unknown key is often the misspelled name of a missing one, so it is reported first.
    found = min(error.errors(include_url=False), key=lambda item: item["type"] != "extra_forbidden")
    place: Place = tuple(part for part in found["loc"] if part != "[key]")
    kind, context = found["type"], found.get("ctx", {})
    if kind == "extra_forbidden":
        return place, f"is unknown.{_nearest(place)} {AGAIN}"
    if kind == "missing":
        return place, f"is missing. {AGAIN}"
    if kind in _KINDS:
        return place, f"must be {_KINDS[kind]}, not {_shown(found['input'])}. {AGAIN}"
    if kind == "literal_error":
        return place, f"must be {context['expected']}, not {_shown(found['input'])}. {AGAIN}"
    if kind == "string_pattern_mismatch":
        return (
            place,
            f"must be lower-case letters, digits and hyphens, at most 64, not {_shown(found['input'])}. {AGAIN}",
        )
    if kind == "value_error":
        return _of_validator(document, str(context["error"]))
    return place, f"is invalid: {found['msg']}. {AGAIN}"


def _of_validator(document: _Document, message: str) -> tuple[Place, str]:
    """Return the place and the fault of a message of the recipe's own check, which begins with a key or has a name."""
    key, colon, rest = message.partition(": ")
    above: Place = (key,) if colon and key in document.value else ()
    name = message.split("'")[1] if message.count("'") > 1 else ""
    below = (place for place in document.lines if place[: len(above)] == above)
    place = next((place for place in below if name and _at(document.value, place) == name), above)
    return place, f"is wrong: {rest if above else message}. {AGAIN}"


def _at(value: Any, place: Place) -> Any:
    for part in place:
        value = value[part]
    return value


def _nearest(place: Place) -> str:
    """Return the question whether a known key was meant, or nothing."""
    above: Place = tuple(0 if isinstance(part, int) else part for part in place[:-1])
    part = _PARTS.get(above)
    if part is None or not isinstance(place[-1], str):
        return ""
    known = [item.alias or name for name, item in part.model_fields.items()]
    near = get_close_matches(place[-1], known, 1)
    return f" Did you mean {near[0]}?" if near else f" The known keys are {', '.join(known)}."


def _shown(value: Any) -> str:
    """Return a value of the file as short text."""
    if isinstance(value, str):
        return quoted(value, 60)
    return "a mapping" if isinstance(value, Mapping) else "a list" if isinstance(value, list) else json.dumps(value)


class _Section(dict[str, Any]):
    """A top-level key with its value, which is always a block."""


def _section(key: str, value: Any) -> str:
    """Return the lines of a top-level key."""
    return yaml.dump(_Section({key: value}), Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=120)


class _Dumper(yaml.SafeDumper):
    """Writes values so that this program and readers of YAML 1.1 read the same."""

    def ignore_aliases(self, data: Any) -> bool:
        """Return True: equal parts are written out each time."""
        return True

    def check_simple_key(self) -> bool:
        """Write an empty key, the pattern of a whole answer, on the line of its value."""
        event = getattr(self, "event", None)
        if isinstance(event, yaml.ScalarEvent) and not event.value:
            return True
        return bool(super().check_simple_key())

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        """Indent the items of a list below its key."""
        super().increase_indent(flow, False)


def _text_node(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    # A block that ends with empty lines would end the whole document.
    if not _BREAKS.isdisjoint(value) or value.endswith("\n\n"):
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style='"')
    if "\n" in value.rstrip("\n"):
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|")
    is_other = value == "<<" or kind_of(value) is not None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style='"' if is_other else None)


def _list_node(dumper: yaml.SafeDumper, value: list[Any]) -> yaml.Node:
    return dumper.represent_sequence("tag:yaml.org,2002:seq", value, flow_style=_is_short(value, value))


def _mapping_node(dumper: yaml.SafeDumper, value: dict[str, Any]) -> yaml.Node:
    return dumper.represent_mapping("tag:yaml.org,2002:map", value, flow_style=_is_short(value, value.values()))


def _is_short(value: Any, parts: Any) -> bool:
    """Return whether a list or mapping has only plain values and fits on a line."""
    is_plain = all(not isinstance(part, dict | list) or not part for part in parts)
    return is_plain and "\\n" not in (text := json.dumps(value, ensure_ascii=False)) and len(text) <= INLINE


def _section_node(dumper: yaml.SafeDumper, value: _Section) -> yaml.Node:
    return dumper.represent_mapping("tag:yaml.org,2002:map", value, flow_style=False)


_Dumper.add_representer(_Section, _section_node)
_Dumper.add_representer(str, _text_node)
_Dumper.add_representer(list, _list_node)
_Dumper.add_representer(dict, _mapping_node)
