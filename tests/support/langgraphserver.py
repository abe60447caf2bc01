"""A running LangGraph server in a test: `restgpt studio` in a child process, in a folder of its own."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import requests
from langgraph_sdk import get_sync_client
from langgraph_sdk.client import SyncLangGraphClient

from lab.kit.port import held_port
from restgpt.tools.settings.environment import AllowedFolders

ROOT = Path(__file__).parents[2]
PATIENCE_S = 300
CHAT_PAGE = "http://localhost:3000"
"""The origin of a page that the user lets use the server."""
APPROVE = {"resume": {"decisions": [{"type": "approve"}]}}


@dataclass
class Platform:
    """A running server: its address, its log, its process, and the world that it works on, if the test serves one."""

    url: str
    log: Path
    process: "subprocess.Popen[bytes]"
    world: Any = None
    stops_at_once: bool = True
    """Whether a stop does not wait for the model call that goes on."""
    client: SyncLangGraphClient = field(init=False)

    def __post_init__(self) -> None:
        self.client = get_sync_client(url=self.url)

    def projects(self) -> list[str]:
        """Return the names of the projects of the world."""
        return [project["name"] for project in self.world.snapshot()["state"]["projects"].values()]

    def changes(self) -> list[str]:
        """Return the method and status of each change that arrived at the world."""
        return [f"{entry.method} {entry.status}" for entry in self.world.log if entry.method != "GET"]

    def run(self, thread: str, *, graph: str = "restgpt", **given: Any) -> dict[str, Any]:
        """Run a graph in a thread, up to its end or its next pause."""
        return self.client.runs.wait(thread, graph, **given)  # type: ignore[return-value]

    def new_thread(self) -> str:
        """Make a thread."""
        return str(self.client.threads.create()["thread_id"])

    def clear(self) -> None:
        """Delete all threads."""
        for thread in self.client.threads.search(limit=100):
            self.client.threads.delete(thread["thread_id"])

    def schemas(self, graph: str = "restgpt") -> Any:
        """Return the schemas of the assistant of a graph."""
        [assistant] = self.client.assistants.search(graph_id=graph)
        return self.client.assistants.get_schemas(assistant["assistant_id"])

    def served(self) -> dict[str, Any]:
        """Return the description of each graph that the server lists."""
        return {assistant["graph_id"]: assistant["description"] for assistant in self.client.assistants.search()}


@contextmanager
def running_server(
    folder: Path, model_url: str, *options: str, variables: Mapping[str, str] = {}, port: int | None = None
) -> Iterator[Platform]:
    """Run `restgpt studio` with these options and variables in `folder`.

    `port` is one that the caller holds, for servers that follow each other.
    """
    AllowedFolders(folder / "home").allow(folder)
    log = folder / "server.log"
    with nullcontext(port) if port else held_port() as number, log.open("w") as output:
        command = [sys.executable, "-m", "restgpt", "studio", *options, "--", "--no-reload", "--no-browser"]
        process = subprocess.Popen(
            [*command, "--port", str(number)],
            cwd=folder,
            env=environment(folder, model_url) | dict(variables),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        platform = Platform(f"http://127.0.0.1:{number}", log, process)
        try:
            _wait_until_up(platform)
            yield platform
        finally:
            stop(process)


def stop(process: "subprocess.Popen[bytes]") -> None:
    """End a server by SIGTERM, and by SIGKILL if that takes too long."""
    process.terminate()
    try:
        process.wait(PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def environment(folder: Path, model_url: str) -> dict[str, str]:
    """Return the environment of the server: nothing of the developer's, the model of the test."""
    private = ("RESTGPT_", "OPENAI_", "LANGSMITH_", "LANGCHAIN_")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(private)}
    return inherited | {
        "LANGGRAPH_STRICT_MSGPACK": "true",
        "LANGSMITH_TRACING": "false",
        "OPENAI_BASE_URL": model_url,
        "RESTGPT_HOME": str(folder / "home"),
        "RESTGPT_MODEL": "openai:scripted",
        "RESTGPT_SERVER_ORIGINS": CHAT_PAGE,
    }


def _wait_until_up(platform: Platform) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        try:
            if requests.get(f"{platform.url}/ok", timeout=PATIENCE_S).ok:
                return
        except requests.ConnectionError:
            pass
        assert platform.process.poll() is None, platform.log.read_text()
        time.sleep(0.1)
    pytest.fail(platform.log.read_text())
