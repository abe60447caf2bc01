"""Runs servers as child processes with process groups of their own, which are signalled and stopped whole."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import requests

PATIENCE_S = 120.0
"""How long a server may take to start, in seconds."""

GRACE_S = 10.0
"""How long a server may take to stop before it is killed, in seconds."""

PRIVATE = ("RESTGPT_", "OPENAI_", "LANGSMITH_", "LANGCHAIN_", "POSTGRES_")
"""The beginnings of environment variables that no server gets."""

SHOWN = 2000


class ServerError(Exception):
    """A server did not start, or did not answer as its tasks need; the message holds what it printed or sent."""


class MissingServerError(Exception):
    """A server is not installed; the message says how to install it."""


@contextmanager
def running(
    command: Sequence[str | Path],
    *,
    folder: Path,
    is_up: Callable[[], bool],
    environment: Mapping[str, str] | None = None,
) -> Iterator[None]:
    """Run a server in `folder` until the block ends; the block begins when `is_up` is true. Raises `ServerError`."""
    log = folder / "server.log"
    process = started(command, folder=folder, log=log, environment=environment)
    try:
        wait(process, is_up, log)
        yield
    finally:
        _stop(process)


def started(
    command: Sequence[str | Path],
    *,
    folder: Path,
    log: Path,
    environment: Mapping[str, str] | None = None,
    user: str | None = None,
) -> "subprocess.Popen[bytes]":
    """Start a server in `folder` that appends what it prints to `log`; it gets none of the `PRIVATE` variables.

    It runs as another `user` if one is given.
    """
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(PRIVATE)}
    with log.open("ab") as output:
        return subprocess.Popen(
            command,
            cwd=folder,
            env=inherited | dict(environment or {}),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            user=user,
        )


def wait(
    process: "subprocess.Popen[bytes]", is_up: Callable[[], bool], log: Path, *, seconds: float = PATIENCE_S
) -> None:
    """Wait until `is_up` is true; raises `ServerError` with the end of the log."""
    ends = time.monotonic() + seconds
    while not is_up():
        if process.poll() is not None:
            raise ServerError(f"The server ended with exit code {process.returncode}:\n{_tail(log)}")
        if time.monotonic() > ends:
            raise ServerError(f"The server did not answer within {seconds:.0f} seconds:\n{_tail(log)}")
        time.sleep(0.1)


def answers(url: str, session: requests.Session | None = None) -> bool:
    """Return whether a server on loopback answers a GET request with a success."""
    session = session or requests.Session()
    session.trust_env = False
    try:
        return session.get(url, timeout=10).ok
    except requests.RequestException:
        return False


def _tail(log: Path) -> str:
    return log.read_text(encoding="utf-8", errors="replace")[-SHOWN:]


def _stop(process: "subprocess.Popen[bytes]") -> None:
    """Stop the process and its children: with SIGTERM, and what is left of the group with SIGKILL."""
    signal_group(process, signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        process.wait(GRACE_S)
    # The process itself may have ended, and its children not.
    signal_group(process, signal.SIGKILL)
    process.wait()


def signal_group(process: "subprocess.Popen[bytes]", number: signal.Signals) -> None:
    """Send a signal to a process and its children, if any of them still runs."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)
