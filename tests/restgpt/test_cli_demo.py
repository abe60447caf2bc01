"""Guards the demo: real worlds, a visible approval, and answers that are true in the simulated world."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from chatserver import ChatServer
from cli import Cli
from roles import end, program

from restgpt.recipes.book import RecipeBook
from restgpt.recipes.recipe import Recipe
from restgpt_bench.commands.demo import recorded
from restgpt_bench.worlds import World, open_world

Model = Callable[[Mapping[str, Any]], ChatServer]

PROGRAMS = (
    'search_person(query="Sofia Coppola")\nprint("She directed some.")',
    'search_movie(query="Lord of the Rings")\nprint("Somebody did.")',
    'create_playlist(user_id=get_my_profile()["id"], body={"name": "Love Mariah"})\nprint("It is there.")',
)

needs_recording = pytest.mark.skipif(
    not Path(recorded().removeprefix("recorded:")).is_file(), reason="the demo's replies are not recorded yet"
)


def get(world: World[Any], operation: str, **arguments: Any) -> Any:
    reply = world.call(f"GET {operation}", **arguments)
    assert reply.status == 200
    return reply.body


def directors(credits: Any) -> list[dict[str, Any]]:
    return [member for member in credits["crew"] if member["job"] == "Director"]


def test_the_write_is_approved_in_sight_and_only_answers_are_on_stdout(cli: Cli, model: Model) -> None:
    model({"express": [program(code) for code in PROGRAMS]})
    ran = cli("demo", "--model", "openai:scripted")
    assert ran.code == 0, ran.err
    assert "The model is openai:scripted" in ran.err
    shown, approved = ran.err.index("Approval is needed."), ran.err.index("approved by the demo")
    assert "POST http://127.0.0.1" in ran.err[shown:approved]
    assert '"Love Mariah"' in ran.err[shown:approved]
    assert "The program waits at line 1" in ran.err[shown:approved]
    assert "→ 201" in ran.err[approved:]
    answers = [line.strip() for line in ran.out.splitlines()[1::2]]
    assert answers == ["She directed some.", "Somebody did.", "It is there."]


def test_json_holds_every_run(cli: Cli, model: Model) -> None:
    model({"express": [*(end(text, fulfilled=False) for text in ("One.", "Two.", "Three."))]})
    document = cli("demo", "--model", "openai:scripted", "--json").document
    assert (document["recorded"], document["model"]) == (False, "openai:scripted")
    assert [run["answer"] for run in document["runs"]] == ["One.", "Two.", "Three."]
    assert [run["world"] for run in document["runs"]] == ["tmdb", "tmdb", "spotify"]


@needs_recording
def test_the_recorded_answers_are_true_in_the_simulated_world(cli: Cli) -> None:
    tmdb = open_world("tmdb")
    person = get(tmdb, "/search/person", query={"query": "Sofia Coppola"})["results"][0]["id"]
    directed = directors(get(tmdb, "/person/{person_id}/movie_credits", path={"person_id": person}))
    trending = get(tmdb, "/trending/{media_type}/{time_window}", path={"media_type": "movie", "time_window": "day"})
    credits = get(tmdb, "/movie/{movie_id}/credits", path={"movie_id": trending["results"][0]["id"]})
    ran = cli("demo", "--json")
    assert ran.code == 0, ran.err
    first, second, third = ran.document["runs"]
    assert str(len(directed)) in first["answer"]
    assert directors(credits)[0]["name"] in second["answer"]
    writes = [request for step in third["steps"] for request in step["requests"] if not request["safe"]]
    assert [request["response"]["status"] for request in writes] == [201, 201]
    assert "Love Mariah" in third["answer"]


@pytest.mark.slow
@needs_recording
def test_the_demo_says_that_its_replies_are_recorded(cli: Cli) -> None:
    ran = cli("demo")
    assert ran.code == 0
    assert "replies are recorded" in ran.err
    assert "approved by the demo" in ran.err


@pytest.mark.slow
def test_the_users_own_recipes_do_not_reach_the_demo(
    cli: Cli, model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for api in ("tmdb", "spotify"):
        given = {"name": f"my-{api}", "saved": {"at": "2024-05-01"}, "apis": [{"name": api}]}
        recipe = Recipe.model_validate({**given, "program": "print(1)", "operations": []})
        RecipeBook(tmp_path / "recipes").save(recipe)
    server = model({"express": [program(code) for code in PROGRAMS]})
    cli("demo", "--model", "openai:scripted")
    assert server.requests
    assert not any("my-" in str(request) for request in server.requests)
