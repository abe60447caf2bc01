"""A running page of the command line in a test: `restgpt ui` in a child process, in a folder of its own."""

import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from browser import Tab, new_tab
from langgraph_sdk import get_sync_client
from langgraph_sdk.errors import ConflictError
from langgraphserver import PATIENCE_S, Platform, environment, stop
from playwright.sync_api import Browser


@dataclass
class UiPlatform(Platform):
    """A running `restgpt ui`, whose requests need the token in its address."""

    token: str = ""
    stops_at_once: bool = False

    def __post_init__(self) -> None:
        self.client = get_sync_client(url=self.url, headers={"Authorization": f"Bearer {self.token}"})

    def run(self, thread: str, *, graph: str = "restgpt", **given: Any) -> dict[str, Any]:
        """Run a thread as the page does, up to its end or its next pause; an outdated answer does nothing."""
        if "instruction" in (given.get("input") or {}):
            given["input"] = {"messages": [{"type": "human", "content": given["input"]["instruction"]}]}
        if "decisions" in (given.get("command") or {}).get("resume", {}):
            [waiting] = self.client.threads.get_state(thread)["interrupts"]
            given["command"] = {"resume": {waiting["id"]: given["command"]["resume"]}}
        try:
            made = self.client.runs.create(thread, graph, **given)
        except ConflictError:
            return {}
        for _ in self.client.runs.join_stream(thread, made["run_id"]):
            pass
        state: Any = self.client.threads.get_state(thread)
        return {**state["values"], **({"__interrupt__": state["interrupts"]} if state["interrupts"] else {})}

    def clear(self) -> None:
        """Delete all threads, after the runs that a test has left, and all permissions."""
        for name in [thread["thread_id"] for thread in self.client.threads.search(limit=100)]:
            for run in self.client.runs.list(name):
                self.client.runs.cancel(name, run["run_id"], wait=True)
            self.client.threads.delete(name)
        for permission in self.client.http.get("/permissions"):
            self.client.http.delete(f"/permissions/{permission['key']}")


def admitted(browser: Browser, platform: Platform, port: int | None = None, **options: Any) -> Tab:
    """Return a new tab that may use the server, itself or through another port: it has the token of `restgpt ui`."""
    assert isinstance(platform, UiPlatform)
    tab = new_tab(browser, platform.url if port is None else f"http://127.0.0.1:{port}", **options)
    tab.context.add_cookies([cookie_of(platform)])
    return tab


def cookie_of(platform: UiPlatform) -> Any:
    """Return the cookie of a browser that has opened the address; it goes to every port of the host."""
    port = platform.url.rpartition(":")[2]
    return {"name": f"restgpt-{port}", "value": platform.token, "url": platform.url, "sameSite": "Strict"}


@contextmanager
def started(
    folder: Path, model_url: str, *options: str, env: Mapping[str, str] = {}, restgpt: Sequence[str] = ("-m", "restgpt")
) -> Iterator["tuple[subprocess.Popen[bytes], str, Path]"]:
    """Run `restgpt ui` with these options in `folder`; give the process, the address that it prints, and its log.

    `restgpt` is how Python starts the command line.
    """
    log, apis = folder / "ui.log", folder / "apis.yaml"
    # Nobody allowed the folder, so its file is named.
    named = {"RESTGPT_APIS": str(apis)} if apis.is_file() else {}
    with log.open("w") as output:
        process = subprocess.Popen(
            [sys.executable, *restgpt, "ui", "--port", "0", *options],
            cwd=folder,
            env={**environment(folder, model_url), **named, **env},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            yield process, _address(process, log), log
        finally:
            stop(process)


@contextmanager
def running_ui(folder: Path, model_url: str, *options: str, **more: Any) -> Iterator[UiPlatform]:
    """Run `restgpt ui`; the platform has the token of its address."""
    with started(folder, model_url, *options, **more) as (process, address, log):
        url, _, token = address.partition("/debug#/token/")
        yield UiPlatform(url, log, process, token=token)


def _address(process: "subprocess.Popen[bytes]", log: Path) -> str:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        if found := re.search(r"http://\S+", log.read_text()):
            return found[0]
        assert process.poll() is None, log.read_text()
        time.sleep(0.05)
    pytest.fail(log.read_text())
