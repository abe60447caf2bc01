"""Runtime expressions: what they name, how values are put into texts, and how conditions compare."""

from typing import Any

import pytest

from restgpt.tools.sandbox.guest.expression import (
    ExpressionError,
    NotSupportedError,
    Scope,
    embedded,
    parse_condition,
    parse_expression,
)
from restgpt.tools.sandbox.guest.jsonpath import NOTHING
from restgpt.tools.sandbox.modules import given_modules


def a_scope(body: Any = None, status: int = 200) -> Scope:
    """What a step knows: some inputs, the outputs of a step, and an answer."""
    answer = {"status": status, "headers": {"x-rate": "9"}, "body": body}
    workflows = {"login": {"inputs": {}, "outputs": {"token": {"id": 5}}}}
    scope = Scope({"name": "Ada", "a.b": 1, "list": [1, 2]}, answer, workflows, lambda value: False)
    scope.steps["get-it"] = {"item": {"id": 7, "tags": ["x"]}}
    scope.outputs = {"total": 3}
    return scope


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("$statusCode", 200),
        ("$response.header.X-Rate", "9"),
        ("$response.header.Other", NOTHING),
        ("$response.body", {"a/b": [{"~": 1}]}),
        ("$response.body#/a~1b/0/~0", 1),
        ("$response.body['a/b'][0]", {"~": 1}),
        ("$response.body#/a~1b/1", NOTHING),
        ("$inputs.name", "Ada"),
        ("$inputs.a.b", 1),
        ("$inputs.list[1]", 2),
        ("$inputs.list#/0", 1),
        ("$inputs.none", NOTHING),
        ("$steps.get-it.outputs.item#/tags/0", "x"),
        ("$steps.get-it.outputs.item.id", 7),
        ("$steps.other.outputs.item", NOTHING),
        ("$workflows.login.outputs.token#/id", 5),
        ("$outputs.total", 3),
    ],
)
def test_an_expression_names_a_value(text: str, value: Any) -> None:
    assert a_scope({"a/b": [{"~": 1}]}).get(parse_expression(text)) == value


@pytest.mark.parametrize(
    "text", ["$url", "$method", "$request.body#/a", "$message.payload", "$sourceDescriptions.a.url"]
)
def test_what_programs_do_not_see_is_not_supported(text: str) -> None:
    with pytest.raises(NotSupportedError):
        parse_expression(text)


@pytest.mark.parametrize(
    "text",
    ["inputs.a", "$inputs", "$inputs.", "$steps.a.b", "$steps.a.outputs.", "$response.status", "$5", "$inputs.a#b"],
)
def test_a_text_that_is_no_expression_is_a_fault(text: str) -> None:
    with pytest.raises(ExpressionError, match="is no"):
        parse_expression(text)


@pytest.mark.parametrize(
    ("template", "value"),
    [
        ("$inputs.name", "Ada"),
        ("Hi {$inputs.name}, {$inputs.list}!", "Hi Ada, [1, 2]!"),
        ("{name} costs $5", "{name} costs $5"),
        ({"a": ["$inputs.list", "x"], "b": "$inputs.none"}, {"a": [[1, 2], "x"]}),
        (["$inputs.none"], [None]),
        ({"context": "$inputs.list", "selector": "$[0]", "type": "jsonpath"}, 1),
        ({"context": "$inputs.list", "selector": "$[*]", "type": "jsonpath"}, [1, 2]),
        ({"context": "$inputs.list", "selector": "/1", "type": "jsonpointer"}, 2),
    ],
)
def test_a_template_is_filled_in(template: Any, value: Any) -> None:
    assert a_scope().value(template) == value


def test_values_are_not_read_as_templates() -> None:
    scope = a_scope()
    scope.inputs = {"name": "$statusCode {$inputs.other}", "other": "x"}
    assert scope.value("$inputs.name") == "$statusCode {$inputs.other}"
    assert scope.value("a {$inputs.name}") == "a $statusCode {$inputs.other}"


def test_a_value_cannot_leave_its_place_in_a_path() -> None:
    scope = a_scope([{"name": "Ada"}, {"name": "' || true || '"}])
    scope.inputs = {"name": "' || true || '"}
    for quote in "'\"":
        criterion = {"context": "$response.body", "condition": f"$[?@.name == {quote}{{$inputs.name}}{quote}]"}
        assert scope.holds({**criterion, "type": "jsonpath"})
        scope.answer["body"] = [{"name": "Ada"}]  # type: ignore[index]
        assert not scope.holds({**criterion, "type": "jsonpath"})
        scope.answer["body"] = [{"name": "' || true || '"}]  # type: ignore[index]


@pytest.mark.parametrize(
    ("condition", "is_met"),
    [
        ("$statusCode == 200", True),
        ("$statusCode == '200'", True),
        ("$statusCode != 200", False),
        ("$response.body.name == 'ADA'", True),
        ("$response.body.name == 'It''s'", False),
        ("$response.body.none == null", True),
        ("$response.body.name != null", True),
        ("$response.body.none < 1", False),
        ("$response.body.count > '2'", True),
        ("$response.body.open", True),
        ("!$response.body.open", False),
        ("!($statusCode == 200 && $response.body.count < 2)", True),
        ("false || $response.body.items[0].id == 4", True),
        ("$response.body.name", True),
        ("$response.body.none", False),
        ("$response.body.open == 1", False),
    ],
)
def test_a_condition_compares_loosely(condition: str, is_met: bool) -> None:
    body = {"name": "Ada", "count": 3, "open": True, "items": [{"id": 4}]}
    assert a_scope(body).holds({"condition": condition}) is is_met


@pytest.mark.parametrize(
    "condition", ["", "1 +", "$statusCode =", "(1", "a == b", "1 2", "$statusCode == 'x", "(" * 60]
)
def test_a_broken_condition_is_a_fault(condition: str) -> None:
    with pytest.raises(ExpressionError):
        parse_condition(condition)


def test_only_expressions_in_braces_are_embedded() -> None:
    assert embedded("{$inputs.a} {b} {$5} ^2\\d{2}$ {$statusCode}") == ["$inputs.a", "$statusCode"]


def test_only_programs_that_use_them_get_these_modules() -> None:
    name = "restgpt.tools.sandbox.guest.arazzo"
    assert name in given_modules("arazzo(inputs, {}, 'a')", "replay", compiled=True)
    assert name not in given_modules("print(1)", "replay", compiled=True)
