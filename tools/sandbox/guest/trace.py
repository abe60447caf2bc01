"""Answers that record which of their fields a program reads, for the guards of a recipe.

An answer becomes a dict or a list that does what the plain one does. Each read is kept as a pattern: a JSON pointer
with `*` for any index of an array, and for any key of an object that a program iterates over and that has many keys.
Values inside are wrapped when the program reaches them, so a large answer costs little.

Functions of CPython that are written in C read dicts and lists past their methods. Most of them do so with plain ones
only, and call `__iter__`, `keys` and `__getitem__` of a subclass; the classes here define the methods that do not.
Standard library only: the host sends this module to the worker of a traced program.
"""

# ruff: noqa: D102 (the public methods are those of dict and list)

from __future__ import annotations

import sys

TYPE_CHECKING = False  # a name for type checkers; the import of `typing` would cost every worker milliseconds
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

MOST_READS, MOST_PATTERN = 2000, 200  # of a report: patterns in all, characters of one
MOST_NODES = 20_000  # the most patterns that are kept for all answers together
MOST_KEYS = 50  # an object with more keys that is iterated over is a map
MOST_WALKED = 20_000  # values that are looked at where a whole value is read at once

_TYPES: dict[type, str] = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}
_none: Any = object()  # stands for no argument


class Node:
    """A place in an answer: its pattern, the JSON types that the program found there, and the places below."""

    __slots__ = ("_below", "_beside", "_reads", "pattern", "types")

    def __init__(self, reads: Reads, pattern: str, beside: list[Node]) -> None:
        self._reads = reads
        self._below: dict[str, Node] = {}
        self._beside = beside
        self.pattern = pattern
        self.types: set[str] = set()
        beside.append(self)

    def below(self, key: Any) -> Node:
        """Return the place of a field, or of all items for the key `*`."""
        found = self._below.get(key) if type(key) is str else self._reads.lost
        if found is None:
            part = key.replace("~", "~0").replace("/", "~1")
            found = self._below[key] = self._reads.node(f"{self.pattern}/{part}", self._beside)
        return found


class Lost(Node):
    """The place of all reads that there is no room for; it is not reported."""

    __slots__ = ()

    def below(self, key: Any) -> Node:
        """Return this place."""
        return self


class Reads:
    """The reads of a program in all of its answers, by the positions of their calls."""

    def __init__(self) -> None:
        self.is_cut = False
        self.lost = Lost(self, "", [])
        self._of: dict[str, list[Node]] = {}
        self._left = MOST_NODES

    def answer(self, position: str, value: Any) -> Any:
        """Return the answer to the call at `position`, which records its reads if it is a dict or a list."""
        beside = self._of[position] = []
        root = self.node("", beside)
        kind = type(value)
        if kind is dict or kind is list:
            return _wrapped(value, root)
        if kind in _TYPES:
            root.types.add(_TYPES[kind])
        return value

    def node(self, pattern: str, beside: list[Node]) -> Node:
        """Return a new place; if there is no room for it, the one that is not reported."""
        if self._left <= 0 or len(pattern) > MOST_PATTERN or not _is_text(pattern):
            self.is_cut = True
            return self.lost
        self._left -= 1
        return Node(self, pattern, beside)

    def report(self) -> dict[str, Any]:
        """Return the reads for the host: each distinct set of them once, and which of them each answer has."""
        numbers: dict[tuple[tuple[str, tuple[str, ...]], ...], int] = {}
        places: dict[str, int] = {}
        left = MOST_READS
        for position, nodes in self._of.items():
            kind = tuple(sorted((node.pattern, tuple(sorted(node.types))) for node in nodes if node.types))
            if kind not in numbers and len(kind) > left:
                kind, self.is_cut = kind[:left], True
            if kind:
                left -= 0 if kind in numbers else len(kind)
                places[position] = numbers.setdefault(kind, len(numbers))
        return {"kinds": [dict(kind) for kind in numbers], "of": places, "is_cut": self.is_cut}


def _is_text(pattern: str) -> bool:
    """Return whether a pattern has a form in UTF-8, which a lone surrogate does not have."""
    try:
        pattern.encode()
    except UnicodeEncodeError:
        return False
    return True


# The methods of the plain classes, for values that no program has changed them for.
_dict_new, _dict_get, _dict_set, _dict_items = dict.__new__, dict.__getitem__, dict.__setitem__, dict.items
_list_new, _list_get, _list_set, _list_iter = list.__new__, list.__getitem__, list.__setitem__, list.__iter__


def _wrapped(value: Any, node: Node) -> Any:
    """Return a plain dict or list as one that records its reads at `node`."""
    if type(value) is dict:
        fields = _dict_new(Fields)
        dict.update(fields, value)
        fields._node, fields._own, fields._is_filled = node, None, False
        return fields
    items = _list_new(Items)
    list.extend(items, value)
    items._node, items._is_filled = node, False
    return items


def _type_of(value: Any) -> str:
    return _TYPES.get(type(value)) or ("object" if isinstance(value, dict) else "array")


class Fields(dict):  # type: ignore[type-arg]
    """An object of an answer. The program's own fields and the values in them are not recorded."""

    __slots__ = ("_is_filled", "_node", "_own")
    _node: Node
    _own: set[Any] | None
    _is_filled: bool

    def __new__(cls, *given: Any, **named: Any) -> Any:
        """Return a plain dict: a program that makes one of the same type has values of its own."""
        return dict(*given, **named)

    def _found(self, key: Any, value: Any) -> Any:
        """Record that a field was read, and return its value, wrapped from now on if it is a dict or a list."""
        self._node.types.add("object")
        if self._own is not None and key in self._own:
            return value
        node = self._node.below(key)
        kind = type(value)
        if kind in _TYPES:
            node.types.add(_TYPES[kind])
            return value
        if kind is dict or kind is list:
            value = _wrapped(value, node)
            _dict_set(self, key, value)
        node.types.add(_type_of(value))
        return value

    def _missed(self, key: Any) -> None:
        self._node.types.add("object")
        if self._own is None or key not in self._own:
            self._node.below(key).types.add("missing")

    def _fill(self) -> None:
        """Record that all fields were read, and wrap their values."""
        self._list_keys()
        if not self._is_filled:
            self._wrap()
            self._is_filled = True

    def _list_keys(self) -> None:
        """Record that the names of all fields were read."""
        self._node.types.add("object")
        if not self._is_filled:
            for key, value in _dict_items(self):
                if self._own is None or key not in self._own:
                    self._place(key).types.add(_type_of(value))

    def _wrap(self) -> None:
        """Wrap the values of all fields, as their copies share them."""
        for key, value in list(_dict_items(self)):
            if (type(value) is dict or type(value) is list) and (self._own is None or key not in self._own):
                _dict_set(self, key, _wrapped(value, self._place(key)))

    def _place(self, key: Any) -> Node:
        return self._node.below("*" if dict.__len__(self) > MOST_KEYS else key)

    def _make_own(self, keys: Iterable[Any]) -> None:
        self._own = {*(self._own or ()), *keys}

    def __getitem__(self, key: Any) -> Any:
        try:
            value: Any = _dict_get(self, key)
        except KeyError:
            self._missed(key)
            raise
        return self._found(key, value)

    def get(self, key: Any, default: Any = None) -> Any:
        value = dict.get(self, key, _none)
        if value is _none:
            self._missed(key)
            return default
        return self._found(key, value)

    def __contains__(self, key: Any) -> bool:
        value = dict.get(self, key, _none)
        if value is _none:
            self._missed(key)
            return False
        self._found(key, value)
        return True

    def __len__(self) -> int:
        self._node.types.add("object")
        return dict.__len__(self)

    def __iter__(self) -> Iterator[Any]:
        self._list_keys()
        return dict.__iter__(self)

    def __reversed__(self) -> Iterator[Any]:
        self._list_keys()
        return dict.__reversed__(self)

    def keys(self) -> Any:
        self._list_keys()
        return dict.keys(self)

    def values(self) -> Any:
        self._fill()
        return dict.values(self)

    def items(self) -> Any:
        self._fill()
        return dict.items(self)

    def __setitem__(self, key: Any, value: Any) -> None:
        _dict_set(self, key, value)
        self._make_own((key,))

    def __delitem__(self, key: Any) -> None:
        if key in self:
            self._make_own((key,))
        dict.__delitem__(self, key)

    def pop(self, key: Any, *default: Any) -> Any:
        if key in self:
            value = self[key]
            self._make_own((key,))
            dict.__delitem__(self, key)
            return value
        return dict.pop(self, key, *default)

    def popitem(self) -> Any:
        self._fill()
        found = dict.popitem(self)
        self._make_own(found[:1])
        return found

    def clear(self) -> None:
        self._make_own(dict.keys(self))
        dict.clear(self)

    def setdefault(self, key: Any, default: Any = None) -> Any:
        if key not in self:
            self[key] = default
        return self[key]

    def update(self, *given: Any, **named: Any) -> None:
        added = dict(*given, **named)
        dict.update(self, added)
        self._make_own(added)

    def copy(self) -> Any:
        self._wrap()
        fields = _wrapped(dict(_dict_items(self)), self._node)
        fields._own, fields._is_filled = self._own, self._is_filled
        return fields

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        from copy import deepcopy

        fields = memo[id(self)] = _wrapped({}, self._node)
        fields._own, fields._is_filled = self._own, self._is_filled
        for key, value in _dict_items(self):
            _dict_set(fields, key, deepcopy(value, memo))
        return fields

    def __reduce_ex__(self, protocol: Any) -> Any:
        return dict, (_read_bare(self),)

    def __or__(self, other: Any) -> Any:
        return {**self, **other} if isinstance(other, dict) else NotImplemented

    def __ror__(self, other: Any) -> Any:
        return {**other, **self} if isinstance(other, dict) else NotImplemented

    def __ior__(self, other: Any) -> Any:
        self.update(other)
        return self

    def __eq__(self, other: object) -> Any:
        return _compared(self, other, dict, dict.__eq__)

    def __ne__(self, other: object) -> Any:
        return _compared(self, other, dict, dict.__ne__)

    __hash__ = None

    def __repr__(self) -> str:
        return _represented(self, dict.__repr__)


class Items(list):  # type: ignore[type-arg]
    """An array of an answer. Before the program changes it, all of its items are recorded; its own are not."""

    __slots__ = ("_is_filled", "_node")
    _node: Node
    _is_filled: bool

    def __new__(cls, *given: Any) -> Any:
        """Return a plain list: a program that makes one of the same type has values of its own."""
        return list(*given)

    def _fill(self) -> None:
        """Record that all items were read, and wrap them."""
        self._node.types.add("array")
        if self._is_filled or not list.__len__(self):
            return
        node = self._node.below("*")
        for kind in set(map(type, _list_iter(self))):
            node.types.add(_TYPES.get(kind) or ("object" if issubclass(kind, dict) else "array"))
        self._wrap()
        self._is_filled = True

    def _wrap(self) -> None:
        """Wrap all items, as their copies share them."""
        if not self._is_filled:
            node = self._node.below("*")
            for index, value in enumerate(_list_iter(self)):
                if type(value) is dict or type(value) is list:
                    _list_set(self, index, _wrapped(value, node))

    def _change(self) -> None:
        """Record all items before the program adds its own."""
        self._fill()
        self._is_filled = True

    def __getitem__(self, index: Any) -> Any:
        self._node.types.add("array")
        if self._is_filled or type(index) is slice:
            self._fill()
            return _list_get(self, index)
        value = _list_get(self, index)
        node = self._node.below("*")
        if type(value) is dict or type(value) is list:
            value = _wrapped(value, node)
            _list_set(self, index, value)
        node.types.add(_type_of(value))
        return value

    def __len__(self) -> int:
        self._node.types.add("array")
        return list.__len__(self)

    def __iter__(self) -> Iterator[Any]:
        self._fill()
        return _list_iter(self)

    def __reversed__(self) -> Iterator[Any]:
        self._fill()
        return list.__reversed__(self)

    def __contains__(self, value: Any) -> bool:
        self._fill()
        return list.__contains__(self, value)

    def index(self, *given: Any) -> int:
        self._fill()
        return list.index(self, *given)

    def count(self, value: Any) -> int:
        self._fill()
        return list.count(self, value)

    def copy(self) -> Any:
        self._wrap()
        items = _wrapped(list.copy(self), self._node)
        items._is_filled = self._is_filled
        return items

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        from copy import deepcopy

        items = memo[id(self)] = _wrapped([], self._node)
        items._is_filled = self._is_filled
        for value in _list_iter(self):
            list.append(items, deepcopy(value, memo))
        return items

    def __reduce_ex__(self, protocol: Any) -> Any:
        return list, (_read_bare(self),)

    def __add__(self, other: Any) -> Any:
        if isinstance(other, list):
            return [*self, *other]
        return NotImplemented if hasattr(other, "__radd__") else list.__add__(self, other)

    def __radd__(self, other: Any) -> Any:
        return [*other, *self] if isinstance(other, list) else NotImplemented

    def __mul__(self, times: Any) -> Any:
        return [*self] * times

    __rmul__ = __mul__

    def __eq__(self, other: object) -> Any:
        return _compared(self, other, list, list.__eq__)

    def __ne__(self, other: object) -> Any:
        return _compared(self, other, list, list.__ne__)

    def __lt__(self, other: Any) -> Any:
        return _compared(self, other, list, list.__lt__)

    def __le__(self, other: Any) -> Any:
        return _compared(self, other, list, list.__le__)

    def __gt__(self, other: Any) -> Any:
        return _compared(self, other, list, list.__gt__)

    def __ge__(self, other: Any) -> Any:
        return _compared(self, other, list, list.__ge__)

    __hash__ = None

    def __repr__(self) -> str:
        return _represented(self, list.__repr__)


def _changing(name: str) -> Callable[..., Any]:
    """Return a method of `list` that records the items before it changes them."""
    plain = getattr(list, name)

    def method(self: Items, *given: Any, **named: Any) -> Any:
        self._change()
        return plain(self, *given, **named)

    method.__name__ = name
    return method


for _name in (
    *("append", "extend", "insert", "pop", "remove", "clear", "reverse", "sort"),
    *("__setitem__", "__delitem__", "__iadd__", "__imul__"),
):
    setattr(Items, _name, _changing(_name))

# A program that prints the type of an answer prints the same as without a trace; so do messages of Python.
for _kind, _plain in ((Fields, dict), (Items, list)):
    _kind.__name__ = _kind.__qualname__ = _plain.__name__
    _kind.__module__ = "builtins"


_NESTED = frozenset({dict, list, Fields, Items})
_EQUALITIES = (dict.__eq__, dict.__ne__, list.__eq__, list.__ne__)


def _compared(one: Any, other: Any, kind: type, compare: Callable[[Any, Any], bool]) -> Any:
    """Compare two values; both are read as a whole, unless their sizes tell that they are not equal."""
    if not isinstance(other, kind):
        one._node.types.add(_type_of(one))
        return NotImplemented
    is_told = compare in _EQUALITIES and kind.__len__(one) != kind.__len__(other)  # type: ignore[attr-defined]
    for value in (one, other):
        if isinstance(value, Fields | Items):
            value._node.types.add(_type_of(value))
            if not is_told and one is not other:
                _walk(value)
    return compare(*bare((one, other)))


def _represented(value: Any, represent: Callable[[Any], str]) -> str:
    """Return the text of a value, which reads it as a whole."""
    return represent(_read_bare(value))


def _walk(value: Any) -> None:
    """Record that a value was read with all that is in it, up to a bound."""
    waiting: list[Any] = [value]
    seen: set[int] = set()
    left = MOST_WALKED
    while waiting:
        place = waiting.pop()
        if id(place) in seen:
            continue
        seen.add(id(place))
        left -= 1
        if left < 0:
            value._node._reads.is_cut = True
            return
        if isinstance(place, Fields | Items):
            place._fill()
        held = dict.values(place) if isinstance(place, dict) else _list_iter(place)
        waiting.extend(inner for inner in held if type(inner) in _NESTED)


def _read_bare(value: Any) -> Any:
    if isinstance(value, Fields | Items):
        _walk(value)
    return bare(value)


def bare(value: Any) -> Any:
    """Return a value as plain dicts and lists, without recording any read. Deep nesting needs no deep recursion."""
    made: dict[int, Any] = {}
    waiting: list[tuple[Any, Any]] = []

    def plain(inner: Any) -> Any:
        if type(inner) is tuple:
            return tuple(map(plain, inner))
        if type(inner) not in _NESTED:
            return inner
        found = made.get(id(inner))
        if found is None:
            found = made[id(inner)] = {} if isinstance(inner, dict) else []
            waiting.append((inner, found))
        return found

    result = plain(value)
    while waiting:
        held, found = waiting.pop()
        if isinstance(held, dict):
            for key, inner in _dict_items(held):
                found[key] = plain(inner)
        else:
            found.extend(map(plain, _list_iter(held)))
    return result


def adapt(library: Any) -> None:
    """Let the library look for fields without reading them, and `pprint`, which asks for exact classes, print them."""
    if library is not None:
        library.fields_of = lambda item: _dict_items(item) if isinstance(item, dict) else item.items()
        library.has_field = lambda item, name: name in (dict.keys(item) if "." in name else item)
        library.is_same = lambda one, other: one is other or bare(one) == bare(other)
    module = sys.modules.get("pprint")
    if module is not None:
        for name in ("pprint", "pformat"):
            setattr(module.PrettyPrinter, name, _plainly(getattr(module.PrettyPrinter, name)))


def _plainly(method: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, value: method(self, _read_bare(value))
