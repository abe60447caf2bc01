"""A YAML document built from the events of libyaml: ten times as fast as PyYAML, with the scalars of YAML 1.2.

It reads what JSON can say and more: integers of any size, aliases, merge keys, repeated keys and unknown tags, but no
dates, sexagesimal numbers, octals and yes/no booleans of YAML 1.1. A value that the document declares to be text is the
text that it has: `1.10` is the version 1.10, not the number 1.1.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import yaml

try:
    from yaml import CSafeLoader as _Loader
except ImportError:
    from yaml import SafeLoader as _Loader  # type: ignore[assignment]

# How many pairs are merged into the mappings of a document, counted again wherever they are merged.
MERGED_MOST = 500_000
_MERGE = object()
_NO_KEY = object()
_KINDS = {
    "bool": re.compile(r"true|True|TRUE|false|False|FALSE"),
    "int": re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+"),
    "float": re.compile(
        r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
    ),
    "null": re.compile(r"~|null|Null|NULL|"),
}
_DATA_KEYS = frozenset({"default", "example", "examples", "const", "enum", "x-example", "x-examples"})
"""The keys of values that have the type of the schema beside them."""
_SEVERAL = frozenset({"enum", "examples", "x-examples"})
"""Those that hold several such values, in a list or each in an object with the key `value`."""
_TEXT = {"type": "string"}
_TYPED = frozenset(f"tag:yaml.org,2002:{kind}" for kind in _KINDS)


def kind_of(text: str) -> str | None:
    """The type of a text without quotes, as YAML names it: bool, int, float or null; None for a text."""
    if text and text[0] not in "-+.~0123456789tTfFnN":
        return None
    return next((kind for kind, pattern in _KINDS.items() if pattern.fullmatch(text)), None)


@lru_cache(maxsize=10_000)
def _plain(text: str) -> Any:
    match kind_of(text):
        case "bool":
            return text.lower() == "true"
        case "int":
            return int(text, 0 if text.startswith(("0o", "0x")) else 10)
        case "float":
            return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
        case "null":
            return None
    return text


def scalar(event: Any) -> Any:
    """The value of a scalar: a plain one has the type that its text shows, one with a tag that of the tag.

    Raises `ValueError` for an integer of more digits than Python reads.
    """
    return _plain(event.value) if event.implicit[0] or event.tag in _TYPED else event.value


def events_of(text: str) -> Iterator[Any]:
    """Yield the events of a YAML text; raises `yaml.YAMLError`."""
    return yaml.parse(text, Loader=_Loader)


def read_yaml(text: str, repeated: list[str]) -> Any:
    """Return the value of a YAML document; of a repeated key the last value counts, and the key is put in `repeated`.

    Values of aliases are shared, and may contain themselves. Raises `yaml.YAMLError` and `ValueError`.
    """
    return _Builder(repeated).build(events_of(text))


class _Builder:
    """Puts the value of each event into the object or array that is open."""

    def __init__(self, repeated: list[str]) -> None:
        self._repeated = repeated
        self._anchors: dict[str, Any] = {}
        self._root: list[Any] = []
        self._open: list[Any] = [self._root]
        # Of each open object its next key and the objects that merge keys put into it.
        self._keys: list[Any] = [_NO_KEY]
        self._merges: list[list[Any]] = [[]]
        self._merged = 0
        # Of each open collection its key, and as they are written its values that are neither texts nor null.
        self._names: list[Any] = [_NO_KEY]
        self._written: list[dict[Any, Any]] = [{}]
        self._open_data = 0

    def build(self, events: Iterator[yaml.Event]) -> Any:
        """Return the value of the only document among the events."""
        for event in events:
            if isinstance(event, yaml.ScalarEvent):
                value = scalar(event)
                self._note(event.value if value is not None and value is not event.value else None)
                self._add(event, value)
            elif isinstance(event, yaml.AliasEvent):
                if event.anchor not in self._anchors:
                    raise _fault(f"found undefined alias {event.anchor}", event)
                self._note(None)
                self._put(event, self._anchors[event.anchor])
            elif isinstance(event, yaml.CollectionStartEvent):
                value = {} if isinstance(event, yaml.MappingStartEvent) else []
                self._names.append(self._note(None))
                self._written.append({})
                self._open_data += self._names[-1] in _DATA_KEYS
                self._add(event, value)
                self._open.append(value)
                self._keys.append(_NO_KEY)
                self._merges.append([])
            elif isinstance(event, yaml.CollectionEndEvent):
                self._close(event)
            elif isinstance(event, yaml.DocumentStartEvent) and self._root:
                raise _fault("found another document", event)
        return self._root[0] if self._root else None

    def _note(self, text: str | None) -> Any:
        """Keep the text of the next value, and return its key or index in the open object or array."""
        place = len(self._open[-1]) if isinstance(self._open[-1], list) else self._keys[-1]
        if text is None:
            self._written[-1].pop(place, None)
        elif place is not _NO_KEY and place is not _MERGE:
            self._written[-1][place] = text
        return place

    def _add(self, event: Any, value: Any) -> None:
        if event.anchor is not None:
            self._anchors[event.anchor] = value
        self._put(event, value)

    def _put(self, event: Any, value: Any) -> None:
        parent, key = self._open[-1], self._keys[-1]
        if isinstance(parent, list):
            parent.append(value)
        elif key is _NO_KEY:
            is_merge = value == "<<" and isinstance(event, yaml.ScalarEvent) and event.implicit[0]
            self._keys[-1] = _MERGE if is_merge else str(value) if isinstance(value, list | dict) else value
        else:
            self._keys[-1] = _NO_KEY
            if key is _MERGE:
                self._merges[-1].append(value)
                return
            if key in parent:
                self._repeated.append(f"{key} (line {event.start_mark.line + 1})")
            parent[key] = value

    def _close(self, event: Any) -> None:
        closed = self._open.pop()
        self._keys.pop()
        for merged in self._merges.pop():
            for source in merged if isinstance(merged, list) else [merged]:
                pairs = list(source.items()) if isinstance(source, dict) else []
                self._merged += len(pairs)
                if self._merged > MERGED_MOST:
                    raise _fault("the merge keys expand to too many pairs", event)
                for key, value in pairs:
                    closed.setdefault(key, value)
        self._keep_texts(closed)

    def _keep_texts(self, closed: Any) -> None:
        """Give values of an object their texts, if a schema in it or its place says that they are texts."""
        name, written = self._names.pop(), self._written.pop()
        if self._open_data and written and name is not _NO_KEY and name is not _MERGE:
            self._written[-1][name] = written
        self._open_data -= name in _DATA_KEYS
        if not written or not isinstance(closed, dict):
            return
        if name == "info":
            _as_written(closed, written, {"properties": dict.fromkeys(written, _TEXT)})
        # The object of server variables, whose values are texts, has the key `variables`.
        schema = _TEXT if self._names[-1] == "variables" else closed.get("schema", closed)
        for key in _DATA_KEYS & written.keys():
            value, texts, kind = closed[key], written[key], schema
            if key in _SEVERAL and isinstance(value, list):
                kind = {"items": schema}
            elif key in _SEVERAL and isinstance(value, dict):
                kind = {"properties": {name: {"properties": {"value": schema}} for name in texts}}
            closed[key] = _as_written(value, texts, kind)


def _as_written(value: Any, texts: Any, schema: Any) -> Any:
    """Return a value with its texts, instead of what they look like, wherever the schema says that it is a text."""
    if not isinstance(schema, dict):
        return value
    if not isinstance(texts, dict):
        kinds = schema.get("type")
        is_text = kinds == "string" or kinds in (["string"], ["string", "null"], ["null", "string"])
        return texts if is_text else value
    parts = schema.get("properties")
    for key, text in texts.items():
        part = schema.get("items") if isinstance(value, list) else parts.get(key) if isinstance(parts, dict) else None
        value[key] = _as_written(value[key], text, part)
    return value


def _fault(message: str, event: Any) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(None, None, message, event.start_mark)
