"""Guards the suites: what they hold, and what is said when the published data is not there."""

from collections import Counter
from pathlib import Path

import pytest

from restgpt_bench.restbench.suite import NAMES, PUBLISHED, SuiteError, open_suite
from restgpt_bench.worlds import open_world


@pytest.mark.parametrize(("name", "count"), [("dev-tmdb", 15), ("dev-spotify", 15), ("dev-toy", 5)])
def test_own_suites_need_no_data(name: str, count: int) -> None:
    suite = open_suite(name)
    assert len(suite.items) == count
    assert all(item.instruction and item.gold == item.task.gold for item in suite.items)


@pytest.mark.parametrize(
    ("name", "lengths"),
    [("restbench-tmdb", {1: 5, 2: 66, 3: 27, 4: 2}), ("restbench-spotify", {1: 8, 2: 18, 3: 22, 4: 9})],
)
def test_published_suites_have_the_lengths_of_the_papers_table_2(
    name: str, lengths: dict[int, int], data_folder: Path
) -> None:
    suite = open_suite(name, data=data_folder)
    assert Counter(len(item.gold) for item in suite.items) == lengths
    assert [item.key for item in suite.items] == [str(number) for number in range(sum(lengths.values()))]


@pytest.mark.parametrize("name", PUBLISHED)
def test_every_published_gold_step_is_an_operation_of_the_world(name: str, data_folder: Path) -> None:
    suite = open_suite(name, data=data_folder)
    api = open_world(suite.world).api
    assert [step for item in suite.items for path in item.paths for step in path if api.lookup(step) is None] == []


def test_absent_data_is_named_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match=r"RESTGPT_DATA.*dev-tmdb"):
        open_suite("restbench-tmdb")
    with pytest.raises(SuiteError, match=r"tmdb\.json"):
        open_suite("restbench-tmdb", data=tmp_path)


def test_a_file_with_other_instructions_is_refused(tmp_path: Path) -> None:
    (tmp_path / "restbench").mkdir()
    path = tmp_path / "restbench" / "tmdb.json"
    path.write_text('[{"query": "What?", "solution": ["GET /me"]}]')
    with pytest.raises(SuiteError, match="1 instructions, but 100"):
        open_suite("restbench-tmdb", data=tmp_path)
    path.write_text("not JSON")
    with pytest.raises(SuiteError, match="not JSON"):
        open_suite("restbench-tmdb", data=tmp_path)


def test_an_unknown_suite_or_task_names_the_known_ones() -> None:
    with pytest.raises(SuiteError, match="dev-tmdb"):
        open_suite("imagenet")
    with pytest.raises(SuiteError, match=r"owner.*delete"):
        open_suite("dev-toy").only(["owner", "nothing"])
    assert [item.key for item in open_suite("dev-toy").only(["add", "owner", "add"]).items] == ["add", "owner"]
    assert set(PUBLISHED) < set(NAMES)
