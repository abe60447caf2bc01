"""Guards parameters that repeat the sign-in: they are neither shown nor required, and sent only if they are given."""

from typing import Any

import pytest
from paths import api_of

from restgpt.specs import Operation
from restgpt.specs.docs.documentation import documentation
from restgpt.specs.docs.example import minimal_arguments
from restgpt.specs.docs.function_arguments import arguments_of, arguments_schema
from restgpt.specs.docs.signature import signature
from restgpt.tools.request.prepared_request import build_request

OAUTH = {"type": "oauth2", "flows": {}}
KEY = {"type": "apiKey", "in": "header", "name": "X-Ferry-Key"}


def ferry(name: str, text: str, scheme: dict[str, Any] = OAUTH, place: str = "query", **more: Any) -> Operation:
    """A crossing that needs a parameter of this name and description, in an API with a security scheme."""
    parameter = {"name": name, "in": place, "required": True, "description": text, "schema": {"type": "string"}}
    harbour = {"name": "harbour", "in": "query", "required": True, "schema": {"type": "string"}}
    operation = {"operationId": "cross", "parameters": [parameter, harbour], "responses": {}, "security": [{"s": []}]}
    api = api_of({"/cross": {"get": {**operation, **more}}}, schemes={"s": scheme}, base_url="http://localhost")
    return api.operation("cross")


@pytest.mark.parametrize("place", ["query", "header"])
def test_a_token_for_authentication_is_neither_shown_nor_required(place: str) -> None:
    operation = ferry("token", "Authentication token. Requires scope: `ferry:read`", place=place)
    assert signature(operation, "cross", budget=80).startswith("cross(harbour*: str) -> ")
    assert "token" not in documentation(operation)
    assert list(arguments_schema(operation)["properties"]) == ["query"]
    assert list(arguments_schema(operation)["properties"]["query"]["properties"]) == ["harbour"]
    assert "token" not in str(minimal_arguments(operation))
    assert arguments_of(operation, {"harbour": "Oban"}) == {"query": {"harbour": "Oban"}}


def test_a_token_that_is_given_is_sent() -> None:
    operation = ferry("token", "Authentication token.")
    arguments = arguments_of(operation, {"harbour": "Oban", "token": "of-another"})
    assert "token=of-another" in build_request(operation, arguments).url


def test_a_parameter_with_the_name_of_the_api_key_repeats_it_in_another_place() -> None:
    assert "Ferry" not in signature(ferry("x-ferry-key", "", KEY), "cross", budget=80)


@pytest.mark.parametrize(
    ("name", "text", "more"),
    [
        ("token", "The page to go on from.", {}),
        ("token", "The authentication token to revoke.", {}),
        ("ticket", "Authentication token.", {}),
        ("token", "Authentication token.", {"security": []}),
    ],
)
def test_a_parameter_that_may_be_something_else_stays_required(name: str, text: str, more: dict[str, Any]) -> None:
    assert f"{name}*: str" in signature(ferry(name, text, **more), "cross", budget=80)
