"""Reports on runs beside the figures of the paper: its Table 4, then the stricter metrics, lengths and modules."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from restgpt_bench.restbench.attribution import MODULES, attribute, breakdown
from restgpt_bench.restbench.metrics import Proportion, Score, by_length, score
from restgpt_bench.restbench.record import Record, RunFolder, RunSettings
from restgpt_bench.restbench.run import describe
from restgpt_bench.restbench.suite import OWN, PUBLISHED

SCENARIOS = ("tmdb", "spotify")


@dataclass(frozen=True, slots=True)
class PublishedCell:
    """Success %, Correct Path % and the mean of extra calls over successes, as the paper prints them."""

    success: float
    correct_path: float
    delta: float | None


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """A row of the paper's Table 4; `label` is the label of our runs of the same method."""

    name: str
    label: str
    model: str
    tmdb: PublishedCell
    spotify: PublishedCell


DAVINCI = "text-davinci-003"
TABLE_4 = (
    PublishedRow("Offline", "offline", DAVINCI, PublishedCell(29.0, 33.0, 1.52), PublishedCell(14.5, 36.4, 1.10)),
    PublishedRow("DEPS", "deps", DAVINCI, PublishedCell(38.0, 43.0, 1.20), PublishedCell(19.3, 43.8, 1.74)),
    PublishedRow("ReAct", "react", DAVINCI, PublishedCell(44.0, 57.0, 0.76), PublishedCell(54.5, 49.1, 0.31)),
    PublishedRow("Reflexion", "reflexion", DAVINCI, PublishedCell(52.0, 59.0, 1.37), PublishedCell(59.6, 61.4, 1.68)),
    PublishedRow("RestGPT", "calls", DAVINCI, PublishedCell(75.0, 79.0, 0.55), PublishedCell(72.7, 74.5, 0.25)),
    PublishedRow(
        "RestGPT w/o planner",
        "calls w/o planner",
        DAVINCI,
        PublishedCell(44.0, 57.0, 0.76),
        PublishedCell(54.5, 49.1, 0.31),
    ),
    PublishedRow(
        "RestGPT w/o parser",
        "calls w/o parser",
        DAVINCI,
        PublishedCell(46.0, 53.0, 0.60),
        PublishedCell(47.3, 52.7, 0.24),
    ),
    PublishedRow(
        "RestGPT", "calls", "gpt-3.5-turbo-0301", PublishedCell(68.0, 65.0, 0.72), PublishedCell(69.1, 72.3, 0.28)
    ),
    PublishedRow("RestGPT", "calls", "Llama2-13B", PublishedCell(0.0, 0.0, None), PublishedCell(0.0, 0.0, None)),
    PublishedRow("RestGPT", "calls", "Vicuna-13B", PublishedCell(9.0, 15.0, 1.21), PublishedCell(12.7, 20.6, 1.52)),
)
"""Table 4 of arXiv 2306.06624v2: judged by people on the live APIs, TMDB n = 100, Spotify n = 57 (part of it 55).

The paper's agent makes its calls one by one, as our method `calls` does.
"""


@dataclass(frozen=True, slots=True)
class Run:
    """A run that was read: its settings and records."""

    folder: Path
    settings: RunSettings
    records: tuple[Record, ...]

    @classmethod
    def read(cls, path: Path) -> "Run":
        """Read a run folder; raises `RunFolderError`."""
        folder = RunFolder.read(path)
        return cls(path, folder.settings(), tuple(folder.records()))

    @property
    def scenario(self) -> str:
        """The world that the suite is about."""
        return PUBLISHED.get(self.settings.suite) or OWN.get(self.settings.suite, "")

    @property
    def score(self) -> Score:
        """All metrics."""
        return score(self.records)


@dataclass(frozen=True, slots=True)
class Table:
    """A table to print: title, columns, rows, and `notes` to print below it."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()


def tables(runs: Sequence[Run]) -> list[Table]:
    """Everything that a report prints."""
    return [table_4(runs), detail(runs), lengths(runs), modules(runs), failures(runs)]


def table_4(runs: Sequence[Run]) -> Table:
    """The published rows, each with our runs of the same method below it."""
    rows: list[tuple[str, ...]] = []
    shown: set[str] = set()
    for row in TABLE_4:
        cells = [cell for scenario in SCENARIOS for cell in _published_cells(getattr(row, scenario))]
        rows.append((row.name, f"paper, {row.model}", *cells))
        if row.label not in shown:
            shown.add(row.label)
            rows += [_our_row(run) for run in runs if run.settings.label == row.label]
    rows += [_our_row(run) for run in runs if run.settings.label not in shown]
    metrics = ("Success %", "CP %", "Δ len")
    columns = ("method", "source", *(f"{scenario} {metric}" for scenario in SCENARIOS for metric in metrics))
    notes = (
        "paper: judged by people on the live APIs; TMDB n = 100, Spotify n = 57 (some of its figures are out of 55).",
        "ours: judged by machine on simulated APIs; 95 % intervals of Wilson; CP is strict: the published path as a "
        "subsequence of the calls answered with 2xx. Figures of another suite or model are not comparable.",
    )
    return Table("Table 4: success, correct path, extra calls", columns, tuple(rows), notes)


def _published_cells(cell: PublishedCell) -> tuple[str, str, str]:
    return f"{cell.success:.1f}", f"{cell.correct_path:.1f}", _delta(cell.delta)


def _our_row(run: Run) -> tuple[str, ...]:
    settings, result = run.settings, run.score
    noise = "" if settings.noise is None else f", +{settings.noise} noise"
    source = f"ours, {settings.model}, {settings.suite}, seed {settings.seed}{noise}, n = {result.n}"
    ours = (percent(result.success), percent(result.correct_path), _delta(result.delta))
    cells = [cell for scenario in SCENARIOS for cell in (ours if scenario == run.scenario else ("", "", ""))]
    if run.scenario not in SCENARIOS:
        source += f": success {percent(result.success)}, CP {percent(result.correct_path)}"
    return (settings.label, source, *cells)


def percent(share: Proportion) -> str:
    """A share in percent with its interval."""
    if not share.n:
        return "–"
    low, high = share.interval
    return f"{100 * share.rate:.1f} [{100 * low:.0f}, {100 * high:.0f}]"


def _delta(value: float | None) -> str:
    return "–" if value is None else f"{value:+.2f}"


def detail(runs: Sequence[Run]) -> Table:
    """The stricter and the looser metrics, and what a task cost."""
    rows = []
    for run in runs:
        found = run.score
        offered = sorted({record.offered for record in run.records})
        rows.append(
            (
                describe(run.settings),
                str(found.n),
                str(found.failures),
                *map(
                    percent,
                    (found.success, found.correct_path, found.correct_path_any, found.relaxed_path),
                ),
                _delta(found.delta),
                "–".join(map(str, dict.fromkeys((*offered[:1], *offered[-1:])))),
                f"{found.model_calls:.1f}",
                f"{found.input_tokens:.0f}",
                f"{found.output_tokens:.0f}",
                f"{found.wall_s:.2f}",
                f"{found.cpu_s:.3f}",
            )
        )
    columns = ("run", "n", "broke off", "Success %", "CP % strict", "CP % any status", "CP % relaxed", "Δ len")
    costs = ("operations", "model calls", "tokens in", "tokens out", "wall s", "own CPU s")
    notes = ("Costs are means per task; own CPU is that of the thread that runs the graph.",)
    return Table("All metrics", columns + costs, tuple(rows), notes)


def lengths(runs: Sequence[Run]) -> Table:
    """Success by the length of the published path (figure 4 a, b)."""
    known = sorted({length for run in runs for length in by_length(run.records)})
    rows = []
    for run in runs:
        found = by_length(run.records)
        cells = [
            f"{percent(found[length].success)} n = {found[length].n}" if length in found else "" for length in known
        ]
        rows.append((describe(run.settings), *cells))
    return Table("Success % by gold length", ("run", *map(str, known)), tuple(rows))


def modules(runs: Sequence[Run]) -> Table:
    """Tasks by the module that failed (figure 3)."""
    rows = []
    for run in runs:
        found = breakdown(run.records)
        rows.append(
            (describe(run.settings), str(len(run.records)), *(_of(found[name], len(run.records)) for name in MODULES))
        )
    return Table("Errors by module", ("run", "n", *MODULES), tuple(rows), ("none: no error; run: it broke off.",))


def _of(count: int, n: int) -> str:
    return f"{count} ({100 * count / n:.0f} %)" if n else "0"


def failures(runs: Sequence[Run]) -> Table:
    """Each task that failed, with the module, the rule and the judge's reason."""
    rows = []
    for run in runs:
        for record in run.records:
            if not record.success:
                found = attribute(record)
                rows.append(
                    (
                        describe(run.settings),
                        record.key,
                        found.module,
                        found.rule,
                        _short(record.why),
                        _short(record.answer),
                    )
                )
    return Table("Failed tasks", ("run", "task", "module", "rule", "why", "answer"), tuple(rows))


def _short(text: str, limit: int = 90) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def document(runs: Sequence[Run]) -> dict[str, Any]:
    """The same as one JSON document."""
    return {
        "paper": [
            {"method": row.name, "model": row.model, **{name: _cell(getattr(row, name)) for name in SCENARIOS}}
            for row in TABLE_4
        ],
        "runs": [_run(run) for run in runs],
    }


def _cell(cell: PublishedCell) -> dict[str, Any]:
    return {"success": cell.success, "correct_path": cell.correct_path, "delta": cell.delta}


def _run(run: Run) -> dict[str, Any]:
    return {
        "folder": str(run.folder),
        "scenario": run.scenario,
        "settings": run.settings.to_json(),
        "score": score_document(run.score),
        "by_length": {str(length): score_document(found) for length, found in by_length(run.records).items()},
        "by_module": breakdown(run.records),
        "tasks": [_task(record) for record in run.records],
    }


def _task(record: Record) -> dict[str, Any]:
    found = attribute(record)
    return {"key": record.key, "success": record.success, "why": record.why, "module": found.module, "rule": found.rule}


def score_document(found: Score) -> dict[str, Any]:
    """A score as plain JSON, each share with n and its interval."""
    return {name: _value(getattr(found, name)) for name in Score.__dataclass_fields__}


def _value(value: Any) -> Any:
    if isinstance(value, Proportion):
        return {"hits": value.hits, "n": value.n, "rate": value.rate, "interval": list(value.interval)}
    return value


def text(found: Sequence[Table]) -> str:
    """Tables as plain text, in columns."""
    return "\n\n".join(_text(table) for table in found if table.rows)


def _text(table: Table) -> str:
    lines = [table.columns, *table.rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(table.columns))]
    aligned = [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    ]
    rule = "  ".join("-" * width for width in widths)
    return "\n".join([table.title, "", aligned[0], rule, *aligned[1:], *table.notes])
