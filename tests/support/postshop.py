"""A shop whose every operation is a POST: its document, and a server on loopback that notes each request."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from loopback import Handler, served

from restgpt.specs import Api, load_api

DOCUMENT = """
openapi: 3.1.0
info: {title: Corner Shop, version: "1"}
servers: [{url: "http://127.0.0.1:1"}]
paths:
  /users/find:
    post:
      operationId: find_user
      x-restgpt-effect: read
      summary: Find a user by email
      requestBody:
        required: true
        content: {application/json: {schema: {type: object, required: [email], properties: {email: {type: string}}}}}
      responses: {"200": {description: ok, content: {application/json: {schema: {}}}}, "404": {description: nobody}}
  /orders/search:
    post:
      operationId: search_orders
      x-restgpt-effect: read
      summary: Search orders
      requestBody: {required: true, content: {application/json: {schema: {$ref: "#/components/schemas/Wish"}}}}
      responses: {"200": {description: ok, content: {application/json: {schema: {$ref: "#/components/schemas/List"}}}}}
  /orders/cancel:
    post:
      operationId: cancel_order
      summary: Cancel an order
      requestBody:
        required: true
        content: {application/json: {schema: {type: object, required: [id], properties: {id: {type: integer}}}}}
      responses: {"200": {description: ok, content: {application/json: {schema: {}}}}}
components:
  schemas:
    Wish:
      type: object
      properties: {user_id: {type: integer}, limit: {type: integer, default: 2}, offset: {type: integer, default: 0}}
    List: {type: array, items: {type: object, properties: {id: {type: integer}, item: {type: string}}}}
"""
ORDERS = [
    {"id": number, "user_id": 7, "item": item} for number, item in enumerate(("tea", "cup", "pot", "tin", "jug"), 1)
]
USERS = {"ann@example.org": 7}


@dataclass
class PostShop:
    """A served shop: its API, the requests as `path body`, and the ids of the orders that were cancelled."""

    url: str
    requests: list[str] = field(default_factory=list)
    cancelled: list[int] = field(default_factory=list)
    failing: list[int] = field(default_factory=list)

    def api(self, document: str = DOCUMENT, *, entry: str | None = None) -> Api:
        return load_api(document, base_url=self.url, name="shop", entry=entry)

    def paths(self) -> list[str]:
        """The paths of the requests so far; they are forgotten then."""
        found = [request.partition(" ")[0] for request in self.requests]
        self.requests.clear()
        return found

    def answer(self, path: str, body: dict[str, Any]) -> tuple[int, Any]:
        self.requests.append(f"{path} {json.dumps(body, sort_keys=True)}")
        if self.failing:
            return self.failing.pop(0), {"error": "out of order"}
        if path == "/users/find":
            found = USERS.get(body["email"])
            return (200, {"user_id": found}) if found else (404, {"error": "nobody"})
        if path == "/orders/search":
            start = body.get("offset", 0)
            mine = [item for item in ORDERS if item["user_id"] == body.get("user_id", 7)]
            return 200, mine[start : start + body.get("limit", 2)]
        self.cancelled.append(body["id"])
        return 200, {"id": body["id"], "status": "cancelled"}


@contextmanager
def served_shop() -> Iterator[PostShop]:
    """Serve the shop until the block ends."""

    class Till(Handler):
        def do_POST(self) -> None:
            status, value = shop.answer(self.path, json.loads(self.body() or b"{}"))
            self.answer(value, status)

    with served(Till) as url:
        shop = PostShop(url)
        yield shop
