"""The values inside of a JSON value, found without recursion, so that deep nesting costs no stack."""

from collections.abc import Iterator, Mapping
from typing import Any

# Most values are scalars, for which `isinstance` with an abstract class takes ten times as long.
_SCALARS = (str, int, float, type(None))
_ARRAYS = (list, tuple)


def values_in(tree: Any) -> Iterator[Any]:
    """Yield a JSON value and all values inside of it; an object or array comes before what it holds."""
    waiting = [tree]
    while waiting:
        value = waiting.pop()
        yield value
        if isinstance(value, _SCALARS):
            continue
        if isinstance(value, _ARRAYS):
            waiting.extend(value)
        elif isinstance(value, Mapping):
            waiting.extend(value.values())


def places_in(tree: Any) -> Iterator[tuple[list[str | int], Any]]:
    """Yield a JSON value and all values inside of it in their order, each behind the keys and indexes that lead to it.

    The path is one list that changes from step to step, because most paths are never needed.
    """
    path: list[Any] = []
    yield path, tree
    # Iterators, because a list of all children would be as large as the value again.
    waiting = [_children(tree)]
    while waiting:
        for key, value in waiting[-1]:
            path.append(key)
            yield path, value
            if not isinstance(value, _SCALARS):
                waiting.append(_children(value))
                break
            path.pop()
        else:
            waiting.pop()
            if path:
                path.pop()


def _children(value: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(value, Mapping):
        return iter(value.items())
    return enumerate(value) if isinstance(value, _ARRAYS) else iter(())
