"""Guards that useful headers of responses reach the result of a call, as data, and nothing else of them does."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from board import CALLS
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command
from loopback import Handler, served
from roles import by_role, call, end, plan, program, prompts_of, select

from restgpt.graph.build import build_graph
from restgpt.specs import load_api

DOCUMENT = {
    "openapi": "3.1.0",
    "info": {"title": "Notes", "version": "1"},
    "servers": [{"url": "http://localhost"}],
    "paths": {
        "/notes": {"post": {"operationId": "make_note", "responses": {"200": {"description": "Successful Response"}}}},
        "/note": {
            "get": {"operationId": "read_note", "responses": {"200": {"description": "OK"}}},
            "put": {
                "operationId": "change_note",
                "parameters": [{"name": "If-Match", "in": "header", "schema": {"type": "string"}}],
                "responses": {"200": {"description": "OK"}},
            },
        },
        "/notes/{id}": {
            "delete": {
                "operationId": "delete_note",
                "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}],
                "responses": {"204": {"description": "OK"}},
            },
        },
    },
}


@contextmanager
def notes() -> Iterator[str]:
    """Serve notes that are created with 201 and have an ETag; yields the base URL."""

    class Notes(Handler):
        def do_GET(self) -> None:
            self.answer({"text": "milk"}, ETag='"v17"', Set_Cookie="session=5")

        def do_POST(self) -> None:
            self.body()
            self.answer(b"", 201, Location="/notes/n-81")

    with served(Notes) as url:
        yield url


def test_results_have_the_place_of_what_was_made_and_the_version_of_what_was_read() -> None:
    model = by_role(
        {
            "planner": [plan("Make a note"), plan("Read the note"), end("Done.")],
            "selector": [select("make_note"), select("read_note")],
            "caller": [call({}), call({})],
        }
    )
    with notes() as url:
        graph = build_graph(
            [load_api(json.dumps(DOCUMENT), base_url=url)],
            model=model,
            context=CALLS,
            checkpointer=InMemorySaver(),
            store=InMemoryStore(),
        )
        config = {"configurable": {"thread_id": "thread"}}
        graph.invoke({"instruction": "Make a note and read it"}, config, context={"writes": "allow"})  # type: ignore[arg-type]
    made, read = (step["result"] for step in graph.get_state(config).values["steps"])  # type: ignore[arg-type]
    assert made.endswith("status 201. The response has no body. (Headers: location: /notes/n-81)")
    assert read.endswith('status 200. {"text": "milk"} (Headers: etag: "v17")')
    assert "session" not in "".join(str(message.text) for prompt in model.prompts for message in prompt)
    assert "/notes/n-81" in str(prompts_of(model, "planner")[1][-1].text)


def test_the_question_names_the_header_that_an_id_comes_from() -> None:
    code = "made = make_note()\ndelete_note(id=headers(made)['location'].rsplit('/', 1)[1])"
    with notes() as url:
        graph = build_graph(
            [load_api(json.dumps(DOCUMENT), base_url=url)],
            model=by_role({"express": [program(code)]}),
            checkpointer=InMemorySaver(),
            store=InMemoryStore(),
        )
        config: Any = {"configurable": {"thread_id": "thread"}}
        graph.invoke({"instruction": "Make a note, and delete it again"}, config)
        asked: Any = graph.invoke(Command(resume={"decisions": [{"type": "approve"}]}), config)
    [action] = asked["__interrupt__"][0].value["action_requests"]
    assert "path.id: header location of a response of make_note" in action["description"]
    assert "is in nothing" not in action["description"]
