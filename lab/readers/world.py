"""A small stateful world that is given as data: records in collections, and routes over them.

Nothing in a world depends on clock or chance: ids are counted on, and `reset` gives the seeded records again.
"""

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

Record = dict[str, Any]
State = dict[str, dict[str, Record]]
"""The records of a world: by collection, and by id."""


@dataclass(frozen=True, slots=True)
class Call:
    """A request as a route gets it: values in the path are decoded once, repeated query values joined by commas."""

    method: str
    path: str
    query: Mapping[str, str]
    body: Any
    headers: Mapping[str, str]
    ids: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer; without a body if that is None."""

    status: int = 200
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)


class Refusal(Exception):
    """The API refuses a call; `name` is the parameter at fault, if any."""

    def __init__(self, status: int, message: str, name: str = "") -> None:
        super().__init__(message)
        self.status, self.message, self.name = status, message, name


@dataclass(frozen=True, slots=True)
class Change:
    """What became of one record: `before` is None if it was created, `after` is None if it was deleted."""

    collection: str
    key: str
    before: Record | None
    after: Record | None

    @property
    def fields(self) -> Record:
        """The fields of a new record, or those of a known one that have another value now."""
        before, after = self.before or {}, self.after or {}
        return {name: after.get(name) for name in {*before, *after} if before.get(name) != after.get(name)}


Route = Callable[["World", Call], Reply]


@dataclass(slots=True)
class World:
    """Seeded records, the routes by `METHOD /template`, the API's form of an error, and what was asked."""

    seed: State
    routes: Mapping[str, Route]
    error: Callable[[Refusal], Any]
    prefix: str
    first_id: int
    state: State = field(init=False)
    log: list[Record] = field(init=False)
    next_id: int = field(init=False)

    def __post_init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Give the seeded records again, and forget the calls."""
        self.state, self.log, self.next_id = copy.deepcopy(self.seed), [], self.first_id

    def get(self, collection: str, key: str) -> Record:
        """Return a record; raises `Refusal` with 404."""
        found = self.state[collection].get(key)
        if found is None:
            raise Refusal(404, f"{collection.removesuffix('s').replace('_', ' ')} {key} not found")
        return found

    def add(self, collection: str, record: Record, name: str = "id", *, text: bool = False) -> Record:
        """Keep a new record under the next id, which stands in the field `name`, as a text where the API has those."""
        key, self.next_id = self.next_id, self.next_id + 1
        self.state[collection][str(key)] = {name: str(key) if text else key} | record
        return self.state[collection][str(key)]

    def rows(self, collection: str, **wanted: Any) -> list[Record]:
        """Return the records of a collection whose fields have these values."""
        every = self.state[collection].values()
        return [one for one in every if all(one.get(name) == value for name, value in wanted.items())]

    def changes(self) -> list[Change]:
        """Everything that is not as it was seeded."""
        found = []
        for name in self.seed:
            before, after = self.seed[name], self.state[name]
            for key in {**before, **after}:
                if before.get(key) != after.get(key):
                    found.append(Change(name, key, before.get(key), after.get(key)))
        return found

    def answer(self, method: str, target: str, body: Any, headers: Mapping[str, str]) -> Reply:
        """Answer one request and log it."""
        parts = urlsplit(target)
        query = {name: ",".join(values) for name, values in parse_qs(parts.query, keep_blank_values=True).items()}
        try:
            route, ids = self._route(method, parts.path)
            reply = route(self, Call(method, parts.path, query, body, headers, ids))
        except Refusal as refusal:
            reply = Reply(refusal.status, self.error(refusal))
        except (AttributeError, KeyError, TypeError) as error:
            # A body of another form than the route expects.
            reply = Reply(400, self.error(Refusal(400, f"Malformed request: {error!r}")))
        entry = {"method": method, "path": parts.path, "query": query, "body": body, "status": reply.status}
        self.log.append(entry)
        return reply

    def _route(self, method: str, path: str) -> tuple[Route, dict[str, str]]:
        if not path.startswith(f"{self.prefix}/"):
            raise Refusal(404, f"{path} not found")
        given = path.removeprefix(self.prefix).rstrip("/").split("/")
        others = False
        # A fixed path goes before one with a value in its place.
        for key in sorted(self.routes, key=lambda key: key.count("{")):
            verb, _, template = key.partition(" ")
            ids = _match(template.split("/"), given)
            if ids is not None and verb == method:
                return self.routes[key], ids
            others |= ids is not None
        raise Refusal(405, "method not allowed") if others else Refusal(404, f"{path} not found")


def _match(template: list[str], given: list[str]) -> dict[str, str] | None:
    if len(template) != len(given):
        return None
    ids = {}
    for wanted, value in zip(template, given, strict=True):
        if wanted.startswith("{") and value:
            ids[wanted[1:-1]] = unquote(value)
        elif wanted != value:
            return None
    return ids
