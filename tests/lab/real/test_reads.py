"""Guards reads by POST on a server that others wrote: a rule of the user has them sent unasked."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli import Cli

from lab.real.langgraph.server import LangGraph
from lab.real.server import Running
from restgpt.tools.settings.environment import AllowedFolders

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
    AllowedFolders(tmp_path / "home").allow(tmp_path)
    return Cli(tmp_path / "home")


def test_reads_by_a_rule_are_never_asked_about_and_changes_are(running: Running, cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "langgraph.json").write_text(json.dumps(running.document))
    rules = [{"effect": "read", "method": list(rule.methods), "path": list(rule.paths)} for rule in LangGraph.reads]
    entry = {"spec": "langgraph.json", "base_url": running.api("langgraph").base_url}

    def code(operation: str, *options: str) -> int:
        process = cli.start("call", operation, "--api", "langgraph", "--args", '{"body": {}}', *options)
        process.communicate()
        return process.returncode

    (tmp_path / "apis.yaml").write_text(json.dumps({"langgraph": entry}))
    assert [code(operation) for operation in READS] == [ASKED] * 3
    (tmp_path / "apis.yaml").write_text(json.dumps({"langgraph": {**entry, "effects": rules}}))
    assert [code(operation, "--writes", writes) for operation in READS for writes in ("ask", "deny")] == [NOT_ASKED] * 6
    assert code("POST /threads") == ASKED
