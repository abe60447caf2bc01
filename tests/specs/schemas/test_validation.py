"""Guards that patterns of documents are judged by as far as that ends, and that nothing else is refused for them."""

from typing import Any

import pytest
from paths import operation_of

from restgpt.specs import Operation
from restgpt.specs.schemas.validation import first_fault, is_found, is_quick
from restgpt.tools.errors import ArgumentError
from restgpt.tools.request.prepared_request import build_request

ENDLESS = ("^(a+)+$", "(a|a)*$", "(a|aa)+$", r"^(\w*)*$", "(a+a+)+b", "^(?:a?){40}$", "^(?=(a+)+$)", r"\w*\w*\w*\w*!$")


def taking(schema: dict[str, Any]) -> Operation:
    body = {"required": True, "content": {"application/json": {"schema": schema}}}
    return operation_of({"requestBody": body}, "post", base_url="https://api.example.com")


@pytest.mark.parametrize("pattern", ENDLESS)
def test_a_pattern_that_may_take_for_ever_is_not_tried(pattern: str) -> None:
    value = "a" * 5000 + "?"
    assert is_found(pattern, value) is None
    assert first_fault(value, {"pattern": pattern}) == ""
    schema = {"type": "string", "pattern": pattern, "example": value}
    assert build_request(taking(schema), {"body": value}).body
    assert taking(schema).problems == ()


@pytest.mark.parametrize(
    ("pattern", "good", "bad"),
    [
        ("^[a-z]+-[a-z]+-[0-9]+$", "eu-west-1", "eu-west-x"),
        (r"^[^@]+@[^@]+\.[^@]+$", "a@example.com", "a.example.com"),
        (r"^\d{4}-\d{2}-\d{2}(T\d\d:\d\d(\.\d+)?Z)?$", "2024-01-31T12:00Z", "2024-01-31 12:00"),
        ("^(asc|desc)$", "asc", "up"),
        (r"^[\w.-]{1,25}$", "x" * 25, "x" * 26),
        ("^([a-z]{2}(-[A-Z]{2})?)$", "en-GB", "en-gb"),
    ],
)
def test_ordinary_patterns_are_judged_by(pattern: str, good: str, bad: str) -> None:
    operation = taking({"type": "string", "pattern": pattern})
    assert build_request(operation, {"body": good}).body
    with pytest.raises(ArgumentError, match="does not match"):
        build_request(operation, {"body": bad})


def test_a_short_text_is_judged_by_more_patterns_than_a_long_one() -> None:
    assert is_quick("a*a*b", 50)
    assert not is_quick("a*a*b", 5000)


def test_names_that_an_untried_pattern_may_mean_are_not_refused() -> None:
    closed = {"type": "object", "patternProperties": {"^(a+)+$": {"type": "integer"}}, "additionalProperties": False}
    assert build_request(taking(closed), {"body": {"a" * 5000 + "?": 1}}).body
    quick = {**closed, "patternProperties": {"^x-": {}}}
    with pytest.raises(ArgumentError, match="is unknown"):
        build_request(taking(quick), {"body": {"y": 1}})
