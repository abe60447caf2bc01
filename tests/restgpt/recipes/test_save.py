"""Guards the way of a run into a recipe and out of it again: saving, and running it again."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from chatserver import ChatServer
from cli import Cli, at, names
from roles import program

from restgpt_bench.worlds.server import WorldServer

PLANT = """project = create_project(body={"name": "Roof garden"})
for title in ["Buy soil", "Order seeds"]:
    create_task(project_id=project["id"], body={"title": title})
print("Created", project["name"])
"""
ASKED = "Add a project Roof garden with the tasks Buy soil and Order seeds."

Write = Callable[..., ChatServer]


@pytest.fixture
def run(cli: Cli, toy: WorldServer, write: Write) -> Callable[..., None]:
    """Let the scripted model carry out a program in the thread t."""

    def ask(code: str, *more: Any, asked: str = ASKED) -> None:
        write(program(code), *more)
        ran = cli("ask", asked, *at(toy), "--writes", "allow", "--thread", "t")
        assert ran.code == 0, ran.err

    return ask


def test_a_saved_run_runs_again_with_other_inputs_and_without_a_model(
    cli: Cli, toy: WorldServer, run: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    run(PLANT)
    saved = cli("recipe", "save", "t", "plant-project")
    assert saved.code == 0, saved.err
    assert saved.out.startswith("Saved recipes/plant-project.yaml.\nInputs:\n")
    assert 'name, saved with "Roof garden"' in saved.out
    assert "Run it with: restgpt recipe run" in saved.out
    # A recipe with changes is not offered to cron.
    assert "cron" not in saved.out
    again = cli("recipe", "save", "t", "plant-project")
    assert (again.code, "There is a recipe plant-project in recipes." in again.err) == (2, True)
    monkeypatch.delenv("OPENAI_BASE_URL")
    monkeypatch.delenv("RESTGPT_MODEL")
    inputs = ("-i", "name=Moss", "-i", 'titles=["Dig"]')
    ran = cli("recipe", "run", "plant-project", *inputs, *at(toy), "--writes", "allow")
    assert (ran.code, ran.out) == (0, "Created Moss\n"), ran.err
    assert "Moss" in names(toy.world)


def test_the_document_of_a_saved_recipe_has_its_inputs_and_its_file(cli: Cli, run: Callable[..., None]) -> None:
    run(PLANT)
    document = cli("recipe", "save", "t", "plant-project", "--json", "--description", "Plants.").document
    shown = [document[key] for key in ("name", "file", "description")]
    assert shown == ["plant-project", "recipes/plant-project.yaml", "Plants."]
    assert set(document["inputs"]["properties"]) == {"name", "titles"}


def test_what_cannot_be_saved_says_why(cli: Cli, toy: WorldServer, write: Write) -> None:
    assert "There is no thread none." in cli("recipe", "save", "none", "a").err
    assert "'A b' is no name of a recipe." in cli("recipe", "save", "t", "A b").err
    write(program(PLANT))
    assert cli("ask", ASKED, *at(toy), "--thread", "t").code == 3
    paused = cli("recipe", "save", "t", "a")
    assert (paused.code, "is paused: a request waits for a decision." in paused.err) == (2, True)
    called = cli("call", "create_project", *at(toy), "--args", '{"body": {"name": "Fern"}}', "--approve", "--json")
    single = cli("recipe", "save", called.document["thread"], "a")
    assert "is a single call, which has no run to save." in single.err
    assert not Path("recipes").exists()


def test_a_run_that_waited_is_saved_too(cli: Cli, toy: WorldServer, run: Callable[..., None]) -> None:
    run('import time\nlist_projects()\ntime.sleep(0.01)\nprint(len(rows(list_projects())), "projects")')
    saved = cli("recipe", "save", "t", "late")
    assert saved.code == 0, saved.err
    assert cli("recipe", "run", "late", *at(toy)).out == "4 projects\n"
    assert "Each morning, by cron: 0 7 * * *  cd " in saved.out


def test_words_that_texts_of_a_program_still_say_and_what_is_fixed_are_told(cli: Cli, run: Callable[..., None]) -> None:
    code = """found = find_tasks(text="paint")
project = one(rows(list_projects()), name="Bridge survey")
task = create_task(project_id=project["id"], body={"title": "Order 7", "hours": 3})
print("Of paint there are", len(rows(found)), "and", task["title"])
"""
    run(code, asked="Count the tasks with paint, and add Order 7 of 3 hours to the Bridge survey")
    saved = cli("recipe", "save", "t", "paint")
    assert saved.code == 0, saved.err
    assert '"paint" stays in the program, line 4, whatever text is.' in saved.out
    # The id of the project is no literal of the program, though the text of one has the number in it.
    assert "Fixed" not in saved.out


def test_a_number_that_stays_beside_its_input_is_told_with_its_line(cli: Cli, run: Callable[..., None]) -> None:
    code = """project = one(rows(list_projects()), name="Bridge survey")
for told, most in (("tasks", 17),):
    if len(rows(list_project_tasks(project_id=project["id"]))) > most:
        stop("Too many.")
task = create_task(project_id=project["id"], body={"title": "Order paint", "hours": 17})
print("It takes", task["hours"], "hours")
"""
    run(code, asked="Add Order paint of 17 hours to the Bridge survey")
    saved = cli("recipe", "save", "t", "order")
    assert saved.code == 0, saved.err
    assert "17 stays in the program, line 2, whatever hours is." in saved.out
