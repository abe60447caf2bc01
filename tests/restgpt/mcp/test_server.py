"""Guards the MCP server in both eras: a change is asked about, sent once as decided, found again, and undone."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from cli import Cli
from mcp import types
from mcp.shared.exceptions import MCPError
from mcpserver import ERAS, MADE, MOSS, Person, changes, facts_of, text_of, with_client

from restgpt_bench.worlds.server import WorldServer

Opener = Callable[..., Any]

pytestmark = [pytest.mark.sampled(2, "era"), pytest.mark.parametrize("era", ERAS[::-1])]


ADA = {"assignee": "Ada"}


async def refusal(request: Awaitable[Any]) -> MCPError:
    """The error of the protocol that a request gets."""
    with pytest.raises(MCPError) as error:
        await request
    return error.value


def called(
    opened: Opener, era: str, name: str, arguments: dict[str, Any], person: Person | None = None, **chosen: Any
) -> types.CallToolResult:
    """The result of one tool."""
    return with_client(opened(**chosen), lambda client: client.call_tool(name, arguments), person, era)


def test_a_read_is_sent_at_once(opened: Opener, era: str, toy: WorldServer) -> None:
    result = called(opened, era, "read_operation", {"operation": "list_projects"})
    assert not result.is_error
    assert "items" in text_of(result)
    assert facts_of(result)["status"] == "sent"


def test_an_argument_beside_arguments_goes_where_operations_have_it(opened: Opener, era: str, toy: WorldServer) -> None:
    for given in (ADA, {"arguments": {"done": False}, **ADA}):
        assert not called(opened, era, "read_operation", {"operation": "find_tasks", **given}).is_error
    assert [entry.query.get("assignee") for entry in toy.world.log] == ["Ada", "Ada"]


def test_a_change_is_asked_about_by_its_description_and_sent_once(opened: Opener, era: str, toy: WorldServer) -> None:
    person = Person()
    result = called(opened, era, "change_operation", MOSS, person)
    assert changes(toy) == [MADE]
    (shown,) = person.shown
    assert '{"title":"Moss"}' in shown
    assert "body.title: the model wrote it" in shown
    assert (result.is_error, facts_of(result)["http_status"]) == (False, 201)


def test_the_person_sees_a_change_before_it_is_sent(opened: Opener, era: str, toy: WorldServer) -> None:
    seen: list[list[str]] = []
    called(opened, era, "change_operation", MOSS, Person(before=lambda: seen.append(changes(toy))))
    assert seen == [[]]


@pytest.mark.parametrize(
    ("person", "said"),
    [
        (Person(content={"decision": "reject", "reason": "wrong project"}), "wrong project"),
        (Person("decline", None), "The person declined."),
    ],
    ids=["rejected", "declined"],
)
def test_a_rejected_change_is_over_and_not_sent(
    opened: Opener, era: str, toy: WorldServer, cli: Cli, person: Person, said: str
) -> None:
    result = called(opened, era, "change_operation", MOSS, person)
    assert said in text_of(result)
    assert (facts_of(result)["status"], changes(toy)) == ("rejected", [])
    assert "No request waits" in cli("resume", facts_of(result)["thread"], "--approve").err
    assert changes(toy) == []


@pytest.mark.parametrize(
    "person",
    [
        Person("cancel", None),
        Person(content=None),
        Person(content={}),
        Person(content={"decision": "maybe"}),
        Person(content={"decision": True}),
        Person(content={"approve": "yes"}),
        None,
    ],
    ids=["cancelled", "no content", "empty", "another choice", "no text", "another field", "cannot be asked"],
)
def test_what_decides_nothing_leaves_the_change_waiting_for_another_way(
    opened: Opener, era: str, toy: WorldServer, cli: Cli, person: Person | None
) -> None:
    result = called(opened, era, "change_operation", MOSS, person)
    facts = facts_of(result)
    assert (result.is_error, facts["status"], changes(toy)) == (False, "pending", [])
    assert f"restgpt resume {facts['thread']} --approve" in text_of(result)
    assert '{"title":"Moss"}' in text_of(result)
    assert cli("resume", facts["thread"], "--approve").code == 0
    assert changes(toy) == [MADE]
    assert f"{toy.url}/projects/1/tasks → 201" in cli("threads", facts["thread"]).out
    after = called(opened, era, "pending", {"handle": facts["handle"]}, person)
    assert (facts_of(after)["http_status"], changes(toy)) == (201, [MADE])


@pytest.mark.parametrize(
    "more",
    [{"approve": True}, {"confirmed": True}, {"writes": "allow"}, {"decision": "approve"}, {"only_reads": True}],
)
def test_nothing_that_a_model_can_set_approves(
    opened: Opener, era: str, toy: WorldServer, more: dict[str, Any]
) -> None:
    for arguments in ({**MOSS, **more}, {**MOSS, "arguments": {**MOSS["arguments"], **more}}):
        called(opened, era, "change_operation", arguments)
    assert changes(toy) == []


def test_a_change_is_undone_by_its_handle_and_asked_about(opened: Opener, era: str, toy: WorldServer) -> None:
    made = called(opened, era, "change_operation", MOSS, Person())
    person = Person()
    undone = called(opened, era, "undo", {"handle": facts_of(made)["handle"]}, person)
    assert "DELETE" in person.shown[0]
    assert changes(toy) == [MADE, "DELETE /tasks/{task_id} 204"]
    again = called(opened, era, "undo", {"handle": facts_of(made)["handle"]}, person)
    assert (facts_of(undone)["status"], "nothing that can be undone" in text_of(again)) == ("undone", True)


def test_an_undo_that_waits_is_decided_by_the_command(opened: Opener, era: str, toy: WorldServer, cli: Cli) -> None:
    made = called(opened, era, "change_operation", MOSS, Person())
    waiting = called(opened, era, "undo", {"handle": facts_of(made)["handle"]})
    assert f"restgpt undo {facts_of(made)['thread']}" in text_of(waiting)
    assert cli("undo", facts_of(made)["thread"], "--approve").code == 0
    after = called(opened, era, "pending", {"handle": facts_of(waiting)["handle"]})
    assert (facts_of(after)["status"], changes(toy)[1:]) == ("undone", ["DELETE /tasks/{task_id} 204"])


def test_an_equal_call_joins_the_one_that_waits(opened: Opener, era: str, toy: WorldServer, cli: Cli) -> None:
    first = facts_of(called(opened, era, "change_operation", MOSS))
    second = called(opened, era, "change_operation", MOSS)
    assert facts_of(second)["thread"] == first["thread"]
    assert "no second one was made" in text_of(second)
    assert cli("resume", first["thread"], "--approve").code == 0
    third = called(opened, era, "change_operation", MOSS)
    assert (facts_of(third)["thread"], changes(toy)) == (first["thread"], [MADE])
    fourth = called(opened, era, "change_operation", MOSS, Person())
    assert (facts_of(fourth)["thread"] != first["thread"], changes(toy)) == (True, [MADE, MADE])


def test_pending_alone_lists_what_waits_and_was_decided(opened: Opener, era: str, toy: WorldServer, cli: Cli) -> None:
    assert "Nothing waits" in text_of(called(opened, era, "pending", {}))
    waiting = facts_of(called(opened, era, "change_operation", MOSS))
    listed = called(opened, era, "pending", {})
    assert [item["thread"] for item in facts_of(listed)["threads"]] == [waiting["thread"]]
    rejected = cli("resume", waiting["thread"], "--reject", "not now")
    assert (rejected.code, "Rejected. Nothing was sent. not now" in rejected.err) == (4, True)
    assert "not now" in text_of(called(opened, era, "pending", {}))
    assert "Nothing waits" in text_of(called(opened, era, "pending", {}))


def test_commands_list_show_edit_and_delete_waiting_calls(opened: Opener, era: str, toy: WorldServer, cli: Cli) -> None:
    thread = facts_of(called(opened, era, "change_operation", MOSS))["thread"]
    assert f"{thread} waiting" in cli("threads").out
    assert f"restgpt resume {thread} --approve" in cli("threads", thread).err
    assert '{"title":"Moss"}' in cli("threads", thread, "--request", "1").out
    edited = '{"path": {"project_id": 1}, "body": {"title": "Fern"}}'
    ran = cli("resume", thread, "--edit", edited, "--json")
    assert (ran.code, ran.document["response"]["body"]["title"]) == (0, "Fern")
    assert cli("threads", "--delete", thread, "--yes").code == 0
    assert thread not in cli("threads").out


def test_bad_arguments_are_a_result_that_a_model_can_repair(opened: Opener, era: str, toy: WorldServer) -> None:
    cases: list[tuple[str, dict[str, Any], str]] = [
        ("change_operation", {"operation": "create_task", "arguments": {"body": {"tytle": 1}}}, "/path/project_id"),
        ("change_operation", {"operation": "create_tusk"}, "create_task"),
        ("change_operation", {}, "operation is missing: a text is wanted"),
        ("change_operation", {"operation": "find_tasks", "assigned": "Ada"}, "did you mean 'assignee'?"),
        ("change_operation", {"operation": "find_tasks", "arguments": ADA, "assignee": "Ada"}, "given twice"),
        ("find_operations", {"query": 7.5}, "query must be a text, not a number"),
        ("find_operations", {"query": "task", "most": 3}, "most is unknown: it takes query, limit"),
        ("describe_operation", {"operations": ["create_tusk"]}, "create_task"),
    ]
    for name, arguments, said in cases:
        result = called(opened, era, name, arguments)
        assert (result.is_error, said in text_of(result)) == (True, True), text_of(result)
    assert changes(toy) == []


def test_an_unknown_tool_is_an_error_of_the_protocol_with_near_names(opened: Opener, era: str) -> None:
    error = with_client(opened(), lambda client: refusal(client.call_tool("change_operations", MOSS)), era=era)
    assert (error.error.code, "change_operation," in error.error.message) == (types.INVALID_PARAMS, True)


def test_a_missing_credential_names_the_variable(opened: Opener, era: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RESTGPT_AUTH_KEY")
    result = called(opened, era, "read_operation", {"operation": "list_projects"})
    assert (result.is_error, "RESTGPT_AUTH_KEY" in text_of(result)) == (True, True)


@pytest.mark.parametrize("operation", ["list_projects", "create_task"])
def test_an_api_that_is_not_there_is_a_result(opened: Opener, era: str, toy: WorldServer, operation: str) -> None:
    toy.close()
    arguments = {**MOSS, "operation": operation} if operation == "create_task" else {"operation": operation}
    result = called(opened, era, "change_operation", arguments, Person())
    assert (result.is_error, "127.0.0.1" in text_of(result)) == (True, True), text_of(result)


def test_a_forged_handle_is_refused_in_one_sentence(opened: Opener, era: str) -> None:
    async def refused(client: Any) -> list[types.CallToolResult]:
        handles = ("s1", "x", "s1.a.b.c", "call-1")
        tools = ("pending", "undo", "read_result")
        return [await client.call_tool(tool, {"handle": handle}) for tool in tools for handle in handles]

    results = with_client(opened(), refused, era=era)
    assert [(result.is_error, "not valid here" in text_of(result)) for result in results] == [(True, True)] * 12


def test_handles_of_one_purpose_are_not_handles_of_another(opened: Opener, era: str, toy: WorldServer) -> None:
    waiting = facts_of(called(opened, era, "change_operation", MOSS))["handle"]
    assert called(opened, era, "undo", {"handle": waiting}).is_error
    assert called(opened, era, "read_result", {"handle": waiting}).is_error


def test_a_handle_expires(opened: Opener, era: str, toy: WorldServer) -> None:
    waiting = facts_of(called(opened, era, "change_operation", MOSS, clock=lambda: 1_000.0, lifetime=60.0))["handle"]
    still = called(opened, era, "pending", {"handle": waiting}, clock=lambda: 1_059.0, lifetime=60.0)
    late = called(opened, era, "pending", {"handle": waiting}, clock=lambda: 1_061.0, lifetime=60.0)
    assert (still.is_error, late.is_error, "expired" in text_of(late)) == (False, True, True)


def test_what_waits_is_marked_as_data(opened: Opener, era: str, toy: WorldServer) -> None:
    given = {"path": {"task_id": 103}, "body": {"title": "Fern"}}
    text = text_of(called(opened, era, "change_operation", {"operation": "update_task", "arguments": given}))
    opening = text.index("<question-")
    mark = text[opening + 1 : text.index(">", opening)]
    assert opening < text.index("Changes, by a response of") < text.index(f"</{mark}>")


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("change_operation", {"operation": "x" * 100_000}),
        ("run_program", {"code": "print(1)", "thread": "x" * 100_000}),
        ("read_operation", {"operation": "get_task", "arguments": {"path": {"y" * 100_000: 1}}}),
    ],
)
def test_an_error_does_not_repeat_a_long_argument(
    opened: Opener, era: str, toy: WorldServer, tool: str, arguments: dict[str, Any]
) -> None:
    result = called(opened, era, tool, arguments)
    assert (result.is_error, len(text_of(result)) < 5_000) == (True, True)
