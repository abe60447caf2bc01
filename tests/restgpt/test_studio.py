"""Guards `restgpt studio`: a newcomer without APIs gets a simulated one, and is told what else is missing."""

import json
import signal
import socket
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import requests
from boardscript import READ, board_script
from chatserver import ChatServer
from cli import Cli
from langgraphserver import PATIENCE_S, ROOT, Platform, running_server

from restgpt.commands.serving import MODEL, configuration, model_variables, with_port
from restgpt.commands.terminal import Terminal
from restgpt.server.app import STUDIO, GuardedApp
from restgpt.tools.graphs import ServedGraph
from restgpt.tools.settings import Settings

BASELINES = {"react", "offline", "deps", "reflexion"}


EVERYTHING: Any = configuration(baselines=True)
COMMITTED = json.loads((ROOT / "langgraph.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def newcomer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """A server in a folder without apis.yaml, with the baselines."""
    with (
        ChatServer(board_script) as chat,
        running_server(tmp_path_factory.mktemp("newcomer"), chat.url, "--baselines") as platform,
    ):
        yield platform


@pytest.mark.slow
def test_without_an_api_the_server_works_on_the_simulated_board_and_says_so(newcomer: Platform) -> None:
    assert "No API is configured, so the server works on the API board" in newcomer.log.read_text()
    assert newcomer.schemas()["context_schema"]["properties"]["apis"]["items"]["enum"] == ["board"]
    done = newcomer.run(newcomer.new_thread(), input={"instruction": READ})
    assert done["answer"] == "There are 24 tasks."


@pytest.mark.slow
def test_the_baselines_are_served_on_request(newcomer: Platform) -> None:
    assert newcomer.served().keys() == {"restgpt", "openfunctions", "undo"} | BASELINES
    done = newcomer.client.assistants.get_graph("reflexion")
    assert "judge" in {node["id"] for node in done["nodes"]}


@pytest.mark.slow
def test_the_folder_gets_no_file_that_describes_the_board(newcomer: Platform) -> None:
    assert list(newcomer.log.parent.rglob("apis.yaml")) == []


@pytest.mark.slow
def test_the_server_ends_with_the_command(tmp_path: Path) -> None:
    with ChatServer(board_script) as chat, running_server(tmp_path, chat.url) as platform:
        platform.process.send_signal(signal.SIGINT)
        assert platform.process.wait(PATIENCE_S) == 0
        with pytest.raises(requests.ConnectionError):
            requests.get(f"{platform.url}/ok", timeout=PATIENCE_S)


def test_the_command_serves_what_the_file_of_the_repository_lists_and_the_baselines_on_request() -> None:
    default: Any = configuration(baselines=False)
    assert (default["graphs"], default["http"]) == (COMMITTED["graphs"], COMMITTED["http"])
    assert {name: EVERYTHING["graphs"][name] for name in default["graphs"]} == default["graphs"]
    assert EVERYTHING["graphs"].keys() - default["graphs"].keys() == BASELINES


@pytest.mark.parametrize("name", sorted(EVERYTHING["graphs"]))
def test_each_graph_of_the_lists_can_be_loaded(name: str) -> None:
    module, _, variable = EVERYTHING["graphs"][name]["path"].partition(":")
    graph = getattr(import_module(module), variable)
    assert isinstance(graph, ServedGraph)
    assert graph.checkpointer is None


@pytest.mark.parametrize("name", [".env", "apis.yaml", "recipes/one.yaml", ".langgraph_api/store.pckl"])
def test_no_unallowed_folder_is_served(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    folder = tmp_path / "foreign"
    (folder / name).parent.mkdir(parents=True)
    (folder / name).write_text("{}")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("RESTGPT_HOME", str(tmp_path / "home"))
    ran = cli("studio")
    assert (ran.code, "restgpt allow" in ran.err) == (2, True)


def test_an_origin_that_cannot_be_read_stops_the_command_before_the_server_starts(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RESTGPT_SERVER_ORIGINS", "*")
    ran = cli("studio")
    assert (ran.code, "RESTGPT_SERVER_ORIGINS: '*' is no origin." in ran.err) == (2, True)


def test_the_configuration_puts_the_check_of_access_before_the_server() -> None:
    http = COMMITTED["http"]
    module, _, variable = http["app"].partition(":")
    assert isinstance(getattr(import_module(module), variable), GuardedApp)
    assert http["cors"]["allow_origins"] == [STUDIO]


TOLD: list[tuple[dict[str, str], dict[str, str], tuple[str, ...]]] = [
    ({"OPENAI_API_KEY": "sk-secret"}, {"RESTGPT_MODEL": MODEL}, (f"the server uses {MODEL} with your OPENAI_API_KEY",)),
    ({}, {}, ("RESTGPT_MODEL", "OPENAI_API_KEY")),
    # A local server has models of its own names, so its address is not enough.
    ({"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "http://localhost:11434"}, {}, ("RESTGPT_MODEL", "OPENAI_API_KEY")),
    ({"RESTGPT_MODEL": "openai:gpt-5"}, {}, ()),
]
"""The variables of a user, those that the command adds for the server, and what it says of them."""


@pytest.mark.parametrize(("values", "added", "told"), TOLD)
def test_a_user_gets_a_model_or_is_told_the_variables(
    capsys: pytest.CaptureFixture[str], values: dict[str, str], added: dict[str, str], told: tuple[str, ...]
) -> None:
    assert model_variables(Settings.from_env(values), Terminal()) == added
    said = capsys.readouterr().err
    assert [text for text in told if text not in said] == []
    assert bool(said) == bool(told)
    assert "sk-secret" not in said


def test_a_taken_port_is_replaced_by_a_free_one_before_it_is_printed() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        taken = server.getsockname()[1]
        [option, port] = with_port([], taken)
        assert option == "--port"
        assert int(port) != taken
    assert with_port(["--no-reload", "--port=3000"], taken) == ["--no-reload", "--port=3000"]
