"""The output of a command: results on stdout, everything else on stderr, questions only at a terminal."""

import os
import sys
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from restgpt.tools.text.quotation import visible, visible_json

if TYPE_CHECKING:
    from rich.console import Console


class Terminal:
    """Stdout and stderr of one command; `as_json` prints one JSON document on stdout, `quiet` omits the trace."""

    def __init__(self, *, as_json: bool = False, quiet: bool = False) -> None:
        self.as_json = as_json
        self.quiet = quiet

    @property
    def is_interactive(self) -> bool:
        """Whether the command can ask a person: stdin and stderr are terminals, and `--json` is not given."""
        return not self.as_json and sys.stdin.isatty() and sys.stderr.isatty()

    @cached_property
    def console(self) -> "Console":
        """The Rich console on stderr, for the trace and the spinner."""
        from rich.console import Console

        return Console(stderr=True, quiet=self.quiet, highlight=False, markup=False, emoji=False, soft_wrap=False)

    def answer(self, text: str) -> None:
        """Print a result of the command on stdout, unless it prints JSON."""
        if not self.as_json:
            typer.echo(visible(text))

    def document(self, value: Any) -> None:
        """Print the JSON document on stdout, if `--json` is given; nothing in it is invisible or reorders the rest."""
        if self.as_json:
            is_utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
            typer.echo(visible_json(value, is_ascii=sys.stdout.isatty() or not is_utf8))

    def say(self, text: str) -> None:
        """Print a message on stderr, even with `--quiet`."""
        typer.echo(visible(text), err=True)

    def note(self, text: str) -> None:
        """Print a message on stderr, unless `--quiet` is given."""
        if not self.quiet:
            self.say(text)

    @property
    def editor(self) -> str:
        """The command of the person's editor, from VISUAL or EDITOR; empty if none is named."""
        return os.environ.get("VISUAL") or os.environ.get("EDITOR") or ""

    def edit(self, text: str) -> str | None:
        """Open a YAML text in the person's editor and return it as it was saved; None if it was left as it is."""
        import shlex
        import subprocess
        from tempfile import TemporaryDirectory

        with TemporaryDirectory() as folder:
            path = Path(folder, "arguments.yaml")
            path.write_text(text, encoding="utf-8")
            try:
                subprocess.run([*shlex.split(self.editor), str(path)], check=True)
                found = path.read_text(encoding="utf-8")
            except (OSError, ValueError, subprocess.CalledProcessError) as error:
                self.say(f"The editor {self.editor} could not be used: {error}")
                return None
        return None if found == text else found

    def ask(self, question: str) -> str:
        """Ask the person and return the answer; empty at the end of stdin."""
        typer.echo(visible(question), err=True, nl=False)
        return sys.stdin.readline().strip()
