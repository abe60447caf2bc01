"""The output of a command: results on stdout, everything else on stderr, questions only at a terminal.

Error handling of commands: turns an expected error into a message and an exit code, without a traceback.

The options that several commands share.

The server of the model: one on this machine is offered, and an address from the folder's `.env` is named.
"""

import json
import logging
import os
import sqlite3
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import IntEnum
from functools import cached_property, wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import typer

from restgpt.commands.completion import api_names
from restgpt.sources import Sources
from restgpt.tools.model import ROLES
from restgpt.tools.text.quotation import visible, visible_json

if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status


class Terminal:
    """Stdout and stderr of one command; `as_json` prints one JSON document on stdout, `quiet` omits the trace."""

    def __init__(self, *, as_json: bool = False, quiet: bool = False) -> None:
        self.as_json = as_json
        self.quiet = quiet
        self.spinner: Status | None = None

    @property
    def is_interactive(self) -> bool:
        """Whether the command can ask a person: stdin and stderr are terminals, and `--json` is not given."""
        return not self.as_json and sys.stdin.isatty() and sys.stderr.isatty()

    @cached_property
    def console(self) -> "Console":
        """The Rich console on stderr, for the trace and the spinner."""
        from rich.console import Console

        return Console(stderr=True, quiet=self.quiet, highlight=False, markup=False, emoji=False, soft_wrap=False)

    def begin(self, names: Sequence[str]) -> None:
        """Say on a terminal what is read, until the next message: the imports of a run take seconds."""
        told = f"reading the document of {', '.join(map(visible, names))} …" if names else "starting …"
        self.spinner = self.console.status(told, spinner="dots")
        self.spinner.start()

    def settle(self) -> None:
        """Take back what `begin` has said."""
        if self.spinner:
            self.spinner.stop()

    def answer(self, text: str) -> None:
        """Print a result of the command on stdout, unless it prints JSON."""
        self.settle()
        if not self.as_json:
            typer.echo(visible(text))

    def document(self, value: Any) -> None:
        """Print the JSON document on stdout, if `--json` is given; nothing in it is invisible or reorders the rest."""
        if self.as_json:
            is_utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
            typer.echo(visible_json(value, is_ascii=sys.stdout.isatty() or not is_utf8))

    def say(self, text: str) -> None:
        """Print a message on stderr, even with `--quiet`."""
        self.settle()
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


log = logging.getLogger("restgpt.cli")


class Exit(IntEnum):
    """The exit codes of all commands."""

    DONE = 0
    UNFULFILLED = 1
    USAGE = 2
    PAUSED = 3
    REJECTED = 4
    INTERRUPTED = 130


class UsageError(Exception):
    """The user gave invalid arguments or options; the message says what to type instead."""


def refuse_bytes(*given: object) -> None:
    """Raise `UsageError` for a text with undecodable bytes (lone surrogates): models and databases reject it."""
    for text in given:
        if isinstance(text, str) and any("\ud800" <= character <= "\udfff" for character in text):
            raise UsageError(
                f"{text!r} has bytes that are not valid in the encoding of this terminal. Type the text again, or set "
                "LC_ALL=C.UTF-8."
            )


def expected_errors() -> tuple[type[BaseException], ...]:
    """Return the exceptions that `explain` has messages for; a function, because importing their modules is slow."""
    from restgpt.specs import SpecError, UnknownOperationError, UnknownPartError
    from restgpt.tools.errors import RestgptError
    from restgpt.tools.model.model_errors import ModelError

    return (
        UsageError,
        RestgptError,
        SpecError,
        UnknownOperationError,
        UnknownPartError,
        ModelError,
        sqlite3.Error,
        *_loaded("langgraph.errors", "GraphRecursionError"),
        *_loaded("psycopg", "Error"),
    )


def _loaded(module: str, name: str) -> tuple[type[BaseException], ...]:
    """Return an exception of a module, if it is loaded: otherwise nothing can have raised it."""
    return (getattr(sys.modules[module], name),) if module in sys.modules else ()


def explain(error: BaseException) -> tuple[str, Exit]:
    """Return the message and the exit code of an expected error."""
    from restgpt.specs import UnknownOperationError
    from restgpt.tools.errors import HttpFault
    from restgpt.tools.model.model_errors import ModelReplyError, ModelUnavailableError, NoModelError

    if isinstance(error, _loaded("langgraph.errors", "GraphRecursionError")):
        return (
            "The run reached the recursion limit of its graph. Give a smaller instruction, or raise max_steps.",
            Exit.UNFULFILLED,
        )
    if isinstance(error, sqlite3.Error):
        remedy = "Check that its disk has free space, that you may write to it, and that no other program uses it."
        return f"The database file of the threads failed: {error}. {remedy}{_lost(error)}", Exit.USAGE
    if isinstance(error, NoModelError):
        return f"{error}{offer()}", Exit.USAGE
    if isinstance(error, ModelReplyError | ModelUnavailableError | HttpFault):
        return _sentence(error), Exit.UNFULFILLED
    if isinstance(error, UnknownOperationError):
        return f"{_sentence(error)} List the operations with `restgpt call`.", Exit.USAGE
    if isinstance(error, _loaded("psycopg", "Error")):
        return (
            f"The database of the threads failed ({type(error).__name__}). Check that it runs and can be reached, and "
            f"that no process of RestGPT is stopped while it writes.{_lost(error)}",
            Exit.USAGE,
        )
    return _sentence(error), Exit.USAGE


def _lost(error: BaseException) -> str:
    """Return what was sent before the database failed, and how to go on without repeating it."""
    from restgpt.tools.text.redaction import sent_before

    if not (sent := sent_before(error)):
        return ""
    return f" {sent} Check it at the API before you repeat it; `restgpt threads THREAD` shows what is known."


def _sentence(error: BaseException) -> str:
    from restgpt.tools.text.redaction import sentence

    return sentence(str(error).strip() or type(error).__name__, error)


@contextmanager
def reported(terminal: Terminal) -> Iterator[None]:
    """Turn an expected error in the block into its message and exit code; log its traceback at level DEBUG."""
    try:
        yield
    except typer.Exit:
        raise
    except expected_errors() as error:
        message, code = explain(error)
        terminal.say(message)
        terminal.document({"status": "failed", "error": message})
        log.debug("The command failed", exc_info=error)
        raise typer.Exit(code) from None


def _repeated(flag: str, metavar: str, about: str, **more: Any) -> Any:
    """Return an option that may be repeated."""
    option = typer.Option(flag, help=f"{about} May be repeated.", metavar=metavar, **more)
    return Annotated[list[str] | None, option]


API_OPTIONS: dict[str, Any] = {
    "names": _repeated("--api", "NAME", "Name of an API in apis.yaml.", autocompletion=api_names),
    "specs": _repeated("--spec", "SOURCE", "Path or URL of an OpenAPI document."),
    "base_url": Annotated[str | None, typer.Option(help="The base URL of the API, not the document's.", metavar="URL")],
    "include": _repeated(
        "--include", "RULE", "Use only operations by method, id, tag, path: 'method=GET path=/trips/**'."
    ),
    "exclude": _repeated("--exclude", "RULE", "Never use operations that such a rule fits."),
    "external": Annotated[
        bool | None, typer.Option("--external", help="Read files beside a document, as it refers to.")
    ],
}
"""The options that name APIs, and their operations that may be used."""
Apis = Callable[[], Sources]
"""Makes the sources that the options name; raises `UsageError`, `SettingsError`, `SpecError`."""


Silent: TypeAlias = Annotated[Terminal, "silent"]
Traced: TypeAlias = Annotated[Terminal, "traced"]
"""The terminal of a command without `--json`, and of one with `--quiet` too."""


def command(function: Callable[..., None]) -> Callable[..., None]:
    """Make a command of a function: its `terminal` and `apis` are made of options, and expected errors are reported."""
    own = [item.replace(kind=Parameter.KEYWORD_ONLY) for item in signature(function).parameters.values()]
    found = {item.name: item.annotation for item in own}
    has_apis = "apis" in found
    flags: dict[str, Any] = {} if found["terminal"] == Silent else {"as_json": AsJson}
    flags |= {"quiet": Quiet} if found["terminal"] == Traced else {}

    @wraps(function)
    def run(**given: Any) -> None:
        terminal = Terminal(**{name: given.pop(name) for name in flags})
        named = {name: given.pop(name) for name in API_OPTIONS if has_apis}

        def apis() -> Sources:
            refuse_bytes(named["base_url"], *(named["names"] or ()), *(named["specs"] or ()))
            return Sources.given(**named)

        if "quiet" in flags and terminal.is_interactive:
            terminal.begin([*(named.get("names") or ()), *(named.get("specs") or ())])
        try:
            with reported(terminal):
                function(terminal=terminal, **given, **({"apis": apis} if has_apis else {}))
        finally:
            terminal.settle()

    def options(kinds: Mapping[str, Any], default: Any) -> list[Parameter]:
        return [Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=kinds[name]) for name in kinds]

    made = {"terminal": [], "apis": options(API_OPTIONS, None)}
    listed = [*(part for item in own for part in made.get(item.name, [item])), *options(flags, False)]
    run.__dict__["__signature__"] = Signature(listed)
    run.__annotations__ = {item.name: item.annotation for item in listed}
    return run


Writes = Annotated[
    Literal["ask", "allow", "deny", "dry-run"] | None,
    typer.Option(help="Whether requests that change data are asked about, sent, denied, or only shown. Default: ask."),
]
Thread = Annotated[
    str | None,
    typer.Option(help="Continue the conversation of this thread; a new ID starts a thread.", metavar="ID"),
]
Models = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        help="The chat model of all roles, such as openai:gpt-5-mini, or of one, such as planner=openai:gpt-5. May be "
        "repeated. Default: RESTGPT_MODEL.",
        metavar="[ROLE=]PROVIDER:NAME",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout, and nothing else.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Do not print the trace on stderr.")]
MoreSettings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", help="Another setting of the run, such as max_steps=5. May be repeated.", metavar="NAME=VALUE"
    ),
]


def settings_of(texts: Sequence[str] | None, *, models: Sequence[str] | None = None, **named: Any) -> dict[str, Any]:
    """Return the settings of NAME=VALUE texts, where `null` means None, of `models`, and of options of their own."""
    found: dict[str, Any] = {}
    for text in models or ():
        role, equals, name = text.partition("=")
        if not equals or ":" in role:
            found["model"] = text
        elif role in ROLES:
            found[f"{role}_model"] = name
        else:
            raise UsageError(f"--model {text} names no role. The roles are: {', '.join(ROLES)}.")
    for text in texts or ():
        name, equals, value = text.partition("=")
        if not equals or not name.strip() or name.strip() == "apis":
            raise UsageError(f"--set {text} is invalid. Write NAME=VALUE, such as max_steps=5. Name APIs with --api.")
        found[name.strip().replace("-", "_")] = None if value == "null" else value
    return found | {name: value for name, value in named.items() if value is not None}


USUAL_ADDRESS = "http://localhost:11434/v1"
"""Where Ollama serves the OpenAI chat API."""

TIMEOUT_S = 0.3
"""The timeout of the request, in seconds."""

LARGEST_ANSWER = 1_000_000


def local_models(address: str = USUAL_ADDRESS, *, seconds: float = TIMEOUT_S) -> list[str]:
    """Return the models of the server at `address`; an empty list if no server answers in time."""
    from http.client import HTTPException
    from urllib.request import ProxyHandler, build_opener

    opener = build_opener(ProxyHandler({}))
    try:
        with opener.open(f"{address}/models", timeout=seconds) as answer:
            listed = json.loads(answer.read(LARGEST_ANSWER))
        return [str(entry["id"]) for entry in listed["data"]]
    except (OSError, HTTPException, ValueError, KeyError, TypeError):
        return []


def offer(address: str = USUAL_ADDRESS, *, seconds: float = TIMEOUT_S) -> str:
    """Return lines for an error message that say how to use the server at `address`; empty if no server answers."""
    names = local_models(address, seconds=seconds)
    if not names:
        return ""
    return (
        f"\nA model server on this machine has {', '.join(names[:5])}. To use it:\n"
        f"  export OPENAI_BASE_URL={address}  and  --model openai:{names[0]}"
    )


def say_address_of_dotenv(terminal: Terminal) -> None:
    """Say where `.env` sends what the model reads, and with whose key: the folder may be somebody else's."""
    from restgpt.tools.settings.environment import addresses_of_dotenv

    for sentence in addresses_of_dotenv():
        terminal.say(sentence)
