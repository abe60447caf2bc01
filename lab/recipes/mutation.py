"""A mutation: one thing that is not as it was when a recipe was saved, in the document of an API or in its answers."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from restgpt_bench.worlds.exchange import Reply, Request

Document = dict[str, Any]
"""An OpenAPI document as plain JSON, which an edit changes in place."""


def unedited(document: Document) -> None:
    """Leave a document as it is."""


def unchanged_request(request: Request) -> Request:
    """Leave a request as it is."""
    return request


def unchanged_reply(reply: Reply) -> Reply:
    """Leave a reply as it is."""
    return reply


@dataclass(frozen=True, slots=True)
class Mutation:
    """A mutation of the API that one recipe uses.

    `operation` is the mutated operation as "METHOD /template", and `at` the place in it, which a sentence about it has
    to name. `edit` changes the document. The server agrees: the operation `is_gone`, or is served as `moved`
    ("METHOD /template") only; `incoming` translates its requests and raises `RefusalError` for those that the mutated
    server refuses; `outgoing` changes its replies. Mutations of one `group` differ in an order that says nothing: if
    one of them does harm, all of them do.
    """

    kind: str
    target: Literal["document", "answers"]
    recipe: str
    operation: str
    at: str = ""
    edit: Callable[[Document], None] = unedited
    is_gone: bool = False
    moved: str = ""
    incoming: Callable[[Request], Request] = unchanged_request
    outgoing: Callable[[Reply], Reply] = unchanged_reply
    group: str = ""
    thing: str = ""

    def __str__(self) -> str:
        return f"{self.recipe}: {self.kind}, {self.operation}{f' at {self.at}' if self.at else ''}"
