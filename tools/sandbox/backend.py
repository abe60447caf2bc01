"""The seam of the sandbox: what a backend does, and the error when no protected one exists."""

from typing import Protocol

from restgpt.tools.errors import RestgptError
from restgpt.tools.sandbox.result import Limits, Media, SandboxResult


class SandboxUnavailableError(RestgptError):
    """No protected way to run generated code exists here; the message says why, or what to install."""


class SandboxBackend(Protocol):
    """A protected way to run code; thread-safe, and a result comes back whatever the code does."""

    name: str

    def run(self, code: str, data: bytes, *, media: Media, limits: Limits) -> SandboxResult:
        """Run `code` over `data`, parsed as `media`. Raises SandboxUnavailableError rather than run it unprotected."""
        ...

    def close(self) -> None:
        """Give back processes and memory."""
        ...
