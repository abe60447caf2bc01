"""A server that demands more than its document says, and the document; its refusals hold whatever a test gives."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from loopback import Handler, served

DOCUMENT = """
openapi: 3.1.0
info: {title: Depot, version: "1"}
servers: [{url: "http://127.0.0.1:1"}]
paths:
  /orders:
    get:
      operationId: list_orders
      summary: List orders
      parameters:
        - {name: region, in: query, schema: {type: string}}
        - {name: sort, in: query, schema: {type: string, enum: [oldest, newest]}}
        - {name: X-Trace, in: header, schema: {type: string}}
      responses: {"200": {description: ok, content: {application/json: {schema: {$ref: "#/components/schemas/Count"}}}}}
    post:
      operationId: place_order
      summary: Place an order
      requestBody: {required: true, content: {application/json: {schema: {$ref: "#/components/schemas/Order"}}}}
      responses: {"201": {description: ok, content: {application/json: {schema: {$ref: "#/components/schemas/Made"}}}}}
components:
  schemas:
    Count: {type: object, properties: {count: {type: integer}}}
    Contact: {type: object, properties: {phone: {type: string}, email: {type: string}}}
    Order:
      type: object
      required: [item]
      additionalProperties: true
      properties: {item: {type: string}, contact: {$ref: "#/components/schemas/Contact"}}
    Made: {type: object, properties: {id: {type: integer}}}
"""


@dataclass
class LyingServer:
    """Requires `region` and refuses `sort=oldest` of its list; requires `contact.phone` of an order."""

    url: str = ""
    refusal: Any = field(default_factory=lambda: {"error": "no"})
    requests: list[str] = field(default_factory=list)

    def answer(self, method: str, target: str, body: Any) -> tuple[int, Any]:
        query = parse_qs(urlsplit(target).query)
        if method == "GET":
            refused = "region" not in query or query.get("sort") == ["oldest"]
        else:
            refused = "phone" not in body.get("contact", {})
        status = 422 if refused else 200 if method == "GET" else 201
        self.requests.append(f"{method} {target} {status}")
        return status, self.refusal if refused else {"count": 3} if method == "GET" else {"id": 5}


@contextmanager
def served_lies() -> Iterator[LyingServer]:
    """Serve one on loopback."""

    class Depot(Handler):
        def do_POST(self) -> None:
            status, answer = lying.answer(self.command, self.path, json.loads(self.body() or b"null"))
            self.answer(answer, status)

        do_GET = do_POST

    with served(Depot) as url:
        lying = LyingServer(url)
        yield lying
