"""Guards the routes of the wire: secrets are hidden in requests and answers, and only calls of the thread are shown."""

from collections.abc import Mapping
from typing import Any

from asgi import requested
from httpx2 import Response
from langgraph.store.memory import InMemoryStore
from starlette.applications import Starlette

from restgpt import load_api
from restgpt.calling.journal import Journal
from restgpt.nodes.run.services import Services
from restgpt.server.page_routes import UnreadableThreadError, wire_routes
from restgpt.tools.response.store import ResponseStore

DOCUMENT = """
openapi: 3.1.0
info: {title: Kitchen, version: "1"}
servers: [{url: https://kitchen.example/v1}]
components: {securitySchemes: {key: {type: apiKey, in: header, name: X-Key}}}
security: [{key: []}]
paths:
  /dishes/{dish}:
    get:
      operationId: get_dish
      parameters: [{name: dish, in: path, required: true, schema: {type: string}}]
      responses: {"200": {description: It.}}
    put:
      operationId: put_dish
      parameters: [{name: dish, in: path, required: true, schema: {type: string}}]
      requestBody: {content: {application/json: {schema: {type: object}}}}
      responses: {"200": {description: Done.}}
"""
SECRET = "s3cr3t-kitchen-key"
LONG = "salt " * 4_000


class FakeKept:
    """A server with one thread, `soup`, and a store."""

    def __init__(self) -> None:
        self.store = InMemoryStore()
        self.state: dict[str, Any] = {"turn": 2, "steps": [], "requests": []}

    def values(self, thread: str) -> Mapping[str, Any]:
        if thread != "soup":
            raise UnreadableThreadError("There is no such thread.")
        return self.state

    def add(self, name: str, operation: str, arguments: Any, answer: Any = None) -> None:
        """Add a call of the newest turn; with an answer, it is over."""
        kept = None if answer is None else ResponseStore(self.store).put_value(answer).to_dict()
        made = {"id": name, "operation": operation, "arguments": arguments, "fingerprint": f"print-of-{name}"}
        over = {"status": "planned" if kept is None else "parsed", "note": "", "response": kept or {}}
        self.state["requests"].append(made | over)


def asked(kept: FakeKept, path: str, **given: str) -> Response:
    services = Services([load_api(DOCUMENT, name="kitchen", auth={"key": SECRET})])
    app = Starlette(routes=wire_routes(lambda thread: services, kept.values, kept.store))
    return requested(app, "GET", path, params=given)


def piece(kept: FakeKept, **given: str) -> Any:
    return asked(kept, "/debug/wire/body", thread="soup", **given).json()


def test_a_read_is_built_again_from_its_arguments() -> None:
    kept = FakeKept()
    kept.add("one", "get_dish", {"path": {"dish": "pea soup"}}, {"name": "Pea soup"})
    [call] = asked(kept, "/debug/wire", thread="soup").json()["calls"]
    shown = (call["request"]["method"], call["request"]["url"])
    assert shown == ("GET", "https://kitchen.example/v1/dishes/pea%20soup")
    assert (call["turn"], call["isNoted"], call["response"]["status"]) == (2, False, 200)


def test_the_request_of_a_change_is_the_one_of_the_journal() -> None:
    kept = FakeKept()
    kept.add("one", "put_dish", {"path": {"dish": "soup"}, "body": {}}, {"name": "Soup"})
    Journal(kept.store, "soup").intend("one", "print-of-one", {"method": "PUT", "url": "https://old.example/soup"})
    [call] = asked(kept, "/debug/wire", thread="soup").json()["calls"]
    assert call["request"]["url"] == "https://old.example/soup"
    assert call["isNoted"]


def test_secrets_are_hidden_in_requests_and_answers() -> None:
    kept = FakeKept()
    kept.add("one", "put_dish", {"path": {"dish": SECRET}, "body": {"note": SECRET}}, {"echo": f"key={SECRET}"})
    kept.state["requests"][0]["response"]["headers"] = {"x-echo": SECRET}
    kept.state["requests"][0]["response"]["sketch"] = f"{{echo: str = '{SECRET}'}}"
    told = asked(kept, "/debug/wire", thread="soup").text
    assert "kitchen.example" in told
    assert SECRET not in told
    for side in ("request", "answer"):
        shown = asked(kept, "/debug/wire/body", thread="soup", call="one", side=side)
        assert shown.status_code == 200
        assert SECRET not in shown.text


def test_a_long_body_comes_in_pieces_and_each_value_by_its_pointer() -> None:
    kept = FakeKept()
    kept.add("one", "get_dish", {"path": {"dish": "soup"}}, {"name": "Soup", "text": LONG})
    assert piece(kept, call="one", pointer="/name")["content"] == "Soup"
    first = piece(kept, call="one", pointer="/text")
    pages = [piece(kept, call="one", pointer="/text", page=str(number + 1)) for number in range(first["pages"])]
    assert len(pages) > 1
    assert "".join(page["content"] for page in pages) == LONG


def test_what_is_not_there_is_told_in_a_sentence() -> None:
    kept = FakeKept()
    kept.add("one", "get_dish", {"path": {"dish": "soup"}})
    kept.add("two", "no_longer_there", {})
    for given in ({"call": "three"}, {"call": "one"}, {"call": "one", "side": "request"}):
        assert asked(kept, "/debug/wire/body", thread="soup", **given).status_code == 404
    answer = asked(kept, "/debug/wire", thread="other")
    assert (answer.status_code, answer.json()) == (404, {"detail": "There is no such thread."})
    calls = asked(kept, "/debug/wire", thread="soup").json()["calls"]
    assert [call["request"] is None for call in calls] == [False, True]
