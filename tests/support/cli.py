"""The command line in a test: runs in process, with separate stdout and stderr."""

import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TextIO

from typer.main import get_command
from typer.testing import CliRunner

from restgpt.cli import app
from restgpt.specs.reading.download import bundled_document
from restgpt_bench.worlds import World
from restgpt_bench.worlds.server import WorldServer

TOY = str(bundled_document("toy"))


@dataclass(frozen=True)
class Ran:
    """The result of a command: exit code, stdout and stderr."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The one JSON document on stdout."""
        return json.loads(self.out)


@dataclass(frozen=True)
class Cli:
    """Runs commands with a temporary home folder."""

    home: Path

    def __call__(self, *arguments: str, stdin: str | None = None) -> Ran:
        """Run a command; an unexpected error is raised unchanged."""
        with CliRunner().isolation(input=stdin) as (out, err, _):
            code = _run(arguments)
            return Ran(code, *(stream.getvalue().decode("utf-8", "replace") for stream in (out, err)))

    def start(self, *arguments: str, **options: Any) -> subprocess.Popen[str]:
        """Start a command in its own process, with the environment of the test."""
        command = [sys.executable, "-m", "restgpt", *arguments]
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
        return subprocess.Popen(command, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"}, **pipes)

    def on_a_terminal(
        self, *arguments: str, prompt: str, answer: str | Iterable[str], as_process: bool = False
    ) -> tuple[int, str]:
        """Run a command on a pseudo-terminal and type an answer each time the prompt appears: exit code and screen."""
        ours, theirs = pty.openpty()
        answers = iter([answer] if isinstance(answer, str) else answer)
        with ThreadPoolExecutor(1) as typist:
            screen = typist.submit(_typed, ours, prompt, answers)
            if as_process:
                started = self.start(*arguments, stdin=theirs, stdout=theirs, stderr=theirs)
                os.close(theirs)
                return started.wait(), screen.result()
            try:
                with (
                    open(theirs, closefd=False) as typed,
                    open(theirs, "w", closefd=False) as shown,
                    _standard_streams(typed, shown),
                ):
                    code = _run(arguments)
            finally:
                os.close(theirs)
            return code, screen.result()


@cache
def command_tree() -> Any:
    """The commands as Typer makes them of `app`, once: that takes longer than most commands."""
    return get_command(app)


def _run(arguments: Iterable[str]) -> Any:
    """Run a command in this process, with the standard streams that `sys` has, and return its exit code."""
    code: Any = 0
    try:
        command_tree().main(args=list(arguments), prog_name="restgpt")
    except SystemExit as ended:
        code = ended.code or 0
    sys.stdout.flush()
    sys.stderr.flush()
    return code


@contextmanager
def _standard_streams(stdin: TextIO, output: TextIO) -> Iterator[None]:
    """Replace the standard streams of `sys` by those of a terminal."""
    before = sys.stdin, sys.stdout, sys.stderr
    sys.stdin, sys.stdout, sys.stderr = stdin, output, output
    try:
        yield
    finally:
        sys.stdin, sys.stdout, sys.stderr = before


def _typed(terminal: int, prompt: str, answers: Iterator[str]) -> str:
    """Type an answer each time the prompt appears, until the program at the terminal has ended; return the screen."""
    said, read = b"", 0
    try:
        while part := _read(terminal):
            said += part
            found = said.find(prompt.encode(), read)
            if found >= 0 and (typed := next(answers, None)) is not None:
                os.write(terminal, f"{typed}\n".encode())
                read = found + len(prompt.encode())
    finally:
        os.close(terminal)
    return said.decode()


def _read(terminal: int) -> bytes:
    """Read the next output of a terminal; empty after its program has ended, which the system reports as an error."""
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""


def names(world: World[Any]) -> list[str]:
    """Return the names of all projects of the toy API."""
    return [item["name"] for item in world.call("GET /projects").body["items"]]


def changes(world: World[Any]) -> list[str]:
    """Return the changes that a world was asked for."""
    return [f"{entry.method} {entry.template}" for entry in world.log if entry.method != "GET"]


def at(server: WorldServer) -> list[str]:
    """Return the options that name the served toy API."""
    return ["--spec", TOY, "--base-url", server.url]


def by_calls(server: WorldServer) -> list[str]:
    """Return the options of `ask` for the served toy API, with sub-tasks carried out call by call."""
    return [*at(server), "--set", "road=roles"]
