"""Guards the other tools of the MCP server: programs, recipes, the agent, results by page, direct tools, many tags."""

import gc
import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

import pytest
from chatserver import ChatServer
from cli import TOY, Cli
from langgraph.store.memory import InMemoryStore
from mcp import types
from mcp.shared.exceptions import MCPError
from mcpserver import ERAS, MADE, MOSS, Person, changes, facts_of, text_of, with_client
from paths import openapi
from roles import program

from restgpt.client import Client
from restgpt.commands.serving import open_server
from restgpt.graph.persistence import open_persistence
from restgpt.mcp.seal import Seals
from restgpt.mcp.service import MOST_LISTS, Offer, Service, Tools
from restgpt.recipes.book import RecipeBook
from restgpt.sources import Sources
from restgpt.specs import load_api
from restgpt.tools.errors import extra_command
from restgpt.tools.settings import Settings
from restgpt.tools.settings.environment import AllowedFolders
from restgpt_bench.worlds.server import WorldServer

Opener = Callable[..., Any]

TWO = """
first = create_task(project_id=1, body={"title": "Moss"})
second = create_task(project_id=1, body={"title": "Fern"})
print(first["title"], "and", second["title"])
"""


def called(
    opened: Opener,
    name: str,
    arguments: Mapping[str, Any],
    person: Person | None = None,
    *,
    era: str = "2026-07-28",
    progress: Any = None,
    **chosen: Any,
) -> types.CallToolResult:
    """The result of one tool of a server in this process."""
    return with_client(
        opened(**chosen),
        lambda client: client.call_tool(name, dict(arguments), progress_callback=progress),
        person,
        era,
    )


def listed(opened: Opener, **chosen: Any) -> list[types.Tool]:
    """The tools of a server in this process."""
    return list(with_client(opened(**chosen), lambda client: client.list_tools()).tools)


@pytest.mark.parametrize("era", ERAS)
def test_a_program_is_asked_about_at_its_changes_and_undone(opened: Opener, toy: WorldServer, era: str) -> None:
    person = Person()
    ran = called(opened, "run_program", {"code": TWO}, person, era=era)
    assert "Moss and Fern" in text_of(ran), text_of(ran)
    assert changes(toy) == [MADE, MADE]
    called(opened, "undo", {"handle": facts_of(ran)["handle"]}, person, era=era)
    assert changes(toy)[2:] == ["DELETE /tasks/{task_id} 204"] * 2


def test_a_program_that_waits_is_decided_on_the_command_line(opened: Opener, toy: WorldServer, cli: Cli) -> None:
    waiting = facts_of(called(opened, "run_program", {"code": TWO}))
    assert (waiting["status"], changes(toy)) == ("pending", [])
    assert cli("resume", waiting["thread"], "--approve").code == 3
    assert cli("resume", waiting["thread"], "--approve").code == 0
    after = called(opened, "pending", {"handle": waiting["handle"]})
    assert ("Moss and Fern" in text_of(after), changes(toy)) == (True, [MADE, MADE])


def test_a_corrected_program_does_not_repeat_its_changes(opened: Opener, toy: WorldServer) -> None:
    person, wrong = Person(), TWO.replace('second["title"]', 'second["name"]')
    failed = called(opened, "run_program", {"code": wrong}, person)
    assert failed.is_error
    right = called(opened, "run_program", {"code": TWO, "thread": facts_of(failed)["thread"]}, person)
    assert ("Moss and Fern" in text_of(right), changes(toy)) == (True, [MADE, MADE])


@pytest.mark.parametrize("thread", ["program-0", "nothing", "call-1", "../x"])
def test_a_program_corrects_only_a_thread_of_its_own_client(opened: Opener, toy: WorldServer, thread: str) -> None:
    result = called(opened, "run_program", {"code": TWO, "thread": thread}, Person())
    assert (result.is_error, changes(toy)) == (True, [])


def test_a_deleted_thread_of_a_client_leaves_nothing_of_its_arguments(opened: Opener, cli: Cli, home: Path) -> None:
    waiting = facts_of(called(opened, "change_operation", MOSS))
    assert cli("threads", "--delete", waiting["thread"], "--yes").code == 0
    with open_persistence(Settings(home=home)) as kept:
        assert "Moss" not in str([item.value for item in kept.store.search((), limit=1_000)])


def test_a_thread_that_was_deleted_is_not_said_to_have_sent_nothing(opened: Opener, toy: WorldServer, cli: Cli) -> None:
    waiting = facts_of(called(opened, "run_program", {"code": TWO}))
    assert cli("resume", waiting["thread"], "--approve").code == 3
    assert changes(toy) == [MADE]
    assert cli("threads", "--delete", waiting["thread"], "--yes").code == 0
    for tool, given in (
        ("run_program", {"code": TWO, "thread": waiting["thread"]}),
        ("pending", {"handle": waiting["handle"]}),
    ):
        told = called(opened, tool, given, Person())
        assert (told.is_error, "Nothing was sent" in text_of(told)) == (True, False)
        assert f"The thread {waiting['thread']} was deleted" in text_of(told)
    assert waiting["thread"] not in cli("threads").out
    again = called(opened, "run_program", {"code": TWO})
    assert "no second one was made" not in text_of(again)
    assert facts_of(again)["thread"] != waiting["thread"]
    assert changes(toy) == [MADE]


@pytest.mark.parametrize("era", ERAS)
def test_a_thread_deleted_while_it_asks_sends_nothing(opened: Opener, toy: WorldServer, cli: Cli, era: str) -> None:
    def delete() -> None:
        thread = cli("threads").out.split()[0]
        assert cli("threads", "--delete", thread, "--yes").code == 0

    told = called(opened, "change_operation", MOSS, Person(before=delete), era=era)
    assert "was deleted" in text_of(told)
    assert (cli("threads").out.strip(), changes(toy)) == ("There are no threads.", [])


@pytest.mark.parametrize("era", ERAS)
def test_a_server_without_the_api_of_a_change_leaves_it_to_one_that_has_it(
    opened: Opener, toy: WorldServer, home: Path, tmp_path: Path, era: str
) -> None:
    document = tmp_path / "other.json"
    document.write_text(json.dumps(openapi({"/a": {"get": {"operationId": "look", "responses": {"200": {}}}}})))
    waiting = facts_of(called(opened, "change_operation", MOSS))
    made = facts_of(called(opened, "run_program", {"code": TWO.replace("Moss", "Oak")}, Person()))

    def elsewhere(tool: str, handle: str, person: Person) -> types.CallToolResult:
        server = open_server(Settings.from_env(), Sources((), (str(document),), toy.url), {})
        return with_client(server, lambda client: client.call_tool(tool, {"handle": handle}), person, era)

    person = Person()
    told = elsewhere("pending", waiting["handle"], person)
    assert (facts_of(told)["status"], person.shown) == ("pending", [])
    assert "This server does not offer its operation" in text_of(told)
    assert f"restgpt undo {made['thread']}" in text_of(elsewhere("undo", made["handle"], person))
    after = called(opened, "pending", {"handle": waiting["handle"]}, person, era=era)
    assert (facts_of(after)["status"], len(person.shown), len(changes(toy))) == ("sent", 1, 3)


def test_a_recipe_is_a_tool_whose_inputs_are_not_the_users_words(
    opened: Opener, toy: WorldServer, recipes: RecipeBook
) -> None:
    (tool,) = [tool for tool in listed(opened) if tool.name == "add_task"]
    assert set(tool.input_schema["properties"]) == {"project", "title"}
    person = Person()
    ran = called(opened, "add_task", {"project": "Winter timetable", "title": "Moss"}, person)
    assert ("Added Moss" in text_of(ran), changes(toy)) == (True, [MADE])
    assert "body.title: the model wrote it" in person.shown[0]


def test_a_recipe_that_waits_goes_on_by_resume(opened: Opener, toy: WorldServer, recipes: RecipeBook, cli: Cli) -> None:
    waiting = facts_of(called(opened, "add_task", {"project": "Winter timetable"}))
    assert cli("resume", waiting["thread"], "--approve").code == 0
    after = called(opened, "pending", {"handle": waiting["handle"]})
    assert ("Added Buy soil" in text_of(after), changes(toy)) == (True, [MADE])


def test_wrong_inputs_of_a_recipe_are_a_result(opened: Opener, toy: WorldServer, recipes: RecipeBook) -> None:
    result = called(opened, "add_task", {"title": 7})
    assert (result.is_error, "project" in text_of(result), changes(toy)) == (True, True, [])


def test_the_agent_is_a_tool_only_with_a_model(opened: Opener, write: Callable[..., ChatServer]) -> None:
    assert "ask" not in [tool.name for tool in listed(opened)]
    write(program("print(1)"))
    assert "ask" in [tool.name for tool in listed(opened)]


def test_the_agent_asks_about_changes_and_reports_its_steps(
    opened: Opener, toy: WorldServer, write: Callable[..., ChatServer]
) -> None:
    write(program('made = create_task(project_id=1, body={"title": "Moss"})\nprint("Added", made["title"])'))
    steps: list[str] = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        steps.append(message or "")

    ran = called(opened, "ask", {"instruction": "Add the task Moss to project 1."}, Person(), progress=progress)
    assert ("Added Moss" in text_of(ran), changes(toy)) == (True, [MADE])
    assert {"planner", "parser"} <= set(steps)


def test_an_instruction_of_a_client_is_not_the_users_word(
    opened: Opener, toy: WorldServer, write: Callable[..., ChatServer]
) -> None:
    write(program('made = create_task(project_id=1, body={"title": "Moss"})\nprint("Added", made["title"])'))
    person = Person()
    called(opened, "ask", {"instruction": "Add the task Moss to project 1."}, person)
    assert "body.title: the model wrote it" in person.shown[0]


@pytest.mark.parametrize("tool", ["change_operation", "run_program"])
def test_values_reserved_for_the_user_are_never_those_of_a_client(
    tool: str, toy: WorldServer, home: Path, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    AllowedFolders(home).allow(tmp_path)
    rule = {"from_user": ["body.title"], "id": "create_task"}
    entry = {"board": {"spec": TOY, "base_url": toy.url, "policy": [rule], "auth": {"key": "${RESTGPT_AUTH_KEY}"}}}
    (tmp_path / "apis.yaml").write_text(json.dumps(entry))

    def opened(**chosen: Any) -> Any:
        return open_server(Settings.from_env(), Sources(("board",)), {}, **chosen)

    person = Person()
    result = called(opened, tool, MOSS if tool == "change_operation" else {"code": TWO}, person)
    assert ("wants these values from the user" in text_of(result), changes(toy), person.shown) == (True, [], [])


def test_a_target_that_changed_after_the_question_is_asked_about_anew(opened: Opener, toy: WorldServer) -> None:
    change = {"operation": "update_task", "arguments": {"path": {"task_id": 101}, "body": {"title": "Moss"}}}
    person = Person()

    def interfere() -> None:
        if len(person.shown) == 1:
            toy.world.call("PATCH /tasks/101", body={"title": "Fern"})

    person.before = interfere
    called(opened, "change_operation", change, person)
    assert len(person.shown) == 2
    assert "The target has changed" in person.shown[1]


def test_a_large_result_is_read_by_pages_as_a_tool_and_as_a_resource(opened: Opener, toy: WorldServer) -> None:
    async def read(client: Any) -> tuple[str, str, str]:
        result = await client.call_tool("run_program", {"code": 'print("x" * 30_000)'})
        (link,) = [part for part in result.content if isinstance(part, types.ResourceLink)]
        resource = (await client.read_resource(str(link.uri))).contents[0]
        handle = str(link.uri).removeprefix("restgpt://result/").partition("?")[0]
        page = await client.call_tool("read_result", {"handle": handle, "page": 2})
        return text_of(result), resource.text, text_of(page)

    preview, resource, page = with_client(opened(), read)
    assert len(preview) < 6_000
    assert "30,000" in resource
    assert "page 2" in page


@pytest.mark.parametrize("uri", ["restgpt://result/s1.x.y.z", "restgpt://result/", "restgpt://other/1", "file:///etc"])
def test_a_forged_address_of_a_result_is_refused(opened: Opener, uri: str) -> None:
    async def refusal(client: Any) -> int:
        with pytest.raises(MCPError) as error:
            await client.read_resource(uri)
        return error.value.error.code

    assert with_client(opened(), refusal) == types.INVALID_PARAMS


def test_direct_tools_are_those_of_the_operations_with_honest_hints(opened: Opener, toy: WorldServer) -> None:
    tools = {tool.name: tool for tool in listed(opened, is_direct=True)}
    assert {"create_task", "delete_task", "list_projects", "pending", "undo"} <= set(tools)
    assert tools["list_projects"].annotations is not None
    assert tools["list_projects"].annotations.read_only_hint is True
    removing = tools["delete_task"].annotations
    assert removing is not None
    assert (removing.read_only_hint, removing.destructive_hint, removing.idempotent_hint) == (False, True, True)
    person = Person()
    made = called(opened, "create_task", MOSS["arguments"], person, is_direct=True)
    assert ("Moss" in text_of(made), changes(toy)) == (True, [MADE])


def test_the_users_rules_decide_what_a_tool_says_about_itself(opened: Opener, tmp_path: Path) -> None:
    rules = {"board": {"spec": str(TOY), "effects": [{"effect": "change", "id": "list_projects"}]}}
    (tmp_path / "apis.yaml").write_text(json.dumps(rules))

    described = called(opened, "describe_operation", {"operations": ["list_projects"]}, is_direct=True)
    [listing] = [tool for tool in listed(opened, is_direct=True) if tool.name == "list_projects"]
    assert listing.annotations is None or not listing.annotations.read_only_hint
    assert "a person is asked first" in text_of(described)


def test_direct_tools_need_groups_for_a_large_document(
    toy: WorldServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    made = [(tag, number) for tag in ("stones", "birds") for number in range(30)]
    paths = {f"/{tag}/{number}": {"get": {"operationId": f"{tag}_{number}", "tags": [tag]}} for tag, number in made}
    (tmp_path / "large.json").write_text(json.dumps(openapi(paths)))
    monkeypatch.chdir(tmp_path)
    ran = cli("mcp", "--spec", "large.json", "--base-url", toy.url, "--direct")
    assert (ran.code, [text in ran.err for text in ("60 operations", "--tag", "birds, stones")]) == (2, [True] * 3)

    def opened(**chosen: Any) -> Any:
        sources = Sources((), (str(tmp_path / "large.json"),), toy.url)
        return open_server(Settings.from_env(), sources, {}, is_direct=True, **chosen)

    names = [tool.name for tool in listed(opened, tags=("birds",))]
    assert ("birds_1" in names, "stones_1" in names) == (True, False)


def test_the_largest_document_is_served(data_folder: Path, cli: Cli, tmp_path: Path) -> None:
    found = max((data_folder / "openapi").rglob("*.*"), key=lambda path: path.stat().st_size, default=None)
    if found is None:
        pytest.skip("RESTGPT_DATA has no folder openapi with documents")

    def opened(**chosen: Any) -> Any:
        return open_server(Settings.from_env(), Sources((), (str(found),)), {}, **chosen)

    tools = listed(opened)
    # What a model reads: the rest, such as hints, is for the client.
    read = {"name", "description", "input_schema"}
    text = json.dumps([tool.model_dump(mode="json", by_alias=True, exclude_none=True, include=read) for tool in tools])
    assert len(text) / 4 < 1_500
    assert text_of(called(opened, "find_operations", {"query": "list users"}))


@pytest.mark.slow
def test_without_the_extra_the_command_says_what_to_install() -> None:
    # An installation without the packages is one in which they cannot be found.
    script = "import sys\nsys.modules['mcp'] = None\nsys.argv = ['restgpt', 'mcp', '--spec', 'x.yaml']\n"
    script += "from restgpt.cli import main\nmain()\n"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert (ran.returncode, extra_command("mcp") in ran.stderr) == (2, True)


@pytest.mark.slow
def test_groups_that_clients_name_in_urls_do_not_pile_up(toy: WorldServer) -> None:
    api, threads = load_api(TOY, base_url=toy.url), cast("Any", None)
    service = Service(Client([api]), threads, Seals(InMemoryStore()), Offer(is_direct=True), apis=[api])
    for number in range(MOST_LISTS + 5):
        assert service.tools(("projects", f"other {number}")).operations
    gc.collect()
    assert sum(type(item) is Tools for item in gc.get_objects()) <= MOST_LISTS
