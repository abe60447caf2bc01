"""Guards the commands on other systems than Linux, as far as this one can play them: `tests/support/othersystem.py`."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from chatserver import ChatServer
from cli import TOY, at
from langgraphserver import PATIENCE_S
from mcp.client.stdio import StdioServerParameters
from mcpserver import connected
from roles import call, end, plan, program, select
from uiserver import running_ui

from restgpt_bench.worlds import CREDENTIAL
from restgpt_bench.worlds.server import WorldServer

SYSTEMS = ("darwin", "windows")
SYSTEM = Path(__file__).parents[1] / "support" / "othersystem.py"
MONTY = Path(sys.executable).with_name("monty")
NAME = "Möller → Żaba"
"""A name with letters that a console of code page 1252 has not."""
WRITES = {
    "planner": [plan("Create the project Moss."), end("The project Moss is there.")],
    "selector": [select("create_project")],
    "caller": [call({"body": {"name": "Moss"}})],
}


@pytest.fixture(params=SYSTEMS)
def system(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def environment(home: Path, **more: str) -> Mapping[str, str]:
    return {**os.environ, "RESTGPT_HOME": str(home), "RESTGPT_AUTH_KEY": CREDENTIAL, **more}


def ran(system: str, home: Path, *command: str, **more: str) -> subprocess.CompletedProcess[bytes]:
    line = [sys.executable, str(SYSTEM), system, *command]
    return subprocess.run(
        line, env=environment(home, **more), stdin=subprocess.DEVNULL, capture_output=True, check=False
    )


@pytest.mark.parametrize("command", [("threads",), ("api", "show", TOY)])
def test_a_command_without_an_api_works(system: str, command: tuple[str, ...], tmp_path: Path) -> None:
    found = ran(system, tmp_path, *command)
    assert (found.returncode, found.stderr) == (0, b"")
    assert found.stdout
    assert system == "darwin" or found.stdout.count(b"\n") == found.stdout.count(b"\r\n")


@pytest.mark.slow
def test_the_demo_runs_its_programs(system: str, tmp_path: Path) -> None:
    shown = ran(system, tmp_path, "demo", MONTY_BIN=str(MONTY))
    assert shown.returncode == 0, shown.stderr.decode()


def test_a_change_is_made_once_and_undone(system: str, toy: WorldServer, tmp_path: Path) -> None:
    arguments = ["create_project", *at(toy), "--args", f'{{"body": {{"name": "{NAME}"}}}}']
    made = ran(system, tmp_path, "call", *arguments, "--approve", "--json")
    assert made.returncode == 0, made.stderr.decode()
    assert NAME in made.stdout.decode() or system == "windows"
    assert [entry.method for entry in toy.world.log] == ["POST"]
    undone = ran(system, tmp_path, "undo", json.loads(made.stdout)["thread"], "--approve")
    assert undone.returncode == 0, undone.stderr.decode()
    assert [entry.method for entry in toy.world.log][-1] == "DELETE"


def test_a_run_pauses_and_goes_on(system: str, toy: WorldServer, tmp_path: Path) -> None:
    replies = [reply for role in ("planner", "selector", "caller") for reply in WRITES[role][:1]]
    with ChatServer([*replies, WRITES["planner"][1]]) as chat:
        model = {"OPENAI_BASE_URL": chat.url, "RESTGPT_MODEL": "openai:scripted"}
        asked = ["ask", "Create the project Moss", *at(toy), "--set", "road=roles", "--thread", "moss"]
        paused = ran(system, tmp_path, *asked, **model)
        assert paused.returncode == 3, paused.stderr.decode()
        done = ran(system, tmp_path, "resume", "moss", "--approve", **model)
    assert (done.returncode, done.stdout.strip()) == (0, b"The project Moss is there."), done.stderr.decode()


def test_a_client_of_mcp_reads_and_runs_a_program(system: str, toy: WorldServer, tmp_path: Path) -> None:
    line = [str(SYSTEM), system, "mcp", *at(toy)]
    told = dict(environment(tmp_path, MONTY_BIN=str(MONTY)))
    server = StdioServerParameters(command=sys.executable, args=line, env=told)

    async def read() -> list[str]:
        async with connected(server, "2026-07-28") as client:
            found = await client.call_tool("read_operation", {"operation": "list_projects", "arguments": {}})
            ran = await client.call_tool("run_program", {"code": "print('Found', len(rows(list_projects())))"})
            return [str(result.content[0]) for result in (found, ran)]

    found, ran = asyncio.run(read())
    assert "HTTP 200" in found
    assert "Found 4" in ran


@pytest.mark.slow
def test_the_page_pauses_and_goes_on(
    system: str, toy: WorldServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    create = program(f"create_project(body={{'name': {NAME!r}}})\nprint('It is created.')")
    monkeypatch.setenv("MONTY_BIN", str(MONTY))
    api = {"spec": TOY, "base_url": toy.url, "auth": {"key": CREDENTIAL}}
    (tmp_path / "apis.yaml").write_text(json.dumps({"toy": api}), encoding="utf-8")
    with ChatServer([create]) as chat, running_ui(tmp_path, chat.url, restgpt=(str(SYSTEM), system)) as platform:
        thread = platform.client.threads.create(graph_id="restgpt")["thread_id"]
        asked = platform.run(thread, input={"instruction": "Create it"})
        assert "__interrupt__" in asked, asked
        done = platform.run(thread, command={"resume": {"decisions": [{"type": "approve"}]}})
        assert done["answer"] == "It is created."
        assert [entry.method for entry in toy.world.log] == ["POST"]
        platform.process.send_signal(signal.SIGINT)
        assert platform.process.wait(PATIENCE_S) == 0, platform.log.read_text()
