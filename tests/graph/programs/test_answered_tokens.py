"""Guards tokens that an API answers in a header: a program may send them on, and no prompt, log or trace shows them."""

import logging
from collections.abc import Iterator
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command
from roles import by_role, end, program
from wire.case import Canned
from wire.echo import EchoServer

from restgpt.graph.build import build_graph
from restgpt.nodes.run.services import Services
from restgpt.specs import load_api
from restgpt.tools.settings import Settings

TOKEN = "tok-93ab-71f0"
CONFIG: Any = {"configurable": {"thread_id": "t"}}
BODY = {"content": {"application/json": {"schema": {"type": "object"}}}}


@pytest.fixture
def echo() -> Iterator[EchoServer]:
    with EchoServer() as server:
        yield server


def document(header: str) -> dict[str, Any]:
    parameter = {"name": header, "in": "header", "schema": {"type": "string"}}
    paths = {
        "/session": {"get": {"operationId": "session", "responses": {}}},
        "/items": {
            "post": {"operationId": "make_item", "parameters": [parameter], "requestBody": BODY, "responses": {}}
        },
    }
    return {"openapi": "3.1.0", "info": {"title": "Items", "version": "1"}, "paths": paths}


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
    services = Services([load_api(document(header), base_url=echo.url)], model=model, settings=Settings())
    graph = build_graph(services=services, checkpointer=InMemorySaver(), store=InMemoryStore())
    with caplog.at_level(logging.DEBUG):
        paused = graph.invoke({"instruction": "Make an item"}, CONFIG)
        assert TOKEN in str(paused["__interrupt__"])
        done = graph.invoke(Command(resume="approve"), CONFIG)
    [sent] = [dict(item.headers) for item in echo.arrived if item.method == "POST"]
    assert (sent[header], done["answer"]) == (TOKEN, "Made.")
    assert "That is all." in str(model.prompts[-1])
    assert TOKEN not in str(model.prompts)
    assert TOKEN not in caplog.text
    assert "cookie-5512" not in str(graph.get_state(CONFIG)) + str(model.prompts)
