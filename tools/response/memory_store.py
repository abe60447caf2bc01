"""An in-memory store for hosts that provide none; its size is bounded, because a host may run for months."""

from collections.abc import Iterable
from threading import RLock
from weakref import WeakKeyDictionary

from langgraph.store.base import BaseStore, Op, PutOp, Result
from langgraph.store.memory import InMemoryStore

from restgpt.tools.response.store import NAMESPACE, ResponseStore

MOST_KEPT = 256 * 1024 * 1024
"""The most characters of bodies that are kept; past that the oldest bodies are removed."""


class BoundedMemory(InMemoryStore):
    """An in-memory store that removes the oldest response bodies, always whole bodies and never the newest."""

    def __init__(self, *, most: int = MOST_KEPT) -> None:
        super().__init__()
        self._most = most
        self._sizes: dict[str, int] = {}
        self._total = 0
        self._lock = RLock()

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Run the operations and count the size of the bodies that they put."""
        ops = list(ops)
        with self._lock:
            results = super().batch(ops)
            for op in ops:
                if isinstance(op, PutOp) and op.namespace == NAMESPACE:
                    self._count(op)
        return results

    def _count(self, op: PutOp) -> None:
        handle = op.key.partition(".")[0]
        if op.value is None:
            self._total -= self._sizes.pop(handle, 0)
            return
        size = sum(len(part) for part in op.value.values() if isinstance(part, str))
        self._sizes[handle] = self._sizes.get(handle, 0) + size
        self._total += size
        while self._total > self._most and (oldest := next(iter(self._sizes))) != handle:
            # Subtract the size here: `remove` deletes nothing of a body whose last piece is not stored yet.
            self._total -= self._sizes.pop(oldest)
            ResponseStore(self).remove(oldest)


class LockedStore(BaseStore):
    """A host's `InMemoryStore`, one operation at a time: alone it fails when runs read and write it at once."""

    def __init__(self, store: InMemoryStore) -> None:
        self._store = store
        self._lock = _LOCKS.setdefault(store, RLock())

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Do what the store does."""
        with self._lock:
            return self._store.batch(ops)

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Do the same on the event loop: nothing here waits for longer than an operation in memory takes."""
        return self.batch(ops)


_LOCKS: WeakKeyDictionary[InMemoryStore, RLock] = WeakKeyDictionary()


def locked(store: BaseStore) -> BaseStore:
    """The store as several threads can use it at once: LangGraph's own in memory behind a lock, any other as it is."""
    return LockedStore(store) if type(store) is InMemoryStore else store
