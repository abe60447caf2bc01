"""The request log of a world, which the judge reads instead of the agent's own account."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, overload

from restgpt.specs.problem import is_success


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One request as it arrived and the status it got; credentials are left out.

    `template` is the path of the document that matched (None: no such path), `path` the path below the base,
    `arguments` the path arguments, `query` the decoded query (a list where a name came more than once).
    """

    number: int
    method: str
    template: str | None
    path: str
    arguments: dict[str, Any]
    query: dict[str, Any]
    body: Any
    status: int
    fault: str | None = None

    @property
    def operation(self) -> str:
        """The request as "METHOD /template", or with the path as sent where no template matched."""
        return f"{self.method} {self.template or self.path}"

    @property
    def ok(self) -> bool:
        """Whether the request was fulfilled."""
        return is_success(self.status)

    def to_json(self) -> dict[str, Any]:
        """The entry as a JSON object."""
        return asdict(self)


class RequestLog(Sequence[LogEntry]):
    """All requests since the last reset, oldest first; append-only."""

    def __init__(self) -> None:
        self._entries: list[LogEntry] = []

    @overload
    def __getitem__(self, index: int) -> LogEntry: ...

    @overload
    def __getitem__(self, index: slice) -> list[LogEntry]: ...

    def __getitem__(self, index: int | slice) -> LogEntry | list[LogEntry]:
        return self._entries[index]

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[LogEntry]:
        return iter(self._entries)

    def append(self, entry: LogEntry) -> None:
        """Add the newest request."""
        self._entries.append(entry)

    def clear(self) -> None:
        """Forget all requests."""
        self._entries.clear()

    def operations(self) -> list[str]:
        """The fulfilled requests as "METHOD /template", in order."""
        return [entry.operation for entry in self._entries if entry.ok]

    def to_json(self) -> list[dict[str, Any]]:
        """The log as a JSON array."""
        return [entry.to_json() for entry in self._entries]
