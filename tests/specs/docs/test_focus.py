"""Guards that documentation of deep schemas shows what a plan's words name, with its descriptions, in any budget."""

import time
from typing import Any

import pytest
from paths import operation_of

from restgpt.specs import Operation
from restgpt.specs.docs.documentation import documentation
from restgpt.specs.docs.focus import DESCRIBED, NAMED, PARTLY, VALUED, Focus
from restgpt.specs.docs.signature import signature

SUBJECTS = ("flows", "flow_runs", "task_runs", "deployments", "work_pools")
FIELDS = ("id", "name", "tags", "state", "start_time", "version", "parent", "queue", "owner", "created")


def of(**fields: Any) -> dict[str, Any]:
    return {"type": "object", "properties": fields}


def schemas() -> dict[str, Any]:
    """Return fifty filter types, five for each of ten fields, and the types of the subjects above them."""
    states = {"type": "string", "enum": ["PENDING", "RUNNING", "COMPLETED", "FAILED"]}
    any_ = {"type": "array", "description": "A list of state types to include.", "items": states}
    found = {"State": of(type=of(any_=any_))}
    for subject in SUBJECTS:
        stem = subject.title().replace("_", "")
        fields = {name: {"$ref": f"#/components/schemas/{stem}{name.title()}"} for name in FIELDS}
        if subject == "flow_runs":
            fields["state"] = {"$ref": "#/components/schemas/State"}
        found[stem] = of(**fields) | {"description": f"Filter {subject}."}
        for name in FIELDS:
            bounds = {
                f"{way}_": {"type": "string", "description": f"Keep the items whose {name} is {way} this value."}
                for way in ("any", "not_any", "before", "after", "like", "is_null")
            }
            found[f"{stem}{name.title()}"] = of(**bounds)
    return found


def filtering() -> Operation:
    fields: dict[str, Any] = {
        subject: {"$ref": f"#/components/schemas/{subject.title().replace('_', '')}"} for subject in SUBJECTS
    }
    fields["limit"] = {"type": "integer", "default": 200, "description": "How many to return."}
    content = {"application/json": {"schema": of(**fields)}}
    responses = {"200": {"content": content}}
    return operation_of({"requestBody": {"content": content}, "responses": responses}, "post", schemas=schemas())


PLAN = "Find the flow runs that failed: use flow_runs.state.type"


@pytest.mark.parametrize("budget", [600, 900, 1800])
def test_the_types_that_a_plan_names_are_documented_first(budget: int) -> None:
    text = documentation(filtering(), budget=budget, focus=PLAN)
    assert len(text) <= 4 * budget
    assert (
        "body  application/json  {flow_runs: {state: {type: {any_: ['PENDING'|'RUNNING'|'COMPLETED'|'FAILED']" in text
    )


def test_types_are_found_by_other_words_of_the_plan() -> None:
    text = documentation(filtering(), budget=700, focus="deployments whose owner is Ann")
    assert "body  application/json  {deployments: {owner: {any_: str, " in text
    assert ".owner.any_: Keep the items whose owner is any this value." in text


@pytest.mark.parametrize("budget", [80, 120, 200])
def test_a_signature_shows_the_deep_field_that_an_instruction_names(budget: int) -> None:
    text = signature(filtering(), "filter", budget=budget, focus="Which flow runs failed? Their state type says it")
    assert "flow_runs: {state: {type: {any_: ['PENDING'|'RUNNING'|'COMPLETED'|'FAILED']" in text
    assert len(text) <= 4 * budget + 10


def test_without_a_focus_the_nearest_fields_come_first_and_what_is_left_out_is_marked() -> None:
    text = documentation(filtering(), budget=900)
    assert "body  application/json  {flows: {id: {any_: str, " in text
    assert ", … 6 more: " in text
    assert len(text) <= 3600


SCORES = {"state": NAMED, "state_data": NAMED, "startTime": NAMED + 0.5, "expected_start_time": PARTLY}
SCORES |= {"total_count": NAMED + 0.5, "count": NAMED, "results": 0.0, "the": 0.0, "colour": 0.0}


@pytest.mark.parametrize(("name", "score"), SCORES.items())
def test_names_score_by_the_words_of_the_plan(name: str, score: float) -> None:
    assert Focus("The states of runs by start time, and their total count").score_of_name(name) == score


def test_enumerated_values_and_descriptions_score_too() -> None:
    focus = Focus("the failed runs")
    assert focus.score_of_values(["DONE", "FAILED"]) == VALUED
    assert focus.score_of_values(["DONE", 5, None]) == 0.0
    assert focus.score_of_description("All that failed.") == DESCRIBED
    assert focus.score_of_description("Nothing.") == 0.0
    assert not Focus("the id and the name of all")


def test_types_that_contain_one_another_are_scored_in_moderate_time() -> None:
    wide = {
        f"T{n}": {"type": "object", "properties": {f"f{m}": {"$ref": f"#/components/schemas/T{m}"} for m in range(40)}}
        for n in range(40)
    }
    body = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/T0"}}}}
    operation = operation_of({"requestBody": body}, "post", schemas=wide)
    began = time.process_time()
    text = documentation(operation, budget=600, focus="the f7 of f39")
    assert time.process_time() - began < 5
    assert "body  application/json  {f7: {f7: T7, f39: {" in text
    assert len(text) <= 2400
