"""Where a command speaks: answers on stdout, everything else on stderr, and questions only to a person."""

import json
import sys
from functools import cached_property
from typing import TYPE_CHECKING, Any

import typer

from restgpt.trace import visible

if TYPE_CHECKING:
    from rich.console import Console


class Terminal:
    """The two outputs of one command; `as_json` keeps stdout to one document, `quiet` leaves out the trace."""

    def __init__(self, *, as_json: bool = False, quiet: bool = False) -> None:
        self.as_json = as_json
        self.quiet = quiet

    @property
    def is_interactive(self) -> bool:
        """Whether a person can be asked: both ends are terminals and no program waits for JSON."""
        return not self.as_json and sys.stdin.isatty() and sys.stderr.isatty()

    @cached_property
    def console(self) -> "Console":
        """The console on stderr, for what a line of text cannot show."""
        from rich.console import Console

        return Console(stderr=True, quiet=self.quiet, highlight=False, markup=False, emoji=False, soft_wrap=False)

    def answer(self, text: str) -> None:
        """Print what the command is for."""
        if not self.as_json:
            typer.echo(visible(text))

    def document(self, value: Any) -> None:
        """Print the one JSON document, if that is what is wanted."""
        if self.as_json:
            # On a terminal in ASCII, since JSON leaves some control characters as they are.
            typer.echo(json.dumps(value, ensure_ascii=sys.stdout.isatty(), indent=2))

    def say(self, text: str) -> None:
        """Tell the person something, even when quiet."""
        typer.echo(visible(text), err=True)

    def note(self, text: str) -> None:
        """Tell the person something that is nice to know."""
        if not self.quiet:
            self.say(text)

    def ask(self, question: str) -> str:
        """Ask the person; an empty answer at the end of the input."""
        typer.echo(visible(question), err=True, nl=False)
        return sys.stdin.readline().strip()
