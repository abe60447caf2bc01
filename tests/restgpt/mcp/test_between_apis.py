"""Guards what clients of MCP servers send from one API to another: within a server."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from chatserver import ChatServer
from cli import Cli
from mcp import types
from mcpserver import Person, facts_of, text_of, used
from pair import COLLECTOR, CRM, SECRET, Pair, document, served_pair
from roles import program

from restgpt.commands.serving import open_server
from restgpt.sources import Sources
from restgpt.tools.settings import Settings
from restgpt.tools.settings.environment import AllowedFolders

BOTH = ("crm", "collector")
READ = ("read_operation", {"operation": "list_customers"})
SEND = ("read_operation", {"operation": "get_drop", "arguments": {"path": {"what": SECRET}}})
PROGRAM = ("run_program", {"code": f"print(get_drop(what='{SECRET}'))"})
Call = tuple[str, Mapping[str, Any]]


@pytest.fixture
def pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Pair]:
    """Two served APIs with an entry each in `apis.yaml`."""
    monkeypatch.chdir(tmp_path)
    AllowedFolders(tmp_path / "home").allow(tmp_path)
    with served_pair() as served:
        entered(served)
        yield served


def entered(pair: Pair, **more: Mapping[str, Any]) -> None:
    """Write `apis.yaml`, with more settings for the entries."""
    entries = {}
    for api, paths in ((pair.crm, CRM), (pair.collector, COLLECTOR)):
        Path(f"{api.name}.json").write_text(json.dumps(document(api.name, paths)))
        entries[api.name] = {"spec": f"{api.name}.json", "base_url": api.base_url, **more.get(api.name, {})}
    Path("apis.yaml").write_text(json.dumps(entries))


@contextmanager
def server(*names: str) -> Iterator[Any]:
    with open_server(Settings.from_env(), Sources(names), {}) as opened:
        yield opened


def call(opened: Any, wanted: Call, person: Person | None = None) -> types.CallToolResult:
    return used(opened, lambda client: client.call_tool(wanted[0], dict(wanted[1])), person)


def no() -> Person:
    return Person(content={"decision": "reject"})


def test_what_one_api_answered_goes_to_another_only_if_a_person_allows_it(pair: Pair) -> None:
    for person, sent in ((no(), 0), (Person(), 1)):
        with server(*BOTH) as opened:
            call(opened, READ)
            call(opened, SEND, person)
        assert (len(person.shown), len(pair.log)) == (1, sent)
        assert "Values of crm may go to collector" in person.shown[0]


@pytest.mark.parametrize("wanted", [SEND, PROGRAM], ids=["call", "program"])
def test_a_server_that_is_started_again_has_forgotten_which_apis_have_answered(pair: Pair, wanted: Call) -> None:
    with server(*BOTH) as first:
        call(first, READ)
        call(first, wanted, asked := no())
    with server(*BOTH) as second:
        call(second, wanted, person := no())
    assert (len(asked.shown), person.shown, len(pair.log)) == (1, [], 1)


def test_an_approval_of_another_server_process_lets_nothing_go_over(pair: Pair) -> None:
    with server(*BOTH) as first:
        call(first, READ)
        call(first, SEND, Person())
        call(first, SEND, silent := Person())
    with server(*BOTH) as second:
        call(second, READ)
        call(second, SEND, again := Person())
    assert (len(silent.shown), len(again.shown), len(pair.log)) == (0, 1, 3)


def test_words_that_a_rule_lets_through_are_told_from_values_of_an_answer(pair: Pair) -> None:
    entered(pair, collector={"from": ["model"]})
    word = ("read_operation", {"operation": "get_drop", "arguments": {"path": {"what": "hello"}}})
    with server(*BOTH) as opened:
        call(opened, READ)
        call(opened, word, silent := no())
        call(opened, SEND, person := no())
    assert (silent.shown, pair.paths) == ([], ["GET /drop/hello"])
    assert "Values of crm may go to collector" in person.shown[0]


def test_the_answer_to_a_call_approved_elsewhere_counts_for_the_server_that_tells_it(pair: Pair, cli: Cli) -> None:
    entered(pair, crm={"effects": [{"id": "list_customers", "effect": "change"}]})
    with server(*BOTH) as first:
        waiting = facts_of(call(first, ("change_operation", READ[1])))
    assert cli("resume", waiting["thread"], "--approve").code == 0
    with server(*BOTH) as second:
        assert SECRET in text_of(call(second, ("pending", {"handle": waiting["handle"]})))
        call(second, SEND, person := no())
    assert (len(person.shown), pair.log) == (1, [])


def test_answer_and_instruction_of_ask_count_as_read_by_a_client(pair: Pair, write: Callable[..., ChatServer]) -> None:
    write(program("print(list_customers())"), program(f"print(get_drop(what='{SECRET}'))"))
    with server(*BOTH) as opened:
        assert SECRET in text_of(call(opened, ("ask", {"instruction": "List the customers."})))
        call(opened, SEND, called := no())
        call(opened, ("ask", {"instruction": f"Drop {SECRET}."}), asked := no())
    assert (len(called.shown), len(asked.shown), pair.log) == (1, 1, [])
