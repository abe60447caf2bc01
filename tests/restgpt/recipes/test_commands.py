"""Guards `restgpt recipe`: runs without a model, their records, the checks, and the messages about every fault."""

import json
import textwrap
from pathlib import Path
from typing import Any

import pytest
from chatserver import ChatServer
from cli import Cli, Ran, at, changes, names
from plantrecipe import CREATE_PROJECT, INPUTS, PROGRAM, plant_recipe

from restgpt.recipes.book import RecipeBook
from restgpt.recipes.recipe import Recipe, RecipeApi, UsedOperation
from restgpt.recipes.recipe_file import recipe_text
from restgpt_bench.worlds.server import WorldServer

GIVEN = ("--input", "name=Moss", "--input", "titles=Dig", "--input", "titles=Rake")
SAVED = ("--input", "name=Roof garden", "--input", "titles=Buy soil", "--input", "titles=Order seeds")

LIST = UsedOperation(
    function="list_projects",
    api="team-board",
    method="GET",
    path="/projects",
    status=(200,),
    reads={"/items/*/name": ("string",)},
)
COUNT = """found = [item for item in rows(list_projects()) if inputs["word"] in item["name"]]
print(f"{len(found)} projects have {inputs['word']} in their names.")
"""
WORD = {"type": "object", "properties": {"word": {"type": "string", "examples": ["a"]}}, "required": ["word"]}


def word_recipe(**changed: Any) -> Recipe:
    """Return a recipe with one input, a word, that counts projects; its fields may have other values."""
    values: dict[str, Any] = {"program": COUNT, "operations": (LIST,), "apis": ({"name": "team-board"},)}
    return plant_recipe(**{"inputs": WORD, "links": (), "calls": (), **values, **changed})


def beds(**changed: Any) -> Recipe:
    """Return the recipe that plants beds, for any version of the API; its fields may have other values."""
    return plant_recipe(**{"apis": ({"name": "team-board"},), **changed})


def approved(cli: Cli, thread: str, ran: Ran | None = None) -> Ran:
    """Approve all changes of a thread, one after the other."""
    ran = ran or cli("resume", thread, "--approve")
    while ran.code == 3:
        ran = cli("resume", thread, "--approve")
    return ran


@pytest.fixture
def book(cli: Cli, tmp_path: Path) -> RecipeBook:
    """A folder of recipes in the working folder, with one that makes changes and one that only reads."""
    book = RecipeBook(tmp_path / "recipes")
    book.save(beds())
    book.save(word_recipe(name="count-projects", description="Count the projects with a word in their names"))
    return book


def test_a_recipe_that_reads_runs_without_a_model(cli: Cli, toy: WorldServer, book: RecipeBook) -> None:
    ran = cli("recipe", "run", "count-projects", "--input", "word=e", *at(toy))
    assert ran.code == 0, ran.err
    expected = len([name for name in names(toy.world) if "e" in name])
    assert ran.out == f"{expected} projects have e in their names.\n"
    flat = " ".join(ran.err.split())
    assert "recipe count-projects, version 1, not proved" in flat
    assert 'recipe Run the recipe count-projects with word = "e".' in flat
    assert f"GET {toy.url}/projects (line 1) → 200" in flat
    assert "report" in flat
    assert "The recipe count-projects is proved: it went well with other inputs." in flat
    assert "1 request," in flat


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
    assert "recipe       plant-beds, version 1, not proved" in shown.out
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
    undone = cli("undo", "moss", "--yes")
    assert (undone.code, undone.out.count("Done.")) == (0, 3)
    assert "Moss" not in names(toy.world)
    assert cli("threads", "--delete", "moss", "--yes").code == 0
    assert "moss" not in cli("threads").out


def test_the_document_of_a_run_names_the_recipe_its_inputs_and_its_file(
    cli: Cli, toy: WorldServer, book: RecipeBook
) -> None:
    ran = cli("recipe", "run", "plant-beds", *GIVEN, *at(toy), "--json", "--thread", "moss")
    assert ran.code == 3
    assert ran.document["status"] == "paused"
    assert ran.document["recipe"] == {
        "name": "plant-beds",
        "version": 1,
        "proved": "",
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
    book.delete("plant-beds")
    ran = approved(cli, "moss")
    assert (ran.code, ran.out) == (0, "Created Moss — 2 tasks.\n")
    assert "is not marked as proved. There is no file" in ran.err


def test_a_run_with_other_inputs_proves_the_recipe_and_one_with_the_saved_inputs_does_not(
    cli: Cli, toy: WorldServer, book: RecipeBook
) -> None:
    again = cli("recipe", "run", "plant-beds", *SAVED, *at(toy), "--writes", "allow")
    assert again.code == 0, again.err
    assert "is not proved: this run had the inputs with which it was saved." in again.err
    assert book.load("plant-beds").proved == ""
    assert "plant-beds (name, titles): not proved" in cli("recipe", "list").out
    other = cli("recipe", "run", "plant-beds", *GIVEN, *at(toy), "--writes", "allow", "--json")
    proved = book.load("plant-beds").proved
    assert proved
    assert other.document["recipe"]["proved"] == proved
    assert f"plant-beds (name, titles): proved {proved[:10]}" in cli("recipe", "list").out
    assert cli("recipe", "show", "plant-beds", "--json").document["proved"] == proved
    third = cli("recipe", "run", "plant-beds", *GIVEN, *at(toy), "--writes", "allow")
    assert "is proved" not in third.err
    assert book.load("plant-beds").proved == proved


def test_a_failed_run_proves_nothing_and_ends_with_1(cli: Cli, toy: WorldServer, book: RecipeBook) -> None:
    code = "stop(f\"There is no {inputs['word']}.\")\nlist_projects()\n"
    book.save(word_recipe(name="stops", program=code))
    ran = cli("recipe", "run", "stops", "--input", "word=e", *at(toy))
    assert ran.code == 1
    assert "The recipe stops stopped before it changed anything. The program stopped: There is no e." in ran.out
    assert book.load("stops").proved == ""


def test_a_run_that_makes_fewer_calls_than_the_saved_one_proves_nothing(
    cli: Cli, toy: WorldServer, book: RecipeBook
) -> None:
    code = "if inputs['name'] == 'Moss':\n    print('Nothing to do.')\nelse:\n" + textwrap.indent(PROGRAM, "    ")
    book.save(beds(name="branch", program=code))
    ran = cli("recipe", "run", "branch", *GIVEN, *at(toy), "--writes", "allow")
    assert (ran.code, ran.out) == (0, "Nothing to do.\n")
    assert "is not proved: this run ended before it called all operations" in ran.err
    assert book.load("branch").proved == ""


def test_a_run_with_the_saved_inputs_and_a_default_of_the_file_proves_nothing(
    cli: Cli, toy: WorldServer, book: RecipeBook
) -> None:
    inputs = {**INPUTS, "properties": {**INPUTS["properties"], "note": {"type": "string", "default": "x"}}}
    book.save(beds(name="default", inputs=inputs))
    ran = cli("recipe", "run", "default", *SAVED, *at(toy), "--writes", "allow")
    assert ran.code == 0, ran.err
    assert "is not proved: this run had the inputs with which it was saved." in ran.err
    assert book.load("default").proved == ""


def test_a_run_whose_request_a_person_edited_proves_nothing(cli: Cli, toy: WorldServer, book: RecipeBook) -> None:
    cli("recipe", "run", "plant-beds", *GIVEN, *at(toy), "--thread", "moss")
    ran = approved(cli, "moss", cli("resume", "moss", "--edit", json.dumps({"body": {"name": "Fern"}})))
    assert ran.code == 0, ran.err
    assert "Fern" in names(toy.world)
    assert "a person edited a request of this run" in ran.err
    assert book.load("plant-beds").proved == ""


def test_a_dry_run_sends_no_change(cli: Cli, toy: WorldServer, book: RecipeBook) -> None:
    ran = cli("recipe", "run", "plant-beds", *GIVEN, *at(toy), "--writes", "dry-run")
    assert ran.code == 0, ran.err
    assert "Dry run: nothing was changed." in ran.out
    assert "is not proved: this run ended before it called all operations" in ran.err
    assert changes(toy.world) == []
    assert book.load("plant-beds").proved == ""


def test_a_dry_run_that_reaches_every_operation_proves_a_recipe(cli: Cli, toy: WorldServer, book: RecipeBook) -> None:
    program = 'made = create_project(body={"name": inputs["word"]})\nprint(made["id"])\n'
    book.save(word_recipe(name="one", program=program, operations=(CREATE_PROJECT,)))
    ran = cli("recipe", "run", "one", "--input", "word=Moss", *at(toy), "--writes", "dry-run")
    assert ran.code == 0, ran.err
    assert book.load("one").proved
    assert changes(toy.world) == []


def test_wrong_inputs_are_told_before_anything_is_sent(cli: Cli, toy: WorldServer, book: RecipeBook) -> None:
    ran = cli("recipe", "run", "plant-beds", "--input", "title=x", *at(toy), "--json")
    assert ran.code == 2
    error = ran.document["error"]
    assert 'The recipe plant-beds has no input "title". Did you mean titles?' in error
    assert 'The input name is missing: a text, such as "Roof garden".' in error
    assert "--input name is invalid." in cli("recipe", "run", "plant-beds", "--input", "name", *at(toy)).err
    assert [*toy.world.log] == []
    assert cli("threads").out == "There are no threads.\n"


def test_an_unknown_recipe_a_broken_file_and_a_missing_api_are_told(
    cli: Cli, toy: WorldServer, book: RecipeBook
) -> None:
    assert "Did you mean plant-beds?" in cli("recipe", "run", "plant-bed", *at(toy)).err
    (book.folder / "broken.yaml").write_text("recipe: [")
    broken = cli("recipe", "run", "broken", *at(toy))
    assert (broken.code, "broken.yaml, line 2: the file is not YAML" in broken.err) == (2, True)
    unconfigured = cli("recipe", "run", "plant-beds", *GIVEN)
    assert unconfigured.code == 2
    assert (
        "The recipe plant-beds uses the API team-board, which apis.yaml does not have. It is missing"
        in unconfigured.err
    )
    assert "has no version 7" in cli("recipe", "run", "plant-beds", "--version", "7", *GIVEN, *at(toy)).err
    other = Path("other.yaml")
    other.write_text(
        "openapi: 3.1.0\ninfo: {title: Other, version: '1'}\nservers: [{url: 'https://x.test'}]\npaths: {}\n"
    )
    wrong = cli("recipe", "run", "plant-beds", *GIVEN, "--spec", str(other))
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


def test_another_version_of_the_api_is_a_notice(cli: Cli, toy: WorldServer, book: RecipeBook) -> None:
    path = book.save(word_recipe(name="old", apis=(RecipeApi(name="team-board", version="1.0"),)))
    ran = cli("recipe", "run", "old", "--input", "word=e", *at(toy))
    assert ran.code == 0, ran.err
    assert "saved with version 1.0 of team-board; its document now has version 1.0.0." in ran.err
    assert path.exists()


def test_a_recipe_runs_from_its_file(cli: Cli, toy: WorldServer, tmp_path: Path) -> None:
    path = tmp_path / "any name.yml"
    path.write_text(recipe_text(word_recipe()))
    ran = cli("recipe", "run", str(path), "--input", "word=e", *at(toy))
    assert ran.code == 0, ran.err
    assert "\nproved: " in path.read_text()
    assert "There is no file" in cli("recipe", "run", "./none.yaml", *at(toy)).err
    assert "Give the file of the version" in cli("recipe", "run", str(path), "--version", "2", *at(toy)).err


def test_a_recipe_can_make_a_run_stricter_and_never_looser(cli: Cli, toy: WorldServer, book: RecipeBook) -> None:
    book.save(beds(name="loose", writes="allow"))
    assert cli("recipe", "run", "loose", *GIVEN, *at(toy)).code == 3
    book.save(beds(name="strict", writes="deny"))
    assert cli("recipe", "run", "strict", *GIVEN, *at(toy), "--writes", "allow").code == 1
    assert changes(toy.world) == []


@pytest.mark.slow
def test_two_runs_of_one_recipe_stand_side_by_side(cli: Cli, toy: WorldServer, book: RecipeBook) -> None:
    first = cli("recipe", "run", "plant-beds", *GIVEN, *at(toy), "--thread", "one")
    second = cli("recipe", "run", "plant-beds", *SAVED, *at(toy), "--thread", "two")
    assert (first.code, second.code) == (3, 3)
    assert [approved(cli, thread).code for thread in ("two", "one")] == [0, 0]
    assert {"Moss", "Roof garden"} <= set(names(toy.world))


def test_a_thread_goes_on_with_another_recipe_but_not_before_its_run_is_over(
    cli: Cli, toy: WorldServer, book: RecipeBook
) -> None:
    assert cli("recipe", "run", "plant-beds", *GIVEN, *at(toy), "--thread", "t").code == 3
    refused = cli("recipe", "run", "count-projects", "--input", "word=e", *at(toy), "--thread", "t")
    assert (refused.code, "has not finished its last run. Resume it with: restgpt resume t" in refused.err) == (2, True)
    ran = cli("resume", "t", "--reject", "No.")
    assert ran.code == 1
    again = cli("recipe", "run", "count-projects", "--input", "word=e", *at(toy), "--thread", "t")
    assert again.code == 0, again.err
    assert cli("threads", "t", "--json").document["turn"] == 2


def test_an_ended_process_is_resumed_from_the_beginning_if_it_kept_no_checkpoint(
    cli: Cli, toy: WorldServer, book: RecipeBook
) -> None:
    from restgpt.commands.history.thread import ThreadRecord, Threads
    from restgpt.commands.sources import Sources
    from restgpt.graph.persistence import open_persistence
    from restgpt.tools.settings import Settings

    recipe = book.load("count-projects")
    run = {"recipe": recipe.to_json(), "inputs": {"word": "e"}, "file": "", "heals": False}
    sources = Sources((), (at(toy)[1],), toy.url)
    with open_persistence(Settings(home=cli.home)) as persistence:
        Threads(persistence.store).keep(ThreadRecord("killed", "Run it.", sources, recipe=run))  # type: ignore[arg-type]
    ran = cli("resume", "killed")
    assert ran.code == 0, ran.err
    assert "projects have e in their names." in ran.out


def test_a_check_runs_the_reads_and_says_which_guards_hold(cli: Cli, toy: WorldServer, book: RecipeBook) -> None:
    ran = cli("recipe", "run", "count-projects", "--check", *at(toy))
    assert ran.code == 0, ran.err
    assert (
        "list_projects: GET /projects\n    document   as when it was saved\n    answers    1 with status 200" in ran.out
    )
    assert "All guards hold.\nThe dry run went through to its end." in ran.out
    changing = cli("recipe", "run", "plant-beds", "--check", *at(toy), "--json")
    assert changing.code == 0
    assert changing.document["status"] == "held"
    assert [item["not_sent"] for item in changing.document["operations"]] == [1, 0]
    assert changing.document["inputs"] == {"name": "Roof garden", "titles": ["Buy soil", "Order seeds"]}
    assert changes(toy.world) == []
    assert book.load("count-projects").proved == ""
    assert cli("threads").out == "There are no threads.\n"


def test_a_check_that_finds_a_shift_says_where_and_sends_nothing(cli: Cli, toy: WorldServer, book: RecipeBook) -> None:
    gone = LIST.model_copy(update={"path": "/boards"})
    book.save(word_recipe(name="gone", operations=(gone,)))
    ran = cli("recipe", "run", "gone", "--check", *at(toy))
    assert ran.code == 1
    assert "so nothing was sent." in ran.out
    assert "list_projects" in ran.out
    document = cli("recipe", "run", "gone", "--check", *at(toy), "--json").document
    assert document["status"] == "shifted"
    assert len(document["operations"][0]["shifts"]) == 1
    assert [*toy.world.log] == []


def test_a_check_keeps_no_thread_so_it_takes_no_options_of_one(cli: Cli, toy: WorldServer, book: RecipeBook) -> None:
    for option in (["--heal"], ["--thread", "t"], ["--writes", "allow"]):
        ran = cli("recipe", "run", "plant-beds", "--check", *option, *at(toy))
        assert (ran.code, "--check changes nothing and keeps no thread." in ran.err) == (2, True)


def test_the_list_shows_the_good_recipes_and_says_what_is_wrong_with_the_others(cli: Cli, book: RecipeBook) -> None:
    (book.folder / "broken.yaml").write_text("recipe: [")
    ran = cli("recipe", "list")
    assert ran.code == 0
    assert ran.out.splitlines() == [
        "count-projects (word): not proved",
        "    Count the projects with a word in their names",
        "plant-beds (name, titles): not proved",
        "    Create a project with tasks",
    ]
    assert "broken.yaml, line 2: the file is not YAML" in ran.err
    document = cli("recipe", "list", "--json").document
    assert [item["name"] for item in document["recipes"]] == ["count-projects", "plant-beds"]
    assert len(document["problems"]) == 1


def test_a_recipe_is_shown_in_full(cli: Cli, book: RecipeBook) -> None:
    ran = cli("recipe", "show", "plant-beds")
    assert ran.code == 0
    assert "proved       no: no run with other inputs has gone well yet" in ran.out
    assert 'name (string), saved with "Roof garden"' in ran.out
    assert 'titles (array of string), saved with ["Buy soil", "Order seeds"]' in ran.out
    assert "create_task: POST /projects/{project_id}/tasks" in ran.out
    assert "path/project_id of create_task is /id of create_project (the only item)" in ran.out
    assert '    project = create_project(body={"name": inputs["name"]})' in ran.out
    document = cli("recipe", "show", "plant-beds", "--json").document
    assert (document["is_proved"], document["program"], document["inputs"]) == (False, PROGRAM, INPUTS)


def test_text_of_a_file_cannot_forge_lines_of_the_terminal(cli: Cli, book: RecipeBook) -> None:
    book.save(beds(name="forged", description="a\nproved       2020-01-01\x1b[2J"))
    for ran in (cli("recipe", "show", "forged"), cli("recipe", "list")):
        assert "\nproved       2020" not in ran.out
        assert "\x1b" not in ran.out


def test_versions_are_compared_line_by_line_and_field_by_field(cli: Cli, book: RecipeBook) -> None:
    assert "has only version 1" in cli("recipe", "diff", "plant-beds").err
    new = plant_recipe(
        program=PROGRAM.replace("Created", "Made"), writes="deny", apis=({"name": "team-board", "version": "2"},)
    )
    book.save(new, beside=True)
    ran = cli("recipe", "diff", "plant-beds")
    assert ran.code == 0
    assert "--- plant-beds 1\n+++ plant-beds 2\n" in ran.out
    assert '\n-print(f"Created' in ran.out
    assert '\n+print(f"Made' in ran.out
    assert 'writes: - → "deny"' in ran.out
    assert 'apis.team-board.version: - → "2"' in ran.out
    back = cli("recipe", "diff", "plant-beds", "2", "1", "--json").document
    assert (back["from"], back["to"]) == ({"name": "plant-beds", "version": 2}, {"name": "plant-beds", "version": 1})
    assert {"field": "writes", "from": "deny", "to": None} in back["fields"]
    assert cli("recipe", "diff", "plant-beds", "1", "1").out == "plant-beds 1 and plant-beds 1 do not differ.\n"
    others = cli("recipe", "diff", "plant-beds", "count-projects")
    assert "--- plant-beds 2\n+++ count-projects 1\n" in others.out
    assert 'operations.list_projects.method: - → "GET"' in others.out
    assert "'x' is no version. Give a number" in cli("recipe", "diff", "plant-beds", "1", "x").err
    assert "no version. Give two versions" in cli("recipe", "diff", "plant-beds", "count-projects", "1").err


def test_a_recipe_is_renamed_and_deleted(cli: Cli, book: RecipeBook) -> None:
    renamed = cli("recipe", "rename", "plant-beds", "beds")
    assert (renamed.code, "Renamed plant-beds to beds" in renamed.out) == (0, True)
    book.save(plant_recipe(name="beds"), beside=True)
    asked = cli("recipe", "delete", "beds")
    assert (asked.code, "To skip the question, add --yes." in asked.err) == (2, True)
    assert cli("recipe", "delete", "beds", "--version", "1", "--yes").code == 0
    assert book.versions("beds") == [2]
    gone = cli("recipe", "delete", "beds", "--yes", "--json").document["deleted"]
    assert gone == [str(Path("recipes/beds.2.yaml"))]
    assert "There is no recipe beds" in cli("recipe", "delete", "beds", "--yes").err


def test_a_question_at_a_terminal_deletes_only_after_yes(cli: Cli, book: RecipeBook) -> None:
    code, screen = cli.on_a_terminal("recipe", "delete", "plant-beds", prompt="[y/N] ", answer="n")
    assert (code, "Nothing was deleted." in screen) == (0, True)
    assert book.names() == ["count-projects", "plant-beds"]


HEALED = """made = create_project(body={"name": "Moss"})
print("Created", made["name"])
"""


@pytest.fixture
def shifted(book: RecipeBook) -> RecipeBook:
    """A folder with a recipe whose first operation the document does not have any more."""
    gone = LIST.model_copy(update={"function": "list_boards", "path": "/boards"})
    program = f"list_boards()\n{PROGRAM}"
    operations = (gone, *plant_recipe().operations)
    book.save(beds(name="shifted", program=program, operations=operations))
    return book


def test_a_shifted_recipe_ends_unfulfilled_and_changes_nothing(cli: Cli, toy: WorldServer, shifted: RecipeBook) -> None:
    ran = cli("recipe", "run", "shifted", *GIVEN, *at(toy), "--writes", "allow")
    assert ran.code == 1
    assert "The recipe shifted stopped before it changed anything." in ran.out
    assert "--heal" in ran.out
    assert [*toy.world.log] == []


def test_healing_needs_a_model_only_when_it_starts(cli: Cli, toy: WorldServer, shifted: RecipeBook) -> None:
    fine = cli("recipe", "run", "plant-beds", *GIVEN, *at(toy), "--writes", "allow", "--heal")
    assert (fine.code, fine.out) == (0, "Created Moss — 2 tasks.\n")
    ran = cli("recipe", "run", "shifted", *GIVEN, *at(toy), "--heal", "--thread", "t")
    assert ran.code == 2
    assert "model" in ran.err
    assert "restgpt resume t" in ran.err


@pytest.mark.parametrize("is_resumed", [False, True])
def test_a_healed_run_is_saved_as_a_new_version_that_is_not_proved(
    cli: Cli,
    toy: WorldServer,
    shifted: RecipeBook,
    chat: ChatServer,
    monkeypatch: pytest.MonkeyPatch,
    is_resumed: bool,
) -> None:
    chat.use([{"thought": "", "decision": "program", "text": HEALED}])
    monkeypatch.setenv("OPENAI_BASE_URL", chat.url)
    monkeypatch.setenv("RESTGPT_MODEL", "openai:scripted")
    writes = [] if is_resumed else ["--writes", "allow"]
    ran = cli("recipe", "run", "shifted", *GIVEN, *at(toy), "--heal", "--thread", "t", *writes)
    if is_resumed:
        assert ran.code == 3, ran.err
        ran = cli("resume", "t", "--approve")
    assert ran.code == 0, ran.err
    assert "Moss" in names(toy.world)
    assert "The agent went on without the recipe. Its run is saved as" in ran.err
    assert shifted.versions("shifted") == [1, 2]
    healed = shifted.load("shifted")
    assert (healed.proved, [item.function for item in healed.operations]) == ("", ["create_project"])
    assert cli("resume", "t").code == 0
    assert shifted.versions("shifted") == [1, 2]
