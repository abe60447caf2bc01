"""Guards the measure of search: what counts as found, and how good the search is."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from restgpt.specs import Api, Catalogue, SpecError, load_api
from restgpt_bench.retrieval.instructions import PARTS, Part, Task, read_rows, read_world
from restgpt_bench.retrieval.measure import compare, score, total
from restgpt_bench.retrieval.plain_bm25 import PlainBm25

SUMMARIES = {"/films": "Find films", "/films/{film_id}/reviews": "Reviews of a film", "/towns": "List towns"}


def needs(*groups: str | Sequence[str]) -> tuple[frozenset[str], ...]:
    return tuple(frozenset([group] if isinstance(group, str) else group) for group in groups)


@pytest.fixture
def films() -> Api:
    paths = {path: {"get": {"summary": text, "responses": {}}} for path, text in SUMMARIES.items()}
    return load_api({"openapi": "3.1.0", "info": {"title": "Films", "version": "1"}, "paths": paths})


def test_found_is_a_task_whose_operations_all_rank_high_enough(films: Api) -> None:
    found = Task("reviews of a film", needs("GET /films", "GET /films/{film_id}/reviews"))
    half = Task("the towns", needs("GET /towns", "GET /nowhere"))
    figures = score(Catalogue([films]).search, films, [found, half])
    assert (figures.whole[10], figures.recall[10]) == (0.5, 0.75)


def test_one_of_several_alternatives_suffices(films: Api) -> None:
    either = Task("the towns", needs(["GET /towns", "GET /nowhere"]))
    assert score(Catalogue([films]).search, films, [either]).whole[5] == 1


def test_the_operations_of_another_api_are_not_taken_for_ones_own(films: Api) -> None:
    nothing = load_api({"openapi": "3.1.0", "info": {"title": "Nothing", "version": "1"}, "paths": {}})
    row = compare(Part("nothing", nothing, (Task("find films", needs("GET /films")),)), [films])
    assert (row.ours.whole[10], row.plain.whole[10], row.operations) == (0, 0, 3)


def test_plain_bm25_knows_words_only(films: Api) -> None:
    plain = PlainBm25(films.operations)
    assert [item.path for item in plain.search("List the TOWNS", 5)] == ["/towns"]
    assert plain.search("town", 5) == []


def test_a_total_counts_every_task_once(films: Api) -> None:
    one = compare(Part("one", films, (Task("towns", needs("GET /towns")),)))
    two = compare(Part("two", films, (Task("zzz", needs("GET /towns")),) * 3))
    joined = total("all", [one, two])
    assert (joined.ours.tasks, joined.ours.whole[10], joined.operations) == (4, 0.25, 6)


def test_stray_blanks_are_cleaned_and_unknown_steps_name_the_file(films: Api, tmp_path: Path) -> None:
    (tmp_path / "films_oas.json").write_text(
        json.dumps({"openapi": "3.1.0", "info": {"title": "Films"}, "paths": {"/films": {"get": {}}}})
    )
    tasks = tmp_path / "films.json"
    tasks.write_text(json.dumps([{"query": "Films?", "solution": [" GET  /films "]}]))
    assert read_world("films", tmp_path).tasks == (Task("Films?", needs("GET /films")),)
    tasks.write_text(json.dumps([{"query": "Films?", "solution": ["GET /cinemas"]}]))
    with pytest.raises(SpecError, match=r"films\.json"):
        read_world("films", tmp_path)


def test_a_row_that_names_an_unknown_operation_is_refused(films: Api) -> None:
    row = {"instruction": "x", "operations": ["GET /films", ["GET /towns", "GET /cinemas"]]}
    with pytest.raises(SpecError, match="GET /cinemas"):
        read_rows("films", films, [row])


@pytest.mark.parametrize("part", PARTS)
def test_every_row_of_our_set_is_complete(part: str) -> None:
    path = Path(__file__).parents[3] / "restgpt-bench" / "restgpt_bench" / "retrieval" / f"{part}.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    documents = len({row["document"] for row in rows})
    assert (len(rows), documents) == ((24, 3) if part.startswith("changes") else (72, 6))
    assert all(row["instruction"].strip() and row["operations"] for row in rows)


@pytest.mark.parametrize(("world", "least"), [("tmdb", 0.75), ("spotify", 0.80)])
def test_search_finds_the_steps_of_the_published_instructions(data_folder: Path, world: str, least: float) -> None:
    part = read_world(world, data_folder / "restbench")
    assert score(Catalogue([part.api]).search, part.api, part.tasks).whole[10] >= least
