"""`restgpt bench`: check the judges, run methods on the suites, and report and plot the results."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from restgpt.commands.terminal import AsJson, Exit, MoreSettings, Quiet, Terminal, UsageError, reported, settings_of
from restgpt_bench.commands import function_bench

if TYPE_CHECKING:
    from restgpt_bench.restbench.check import CheckReport
    from restgpt_bench.restbench.record import Record, RunSettings
    from restgpt_bench.restbench.report import Table
    from restgpt_bench.restbench.run import ModelFor
    from restgpt_bench.restbench.suite import Suite
    from restgpt_bench.retrieval.measure import Row

bench = typer.Typer(name="bench", help="Measure the agent on RestBench and other suites.", no_args_is_help=True)

Folders = Annotated[list[Path], typer.Argument(help="Folders of benchmark runs.", metavar="RUN...", show_default=False)]


@bench.command()
def check(
    suites: Annotated[
        list[str] | None,
        typer.Option("--suite", help="Suite to check. May be repeated. [default: all]", metavar="NAME"),
    ] = None,
    seeds: Annotated[
        list[int] | None,
        typer.Option("--seed", help="Random seed of the world. May be repeated. [default: 0, 1]", metavar="N"),
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Check the judges on every task: gold calls must pass; no calls, guessed calls and wrong end states must fail."""
    terminal = Terminal(as_json=as_json, quiet=quiet)
    with reported(terminal):
        from restgpt_bench.restbench.check import check_suite

        opened = _open_suites(suites, terminal)
        chosen = list(dict.fromkeys(seeds or (0, 1)))
        reports = []
        with _bar(terminal, "checking", sum(len(suite.items) for suite in opened) * len(chosen)) as advance:
            for suite in opened:
                reports += [check_suite(suite, seed=seed, progress=advance) for seed in chosen]
    _show_checks(terminal, reports)
    if not all(report.ok for report in reports):
        raise typer.Exit(Exit.UNFULFILLED)


def _open_suites(names: Sequence[str] | None, terminal: Terminal) -> "list[Suite]":
    """Open the named suites; without names all suites, but the published ones only if `RESTGPT_DATA` is set."""
    from restgpt.tools.settings import Settings
    from restgpt_bench.restbench.suite import NAMES, PUBLISHED, open_suite

    data = Settings.from_env().data
    if names:
        return [open_suite(name, data=data) for name in dict.fromkeys(names)]
    left_out = set(PUBLISHED) if data is None else set()
    if left_out:
        terminal.note(f"RESTGPT_DATA is not set, so these suites are skipped: {', '.join(PUBLISHED)}.")
    return [open_suite(name, data=data) for name in NAMES if name not in left_out]


def _show_checks(terminal: Terminal, reports: "Sequence[CheckReport]") -> None:
    from dataclasses import asdict

    from restgpt_bench.restbench.report import Table

    rows = [
        (
            report.suite,
            str(report.seed),
            tally.name,
            f"{tally.passed}/{tally.n}",
            tally.expected,
            _first_wrong(tally.wrong),
        )
        for report in reports
        for tally in report.tallies
        if tally.n
    ]
    title = "Verdicts of the judges"
    columns = ("suite", "seed", "attempt", "success / n", "expected", "off")
    _show(terminal, [Table(title, columns, tuple(rows))])
    documents = [{**asdict(report), "ok": report.ok} for report in reports]
    terminal.document({"ok": all(report.ok for report in reports), "checks": documents})


def _first_wrong(wrong: dict[str, str]) -> str:
    return "; ".join(f"{key}: {why}" for key, why in list(wrong.items())[:3]) or "–"


@bench.command()
def run(
    suite: Annotated[
        str,
        typer.Option(
            help="restbench-tmdb, restbench-spotify, dev-tmdb, dev-spotify, dev-toy, or a function-calling suite."
        ),
    ],
    method: Annotated[str, typer.Option(help="restgpt, react, offline, deps, reflexion or tools.")] = "restgpt",
    model: Annotated[
        str | None,
        typer.Option(
            help="The chat model; scripted:perfect and scripted:erring call none. [default: RESTGPT_MODEL]",
            metavar="PROVIDER:NAME",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Random seed of the world's data.")] = 0,
    only: Annotated[str | None, typer.Option(help="Run only the tasks with these keys.", metavar="I,J")] = None,
    concurrency: Annotated[int, typer.Option(min=1, max=64, help="Number of tasks to run at the same time.")] = 1,
    spec: Annotated[
        Path | None, typer.Option(help="Another OpenAPI document of the world's API, instead of ours.", metavar="FILE")
    ] = None,
    noise: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Reduce the document to the operations of the gold paths, and add this many other operations.",
            metavar="N",
        ),
    ] = None,
    noise_specs: Annotated[
        list[Path] | None,
        typer.Option(
            "--noise-spec", help="Another document to take noise operations from. May be repeated.", metavar="FILE"
        ),
    ] = None,
    ablations: Annotated[
        list[str] | None,
        typer.Option("--ablate", help="Remove a part: planner, parser or closure. May be repeated.", metavar="NAME"),
    ] = None,
    more: MoreSettings = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder of the run's records. [default: runs/…]", metavar="DIR")
    ] = None,
    retry: Annotated[bool, typer.Option("--retry", help="Run the tasks again that ended with an error.")] = False,
    record: Annotated[
        Path | None,
        typer.Option(help="Save the model's replies in this file, for --model recorded:FILE.", metavar="FILE"),
    ] = None,
    patience: Annotated[float, typer.Option(min=1, help="Timeout of one model call, in seconds.", metavar="S")] = 120,
    expect: Annotated[
        float | None,
        typer.Option(help="Exit with 1 unless the success rate is exactly this percentage.", metavar="PERCENT"),
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Run a method on a suite; the same command continues a stopped run."""
    terminal = Terminal(as_json=as_json, quiet=quiet)
    with reported(terminal):
        from restgpt.tools.model.model_errors import NoModelError
        from restgpt.tools.settings import Settings

        environment = Settings.from_env()
        name = model or environment.model
        if not name:
            raise NoModelError()
        if suite.startswith(("openfunctions", "bfcl:")):
            _run_functions(terminal, suite, name, environment.data, out, _keys(only))
            return
        chosen = _settings(
            suite=suite,
            method=method,
            model=name,
            seed=seed,
            spec=None if spec is None else str(spec),
            noise=noise,
            noise_specs=tuple(map(str, noise_specs or ())),
            ablations=tuple(sorted(set(ablations or ()))),
            context=settings_of(more),
            only=tuple(_keys(only)) if noise is not None else (),
        )
        give = _models(name, record, patience)
        records = _run(
            terminal, chosen, give, _keys(only), data=environment.data, out=out, concurrency=concurrency, retry=retry
        )
    _expect(terminal, records, expect)


def _settings(**given: Any) -> "RunSettings":
    from restgpt.prompts import fingerprints
    from restgpt_bench.restbench.record import RunSettings
    from restgpt_bench.restbench.run import check_settings, program_version

    settings = RunSettings(**given, prompts=fingerprints(), version=program_version())
    check_settings(settings)
    return settings


def _models(name: str, recording: Path | None, patience: float) -> "ModelFor":
    from restgpt_bench.restbench.run import model_for

    return model_for(name, recording=recording, patience=patience)


def _run(
    terminal: Terminal,
    settings: "RunSettings",
    model: "ModelFor",
    only: Sequence[str],
    *,
    data: Path | None,
    out: Path | None,
    concurrency: int,
    retry: bool,
) -> "list[Record]":
    from restgpt_bench.restbench.record import RunFolder, default_folder
    from restgpt_bench.restbench.report import Run, document, tables
    from restgpt_bench.restbench.run import Runner
    from restgpt_bench.restbench.suite import open_suite

    suite = open_suite(settings.suite, data=data)
    suite = suite.only(only) if only else suite
    path = out or default_folder(settings, now=datetime.now())
    folder = RunFolder.open(path, settings)
    with folder.locked():
        runner = Runner.over(settings, suite, model, cache=path / "index")
        terminal.note(f"{path}: {len(folder.keys())} of {len(suite.items)} tasks are finished.")
        with _bar(terminal, settings.label, len(suite.items)) as advance:
            records = runner.run(folder, concurrency=concurrency, retry=retry, finished=lambda record: advance())
    run = Run(path, settings, tuple(records))
    _show(terminal, tables([run])[1:])
    terminal.document(document([run])["runs"][0])
    return records


def _expect(terminal: Terminal, records: "Sequence[Record]", expect: float | None) -> None:
    if expect is None:
        return
    rate = 100 * sum(record.success for record in records) / len(records)
    if rate != expect:
        terminal.say(f"The success rate is {rate:g} %, not {expect:g} % (n = {len(records)}).")
        raise typer.Exit(Exit.UNFULFILLED)


def _run_functions(
    terminal: Terminal, suite: str, model: str, data: Path | None, out: Path | None, only: Sequence[str]
) -> None:
    """Run a function-calling suite, which has its own runner and result files."""
    from dataclasses import asdict

    from restgpt_bench.functions.run import run_suite
    from restgpt_bench.functions.tasks import SuiteError

    try:
        positions = [int(key) for key in only] or None
        with _bar(terminal, suite, 1) as advance:
            found = run_suite(
                suite,
                model,
                data=data,
                out=out or Path("runs"),
                only=positions,
                progress=lambda done, n: advance(done, n),
            )
    except (SuiteError, ValueError) as error:
        raise UsageError(str(error)) from None
    terminal.answer(found.report())
    terminal.document({"suite": suite, "model": model, "score": asdict(found.score), "usage": dict(found.usage)})


def _keys(only: str | None) -> list[str]:
    return [key.strip() for key in (only or "").split(",") if key.strip()]


@bench.command()
def report(runs: Folders, as_json: AsJson = False) -> None:
    """Print the paper's Table 4 with our runs beside the published figures, then the tables of stricter measures."""
    terminal = Terminal(as_json=as_json)
    with reported(terminal):
        from restgpt_bench.restbench.report import Run, document, tables

        read = [Run.read(path) for path in runs]
        _show(terminal, tables(read))
        terminal.document(document(read))


@bench.command()
def plot(
    runs: Folders,
    out: Annotated[Path, typer.Option(help="Folder for the figures.", metavar="DIR")] = Path("runs/figures"),
    as_json: AsJson = False,
) -> None:
    """Plot the paper's figures 3 and 4 for our runs. Needs the extra `plot`."""
    terminal = Terminal(as_json=as_json)
    with reported(terminal):
        from restgpt_bench.restbench.plot import draw
        from restgpt_bench.restbench.report import Run

        drawn = [str(path) for path in draw([Run.read(path) for path in runs], out)]
        for path in drawn:
            terminal.answer(path)
        terminal.document({"files": drawn})


@bench.command()
def retrieval(
    parts: Annotated[
        list[str] | None,
        typer.Option("--part", help="restbench, tuning or measured. May be repeated. [default: all]", metavar="NAME"),
    ] = None,
    foreign: Annotated[
        int, typer.Option(min=0, help="Mix this many operations of other APIs into each document.", metavar="N")
    ] = 0,
    cache: Annotated[
        Path | None, typer.Option(help="Folder for the documents that are fetched from npm.", metavar="DIR")
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Measure without a model how many needed operations the search finds for raw instructions, beside plain BM25."""
    terminal = Terminal(as_json=as_json, quiet=quiet)
    with reported(terminal):
        from restgpt.tools.settings import Settings
        from restgpt_bench.packages import CACHE
        from restgpt_bench.retrieval.instructions import PARTS, RESTBENCH, open_part
        from restgpt_bench.retrieval.measure import compare, foreign_apis, total

        chosen = list(dict.fromkeys(parts or (RESTBENCH, *PARTS)))
        if unknown := [name for name in chosen if name not in (RESTBENCH, *PARTS)]:
            raise UsageError(f"There is no part {unknown[0]!r}. The parts are {', '.join((RESTBENCH, *PARTS))}.")
        settings = Settings.from_env()
        data = settings.data
        if data is None and RESTBENCH in chosen:
            if parts:
                raise UsageError("RESTGPT_DATA is not set. Set it to the folder that holds restbench/.")
            terminal.note("RESTGPT_DATA is not set, so RestBench is skipped.")
            chosen.remove(RESTBENCH)
        folder = cache or CACHE
        others = list(foreign_apis(foreign, folder)) if foreign else []
        rows: dict[str, list[Row]] = {}
        with _bar(terminal, "searching", len(chosen)) as advance:
            for name in chosen:
                rows[name] = [compare(part, others) for part in open_part(name, data, folder)]
                advance()
    lines = [line for name, found in rows.items() for line in (*found, total(f"{name}, all", found))]
    _show(terminal, [_retrieval_table(lines)])
    terminal.document(
        {
            name: {"documents": {row.name: row.document() for row in found}, "all": total(name, found).document()}
            for name, found in rows.items()
        }
    )


def _retrieval_table(rows: "Sequence[Row]") -> "Table":
    from restgpt_bench.restbench.report import Table

    cells = []
    for row in rows:
        pairs = [
            *((row.ours.whole[depth], row.plain.whole[depth]) for depth in row.ours.whole),
            (row.ours.recall[10], row.plain.recall[10]),
        ]
        shares = (f"{ours:.3f} / {plain:.3f}" for ours, plain in pairs)
        cells.append((row.name, str(row.operations), str(row.ours.tasks), *shares, f"{row.ours.milliseconds:.1f}"))
    title = "Operations found for raw instructions: ours / plain BM25"
    columns = ("document", "operations", "tasks", "all@5", "all@10", "all@20", "recall@10", "ms a query")
    return Table(title, columns, tuple(cells))


def _show(terminal: Terminal, found: "Sequence[Table]") -> None:
    """Print tables on stdout, separated by blank lines; wide tables are not cut."""
    from restgpt_bench.restbench.report import text

    printed = text(found)
    if printed:
        for line in printed.split("\n"):
            terminal.answer(line)


@contextmanager
def _bar(terminal: Terminal, title: str, total: int) -> Iterator[Callable[..., None]]:
    """Show a progress bar on stderr; the yielded function advances it by one, or sets the done and total counts."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=terminal.console, transient=True) as progress:
        task = progress.add_task(title, total=total)

        def advance(done: int | None = None, n: int | None = None) -> None:
            if done is None:
                progress.advance(task)
            else:
                progress.update(task, completed=done, total=n)

        yield advance


for _command in (function_bench.functions, function_bench.generate):
    bench.command()(_command)
