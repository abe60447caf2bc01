"""Mutations of answers, by rule: a server that replies otherwise than its document says, or has other data."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from lab.recipes.case import Case, Chosen, is_named
from lab.recipes.document_mutations import remove, rename, replying, retype, retyped
from lab.recipes.mutation import Mutation
from lab.recipes.pointer import holders, joined, split
from restgpt_bench.worlds.exchange import Json, Reply

PAGING = frozenset({"page", "pages", "total", "total_pages", "total_results", "next", "limit", "offset", "cursors"})
"""Names of fields by which lists are paged; other values in them are other pages."""

Items = list[dict[str, Any]]


def answer_mutations(case: Case, donors: Mapping[str, Sequence[Mapping[str, Any]]]) -> Iterator[Mutation]:
    """Yield all mutations of answers that a case has room for; `donors` are other items of lists, by operation."""
    for operation in case.used:
        for pattern, value in case.answered(operation).items():
            yield from _field_mutations(case, operation, pattern, value)
        yield from _whole_mutations(case, operation)
    for chosen in case.chosen():
        yield from _list_mutations(case, chosen, donors.get(chosen.operation, []))


def _mutation(
    case: Case, kind: str, operation: str, at: str, outgoing: Callable[[Reply], Reply], group: str = ""
) -> Mutation:
    return Mutation(kind, "answers", case.written.name, operation, at, outgoing=outgoing, group=group)


def _field_mutations(case: Case, operation: str, pattern: str, value: Json) -> Iterator[Mutation]:
    name = split(pattern)[-1]

    def deepen(holder: dict[str, Any], name: str) -> None:
        holder["details"] = {**holder.get("details", {}), name: holder.pop(name)}

    def empty(holder: dict[str, Any], name: str) -> None:
        holder[name] = None

    changes = {"field renamed": rename, "field removed": remove, "field moved deeper": deepen, "field null": empty}
    for kind, change in changes.items():
        yield _mutation(case, kind, operation, pattern, replying(pattern, change))
    if made := retyped(value):
        yield _mutation(case, "field of another type", operation, pattern, replying(pattern, partial(retype, made[1])))
    if isinstance(value, str | int | float) and name not in PAGING and not case.mentions(name):

        def other(holder: dict[str, Any], name: str) -> None:
            given = holder[name]
            if isinstance(given, bool):
                holder[name] = not given
            elif isinstance(given, str):
                holder[name] = f"{given} or other"
            elif isinstance(given, int | float):
                holder[name] = given + 1

        yield _mutation(case, "other value not read", operation, pattern, replying(pattern, other))


def _whole_mutations(case: Case, operation: str) -> Iterator[Mutation]:
    bodies = [item.reply.body for item in case.exchanges if item.operation == operation and item.reply.ok]
    status = next(item.reply.status for item in case.exchanges if item.operation == operation and item.reply.ok)

    def headers(reply: Reply) -> Reply:
        return replace(reply, headers={**reply.headers, "X-Served-By": "east-7", "ETag": '"77"'})

    def other_status(reply: Reply) -> Reply:
        return replace(reply, status=202 if status != 202 else 200)

    def failed(reply: Reply) -> Reply:
        return Reply(404, {"message": "The resource you requested could not be found."})

    def nothing(reply: Reply) -> Reply:
        return Reply(204)

    yield _mutation(case, "other headers", operation, "", headers)
    yield _mutation(case, "another success status", operation, "", other_status)
    yield _mutation(case, "status 404", operation, "", failed)
    if not any(isinstance(body, dict) for body in bodies):
        return
    yield _mutation(case, "answer without content", operation, "", nothing)
    yield _mutation(case, "other order of keys", operation, "", _on_body(_turned))
    yield _mutation(case, "new field", operation, "", _on_body(_extended))
    yield _mutation(case, "wrapped in an envelope", operation, "", _on_body(lambda body: {"data": body}))
    yield _mutation(case, "one-item list instead of object", operation, "", _on_body(lambda body: [body]))
    lists = [key for body in bodies for key, value in body.items() if isinstance(value, list)]
    for name in dict.fromkeys(lists):

        def bare(body: Json, name: str = name) -> Json:
            return body.get(name, body)

        def other(body: Json, name: str = name) -> Json:
            return {("data" if key == name else key): value for key, value in body.items()}

        yield _mutation(case, "list without its envelope", operation, joined(name), _on_body(bare))
        yield _mutation(case, "another envelope", operation, joined(name), _on_body(other))


def _on_body(change: Callable[[Json], Json]) -> Callable[[Reply], Reply]:
    def outgoing(reply: Reply) -> Reply:
        if not isinstance(reply.body, dict):
            return reply
        return replace(reply, body=change(json.loads(json.dumps(reply.body))))

    return outgoing


def _turned(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _turned(item) for key, item in reversed(value.items())}
    return [_turned(item) for item in value] if isinstance(value, list) else value


def _extended(value: Json) -> Json:
    if isinstance(value, dict):
        return {**{key: _extended(item) for key, item in value.items()}, "revision": 7}
    return [_extended(item) for item in value] if isinstance(value, list) else value


def _list_mutations(case: Case, chosen: Chosen, donors: Sequence[Mapping[str, Any]]) -> Iterator[Mutation]:
    """Yield other contents of the list of which the program takes one named item.

    Where two items have the name, their order says nothing.
    """
    named = chosen.items[chosen.index]
    others = [item for item in [*chosen.items, *donors] if not is_named(item, chosen.name)]

    def listed(kind: str, change: Callable[[Items], Items], group: str = "") -> Mutation:
        at = chosen.pattern
        made = _mutation(case, kind, chosen.operation, at, _with_items(at, change), f"{group}{at}" if group else "")
        return replace(made, thing=chosen.name)

    yield listed("nothing found", lambda items: [])
    if len(chosen.items) > 1:
        yield listed("reordered", lambda items: items[::-1])
    if not others:
        return
    other = dict(others[0])
    twin = {**other, **{key: value for key, value in named.items() if _has_name(value, chosen.name)}}
    yield listed("another found", lambda items: [other])
    yield listed("another first", lambda items: [other, *[item for item in items if item != other]])
    yield listed("more behind", lambda items: [*items, other] if other not in items else items)
    group = f"{case.written.name} {chosen.operation} "
    yield listed("two found, the other first", lambda items: [twin, *items], group)
    yield listed("two found, the other last", lambda items: [*items, twin], group)


def _has_name(value: Any, name: str) -> bool:
    return isinstance(value, str) and name.casefold() in value.casefold()


def _with_items(pattern: str, change: Callable[[Items], Items]) -> Callable[[Reply], Reply]:
    """Return what changes the list at a pattern, and the number of its items beside it."""

    def outgoing(reply: Reply) -> Reply:
        body = json.loads(json.dumps(reply.body))
        for holder, name in list(holders(body, pattern)):
            before = len(holder[name])
            holder[name] = change(holder[name])
            for key in ("total", "total_results"):
                if isinstance(holder.get(key), int):
                    holder[key] += len(holder[name]) - before
        return replace(reply, body=body)

    return outgoing
