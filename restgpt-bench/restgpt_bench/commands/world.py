"""`restgpt world`: serve a simulated API over HTTP on 127.0.0.1."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from restgpt.commands.terminal import AsJson, Terminal, UsageError, reported

world = typer.Typer(name="world", help="Serve a simulated API.", no_args_is_help=True)


@world.callback()
def _world() -> None:
    """Make Typer keep `serve` a subcommand, although it is the only one."""


@world.command()
def serve(
    name: Annotated[str, typer.Argument(help="Name of the world: toy, tmdb or spotify.", metavar="NAME")],
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port of the API on 127.0.0.1; 0: any free port.")] = 0,
    seed: Annotated[int, typer.Option(help="Random seed of the world's data.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Serve a simulated API on 127.0.0.1 until Ctrl-C, and its control API on another port."""
    terminal = Terminal(as_json=as_json)
    with reported(terminal):
        from restgpt.specs.reading.download import bundled_document
        from restgpt_bench.worlds import CREDENTIAL, NAMES, open_world
        from restgpt_bench.worlds.server import serve as serve_world

        if name not in NAMES:
            raise UsageError(f"There is no world {name}. Choose one of: {', '.join(NAMES)}.")
        opened = open_world(name, seed=seed)
        try:
            server = serve_world(opened, port=port)
        except OSError as error:
            raise UsageError(
                f"Port {port} cannot be used: {error.strerror}. Choose another port with --port."
            ) from None
        schemes = list(opened.api.security_schemes)
        document = str(Path(str(bundled_document(name))).resolve())
        with server, _until_ended() as over:
            terminal.document(
                {
                    "world": name,
                    "seed": seed,
                    "url": server.url,
                    "control_url": server.control_url,
                    "spec": document,
                    "credential": CREDENTIAL,
                    "security": schemes,
                }
            )
            terminal.answer(_greeting(name, seed, server.url, server.control_url, document, schemes, CREDENTIAL))
            over.wait()


def _greeting(
    name: str, seed: int, url: str, control_url: str, document: str, schemes: list[str], credential: str
) -> str:
    from restgpt.tools.settings.environment import auth_variable

    lines = [
        f"The simulated {name} (seed {seed}) is served at {url}",
        f"Controls for tests (log, snapshot, reset, faults): {control_url}",
        "Try it in another terminal:",
        *(f"  export {auth_variable(scheme)}={credential}" for scheme in schemes[:1]),
        f'  restgpt ask "…" --spec {document} --base-url {url}',
        "Ctrl-C ends it.",
    ]
    return "\n".join(lines)


@contextmanager
def _until_ended() -> Iterator[threading.Event]:
    """Turn SIGINT and SIGTERM into an event, from before the command prints the URL."""
    over = threading.Event()
    before = {number: signal.signal(number, lambda *_: over.set()) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield over
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
