"""The function-calling commands of `restgpt bench`: run suites, and make pairs of instruction and call."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from restgpt.commands.terminal import AsJson, Exit, Quiet, Terminal, UsageError, reported

if TYPE_CHECKING:
    from collections.abc import Callable

ModelName = Annotated[
    str | None, typer.Option("--model", help="The chat model, as PROVIDER:NAME.", metavar="PROVIDER:NAME")
]


def functions(
    suite: Annotated[str, typer.Option("--suite", help="openfunctions-v1, or bfcl:CATEGORY.")] = "openfunctions-v1",
    model: ModelName = None,
    out: Annotated[
        Path, typer.Option("--out", help="Folder of the results; a stopped run continues from them.")
    ] = Path("runs"),
    only: Annotated[
        str | None, typer.Option("--only", help="Run only the tasks at these positions, such as 0,4,7.", metavar="I,J")
    ] = None,
    mode: Annotated[
        Literal["strict", "original"],
        typer.Option(help="strict: an invented value is a failure; original: as in the published figure."),
    ] = "strict",
    prompting: Annotated[
        Literal["structured", "tools", "v0", "v1", "v2"], typer.Option(help="How the model is prompted.")
    ] = "structured",
    rules: Annotated[
        Literal["ours", "leaderboard"],
        typer.Option(help="Our matching rules, or the leaderboard's with its known faults."),
    ] = "ours",
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Run a function-calling suite and score it: SUCCESS, INCOMPLETE, FAILURE, and the kinds of faults."""
    terminal = Terminal(as_json=as_json, quiet=quiet)
    with reported(terminal):
        from dataclasses import asdict

        _need_functions()
        from restgpt.tools.settings import Settings
        from restgpt_bench.functions.matcher import LEADERBOARD, MatchRules
        from restgpt_bench.functions.run import run_suite
        from restgpt_bench.functions.tasks import SuiteError

        settings = Settings.from_env()
        try:
            run = run_suite(
                suite,
                _model(model, settings.model),
                data=settings.data,
                out=out,
                context={"prompting": prompting},
                mode=mode,
                rules=LEADERBOARD if rules == "leaderboard" else MatchRules(),
                only=_positions(only),
                progress=_progress(terminal),
            )
        except SuiteError as error:
            raise UsageError(str(error)) from None
        terminal.document({"suite": suite, **asdict(run.score), "accuracy": run.score.accuracy, "usage": run.usage})
        terminal.answer(run.report())


def generate(
    docs: Annotated[
        list[Path],
        typer.Option("--docs", help="An OpenAPI document or function documentation. May be repeated.", metavar="FILE"),
    ],
    model: ModelName = None,
    out: Annotated[Path, typer.Option("--out", help="Folder for the pairs.")] = Path("pairs"),
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Make three pairs of an instruction and a call for each function of a document, and drop the bad ones."""
    terminal = Terminal(as_json=as_json, quiet=quiet)
    with reported(terminal):
        _need_functions()
        from restgpt.tools.settings import Settings
        from restgpt_bench.functions.generate import export
        from restgpt_bench.functions.generate import generate as make
        from restgpt_functions.docs.loading import load_functions

        functions = [function for path in docs for function in load_functions(path)]
        data = make(functions, _model(model, Settings.from_env().model), progress=_progress(terminal))
        files = export(data, out)
        counts = {"pairs": len(data.pairs), "dropped": len(data.dropped)}
        terminal.document({**counts, "files": {name: str(path) for name, path in files.items()}})
        terminal.answer(f"{data.report()}\n{out}")
        if not data.pairs:
            raise typer.Exit(Exit.UNFULFILLED)


def _need_functions() -> None:
    """Raise `UsageError` with the remedy if the distribution with OpenFunctions is not installed."""
    from importlib.util import find_spec

    from restgpt.tools.errors import FUNCTIONS, extra_command

    if find_spec("restgpt_functions") is None:
        raise UsageError(f"OpenFunctions is not installed. Install it: {extra_command('', FUNCTIONS)}")


def _model(given: str | None, configured: str | None) -> str:
    from restgpt.tools.model.model_errors import NoModelError

    if not (given or configured):
        raise NoModelError()
    return given or configured or ""


def _positions(only: str | None) -> list[int] | None:
    if only is None:
        return None
    try:
        return [int(part) for part in only.split(",") if part.strip()]
    except ValueError:
        raise UsageError(f"--only {only} is invalid. Write positions, such as 0,4,7.") from None


def _progress(terminal: Terminal) -> "Callable[[int, int], None]":
    def progress(done: int, total: int) -> None:
        if done % 10 == 0 or done == total:
            terminal.note(f"{done} of {total}")

    return progress
