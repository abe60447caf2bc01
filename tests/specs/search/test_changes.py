"""Guards that a change is found by what people say, although only a field of the body names it."""

from typing import Any

import pytest
from paths import api_of

from restgpt.specs import Api, Catalogue
from restgpt.specs.search.features import switched
from restgpt.specs.search.query import seeks_change


def operation(summary: str, fields: dict[str, Any] | None = None) -> dict[str, Any]:
    content = {"application/json": {"schema": {"type": "object", "properties": fields}}}
    body = {"requestBody": {"content": content}} if fields else {}
    return {"summary": summary, **body, "responses": {"200": {"description": "OK"}}}


@pytest.fixture(scope="module")
def works() -> Api:
    """Twenty kinds of things, each with a list, an item and a change."""
    paths: dict[str, Any] = {}
    for kind in ["engine", "valve", "pump", "motor", "sensor", "belt", "crane", "lift", "press", "drill"]:
        fields = {f"{kind}_size": {"type": "integer"}}
        if kind == "pump":
            fields |= {"note": {"type": "string"}, "is_disabled": {"type": "boolean"}}
        paths[f"/{kind}s"] = {"get": operation(f"List {kind}s")}
        paths[f"/{kind}s/{{{kind}_id}}"] = {
            "get": operation(f"Get a {kind}"),
            "patch": operation(f"Patch {kind}", fields),
            "delete": operation(f"Remove {kind}"),
        }
        paths[f"/{kind}s/{{{kind}_id}}/history"] = {"get": operation(f"Get {kind} history")}
        paths[f"/{kind}s/{{{kind}_id}}/parts"] = {"get": operation(f"Get {kind} parts")}
    return api_of(paths, title="Works")


@pytest.mark.parametrize(
    "text", ["Put a note on the pump 7 that it leaks.", "Switch pump 7 on.", "Pump 7 should be enabled again."]
)
def test_a_change_that_only_the_body_names_is_among_the_first(works: Api, text: str) -> None:
    found = [f"{item.method} {item.path}" for item in Catalogue([works]).search(text, 4)]
    assert "PATCH /pumps/{pump_id}" in found


def test_a_question_brings_no_change_to_the_head(works: Api) -> None:
    found = [item.method for item in Catalogue([works]).search("What happened to the pump 7?", 3)]
    assert found == ["GET", "GET", "GET"]


def test_a_truth_value_is_found_by_its_opposite() -> None:
    assert any("enable" in text for text in switched("is_disabled"))


@pytest.mark.parametrize(
    ("text", "change"),
    [
        *((text, True) for text in ("Hand it to Ana.", "What is on? Close it.", "The pump 7 should run.")),
        *((text, False) for text in ("Which pumps run?", "Please show me the pumps.", "Find all of 3.5 tons.", "")),
    ],
)
def test_an_order_seeks_a_change_and_a_question_does_not(text: str, change: bool) -> None:
    assert seeks_change(text) is change
