"""Guards the figures: which are drawn from which runs, and what is said without matplotlib or records."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest
from benchrecords import FIND, READ, record, settings

from restgpt_bench.restbench.plot import PlotError, draw, operations
from restgpt_bench.restbench.report import Run


def a_run(*, suite: str = "dev-tmdb", method: str = "restgpt", offered: int = 54, noise: int | None = None) -> Run:
    records = (
        record(key="1", success=True, offered=offered),
        record(key="2", gold=(FIND,), offered=offered),
        record(key="3", gold=(FIND, READ, READ), offered=offered, told=False),
    )
    return Run(Path("runs/x"), settings(suite=suite, method=method, noise=noise), records)


def test_figures_3_and_4_are_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    runs = [a_run(), a_run(method="react"), a_run(suite="dev-spotify")]
    runs += [a_run(noise=count, offered=10 + count) for count in (0, 30, 60)]
    drawn = draw(runs, tmp_path / "figures")
    assert [path.name for path in drawn] == [
        "figure3-errors.png",
        "figure4-length-tmdb.png",
        "figure4-operations-tmdb.png",
        "figure4-length-spotify.png",
    ]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in drawn)


def test_runs_of_one_method_make_a_series_over_the_number_of_operations() -> None:
    runs = [a_run(noise=60, offered=70), a_run(noise=0, offered=10), a_run(method="react")]
    series = operations(runs)
    assert [[count for count, _ in points] for points in series.values()] == [[10, 70], [54]]


def test_runs_without_a_record_are_refused(tmp_path: Path) -> None:
    with pytest.raises(PlotError, match="no finished task"):
        draw([replace(a_run(), records=())], tmp_path)


def test_without_matplotlib_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(PlotError, match=r"restgpt-bench\[plot\]"):
        draw([a_run()], tmp_path)
