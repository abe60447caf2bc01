"""Guards how a finished run becomes a recipe: what is an input, what is refused, and where values come from."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from paths import api_of

from restgpt.nodes.saved_run import FinishedCall, FinishedRun, NotSavableError, saved
from restgpt.recipes.recipe import Recipe
from restgpt.specs.docs.function_arguments import arguments_of
from restgpt.tools.sandbox.result import Entry
from restgpt.tools.sandbox.runner import run_program
from restgpt.tools.text.redaction import Redactor

KEY = {"name": "item_id", "in": "path", "required": True, "schema": {"type": "string"}}
SEARCH: list[dict[str, Any]] = [
    {"name": "query", "in": "query", "schema": {"type": "string"}},
    {"name": "limit", "in": "query", "schema": {"type": "integer"}},
    {"name": "password", "in": "query", "schema": {"type": "string"}},
]
API = api_of(
    {
        "/items": {"get": {"operationId": "find_items", "parameters": SEARCH}},
        "/items/{item_id}": {
            "get": {"operationId": "get_item", "parameters": [KEY]},
            "delete": {"operationId": "delete_item", "parameters": [KEY]},
        },
    },
    title="Things",
)
ITEMS = [
    {"id": "a-1", "name": "Red Lamp", "owner": "Ada", "price": 30},
    {"id": "b-2", "name": "Blue Lamp", "owner": "Grace", "price": 20},
    {"id": "c-3", "name": "Old Chair", "owner": "Ada", "price": 50},
]
ANSWERS: Mapping[str, Any] = {"find_items": {"items": ITEMS}, "get_item": {**ITEMS[0], "weight": 7}, "delete_item": {}}


def finished(code: str, said: str, **more: Any) -> FinishedRun:
    """Run a program to its end, and return it with its calls."""
    calls: dict[str, FinishedCall] = {}
    while True:
        entries = [call.entry for call in calls.values()]
        run = run_program(code, functions=list(ANSWERS), entries=entries, clock=0.0, seed="", most=100)
        if run.kind != "calls":
            assert run.kind == "finished", run.problem
            made = tuple(calls[key] for key in sorted(calls, key=lambda key: list(map(int, key.split(".")))))
            return FinishedRun(code, 0.0, "", made, said, said, **more)
        for wanted in run.calls:
            operation, body = API.operation(wanted.function), ANSWERS[wanted.function]
            arguments = arguments_of(operation, dict(wanted.keywords), wanted.positional)
            is_change = wanted.function == "delete_item"
            raw = json.dumps(body).encode()
            entry = Entry(wanted.position, wanted.position, wanted.digest, "answer", 200, {}, "json", raw)
            calls[wanted.position] = FinishedCall(wanted.function, arguments, is_change, operation, entry)


def recipe_of(code: str, said: str, **more: Any) -> Recipe:
    return saved(finished(code, said, **more), name="things", at="2024-01-01T00:00:00+00:00")


def test_the_text_of_an_input_in_the_report_follows_the_input() -> None:
    recipe = recipe_of(
        'found = find_items(query="Lamp", limit=12)["items"]\nprint(f"Of 12 for Lamp: {len(found)}")', "Find 12 of Lamp"
    )
    assert recipe.examples == {"query": "Lamp", "limit": 12}
    assert recipe.program == (
        "found = find_items(query=inputs['query'], limit=inputs['limit'])['items']\n"
        "print(f\"Of {inputs['limit']} for {inputs['query']}: {len(found)}\")\n"
    )
    assert recipe.inputs["required"] == ["query", "limit"]


def test_a_name_by_which_the_program_chooses_is_an_input_though_it_is_no_argument() -> None:
    code = 'items = find_items()["items"]\nprint(sum(item["owner"] == "Ada" for item in items), "things of Ada")'
    recipe = recipe_of(code, "How many things has Ada?")
    assert recipe.examples == {"owner": "Ada"}
    assert "== inputs['owner']" in recipe.program


def test_a_name_that_only_the_report_contains_is_no_input() -> None:
    code = 'print("For Konrad:", find_items()["items"][0]["name"])'
    recipe = recipe_of(code, "Tell Konrad the first thing")
    assert recipe.examples == {}
    assert recipe.program == code


@pytest.mark.parametrize(
    ("item_id", "seen", "why"),
    [("zz-9", (), "which stands neither"), ("a-1", ({"items": ITEMS},), "which a model copied")],
)
def test_an_id_from_nowhere_or_from_an_earlier_answer_is_refused(item_id: str, seen: tuple[Any, ...], why: str) -> None:
    with pytest.raises(NotSavableError, match=f"has {item_id} for the argument item_id of get_item, {why}"):
        recipe_of(f'print(get_item(item_id="{item_id}")["weight"])', "How heavy is the Red Lamp?", seen=seen)


def test_an_id_in_the_notes_of_the_user_may_stay_a_constant() -> None:
    recipe = recipe_of('print(get_item(item_id="a-1")["weight"])', "How heavy is my lamp?", notes="My lamp is a-1.")
    assert recipe.examples == {}
    assert 'item_id="a-1"' in recipe.program


@pytest.mark.parametrize(
    "code",
    [
        'items = find_items(query="Lamp")["items"]\nget_item(item_id=items[0]["id"])\nprint("It is the Red Lamp.")',
        'find_items(query="Lamp")\nprint("Red" + " Lamp")',
        'item = one(find_items(query="Lamp")["items"], name="Red Lamp")\nprint("Ada owns it.")',
    ],
    ids=["a text", "a computed text", "after a lookup"],
)
def test_a_report_that_no_answer_can_change_is_refused(code: str) -> None:
    with pytest.raises(NotSavableError, match="depends on no response"):
        recipe_of(code, "Which is the Red Lamp?")


@pytest.mark.parametrize(
    "report",
    ['len(items), "things"', 'items[0]["name"]', '"some" if items else "none"', 'max(item["price"] for item in items)'],
)
def test_a_report_that_an_answer_can_change_is_saved(report: str) -> None:
    recipe = recipe_of(f'items = find_items(query="Lamp")["items"]\nprint({report})', "Which is the Lamp?")
    assert recipe.examples == {"query": "Lamp"}


def test_a_program_that_does_not_end_over_its_own_answers_is_refused() -> None:
    run = finished('print(find_items(query="Lamp")["items"][0]["name"])', "Find the Lamp")
    other = FinishedRun("print(get_item(item_id='a-1'))", 0.0, "", run.calls, "a-1", "a-1")
    with pytest.raises(NotSavableError, match="does not end as it did"):
        saved(other, name="things", at="")


def test_a_known_secret_in_the_program_is_refused_and_one_in_the_instruction_is_hidden() -> None:
    run = finished('print(find_items(query="Lamp")["items"][0]["name"])', "Find the Lamp with hunter22")
    assert "hunter22" not in json.dumps(saved(run, name="things", at="", redactor=Redactor(["hunter22"])).to_json())
    described = saved(run, name="things", at="", description="Uses hunter22", redactor=Redactor(["hunter22"]))
    assert "hunter22" not in json.dumps(described.to_json())
    bad = finished('print(find_items(query="hunter22")["items"][0]["name"])', "Find hunter22")
    with pytest.raises(NotSavableError, match="secrets never reach a recipe"):
        saved(bad, name="things", at="", redactor=Redactor(["hunter22"]))


def test_an_input_with_the_name_of_a_secret_is_saved_without_its_value() -> None:
    code = 'print(find_items(query="Lamp", password="opensesame")["items"][0]["name"])'
    recipe = recipe_of(code, "Find the Lamp with the password opensesame")
    assert "password" in recipe.inputs["required"]
    assert recipe.examples == {"query": "Lamp"}
    assert "opensesame" not in json.dumps(recipe.to_json())


def test_the_recipe_names_its_api_and_has_a_key_of_each_operation() -> None:
    recipe = recipe_of('print(find_items(query="Lamp")["items"][0]["name"])', "Find the Lamp")
    assert [(api.name, api.title, api.version) for api in recipe.apis] == [("things", "Things", "1")]
    assert [item.key for item in recipe.operations] == [API.operation("find_items").digest]
