"""Guards the report: the published figures as the paper prints them, ours beside them, n and intervals always shown."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from benchrecords import FIND, record, settings

from restgpt_bench.restbench.record import RunFolder, RunSettings
from restgpt_bench.restbench.report import (
    TABLE_4,
    Run,
    detail,
    document,
    failures,
    lengths,
    modules,
    table_4,
    tables,
    text,
)

TMDB = settings(suite="restbench-tmdb", model="openai:some")


def ours(chosen: RunSettings = TMDB, *, right: int = 3, wrong: int = 1) -> Run:
    good = [record(key=str(number), success=True) for number in range(right)]
    bad = [record(key=str(right + number), gold=(FIND,)) for number in range(wrong)]
    return Run(Path("runs/x"), chosen, (*good, *bad))


def test_the_published_table_is_that_of_the_paper() -> None:
    rows = table_4([]).rows
    assert len(rows) == len(TABLE_4) == 10
    assert ("RestGPT", "paper, text-davinci-003", "75.0", "79.0", "+0.55", "72.7", "74.5", "+0.25") in rows
    assert ("Offline", "paper, text-davinci-003", "29.0", "33.0", "+1.52", "14.5", "36.4", "+1.10") in rows
    assert ("RestGPT", "paper, Llama2-13B", "0.0", "0.0", "–", "0.0", "0.0", "–") in rows
    # The paper itself says that RestGPT without its planner is ReAct.
    cells = {row[0]: row[2:] for row in rows[:7]}
    assert cells["ReAct"] == cells["RestGPT w/o planner"]


@pytest.mark.parametrize(
    ("chosen", "above"),
    [
        (replace(TMDB, method="calls"), "RestGPT"),
        (replace(TMDB, method="react"), "ReAct"),
        (replace(TMDB, method="calls", ablations=("parser",)), "RestGPT w/o parser"),
    ],
)
def test_our_row_stands_below_the_published_row_of_its_method_or_at_the_end(chosen: RunSettings, above: str) -> None:
    rows = table_4([ours(chosen)]).rows
    place = next(number for number, row in enumerate(rows) if row[1].startswith("ours"))
    assert rows[place - 1][0] == above
    assert rows[place][2] == "75.0 [30, 95]"
    assert rows[place][5:] == ("", "", "")
    assert "n = 4" in rows[place][1]
    assert "openai:some" in rows[place][1]
    assert table_4([ours(replace(TMDB, ablations=("closure",)))]).rows[-1][0] == "restgpt w/o closure"


def test_every_table_says_n() -> None:
    runs = [ours(), ours(settings(suite="dev-spotify"), right=0, wrong=2)]
    for table in (detail(runs), modules(runs)):
        place = table.columns.index("n")
        assert [row[place] for row in table.rows] == ["4", "2"]
    assert all(cell == "" or "n = " in cell for row in lengths(runs).rows for cell in row[1:])
    assert all("n = " in row[1] for row in table_4(runs).rows if row[1].startswith("ours"))


def test_each_failed_task_is_listed_with_module_rule_and_reason() -> None:
    rows = failures([ours(wrong=2)]).rows
    assert [row[1:4] for row in rows] == [("3", "planner", "answered wrongly"), ("4", "planner", "answered wrongly")]
    assert rows[0][4] == "not as wanted"


def test_the_text_is_aligned_and_leaves_empty_tables_out() -> None:
    printed = text(tables([ours(wrong=0)]))
    assert "Failed tasks" not in printed
    assert "Table 4" in printed
    assert re.search(r"^restgpt  +ours, openai:some", printed, flags=re.MULTILINE)


def test_the_document_holds_hits_n_and_interval() -> None:
    run = document([ours()])["runs"][0]
    assert run["score"]["success"]["hits"] == 3
    assert run["score"]["success"]["n"] == 4
    assert len(run["score"]["success"]["interval"]) == 2
    assert run["by_length"]["2"]["n"] == 3
    assert run["by_module"] == {"planner": 1, "selector": 0, "caller": 0, "parser": 0, "none": 3, "run": 0}
    assert run["tasks"][3]["rule"] == "answered wrongly"
    assert document([])["paper"][4] == {
        "method": "RestGPT",
        "model": "text-davinci-003",
        "tmdb": {"success": 75.0, "correct_path": 79.0, "delta": 0.55},
        "spotify": {"success": 72.7, "correct_path": 74.5, "delta": 0.25},
    }


def test_a_run_is_read_from_its_folder(tmp_path: Path) -> None:
    folder = RunFolder.open(tmp_path / "run", TMDB)
    folder.write(record(key="7", success=True))
    run = Run.read(tmp_path / "run")
    assert (run.scenario, run.score.n, run.records[0].key) == ("tmdb", 1, "7")
