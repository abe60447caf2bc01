"""The state of a server as plain JSON by resource, and the effects that requests would have on it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

State = dict[str, Any]
"""The content of each resource by its key, which looks like a path."""

NEW = "*"
"""The last part of the key of a resource whose name the server chooses."""


@dataclass(frozen=True, slots=True)
class Effect:
    """The effect of a request on one resource: the fields that it sets, or None if it removes the resource.

    The key of a resource whose name the server will choose ends in `*`.
    """

    key: str
    fields: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class Sent:
    """A request that waits for approval: the path is relative to the base URL, and the URL has the query too."""

    method: str
    path: str
    url: str
    body: Any = None


def is_wanted(effect: Effect, before: State, expected: State) -> bool:
    """Return whether an effect is a part of the way from one state to another."""
    if effect.fields is None:
        return effect.key in before and effect.key not in expected
    if effect.key in expected and not effect.key.endswith(f"/{NEW}"):
        return expected[effect.key] != before.get(effect.key) and fits(effect.fields, expected[effect.key])
    parent = effect.key.rpartition("/")[0]
    new = (key for key in expected if key not in before and key.rpartition("/")[0] == parent)
    return any(_admits(key, effect.key) and fits(effect.fields, expected[key]) for key in new)


def _admits(expected: str, key: str) -> bool:
    """Whether a new resource of this key can be the expected one: at least one of the names is the server's choice."""
    names = (expected.rpartition("/")[2], key.rpartition("/")[2])
    return any(name.startswith(NEW) for name in names)


def fits(fields: Any, content: Any) -> bool:
    """Return whether some fields are those of a resource, which may have more of them."""
    if isinstance(fields, Mapping):
        return isinstance(content, Mapping) and all(
            name in content and fits(value, content[name]) for name, value in fields.items()
        )
    return bool(fields == content)


def differences(expected: State, after: State) -> list[str]:
    """Return a line for each resource that is not as expected; resources with chosen names are paired by content."""
    chosen = {key: content for key, content in expected.items() if key.rpartition("/")[2].startswith(NEW)}
    named = {key: content for key, content in expected.items() if key not in chosen}
    extra = {key: content for key, content in after.items() if key not in named}
    lines = list(_unpaired(chosen, extra))
    lines += [f"{key} is missing" for key in named if key not in after]
    lines += [f"{key} should not be there" for key in extra]
    lines += [f"{key} is {after[key]}" for key in named if key in after and after[key] != named[key]]
    return lines


def _unpaired(chosen: Mapping[str, Any], extra: dict[str, Any]) -> Iterator[str]:
    """Take from `extra` a resource for each expected one; yield a line for each that has none."""
    for key, content in chosen.items():
        parent = key.rpartition("/")[0]
        pair = next(
            (name for name, found in extra.items() if name.rpartition("/")[0] == parent and found == content), None
        )
        if pair is None:
            yield f"{key} is missing"
        else:
            del extra[pair]
