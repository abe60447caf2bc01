"""The write journal: a store entry for each change, written before the change is sent and again after the answer.

A run that is killed between the two leaves an intent without an outcome: nobody knows whether the API carried it out,
so it is never repeated without asking. Beside the outcome stands what would reverse the change.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Literal

from langgraph.store.base import BaseStore

from restgpt.calling.claim import Claim, claims_of, take_claim
from restgpt.tools.errors import StoppingError
from restgpt.tools.text.storable import storable_value, stored_items

Known = Literal["new", "answered", "unknown"]

NAMESPACE = ("restgpt", "journal")

TICK_S = 1e-6
"""The least time between two entries, in seconds, for clocks that stand still or are set back."""


def entry_id(request_id: str, fingerprint: str) -> str:
    """The id of a call's entry: a call that was edited in a fork after it was sent gets another entry."""
    return f"{request_id}-{fingerprint[:16]}"


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """The state of a call in the journal: new, answered, or unknown, which means that it was about to be sent.

    `tries` counts how often it was about to be sent, `earlier` is what was noted of its target before the first time.
    """

    known: Known
    outcome: dict[str, Any]
    tries: int = 0
    earlier: Any = None


class OtherJournalError(StoppingError):
    """Another version of RestGPT wrote an entry."""

    def __init__(self, thread: str) -> None:
        super().__init__(
            f"The journal of thread {thread} was written by another version of RestGPT. Undo the changes of the thread "
            "with that version. Nothing was sent."
        )


class Journal:
    """The changes of one thread, by call id and fingerprint.

    Each attempt to send a change writes an item of its own, so an attempt that was overtaken can neither replace nor
    delete what the newer one wrote. Readers get the attempts at one call as one entry. No call can be claimed once the
    claim `run` is lost.
    """

    def __init__(
        self, store: BaseStore, thread: str, *, clock: Callable[[], float] = time.time, run: Claim | None = None
    ) -> None:
        self._store = store
        self._clock = clock
        self._run = run
        self.thread = thread
        # Stores refuse some characters in a namespace, and hosts name their threads as they like.
        self._thread = sha256(thread.encode("utf-8", "surrogatepass")).hexdigest()
        self.namespace = (*NAMESPACE, self._thread)

    def claim(self, request_id: str, fingerprint: str) -> Claim:
        """Take the right to send a call from every earlier attempt at it; look the call up after that."""
        entry = entry_id(request_id, fingerprint)
        claim = take_claim(self._store, self._thread, entry, within=self._run)
        # In a database that was put together from parts, the journal may have attempts that the claims do not count.
        highest = max(self._attempts(entry), default=0) if claim.number == 1 else 0
        while claim.number <= highest:
            if claim.number == highest:
                claim.begin()
            claim = take_claim(self._store, self._thread, entry, within=self._run)
        return claim

    def run_claim(self, place: str, number: int | None = None) -> Claim:
        """Return the claim of a run of the thread: the next one, or the one of a number that was taken before.

        `place` tells the subgraphs of one thread apart.
        """
        name = f"run {place}"
        if number is None:
            return take_claim(self._store, self._thread, name)
        return Claim(claims_of(self._store), self._thread, name, number, before=0)

    def look_up(self, request_id: str, fingerprint: str, *, claim: Claim | None = None) -> JournalEntry:
        """The entry of this very call; another fingerprint under the same id counts as new.

        With the caller's claim, the attempts that did not begin to send do not count: they lost their claims to it.
        """
        if claim is not None and claim.number == 1:
            return JournalEntry("new", {})
        attempts = self._attempts(entry_id(request_id, fingerprint))
        if claim is not None:
            attempts = {number: value for number, value in attempts.items() if number <= claim.before}
        if not attempts:
            return JournalEntry("new", {})
        value = _merged(attempts)
        known: Known = "unknown" if value["outcome"] is None else "answered"
        return JournalEntry(known, value["outcome"] or {}, value["tries"], value["earlier"])

    def intend(
        self, request_id: str, fingerprint: str, shown: dict[str, Any], *, earlier: Any = None, attempt: int = 1
    ) -> None:
        """Note that a call is about to be sent: its redacted request, and its target before the change.

        `attempt` is the number of the claim. An attempt that was about to be sent before keeps what was noted of its
        target then.
        """
        entry = entry_id(request_id, fingerprint)
        before = self._get(entry, attempt)
        value = {
            "fingerprint": fingerprint,
            "request": shown,
            "begun": self._now(),
            "tries": before["tries"] + 1 if before else 1,
            "earlier": before["earlier"] if before else earlier,
            "outcome": None,
        }
        self._put(entry, attempt, value)

    def retract(self, request_id: str, fingerprint: str, *, attempt: int = 1) -> None:
        """Take back the newest intent of an attempt, because the request was certainly not sent."""
        entry = entry_id(request_id, fingerprint)
        value = self._get(entry, attempt)
        if value is not None and value["tries"] > 1:
            self._put(entry, attempt, {**value, "tries": value["tries"] - 1})
        else:
            self._store.delete(self.namespace, _key(entry, attempt))

    def conclude(self, request_id: str, fingerprint: str, outcome: dict[str, Any], *, attempt: int = 1) -> None:
        """Note the answer to an attempt, or that none came; `note` adds the reversing call later."""
        entry = entry_id(request_id, fingerprint)
        begun = self._get(entry, attempt) or {"request": {}, "begun": self._now(), "tries": 1, "earlier": None}
        self._put(entry, attempt, {**begun, "fingerprint": fingerprint, "outcome": outcome})

    def _now(self) -> float:
        """The time, but later than every entry, so that a clock that was set back does not change their order."""
        now = self._clock()
        later = stored_items(self._store, self.namespace, filter={"begun": {"$gte": now}})
        return max([now, *(float(item.value["begun"]) + TICK_S for item in later)])

    def note(self, entry: str, *, attempt: int | None = None, **facts: Any) -> None:
        """Add facts to an entry that is there, such as that it was undone; by default to the attempt that counts."""
        if attempt is None and (attempts := self._attempts(entry)):
            attempt, _ = _counting(attempts)
        if attempt is not None and (value := self._get(entry, attempt)) is not None:
            self._put(entry, attempt, {**value, **facts})

    def _attempts(self, entry: str) -> dict[int, dict[str, Any]]:
        """The attempts at a call by their numbers, the oldest first."""
        found = stored_items(self._store, self.namespace, filter={"of": entry})
        return dict(sorted((item.value["attempt"], item.value) for item in found))

    def _get(self, entry: str, attempt: int) -> dict[str, Any] | None:
        item = self._store.get(self.namespace, _key(entry, attempt))
        return item.value if item else None

    def _put(self, entry: str, attempt: int, value: dict[str, Any]) -> None:
        """Write an attempt. It is made storable first: characters that stores refuse must not lose the entry."""
        kept = storable_value({**value, "of": entry, "attempt": attempt})
        self._store.put(self.namespace, _key(entry, attempt), kept, index=False)

    def entries(self) -> list[dict[str, Any]]:
        """All changes of the thread, the oldest first, with their requests redacted; raises `OtherJournalError`."""
        attempts: dict[str, dict[int, dict[str, Any]]] = {}
        for item in stored_items(self._store, self.namespace):
            if "of" not in item.value:
                raise OtherJournalError(self.thread)
            attempts.setdefault(item.value["of"], {})[item.value["attempt"]] = item.value
        merged = [{"id": entry, **_merged(dict(sorted(found.items())))} for entry, found in attempts.items()]
        return sorted(merged, key=lambda entry: entry["begun"])

    def statuses(self, fingerprint: str, *, but: str = "") -> list[int]:
        """The statuses by which the very same request was answered in this thread, the oldest first; 0 without answer.

        `but` is the id of a call that does not count.
        """
        items = stored_items(self._store, self.namespace, filter={"fingerprint": fingerprint})
        values = sorted((item.value for item in items), key=lambda value: value["begun"])
        found = (value for value in values if value["of"] != entry_id(but, fingerprint))
        return [int(((value["outcome"] or {}).get("response") or {}).get("status", 0)) for value in found]

    def has_other(self, fingerprint: str, turn_id: str) -> bool:
        """Whether another turn of this thread has sent, or was about to send, the very same request; not if undone."""
        items = stored_items(self._store, self.namespace, filter={"fingerprint": fingerprint})
        return any(not (item.value["of"].startswith(f"{turn_id}-") or item.value.get("undone")) for item in items)

    def clear(self) -> None:
        """Delete all entries and claims of the thread."""
        for item in stored_items(self._store, self.namespace):
            self._store.delete(self.namespace, item.key)
        claims_of(self._store).clear(self._thread)


def _key(entry: str, attempt: int) -> str:
    return f"{entry}~{attempt}"


def _counting(attempts: dict[int, dict[str, Any]]) -> tuple[int, dict[str, Any]]:
    """The attempt that tells the outcome of a call: the newest with an outcome, or else the newest."""
    answered = {number: value for number, value in attempts.items() if value["outcome"] is not None}
    return max((answered or attempts).items(), key=lambda item: item[0])


def _merged(attempts: dict[int, dict[str, Any]]) -> dict[str, Any]:
    """The attempts at a call as one entry, with all tries, and with the target as it was before the first."""
    first = next(iter(attempts.values()))
    value = {name: fact for name, fact in _counting(attempts)[1].items() if name not in ("of", "attempt")}
    return {**value, "tries": sum(item["tries"] for item in attempts.values()), "earlier": first["earlier"]}


def journals(store: BaseStore) -> list[dict[str, Any]]:
    """The entries of all threads."""
    return [item.value for item in stored_items(store, NAMESPACE)]
