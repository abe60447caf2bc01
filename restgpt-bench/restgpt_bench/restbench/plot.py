"""The paper's figures 3 and 4 for runs of ours, drawn with matplotlib (the extra `plot`)."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from restgpt.tools.errors import BENCH, StoppingError, extra_command
from restgpt_bench.restbench.attribution import MODULES, breakdown
from restgpt_bench.restbench.metrics import Score, by_length
from restgpt_bench.restbench.report import SCENARIOS, Run
from restgpt_bench.restbench.run import describe

COLOURS: Mapping[str, str] = {
    "planner": "#7b5ea7",
    "selector": "#3f7fbf",
    "caller": "#e3a23a",
    "parser": "#c8553d",
    "none": "#7fb77e",
    "run": "#9a9a9a",
}
MARKS = "osD^vP*X"


class PlotError(StoppingError):
    """Nothing can be drawn; the message says what is missing."""


def draw(runs: Sequence[Run], out: Path) -> list[Path]:
    """Draw what the runs give into a folder; returns the files. Raises `PlotError` without matplotlib or records."""
    runs = [run for run in runs if run.records]
    if not runs:
        raise PlotError("The runs hold no finished task, so there is nothing to draw.")
    plt = _pyplot()
    out.mkdir(parents=True, exist_ok=True)
    drawn = [_errors(plt, runs, out / "figure3-errors.png")]
    for scenario in dict.fromkeys((*SCENARIOS, *(run.scenario for run in runs))):
        of_scenario = [run for run in runs if run.scenario == scenario]
        # Lengths are compared over the same operations, where there are such runs.
        whole = [run for run in of_scenario if run.settings.noise is None] or of_scenario
        if whole:
            drawn.append(_lengths(plt, whole, out / f"figure4-length-{scenario}.png", scenario))
        series = operations(of_scenario)
        if any(len(points) > 1 for points in series.values()):
            drawn.append(_operations(plt, series, out / f"figure4-operations-{scenario}.png", scenario))
    return drawn


def _pyplot() -> ModuleType:
    """Matplotlib, drawing to files only."""
    try:
        import_module("matplotlib").use("Agg")
    except ImportError:
        raise PlotError(f"Drawing needs matplotlib: {extra_command('plot', BENCH)}") from None
    return import_module("matplotlib.pyplot")


def _errors(plt: Any, runs: Sequence[Run], path: Path) -> Path:
    """Figure 3: the share of tasks by the module that failed, a bar per run."""
    figure, axes = plt.subplots(figsize=(10, 1.6 + 0.6 * len(runs)), layout="constrained")
    labels = [_named(run) for run in runs]
    left = [0.0] * len(runs)
    for module in MODULES:
        shares = [100 * breakdown(run.records)[module] / len(run.records) for run in runs]
        if any(shares):
            axes.barh(labels, shares, left=left, color=COLOURS[module], label=_legend(module))
        left = [before + share for before, share in zip(left, shares, strict=True)]
    axes.invert_yaxis()
    axes.set(xlim=(0, 100), xlabel="tasks (%)")
    figure.suptitle("Errors by module (figure 3)")
    figure.legend(loc="outside lower center", ncols=len(MODULES), frameon=False)
    return _saved(plt, figure, path)


def _named(run: Run) -> str:
    """A run in two lines, with n."""
    name, _, rest = describe(run.settings).partition(" · ")
    return f"{name} (n = {len(run.records)})\n{rest}"


def _legend(module: str) -> str:
    return {"none": "no error", "run": "broke off"}.get(module, f"{module} error")


def _lengths(plt: Any, runs: Sequence[Run], path: Path, scenario: str) -> Path:
    """Figure 4 (a), (b): success against the length of the published path, a line per run."""
    figure, axes = plt.subplots(figsize=(7, 5 + 0.3 * len(runs)), layout="constrained")
    for number, run in enumerate(runs):
        found = by_length(run.records)
        _line(axes, [float(length) for length in found], list(found.values()), _named(run), number)
    axes.set_xticks(sorted({length for run in runs for length in by_length(run.records)}))
    axes.set_xlabel("gold path length")
    return _success(plt, figure, axes, path, f"{scenario}: success by gold path length (figure 4)")


def operations(runs: Sequence[Run]) -> dict[str, list[tuple[int, Score]]]:
    """Success by the number of operations that the agent was offered: a series per method, model and suite."""
    series: dict[str, list[tuple[int, Score]]] = {}
    for run in runs:
        settings = run.settings
        label = f"{settings.label} · {settings.suite} · {settings.model}"
        offered = max((record.offered for record in run.records), default=0)
        series.setdefault(label, []).append((offered, run.score))
    return {label: sorted(points, key=lambda point: point[0]) for label, points in series.items()}


def _operations(plt: Any, series: Mapping[str, Sequence[tuple[int, Score]]], path: Path, scenario: str) -> Path:
    """Figure 4 (c): success against the number of operations, a line per method."""
    figure, axes = plt.subplots(figsize=(7, 5 + 0.3 * len(series)), layout="constrained")
    for number, (label, points) in enumerate(series.items()):
        counts = sorted({score.n for _, score in points})
        shown = f"{label} (n = {'–'.join(map(str, dict.fromkeys((counts[0], counts[-1]))))})"
        _line(axes, [float(count) for count, _ in points], [score for _, score in points], shown, number)
    axes.set_xlabel("number of operations")
    return _success(plt, figure, axes, path, f"{scenario}: success by number of operations (figure 4 c)")


def _line(axes: Any, places: Sequence[float], scores: Sequence[Score], label: str, number: int) -> None:
    """One line with the 95 % intervals."""
    rates = [100 * score.success.rate for score in scores]
    low = [max(0.0, rate - 100 * score.success.interval[0]) for rate, score in zip(rates, scores, strict=True)]
    high = [max(0.0, 100 * score.success.interval[1] - rate) for rate, score in zip(rates, scores, strict=True)]
    # A little apart, so that the intervals of several lines do not hide each other.
    shifted = [place + 0.03 * number for place in places]
    axes.errorbar(shifted, rates, yerr=[low, high], marker=MARKS[number % len(MARKS)], capsize=3, label=label)


def _success(plt: Any, figure: Any, axes: Any, path: Path, title: str) -> Path:
    axes.set_ylim(-4, 104)
    axes.set_ylabel("success rate (%), with 95 % intervals")
    axes.set_title(title)
    axes.grid(alpha=0.3)
    figure.legend(loc="outside lower center", fontsize="small", frameon=False)
    return _saved(plt, figure, path)


def _saved(plt: Any, figure: Any, path: Path) -> Path:
    figure.savefig(path, dpi=150)
    plt.close(figure)
    return path
