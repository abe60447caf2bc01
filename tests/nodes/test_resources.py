"""Guards the resources of a node run: the responses whose shapes are learned."""

from typing import Any

import pytest
from langgraph.store.memory import InMemoryStore

from restgpt.nodes.context import Context
from restgpt.nodes.resources import MOST_LEARNED, Resources, Run
from restgpt.specs import load_api
from restgpt.tools.response.reply import Reply
from restgpt.tools.settings import Settings

API = load_api(
    {
        "openapi": "3.1.0",
        "info": {"title": "Shop", "version": "1"},
        "servers": [{"url": "https://shop.example"}],
        "paths": {"/open": {"get": {"operationId": "open", "responses": {"200": {"description": "."}}}}},
    }
)


def reply(body: bytes, *, status: int = 200, media_type: str = "application/json", truncated: bool = False) -> Reply:
    return Reply(status, "", {"content-type": media_type}, media_type, body, truncated)


@pytest.mark.parametrize(
    ("answer", "is_learned"),
    [
        (reply(b'{"a": 1}'), True),
        (reply(b'{"a": 1}', status=201), True),
        (reply(b'{"error": "no"}', status=404), False),
        (reply(b'{"a": 1}', status=302), False),
        (reply(b'{"a": 1}', truncated=True), False),
        (reply(b"a,b\n1,2\n", media_type="text/csv"), False),
        (reply(b"", status=204), False),
        (reply(b'{"a": "' + b"x" * MOST_LEARNED + b'"}'), False),
    ],
)
def test_only_whole_successful_json_answers_of_moderate_size_are_learned(answer: Reply, is_learned: bool) -> None:
    store, operation = InMemoryStore(), API.operation("open")
    run = Run(Resources([API], store=store, settings=Settings()), Context(), store, "t", started=0.0)
    request: Any = {"operation": "open", "response": run.session.responses.put(answer, operation).to_dict()}
    run.learn(request)
    assert (run.shapes.seen(operation) is not None) is is_learned
