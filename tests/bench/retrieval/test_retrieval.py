"""Guards the measure of search: what it counts as found, what it needs, and that search stays as good as it was."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from restgpt.bench.restbench.retrieval import Task, read_tasks, score
from restgpt.specs import Api, Catalogue, SpecError, load_api

SUMMARIES = {"/films": "Find films", "/films/{film_id}/reviews": "Reviews of a film", "/towns": "List towns"}


@pytest.fixture
def films() -> Api:
    paths = {path: {"get": {"summary": text, "responses": {}}} for path, text in SUMMARIES.items()}
    return load_api({"openapi": "3.1.0", "info": {"title": "Films", "version": "1"}, "paths": paths})


def test_found_is_a_task_whose_operations_all_rank_high_enough(films: Api) -> None:
    found = Task("reviews of a film", frozenset({"GET /films", "GET /films/{film_id}/reviews"}))
    half = Task("the towns", frozenset({"GET /towns", "GET /nowhere"}))
    figures = score(Catalogue([films]), films, [found, half])
    assert (figures["all@10"], figures["recall@10"]) == (0.5, 0.75)


def test_the_operations_of_another_api_are_not_taken_for_ones_own(films: Api) -> None:
    nothing = load_api({"openapi": "3.1.0", "info": {"title": "Nothing", "version": "1"}, "paths": {}})
    figures = score(Catalogue([films, nothing]), nothing, [Task("find films", frozenset({"GET /films"}))])
    assert figures["all@10"] == 0


def test_stray_blanks_are_cleaned_and_unknown_steps_name_the_file(films: Api, tmp_path: Path) -> None:
    tasks = tmp_path / "films.json"
    tasks.write_text(json.dumps([{"query": "Films?", "solution": [" GET  /films "]}]))
    assert read_tasks(films, tasks) == [Task("Films?", frozenset({"GET /films"}))]
    tasks.write_text(json.dumps([{"query": "Films?", "solution": ["GET /cinemas"]}]))
    with pytest.raises(SpecError, match=r"films\.json"):
        read_tasks(films, tasks)


def test_without_data_the_command_says_where_it_looks() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "RESTGPT_DATA"}
    command = [sys.executable, "-m", "restgpt.bench.restbench.retrieval"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "RESTGPT_DATA" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(("world", "least"), [("tmdb", 0.75), ("spotify", 0.80)])
def test_search_finds_the_steps_of_the_published_instructions(data_folder: Path, world: str, least: float) -> None:
    folder = data_folder / "restbench"
    own = load_api(folder / f"{world}_oas.json")
    assert score(Catalogue([own]), own, read_tasks(own, folder / f"{world}.json"))["all@10"] >= least
