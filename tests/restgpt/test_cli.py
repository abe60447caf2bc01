"""Guards the commands without a model: `api`, `call`, `world serve`, `--version`, and the error messages of all."""

import json
import logging
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
import typer
from chatserver import ChatServer
from cli import TOY, Cli, at, command_tree
from loopback import Handler, served

import restgpt
from lab.kit.port import held_port
from restgpt.commands.terminal import local_models, offer
from restgpt_bench.worlds import CREDENTIAL
from restgpt_bench.worlds.server import WorldServer

ELSEWHERE = ("function", "bench")
"""Commands that are documented on their own page."""

YAML = """
openapi: 3.1.0
info: {title: Small, version: "1"}
servers: [{url: "https://api.example.com"}]
paths:
  /things:
    post:
      operationId: make_thing
      requestBody: {content: {application/json: {schema: {$ref: "#/components/schemas/Nowhere"}}}}
      responses: {"200": {description: ok}}
"""


def test_show_lists_the_operations_of_a_document_or_documents_one(cli: Cli) -> None:
    ran = cli("api", "show", TOY)
    assert ran.code == 0
    assert ran.out.startswith("Team board 1.0.0 (11 operations)")
    assert "list_projects: GET /projects  List all projects" in ran.out
    assert "; one for all clients of `restgpt mcp` or another server." in ran.out
    listed = cli("api", "show", TOY, "--json").document
    assert (len(listed["operations"]), listed["operations"][0]["method"], listed["problems"]) == (11, "GET", [])
    document = cli("api", "show", TOY, "--operation", "create_project", "--json").document
    assert "POST /projects" in document["documentation"]
    assert document["example"]["body"]["name"]
    ran = cli("api", "show", TOY, "create_project")
    assert ran.out == cli("api", "show", TOY, "-o", "create_project").out
    assert ran.out.count("201 application/json") == 1
    assert ran.out.endswith(f"Minimal valid arguments:\n{json.dumps(document['example'])}\n")


def test_lint_tells_what_the_openapi_schemas_find(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "small.yaml"
    path.write_text(YAML.replace("      operationId", "      colour: red\n      operationId"))
    plain = cli("api", "show", str(path), "--json").document["problems"]
    linted = cli("api", "show", str(path), "--lint", "--json").document["problems"]
    assert not any("colour" in problem["message"] for problem in plain)
    assert any("colour" in problem["message"] for problem in linted)


def test_a_faultless_document_passes_the_lint_even_without_validator(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = cli("api", "show", TOY, "--lint", "--json")
    assert (ran.document["problems"], "The document was not validated." in ran.err) == ([], False)
    monkeypatch.setitem(sys.modules, "openapi_spec_validator", None)
    ran = cli("api", "show", TOY, "--lint", "--json")
    assert (ran.document["problems"], "The document was not validated. Install the validator:" in ran.err) == ([], True)


def test_the_lint_of_a_broken_document_ends_and_fetches_nothing(cli: Cli, tmp_path: Path) -> None:
    asked: list[str] = []

    class Listener(Handler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_error(404)

    path = tmp_path / "small.yaml"
    with served(Listener) as url:
        responses = f'{{"200": {{$ref: "{url}/response.json"}}, "404": {{$ref: "#/nowhere"}}}}'
        path.write_text(YAML.replace('{"200": {description: ok}}', responses))
        problems = cli("api", "show", str(path), "--lint", "--json").document["problems"]
    assert "/paths/~1things/post/responses/404" in [problem["pointer"] for problem in problems]
    assert asked == []


def test_show_of_one_operation_names_what_is_wrong_with_it(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "small.yaml"
    path.write_text(YAML.replace("      responses", "      parameters: [{in: query}]\n      responses"))
    ran = cli("api", "show", str(path), "--operation", "make_thing")
    assert "  /paths/~1things/post/parameters/0: the parameter has no name" in ran.out
    document = cli("api", "show", str(path), "--operation", "make_thing", "--json").document
    assert [problem["pointer"] for problem in document["problems"]] == ["/paths/~1things/post/parameters/0"]


def test_login_names_the_schemes_where_there_is_none_to_log_in_with(cli: Cli) -> None:
    ran = cli("login", TOY)
    assert ran.code == 2
    assert "its security schemes: key, bearer" in ran.err


def test_find_ranks_operations(cli: Cli) -> None:
    ran = cli("api", "find", "create a project", "--spec", TOY, "-k", "3", "--json")
    assert ran.code == 0
    names = [item["name"] for item in ran.document["operations"]]
    assert names[0] == "create_project"
    assert 1 <= len(names) <= 3
    assert cli("api", "find", "create a project", "--spec", TOY, "-k", "1").out.startswith("create_project: POST")


def test_the_map_shows_paths_and_the_operations_of_a_part(cli: Cli) -> None:
    assert "/projects GET POST +5" in cli("api", "map", "--spec", TOY, "--budget", "50").out
    part = cli("api", "map", "/tasks/{id}", "--spec", TOY)
    assert part.out.startswith("- get_task: GET /tasks/{task_id}")
    document = cli("api", "map", "/tasks", "--spec", TOY, "--json").document
    assert (document["part"], document["count"]) == ("/tasks", 4)
    assert [operation["name"] for operation in document["operations"]] == ["find_tasks"]
    below = {"part": "/tasks/{task_id}", "methods": ["GET", "PATCH", "DELETE"], "count": 3}
    assert document["parts"] == [below]


def test_every_list_has_the_short_name_of_an_operation_and_its_id_finds_it_too(cli: Cli, tmp_path: Path) -> None:
    made = {"operationId": "make_lamp_lamps__id__post", "summary": "Make a lamp", "responses": {}}
    paths = {"/lamps/{id}": {"post": made}}
    path = tmp_path / "lamps.json"
    path.write_text(json.dumps({"openapi": "3.1.0", "info": {"title": "T", "version": "1"}, "paths": paths}))
    spec = ["--spec", str(path)]
    for command in (["show", str(path)], ["find", "make a lamp", *spec], ["map", *spec], ["functions", *spec]):
        listed = cli("api", *command).out
        assert "make_lamp" in listed
        assert "make_lamp_" not in listed
    for name in ("make_lamp", "make_lamp_lamps__id__post"):
        assert cli("api", "functions", *spec, "-o", name).out.startswith("make_lamp(id*")
        sent = cli("call", name, *spec, "--base-url", "http://localhost:9", "--args", '{"id": "4"}', "--dry-run")
        assert sent.out.startswith("POST http://localhost:9/lamps/4")


def test_a_part_that_the_map_does_not_have_is_refused_with_similar_ones(cli: Cli) -> None:
    ran = cli("api", "map", "/project", "--spec", TOY)
    assert ran.code == 2
    assert "The map has no part '/project'; near: /projects; the whole map is /." in ran.err


@pytest.mark.slow
def test_every_published_document_is_shown_and_searched(cli: Cli, data_folder: Path) -> None:
    documents = [path for path in sorted((data_folder / "openapi").rglob("*")) if path.suffix in (".json", ".yaml")]
    assert documents
    for path in documents:
        shown = cli("api", "show", str(path), "--json")
        if shown.code == 0:
            assert shown.document["operations"], path.name
            assert cli("api", "find", "list", "--spec", str(path), "--json").code == 0, path.name
            name = shown.document["operations"][0]["name"]
            called = cli("call", name, "--spec", str(path), "--dry-run", "--json")
            assert called.code in (0, 2), path.name
            assert called.document["status"] in ("held", "failed"), path.name
        else:
            assert (shown.code, shown.document["status"]) == (2, "failed"), path.name


def test_call_sends_and_prints_or_writes_the_body(cli: Cli, toy: WorldServer, tmp_path: Path) -> None:
    ran = cli("call", "list_projects", *at(toy))
    assert ran.code == 0
    assert json.loads(ran.out)["items"]
    assert f"GET {toy.url}/projects → 200, " in ran.err
    assert CREDENTIAL not in ran.err
    ran = cli("call", "list_projects", *at(toy), "--output", "body.json")
    assert (ran.code, ran.out) == (0, "")
    assert json.loads((tmp_path / "body.json").read_text())["items"]


def test_call_in_json_holds_request_and_response(cli: Cli, toy: WorldServer) -> None:
    ran = cli("call", "get_project", *at(toy), "--args", '{"path": {"project_id": 1}}', "--json")
    document = ran.document
    assert document["request"]["url"] == f"{toy.url}/projects/1"
    assert document["response"]["status"] == 200
    assert document["response"]["body"]["id"] == 1
    assert CREDENTIAL not in ran.out + ran.err


def test_call_of_an_error_status_exits_with_one_and_still_prints_the_body(cli: Cli, toy: WorldServer) -> None:
    ran = cli("call", "GET /projects/{project_id}", *at(toy), "--args", '{"path": {"project_id": 99999}}')
    assert ran.code == 1
    assert "99999" in ran.out
    assert "404" in ran.err


def test_a_change_is_shown_and_not_sent_without_a_decision(cli: Cli, toy: WorldServer) -> None:
    change = ["call", "create_project", *at(toy), "--args", '{"body": {"name": "Moss"}}']
    unasked = cli(*change)
    assert unasked.code == 3
    assert "--approve" in unasked.err
    assert cli(*change, "--json").document["status"] == "paused"
    assert cli(*change, "--dry-run").code == 0
    shown = cli(*change, "--dry-run", "--json").document
    assert (shown["status"], shown["request"]["method"]) == ("held", "POST")
    assert shown["request"]["body"] == {"name": "Moss"}
    assert cli(*change, "--writes", "dry-run").code == 0
    denied = cli(*change, "--writes", "deny", "--json")
    assert (denied.code, denied.document["status"]) == (1, "rejected")
    assert len(toy.world.log) == 0
    assert cli(*change, "--writes", "allow").code == 0
    assert cli(*change, "--approve", "--writes", "deny").code == 1
    approved = ["call", "create_project", *at(toy), "--args", '{"body": {"name": "Fern"}}', "--approve"]
    assert cli(*approved).code == 0
    assert [entry.status for entry in toy.world.log] == [201, 201]


def test_a_rule_of_apis_yaml_can_ask_before_a_read(cli: Cli, toy: WorldServer, tmp_path: Path) -> None:
    rules = [{"decision": "ask", "method": "GET", "path": "/projects"}, {"decision": "deny", "tag": "tasks"}]
    (tmp_path / "apis.yaml").write_text(json.dumps({"board": {"spec": TOY, "base_url": toy.url, "policy": rules}}))
    assert cli("call", "list_projects", "--api", "board", "--writes", "allow").code == 3
    assert cli("call", "find_tasks", "--api", "board", "--approve").code == 1
    assert cli("call", "list_projects", "--api", "board", "--approve").code == 0
    assert [entry.template for entry in toy.world.log] == ["/projects"]


@pytest.mark.slow
def test_on_a_terminal_a_change_is_shown_and_asked_about(cli: Cli, toy: WorldServer) -> None:
    change = ["call", "create_project", *at(toy), "--args", '{"body": {"name": "Moss"}}']
    code, screen = cli.on_a_terminal(*change, prompt="[l]ater?", answer="a", as_process=True)
    assert code == 0
    assert screen.index(f"POST {toy.url}/projects") < screen.index("[l]ater?") < screen.index("→ 201")
    assert [entry.status for entry in toy.world.log] == [201]


def test_arguments_come_from_standard_input_or_a_file(cli: Cli, toy: WorldServer, tmp_path: Path) -> None:
    text = '{"path": {"project_id": 1}}'
    (tmp_path / "args.json").write_text(text)
    assert cli("call", "get_project", *at(toy), "--args", "-", stdin=text).code == 0
    assert cli("call", "get_project", *at(toy), "--args", "@args.json").code == 0


def test_nothing_is_sent_whose_answer_could_not_be_written(cli: Cli, toy: WorldServer, tmp_path: Path) -> None:
    change = ["create_project", *at(toy), "--args", '{"body": {"name": "Fern"}}', "--approve"]
    for output in (tmp_path / "nowhere" / "body.json", tmp_path):
        ran = cli("call", *change, "--output", str(output))
        assert ran.code == 2
        assert "--output" in ran.err
    assert toy.world.log.operations() == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["call", "create_projct", "--spec", TOY], "create_project"),
        (["call", "crate_projcts", "--spec", TOY], "near: create_project"),
        (["api", "show", TOY, "--operation", "lst_projcts"], "near: list_projects"),
        (["call", "create_project", "--spec", TOY, "--args", '{"body": {"nam": "x"}}'], "did you mean name"),
        (["call", "create_project", "--spec", TOY, "--args", "{"], "--args is not JSON"),
        (
            ["call", "create_project", "--spec", TOY, "--args", '{"body": 9007199254740993.25}'],
            "9007199254740993.25 has more digits than a number of JSON keeps: 9007199254740994.0 would be sent",
        ),
        (["call", "create_project", "--spec", TOY, "--args", "[]"], "not a JSON object"),
        (["call", "create_project", "--spec", TOY, "--args", "@nowhere.json"], "nowhere.json"),
        (["call", "list_projects"], "No API was given"),
        (["call", "list_projects", "--spec", TOY, "--base-url", "http://"], "not an HTTP URL"),
        (["call", "list_projects", "--spec", TOY, "--base-url", "http://[::1"], "not an HTTP URL"),
        (["call", "list_projects", "--spec", TOY, "--base-url", "http://a:99999/"], "not an HTTP URL"),
        (["ask", "x"], "No API was given"),
        (["ask", "", "--spec", TOY], "instruction is empty"),
        (["ask", "x", "--api", "nowhere"], "apis.yaml has no entry nowhere"),
        (["ask", "x", "--spec", "nowhere.yaml"], "nowhere.yaml"),
        (["ask", "x", "--spec", TOY, "--base-url", "board.example.com"], "--base-url"),
        (["ask", "x", "--spec", TOY, "--spec", TOY, "--base-url", "http://127.0.0.1"], "exactly one"),
        (["ask", "x", "--spec", TOY, "--base-url", "http://me:hidden@127.0.0.1/v1"], "RESTGPT_AUTH_"),
        (["ask", "x", "--spec", TOY, "--set", "max_steps=none"], "max_steps"),
        (["ask", "x", "--spec", TOY, "--set", "steps=1"], "The settings of a run are: model"),
        (["ask", "x", "--spec", TOY, "--set", "max_steps"], "NAME=VALUE"),
        (
            ["ask", "x", "--spec", TOY, "--model", "reader=openai:x"],
            "The roles are: planner, selector, caller, parser.",
        ),
        (["ask", "x", "--spec", TOY, "--model", "planner=nowhere:x"], "nowhere"),
        (["resume", "mine", "--set", "max_steps"], "NAME=VALUE"),
        (["undo", "mine", "--set", "max_steps"], "NAME=VALUE"),
        (["mcp", "--spec", TOY, "--set", "max_steps=none"], "max_steps"),
        (["ui", "--spec", TOY, "--set", "max_steps=none"], "max_steps"),
        (["call", "list_projects", "--spec", TOY, "--set", "max_steps=none"], "max_steps"),
        (["api", "functions", "--spec", TOY, "--set", "max_steps=none"], "max_steps"),
        (["ask", "x", "--spec", TOY, "--set", "today=tomorrow"], "today"),
        (["ask", "x", "--spec", TOY, "--thread", "a/b"], "is not a valid thread ID"),
        (["ask", "x", "--spec", TOY, "--model", "nowhere:x"], "nowhere"),
        (["ask", "Auftr\udce4ge?", "--spec", TOY], "LC_ALL=C.UTF-8"),
        (["ask", "x", "--spec", TOY, "--model", "openai:\udcff"], "LC_ALL=C.UTF-8"),
        (["resume", "mine", "--reject", "\udcff"], "LC_ALL=C.UTF-8"),
        (["resume", "nothing"], "There is no thread nothing"),
        (["demo", "--record", "replies.jsonl"], "--model"),
        (["call", "list_projects", "--api", "nowhere"], "apis.yaml has no entry nowhere"),
        (["api", "show", "nowhere.yaml"], "nowhere.yaml"),
        (["api", "show", TOY, "-o", "nothing"], "nothing"),
        (["api", "find", "x", "--spec", "nowhere.yaml"], "nowhere.yaml"),
        (["world", "serve", "nowhere"], "toy, tmdb, spotify"),
    ],
)
def test_what_cannot_be_meant_exits_with_two_and_names_the_remedy(
    cli: Cli, model: Callable[..., ChatServer], arguments: list[str], said: str
) -> None:
    model({})
    ran = cli(*arguments)
    assert (ran.code, ran.out) == (2, ""), ran.err
    assert said in ran.err
    assert "Traceback" not in ran.err
    assert "hidden" not in ran.err


def test_an_error_in_json_is_a_document_too(cli: Cli) -> None:
    ran = cli("api", "show", "nowhere.yaml", "--json")
    assert ran.code == 2
    assert ran.document["status"] == "failed"
    assert "nowhere.yaml" in ran.document["error"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["api", "show", "--json"], "SOURCE"),
        (["call", "x", "--jsn", "--json"], "--jsn"),
        (["ask", "x", "--writes", "perhaps", "--json"], "perhaps"),
        (["nowhere", "--json"], "nowhere"),
    ],
)
def test_what_was_mistyped_is_a_document_too_where_one_was_asked_for(cli: Cli, arguments: list[str], said: str) -> None:
    ran = cli(*arguments)
    assert ran.code == 2
    assert ran.document["status"] == "failed"
    assert said in ran.document["error"]
    assert said in ran.err


def test_a_missing_credential_names_its_variable(cli: Cli, toy: WorldServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RESTGPT_AUTH_KEY")
    ran = cli("call", "list_projects", *at(toy))
    assert ran.code == 2
    assert "RESTGPT_AUTH_KEY" in ran.err
    # Of an entry that names it, before a model is asked for anything.
    entry = f"board: {{spec: {TOY}, base_url: {toy.url}, auth: {{key: '${{BOARD_KEY}}'}}}}\n"
    Path("apis.yaml").write_text(entry, encoding="utf-8")
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    asked = cli("ask", "Count the tasks", "--model", "openai:none")
    assert (asked.code, "Set BOARD_KEY, which apis.yaml needs for board." in asked.err) == (2, True)
    assert "thread" not in asked.err
    unknown = cli("api", "show", "cinema")
    assert (unknown.code, "There is no file cinema, and no entry of that name." in unknown.err) == (2, True)


def test_an_unreachable_server_exits_with_one(cli: Cli) -> None:
    with held_port() as port:
        ran = cli("call", "list_projects", "--spec", TOY, "--base-url", f"http://127.0.0.1:{port}")
    assert ran.code == 1
    assert f"127.0.0.1:{port}" in ran.err


def test_hostile_text_of_a_document_cannot_steer_the_terminal(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(YAML.replace("title: Small", 'title: "\\e[2JSmall"'))
    out = cli("api", "show", "small.yaml").out
    assert "\x1b" not in out
    assert "[2JSmall 1 (1 operations)" in out


def test_debug_logs_the_traceback_and_verbose_does_not(cli: Cli) -> None:
    assert "Traceback" in cli("--debug", "api", "show", "nowhere.yaml").err
    assert "Traceback" not in cli("--verbose", "api", "show", "nowhere.yaml").err


def test_verbose_logs_requests(cli: Cli, toy: WorldServer) -> None:
    quiet = cli("call", "list_projects", *at(toy), "--quiet")
    loud = cli("--verbose", "call", "list_projects", *at(toy), "--quiet")
    assert quiet.err == ""
    assert "restgpt.http" in loud.err
    assert CREDENTIAL not in loud.err
    assert logging.getLogger("restgpt").level == logging.INFO


def test_version_is_that_of_the_package(cli: Cli) -> None:
    assert cli("--version").out == f"restgpt {restgpt.__version__}\n"


def test_every_command_has_help(cli: Cli) -> None:
    listed = cli("--help").out
    for command in ("ask", "resume", "threads", "api", "call", "world", "demo"):
        assert command in listed
        assert cli(command, "--help").code == 0


@pytest.mark.slow
def test_a_world_is_served_until_it_is_ended(cli: Cli) -> None:
    served = cli.start("world", "serve", "toy", "--seed", "3", "--json")
    assert served.stdout is not None
    text = ""
    while not text.endswith("}\n"):
        text += served.stdout.readline()
    document = json.loads(text)
    with urlopen(f"{document['control_url']}/health") as answer:
        assert json.load(answer) == {"world": "toy", "seed": 3}
    assert Path(document["spec"]).is_file()
    served.send_signal(signal.SIGINT)
    _, err = served.communicate()
    assert (served.returncode, err) == (0, "")


def test_a_taken_port_is_told(cli: Cli, toy: WorldServer) -> None:
    port = toy.url.split(":")[2].split("/")[0]
    ran = cli("world", "serve", "toy", "--port", port)
    assert ran.code == 2
    assert "--port" in ran.err


def test_a_local_model_server_is_offered_by_name() -> None:
    with ChatServer([], model="llama-small") as server:
        assert local_models(server.url, seconds=60) == ["llama-small"]
        offered = offer(server.url, seconds=60)
        assert f"OPENAI_BASE_URL={server.url}" in offered
        assert "--model openai:llama-small" in offered
    assert offer(server.url) == ""


def test_what_is_no_model_list_is_no_offer(toy: WorldServer) -> None:
    assert local_models(toy.control_url) == []
    assert local_models(f"{toy.control_url}/health#") == []


@pytest.mark.slow
def test_dotenv_in_the_working_directory_is_read(cli: Cli, toy: WorldServer, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("RESTGPT_AUTH_BEARER=from-dotenv\nRESTGPT_AUTH_KEY=also\n")
    started = cli.start("--debug", "call", "list_projects", *at(toy))
    out, _ = started.communicate()
    assert started.returncode == 0, "the environment goes before the file"
    assert json.loads(out)["items"]


def test_a_dotenv_that_is_no_text_is_an_error_of_the_setting(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / ".env").write_bytes(b"RESTGPT_MODEL=\xff\xfe")
    started = cli.start("threads", cwd=tmp_path)
    _, err = started.communicate()
    assert (started.returncode, err) == (2, ".env cannot be read: it is not UTF-8 text.\n")


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is always full")
def test_an_output_that_is_full_is_no_bug(cli: Cli) -> None:
    with Path("/dev/full").open("w") as full:
        started = cli.start("api", "show", TOY, stdout=full)
        _, err = started.communicate()
    assert started.returncode == 1
    assert "No space left on device" in err
    assert "bug" not in err


def test_a_bug_is_told_without_traceback_and_without_its_text(tmp_path: Path) -> None:
    script = (
        "import sys, typer\nfrom restgpt import cli\n"
        "@cli.app.command()\ndef broken() -> None:\n    raise RuntimeError('the-secret')\n"
        "sys.argv = ['restgpt', 'broken']\ncli.main()\n"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert ran.returncode == 1
    assert "RuntimeError at <string>:5. This is a bug in restgpt." in ran.stderr
    assert "restgpt threads" in ran.stderr
    assert "Traceback" not in ran.stderr
    assert "the-secret" not in ran.stderr


@pytest.mark.parametrize(
    ("arguments", "heavy"),
    [
        (["--help"], ("langchain", "langgraph", "openai", "pydantic", "requests", "msgspec", "yaml")),
        (["call", "GET /projects", "--dry-run", "--spec", TOY], ("openai", "langchain_community")),
    ],
)
def test_a_command_loads_only_what_it_needs(arguments: list[str], heavy: tuple[str, ...], tmp_path: Path) -> None:
    script = (
        "import sys, restgpt, restgpt.cli\n"
        "try:\n"
        "    restgpt.cli.main()\n"
        "except SystemExit:\n"
        f"    print(sorted(name for name in sys.modules if name.startswith({heavy})))"
    )
    command = [sys.executable, "-c", script, *arguments]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=True)
    assert ran.stdout.splitlines()[-1] == "[]"


def test_public_names_are_exported() -> None:
    assert restgpt.load_api(Path(TOY)).name == "team-board"
    assert callable(restgpt.build_graph)
    assert restgpt.Context().writes == "ask"
    assert set(restgpt.__all__) <= set(dir(restgpt))
    with pytest.raises(AttributeError, match="nothing"):
        restgpt.nothing  # noqa: B018


def test_the_page_on_the_command_line_names_every_command_and_option() -> None:
    page = (Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")
    missing = [name for name in _names(command_tree(), "restgpt") if name not in page]
    assert missing == []


@pytest.mark.parametrize(
    "command", ["ask", "call", "threads", "ui", "mcp", "login", "api find", "api map", "api functions"]
)
def test_the_help_of_an_option_names_its_value_and_no_type_of_python(cli: Cli, command: str) -> None:
    options = cli(*command.split(), "--help").out.partition("Options:")[2]
    assert options
    assert re.findall(r"<(?:bool|int|float|str|path|list)\b[^>]*>", options) == []


def _names(command: Any, path: str) -> Iterator[str]:
    """Yield the path of every command, and the long form of each of its options."""
    context = typer.Context(command)
    names = command.list_commands(context) if hasattr(command, "list_commands") else []
    if not names:
        yield path
    yield from (option for item in command.params for option in item.opts if option.startswith("--"))
    for name in names:
        if name not in ELSEWHERE:
            yield from _names(command.get_command(context, name), f"{path} {name}")
