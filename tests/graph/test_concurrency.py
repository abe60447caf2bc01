"""Guards many threads in one process: each run's changes are its own, in memory and in SQLite."""

from pathlib import Path

import pytest

from restgpt.bench.speed.concurrency import run_many


@pytest.mark.slow
@pytest.mark.parametrize("is_kept", [False, True], ids=["memory", "sqlite"])
def test_runs_at_once_all_finish_right(is_kept: bool, tmp_path: Path) -> None:
    assert run_many(16, kept_in=tmp_path if is_kept else None).wrong == []
