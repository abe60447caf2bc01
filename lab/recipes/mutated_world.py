"""A world whose API was changed by a mutation: the same state and handlers behind another surface."""

import json
import re
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote, unquote

from lab.recipes.mutation import Mutation
from restgpt_bench.worlds import World
from restgpt_bench.worlds.exchange import RefusalError, Reply, Request
from restgpt_bench.worlds.routing import Router


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request that the mutated API answered, by its operation in the world, and what the world itself replied.

    `changes` is how many changes the world had carried out when the client saw the reply.
    """

    operation: str
    request: Request
    reply: Reply
    changes: int
    is_mutated: bool

    @property
    def body(self) -> dict[str, Any]:
        """The body of the request, if it is a JSON object."""
        try:
            body = json.loads(self.request.body or b"{}")
        except ValueError:
            return {}
        return body if isinstance(body, dict) else {}


class MutatedWorld:
    """Serves a world as a mutation says; without one, as it is. The rest, such as the log, is the world's."""

    def __init__(self, world: World[Any]) -> None:
        self.world = world
        self.mutation: Mutation | None = None
        self.exchanges: list[Exchange] = []
        self._router = Router(world.api.operations)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.world, name)

    def reset(self, fixture: str | None = None, *, mutation: Mutation | None = None) -> None:
        """Go back to the start, and serve the world as a mutation says."""
        self.world.reset(fixture)
        self.mutation = mutation
        self.exchanges = []

    def handle(self, request: Request) -> Reply:
        """Answer a request of the mutated API."""
        operation, reply = "", Reply()
        try:
            request = self._translated(request)
            operation = self._operation(request)
            reply = self.world.handle(self._accepted(request, operation))
        except RefusalError as refusal:
            reply = Reply(refusal.status, self.world.error(refusal), refusal.headers)
        is_mutated = self.mutation is not None and self.mutation.operation == operation
        shown = self.mutation.outgoing(reply) if self.mutation and is_mutated and reply.ok else reply
        changes = sum(entry.ok and entry.method != "GET" for entry in self.world.log)
        self.exchanges.append(Exchange(operation, request, reply, changes, is_mutated))
        return shown

    def _translated(self, request: Request) -> Request:
        """Return the request as the world knows it: an operation that has moved is found at its new place only."""
        if not self.mutation or not self.mutation.moved:
            return request
        method, template = self.mutation.operation.split(" ", 1)
        new_method, new_template = self.mutation.moved.split(" ", 1)
        path = request.path.removeprefix(self.base_path)
        found = re.fullmatch(re.sub(r"\\\{[^/]*?\\\}", "([^/]+)", re.escape(new_template)), path)
        if request.method == new_method and found:
            values = iter(found.groups())
            old = re.sub(r"\{[^/]*?\}", lambda name: quote(unquote(next(values)), safe=""), template)
            return replace(request, method=method, path=self.base_path + old)
        if self._operation(request) == self.mutation.operation:
            raise RefusalError(404, "The resource you requested could not be found.")
        return request

    def _operation(self, request: Request) -> str:
        try:
            return self._router.find(request.method, request.path.removeprefix(self.base_path))[0].key
        except RefusalError:
            return ""

    def _accepted(self, request: Request, operation: str) -> Request:
        if self.mutation is None or self.mutation.operation != operation:
            return request
        if self.mutation.is_gone:
            raise RefusalError(404, "The resource you requested could not be found.")
        return self.mutation.incoming(request)
