"""Stand-ins for `restgpt.host` until it is merged."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from restgpt.calling.recipes.recipe import Recipe
from restgpt.client import Client
from restgpt.outcome import Called
from restgpt.specs import Api, Catalogue, Operation
from restgpt.specs.docs.documentation import documentation

TEMPLATE = "restgpt://result/{handle}{?pointer,page}"


@dataclass(frozen=True, slots=True)
class Definition:
    """A stand-in."""

    name: str
    description: str
    input_schema: dict[str, Any]
    read_only: bool = True
    destructive: bool = False
    idempotent: bool = True
    open_world: bool = True


def _object(required: Sequence[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}


TEXT = {"type": "string"}


def definitions(apis: Sequence[Api], *, has_model: bool = False, recipes: Sequence[Recipe] = ()) -> list[Definition]:
    """Stand in."""
    names = ", ".join(api.name for api in apis)
    worst = {"read_only": False, "destructive": True, "idempotent": False}
    found = [
        Definition(
            "find_operations", f"Find operations of {names}.", _object(["query"], query=TEXT, limit={"type": "integer"})
        ),
        Definition("describe_operation", "Describe an operation.", _object(["operation"], operation=TEXT)),
        Definition(
            "call_operation",
            "Call an operation; a change is asked about first.",
            _object(["operation"], operation=TEXT, arguments={"type": "object"}, pages={"type": "integer"}),
            **worst,
        ),
        Definition("run_program", "Run a Python program over the operations.", _object(["code"], code=TEXT), **worst),
        Definition(
            "read_result",
            "Read more of a result.",
            _object(["handle"], handle=TEXT, pointer=TEXT, page={"type": "integer"}),
        ),
        Definition("pending", "What waits for a person.", _object([], handle=TEXT), open_world=False),
        Definition("undo", "Reverse a change.", _object(["handle"], handle=TEXT), **worst),
    ]
    if has_model:
        found.append(
            Definition("ask", "Give the agent an instruction.", _object(["instruction"], instruction=TEXT), **worst)
        )
    for recipe in recipes:
        found.append(Definition(recipe.name.replace("-", "_"), recipe.description, dict(recipe.inputs), **worst))
    return found


def direct_definitions(catalogue: Catalogue, operations: Sequence[Operation]) -> list[Definition]:
    """Stand in."""
    return [
        Definition(
            catalogue.function_name(operation),
            operation.summary,
            _object([], **{place: {"type": "object"} for place in ("path", "query", "header", "cookie")}, body={}),
            read_only=operation.is_safe,
            destructive=not operation.is_safe,
        )
        for operation in operations
    ]


def found_text(catalogue: Any, query: str, limit: int = 10) -> str:
    """Stand in."""
    return "\n".join(
        f"{catalogue.name_of(item)}: {item.method} {item.path} {item.summary}"
        for item in catalogue.search(query, limit)
    )


def described_text(catalogue: Any, names: Sequence[str]) -> str:
    """Stand in."""
    return "\n\n".join(documentation(catalogue.operation(name), budget=1500) for name in names)


@dataclass(frozen=True, slots=True)
class Preview:
    """A stand-in."""

    text: str
    is_whole: bool = True


def preview(called: Called, *, budget: int = 1000, handle: str = "") -> Preview:
    """Stand in."""
    value = called.value
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=repr)
    return Preview(f"{called.status}\n{text[: budget * 4]}", len(text) <= budget * 4)


@dataclass(frozen=True, slots=True)
class Page:
    """A stand-in."""

    text: str
    mime_type: str = "application/json"


def read(client: Client, handle: str, pointer: str = "", page: int = 1) -> Page:
    """Stand in."""
    body = client._run("").session.responses.open(handle)
    return Page(json.dumps(body.value, ensure_ascii=False)[:8000])


def result_uri(handle: str) -> str:
    """Stand in."""
    return f"restgpt://result/{handle}"


def parse_uri(uri: str) -> tuple[str, str, int]:
    """Stand in."""
    return uri.removeprefix("restgpt://result/").partition("?")[0], "", 1


def arguments_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """Stand in."""
    return dict(given)
