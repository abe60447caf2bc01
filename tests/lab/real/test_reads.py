"""Guards reads by POST on a server that others wrote: each is confirmed once, and never asked about again."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli import Cli

from lab.real.langgraph.server import LangGraph
from lab.real.server import Running

pytestmark = pytest.mark.slow

READS = ("POST /threads/search", "POST /threads/count", "POST /assistants/search")
NOT_ASKED, ASKED = 0, 3


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    server = LangGraph()
    with server.serve() as running:
        server.reset(running.http)
        yield running


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    monkeypatch.setenv("RESTGPT_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return Cli(tmp_path / "home")


def test_a_confirmed_read_is_not_asked_about_in_another_process_and_a_change_is(
    running: Running, cli: Cli, tmp_path: Path
) -> None:
    document = tmp_path / "langgraph.json"
    document.write_text(json.dumps(running.document))
    place = ("--spec", str(document), "--base-url", running.api("langgraph").base_url)

    def code(operation: str, *options: str) -> int:
        process = cli.start("call", operation, *place, "--args", '{"body": {}}', *options)
        process.communicate()
        return process.returncode

    assert [code(operation) for operation in READS] == [ASKED] * 3
    assert [code(operation, "--only-reads") for operation in READS] == [NOT_ASKED] * 3
    assert [code(operation, "--writes", writes) for operation in READS for writes in ("ask", "deny")] == [NOT_ASKED] * 6
    assert code("POST /threads") == ASKED
