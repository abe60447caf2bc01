"""JSON as a tree: the values inside of a value, found without recursion, and pointers to them (RFC 6901)."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import unquote

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


def parse_pointer(pointer: str) -> tuple[str, ...]:
    """Split a plain JSON pointer into its unescaped tokens; the leading slash may be missing."""
    if pointer in ("", "/"):
        return ()
    tokens = pointer.removeprefix("/").split("/")
    return tuple([token.replace("~1", "/").replace("~0", "~") for token in tokens] if "~" in pointer else tokens)


def parse_fragment(fragment: str) -> tuple[str, ...]:
    """Split the percent-encoded fragment of a `$ref` into tokens (RFC 6901 section 6)."""
    return parse_pointer(unquote(fragment))


def format_pointer(tokens: Iterable[str]) -> str:
    """Write tokens as a plain JSON pointer."""
    return "".join("/" + token.replace("~", "~0").replace("/", "~1") for token in tokens)
