"""Guards `include` and `exclude`: what they bar is in no prompt, search or tool, and is sent through no door."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from board import Board
from chatserver import ChatServer
from cli import TOY, Cli, at, changes
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from mcpserver import Person, text_of, with_client
from paths import api_of, openapi
from plantrecipe import plant_recipe
from roles import end, program

from restgpt import Client, as_tools, load_api
from restgpt.commands.serving import open_server
from restgpt.graph.persistence import open_persistence
from restgpt.outcome import Called, Pending, Ran
from restgpt.recipes.book import RecipeBook
from restgpt.sources import Sources
from restgpt.specs import Api, Catalogue, SpecError
from restgpt.specs.problem import BarredOperationError, UnknownOperationError
from restgpt.threads import Threads
from restgpt.tools.errors import ArgumentError, SettingsError
from restgpt.tools.settings import Settings
from restgpt.tools.settings.apis_file import load_apis
from restgpt_bench.worlds import CREDENTIAL
from restgpt_bench.worlds.server import WorldServer

Model = Callable[[Mapping[str, Any]], ChatServer]
DELETE = "exclude: method=DELETE"


def toy_within(url: str = "http://127.0.0.1:1", **rules: Any) -> Api:
    return load_api(TOY, base_url=url, auth={"key": CREDENTIAL}, **rules)


def names(api: Api) -> list[str]:
    return [operation.name for operation in api.operations]


@pytest.mark.parametrize(
    ("rules", "left"),
    [
        ({"include": "path=/tasks/**"}, ["get_task", "update_task", "delete_task"]),
        ({"include": {"path": "/tasks*", "method": "get"}}, ["find_tasks"]),
        ({"include": ["id=get_task", "id=list_projects"]}, ["list_projects", "get_task"]),
        ({"include": [{"id": ["get_task", "list_tasks", "find_tasks"]}], "exclude": ["id=find_tasks"]}, ["get_task"]),
        ({"include": "method=PATCH method=PUT path=/tasks/*"}, ["update_task"]),
    ],
)
def test_rules_choose_by_method_path_and_operation(rules: Any, left: list[str]) -> None:
    assert names(toy_within(**rules)) == left


def test_rules_choose_by_tag_whose_name_may_have_spaces() -> None:
    fares, trips = {"tags": ["Fares"], "operationId": "fares"}, {"tags": ["Trips", "Old trips"], "operationId": "trips"}
    document = openapi({"/fares": {"get": fares}, "/trips": {"get": trips}})
    assert names(load_api(document, include="tag=Old trips")) == ["trips"]
    assert names(load_api(document, exclude=[{"tag": ["Old trips"]}])) == ["fares"]


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        ("DELETE", "must be a mapping, or a text such as"),
        ("", "must name operations, by method, id, tag, path"),
        ({}, "must name operations, by method, id, tag, path"),
        ({"methods": "GET"}, "cannot be read"),
        ("id=delte_task", "`exclude: id=delte_task` fits no operation"),
    ],
)
def test_a_rule_that_would_bar_nothing_by_mistake_is_refused(rule: Any, why: str) -> None:
    with pytest.raises(SpecError, match=why):
        toy_within(exclude=[rule])


@pytest.mark.parametrize("rules", [[], (), ""])
def test_an_include_without_a_rule_does_not_include_everything(board: Board, rules: Any, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="include cannot be read: it must name operations"):
        toy_within(include=rules)
    with pytest.raises(SpecError, match="include cannot be read"):
        as_tools([board.api], include=rules)
    file = tmp_path / "apis.yaml"
    file.write_text("board:\n  spec: x.json\n  include:\n  exclude:\n")
    with pytest.raises(SettingsError, match=r"board\.include must name operations, or be left out"):
        load_apis(file, {})


def test_what_is_barred_is_in_no_search_no_list_and_no_description() -> None:
    paths: Any = {
        "/trips": {"get": {"tags": ["trips"], "operationId": "list_trips"}},
        "/fares": {"description": "Secret fares.", "delete": {"tags": ["fares"], "operationId": "drop_fares"}},
    }
    tags = [{"name": "trips", "description": "Trips."}, {"name": "fares", "description": "Fares are secret."}]
    api = load_api(openapi(paths, tags=tags), exclude=["tag=fares"])
    catalogue = Catalogue([api])
    assert (names(api), list(catalogue), api.search("drop secret fares")) == ([*["list_trips"]], [*api.operations], [])
    assert (api.tag_descriptions, api.path_descriptions) == ({"trips": "Trips."}, {})
    assert "fares" not in catalogue.map.open().text(1000)
    assert (catalogue.knows("drop_fares"), "drop_fares" in catalogue.functions) == (False, False)


@pytest.mark.parametrize("key", ["delete_task", "delete /tasks/{id}", "team-board.delete_task"])
def test_a_lookup_under_any_name_tells_the_rule(key: str) -> None:
    with pytest.raises(BarredOperationError, match=DELETE):
        Catalogue([toy_within(exclude=["method=DELETE"])]).operation(key)
    with pytest.raises(BarredOperationError, match="include: id=get_task; path=/projects"):
        Catalogue([toy_within(include=["id=get_task", "path=/projects"])]).operation(key)
    with pytest.raises(UnknownOperationError, match="no operation is called") as raised:
        Catalogue([toy_within(exclude=["method=DELETE"])]).operation("destroy")
    assert "delete" not in str(raised.value)


def test_a_request_that_names_a_barred_method_is_refused(board: Board) -> None:
    override = {"name": "X-HTTP-Method-Override", "in": "header", "schema": {"type": "string"}}
    paths: Any = {"/tasks/101": {"get": {"operationId": "one", "parameters": [override], "responses": {}}}}
    client = Client(load_api(openapi(paths), base_url=board.server.url, exclude="method=DELETE"))
    with pytest.raises(ArgumentError, match="one as DELETE may not be used here: the rule `exclude: method=DELETE`"):
        client.draft("one", {"header": {"X-HTTP-Method-Override": "delete"}})
    assert isinstance(client.call("one"), Called)
    assert [call.partition(" ")[0] for call in board.calls()] == ["GET"]


def test_the_command_call_refuses_by_options_and_by_the_file(cli: Cli, toy: WorldServer, tmp_path: Path) -> None:
    given = ["call", "delete_task", "--args", '{"task_id": 101}', "--approve"]
    for rule, told in (("method=DELETE", DELETE), ("id=delete_task", "exclude: id=delete_task")):
        ran = cli(*given, *at(toy), "--exclude", rule)
        assert (ran.code, f"`{told}`" in ran.err, "nothing was sent" in ran.err) == (2, True, True)
    Path("apis.yaml").write_text(f"board:\n  spec: {TOY}\n  base_url: {toy.url}\n  exclude:\n    - method: DELETE\n")
    assert DELETE in cli(*given, "--api", "board").err
    # A document beside the file gets the rules of its entry as far as they tighten.
    assert DELETE in cli(*given, *at(toy)).err
    assert changes(toy.world) == []
    assert "delete_task" not in cli("api", "show", "board").out
    assert "delete" not in cli("api", "find", "delete a task", "--api", "board").out


def test_an_api_of_python_obeys_its_entrys_rules(board: Board, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(f"{board.api.name}:\n  spec: elsewhere.json\n  include: [method=GET]\n")
    monkeypatch.setenv("RESTGPT_APIS", str(file))
    with pytest.raises(BarredOperationError, match="include: method=GET"):
        Client([board.api]).draft("delete_task", {"task_id": 101})


def test_a_rule_of_the_file_that_cannot_be_read_is_named_by_its_place(tmp_path: Path) -> None:
    file = tmp_path / "apis.yaml"
    file.write_text("board:\n  spec: x.json\n  exclude:\n    - tags: x\n")
    with pytest.raises(SettingsError, match=r"board\.exclude\[0\]\.tags is unknown"):
        load_apis(file, {})
    file.write_text("board:\n  spec: x.json\n  include:\n    - {}\n")
    with pytest.raises(SettingsError, match=r"board\.include\[0\] must name operations"):
        load_apis(file, {})


def test_a_program_hears_of_the_rule_and_sends_nothing(board: Board) -> None:
    api = toy_within(board.server.url, exclude=["method=DELETE"])
    ran = Client([api]).run("print(len(rows(list_projects())))\ndelete_task(task_id=101)")
    assert isinstance(ran, Ran)
    assert (ran.ok, f"the rule `{DELETE}` bars it" in ran.text) == (False, True)
    hidden = Client([api]).run("exec('delete_task(task_id=101)')\nprint(1)")
    assert isinstance(hidden, Ran)
    assert (hidden.ok, board.calls()) == (False, [])


def test_a_recipe_stops_at_a_barred_function_before_its_first_request(
    cli: Cli, toy: WorldServer, tmp_path: Path
) -> None:
    RecipeBook(tmp_path / "recipes").save(plant_recipe(apis=({"name": "team-board"},)))
    given = ["--input", "name=Moss", "--input", "titles=Dig", "--writes", "allow"]
    ran = cli("recipe", "run", "plant-beds", *given, *at(toy), "--exclude", "id=create_task")
    told = " ".join(f"{ran.out} {ran.err}".split())
    assert (ran.code, "the rule `exclude: id=create_task` bars it" in told) == (1, True)
    assert changes(toy.world) == []


def test_an_mcp_server_neither_lists_nor_sends_what_is_barred(toy: WorldServer, cli: Cli) -> None:
    settings, sources = Settings.from_env(), Sources.given(None, [TOY], toy.url, None, ["method=DELETE"])
    wanted = {"operation": "delete_task", "arguments": {"task_id": 101}}

    async def use(client: Any) -> tuple[str, str, str]:
        found = await client.call_tool("find_operations", {"query": "delete a task"})
        called = await client.call_tool("change_operation", wanted)
        ran = await client.call_tool("run_program", {"code": "delete_task(task_id=101)"})
        return text_of(found), text_of(called), text_of(ran)

    found, called, ran = with_client(open_server(settings, sources, {}), use, Person())
    assert "delete_task" not in found
    assert f"`{DELETE}`" in called
    assert f"`{DELETE}`" in ran
    server = open_server(settings, sources, {}, is_direct=True)
    direct = with_client(server, lambda client: client.list_tools(), Person())
    assert "delete_task" not in [tool.name for tool in direct.tools]
    assert changes(toy.world) == []


def test_tools_of_a_host_neither_find_nor_send_what_is_barred(board: Board) -> None:
    tools = {item.name: item for item in as_tools([board.api], exclude=["method=DELETE"])}
    assert "delete_task" not in tools["find_operations"].invoke({"query": "remove a task"})
    refused = tools["change_operation"].invoke({"operation": "delete_task", "arguments": {"task_id": 101}})
    assert f"`{DELETE}`" in refused
    direct = [item.name for item in as_tools([board.api], direct=True, include=["method=GET path=/tasks/**"])]
    assert direct == ["get_task", "describe_operation", "read_result"]
    assert board.calls() == []


def test_a_model_never_reads_of_what_is_barred_in_any_turn_of_the_thread(
    cli: Cli, toy: WorldServer, model: Model
) -> None:
    refused = program("delete_task(task_id=101)")
    chat = model({"express": [refused, end("It cannot be deleted.", fulfilled=False)] * 2})
    ran = cli("ask", "Delete task 101", *at(toy), "--exclude", "method=DELETE", "--thread", "one", "--writes", "allow")
    assert ran.code == 1, ran.err
    # Another turn names neither rules nor APIs, one more names the API again: the rules of the thread stay.
    again = cli("ask", "Delete it now", "--thread", "one")
    assert again.code == 1, again.err
    first = str(chat.requests[0])
    assert ("delete_task" in first, "update_task" in first) == (False, True)
    assert [DELETE in str(request) for request in chat.requests] == [False, True, False, True]
    assert changes(toy.world) == []
    with open_persistence(Settings(home=cli.home)) as kept:
        record = Threads(kept.store).find("one")
    assert record is not None
    assert [str(rule) for reach in record.sources.reaches for rule in reach.exclude] == ["method=DELETE"]
    further = Sources.given(None, [TOY], toy.url).instead_of(record.sources)
    assert (further.specs, further.reaches) == ((TOY,), record.sources.reaches)


def test_a_program_that_waits_keeps_its_rules_through_another_process(board: Board, cli: Cli) -> None:
    api = toy_within(board.server.url, exclude=["id=delete_task"])
    sources = Sources.of([api])
    [reach] = sources.reaches
    assert (reach.identity, [str(rule) for rule in reach.exclude]) == (api.identity, ["id=delete_task"])
    [loaded] = sources.load(Settings(home=cli.home))
    assert "delete_task" not in names(loaded)
    # The rules of one API bar nothing of another.
    other = api_of({"/a": {"get": {"operationId": "delete_task"}}}, base_url="http://h.test")
    assert names(other.within(*sources.reaches)) == ["delete_task"]


def test_an_approval_is_not_carried_out_if_a_rule_came_to_bar_it(board: Board) -> None:
    saver, store = InMemorySaver(), InMemoryStore()
    waiting = Client([board.api], checkpointer=saver, store=store).call("delete_task", {"task_id": 101})
    assert isinstance(waiting, Pending)
    within = toy_within(board.server.url, exclude=["method=DELETE"])
    done = Client([within], checkpointer=saver, store=store).decide(waiting, "approve")
    assert isinstance(done, Called)
    assert (done.ok, f"`{DELETE}`" in done.note) == (False, True)
    assert board.changes() == []
