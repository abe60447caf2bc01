"""One request to a simulated API and its reply, apart from any socket."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from restgpt.specs.problem import is_success
from restgpt_bench.worlds.faults import Fault

Json: TypeAlias = Any


@dataclass(frozen=True, slots=True)
class Request:
    """A request as it arrived: `path` percent-encoded with the base path, `query` undecoded, `body` as bytes.

    `begun` is the time by `time.perf_counter` at which its first byte arrived; None outside of a server.
    """

    method: str
    path: str
    query: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    begun: float | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Reply:
    """A response: `body` is JSON-able, or bytes sent as they are, or None for no content."""

    status: int = 200
    body: Json = None
    headers: Mapping[str, str] = field(default_factory=dict)
    media_type: str = "application/json"
    fault: Fault | None = None

    @property
    def content(self) -> bytes:
        """The body as it is sent."""
        if self.body is None:
            return b""
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body, ensure_ascii=False).encode()

    @property
    def ok(self) -> bool:
        """Whether the request was fulfilled."""
        return is_success(self.status)


@dataclass(frozen=True, slots=True)
class Call:
    """A routed request with its arguments decoded by the parameter schemas of the document."""

    operation: str
    path: Mapping[str, Any]
    query: Mapping[str, Any]
    headers: Mapping[str, str]
    body: Json
    url: str


class RefusalError(Exception):
    """The simulated API refuses a request; the world writes the error in the API's own style.

    `details` are further lines for styles that list several errors; `headers` go out with the reply.
    """

    def __init__(
        self, status: int, message: str, *, details: tuple[str, ...] = (), headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.details = details
        self.headers: Mapping[str, str] = headers or {}
