"""Guards many threads in one process: runs do not mix up their changes, in memory and in SQLite."""

from pathlib import Path

import pytest

from lab.speed.concurrency import Mode, host_many, run_many, table


@pytest.mark.slow
@pytest.mark.parametrize("is_kept", [False, True], ids=["memory", "sqlite"])
def test_runs_at_once_all_finish_right(is_kept: bool, tmp_path: Path) -> None:
    assert run_many(16, kept_in=tmp_path if is_kept else None).wrong == []


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["threads", "async"])
def test_runs_of_one_host_all_finish_right_while_it_resolves_names(mode: Mode) -> None:
    figures = host_many(8, 0.0, mode)
    assert figures.wrong == []
    assert figures.lookup_max_ms > 0
    assert "8 of 8" in table([figures])
