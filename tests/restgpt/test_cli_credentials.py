"""Guards the commands with a missing or refused credential: the variable is named, and the thread goes on."""

import pytest
from cli import Cli, at
from roles import program

from restgpt.worlds import CREDENTIAL
from restgpt.worlds.server import WorldServer

SCRIPT = {"express": [program("print(find_tasks()['total'])")]}


@pytest.mark.parametrize("credential", ["", "not-the-key"])
def test_ask_names_the_variable_and_resume_goes_on_once_it_is_set(
    cli: Cli, toy: WorldServer, model: object, monkeypatch: pytest.MonkeyPatch, credential: str
) -> None:
    model(SCRIPT)  # type: ignore[operator]
    monkeypatch.setenv("RESTGPT_AUTH_KEY", credential)
    ran = cli("ask", "How many tasks are there?", *at(toy), "--thread", "mine")
    assert ran.code == 2
    assert "RESTGPT_AUTH_KEY" in ran.err
    assert "team-board" in ran.err
    assert "restgpt resume mine" in ran.err
    monkeypatch.setenv("RESTGPT_AUTH_KEY", CREDENTIAL)
    resumed = cli("resume", "mine")
    assert (resumed.code, resumed.out) == (0, "24\n")


@pytest.mark.parametrize("credential", ["", "not-the-key"])
@pytest.mark.parametrize("operation", ["find_tasks", "create_project"])
def test_call_names_the_variable_before_it_asks(
    cli: Cli, toy: WorldServer, monkeypatch: pytest.MonkeyPatch, credential: str, operation: str
) -> None:
    monkeypatch.setenv("RESTGPT_AUTH_KEY", credential)
    arguments = '{"body": {"name": "Moss"}}' if operation == "create_project" else "{}"
    ran = cli("call", operation, *at(toy), "--args", arguments, *(["--approve"] if credential else []))
    assert ran.code == 2
    assert "RESTGPT_AUTH_KEY" in ran.err
    assert CREDENTIAL not in ran.err
