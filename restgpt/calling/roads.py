"""Roads: whether a model's first replies work as programs, learned for each model and server, beside the shapes.

A model that writes programs well soon stands so well that single failures do not count; one whose replies cannot be
used, or come again word for word, makes its calls one by one from then on, for a week: its server may have a better
model under the same name by then.
"""

import time
from collections.abc import Callable
from hashlib import sha256

from langgraph.store.base import BaseStore

from restgpt.tools.text.storable import delete_items

NAMESPACE = ("restgpt", "roads")

BEST, WORST = 3, -2
"""The standing of a model goes from -2, with which it makes calls one by one, to 3."""

WORKED, FAILED, UNUSABLE = 1, -1, -2
"""What a first program counts that reported an answer, one that failed, and replies that are none or the same."""

LASTS_S = 7 * 24 * 60 * 60
"""How long a standing counts after it has last changed, in seconds."""


class Roads:
    """The standings of models; without a store nothing is learned, and neither of a model without a name.

    Seam: `now`, the time in seconds since 1970.
    """

    def __init__(self, store: BaseStore | None, now: Callable[[], float] = time.time) -> None:
        self._store = store
        self._now = now

    def standing(self, model: str) -> int:
        """Return the standing of a model, by its name and server; one that is too old counts nothing."""
        item = self._store.get(NAMESPACE, _key(model)) if self._store is not None and model else None
        is_new = item is not None and self._now() - item.value.get("at", 0) < LASTS_S
        return int(item.value["standing"]) if item is not None and is_new else 0

    def learn(self, model: str, points: int) -> None:
        """Add points to the standing of a model."""
        before = self.standing(model)
        after = max(WORST, min(BEST, before + points))
        if self._store is not None and model and after != before:
            self._store.put(NAMESPACE, _key(model), {"standing": after, "at": self._now()}, index=False)

    def clear(self) -> None:
        """Forget all standings."""
        if self._store is not None:
            delete_items(self._store, NAMESPACE)


def _key(model: str) -> str:
    # The address of a server may hold a key.
    return sha256(model.encode()).hexdigest()
