"""What the server keeps of a thread, for routes of our own: its state, and items of the store, read in the process."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from langgraph_sdk import get_client
from langgraph_sdk.errors import APIStatusError, NotFoundError
from langgraph_sdk.schema import SearchItemsResponse

from restgpt.calling.journal.journal import Journal
from restgpt.tools.errors import RestgptError
from restgpt.tools.response.content import Body
from restgpt.tools.response.store import NAMESPACE, ResponseStore

PAGE = 500
"""How many items of the store are asked for at once."""


class UnreadableThreadError(RestgptError):
    """The server has no such thread, or does not show it."""


class Kept(Protocol):
    """Reads what a server keeps."""

    async def values(self, thread: str) -> Mapping[str, Any]:
        """Return the state of a thread; raises `UnreadableThreadError`."""

    async def item(self, namespace: tuple[str, ...], key: str) -> Mapping[str, Any] | None:
        """Return an item of the store; None if there is none."""

    async def items(self, namespace: tuple[str, ...]) -> Mapping[str, Mapping[str, Any]]:
        """Return all items of a namespace of the store by their keys."""


class ServerKept:
    """Reads by the API of the LangGraph server that runs in this process."""

    async def values(self, thread: str) -> Mapping[str, Any]:
        """Return the state of a thread; raises `UnreadableThreadError`."""
        try:
            async with get_client() as client:
                state = await client.threads.get_state(thread)
        except APIStatusError as error:
            raise UnreadableThreadError(f"The server does not show this thread: {_detail(error)}") from None
        values = state["values"]
        return values if isinstance(values, Mapping) else {}

    async def item(self, namespace: tuple[str, ...], key: str) -> Mapping[str, Any] | None:
        """Return an item of the store; None if there is none."""
        try:
            async with get_client() as client:
                found = await client.store.get_item(namespace, key)
        except NotFoundError:
            return None
        return found["value"] if found else None

    async def items(self, namespace: tuple[str, ...]) -> Mapping[str, Mapping[str, Any]]:
        """Return all items of a namespace of the store by their keys."""
        found: dict[str, Mapping[str, Any]] = {}
        async with get_client() as client:
            while True:
                page: SearchItemsResponse = await client.store.search_items(namespace, limit=PAGE, offset=len(found))
                before = len(found)
                found |= {item["key"]: item["value"] for item in page["items"]}
                if len(page["items"]) < PAGE or len(found) == before:
                    return found


def _detail(error: APIStatusError) -> str:
    try:
        told = json.loads(error.response.text)
    except ValueError:
        told = None
    return str(told["detail"]) if isinstance(told, Mapping) and "detail" in told else f"status {error.status_code}"


async def kept_body(kept: Kept, handle: str) -> Body:
    """Return the body of an answer; raises `UnknownHandleError`."""
    return ResponseStore(await kept_bodies(kept, [handle])).open(handle)


async def kept_bodies(kept: Kept, handles: Iterable[str]) -> BaseStore:
    """Return a store with copies of the bodies of answers, as far as they are still kept."""
    store = InMemoryStore()
    for handle in handles:
        about = await kept.item(NAMESPACE, handle)
        _put(store, NAMESPACE, handle, about)
        for number in range(about["pieces"] if about else 0):
            key = f"{handle}.{number}"
            _put(store, NAMESPACE, key, await kept.item(NAMESPACE, key))
    return store


async def kept_journal(kept: Kept, thread: str) -> Journal:
    """Return a copy of the journal of a thread."""
    store = InMemoryStore()
    journal = Journal(store, thread)
    for key, value in (await kept.items(journal.namespace)).items():
        _put(store, journal.namespace, key, value)
    return journal


def _put(store: BaseStore, namespace: tuple[str, ...], key: str, value: Mapping[str, Any] | None) -> None:
    if value is not None:
        store.put(namespace, key, dict(value), index=False)
