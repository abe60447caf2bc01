"""Guards answers of success that say that they failed: told, never read as a success, never made again."""

from typing import Any

import pytest
from board import Agent, agent_of
from paths import openapi
from roles import by_role, end, program
from wire.case import Canned
from wire.echo import EchoServer

from restgpt.nodes.run.services import Services
from restgpt.specs import load_api
from restgpt.tools.settings import Settings
from restgpt.tools.settings.entry import ApiEntry, Failure

BODY = {"content": {"application/json": {"schema": {"type": "object"}}}}
DOCUMENT = openapi(
    {
        "/channels": {"get": {"operationId": "list_channels", "responses": {}}},
        "/messages": {"post": {"operationId": "post_message", "requestBody": BODY, "responses": {}}},
    },
    title="Chat",
)
READ, SENT = "print(len(rows(list_channels())), 'channels')", "post_message(body={'text': 'Moss'})\nprint('Sent.')"


def answers(echo: EchoServer, *bodies: bytes) -> None:
    echo.script([Canned(body, headers={"Content-Type": "application/json"}) for body in bodies])


def agent_with(echo: EchoServer, script: list[Any], failures: Failure | None = None) -> Agent:
    entry = ApiEntry("chat", "chat.yaml", failures=failures)
    model, api = by_role({"express": script}), load_api(DOCUMENT, base_url=echo.url, entry="chat")
    return agent_of(None, model, services=Services([api], model=model, settings=Settings(apis={"chat": entry})))


def ask(agent: Agent, writes: str = "ask") -> Any:
    return agent.ask("Tell the channels", writes=writes)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"ok": false, "error": "not_in_channel"}', "list_channels answered 200, but ok is false: not_in_channel"),
        (b'{"success": false, "channels": []}', "list_channels answered 200, but success is false"),
        (
            b'{"ok": false, "error": "half \\ud83d\\n of it"}',
            "list_channels answered 200, but ok is false: half \N{REPLACEMENT CHARACTER} of it",
        ),
    ],
)
def test_a_failure_inside_a_success_stands_below_the_report_which_is_not_fulfilled(
    echo: EchoServer, body: bytes, said: str
) -> None:
    answers(echo, body)
    agent = agent_with(echo, [program("list_channels()\nprint('0 channels')")])
    done = ask(agent)
    assert done["answer"] == f"0 channels\n({said})"
    assert agent.state["decision"]["fulfilled"] is False


@pytest.mark.parametrize(
    ("body", "failures"),
    [
        *((body, None) for body in (b'{"ok": true}', b'{"ok": 0}', b'{"ok": "false"}', b'[{"ok": false}]')),
        (b'{"a": {"ok": false}}', None),
        # With a word of the user nothing else is one.
        (b'{"ok": false, "state": "good"}', Failure("state", "bad")),
    ],
)
def test_nothing_else_is_taken_for_a_failure(echo: EchoServer, body: bytes, failures: Failure | None) -> None:
    answers(echo, body)
    agent = agent_with(echo, [program("list_channels()\nprint('0 channels')")], failures)
    assert ask(agent)["answer"] == "0 channels"


def test_where_the_user_says_so_it_is_an_error_with_the_body(echo: EchoServer) -> None:
    answers(echo, b'{"state": "bad", "why": "closed"}')
    code = "try:\n    list_channels()\nexcept ApiError as error:\n    print(error.status, error.body['why'])"
    agent = agent_with(echo, [program(code)], Failure("state", "bad", "why"))
    assert ask(agent)["answer"] == "200 closed"


@pytest.mark.parametrize("failures", [None, Failure("ok")])
def test_an_equal_change_after_a_failed_one_is_asked_about_though_changes_are_allowed(
    echo: EchoServer, failures: Failure | None
) -> None:
    answers(echo, b'{"ok": false, "error": "rate"}', b'{"ok": true}')
    first = "try:\n    post_message(body={'text': 'Moss'})\nexcept ApiError:\n    pass\nstop('Not yet.')"
    agent = agent_with(echo, [program(first), program(SENT), end("Sent.")], failures)
    paused = ask(agent, "allow")
    assert paused["__interrupt__"]
    assert len(echo.arrived) == 1
