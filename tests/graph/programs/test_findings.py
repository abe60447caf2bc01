"""Guards findings: a filter that matched nothing, and fields that did not come, stand below a program's report."""

from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from loopback import Handler, served
from paths import api_of
from roles import by_role, program

from restgpt.graph.build import build_graph
from restgpt.trace import Line, lines_of

TICKETS = [{"id": 1, "status": "open", "title": "Leak"}, {"id": 2, "status": "closed", "title": "Lamp"}]
QUERY = ("status", "owner", "since", "api_key", "limit", "page", "sort", "fields", "expand")


def _read(name: str, path: str = "", **more: Any) -> dict[str, Any]:
    parameters: list[Any] = [{"in": "query", "name": item, "schema": {"type": "string"}} for item in QUERY]
    parameters += [{"in": "path", "name": path, "required": True, "schema": {"type": "string"}}] if path else []
    return {"operationId": name, "parameters": parameters, "responses": {"200": {"description": "."}}, **more}


SENT = {"requestBody": {"content": {"application/json": {"schema": {"type": "object"}}}}, "x-restgpt-effect": "read"}
PATHS = {
    "/tickets": {"get": _read("list_tickets")},
    "/wrapped": {"get": _read("list_wrapped")},
    "/channels": {"get": _read("list_channels")},
    "/me": {"get": _read("read_me")},
    "/desks/{desk}/tickets": {"get": _read("list_of_desk", path="desk")},
    "/tickets/search": {"post": _read("search_tickets", **SENT)},
}


class Desk(Handler):
    """Answers with the tickets of a status, in several envelopes."""

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        status = parse_qs(parts.query).get("status", [""])[0]
        found = [ticket for ticket in TICKETS if status in ("", ticket["status"])]
        answers = {
            "/wrapped": {"data": {"items": found}, "note": "as asked for"},
            "/channels": {"ok": True, "channels": [], "meta": {"next": ""}},
            "/me": {"id": 7, "name": "Ada", "tags": []},
        }
        self.answer(answers.get(parts.path, found))

    def do_POST(self) -> None:
        self.body()
        self.answer({"hits": []})


Ask = Callable[[str], str]
Asker = Callable[[str], list[dict[str, Any]]]


@pytest.fixture
def events() -> Iterator[Asker]:
    """Ask a new agent with the desk, whose model writes one program and is asked nothing more."""
    with served(Desk) as url:
        api = api_of(PATHS, base_url=url)

        def asked(code: str) -> list[dict[str, Any]]:
            graph = build_graph([api], model=by_role({"express": [program(code)]}), context={"writes": "allow"})
            return list(graph.stream({"instruction": "Which tickets?"}, stream_mode="custom"))  # type: ignore[arg-type]

        yield asked


@pytest.fixture
def ask(events: Asker) -> Ask:
    """The same, for the report of the program."""
    return lambda code: next(event["report"] for event in events(code) if event["type"] == "step_finished")


@pytest.mark.parametrize(
    ("code", "where"),
    [
        ("list_tickets(status='Open', limit=5, sort='title', page=1)", "list_tickets: no match for status=Open"),
        (
            "list_tickets()\nlist_tickets(status='Open', since='2026-01-01')",
            "list_tickets: no match for status=Open, since=2026-01-01",
        ),
        ("list_of_desk(desk='7', status='Open')", "list_of_desk: no match for desk=7, status=Open"),
        (
            "list_tickets(status='a\\nb' + 'x' * 99, api_key='hunter2')",
            f"list_tickets: no match for status=a b{'x' * 57}…, api_key=[redacted]",
        ),
    ],
    ids=["a filter", "after rows of an earlier call", "a part of the path", "a long and a secret value"],
)
def test_where_a_filter_matched_nothing_stands_below_the_report(ask: Ask, code: str, where: str) -> None:
    assert ask(f"{code}\nprint('None.')") == f"None.\n({where})"


def test_the_trace_and_the_result_tell_it_too(events: Asker) -> None:
    found = events("print(len(list_tickets(status='Open')), 'tickets')")
    told = "0 tickets\n(list_tickets: no match for status=Open)"
    assert [line for event in found for line in lines_of(event) if line.label == "report"] == [Line("report", told)]  # type: ignore[arg-type]
    assert [event["result"].startswith(told) for event in found if event["type"] == "step_finished"] == [True]


def test_an_empty_list_in_an_envelope_and_one_of_a_search_by_body_are_told(ask: Ask) -> None:
    code = "list_wrapped(status='Open')\nlist_channels(owner='Bo')\nsearch_tickets(body={'term': 'x', 'limit': 3})"
    assert ask(f"{code}\nprint('None.')").split("\n") == [
        *("None.", "(list_wrapped: no match for status=Open)", "(list_channels: no match for owner=Bo)"),
        "(search_tickets: no match for term=x)",
    ]


@pytest.mark.parametrize(
    "code",
    [
        "list_tickets(status='Open')\nlist_tickets(status='open')",
        "list_tickets(status='Open')\nlist_tickets()",
        "read_me(expand='tags', owner='Bo')",
        "list_channels(limit=5)",
        "list_channels(page=1)",
        "list_channels(owner='Bo', page=2)",
        "search_tickets(body={'term': 'x', 'pagination': {'offset': 100}})",
    ],
)
def test_nothing_is_told_of_a_filter_that_found_later_or_an_item_or_a_page(ask: Ask, code: str) -> None:
    assert ask(f"{code}\nprint('Done.')") == "Done."


def test_a_program_that_stops_without_a_match_says_what_had_none(ask: Ask) -> None:
    code = "stop('Nobody knows.') if not list_tickets(status='Open') else None"
    with pytest.raises(AssertionError, match=r"no match for status=Open"):  # the prompt of the next program
        ask(code)


@pytest.mark.parametrize("fields", ["id,Status,owner", "id, owner", "owner", "id,owner,assignee.name"])
def test_a_field_that_was_asked_for_and_did_not_come_is_told(ask: Ask, fields: str) -> None:
    done = ask(f"print(list_tickets(fields={fields!r})[0]['id'])")
    assert done == "1\n(list_tickets: asked for with fields=: not in the response: owner)"


@pytest.mark.parametrize("fields", ["id,status", "items(id,owner)", "*", "-owner", "assignee.name"])
def test_fields_that_came_and_those_of_another_syntax_are_not_told(ask: Ask, fields: str) -> None:
    assert ask(f"print(list_tickets(fields={fields!r})[0]['id'])") == "1"


def test_fields_of_a_list_without_items_are_not_told(ask: Ask) -> None:
    assert "asked for" not in ask("print(list_tickets(status='Open', fields='owner'))")
