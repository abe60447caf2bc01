"""Guards the measure of recipes: what it counts as saved, equal, right, refused and wrong."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from langchain_core.messages import HumanMessage

from lab.recipes.__main__ import main
from lab.recipes.measure import Elsewhere, Measure, Measured, ModelCalledError, NoModel, Summary
from restgpt_bench.restbench.judges.answer import Verdict
from restgpt_bench.restbench.suite import open_suite


@pytest.mark.slow
def test_the_toy_suite_is_saved_repeated_and_right_elsewhere() -> None:
    for measured in Measure(open_suite("dev-toy").only(["owner", "add"]), pause=0).run():
        assert (measured.solved, measured.saved, measured.equal, measured.problem) == (True, True, True, "")
        assert measured.first_ms is not None
        assert measured.again_ms is not None
        assert measured.fastest_ms is not None
        assert measured.fastest_ms <= measured.again_ms + 0.1
        assert [run.outcome for run in measured.elsewhere] == ["right", "right"]
        assert {run.way for run in measured.elsewhere} == {
            "names" if measured.recipe["inputs"]["properties"] else "data"
        }


def test_a_run_that_the_judge_does_not_pass_is_wrong() -> None:
    suite = open_suite("dev-toy").only(["open"])
    item = suite.items[0]
    solved: list[bool] = []

    def check(world: object, log: object, answer: str) -> Verdict:
        solved.append(len(solved) == 0)
        return Verdict(solved[-1], "as this test says")

    strict = replace(suite, items=(replace(item, task=replace(item.task, check=check)),))
    measured = Measure(strict, pause=0).run()[0]
    assert measured.equal
    assert {run.outcome for run in measured.elsewhere} == {"wrong"}


def test_a_task_that_the_model_does_not_solve_is_not_counted_as_unsavable() -> None:
    suite = open_suite("dev-toy").only(["hours"])
    item = suite.items[0]
    failing = replace(item.task, check=lambda world, log, answer: Verdict(False, "never"))
    measured = Measure(replace(suite, items=(replace(item, task=failing),)), pause=0).run()[0]
    assert not measured.solved
    assert Summary.of([measured]).solved == 0


def test_a_recipe_that_asks_a_model_breaks_the_measure() -> None:
    with pytest.raises(ModelCalledError):
        NoModel().invoke([HumanMessage("Who are you?")])


def test_the_summary_counts_runs_and_takes_the_median_of_times() -> None:
    runs = (
        Elsewhere({}, 0, "names", (), "right", ""),
        Elsewhere({}, 0, "names", (), "wrong", ""),
        Elsewhere({}, 1, "data", (), "refused", ""),
    )
    times = {"first_ms": 10, "again_ms": 4, "fastest_ms": 3}
    first = Measured("s", "1", solved=True, saved=True, equal=True, elsewhere=runs, **times)
    rest = [
        replace(first, first_ms=30, again_ms=6, fastest_ms=4, elsewhere=()),
        replace(first, saved=False, equal=False, first_ms=None, again_ms=None, fastest_ms=None, elsewhere=()),
    ]
    summary = Summary.of([first, *rest])
    assert (summary.tasks, summary.solved, summary.saved, summary.equal) == (3, 3, 2, 2)
    assert (summary.first_ms, summary.again_ms, summary.fastest_ms) == (20, 5, 3.5)
    assert (summary.elsewhere, summary.right, summary.refused, summary.wrong, summary.by_names) == (3, 1, 1, 1, 2)


def test_the_command_prints_a_table_and_writes_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "found.json"
    assert main(["--suite", "dev-toy", "--only", "open", "--out", str(file)]) == 0
    printed = capsys.readouterr()
    assert printed.out.splitlines()[1].split("  ")[:2] == ["dev-toy", "1"]
    assert "dev-toy open = ++" in printed.err
    report = json.loads(file.read_text())
    assert (report["summary"]["all"]["right"], report["tasks"][0]["key"]) == (2, "open")


def test_a_suite_that_cannot_be_read_is_an_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("RESTGPT_DATA", raising=False)
    assert main(["--suite", "restbench-tmdb"]) == 2
    assert "RESTGPT_DATA" in capsys.readouterr().err
