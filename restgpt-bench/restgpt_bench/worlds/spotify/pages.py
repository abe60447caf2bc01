"""Pages of a list: by offset and limit, with the addresses of the pages before and after."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import urlencode

from restgpt_bench.worlds.exchange import Call

Item = TypeVar("Item")
# Addresses in replies are those of the real service, whatever port the simulation listens on: replies must not differ
# from one start to the next.
BASE_URL = "https://api.spotify.com/v1"


def page(call: Call, items: Sequence[Item], render: Callable[[Item], Any]) -> dict[str, Any]:
    """The page of `items` that `call` asks for with `limit` and `offset`, each item rendered."""
    return page_at(path_of(call), call.query, items, render)


def page_at(
    path: str, query: Mapping[str, Any], items: Sequence[Item], render: Callable[[Item], Any]
) -> dict[str, Any]:
    """The page of `items` at `path` for the arguments in `query`; other arguments stay in the addresses."""
    limit, offset = query.get("limit", 20), query.get("offset", 0)
    total = len(items)
    return {
        "href": address(path, query, limit=limit, offset=offset),
        "items": [render(item) for item in items[offset : offset + limit]],
        "limit": limit,
        "next": address(path, query, limit=limit, offset=offset + limit) if offset + limit < total else None,
        "offset": offset,
        "previous": address(path, query, limit=limit, offset=max(0, offset - limit)) if offset else None,
        "total": total,
    }


def path_of(call: Call) -> str:
    """The path of `call` below the base address."""
    return call.url.removeprefix("/v1")


def address(path: str, query: Mapping[str, Any], **changes: Any) -> str:
    """An absolute address with the arguments of `query`, changed by `changes`."""
    merged = {**query, **changes}
    flat = {name: ",".join(map(str, value)) if isinstance(value, list) else value for name, value in merged.items()}
    return f"{BASE_URL}{path}?{urlencode(flat, safe=',')}"
