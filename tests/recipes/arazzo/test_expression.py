"""Runtime expressions: what they name, how values are put into texts, and how conditions compare."""

from typing import Any

import pytest

from restgpt.recipes.arazzo import flow
from restgpt.recipes.arazzo.document import Criterion, Workflow
from restgpt.recipes.arazzo.expression import (
    ExpressionError,
    NotSupportedError,
    condition_code,
    embedded,
    parse_expression,
)
from restgpt.recipes.arazzo.flow import NOTHING
from restgpt.recipes.arazzo.values import Values


class Known:
    """What a step knows, some inputs, the outputs of a step and an answer: evaluates code as a program does."""

    def __init__(self, body: Any = None, **inputs: Any) -> None:
        self.at = flow.At(inputs or {"name": "Ada", "a.b": 1, "list": [1, 2]})
        self.at.steps["get-it"] = {"item": {"id": 7, "tags": ["x"]}}
        self.at.outputs = {"total": 3}
        answer = {"status": 200, "headers": {"x-rate": "9"}, "body": body}
        results = {"login": {"inputs": {}, "outputs": {"token": {"id": 5}}}}
        self._names = {**vars(flow), "at": self.at, "answer": answer, "results": results}
        steps = [{"stepId": "get-it", "operationId": "get", "outputs": {"item": "$response.body"}}]
        workflow = Workflow.model_validate({"workflowId": "main", "steps": steps})
        self.values = Values(workflow, [*self.at.inputs, "none"], [])

    def evaluated(self, code: object) -> Any:
        assert self.values.faults == []
        return eval(str(code), self._names)

    def template(self, template: Any) -> Any:
        return self.evaluated(self.values.template(template, "/here"))

    def holds(self, condition: str, **parts: Any) -> bool:
        criterion = Criterion.model_validate({"condition": condition, **parts})
        found = self.evaluated(self.values.criterion(criterion, "/here"))
        assert isinstance(found, bool)
        return found


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
    assert Known({"a/b": [{"~": 1}]}).evaluated(parse_expression(text).code) == value


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
    assert Known().template(template) == value


def test_values_are_not_read_as_templates() -> None:
    known = Known(name="$statusCode {$inputs.other}", other="x")
    assert known.template("$inputs.name") == "$statusCode {$inputs.other}"
    assert known.template("a {$inputs.name}") == "a $statusCode {$inputs.other}"
    pointer = {"context": "$inputs.name", "selector": "/{$inputs.other}", "type": "jsonpointer"}
    assert Known(name={"a/b": 1}, other="a/b").template(pointer) == 1


def test_a_value_cannot_leave_its_place_in_a_path() -> None:
    forged = "' || true || '"
    for quote in ("'", '"', ""):
        condition = f"$[?@.name == {quote}{{$inputs.name}}{quote}]"
        path = {"context": "$response.body", "type": "jsonpath"}
        assert Known([{"name": "Ada"}, {"name": forged}], name=forged).holds(condition, **path)
        assert not Known([{"name": "Ada"}], name=forged).holds(condition, **path)


@pytest.mark.parametrize(
    ("condition", "given", "is_met"),
    [
        ("$[?@.id == {$inputs.name}]", 7, True),
        ("$[?@.id == {$inputs.name}]", "7", True),
        ("$[?@.id == '{$inputs.name}']", "7", False),
        ("$[{$inputs.name}].id", "0", True),
        ("$[{$inputs.name}].id", 1, False),
        ("$[0].{$inputs.name}", "id", True),
        ("$[0]['{$inputs.name}d']", "i", True),
        ("$[0][?@ == 'a{$inputs.name}']", "b", True),
    ],
)
def test_a_value_in_a_path_is_one_name_or_one_number(condition: str, given: Any, is_met: bool) -> None:
    known = Known([{"id": 7, "text": "ab"}], name=given)
    assert known.holds(condition, context="$response.body", type="jsonpath") is is_met


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
        ("$response.body.open >= true", False),
        ("$response.body.none <= null", False),
        ("-2", True),
        ("!-2", False),
    ],
)
def test_a_condition_compares_loosely(condition: str, is_met: bool) -> None:
    body = {"name": "Ada", "count": 3, "open": True, "items": [{"id": 4}]}
    assert Known(body).holds(condition) is is_met


@pytest.mark.parametrize(
    "condition", ["", "1 +", "$statusCode =", "(1", "a == b", "1 2", "$statusCode == 'x", "(" * 60, "!" * 60 + "true"]
)
def test_a_broken_condition_is_a_fault(condition: str) -> None:
    with pytest.raises(ExpressionError):
        condition_code(condition, lambda text: parse_expression(text).code)


def test_only_expressions_in_braces_are_embedded() -> None:
    assert embedded("{$inputs.a} {b} {$5} ^2\\d{2}$ {$statusCode}") == ["$inputs.a", "$statusCode"]
