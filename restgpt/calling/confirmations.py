"""Confirmations: POSTs that a person confirmed as reads, kept for each operation of each API.

All threads share them. A key contains a digest of the operation's own part of the document, so RestGPT asks again about
a changed operation. Only a person's decision at a pause, or a command, writes a confirmation; no model can.
"""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from langgraph.store.base import BaseStore

from restgpt.specs import Operation, SpecError
from restgpt.tools.text.storable import storable_value, stored_items

NAMESPACE = ("restgpt", "reads")

# Part of every key: raise it when the rule that proposes reads changes so much that people must be asked again.
LAYOUT = 1


@dataclass(frozen=True, slots=True)
class Confirmation:
    """One confirmed operation: its API and base URL, method and path, the reason that the person saw, and when."""

    key: str
    api: str
    base_url: str
    name: str
    operation: str
    reason: str
    at: float

    def to_json(self) -> dict[str, Any]:
        """Return the confirmation for documents, without its key."""
        kept = ("api", "base_url", "name", "operation", "reason", "at")
        return {name: getattr(self, name) for name in kept}


class Confirmations:
    """The confirmed reads in a store; without a store there are none, and none is kept."""

    def __init__(self, store: BaseStore | None = None, *, clock: Callable[[], float] = time.time) -> None:
        self._store = store
        self._clock = clock

    def __contains__(self, operation: Operation) -> bool:
        return self._store is not None and self._store.get(NAMESPACE, key_of(operation)) is not None

    def remember(self, operation: Operation, reason: str) -> None:
        """Keep that an operation only reads."""
        if self._store is None:
            return
        entry = {**about(operation), "reason": reason, "at": self._clock()}
        self._store.put(NAMESPACE, key_of(operation), storable_value(entry), index=False)

    def listed(self) -> list[Confirmation]:
        """Return all confirmations, by API and operation."""
        items = stored_items(self._store, NAMESPACE) if self._store is not None else ()
        found = [Confirmation(key=item.key, **item.value) for item in items]
        return sorted(found, key=lambda item: (item.api, item.base_url, item.operation, item.at))

    def forget(self, confirmation: Confirmation) -> None:
        """Delete one confirmation, so that the operation is asked about again."""
        if self._store is not None:
            self._store.delete(NAMESPACE, confirmation.key)


def key_of(operation: Operation) -> str:
    """Return a digest of the operation's own part of the document, and of where its API was loaded from and is.

    The entry of `apis.yaml` is a part only if there is one, so other documents keep their confirmations.
    """
    parts = [LAYOUT, operation.api.source, base_url_of(operation), operation.method, operation.path, operation.digest]
    if operation.api.entry is not None:
        parts.append(operation.api.identity)
    return sha256(json.dumps(parts).encode()).hexdigest()


def about(operation: Operation) -> dict[str, Any]:
    """Return what is kept of an operation beside what is known of it, so that people can tell which one it is."""
    return {
        "api": operation.api.name,
        "base_url": base_url_of(operation),
        "name": operation.name,
        "operation": f"{operation.method} {operation.path}",
    }


def base_url_of(operation: Operation) -> str:
    """Return the base URL of an operation, or an empty text if its document names none."""
    try:
        return operation.base_url
    except SpecError:
        return ""
