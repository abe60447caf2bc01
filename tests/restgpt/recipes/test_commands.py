"""Guards `restgpt recipe`: runs without a model, their records, the checks, and the messages about every fault."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
from cli import Cli, Ran, at, changes, names
from paths import openapi
from plantrecipe import PROGRAM, beds, plant_recipe, used, word_recipe
from roles import program

from restgpt.graph.persistence import open_persistence
from restgpt.recipes.book import RecipeBook, recipe_text
from restgpt.sources import Sources
from restgpt.threads import ThreadRecord, Threads
from restgpt.tools.settings import Settings
from restgpt_bench.worlds.faults import Fault, FaultKind
from restgpt_bench.worlds.server import WorldServer

GIVEN = ("--input", "name=Moss", "--input", "titles=Dig", "--input", "titles=Rake")


def approved(cli: Cli, thread: str) -> Ran:
    """Approve all changes of a thread, one after the other."""
    while (ran := cli("resume", thread, "--approve")).code == 3:
        pass
    return ran


def keep(cli: Cli, toy: WorldServer, thread: str, recipe: Any) -> None:
    """Keep the record of a thread that ran a recipe, without a checkpoint."""
    run: Any = {"recipe": recipe, "inputs": {"word": "e"}, "file": "", "heals": False}
    with open_persistence(Settings(home=cli.home)) as persistence:
        record = ThreadRecord(thread, "Run it.", Sources((), (at(toy)[1],), toy.url), recipe=run)
        Threads(persistence.store).keep(record)


@pytest.fixture
def book(cli: Cli, tmp_path: Path) -> RecipeBook:
    """A folder of recipes in the working folder, with one that makes changes and one that only reads."""
    book = RecipeBook(tmp_path / "recipes")
    book.save(beds())
    book.save(word_recipe(name="count-projects", description="Count the projects with a word in their names"))
    return book


def test_a_recipe_that_reads_runs_without_a_model(cli: Cli, toy: WorldServer, book: RecipeBook) -> None:
    ran = cli("recipe", "run", "count-projects", "word=e", *at(toy))
    assert ran.code == 0, ran.err
    expected = len([name for name in names(toy.world) if "e" in name])
    assert ran.out == f"{expected} projects have e in their names.\n"
    flat = " ".join(ran.err.split())
    assert "recipe count-projects" in flat
    assert 'recipe Run the recipe count-projects with word = "e".' in flat
    assert f"GET {toy.url}/projects (line 1) → 200" in flat
    assert "report" not in flat
    assert flat.count("1 request · ") == 1


def test_changes_wait_for_approval_and_the_thread_is_resumed_listed_and_undone(
    cli: Cli, toy: WorldServer, book: RecipeBook
) -> None:
    ran = cli("recipe", "run", "plant-beds", *GIVEN, *at(toy), "--thread", "moss")
    assert ran.code == 3, ran.err
    assert "The program waits at line 1:" in ran.err
    assert "restgpt resume moss --approve" in ran.err
    assert changes(toy.world) == []
    listed = cli("threads")
    assert "moss" in listed.out
    assert "Run the recipe plant-beds with name = " in listed.out
    shown = cli("threads", "moss")
    assert "recipe       plant-beds" in shown.out
    assert '{"name":"Moss"}' in cli("threads", "moss", "--request", "1").out.replace(" ", "")
    for _ in range(2):
        assert cli("resume", "moss", "--approve").code == 3
    done = cli("resume", "moss", "--approve", "--json")
    assert done.code == 0, done.err
    assert done.document["answer"] == "Created Moss — 2 tasks."
    assert done.document["recipe"]["name"] == "plant-beds"
    assert done.document["usage"]["roles"] == {}
    assert changes(toy.world) == ["POST /projects", *["POST /projects/{project_id}/tasks"] * 2]
    assert cli("resume", "moss").out == "Created Moss — 2 tasks.\n"
    assert "thread moss. Its run is over." in " ".join(cli("resume", "moss", "--approve").err.split())
    assert "To decide, run on a terminal: restgpt undo moss" in " ".join(cli("undo", "moss").err.split())
    assert "(undo waiting)" in cli("threads").out
    undone = cli("undo", "moss", "--approve")
    assert (undone.code, undone.out.count("Done.")) == (0, 3)
    assert "Moss" not in names(toy.world)
    assert cli("threads").out.endswith("(undo done)\n")
    assert [item["undo_status"] for item in cli("threads", "--json").document["threads"]] == ["done"]
    assert cli("threads", "--delete", "moss", "--yes").code == 0
    assert "moss" not in cli("threads").out


def test_a_rejected_run_has_nothing_to_resume(cli: Cli, toy: WorldServer, book: RecipeBook) -> None:
    assert cli("recipe", "run", "plant-beds", *GIVEN, *at(toy), "--thread", "moss").code == 3
    assert "Resume with" not in cli("threads", "moss").err
    assert cli("resume", "moss", "--reject", "no").code == 1
    shown = cli("threads", "moss")
    assert ("moss (not fulfilled)" in shown.out, "Resume with" in shown.err) == (True, False)


def test_the_document_of_a_run_names_recipe_inputs_and_file(cli: Cli, toy: WorldServer, book: RecipeBook) -> None:
    ran = cli("recipe", "run", "plant-beds", *GIVEN, *at(toy), "--json", "--thread", "moss")
    assert ran.code == 3
    assert ran.document["status"] == "paused"
    assert ran.document["recipe"] == {
        "name": "plant-beds",
        "file": str(book.folder / "plant-beds.yaml"),
        "inputs": {"name": "Moss", "titles": ["Dig", "Rake"]},
        "heals": False,
    }
    assert ran.document["program"]["writer"] == "recipe"
    [listed] = cli("threads", "--json").document["threads"]
    assert listed["recipe"] == ran.document["recipe"]
    assert cli("threads", "moss", "--json").document["recipe"] == ran.document["recipe"]


def test_a_resumed_run_does_not_depend_on_the_file(cli: Cli, toy: WorldServer, book: RecipeBook) -> None:
    assert cli("recipe", "run", "plant-beds", *GIVEN, *at(toy), "--thread", "moss").code == 3
    book.path("plant-beds").unlink()
    ran = approved(cli, "moss")
    assert (ran.code, ran.out) == (0, "Created Moss — 2 tasks.\n")


def test_a_recipe_that_stops_ends_with_1(cli: Cli, toy: WorldServer, book: RecipeBook) -> None:
    code = "stop(f\"There is no {inputs['word']}.\")\nlist_projects()\n"
    book.save(word_recipe(name="stops", program=code))
    ran = cli("recipe", "run", "stops", "--input", "word=e", *at(toy))
    assert ran.code == 1
    assert "The recipe stops stopped before it changed anything. The program stopped: There is no e." in ran.out
    book.save(word_recipe(name="fails", program="list_projects()\n{}[inputs['word']]\n"))
    failed = cli("recipe", "run", "fails", "--input", "word=e", *at(toy), "--thread", "t")
    assert (failed.out.count("line 2"), "line 2" in failed.err) == (1, False)
    shown = cli("threads", "t").out
    assert [("line 2" in shown), "Shapes of" in shown, "This program is" in shown] == [True, False, False]


def test_a_dry_run_sends_no_change(cli: Cli, toy: WorldServer, book: RecipeBook) -> None:
    ran = cli("recipe", "run", "plant-beds", *GIVEN, *at(toy), "--writes", "dry-run")
    assert ran.code == 0, ran.err
    assert "Dry run: nothing was changed." in ran.out
    assert changes(toy.world) == []
    assert cli("threads").out.endswith("(dry run)\n")


def test_wrong_inputs_are_told_before_anything_is_sent(cli: Cli, toy: WorldServer, book: RecipeBook) -> None:
    ran = cli("recipe", "run", "plant-beds", "--input", "title=x", *at(toy), "--json")
    assert ran.code == 2
    error = ran.document["error"]
    assert 'The recipe plant-beds has no input "title". Did you mean titles?' in error
    assert 'The input name is missing: a text, such as "Roof garden".' in error
    assert "--input name is invalid." in cli("recipe", "run", "plant-beds", "--input", "name", *at(toy)).err
    assert [*toy.world.log] == []
    assert cli("threads").out == "There are no threads.\n"


def test_an_unknown_recipe_a_broken_file_and_no_api_are_told(cli: Cli, toy: WorldServer, book: RecipeBook) -> None:
    assert "Did you mean plant-beds?" in cli("recipe", "run", "plant-bed", *at(toy)).err
    (book.folder / "broken.yaml").write_text("recipe: [")
    broken = cli("recipe", "run", "broken", *at(toy))
    assert (broken.code, "broken.yaml, line 1: the file is not YAML" in broken.err) == (2, True)
    unconfigured = cli("recipe", "run", "plant-beds", *GIVEN)
    assert unconfigured.code == 2
    told = "The recipe plant-beds uses the API team-board, which apis.yaml does not have. There is no apis.yaml in"
    assert told in unconfigured.err
    Path("other.json").write_text(json.dumps(openapi({}, title="Other", servers=[{"url": "https://x.test"}])))
    wrong = cli("recipe", "run", "plant-beds", *GIVEN, "--spec", "other.json")
    assert wrong.code == 2
    assert "uses the API team-board, but the given documents are those of other" in wrong.err


def test_the_api_is_found_in_apis_yaml_and_the_recipes_beside_it(
    cli: Cli, toy: WorldServer, book: RecipeBook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = at(toy)[1]
    entry = f"team-board: {{spec: {spec}, base_url: '{toy.url}', auth: {{key: '${{RESTGPT_AUTH_KEY}}'}}}}\n"
    (tmp_path / "apis.yaml").write_text(entry)
    ran = cli("recipe", "run", "count-projects", "--input", "word=e")
    assert ran.code == 0, ran.err
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.setenv("RESTGPT_RECIPES", str(elsewhere))
    assert cli("recipe", "list").out.startswith(f"There are no recipes in {elsewhere}.")


def test_a_recipe_runs_from_its_file(cli: Cli, toy: WorldServer, tmp_path: Path) -> None:
    path = tmp_path / "any name.yml"
    path.write_text(recipe_text(word_recipe()))
    ran = cli("recipe", "run", str(path), "--input", "word=e", *at(toy))
    assert ran.code == 0, ran.err
    assert "There is no file" in cli("recipe", "run", "./none.yaml", *at(toy)).err


def test_a_recipe_can_make_a_run_stricter_and_never_looser(cli: Cli, toy: WorldServer, book: RecipeBook) -> None:
    book.save(beds(name="loose", writes="allow"))
    assert cli("recipe", "run", "loose", *GIVEN, *at(toy)).code == 3
    book.save(beds(name="strict", writes="deny"))
    assert cli("recipe", "run", "strict", *GIVEN, *at(toy), "--writes", "allow").code == 1
    assert changes(toy.world) == []


def test_a_thread_goes_on_with_another_recipe_only_after_its_run(cli: Cli, toy: WorldServer, book: RecipeBook) -> None:
    assert cli("recipe", "run", "plant-beds", *GIVEN, *at(toy), "--thread", "t").code == 3
    refused = cli("recipe", "run", "count-projects", "--input", "word=e", *at(toy), "--thread", "t")
    assert (refused.code, "has not finished its last run. Resume it with: restgpt resume t" in refused.err) == (2, True)
    ran = cli("resume", "t", "--reject", "No.")
    assert ran.code == 1
    again = cli("recipe", "run", "count-projects", "--input", "word=e", *at(toy), "--thread", "t")
    assert again.code == 0, again.err
    assert cli("threads", "t", "--json").document["turn"] == 2


def test_a_run_without_a_checkpoint_is_resumed_from_the_beginning(cli: Cli, toy: WorldServer, book: RecipeBook) -> None:
    keep(cli, toy, "killed", book.load("count-projects").to_json())
    ran = cli("resume", "killed")
    assert ran.code == 0, ran.err
    assert "projects have e in their names." in ran.out


def test_a_recipe_of_the_former_form_is_refused_with_what_to_do_and_its_thread_is_listed(
    cli: Cli, toy: WorldServer, book: RecipeBook
) -> None:
    path = book.path("count-projects")
    former = book.load("count-projects").to_json() | {"recipe": "restgpt/recipe/1", "operations": [{"status": [200]}]}
    path.write_text(path.read_text().replace("recipe/2", "recipe/1").replace("key: ", "status: "))
    told = (
        'recipe is wrong: it is "restgpt/recipe/1", and this version reads restgpt/recipe/2 only. Save the recipe anew '
        "from a run, with `restgpt recipe save THREAD NAME`."
    )
    refused = cli("recipe", "run", "count-projects", "--input", "word=e", *at(toy))
    assert (refused.code, told in " ".join(refused.err.split())) == (2, True), refused.err
    keep(cli, toy, "old", former)
    assert "old" in cli("threads").out
    assert "count-projects" in cli("threads", "old").out
    assert "Save the recipe anew from a run" in " ".join(cli("resume", "old").err.split())


def test_the_list_shows_the_good_recipes_and_says_what_is_wrong_with_the_others(cli: Cli, book: RecipeBook) -> None:
    (book.folder / "broken.yaml").write_text("recipe: [")
    ran = cli("recipe", "list")
    assert ran.code == 0
    assert ran.out.splitlines() == [
        "count-projects (word)",
        "    Count the projects with a word in their names",
        "plant-beds (name, titles)",
        "    Create a project with tasks",
    ]
    assert "broken.yaml, line 1: the file is not YAML" in ran.err
    document = cli("recipe", "list", "--json").document
    assert [item["name"] for item in document["recipes"]] == ["count-projects", "plant-beds"]
    assert len(document["problems"]) == 1


def test_text_of_a_file_cannot_forge_lines_of_the_terminal(cli: Cli, book: RecipeBook) -> None:
    book.save(beds(name="forged", description="a\nother (word)\x1b[2J"))
    ran = cli("recipe", "list")
    assert "\nother" not in ran.out
    assert "\x1b" not in ran.out


def test_a_change_described_anew_ends_with_3_if_nobody_can_answer(cli: Cli, toy: WorldServer, book: RecipeBook) -> None:
    other = [item.model_copy(update={"key": "another"}) for item in plant_recipe().operations]
    book.save(beds(name="other", operations=other))
    ran = cli("recipe", "run", "other", *GIVEN, *at(toy), "--writes", "allow", "--thread", "t")
    assert ran.code == 3
    assert "The document describes this operation otherwise than when the recipe was saved." in ran.err
    assert changes(toy.world) == []
    assert approved(cli, "t").code == 0


HEALED = """made = create_project(body={"name": "Moss"})
print("Created", made["name"])
"""


@pytest.fixture
def lost(book: RecipeBook) -> RecipeBook:
    """A folder with a recipe whose first operation the document does not have any more."""
    gone = used("list_boards", "GET", "/boards")
    operations = (gone, *plant_recipe().operations)
    book.save(beds(name="lost", program=f"list_boards()\n{PROGRAM}", operations=operations))
    return book


def test_a_recipe_without_its_operation_ends_and_changes_nothing(cli: Cli, toy: WorldServer, lost: RecipeBook) -> None:
    ran = cli("recipe", "run", "lost", *GIVEN, *at(toy), "--writes", "allow")
    assert ran.code == 1
    assert "The recipe lost stopped before it changed anything." in ran.out
    assert "--heal" in ran.out
    assert [*toy.world.log] == []


def test_healing_needs_a_model_only_when_it_starts(cli: Cli, toy: WorldServer, lost: RecipeBook) -> None:
    fine = cli("recipe", "run", "plant-beds", *GIVEN, *at(toy), "--writes", "allow", "--heal")
    assert (fine.code, fine.out) == (0, "Created Moss — 2 tasks.\n")
    ran = cli("recipe", "run", "lost", *GIVEN, *at(toy), "--heal", "--thread", "t")
    assert ran.code == 2
    assert "model" in ran.err
    assert "restgpt resume t" in ran.err


@pytest.mark.parametrize("is_resumed", [False, True])
def test_what_the_agent_did_instead_can_be_saved(
    cli: Cli, toy: WorldServer, lost: RecipeBook, write: Any, is_resumed: bool
) -> None:
    write(program(HEALED))
    writes = [] if is_resumed else ["--writes", "allow"]
    ran = cli("recipe", "run", "lost", *GIVEN, *at(toy), "--heal", "--thread", "t", *writes)
    if is_resumed:
        assert ran.code == 3, ran.err
        ran = cli("resume", "t", "--approve")
    assert ran.code == 0, ran.err
    assert "Moss" in names(toy.world)
    assert "The agent went on without the recipe. Save what it did with: restgpt recipe save t NAME" in ran.err
    assert cli("recipe", "save", "t", "healed").code == 0
    assert [item.function for item in lost.load("healed").operations] == ["create_project"]


def test_a_recipe_that_is_run_again_tells_only_what_is_different(cli: Cli, toy: WorldServer, book: RecipeBook) -> None:
    code = 'print("Names:")\nfor item in rows(list_projects()):\n    print(item["name"])'
    book.save(word_recipe(name="every-name", program=code))
    run = ("recipe", "run", "every-name", "--input", "word=e", "--if-changed", *at(toy))
    first = cli(*run)
    assert (first.code, first.err, first.out.splitlines()) == (0, "", ["Names:", *names(toy.world)])
    again = cli(*run)
    assert (again.code, again.out, again.err) == (0, "", "")
    other = cli(*run[:4], "word=x", *run[5:])
    assert other.out == first.out
    call = ("call", "create_project", "--args", '{"body": {"name": "Moss garden"}}', "--approve", *at(toy))
    assert cli(*call).code == 0
    assert cli(*run).out == "+Moss garden\n"
    assert cli(*run).out == ""


def test_two_runs_of_a_series_do_not_overlap(cli: Cli, toy: WorldServer, book: RecipeBook) -> None:
    run = ("recipe", "run", "count-projects", "--input", "word=e", "--if-changed", *at(toy))
    toy.world.faults.replace([Fault(kind=FaultKind.SLOW, seconds=60.0)])
    started = cli.start(*run)
    while not toy.world.log:
        assert started.poll() is None
        time.sleep(0.01)
    second = cli(*run)
    started.kill()
    started.wait()
    assert (second.code, second.out) == (0, "")
    assert "Another run of count-projects with these inputs goes on" in second.err
    assert len(toy.world.log) == 1
    toy.world.faults.replace([])
    assert "projects have e" in cli(*run).out
