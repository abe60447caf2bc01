"""Mutations of answers, by rule: a server that replies otherwise than when a recipe was saved, or has other data."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lab.recipes.written import Written
from restgpt_bench.worlds.exchange import Json, Reply

Holder = dict[str, Any]
Answers = Mapping[str, Sequence[Reply]]
"""The good replies of a first run, by operation as "METHOD /template"."""


@dataclass(frozen=True, slots=True)
class Mutation:
    """A change of the replies of one operation.

    Mutations of one `group` differ in an order that says nothing: if one of them does harm, all of them do.
    """

    kind: str
    recipe: str
    operation: str
    at: str
    outgoing: Callable[[Reply], Reply]
    group: str = ""

    def __str__(self) -> str:
        return f"{self.recipe}: {self.kind}, {self.operation}{f' at {self.at}' if self.at else ''}"


@dataclass(frozen=True, slots=True)
class Chosen:
    """A list of which the program takes the item with a name; `others` are items that do not have it."""

    pattern: str
    name: str
    items: Sequence[Holder]
    others: Sequence[Holder]


def mutations(written: Written, answers: Answers, chosen: Mapping[str, Chosen]) -> Iterator[Mutation]:
    """Yield the mutations that the answers of a first run have room for; `chosen` are its lists, by operation."""
    for operation, replies in answers.items():
        bodies = [reply.body for reply in replies]
        for pattern, value in dict(pair for body in reversed(bodies) for pair in fields(body)).items():
            for kind, change in _field_changes(value).items():
                yield Mutation(kind, written.name, operation, pattern, _on_field(pattern, change))
        for kind, outgoing in _whole_changes(replies[0]).items():
            yield Mutation(kind, written.name, operation, "", outgoing)
    for operation, found in chosen.items():
        for kind, items in _item_changes(found).items():
            group = f"{written.name} {operation}" if kind.startswith("two found") else ""
            yield Mutation(kind, written.name, operation, found.pattern, _on_items(found.pattern, items), group)


def _field_changes(value: Json) -> dict[str, Callable[[Holder, str], None]]:
    def rename(holder: Holder, name: str) -> None:
        holder[f"{name}_new"] = holder.pop(name)

    def remove(holder: Holder, name: str) -> None:
        del holder[name]

    def deepen(holder: Holder, name: str) -> None:
        holder["details"] = {**holder.get("details", {}), name: holder.pop(name)}

    def empty(holder: Holder, name: str) -> None:
        holder[name] = None

    def retype(holder: Holder, name: str) -> None:
        given = holder[name]
        holder[name] = str(given) if isinstance(given, bool | int | float) else [given]

    found: dict[str, Callable[[Holder, str], None]] = {
        **{"field renamed": rename, "field removed": remove, "field moved deeper": deepen, "field null": empty},
        **({} if value is None else {"field of another type": retype}),
    }
    return found


def _whole_changes(reply: Reply) -> dict[str, Callable[[Reply], Reply]]:
    def on_body(change: Callable[[Json], Json]) -> Callable[[Reply], Reply]:
        return lambda reply: replace(reply, body=change(_copy(reply.body)))

    found: dict[str, Callable[[Reply], Reply]] = {
        "other headers": lambda reply: replace(reply, headers={**reply.headers, "X-Served-By": "east-7"}),
        "another success status": lambda reply: replace(reply, status=200 if reply.status == 202 else 202),
        "status 404": lambda reply: Reply(404, {"message": "The resource you requested could not be found."}),
    }
    if not isinstance(reply.body, dict):
        return found
    return {
        **found,
        "answer without content": lambda reply: Reply(204),
        "new field": on_body(lambda body: {**body, "revision": 7}),
        "wrapped in an envelope": on_body(lambda body: {"data": body}),
        "one-item list instead of object": on_body(lambda body: [body]),
    }


def _item_changes(chosen: Chosen) -> dict[str, list[Holder]]:
    """Return other contents of the list; where two items have the name, their order says nothing."""
    items = list(chosen.items)
    named = next(item for item in items if is_named(item, chosen.name))
    found = {"nothing found": [], "reordered": items[::-1]}
    if not chosen.others:
        return found
    other = dict(chosen.others[0])
    twin = {**other, **{key: value for key, value in named.items() if is_named({key: value}, chosen.name)}}
    return {
        **found,
        "another found": [other],
        "another first": [other, *(item for item in items if item != other)],
        "more behind": [*items, other] if other not in items else items,
        "two found, the other first": [twin, *items],
        "two found, the other last": [*items, twin],
    }


def chosen_in(body: Json, name: str) -> tuple[str, list[Holder]] | None:
    """Return the list in an answer that has an item with a name, and its pattern."""
    for pattern, value in fields({"": body} if isinstance(body, list) else body):
        if isinstance(value, list) and any(isinstance(item, dict) and is_named(item, name) for item in value):
            return pattern, value
    return None


def is_named(item: Mapping[str, Any], name: str) -> bool:
    """Return whether a text of an item has a name in it, in any case."""
    return any(isinstance(value, str) and name.casefold() in value.casefold() for value in item.values())


def fields(value: Json, above: tuple[str, ...] = ()) -> Iterator[tuple[str, Json]]:
    """Yield the pattern of each field of the objects in a value, with `*` for each item, and a value of the field."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield "/".join(("", *above, name)), item
            yield from fields(item, (*above, name))
    elif isinstance(value, list):
        for item in value:
            yield from fields(item, (*above, "*"))


def holders(value: Json, pattern: str) -> Iterator[tuple[Holder, str]]:
    """Yield each object that has the field of a pattern, with the field's name."""
    first, _, rest = pattern.removeprefix("/").partition("/")
    if first == "*":
        for item in value if isinstance(value, list) else ():
            yield from holders(item, rest)
    elif isinstance(value, dict) and first in value:
        if rest:
            yield from holders(value[first], rest)
        else:
            yield value, first


def _on_field(pattern: str, change: Callable[[Holder, str], None]) -> Callable[[Reply], Reply]:
    def outgoing(reply: Reply) -> Reply:
        body = _copy(reply.body)
        for holder, name in list(holders(body, pattern)):
            change(holder, name)
        return replace(reply, body=body)

    return outgoing


def _on_items(pattern: str, items: Sequence[Holder]) -> Callable[[Reply], Reply]:
    def outgoing(reply: Reply) -> Reply:
        whole = {"": _copy(reply.body)} if pattern == "/" else _copy(reply.body)
        for holder, name in list(holders(whole, pattern)):
            holder[name] = list(items)
        return replace(reply, body=whole[""] if pattern == "/" else whole)

    return outgoing


def _copy(value: Json) -> Json:
    return json.loads(json.dumps(value))
