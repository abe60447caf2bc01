"""A YAML document built from the events of libyaml: ten times as fast as PyYAML, with the scalars of YAML 1.2.

It reads what JSON can say and more: integers of any size, aliases, merge keys, repeated keys and unknown tags.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import yaml

from restgpt.specs.reading.text.yaml_scalars import MERGED_MOST, RESOLVERS, ScalarLoader, integer

_MERGE = object()
_NO_KEY = object()
_TAG = "tag:yaml.org,2002:"
_PATTERNS = [(tag.removeprefix(_TAG), pattern, first) for tag, pattern, first in RESOLVERS]


def read_yaml(text: str, repeated: list[str]) -> Any:
    """Return the value of a YAML document; of a repeated key the last value counts, and the key is put in `repeated`.

    Values of aliases are shared, and may contain themselves. Raises `yaml.YAMLError` and `ValueError`.
    """
    return _Builder(repeated).build(yaml.parse(text, Loader=ScalarLoader))


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

    def build(self, events: Iterator[yaml.Event]) -> Any:
        """Return the value of the only document among the events."""
        for event in events:
            if isinstance(event, yaml.ScalarEvent):
                self._add(event, _scalar(event))
            elif isinstance(event, yaml.AliasEvent):
                if event.anchor not in self._anchors:
                    raise _fault(f"found undefined alias {event.anchor}", event)
                self._put(event, self._anchors[event.anchor])
            elif isinstance(event, yaml.CollectionStartEvent):
                value: Any = {} if isinstance(event, yaml.MappingStartEvent) else []
                self._add(event, value)
                self._open.append(value)
                self._keys.append(_NO_KEY)
                self._merges.append([])
            elif isinstance(event, yaml.CollectionEndEvent):
                self._close(event)
            elif isinstance(event, yaml.DocumentStartEvent) and self._root:
                raise _fault("found another document", event)
        return self._root[0] if self._root else None

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


def _fault(message: str, event: Any) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(None, None, message, event.start_mark)


def _scalar(event: Any) -> Any:
    """The value of a scalar: a plain one has the type that its text shows, one with a tag that of the tag."""
    if event.implicit[0]:
        return _plain(event.value)
    return _plain(event.value) if event.tag in _TYPED else event.value


_TYPED = frozenset(f"{_TAG}{name}" for name in ("int", "float", "bool", "null"))


@lru_cache(maxsize=10_000)
def _plain(text: str) -> Any:
    """The value of a text without quotes."""
    for kind, pattern, first in _PATTERNS:
        if (text[:1] in first if text else kind == "null") and pattern.match(text):
            return _READERS[kind](text)
    return text


_READERS: dict[str, Any] = {
    "bool": lambda text: text.lower() == "true",
    "int": integer,
    "float": lambda text: float(text.lower().replace(".inf", "inf").replace(".nan", "nan")),
    "null": lambda text: None,
    "merge": str,
}
