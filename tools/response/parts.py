"""A large JSON body as lists and objects whose parts are decoded when they are read, so that 50 MB take little memory.

Slicing a level costs `RAW_SIZE` bytes for each of its items, and no more than a scan of its text; `MOST_COMMAS` bounds
the number of items. Parts of at most `WHOLE` bytes are decoded at once.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from restgpt.tools.response.content import UNREAD, Body, read_json

WHOLE = 64 * 1024
"""The largest JSON text in bytes that is decoded at once."""

RAW_SIZE = 57
"""The memory of the slice of one item in bytes, measured with CPython 3.11."""

MOST_COMMAS = 5_000_000
"""A JSON text with more commas is not sliced: a level with that many items would take about 285 MB."""

_LIST = msgspec.json.Decoder(list[msgspec.Raw])
_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])


class _Parts:
    """The slices of a container by their keys, each decoded when it is read."""

    def __init__(self, raw: Any) -> None:
        self._raw = raw
        self._large: dict[Any, Any] = {}

    def __len__(self) -> int:
        return len(self._raw)

    def _part(self, key: Any) -> Any:
        """Return a part. One that is sliced itself is kept: slicing again would scan its text, and each level below.

        All levels together have no more items than the text has commas and brackets.
        """
        if key in self._large:
            return self._large[key]
        value = _opened(self._raw[key])
        if isinstance(value, _Parts):
            self._large[key] = value
        return value


class Items(_Parts, Sequence[Any]):
    """A JSON array that decodes an item when it is read."""

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return [self[number] for number in range(*place.indices(len(self)))]
        return self._part(range(len(self))[place])


class Fields(_Parts, Mapping[str, Any]):
    """A JSON object that decodes a value when it is read."""

    def __iter__(self) -> Iterator[str]:
        return iter(self._raw)

    def __getitem__(self, name: str) -> Any:
        return self._part(name)


def json_value(body: Body) -> Any:
    """Return the JSON value of a body, in parts if it is large; `UNREAD` for a body that is no JSON.

    A body that was kept as text because its value would take too much memory is read as JSON here.
    """
    if body.parsed is not UNREAD:
        return body.parsed
    if body.kind not in ("json", "json-lines", "text") or not body.size:
        return UNREAD
    data = body.json()
    if body.kind == "text" and data.lstrip()[:1] not in (b"{", b"["):
        return UNREAD
    if len(data) > WHOLE and data.count(b",") > MOST_COMMAS:
        return UNREAD
    try:
        return _opened(data)
    except (ValueError, RecursionError, msgspec.MsgspecError):
        # A text that only begins like JSON; or JSON that msgspec refuses, such as NaN.
        return UNREAD if body.kind == "text" else body.value


def _opened(raw: "bytes | msgspec.Raw") -> Any:
    """Return a JSON text as its value, a large one in parts; raises ValueError, RecursionError and MsgspecError."""
    data = memoryview(raw)
    if len(data) > WHOLE:
        match bytes(data[:100]).lstrip()[:1]:
            case b"[":
                return Items(_LIST.decode(raw))
            case b"{":
                return Fields(_OBJECT.decode(raw))
    return read_json(bytes(data).decode("utf-8", "replace"))
