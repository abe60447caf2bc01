"""Guards programs on the command line: the pause shows where they stopped, the trace and the documents tell them."""

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from chatserver import ChatServer
from cli import TOY, Cli, at, changes, names
from lyingserver import DOCUMENT as LIES
from lyingserver import LyingServer, served_lies
from paths import openapi
from roles import end, program

from restgpt_bench.worlds import CREDENTIAL
from restgpt_bench.worlds.server import WorldServer

Write = Callable[..., ChatServer]

TWO = """# Make two projects.
names = ["Moss", "Fern"]
made = gather(*[create_project(body={"name": name}) for name in names])
print("Created", ", ".join(item["name"] for item in made))"""

BARE = openapi(
    {"/projects": {"get": {"operationId": "list_projects", "responses": {"200": {"description": "All projects."}}}}},
    schemes={"key": {"type": "apiKey", "in": "query", "name": "key"}},
    security=[{"key": []}],
)


@pytest.fixture
def lying() -> Iterator[LyingServer]:
    with served_lies() as served:
        yield served


def test_the_pause_shows_each_request_and_the_program_with_the_line_that_waits(
    cli: Cli, toy: WorldServer, write: Write
) -> None:
    write(program(f"```python\n{TWO}\n```"), program(TWO))
    ran = cli("ask", "Create Moss and Fern", *at(toy), "--thread", "two")
    assert ran.code == 3, ran.err
    told = ran.err.partition("Paused for approval:")[2]
    assert "The program waits at line 3:" in told
    assert "→   3 │ made = gather(" in told
    # The trace above has the whole program, which stands below where there is none.
    assert (ran.err.count("names = "), "    2 │ names = " in cli("threads", "two").err) == (1, True)
    quiet = cli("ask", "Create Moss and Fern", *at(toy), "--thread", "quiet", "--quiet")
    assert "    2 │ names = " in quiet.err
    assert told.index("The program waits") < told.index("POST ")
    assert told.count(f"POST {toy.url}/projects") == 2
    assert told.count("made = gather(") == 1
    assert '"name":"Moss"' in told.replace(" ", "")
    assert "restgpt resume two --approve" in ran.err
    assert changes(toy.world) == []
    resumed = cli("resume", "two", "--approve")
    assert (resumed.code, resumed.out) == (0, "Created Moss, Fern\n")
    assert changes(toy.world) == ["POST /projects", "POST /projects"]


def test_the_document_of_a_pause_has_a_program_and_places_of_actions(cli: Cli, toy: WorldServer, write: Write) -> None:
    write(program(TWO))
    ran = cli("ask", "Create Moss and Fern", *at(toy), "--json", "--thread", "two")
    [pause] = ran.document["pending"]
    assert (ran.code, ran.document["status"]) == (3, "paused")
    assert pause["program"]["code"] == TWO
    calls = pause["program"]["calls"]
    assert [call["line"] for call in calls] == [3, 3]
    assert [call["operation"] for call in calls] == ["create_project", "create_project"]
    assert len({call["position"] for call in calls}) == 2
    made = [(action["name"], action["args"]) for action in pause["actions"]]
    assert made == [("create_project", {"body": {"name": name}}) for name in ("Moss", "Fern")]
    assert pause["allowed"]["create_project"] == ["approve", "edit", "reject", "respond"]
    said = {key: ran.document["program"][key] for key in ("code", "writer", "number", "status")}
    assert said == {"code": TWO, "writer": "caller", "number": 1, "status": "running"}
    shown = cli("threads", "two", "--json").document
    assert shown["program"] == ran.document["program"]
    assert shown["pending"][0]["program"] == pause["program"]
    done = cli("resume", "two", "--approve", "--json").document
    assert (done["program"]["status"], done["program"]["end"]) == ("over", "report")
    [step] = done["steps"]
    assert step["program"]["code"] == TWO
    assert [request["place"]["line"] for request in step["requests"]] == [3, 3]


def test_a_person_sees_all_requests_first_and_the_program_on_demand(cli: Cli, toy: WorldServer, write: Write) -> None:
    write(program(TWO))
    ask, answers = ("ask", "Create Moss and Fern", *at(toy)), ["one by one", "view", "approve", "approve"]
    code, screen = cli.on_a_terminal(*ask, prompt="[l]ater? ", answer=answers)
    assert code == 0, screen
    assert screen.count("The program waits at line 3:") == 1
    assert screen.index("POST ") < screen.index("Approve [a]ll 2") < screen.index("The program waits")
    assert "Moss" in names(toy.world)


def test_what_a_person_leaves_for_later_and_a_report_is_told_once(cli: Cli, toy: WorldServer, write: Write) -> None:
    write(program('print("Made", create_project(body={"name": "Moss"})["name"])'))
    ask = ("ask", "Create Moss", *at(toy), "--thread", "moss")
    code, screen = cli.on_a_terminal(*ask, prompt="[l]ater? ", answer="later")
    assert (code, screen.count("Undo:"), screen.count("resume moss --approve")) == (3, 1, 1)
    assert cli("threads", "moss").err.count("Undo:") == 1
    assert cli("resume", "moss", "--approve").out == "Made Moss\n"
    assert cli("threads", "moss").out.count("Made Moss") == 1


def test_the_trace_tells_a_program_and_calls_by_line_but_no_answer(cli: Cli, toy: WorldServer, write: Write) -> None:
    write(program("found = list_projects()\nprint(len(rows(found)), 'projects')"))
    ran = cli("ask", "How many projects are there?", *at(toy))
    assert ran.code == 0, ran.err
    flat = " ".join(ran.err.split())
    assert "program found = list_projects()" in flat
    assert f"GET {toy.url}/projects (line 1) → 200" in flat
    assert ran.out.strip() not in flat
    quiet = cli("threads", ran.err.split()[1])
    lines = [line.split()[0] for line in quiet.out.splitlines() if line and not line.startswith(" ")]
    assert lines[3:6] == ["program", "request", "report"]


def test_the_trace_tells_an_error_by_line_and_the_corrected_program(cli: Cli, toy: WorldServer, write: Write) -> None:
    write(program("print(list_projcts())"), program("print(len(rows(list_projects())), 'projects')"))
    ran = cli("ask", "How many projects are there?", *at(toy))
    assert ran.code == 0, ran.err
    flat = " ".join(ran.err.split())
    assert "failed The program failed. Line 1: there is no function list_projcts" in flat
    assert "program 2 print(len(rows(list_projects())), 'projects')" in flat


def test_quiet_prints_nothing_but_the_report(cli: Cli, toy: WorldServer, write: Write) -> None:
    write(program("print(len(rows(list_projects())) > 0)"))
    ran = cli("ask", "Are there projects?", *at(toy), "--quiet")
    assert (ran.code, ran.out, ran.err) == (0, "True\n", "")


def test_a_thread_with_a_paused_program_shows_what_was_sent_and_waits(cli: Cli, toy: WorldServer, write: Write) -> None:
    write(program('found = rows(list_projects())\nmade = create_project(body={"name": "Moss"})\nprint(made["name"])'))
    cli("ask", "Create Moss", *at(toy), "--thread", "moss")
    shown = cli("threads", "moss")
    assert shown.out.startswith("thread       moss (waiting)")
    assert f"request      GET {toy.url}/projects (line 1) → 200" in shown.out
    assert "The program waits at line 2:" in shown.err
    assert "moss           waiting" in cli("threads").out


def test_no_credential_in_code_or_hidden_character_is_printed(cli: Cli, toy: WorldServer, write: Write) -> None:
    code = f'key = "{CREDENTIAL}"  # \u202e\x1b[2J\nprint(create_project(body={{"name": "{CREDENTIAL}"}})["name"])'
    write(program(code))
    ran = cli("ask", "Create Moss", *at(toy), "--thread", "moss", "--quiet")
    assert ran.code == 3, ran.err
    assert CREDENTIAL not in ran.err
    assert "\x1b" not in ran.err
    assert "\\u202e" in ran.err


def test_undo_reverses_the_changes_of_a_program_newest_first(cli: Cli, toy: WorldServer, write: Write) -> None:
    before = names(toy.world)
    others = 'gather(*[create_project(body={"name": name}) for name in ["Fern", "Ivy"]])'
    write(program(f'create_project(body={{"name": "Moss"}})\n{others}\nprint("Created three.")'))
    cli("ask", "Create Moss, Fern and Ivy", *at(toy), "--thread", "three", "--writes", "allow")
    assert names(toy.world) == [*before, "Moss", "Fern", "Ivy"]
    made = {item["name"]: item["id"] for item in toy.world.call("GET /projects").body["items"]}
    ran = cli("undo", "three", "--approve", "--json")
    assert ran.code == 0, ran.err
    undone = [item["arguments"]["path"]["project_id"] for item in ran.document["undone"]]
    assert undone == [made["Ivy"], made["Fern"], made["Moss"]]
    assert names(toy.world) == before


def test_an_undo_that_waits_gives_way_to_other_steps_or_newer_changes(cli: Cli, toy: WorldServer, write: Write) -> None:
    before = names(toy.world)
    for number, made in enumerate((["Moss", "Fern"], ["Ivy"]), 1):
        write(program(f'made = [create_project(body={{"name": name}}) for name in {made}]\nprint("Created.")'))
        cli("ask", f"Create the projects {' and '.join(made)}", *at(toy), "--thread", "t", "--writes", "allow")
        asked = cli("undo", "t")
        assert (asked.code, asked.err.count("DELETE ")) == (3, [2, 3][number - 1])
    assert names(toy.world) == [*before, "Moss", "Fern", "Ivy"]
    looked = cli("undo", "t", "--steps", "1")
    assert (looked.code, looked.err.count("DELETE ")) == (3, 1)
    assert "restgpt undo t --steps 1" in " ".join(looked.err.split())
    assert cli("undo", "t", "--steps", "1", "--approve").code == 0
    assert names(toy.world) == [*before, "Moss", "Fern"]
    left = cli("undo", "t", "--steps", "1")
    assert (left.code, "The question stays open until then: to drop it, reject it there." in left.err) == (3, True)
    assert cli.on_a_terminal("undo", "t", prompt="? ", answer=["o", *["r", "no"] * 2])[0] == 1
    assert names(toy.world) == [*before, "Moss", "Fern"]
    assert cli("undo", "t", "--approve").code == 0
    assert names(toy.world) == before


def test_functions_of_an_instruction_are_shown_as_planners_see_them(cli: Cli, toy: WorldServer, write: Write) -> None:
    server = write(end("Good morning."))
    cli("ask", "Which tasks are open?", *at(toy))
    shown = cli("api", "functions", "Which tasks are open?", *at(toy))
    assert shown.code == 0, shown.err
    assert "create_project(" in shown.out
    assert shown.out.strip() in server.requests[0].text


def test_one_function_is_shown_with_a_budget(cli: Cli, toy: WorldServer) -> None:
    one = cli("api", "functions", "--spec", TOY, "-o", "list_projects", "--json").document["functions"]
    assert one.startswith("list_projects(")
    assert "create_project(" not in one
    assert cli("api", "functions", "--spec", TOY, "-o", "list_projcts").code == 2
    small = cli("api", "functions", "--spec", TOY, "--set", "functions_budget=300").out
    assert len(small) < len(cli("api", "functions", "--spec", TOY).out)


def test_learned_shapes_are_shown_with_the_function_until_they_are_deleted(
    cli: Cli, toy: WorldServer, write: Write, tmp_path: Path
) -> None:
    bare = tmp_path / "bare.json"
    bare.write_text(json.dumps(BARE), encoding="utf-8")
    where = ["--spec", str(bare), "--base-url", toy.url]
    write(program("print(len(rows(list_projects())))"))
    ran = cli("ask", "How many projects?", *where)
    assert ran.code == 0, ran.err
    show = ["api", "functions", *where, "-o", "list_projects"]
    assert "seen: {items: [{" in cli(*show).out
    assert cli("memory", "forget", "shapes").out == "Forgotten: 1 shape.\n"
    assert "seen:" not in cli(*show).out
    assert cli("memory", "forget", "shapes", "--json").document == {"forgotten": 0}


@pytest.mark.slow
def test_a_note_of_one_process_is_shown_listed_and_deleted_by_others(
    cli: Cli, lying: LyingServer, write: Write, tmp_path: Path
) -> None:
    spec = tmp_path / "depot.yaml"
    spec.write_text(LIES, encoding="utf-8")
    where = ["--spec", str(spec), "--base-url", lying.url]
    write(program("try:\n    list_orders()\nexcept ApiError:\n    print(list_orders(region='north')['count'])"))
    ran = cli.start("ask", "Count the orders of the region north", *where, stdout=subprocess.PIPE)
    assert (ran.communicate()[0], ran.returncode) == ("3\n", 0)
    told = "the server refused a call without region (query) (status 422), and accepted one with it"
    show = ["api", "functions", *where, "-o", "list_orders"]
    assert f"Note: {told}." in cli(*show).out
    assert cli("memory", "list").out == f"note  depot ({lying.url}): list_orders, GET /orders: {told}\n"
    [listed] = cli("memory", "list", "list_orders", "--api", "depot", "--json").document["notes"]
    assert (listed["operation"], listed["notes"]) == ("GET /orders", [told])
    assert cli("memory", "forget", "notes", "place_order").code == 2
    assert cli("memory", "forget", "notes").out == "Forgotten: 1 note.\n"
    assert cli("memory", "list").out == "Nothing is kept.\n"
    assert "Note:" not in cli(*show).out


def test_a_program_that_waits_long_is_saved_and_goes_on_when_due(cli: Cli, toy: WorldServer, write: Write) -> None:
    waits = "import time\nlist_projects()\ntime.sleep(1)\nprint(len(rows(list_projects())))"
    write(waits)
    given = ("ask", "How many projects are there?", *at(toy), "--thread", "late", "--set", "max_wait=0")
    ran = cli(*given)
    assert ran.code == 3
    assert "The program waits until " in ran.err
    assert "`restgpt resume --due`" in ran.err
    assert cli("threads").out.split()[1] in ("until", "due")
    assert "The program waits until " in cli("threads", "late").out
    assert cli("resume", "--due", "--json").code == 0
    assert len(toy.world.log) == 1
    time.sleep(1)
    due = cli("resume", "--due")
    assert (due.code, due.out) == (0, "4\n"), due.err
    assert "1 thread was due" in due.err
    assert cli("resume", "--due").err.endswith("0 threads were due\n")
    assert len(toy.world.log) == 2


@pytest.mark.parametrize("given", [(), ("late", "--due"), ("--due", "--approve")])
def test_resume_takes_a_thread_or_all_that_are_due(cli: Cli, given: tuple[str, ...]) -> None:
    assert cli("resume", *given).code == 2
