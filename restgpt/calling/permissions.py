"""Permissions: what a person allowed or refused beyond one call, as records in one table of the store.

A permission covers an operation, which a person confirmed as a read, the flow of values from one API to another in a
run, or further changes that look like one (`restgpt.calling.scope`). Only a person's decision at a pause, or a command,
writes one; no model can. `restgpt memory` lists them all and takes them back.
"""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Literal

from langgraph.store.base import BaseStore

from restgpt.calling.scope import Scope, is_within, scope_lines
from restgpt.specs import Operation, SpecError
from restgpt.tools.text.storable import delete_items, storable_value, stored_items

NAMESPACE = ("restgpt", "permissions")

LAYOUT = 1
"""A part of the key of a read: raise it when what proposes reads changes so much that people must be asked again."""

USES = ("restgpt", "permitted")
"""The namespace of the uses of permissions for changes, by permission."""

FLOW_S = 3600.0
"""How long a permission for a flow holds at most, in seconds: a conversation with tools may never end."""


@dataclass(frozen=True, slots=True)
class Permission:
    """One decision: what it covers, what the person saw, by which call it was given, and when it begins and ends.

    A "read" covers an operation (`name`, `operation` with method and path) of an API at `base_url`, until the
    operation's part of the document changes. A "flow" covers the values of the API `source` that go to `api`, until the
    run ends, or `until` (seconds since 1970). A "change" covers further changes in the `scope` of an operation, `times`
    of them, until `until` or until the operation's part of the document changes; in a list `used` says how many went
    out. `user` is whose it is, empty today.
    """

    key: str
    kind: Literal["read", "flow", "change"]
    api: str
    at: float
    is_granted: bool = True
    base_url: str = ""
    name: str = ""
    operation: str = ""
    source: str = ""
    reason: str = ""
    call: str = ""
    until: float | None = None
    subject: str = ""
    scope: Scope = field(default_factory=dict)
    times: int = 0
    used: int = 0
    user: str = ""

    def __str__(self) -> str:
        if self.kind == "change":
            ends = "" if self.until is None else f", until {datetime.fromtimestamp(self.until, UTC):%Y-%m-%d %H:%M} UTC"
            used = f", {self.used} of them used" if self.used else ""
            head = f"{self.api} ({self.base_url}): {self.name}, {self.operation}, unasked"
            lines = [f"  {line}" for line in scope_lines(self.scope).values()]
            return "\n".join([f"{head} {self.times} times{used}{ends}, with", *lines])
        if self.kind == "read":
            return f"{self.api} ({self.base_url}): {self.name}, {self.operation}, only reads: {self.reason}"
        answer = "may" if self.is_granted else "must not"
        return f"values of {self.source} {answer} go to {self.api}: {self.reason}"

    def to_json(self) -> dict[str, Any]:
        """Return the permission for documents, without its key."""
        return {name: value for name, value in asdict(self).items() if name != "key" and value not in UNSET}


UNSET: tuple[Any, ...] = ("", None, 0, {})
"""What documents leave out of a permission."""


class Permissions:
    """The permissions in a store; without a store there are none, and none is kept."""

    def __init__(self, store: BaseStore | None = None, *, clock: Callable[[], float] = time.time) -> None:
        self._store = store
        self._clock = clock

    def reads(self, operation: Operation) -> bool:
        """Return whether a person confirmed that an operation only reads."""
        return self._get(key_of(operation)) is not None

    def confirm_read(self, operation: Operation, reason: str) -> None:
        """Keep that an operation only reads; RestGPT asks again about one whose part of the document has changed."""
        self._keep(Permission(key_of(operation), "read", at=self._clock(), reason=reason, **about(operation)))

    def flow(self, run: str, source: str, to: str) -> bool | None:
        """Return whether a person let values of one API go to another in a run, by their ids; None if nobody said."""
        kept = self._get(_flow_key(run, source, to))
        return None if kept is None else kept.is_granted

    def answer_flow(
        self, run: str, sources: Mapping[str, str], to: tuple[str, str], is_granted: bool | None, *, call: str
    ) -> None:
        """Keep what a person answered to a call that sends values of `sources`; APIs are ids with their names.

        None says that the answer was about the call alone; what an earlier answer to the same call said ends then.
        """
        now, (target, name) = self._clock(), to
        for source, title in sources.items():
            key = _flow_key(run, source, target)
            if is_granted is not None:
                reason = f"a person {'allowed' if is_granted else 'refused'} it for the rest of a run"
                given = Permission(
                    key, "flow", name, now, is_granted, source=title, reason=reason, call=call, until=now + FLOW_S
                )
                self._keep(given)
            elif (kept := self._get(key)) and kept.call == call:
                self.revoke(kept)

    def for_changes(
        self, operation: Operation, scope: Scope, *, times: int, hours: float, call: str = ""
    ) -> Permission:
        """Make a permission for further changes in a scope, for `permit` to keep."""
        subject, now = key_of(operation), self._clock()
        return Permission(
            _digest("change", subject, scope, now, call),
            "change",
            at=now,
            call=call,
            until=now + hours * 3600,
            subject=subject,
            scope=scope,
            times=times,
            **about(operation),
        )

    def permit(self, given: Permission) -> None:
        """Keep a permission for changes, in place of the wider ones that it narrows."""
        for wide in self.narrowed(given):
            self.revoke(wide)
        self._keep(given)

    def narrowed(self, given: Permission) -> list[Permission]:
        """Return the permissions for the same operation that leave at least as much open as another one."""
        return [wide for wide in self._changes(given.subject) if is_within(given.scope, wide.scope)]

    def covering(self, operation: Operation, fits: Callable[[Scope], bool]) -> list[Permission]:
        """Return the permissions for changes of an operation, as it is now, whose scope fits; the oldest first."""
        return [item for item in self._changes(key_of(operation)) if fits(item.scope)]

    def take(self, permission: Permission, use: str) -> bool:
        """Count a use of a permission, once for each id of a use; return whether it still allowed that use.

        Of several processes that want the last use at the same moment none may get it, and never more than are left.
        """
        uses = (*USES, permission.key)
        if self._store is None or self._get(permission.key) is None:
            return False
        if self._store.get(uses, use):
            return True
        if self._used(permission.key) >= permission.times:
            return False
        self._store.put(uses, use, {"at": self._clock()}, index=False)
        if self._used(permission.key) <= permission.times and self._get(permission.key):
            return True
        self._store.delete(uses, use)
        return False

    def _changes(self, subject: str) -> list[Permission]:
        items = stored_items(self._store, NAMESPACE, filter={"subject": subject}) if self._store is not None else ()
        found = (Permission(key=item.key, **item.value) for item in items)
        held = (item for item in found if item.kind == "change" and not self._has_ended(item))
        return sorted(held, key=lambda item: item.at)

    def listed(self) -> list[Permission]:
        """Return all permissions that hold, by API and operation; delete those that have ended."""
        items = stored_items(self._store, NAMESPACE) if self._store is not None else ()
        every = [Permission(key=item.key, **item.value) for item in items]
        for ended in filter(self._has_ended, every):
            self.revoke(ended)
        held = [replace(item, used=self._used(item.key)) for item in every if not self._has_ended(item)]
        return sorted(held, key=lambda item: (item.api, item.base_url, item.operation, item.source, item.at))

    def revoke(self, permission: Permission) -> None:
        """Delete a permission, so that a person is asked again."""
        if self._store is not None:
            self._store.delete(NAMESPACE, permission.key)
            delete_items(self._store, (*USES, permission.key))

    def _used(self, key: str) -> int:
        return 0 if self._store is None else len(stored_items(self._store, (*USES, key)))

    def _get(self, key: str) -> Permission | None:
        item = None if self._store is None else self._store.get(NAMESPACE, key)
        kept = None if item is None else Permission(key=key, **item.value)
        return None if kept is None or self._has_ended(kept) else kept

    def _has_ended(self, permission: Permission) -> bool:
        return permission.until is not None and permission.until <= self._clock()

    def _keep(self, permission: Permission) -> None:
        if self._store is not None:
            value = {name: value for name, value in asdict(permission).items() if name != "key"}
            self._store.put(NAMESPACE, permission.key, storable_value(value), index=False)


def key_of(operation: Operation) -> str:
    """Return a digest of the operation's own part of the document, and of where its API was loaded from and is.

    The entry of `apis.yaml` is a part only if there is one, so other documents keep their permissions.
    """
    parts = [LAYOUT, operation.api.source, base_url_of(operation), operation.method, operation.path, operation.digest]
    if operation.api.entry is not None:
        parts.append(operation.api.identity)
    return _digest(*parts)


def _flow_key(run: str, source: str, to: str) -> str:
    return _digest("flow", run, source, to)


def _digest(*parts: Any) -> str:
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
