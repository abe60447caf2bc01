"""Guards that a request is sent as it was seen, byte for byte, whatever its arguments hold, after a restart too."""

import base64
import json
import random
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from langgraph.store.memory import InMemoryStore
from wire.echo import EchoServer

from restgpt.calling.call import Call, draft
from restgpt.calling.decision import Rules
from restgpt.calling.execution import carry_out
from restgpt.calling.journal import Journal
from restgpt.calling.question import answered, present
from restgpt.calling.session import Session
from restgpt.specs import Api, Catalogue, load_api
from restgpt.tools.http.http_client import HttpClient
from restgpt.tools.request.view import whole_view
from restgpt.tools.response.store import BoundedMemory, ResponseStore
from restgpt.tools.settings import Settings

TEXTS = [
    *("", "a", "0", "true", "null", " ", "a b", "a/b", "..", "%2F", "é", "日本", "😀"),
    *("a&b=c", "x;y", '"', "'", "\\", "<a>", "+", "#", "?"),
]
MEDIA = ["application/json", "application/x-www-form-urlencoded", "multipart/form-data", "text/plain"]
STYLES = {
    "path": ["simple", "label", "matrix"],
    "query": ["form", "spaceDelimited", "pipeDelimited", "deepObject"],
    "header": ["simple"],
    "cookie": ["form"],
}
KINDS: list[dict[str, Any]] = [
    *({"type": "string"}, {"type": "integer"}, {"type": "number"}, {"type": "boolean"}),
    {"type": "array", "items": {"type": "string"}},
    *({"type": "object", "additionalProperties": {"type": "string"}}, {}),
]
OPERATIONS = 60


def parameter(dice: random.Random, name: str, place: str) -> dict[str, Any]:
    style, schema = dice.choice(STYLES[place]), dice.choice(KINDS)
    return {
        "name": name,
        "in": place,
        "required": place == "path",
        "style": "deepObject" if style == "deepObject" and schema.get("type") == "object" else STYLES[place][0],
        "explode": dice.random() < 0.5,
        "schema": schema,
    }


def document(dice: random.Random, url: str) -> dict[str, Any]:
    """A document of changes, each with arguments in all places and a body of one media type or of several."""
    paths: dict[str, Any] = {}
    for number in range(OPERATIONS):
        places = [place for place in ("query", "query", "header", "cookie") if dice.random() < 0.6]
        parameters = [parameter(dice, f"{place}-{at}", place) for at, place in enumerate(places)]
        properties = {f"field {at}": dice.choice(KINDS) for at in range(3)}
        body = {"type": "object", "properties": properties}
        content = {media: {"schema": {} if media == "text/plain" else body} for media in MEDIA if dice.random() < 0.6}
        paths[f"/things/{number}/{{id}}"] = {
            dice.choice(["post", "put", "patch", "delete"]): {
                "operationId": f"change-{number}",
                "parameters": [parameter(dice, "id", "path"), *parameters],
                **({"requestBody": {"content": content}} if content else {}),
                "responses": {"200": {"description": "ok"}},
            }
        }
    return {"openapi": "3.1.0", "info": {"title": "Things", "version": "1"}, "servers": [{"url": url}], "paths": paths}


def value(dice: random.Random, schema: dict[str, Any], depth: int = 0) -> Any:
    text = "".join(dice.choice(TEXTS) for _ in range(dice.randint(1, 4)))
    match schema.get("type"):
        case "integer":
            return dice.choice([0, -1, 7, 2**31, 2**53, 2**63, 10**30])
        case "number":
            return dice.choice([0.0, -0.5, 1e-7, 1e21, 0.1, 3])
        case "boolean":
            return dice.random() < 0.5
        case "array":
            return [value(dice, schema["items"], depth) for _ in range(dice.randint(0, 3))]
        case "object":
            fields = schema.get("properties") or {text: {"type": "string"}, "": {}}
            return {name: value(dice, item, depth) for name, item in fields.items() if dice.random() < 0.8}
        case "string":
            return text
    return value(dice, dice.choice(KINDS[: 6 if depth < 2 else 4]), depth + 1)


def arguments(dice: random.Random, api: Api, name: str) -> dict[str, Any]:
    operation = api.operation(name)
    given: dict[str, Any] = {}
    for item in operation.parameters:
        if item.required or dice.random() < 0.7:
            given.setdefault(item.location, {})[item.name] = value(dice, dict(item.schema))
    if operation.body is not None and dice.random() < 0.9:
        media, content = dice.choice(list(operation.body.content.items()))
        given.setdefault("header", {})["Content-Type"] = media
        given["body"] = value(dice, dict(content.schema))
    return given


@pytest.fixture(scope="module")
def echo() -> Iterator[EchoServer]:
    with EchoServer() as server:
        yield server


def session(api: Api, store: InMemoryStore) -> Session:
    settings = Settings()
    http = HttpClient(settings=settings)
    return Session(Catalogue([api]), http, ResponseStore(BoundedMemory()), Journal(store, "thread"), Rules(settings))


def seen_and_sent(echo: EchoServer, seed: int, count: int) -> int:
    """Draft calls, have each seen, kept, read again and sent; return how many could be sent."""
    dice = random.Random(seed)
    # The user gives the address of a server on this machine, which no document may choose.
    api = load_api(document(dice, echo.url), base_url=echo.url)
    store, sent = InMemoryStore(), 0
    first, second = session(api, store), session(api, store)
    for number in range(count):
        name = f"change-{dice.randrange(OPERATIONS)}"
        call = draft(api.operation(name), arguments(dice, api, name), id=f"{seed}-{number}.0")
        if not isinstance(call, Call):
            continue
        asked = present(first, call.asked())
        seen = whole_view(asked.request, first.redactor(api))
        kept = json.loads(json.dumps(first.keep(asked)))
        echo.script([])
        ready = answered(second, second.call(kept), {"type": "approve"})
        assert ready.stage == "approved", ready.note
        assert carry_out(second, ready).stage == "sent"
        (arrived,) = echo.arrived
        body = seen["body"]
        shown = base64.b64decode(body["base64"]) if isinstance(body, dict) else (body or "").encode()
        parts = urlsplit(seen["url"])
        target = f"{parts.path}?{parts.query}" if parts.query else parts.path
        assert (arrived.method, arrived.target, arrived.body) == (seen["method"], target, shown)
        # The server reads headers as Latin-1, and no space around a value is a part of it (RFC 9110, section 5.5).
        headers = {name.lower(): text.encode("latin-1").decode().strip() for name, text in arrived.headers}
        assert {name.lower(): text.strip() for name, text in seen["headers"].items()}.items() <= headers.items()
        sent += 1
    return sent


def test_a_hundred_random_requests_are_sent_as_they_were_seen(echo: EchoServer) -> None:
    assert seen_and_sent(echo, 0, 100) > 50


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 21))
def test_ten_thousand_random_requests_are_sent_as_they_were_seen(echo: EchoServer, seed: int) -> None:
    assert seen_and_sent(echo, seed, 500) > 250
