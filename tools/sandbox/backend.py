"""The interface of sandbox backends, and the error if no secure backend exists."""

import os
from collections.abc import Mapping
from typing import Protocol

from restgpt.tools.errors import RestgptError, SettingsError
from restgpt.tools.sandbox.result import Limits, Media, SandboxResult

SANDBOXES = ("auto", "cpython", "monty")
"""What `RESTGPT_SANDBOX` may be; `auto` is the sandbox of the platform."""


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


def sandbox_from_env(environ: Mapping[str, str] = os.environ) -> str:
    """Return the sandbox of this process: `auto`, or the name of one; raises SettingsError.

    Not a part of `Settings.from_env`, because code also runs in processes that have no settings.
    """
    given = environ.get("RESTGPT_SANDBOX") or SANDBOXES[0]
    if given not in SANDBOXES:
        raise SettingsError(f"RESTGPT_SANDBOX must be one of {', '.join(SANDBOXES)}, not {given!r}.")
    return given
