"""The write journal: a store entry for each change, written before the change is sent and again after the answer.

A run that is killed between the two leaves an intent without an outcome: nobody knows whether the API carried it out,
so it is never repeated without asking. Beside the outcome stands what would reverse the change.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Literal

from langgraph.store.base import BaseStore, SearchItem

from restgpt.tools.storable import storable_value

Known = Literal["new", "answered", "unknown"]

NAMESPACE = ("restgpt", "journal")

PAGE = 500
"""How many entries are read from the store at once."""

TICK_S = 1e-6
"""The least time between two entries, in seconds, for clocks that stand still or are set back."""


def entry_id(request_id: str, fingerprint: str) -> str:
    """The id of a call's entry: a call that was edited in a fork after it was sent gets another entry."""
    return f"{request_id}-{fingerprint[:16]}"


@dataclass(frozen=True, slots=True)
class Entry:
    """The state of a call in the journal: new, answered, or unknown, which means that it was about to be sent.

    `tries` counts how often it was about to be sent, `earlier` is what was noted of its target before the first time.
    """

    known: Known
    outcome: dict[str, Any]
    tries: int = 0
    earlier: Any = None


class Journal:
    """The changes of one thread, by call id and fingerprint."""

    def __init__(self, store: BaseStore, thread: str, *, clock: Callable[[], float] = time.time) -> None:
        self._store = store
        self._clock = clock
        # Stores refuse some characters in a namespace, and hosts name their threads as they like.
        self._namespace = (*NAMESPACE, sha256(thread.encode("utf-8", "surrogatepass")).hexdigest())

    def look_up(self, request_id: str, fingerprint: str) -> Entry:
        """The entry of this very call; another fingerprint under the same id counts as new."""
        item = self._store.get(self._namespace, entry_id(request_id, fingerprint))
        if item is None:
            return Entry("new", {})
        outcome, tries, earlier = (item.value.get(key) for key in ("outcome", "tries", "earlier"))
        known: Known = "unknown" if outcome is None else "answered"
        return Entry(known, outcome or {}, tries or 1, earlier)

    def intend(self, request_id: str, fingerprint: str, shown: dict[str, Any], *, earlier: Any = None) -> None:
        """Note that a call is about to be sent: its redacted request, and its target before the change.

        A request that was about to be sent before keeps what was noted of its target then.
        """
        before = self.look_up(request_id, fingerprint)
        value = {
            "fingerprint": fingerprint,
            "request": shown,
            "begun": self._now(),
            "tries": before.tries + 1,
            "earlier": before.earlier if before.tries else earlier,
            "outcome": None,
        }
        self._put(entry_id(request_id, fingerprint), value)

    def retract(self, request_id: str, fingerprint: str) -> None:
        """Take back the newest intent, because the request was certainly not sent."""
        entry = entry_id(request_id, fingerprint)
        item = self._store.get(self._namespace, entry)
        tries = self.look_up(request_id, fingerprint).tries - 1
        if item is not None and tries > 0:
            self._put(entry, {**item.value, "tries": tries})
        else:
            self.withdraw(entry)

    def conclude(self, request_id: str, fingerprint: str, outcome: dict[str, Any]) -> None:
        """Note the answer, or that none came; `note` adds the reversing call later."""
        entry = entry_id(request_id, fingerprint)
        item = self._store.get(self._namespace, entry)
        begun = item.value if item else {"request": {}, "begun": self._now()}
        value = {**begun, "fingerprint": fingerprint, "outcome": outcome}
        self._put(entry, value)

    def _now(self) -> float:
        """The time, but later than every entry, so that a clock that was set back does not change their order."""
        now = self._clock()
        later = _items(self._store, self._namespace, filter={"begun": {"$gte": now}})
        return max([now, *(float(item.value["begun"]) + TICK_S for item in later)])

    def note(self, entry: str, **facts: Any) -> None:
        """Add facts to an entry that is there, such as that it was undone."""
        item = self._store.get(self._namespace, entry)
        if item is not None:
            self._put(entry, {**item.value, **facts})

    def _put(self, entry: str, value: dict[str, Any]) -> None:
        """Write an entry. The answer is made storable first: characters that stores refuse must not lose the entry."""
        self._store.put(self._namespace, entry, storable_value(value), index=False)

    def withdraw(self, entry: str) -> None:
        """Delete an entry."""
        self._store.delete(self._namespace, entry)

    def entries(self) -> list[dict[str, Any]]:
        """All changes of the thread, the oldest first, with their requests redacted."""
        items = sorted(_items(self._store, self._namespace), key=lambda item: item.value["begun"])
        return [{"id": item.key, **item.value} for item in items]

    def clear(self) -> None:
        """Delete all entries of the thread."""
        for entry in self.entries():
            self.withdraw(entry["id"])


def journals(store: BaseStore) -> list[dict[str, Any]]:
    """The entries of all threads."""
    return [item.value for item in _items(store, NAMESPACE)]


def _items(store: BaseStore, namespace: tuple[str, ...], *, filter: dict[str, Any] | None = None) -> list[SearchItem]:
    items = store.search(namespace, filter=filter, limit=PAGE)
    while len(items) % PAGE == 0 and (more := store.search(namespace, filter=filter, limit=PAGE, offset=len(items))):
        items += more
    return items
