"""Guards the run folder: records are whole, nothing is mixed, one process at a time."""

import json
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest
from benchrecords import record, settings

from restgpt_bench.restbench.record import Failure, Record, RunFolder, RunFolderError, RunSettings, default_folder


def test_a_record_comes_back_as_it_was_written(tmp_path: Path) -> None:
    folder = RunFolder.open(tmp_path / "run", settings())
    written = replace(record(alternatives=[("GET /search",)]), failure=Failure("Broken", "at x.py:3"), answer="Amélie")
    folder.write(written)
    read = RunFolder.read(tmp_path / "run").records()
    assert [item.to_json() for item in read] == [written.to_json()]
    assert json.loads((tmp_path / "run" / "tasks" / "1.json").read_text())["settings"] == settings().to_json()
    assert isinstance(read[0], Record)
    assert read[0].paths == written.paths
    assert read[0].failure == written.failure


def test_settings_come_back_as_they_were_written(tmp_path: Path) -> None:
    given = settings(ablations=("parser",), noise=3, only=("a", "b"), context={"max_steps": 5}, prompts={"x": "1"})
    folder = RunFolder.open(tmp_path / "run", given)
    assert folder.settings() == given
    assert given.label == "restgpt w/o parser"


@pytest.mark.parametrize(
    "changed",
    [{"seed": 1}, {"method": "react"}, {"prompts": {"planner": "2"}}, {"ablations": ("parser",)}, {"noise": 0}],
)
def test_a_run_with_other_settings_is_refused_by_name(tmp_path: Path, changed: dict[str, object]) -> None:
    first = settings(prompts={"planner": "1"})
    RunFolder.open(tmp_path / "run", first)
    RunFolder.open(tmp_path / "run", first)
    with pytest.raises(RunFolderError, match=next(iter(changed))):
        RunFolder.open(tmp_path / "run", replace(first, **changed))


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(RunFolderError, match="something else"):
        RunFolder.open(tmp_path, settings())
    with pytest.raises(RunFolderError, match="no run"):
        RunFolder.read(tmp_path)


def test_half_written_files_of_a_killed_process_are_not_read(tmp_path: Path) -> None:
    folder = RunFolder.open(tmp_path / "run", settings())
    folder.write(record(key="1"))
    (folder.path / "tasks" / ".2.json.partial").write_text('{"key": "2", ')
    assert folder.keys() == {"1"}
    folder.write(record(key="2"))
    assert folder.keys() == {"1", "2"}


def test_a_key_cannot_leave_the_folder(tmp_path: Path) -> None:
    folder = RunFolder.open(tmp_path / "run", settings())
    folder.write(record(key="../../escaped"))
    assert folder.keys() == {"../../escaped"}
    assert [path.parent for path in tmp_path.rglob("*escaped*")] == [folder.path / "tasks"]


def test_records_are_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    folder = RunFolder.open(tmp_path / "run", settings())
    for key in ("10", "9", "100"):
        folder.write(record(key=key))
    assert [item.key for item in folder.records()] == ["9", "10", "100"]


def test_two_writers_exclude_each_other(tmp_path: Path) -> None:
    folder = RunFolder.open(tmp_path / "run", settings())
    with folder.locked(), pytest.raises(RunFolderError, match="Another process"), RunFolder(folder.path).locked():
        pass
    with folder.locked():
        pass


def test_the_default_folder_tells_runs_apart_and_finds_the_same_again() -> None:
    now = datetime(2023, 12, 1, 9)
    runs = [
        settings(),
        settings(seed=1),
        settings(method="react"),
        settings(ablations=("parser",)),
        settings(noise=10),
        settings(model="openai:other/model"),
    ]
    folders = [default_folder(run, now=now) for run in runs]
    assert len(set(folders)) == len(runs)
    assert folders[0] == default_folder(RunSettings.from_json(runs[0].to_json()), now=now)
    assert all(folder.parent == Path("runs") and folder.name.startswith("2023-12-01-") for folder in folders)
