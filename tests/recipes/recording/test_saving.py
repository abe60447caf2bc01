"""Guards how a finished run becomes a recipe: what is an input, what is refused, and where values come from."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from restgpt.recipes.recipe import Recipe
from restgpt.recipes.recording.finished import FinishedCall, FinishedRun, NotSavableError
from restgpt.recipes.recording.saving import saved
from restgpt.recipes.recording.variation import given_by
from restgpt.recipes.sent import Sent
from restgpt.specs import load_api
from restgpt.tools.sandbox.program import Entry, run_program
from restgpt.tools.text.redaction import Redactor

KEY = {"name": "item_id", "in": "path", "required": True, "schema": {"type": "string"}}
SEARCH: list[dict[str, Any]] = [
    {"name": "query", "in": "query", "schema": {"type": "string"}},
    {"name": "limit", "in": "query", "schema": {"type": "integer"}},
    {"name": "password", "in": "query", "schema": {"type": "string"}},
]
API = load_api(
    {
        "openapi": "3.1.0",
        "info": {"title": "Things", "version": "7"},
        "servers": [{"url": "https://things.example"}],
        "paths": {
            "/items": {"get": {"operationId": "find_items", "parameters": SEARCH, "responses": {}}},
            "/table": {"get": {"operationId": "get_table", "responses": {}}},
            "/items/{item_id}": {
                "get": {"operationId": "get_item", "parameters": [KEY], "responses": {}},
                "delete": {"operationId": "delete_item", "parameters": [KEY], "responses": {}},
            },
        },
    }
)
ITEMS = [
    {"id": "a-1", "name": "Red Lamp", "owner": "Ada", "price": 30},
    {"id": "b-2", "name": "Blue Lamp", "owner": "Grace", "price": 20},
    {"id": "c-3", "name": "Old Chair", "owner": "Ada", "price": 50},
]
ANSWERS: Mapping[str, Any] = {"find_items": {"items": ITEMS}, "get_item": {**ITEMS[0], "weight": 7}, "delete_item": {}}
ANSWERS = {**ANSWERS, "get_table": {f"field {number}": number for number in range(3000)}}


def finished(code: str, said: str, **more: Any) -> FinishedRun:
    """Run a program to its end, and return it with its calls."""
    calls: dict[str, FinishedCall] = {}
    while True:
        entries = [call.entry for call in calls.values()]
        run = run_program(code, functions=list(ANSWERS), entries=entries, clock=0.0, seed="", most=100)
        if run.kind != "calls":
            assert run.kind == "finished", run.problem
            made = tuple(sorted(calls.values(), key=lambda call: list(map(int, call.sent.position.split(".")))))
            return FinishedRun(code, 0.0, "", made, said, said, **more)
        for wanted in run.calls:
            operation, body = API.operation(wanted.function), ANSWERS[wanted.function]
            arguments = given_by(operation, wanted)
            is_change = wanted.function == "delete_item"
            sent = Sent(wanted.function, arguments, wanted.position, wanted.line, is_change, 200, body)
            raw = json.dumps(body).encode()
            entry = Entry(wanted.position, wanted.position, wanted.digest, "answer", 200, {}, "json", raw)
            calls[wanted.position] = FinishedCall(sent, operation, entry)


def recipe_of(code: str, said: str, **more: Any) -> Recipe:
    return saved(finished(code, said, **more), name="things", at="2024-01-01T00:00:00+00:00")


def test_the_text_of_an_input_in_the_report_follows_the_input() -> None:
    recipe = recipe_of(
        'found = find_items(query="Lamp", limit=12)["items"]\nprint(f"Of 12 for Lamp: {len(found)}")', "Find 12 of Lamp"
    )
    assert recipe.examples == {"query": "Lamp", "limit": 12}
    assert recipe.program == (
        'found = find_items(query=inputs["query"], limit=inputs["limit"])["items"]\n'
        "print(f\"Of {inputs['limit']} for {inputs['query']}: {len(found)}\")"
    )
    assert recipe.inputs["required"] == ["query", "limit"]


def test_a_name_by_which_the_program_chooses_is_an_input_though_it_is_no_argument() -> None:
    code = 'items = find_items()["items"]\nprint(sum(item["owner"] == "Ada" for item in items), "things of Ada")'
    recipe = recipe_of(code, "How many things has Ada?")
    assert recipe.examples == {"item_owner": "Ada"}
    assert '== inputs["item_owner"]' in recipe.program


def test_a_name_that_only_the_report_contains_is_no_input() -> None:
    code = 'print("For Konrad:", find_items()["items"][0]["name"])'
    recipe = recipe_of(code, "Tell Konrad the first thing")
    assert recipe.examples == {}
    assert recipe.program == code


def test_an_id_that_stands_nowhere_is_refused() -> None:
    with pytest.raises(NotSavableError, match="the item_id zz-9, which stands neither in the instruction nor"):
        recipe_of('print(get_item(item_id="zz-9")["name"])', "What is it called?")


def test_a_value_that_a_model_copied_from_an_earlier_answer_is_refused() -> None:
    code = 'print(get_item(item_id="a-1")["weight"])'
    with pytest.raises(NotSavableError, match="has a-1 for the argument item_id of get_item, which a model copied"):
        recipe_of(code, "How heavy is the Red Lamp?", seen=({"items": ITEMS},))


def test_an_id_in_the_notes_of_the_user_may_stay_a_constant() -> None:
    recipe = recipe_of('print(get_item(item_id="a-1")["weight"])', "How heavy is my lamp?", notes="My lamp is a-1.")
    assert recipe.examples == {}
    assert recipe.calls[0].arguments["/path/item_id"].value == "a-1"


@pytest.mark.parametrize(
    "report",
    ['"It is the Red Lamp."', '"Red" + " Lamp"', "str(len(items) and 3)"],
    ids=["a text", "a computed text", "a count that is none"],
)
def test_a_report_that_no_answer_can_change_is_refused(report: str) -> None:
    code = f'items = find_items(query="Lamp")["items"]\nget_item(item_id=items[0]["id"])\nprint({report})'
    with pytest.raises(NotSavableError, match="depends on no answer"):
        recipe_of(code, "Which is the Lamp?")


@pytest.mark.parametrize(
    "report",
    ['len(items), "things"', 'items[0]["name"]', '"some" if items else "none"', 'max(item["price"] for item in items)'],
)
def test_a_report_that_an_answer_can_change_is_saved(report: str) -> None:
    recipe = recipe_of(f'items = find_items(query="Lamp")["items"]\nprint({report})', "Which is the Lamp?")
    assert recipe.examples == {"query": "Lamp"}


def test_a_value_that_is_taken_by_its_place_makes_a_linear_recipe_and_one_that_is_chosen_does_not() -> None:
    by_place = 'items = find_items(query="Lamp")["items"]\nprint(get_item(item_id=items[0]["id"])["weight"])'
    by_name = 'item = one(find_items(query="Lamp"), name="Red Lamp")\nprint(get_item(item_id=item["id"])["weight"])'
    said = "How heavy is the first Lamp, Red Lamp?"
    assert recipe_of(by_place, said).is_linear
    assert not recipe_of(by_name, said).is_linear


def test_the_sources_name_the_call_and_the_place_of_a_value() -> None:
    code = 'items = find_items(query="Lamp", limit=5)["items"]\nprint(get_item(item_id=items[1]["id"])["weight"])'
    first, second = recipe_of(code, "How heavy is the second Lamp?").calls
    assert (first.arguments["/query/query"].input, first.arguments["/query/limit"].value) == ("query", 5)
    assert (second.arguments["/path/item_id"].call, second.arguments["/path/item_id"].at) == (1, "/items/1/id")


def test_a_computed_argument_has_no_source() -> None:
    code = 'items = find_items(query="Lamp")["items"]\nprint(get_item(item_id=items[0]["id"] + "x")["weight"])'
    recipe = recipe_of(code, "How heavy is the Lamp?")
    assert recipe.calls[1].arguments["/path/item_id"].model_dump(exclude_defaults=True) == {}
    assert not recipe.is_linear


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
    with pytest.raises(NotSavableError, match="secrets never reach a recipe"):
        saved(run, name="things", at="", redactor=Redactor(["/items/*/name"]))
    bad = finished('print(find_items(query="hunter22")["items"][0]["name"])', "Find hunter22")
    with pytest.raises(NotSavableError, match="secrets never reach a recipe"):
        saved(bad, name="things", at="", redactor=Redactor(["hunter22"]))


def test_an_input_with_the_name_of_a_secret_is_saved_without_its_value() -> None:
    code = 'print(find_items(query="Lamp", password="opensesame")["items"][0]["name"])'
    recipe = recipe_of(code, "Find the Lamp with the password opensesame")
    assert "password" in recipe.inputs["required"]
    assert recipe.examples == {"query": "Lamp"}
    assert "opensesame" not in json.dumps(recipe.to_json())


def test_the_recipe_names_its_api_and_what_was_read() -> None:
    recipe = recipe_of('print(find_items(query="Lamp")["items"][0]["name"])', "Find the Lamp")
    assert [(api.name, api.title, api.version) for api in recipe.apis] == [("things", "Things", "7")]
    assert recipe.operations[0].reads["/items/*/name"] == ("string",)


def test_a_program_whose_reads_cannot_all_be_told_is_not_saved() -> None:
    code = "table = get_table()\nprint(sum(table[f'field {number}'] for number in range(3000)))"
    with pytest.raises(NotSavableError, match="so many different fields"):
        saved(finished(code, "Sum up the table."), name="sum", at="2024-05-01")


@pytest.mark.parametrize(
    "code",
    [
        "one, two = get_item(item_id='a-1'), get_item(item_id='b-2')\n"
        "print('Red Lamp' if one['price'] > find_items(query='Lamp')['items'][1]['price'] else 'Blue Lamp')",
        "names = [item['name'] for item in find_items(query='Lamp')['items']]\n"
        "print('Yes' if 'Red Lamp' in names else 'No')",
        "print(next(item['owner'] for item in find_items(query='Lamp')['items'] if item['price'] == 30))",
    ],
)
def test_a_report_that_chooses_by_answers_depends_on_them(code: str) -> None:
    recipe = saved(finished(code, "Look at the items a-1 and b-2, Lamp."), name="compare", at="2024-05-01")
    assert "print" in recipe.program


def test_a_report_that_a_lookup_does_not_decide_is_still_refused() -> None:
    code = "item = one(find_items(query='Lamp')['items'], name='Red Lamp')\nprint('Ada owns it.')"
    with pytest.raises(NotSavableError, match="depends on no answer"):
        saved(finished(code, "Who owns the Red Lamp?"), name="owner", at="2024-05-01")
