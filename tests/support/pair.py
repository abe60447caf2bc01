"""Two simulated APIs on loopback: one holds a customer's account, the other collects whatever is sent to it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command
from loopback import Handler, served
from scripted import ScriptedModel

from restgpt.graph.build import Graph, build_graph
from restgpt.nodes.run.services import Context, Services
from restgpt.specs import Api, load_api
from restgpt.tools.http.http_client import HttpClient
from restgpt.tools.settings import ApiEntry, Settings

SECRET = "DE89370400440532013000"
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
ITEMS = [{"id": 100 + number, "name": f"thing {number}", "state": "new"} for number in range(30)]
CUSTOMERS = [
    {"id": 7, "name": "Ada", "account": SECRET, "city": "Turin", "visits": 41, "item": 103},
    {"id": 8, "name": "Bea", "account": "FR1420041010050500013M02606", "city": "Lyon", "visits": 5, "item": 104},
]

CRM = {
    "/customers": {"get": {"operationId": "list_customers"}},
    "/customers/{customer}": {"get": {"operationId": "get_customer", "parameters": "path customer integer"}},
}
COLLECTOR = {
    "/items": {"get": {"operationId": "find_items", "parameters": "query q, query sort !name|date, query limit integer, query page integer, query since, query after, query tags []"}},  # noqa: E501
    "/items/{item}": {
        "get": {"operationId": "get_item", "parameters": "path item integer"},
        "delete": {"operationId": "delete_item", "parameters": "path item integer"},
    },
    "/drop/{what}": {
        "get": {"operationId": "get_drop", "parameters": "path what"},
        "put": {"operationId": "put_drop", "parameters": "path what", "body": {"note": {"type": "string"}}},
    },
    "/letters/{letter}": {"get": {"operationId": "get_letter", "parameters": f"path letter !{'|'.join(LETTERS)}"}},
    "/ping": {"get": {"operationId": "ping", "parameters": "header X-Note, cookie mark, query labels {}"}},
    "/notes": {
        "post": {
            "operationId": "add_note",
            "parameters": "header Idempotency-Key",
            "body": {"text": {"type": "string"}, "extra": {"type": "object"}, "marks": {"type": "array", "items": {}}},
        }
    },
    "/files": {
        "post": {
            "operationId": "add_file",
            "media": "multipart/form-data",
            "body": {"title": {"type": "string"}, "file": {"type": "string", "format": "binary"}},
        }
    },
}  # fmt: skip


def _parameter(text: str) -> dict[str, Any]:
    place, name, *kind = text.split()
    kind = kind or ["string"]
    schema: dict[str, Any] = {"type": kind[0]}
    if kind[0].startswith("!"):
        schema = {"type": "string", "enum": kind[0][1:].split("|")}
    elif kind[0] == "[]":
        schema = {"type": "array", "items": {"type": "string"}}
    elif kind[0] == "{}":
        schema = {"type": "object"}
    style = {"style": "deepObject", "explode": True} if kind[0] == "{}" else {}
    return {"in": place, "name": name, "required": place == "path", "schema": schema, **style}


def _operation(told: dict[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {
        "operationId": told["operationId"],
        "responses": {"200": {"description": "ok", "content": {"application/json": {"schema": {}}}}},
    }
    if listed := told.get("parameters"):
        made["parameters"] = [_parameter(item) for item in listed.split(", ")]
    if body := told.get("body"):
        media = told.get("media", "application/json")
        made["requestBody"] = {"content": {media: {"schema": {"type": "object", "properties": body}}}}
    return made


def document(title: str, paths: dict[str, Any]) -> dict[str, Any]:
    """The OpenAPI document of one of the APIs."""
    made = {path: {method: _operation(told) for method, told in item.items()} for path, item in paths.items()}
    return {"openapi": "3.1.0", "info": {"title": title, "version": "1"}, "paths": made}


def _crm(method: str, path: str, query: dict[str, list[str]]) -> Any:
    number = path.rpartition("/")[2]
    return next((item for item in CUSTOMERS if str(item["id"]) == number), CUSTOMERS)


def _collector(method: str, path: str, query: dict[str, list[str]]) -> Any:
    if path == "/items":
        page = int(query.get("page", ["1"])[0])
        found = {"items": ITEMS[(page - 1) * 12 : page * 12]}
        return {**found, "next": f"/items?page={page + 1}"} if page < 3 else found
    if path.startswith("/items/"):
        return next((item for item in ITEMS if str(item["id"]) == path.rpartition("/")[2]), {})
    return {"ok": True, "letters": list(LETTERS)} if path == "/ping" else {"ok": True}


@dataclass
class Pair:
    """The served APIs, and all requests that the collector got, as text."""

    crm: Api
    collector: Api
    log: list[str] = field(default_factory=list)

    @property
    def paths(self) -> list[str]:
        """Method and path of each request to the collector."""
        return [entry.partition(" HTTP")[0] for entry in self.log]

    def settings(self, sources: tuple[str, ...] = ()) -> Settings:
        """The settings with an entry of each API; `sources` is `from` of the collector's."""
        entries = {"crm": ApiEntry("crm", "-"), "collector": ApiEntry("collector", "-", sources=sources)}
        return Settings(apis=entries)

    def agent(self, model: ScriptedModel, *, sources: tuple[str, ...] = (), **context: Any) -> "PairAgent":
        """An agent with both APIs; `sources` is `from` of the collector's entry in apis.yaml."""
        settings = self.settings(sources)
        saver, store = InMemorySaver(), InMemoryStore()

        def build(apis: list[Api]) -> Graph:
            http = HttpClient(settings=settings)
            made = Services(apis, model=model, settings=settings, http=http, defaults=Context(**context))
            return build_graph(services=made, checkpointer=saver, store=store)

        return PairAgent(build([self.crm, self.collector]), build([self.collector]))


@dataclass
class PairAgent:
    """A graph with a thread of its own, and one with the collector alone on the same thread."""

    graph: Graph
    alone: Graph

    config: Any = field(default_factory=lambda: {"configurable": {"thread_id": "thread"}})

    def ask(self, instruction: str, **context: Any) -> dict[str, Any]:
        return self.graph.invoke({"instruction": instruction}, self.config, context=context or None)  # type: ignore[return-value,arg-type]

    def answer(self, *decisions: Any) -> dict[str, Any]:
        told = [{"type": item} if isinstance(item, str) else item for item in decisions]
        return self.graph.invoke(Command(resume={"decisions": told}), self.config)  # type: ignore[return-value]

    @property
    def state(self) -> dict[str, Any]:
        return self.graph.get_state(self.config).values


@contextmanager
def served_pair() -> Iterator[Pair]:
    """Serve both APIs."""
    log: list[str] = []
    with _served(_crm, []) as crm, _served(_collector, log) as collector:
        yield Pair(
            load_api(document("Customers", CRM), base_url=crm, name="crm", entry="crm"),
            load_api(document("Collector", COLLECTOR), base_url=collector, name="collector", entry="collector"),
            log,
        )


@contextmanager
def _served(answer: Any, log: list[str]) -> Iterator[str]:
    class Logging(Handler):
        def do_GET(self) -> None:
            log.append(f"{self.requestline}\n{self.headers}\n{self.body().decode('utf-8', 'replace')}")
            parts = urlsplit(self.path)
            self.answer(answer(self.command, parts.path, parse_qs(parts.query)))

        do_POST = do_PUT = do_DELETE = do_GET

    with served(Logging) as url:
        yield url
