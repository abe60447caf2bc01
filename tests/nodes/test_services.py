"""Guards the services of a node run: the responses whose shapes are learned."""

from typing import Any

import pytest
from langchain_openai import ChatOpenAI
from langgraph.store.memory import InMemoryStore
from pydantic import SecretStr

from restgpt.nodes.run.run import MOST_LEARNED, Run
from restgpt.nodes.run.services import Context, Services
from restgpt.specs import load_api
from restgpt.tools.errors import SettingsError
from restgpt.tools.response.content import Reply
from restgpt.tools.settings import ApiEntry, Settings


def test_a_reply_has_a_bound_where_the_model_has_none_of_its_own() -> None:
    def most(model: ChatOpenAI, **context: Any) -> tuple[Any, bool]:
        services = Services([API], model=model, settings=Settings())
        found: Any = services.model("planner", Context(**context))
        assert found is services.model("planner", Context(**context))
        return found.max_tokens, found is model

    free = ChatOpenAI(model="m", api_key=SecretStr("x"))
    assert most(free) == (8192, False)
    assert most(free, max_reply_tokens=300) == (300, False)
    assert most(ChatOpenAI(model="m", api_key=SecretStr("x"), max_tokens=20)) == (20, True)  # type: ignore[call-arg]
    assert free.max_tokens is None


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
    run = Run(Services([API], store=store, settings=Settings()), Context(), store, "t", started=0.0)
    request: Any = {
        "operation": "open",
        "arguments": {},
        "response": run.session.responses.put(answer, operation).to_dict(),
    }
    run.learn(request)
    assert (run.shapes.seen(operation) is not None) is is_learned


def test_without_an_api_the_error_says_what_to_do_on_a_server_too() -> None:
    with pytest.raises(SettingsError, match=r"apis\.yaml, in the folder in which the server or program was started"):
        Services(settings=Settings()).catalogue([])


def test_an_unknown_api_is_an_error_that_lists_the_known_ones() -> None:
    services = Services(settings=Settings(apis={"shop": ApiEntry("shop", "shop.yaml")}))
    with pytest.raises(SettingsError, match=r"no API 'garden'\. The configured APIs are: shop\. Choose one of them"):
        services.catalogue(["garden"])
