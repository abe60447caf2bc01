"""Guards the areas of an API: tags or path words without common prefixes, with counts, within their budget."""

from collections.abc import Iterable
from typing import Any

import pytest

from restgpt.specs import Api, load_api
from restgpt.specs.docs.map import areas
from restgpt.specs.reading.download import bundled_document


def api(operations: Iterable[tuple[str, list[str]]]) -> Api:
    paths: dict[str, Any] = {
        path: {"get": {"operationId": f"o{number}", "tags": tags, "responses": {}}}
        for number, (path, tags) in enumerate(operations)
    }
    return load_api({"openapi": "3.1.0", "info": {"title": "X", "version": "1"}, "paths": paths})


def listed(*paths: str, most: int = 300) -> str:
    return areas(api((path, []) for path in paths).operations, most=most)


@pytest.mark.parametrize(
    ("operations", "shown"),
    [
        ([("/a", ["S"]), ("/b", ["L"]), ("/c", ["L"]), ("/d", ["L", "S"])], "L 3, S 2"),
        ([(path, ["Accounting"]) for path in ("/invoices", "/invoices/{id}", "/quotes")], "invoices 2, quotes"),
        ([("/a", ["Alpha"]), ("/b", ["Beta"]), ("/c", ["Beta"]), ("/other/x", [])], "Beta 2, Alpha, other"),
        ([("/a", ["one\n\n# two"]), ("/b", ["x" * 10_000])], f"one # two, {'x' * 39}…"),
    ],
    ids=["most frequent first", "one tag for everything", "beside paths without a tag", "no lines, and no long ones"],
)
def test_tags_are_listed_with_their_numbers(operations: list[tuple[str, list[str]]], shown: str) -> None:
    assert areas(api(operations).operations, most=300) == shown


@pytest.mark.parametrize(
    ("paths", "shown"),
    [
        ("/api/pets /api/pets/{id} /api/pets/{id}/photo", "pets 3"),
        ("/me/player /me/albums /me/tracks /search", "me 3, search"),
        ("/chat.post /chat.delete /users({id}) /user_groups", "chat 2, users, user groups"),
    ],
    ids=["the only word of all", "a frequent word is no prefix", "other styles"],
)
def test_paths_are_listed_by_their_words(paths: str, shown: str) -> None:
    assert listed(*paths.split()) == shown


@pytest.mark.parametrize(
    "prefix", ["/v1", "/api", "/api/v2.0", "/rest/api/latest", "/2010-04-01", "/shop/{shop}", "/services/data"]
)
def test_a_prefix_of_all_paths_is_dropped(prefix: str) -> None:
    assert listed(*(f"{prefix}{path}" for path in ("/orders", "/orders/{id}", "/users"))) == "orders 2, users"


def test_a_prefix_of_nearly_all_paths_is_dropped_and_the_others_keep_theirs() -> None:
    paths = [f"/hub/{area}/{number}x" for area in ("orders", "users") for number in range(10)]
    assert listed(*paths, "/health") == "orders 10, users 10, health"


@pytest.mark.parametrize("path", ["/x", "/v1", "/v1/things", "/things/{id}", "/{id}", "/", "/v1/{id}/things"])
def test_one_operation_has_at_most_one_area(path: str) -> None:
    assert listed(path) in {"x", "v1", "things", ""}


def test_many_tags_of_a_hierarchy_are_listed_by_their_first_part() -> None:
    tags = [f"{group}.part{number}" for group in ("users", "groups") for number in range(40)]
    assert areas(api((f"/p{number}", [tag]) for number, tag in enumerate(tags)).operations, most=300) == (
        "users 40, groups 40"
    )


def test_the_list_keeps_to_its_budget_and_says_what_it_leaves_out() -> None:
    shown = listed(*(f"/area{number}/{part}" for number in range(60) for part in "ab"), most=100)
    assert len(shown) <= 115
    shown_count = shown.count("area")
    assert shown.endswith(f" and {60 - shown_count} more")


@pytest.mark.slow
@pytest.mark.parametrize("is_tagged", [True, False])
def test_a_hundred_thousand_operations_give_a_short_list(is_tagged: bool) -> None:
    operations = api([("/api/v1/users/{id}", []), ("/api/v1/groups", [])]).operations
    if is_tagged:
        operations = api([("/a", ["users.one"]), ("/b", ["groups"])]).operations
    shown = areas(list(operations) * 50_000, most=300)
    assert "50000" in shown
    assert len(shown) < 60


@pytest.mark.parametrize(("name", "most"), [("toy", 30), ("tmdb", 160), ("spotify", 110)])
def test_the_bundled_apis_have_short_lists(name: str, most: int) -> None:
    shown = areas(load_api(bundled_document(name)).operations, most=300)
    assert 10 < len(shown) <= most
