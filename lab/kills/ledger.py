"""The changes that a world carried out and the state that they led to, independent of their order and of new ids."""

import json
import re
from collections import Counter
from dataclasses import dataclass
from functools import cache
from typing import Any

from restgpt_bench.worlds import World, open_world

_STAMP = re.compile(r"Made \S+ lot \d+")


@dataclass(frozen=True, slots=True)
class Ledger:
    """The changes, each as text with its number, and the state as text. Equal outcomes have equal ledgers."""

    changes: Counter[str]
    state: str

    def lost(self, wanted: "Ledger") -> list[str]:
        """Return the changes that are missing."""
        return list((wanted.changes - self.changes).elements())

    def doubled(self, wanted: "Ledger") -> list[str]:
        """Return the changes that are there too often."""
        return list((self.changes - wanted.changes).elements())


def ledger(world: World[Any]) -> Ledger:
    """Return the ledger of a world since its last reset."""
    state = world.snapshot()["state"]
    labels = {key: name for key, name in _names(state).items() if key not in _known(world.name)}
    changes = Counter(
        _text([entry.operation, entry.arguments, entry.query, entry.body], labels)
        for entry in world.log
        if entry.ok and entry.method != "GET"
    )
    return Ledger(changes, _text(state, labels))


def changes_of(world: World[Any]) -> list[str]:
    """Return the changes that a world carried out since its last reset, in order."""
    return [
        f"{entry.method} {entry.path} {json.dumps(entry.query)} {json.dumps(entry.body)}"
        for entry in world.log
        if entry.ok and entry.method != "GET"
    ]


@cache
def _known(name: str) -> frozenset[Any]:
    """Return the ids that a world has at its start."""
    return frozenset(_names(open_world(name).snapshot()["state"]))


def _names(state: Any) -> dict[Any, str]:
    """Return the names of the things that can be made, by id."""
    found: dict[Any, str] = {}
    for kind in ("playlists", "projects", "tasks"):
        things = state.get(kind, [])
        for item in things.values() if isinstance(things, dict) else things:
            name = f"new {item.get('name') or item.get('title')}"
            found |= {item["id"]: name, str(item["id"]): name}
    return found


def _text(value: Any, labels: dict[Any, str]) -> str:
    """Return a JSON value as text, with names in place of new ids, lists sorted and stamps removed."""
    return json.dumps(_plain(value, labels), sort_keys=True, ensure_ascii=False)


def unstamped(text: str) -> str:
    """Return a text without the parts that differ from run to run of a job."""
    return _STAMP.sub("Made", text)


def _plain(value: Any, labels: dict[Any, str]) -> Any:
    if isinstance(value, dict):
        return {labels.get(key, key): _plain(item, labels) for key, item in value.items()}
    if isinstance(value, list):
        return sorted((_plain(item, labels) for item in value), key=lambda item: json.dumps(item, sort_keys=True))
    if isinstance(value, str):
        # Before lists are sorted, or the order of their items would depend on the stamps.
        return unstamped(labels.get(value, value))
    return labels.get(value, value) if isinstance(value, int) and not isinstance(value, bool) else value
