"""The interface of sandbox backends, and the error if no secure backend exists."""

from typing import Protocol

from restgpt.tools.errors import RestgptError
from restgpt.tools.sandbox.result import Limits, Media, SandboxResult


class SandboxUnavailableError(RestgptError):
    """No backend can run generated code securely here; the message has the reason, or the extra to install."""


class SandboxBackend(Protocol):
    """Runs code in a sandbox. Thread-safe; `run` returns a result whatever the code does.

    A backend that `runs_programs` takes the media of programs too, and not only "json" and "text". With `may_wait`, a
    program may wait in its process for the answer to a call; the result has the process then.
    """

    name: str
    runs_programs: bool

    def run(self, code: str, data: bytes, *, media: Media, limits: Limits, may_wait: bool = False) -> SandboxResult:
        """Run `code` over `data`, parsed as `media`. Raises SandboxUnavailableError if that is not secure here."""
        ...

    def close(self) -> None:
        """Release processes and memory."""
        ...
