"""Guards the way of a run into a recipe and out of it again: saving, proposed names, Arazzo files and graphs."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from chatserver import ChatServer
from cli import Cli, at, names
from plantrecipe import plant_recipe
from roles import program

from restgpt.recipes.book import RecipeBook
from restgpt_bench.worlds.server import WorldServer

ROOT = Path(__file__).parents[3]
PLANT = """project = create_project(body={"name": "Roof garden"})
for title in ["Buy soil", "Order seeds"]:
    create_task(project_id=project["id"], body={"title": title})
print("Created", project["name"])
"""
ONE = """project = create_project(body={"name": "Roof garden"})
task = create_task(project_id=project["id"], body={"title": "Buy soil"})
print("Created", task["title"], "in", project["name"])
"""
ASKED = "Add a project Roof garden with the tasks Buy soil and Order seeds."

Write = Callable[..., ChatServer]


@pytest.fixture
def run(cli: Cli, toy: WorldServer, write: Write) -> Callable[..., None]:
    """Let the scripted model carry out a program in the thread t."""

    def ask(code: str, *more: Any) -> None:
        write(program(code), *more)
        ran = cli("ask", ASKED, *at(toy), "--writes", "allow", "--thread", "t")
        assert ran.code == 0, ran.err

    return ask


def test_a_saved_run_runs_again_with_other_inputs_and_without_a_model(
    cli: Cli, toy: WorldServer, run: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    run(PLANT)
    saved = cli("recipe", "save", "t", "plant-project")
    assert saved.code == 0, saved.err
    assert saved.out.startswith("Saved recipes/plant-project.yaml.\nInputs:\n")
    assert 'name (string), saved with "Roof garden"' in saved.out
    assert "Not proved: a run with other inputs that goes well proves it. Run it with: restgpt recipe run" in saved.out
    monkeypatch.delenv("OPENAI_BASE_URL")
    monkeypatch.delenv("RESTGPT_MODEL")
    ran = cli(
        "recipe", "run", "plant-project", "-i", "name=Moss", "-i", 'titles=["Dig"]', *at(toy), "--writes", "allow"
    )
    assert (ran.code, ran.out) == (0, "Created Moss\n"), ran.err
    assert "Moss" in names(toy.world)
    assert RecipeBook(Path("recipes")).load("plant-project").proved


def test_the_document_of_a_saved_recipe_has_its_inputs_and_its_file(cli: Cli, run: Callable[..., None]) -> None:
    run(PLANT)
    document = cli("recipe", "save", "t", "plant-project", "--json", "--description", "Plants.").document
    assert {key: document[key] for key in ("name", "version", "file", "proved", "description")} == {
        "name": "plant-project",
        "version": 1,
        "file": "recipes/plant-project.yaml",
        "proved": "",
        "description": "Plants.",
    }
    assert set(document["inputs"]["properties"]) == {"name", "titles"}


def test_a_name_that_is_taken_gets_a_new_version(cli: Cli, run: Callable[..., None]) -> None:
    run(PLANT)
    assert cli("recipe", "save", "t", "plant-project").code == 0
    again = cli("recipe", "save", "t", "plant-project")
    assert "Saved recipes/plant-project.2.yaml as version 2; the others are kept." in again.out
    assert RecipeBook(Path("recipes")).versions("plant-project") == [1, 2]


def test_what_cannot_be_saved_says_why(cli: Cli, toy: WorldServer, write: Write) -> None:
    assert "There is no thread none." in cli("recipe", "save", "none", "a").err
    assert "'A b' is no name of a recipe." in cli("recipe", "save", "t", "A b").err
    write(program(PLANT))
    assert cli("ask", ASKED, *at(toy), "--thread", "t").code == 3
    paused = cli("recipe", "save", "t", "a")
    assert (paused.code, "is paused: a request waits for a decision." in paused.err) == (2, True)
    assert cli("recipe", "save", "t", "a", "--turn", "7").code == 2
    called = cli("call", "create_project", *at(toy), "--args", '{"body": {"name": "Fern"}}', "--approve", "--json")
    single = cli("recipe", "save", called.document["thread"], "a")
    assert "is a single call, which has no run to save." in single.err
    assert not Path("recipes").exists()


def test_a_model_may_propose_names_and_a_description(cli: Cli, run: Callable[..., None]) -> None:
    proposal = {
        "names": [{"input": "name", "name": "project"}],
        "description": "Create the project {project} with tasks {titles}.",
    }
    run(PLANT, proposal)
    saved = cli("recipe", "save", "t", "plant-project", "--suggest")
    assert saved.code == 0, saved.err
    recipe = RecipeBook(Path("recipes")).load("plant-project")
    assert set(recipe.inputs["properties"]) == {"project", "titles"}
    assert 'inputs["project"]' in recipe.program
    assert recipe.description == "Create the project {project} with tasks {titles}."


def test_a_proposal_that_never_fits_leaves_the_names_of_the_rules(cli: Cli, run: Callable[..., None]) -> None:
    wrong = {"names": [{"input": "name", "name": "no name"}], "description": "x"}
    run(PLANT, *[wrong] * 9)
    saved = cli("recipe", "save", "t", "plant-project", "--suggest")
    assert saved.code == 0
    assert "The model proposed no usable names" in saved.err
    assert "name" in RecipeBook(Path("recipes")).load("plant-project").inputs["properties"]


def test_without_a_model_the_names_are_those_of_the_rules(
    cli: Cli, run: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    run(PLANT)
    monkeypatch.delenv("OPENAI_BASE_URL")
    monkeypatch.delenv("RESTGPT_MODEL")
    saved = cli("recipe", "save", "t", "plant-project", "--suggest", "--description", "Mine.")
    assert (saved.code, "No model is configured, so the names are those" in saved.err) == (0, True)
    assert RecipeBook(Path("recipes")).load("plant-project").description == "Mine."


@pytest.mark.slow
def test_a_recipe_is_exported_as_arazzo_and_runs_from_that_file(
    cli: Cli, toy: WorldServer, run: Callable[..., None], tmp_path: Path
) -> None:
    run(ONE)
    assert cli("recipe", "save", "t", "plant-one").code == 0
    out = tmp_path / "out"
    out.mkdir()
    wrote = cli("recipe", "export", "plant-one", "--arazzo", "-o", str(out / "plant.arazzo.yaml"), *at(toy)[:2])
    assert (wrote.code, wrote.out) == (0, f"Wrote {out / 'plant.arazzo.yaml'}.\n"), wrote.err
    document = yaml.safe_load((out / "plant.arazzo.yaml").read_text())
    [source] = document["sourceDescriptions"]
    assert (out / source["url"]).resolve() == Path(at(toy)[1]).resolve()
    printed = cli("recipe", "export", "plant-one", *at(toy)[:2], "--arazzo-version", "1.0.1", "--json")
    assert printed.document["document"]["arazzo"] == "1.0.1"
    inputs = document["workflows"][0]["inputs"]["properties"]
    given = [f"--input={name}={value}" for name, value in zip(inputs, ("Moss", "Dig"), strict=True)]
    ran = cli("recipe", "run", str(out / "plant.arazzo.yaml"), *given, *at(toy), "--writes", "allow", "--thread", "a")
    assert ran.code == 0, ran.err
    assert {"Moss", "Dig"} & set(names(toy.world))
    assert cli("threads", "a", "--json").document["recipe"]["file"] == ""
    assert cli("undo", "a", "--yes").code == 0


ARAZZO = """arazzo: 1.0.1
info: {title: Boards, version: 1.0.0}
sourceDescriptions:
  - {name: team-board, url: board.yaml, type: openapi}
workflows:
  - workflowId: one
    inputs: {type: object, properties: {name: {type: string}}, required: [name]}
    steps:
      - stepId: make
        operationId: create_project
        requestBody: {contentType: application/json, payload: {name: $inputs.name}}
        successCriteria: [{condition: $statusCode == 201}]
        outputs: {id: $response.body#/id}
    outputs: {id: $steps.make.outputs.id}
  - workflowId: two
    steps:
      - {stepId: all, operationId: list_projects}
"""


def test_a_workflow_runs_by_the_entry_of_apis_yaml_with_the_name_of_its_source(
    cli: Cli, toy: WorldServer, tmp_path: Path
) -> None:
    Path("boards.arazzo.yaml").write_text(ARAZZO)
    entry = {"spec": at(toy)[1], "base_url": toy.url, "auth": {"key": "${RESTGPT_AUTH_KEY}"}}
    Path("apis.yaml").write_text(yaml.safe_dump({"team-board": entry}))
    several = cli("recipe", "run", "boards.arazzo.yaml", "--input", "name=Moss")
    assert (several.code, "name one of one, two" in several.err) == (2, True)
    ran = cli("recipe", "run", "boards.arazzo.yaml", "--workflow", "one", "-i", "name=Moss", "--writes", "allow")
    assert ran.code == 0, ran.err
    assert "Moss" in names(toy.world)
    checked = cli("recipe", "run", "boards.arazzo.yaml", "--workflow", "two", "--check")
    assert checked.code == 0, checked.err


def test_a_workflow_runs_by_the_document_beside_its_file(cli: Cli, toy: WorldServer, tmp_path: Path) -> None:
    folder = tmp_path / "flows"
    folder.mkdir()
    (folder / "boards.arazzo.yaml").write_text(ARAZZO)
    document = yaml.safe_load(Path(at(toy)[1]).read_text())
    document["servers"] = [{"url": toy.url}]
    missing = cli("recipe", "run", "flows/boards.arazzo.yaml", "--workflow", "one", "-i", "name=Moss")
    assert (missing.code, "board.yaml" in missing.err) == (2, True)
    (folder / "board.yaml").write_text(yaml.safe_dump(document))
    check = cli("recipe", "run", "flows/boards.arazzo.yaml", "--workflow", "one", "-i", "name=Moss", "--check")
    assert "create_project: POST /projects\n    document   as when it was saved" in check.out


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("arazzo: [", "cannot be read"),
        ("a: 1", "This is no Arazzo document"),
        (ARAZZO.replace("$statusCode", "$state"), "/workflows/0/steps/0"),
        (
            ARAZZO.replace("operationId: create_project", "operationId: create_projects"),
            "did you mean 'create_project'?",
        ),
        (
            ARAZZO.replace("type: openapi", "type: arazzo").replace("board.yaml", "https://x.test/y"),
            "is not downloaded.",
        ),
    ],
)
def test_an_arazzo_file_with_a_fault_says_where(cli: Cli, toy: WorldServer, text: str, told: str) -> None:
    Path("boards.arazzo.yaml").write_text(text)
    ran = cli("recipe", "run", "boards.arazzo.yaml", "--workflow", "one", "-i", "name=Moss", *at(toy))
    assert ran.code == 2, ran.out
    assert told in ran.err


def test_a_missing_arazzo_file_and_a_workflow_of_a_recipe_are_told(cli: Cli, toy: WorldServer) -> None:
    assert "There is no file none.arazzo.yaml." in cli("recipe", "run", "none.arazzo.yaml", *at(toy)).err
    assert "--workflow names a workflow of an Arazzo" in cli("recipe", "run", "a", "--workflow", "one", *at(toy)).err


def test_a_recipe_becomes_a_graph_of_langgraph_json(cli: Cli, tmp_path: Path) -> None:
    RecipeBook(tmp_path / "recipes").save(plant_recipe())
    Path("langgraph.json").write_text('{"graphs": {"mine": "./a.py:graph"}, "env": ".env"}')
    ran = cli("recipe", "graph", "plant-beds")
    assert ran.code == 0, ran.err
    config = json.loads(Path("langgraph.json").read_text())
    assert list(config["graphs"]) == ["mine", "plant-beds"]
    path, variable = config["graphs"]["plant-beds"]["path"].split(":")
    scope: dict[str, Any] = {}
    exec(compile(Path(path).read_text(), path, "exec"), scope)
    assert scope[variable].name == "plant-beds"
    assert cli("recipe", "graph", "plant-beds").code == 0
    assert RecipeBook(tmp_path / "recipes").all()[1] == []


def test_another_graph_or_file_of_that_name_is_kept(cli: Cli, tmp_path: Path) -> None:
    RecipeBook(tmp_path / "recipes").save(plant_recipe())
    Path("langgraph.json").write_text('{"graphs": {"plant-beds": "./a.py:graph"}}')
    assert "has another graph plant-beds, ./a.py:graph." in cli("recipe", "graph", "plant-beds").err
    Path("langgraph.json").write_text("{")
    assert "langgraph.json is not JSON" in cli("recipe", "graph", "plant-beds").err
    Path("langgraph.json").unlink()
    Path("recipes/plant_beds_graph.py").write_text("mine = 1\n")
    assert "exists with another content, and is kept." in cli("recipe", "graph", "plant-beds").err
    assert Path("recipes/plant_beds_graph.py").read_text() == "mine = 1\n"
    assert not Path("langgraph.json").exists()


def test_a_new_langgraph_json_keeps_foreign_pages_out_and_a_given_one_is_left_as_it_is(
    cli: Cli, tmp_path: Path
) -> None:
    RecipeBook(tmp_path / "recipes").save(plant_recipe())
    assert cli("recipe", "graph", "plant-beds").code == 0
    written = json.loads(Path("langgraph.json").read_text())["http"]
    assert written == json.loads((ROOT / "langgraph.json").read_text())["http"]
    Path("langgraph.json").write_text('{"graphs": {}}')
    assert cli("recipe", "graph", "plant-beds").code == 0
    assert json.loads(Path("langgraph.json").read_text()).keys() == {"graphs"}
