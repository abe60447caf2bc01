"""Guards the comparison of answers with those of the saved run: fields, types, statuses, items and names."""

from dataclasses import replace
from typing import Any

import pytest
from plantrecipe import plant_recipe

from restgpt.recipes.guards.answers import answer_shifts, read_patterns, saved_echo, saved_items, types_at
from restgpt.recipes.recipe import Documented, Echo, UsedOperation
from restgpt.recipes.sent import Sent

WORDS = frozenset({"id", "name", "owner", "tags"})
BODY: dict[str, Any] = {
    "items": [
        {"id": 1, "name": "Old Lamp", "owner": {"name": "Ada", "age": 3}, "tags": [], "size": {"id": 9}},
        {"id": 2, "name": "Chair", "owner": None, "tags": ["x"]},
    ],
    "total": 2,
}
CALL = Sent("search", {"query": {"q": "old lamp"}}, status=200, body=BODY)
INPUTS = {"thing": "Old Lamp"}


def used(*calls: Sent, takes_one: bool = True, **changed: Any) -> UsedOperation:
    """What a run used of the operation, as `saving.py` puts it together."""
    calls = calls or (CALL,)
    patterns = read_patterns((call.body for call in calls), WORDS)
    reads = {pattern: {kind for call in calls for kind in types_at(call.body, pattern)} for pattern in patterns}
    items = saved_items(calls, patterns, takes_one=takes_one)
    given: dict[str, Any] = {
        "reads": {pattern: tuple(sorted(types)) for pattern, types in reads.items() if types},
        "items": items,
        "named": saved_echo(calls, items, INPUTS, takes_one=takes_one),
        "calls": len(calls),
        "status": (200,),
    }
    return UsedOperation(function="search", api="team-board", method="GET", path="/search", **{**given, **changed})


def told(operation: UsedOperation, *sent: Sent) -> str:
    recipe = plant_recipe(operations=(operation,), inputs={"type": "object", "properties": {"thing": {}}})
    return "\n".join(map(str, answer_shifts(recipe, sent, INPUTS)))


def other(**changed: Any) -> Sent:
    return replace(CALL, body={**BODY, **changed})


def test_the_fields_that_the_program_names_are_recorded_with_their_types_and_the_lists_around_them() -> None:
    assert used().reads == {
        "": ("object",),
        "/items": ("array",),
        "/items/*": ("object",),
        "/items/*/id": ("integer",),
        "/items/*/name": ("string",),
        "/items/*/owner": ("null", "object"),
        "/items/*/owner/name": ("string",),
        "/items/*/tags": ("array",),
        "/items/*/tags/*": ("string",),
    }
    assert used().items == {"/items": "some"}
    assert used(other(items=BODY["items"][:1])).items == {"/items": "one"}
    assert used(other(items=BODY["items"][:1]), takes_one=False).items == {"/items": "some"}


def test_the_item_that_an_input_names_is_recorded_where_the_program_takes_it_by_its_place() -> None:
    assert used().named == Echo(field="/items/*/name", input="thing", relation="equal")
    assert used(takes_one=False).named is None
    assert used(replace(CALL, is_change=True)).named is None
    assert used(replace(CALL, arguments={})).named is None
    alone = used(replace(CALL, body={"id": 1, "name": "The Old Lamp"}))
    assert alone.named == Echo(field="/name", input="thing", relation="contains")


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (CALL, ""),
        (other(total="2", items=[*BODY["items"], {"id": 3, "name": "Bed", "owner": None, "tags": []}]), ""),
        (other(items=[{**BODY["items"][0], "size": None, "extra": 1}]), ""),
        (replace(CALL, status=0, body=None), ""),
        (replace(CALL, function="other", status=500), ""),
        (replace(CALL, status=404, body={}), "status: expected 200, as when the recipe was saved, found 404."),
        (replace(CALL, body=None), "the answer: expected an object, as when the recipe was saved, found null."),
        (replace(CALL, body=[BODY]), "the answer: expected an object, as when the recipe was saved, found an array."),
        (replace(CALL, body={"things": BODY["items"]}), "field /items: expected an array"),
        (other(items=[]), "array /items: expected items, as when the recipe was saved, found none."),
        (other(items=[{"name": "Old Lamp", "owner": None, "tags": []}]), "/items/*/id: expected an integer"),
        (other(items=[{**BODY["items"][0], "id": "1"}]), "/items/*/id: expected an integer, as when"),
        (other(items=BODY["items"][::-1]), 'what the input thing names, "Old Lamp", found "Chair".'),
        (other(items=[*BODY["items"], BODY["items"][0]]), "one item, what the input thing names"),
        (
            other(items=[{**BODY["items"][0], "name": "Old Lamp II"}, BODY["items"][0]]),
            'what the input thing names, "Old Lamp", found "Old Lamp II".',
        ),
    ],
)
def test_an_answer_that_is_not_as_in_the_saved_run_is_told_with_its_place(sent: Sent, expected: str) -> None:
    found = told(used(), sent)
    assert expected in found if expected else found == ""


def test_several_items_where_the_program_took_the_only_one_are_told() -> None:
    operation = used(other(items=BODY["items"][:1]))
    assert "array /items: expected one item, as when the recipe was saved, found 2." in told(operation, CALL)


def test_one_empty_list_among_several_answers_is_no_shift() -> None:
    operation = used(CALL, CALL)
    assert told(operation, other(items=[])) == ""
    assert told(operation, other(items=[]), CALL) == ""
    assert "expected items" in told(operation, other(items=[]), other(items=[]))


def test_a_type_that_the_document_allows_is_no_surprise() -> None:
    answer = {"/items/*/id": ("integer", "string"), "/items/*/name": ("null", "string")}
    operation = used(documented=Documented(answer=answer), named=None)
    assert told(operation, other(items=[{**BODY["items"][0], "id": "1", "name": None}])) == ""


def test_a_partly_named_item_is_told_beside_one_that_is_named_exactly() -> None:
    operation = used(named=Echo(field="/items/*/name", input="thing", relation="within"))
    sent = other(items=[{**BODY["items"][1], "name": "Lamp"}, BODY["items"][0]])
    assert 'found "Lamp" beside one that is named exactly so.' in told(operation, sent)
