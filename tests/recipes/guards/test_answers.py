"""The drifts of answers that stop a recipe, and the honest differences that do not."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from restgpt.recipes.guards.answers import answer_shifts, unread_shifts
from restgpt.recipes.recipe import (
    Documented,
    Link,
    ReadType,
    Recipe,
    RecipeApi,
    Saved,
    SavedCall,
    UsedOperation,
)
from restgpt.recipes.sent import Sent

READS: Mapping[str, tuple[ReadType, ...]] = {
    "/results": ("array",),
    "/results/*": ("object",),
    "/results/*/id": ("integer",),
    "/results/*/name": ("string",),
    "/results/*/died": ("string", "missing"),
    "/results/*/born": ("null",),
    "/results/*/rank": ("integer", "null"),
    "/total": ("integer",),
    "/gift": ("missing",),
}
BODY = {"results": [{"id": 1, "name": "a"}], "total": 1}


def recipe_of(
    reads: Mapping[str, tuple[ReadType, ...]] = READS,
    *,
    links: Sequence[Link] = (),
    documented: Documented | None = None,
    calls: int = 1,
) -> Recipe:
    used = [
        UsedOperation(
            function=name,
            api="people",
            method="GET",
            path=f"/{name}",
            status=(200,),
            reads=reads if name == "search" else {},
            documented=documented or Documented(),
        )
        for name in ("search", "person")
    ]
    return Recipe(
        name="r",
        saved=Saved(at="2026-01-01"),
        apis=(RecipeApi(name="people"),),
        program="pass",
        operations=tuple(used),
        links=tuple(links),
        calls=tuple(SavedCall(function="search") for _ in range(calls)),
    )


def answered(body: Any = None, status: int = 200, **reads: tuple[str, ...]) -> Sent:
    patterns = {f"/{name.replace('__', '/*/')}": types for name, types in reads.items()}
    return Sent("search", {}, status=status, body=BODY if body is None else body, reads=patterns)


def texts(recipe: Recipe, *sent: Sent) -> list[str]:
    return [str(shift) for shift in answer_shifts(recipe, sent)]


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (answered(status=404), "status: expected 200, as when the recipe was saved, found 404"),
        (answered(status=500), "found 500"),
        (
            answered("<html>"),
            "the answer: expected an object in JSON, as when the recipe was saved, found other content",
        ),
        (Sent("search", {}, status=204), "found no body"),
        (answered([{"id": 1}]), "the answer: expected an object in JSON, as when the recipe was saved, found an array"),
        (
            answered(total=("missing",)),
            "field /total: expected an integer, as when the recipe was saved, found nothing",
        ),
        (answered(results__id=("missing",)), "field /results/*/id: expected an integer"),
        (answered(results__id=("string",)), "found a string"),
        (answered(results__id=("integer", "string")), "found a string"),
        (answered(results__id=("object",)), "found an object"),
        (answered(results__name=("null",)), "field /results/*/name: expected a string, as when the recipe was saved"),
        (answered(results__name=("null", "missing")), "found null or nothing"),
        (answered(results__died=("integer",)), "expected a string or nothing, as when the recipe was saved"),
        (answered(results=("object",)), "field /results: expected an array"),
        (answered({"results": []}), "array /results: expected items, as when the recipe was saved, found none"),
    ],
)
def test_a_drift_of_an_answer_is_a_shift(call: Sent, text: str) -> None:
    found = texts(recipe_of(), call)

    assert [shift for shift in found if text in shift], found
    assert all(shift.startswith("GET /search (search), ") for shift in found)


@pytest.mark.parametrize(
    "call",
    [
        answered(),
        answered(status=201),
        Sent("search", {}),
        Sent("other", {}, status=500),
        answered({"results": [{"id": 1}], "more": []}),
        answered(total=("integer",)),
        answered(total=("number",)),
        answered(results__id=("integer", "missing")),
        answered(results__name=("string", "null")),
        answered(results__died=("missing",)),
        answered(results__born=("string",)),
        answered(results__rank=("null",)),
        answered(gift=("string",)),
        answered(unknown=("missing",)),
        answered({"total": 0}),
    ],
)
def test_an_honest_difference_of_an_answer_is_no_shift(call: Sent) -> None:
    assert texts(recipe_of(), call) == []


def test_a_field_that_one_of_several_answers_lacks_is_no_shift() -> None:
    assert texts(recipe_of(), answered(total=("integer",)), answered(total=("missing",))) == []
    assert len(texts(recipe_of(), answered(total=("missing",)), answered(total=("missing",)))) == 1


def test_null_is_no_shift_where_the_document_allows_it() -> None:
    documented = Documented(answer={"/results/*/name": ("string", "null")})

    assert texts(recipe_of(documented=documented), answered(results__name=("null",))) == []


def test_a_type_of_the_document_is_no_shift_unless_the_document_was_wrong_before() -> None:
    right = Documented(answer={"/total": ("integer", "string")})
    wrong = Documented(answer={"/total": ("string",)})

    assert texts(recipe_of(documented=right), answered(total=("string",))) == []
    assert len(texts(recipe_of(documented=wrong), answered(total=("string",)))) == 1


def test_an_array_of_which_an_item_was_taken_must_have_items_in_every_answer() -> None:
    link = Link(answer_of="search", take="/results/*/id", call="person", argument="/path/id", choice="first")
    full, empty = answered(), answered({"results": [], "others": [1]})

    assert len(texts(recipe_of(links=[link], calls=2), full, empty)) == 1
    assert texts(recipe_of(calls=2), full, empty) == []


def test_one_of_two_lists_may_be_empty_but_not_both() -> None:
    recipe = recipe_of({"/cast/*/id": ("integer",), "/crew/*/id": ("integer",)})

    assert texts(recipe, answered({"cast": [], "crew": [{"id": 1}]})) == []
    assert len(texts(recipe, answered({"cast": [], "crew": []}))) == 2


def test_a_list_inside_of_an_item_may_be_empty() -> None:
    recipe = recipe_of({"/results/*/genres/*/name": ("string",)})

    assert texts(recipe, answered({"results": [{"genres": []}]})) == []


def test_empty_lists_of_an_operation_that_is_called_in_a_loop_stop_only_if_all_are_empty() -> None:
    recipe, empty = recipe_of({"/*/id": ("integer",)}, calls=2), answered([])

    assert texts(recipe, empty) == []
    assert texts(recipe, empty, answered([{"id": 1}])) == []
    assert len(texts(recipe, empty, empty)) == 1


def test_a_map_may_be_read_where_all_keys_were() -> None:
    recipe = recipe_of({"": ("object",), "/*": ("integer",)})

    assert texts(recipe, answered({"a": 1})) == []
    assert "found an array" in texts(recipe, answered([1]))[0]


def test_a_list_without_its_envelope_is_no_shift_for_a_program_that_reads_its_items() -> None:
    assert texts(recipe_of(), Sent("search", {}, status=200, body=[{"id": 1}], reads={"/*/id": ("integer",)})) == []


def unread(body: Any, reads: Mapping[str, tuple[str, ...]]) -> list[str]:
    sent = [Sent("search", {}, "0", status=200, body=body, reads=reads)]
    return [str(shift) for shift in unread_shifts(recipe_of(), sent)]


def test_a_field_that_the_program_has_not_read_yet_is_compared_before_a_change() -> None:
    read = {"/results": ("array",), "/results/*": ("object",), "/results/*/id": ("integer",)}
    [gone] = unread({"results": [{"id": 1}, {"id": 2}], "total": 1}, read)
    assert "/results/*/name" in gone
    assert "nothing" in gone
    [retyped] = unread({"results": [{"id": 1, "name": ["a"]}], "total": 1}, read)
    assert "an array" in retyped
    assert unread(BODY, read) == []
    # One item without the field, or a field that was missing before, is no shift.
    assert unread({"results": [{"id": 1, "name": "a"}, {"id": 2}], "total": 1}, read) == []


def test_a_field_that_is_missing_at_another_place_is_named() -> None:
    sent = [Sent("search", {}, "0", status=200, body=[BODY], reads={"/*/name": ("missing",), "/*/other": ("missing",)})]
    assert any("field /*/name" in str(shift) for shift in answer_shifts(recipe_of(), sent))
    assert not any("/*/other" in str(shift) for shift in answer_shifts(recipe_of(), sent))
