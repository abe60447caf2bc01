"""Guards tokens that an API answers in a header: a program may send them on, and no prompt, log or trace shows them."""

import logging

import pytest
from board import agent_of
from paths import api_of
from programs import decide
from roles import by_role, end, program
from wire.case import Canned
from wire.echo import EchoServer

from restgpt.specs import Api

TOKEN = "tok-93ab-71f0"
BODY = {"content": {"application/json": {"schema": {"type": "object"}}}}


def api_with(header: str, url: str) -> Api:
    parameter = {"name": header, "in": "header", "schema": {"type": "string"}}
    make = {"operationId": "make_item", "parameters": [parameter], "requestBody": BODY, "responses": {}}
    session = {"operationId": "session", "responses": {}}
    return api_of({"/session": {"get": session}, "/items": {"post": make}}, base_url=url)


@pytest.mark.parametrize("header", ["X-CSRF-Token", "X-Auth-Token"])
def test_a_program_sends_a_token_on_that_only_the_question_shows(
    echo: EchoServer, header: str, caplog: pytest.LogCaptureFixture
) -> None:
    cookie = {"Set-Cookie": "sid=cookie-5512", header: TOKEN}
    echo.script([Canned(b'{"id": 1}', headers={"Content-Type": "application/json", **cookie}), Canned(status=201)])
    name = header.replace("-", "_")
    code = f"""a = session()
make_item(body={{"n": 1}}, {name}=headers(a)["{header.lower()}"])
print(headers(a))
stop("That is all.", headers(a))"""
    model = by_role({"express": [program(code), end("Made.")]})
    agent = agent_of([api_with(header, echo.url)], model)
    with caplog.at_level(logging.DEBUG):
        assert TOKEN in str(agent.ask("Make an item")["__interrupt__"])
        done = decide(agent, "approve")
    [sent] = [dict(item.headers) for item in echo.arrived if item.method == "POST"]
    assert (sent[header], done["answer"]) == (TOKEN, "Made.")
    assert "That is all." in str(model.prompts[-1])
    assert TOKEN not in str(model.prompts)
    assert TOKEN not in caplog.text
    assert "cookie-5512" not in str(agent.graph.get_state(agent.config)) + str(model.prompts)
