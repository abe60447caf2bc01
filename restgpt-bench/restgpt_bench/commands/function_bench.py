"""The function-calling commands of `restgpt bench`: run suites, generate and check training data, fine-tune a model."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from restgpt.commands.failure import Exit, UsageError, reported
from restgpt.commands.options import AsJson, Quiet
from restgpt.commands.screen.terminal import Terminal

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
        list[str],
        typer.Option(
            "--docs",
            help="A file of documentation, python:PACKAGE, or argparse:MODULE:NAME. May be repeated.",
            metavar="SOURCE",
        ),
    ],
    model: ModelName = None,
    out: Annotated[Path, typer.Option("--out", help="Folder for the data and its manifest.")] = Path("training"),
    per_function: Annotated[
        int, typer.Option(help="Number of examples to ask the model for, per function.", min=1, max=20)
    ] = 3,
    seed: Annotated[int, typer.Option(help="Random seed of the augmentation.")] = 0,
    augment: Annotated[
        bool, typer.Option(help="Also generate variants: renamed, parallel and irrelevant functions, and others.")
    ] = True,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Generate training data for function calling from documentation; filter and augment it, and write a manifest."""
    terminal = Terminal(as_json=as_json, quiet=quiet)
    with reported(terminal):
        from restgpt.tools.settings import Settings
        from restgpt_bench.functions.generate import export
        from restgpt_bench.functions.generate import generate as make
        from restgpt_bench.functions.train import dry_run

        data = make(
            docs,
            _model(model, Settings.from_env().model),
            per_function=per_function,
            seed=seed,
            augmented=augment,
            progress=_progress(terminal),
        )
        files = export(data, out)
        found = dry_run(files["openfunctions"])
        terminal.document({**data.manifest, "files": {name: str(path) for name, path in files.items()}})
        terminal.answer(f"{found.report()}\ndropped: {len(data.dropped)}\n{out}")
        if not data.pairs:
            raise typer.Exit(Exit.UNFULFILLED)


def train(
    data: Annotated[Path, typer.Option("--data", help="The exported openfunctions.jsonl.")],
    base_model: Annotated[
        str | None,
        typer.Option(help="Name or folder of the model to fine-tune. Without it, the data is only checked."),
    ] = None,
    out: Annotated[Path, typer.Option("--out", help="Folder for the adapter.")] = Path("adapter"),
    layout: Annotated[Literal["v1", "v2"], typer.Option(help="The prompt format to train on.")] = "v1",
    steps: Annotated[int, typer.Option(help="Number of training steps; -1 means two epochs.")] = -1,
) -> None:
    """Fine-tune a model on exported data; the loss is on the answer only. Needs the extra `train`."""
    terminal = Terminal()
    with reported(terminal):
        from restgpt_bench.functions.train import TrainError, dry_run
        from restgpt_bench.functions.train import train as fine_tune

        try:
            terminal.answer(dry_run(data, layout).report())
            if base_model:
                loss = fine_tune(data, base_model, out, version=layout, steps=steps)
                terminal.answer(f"mean training loss {loss:.4f}; the adapter is in {out}")
        except TrainError as error:
            raise UsageError(str(error)) from None


def _model(given: str | None, configured: str | None) -> str:
    from restgpt.tools.model.errors import NoModelError

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
