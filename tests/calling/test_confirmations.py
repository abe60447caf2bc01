"""Guards confirmed reads: kept for one operation of one API, and found only as long as the operation is the same."""

from pathlib import Path

import pytest
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite import SqliteStore

from restgpt.calling.confirmations import NAMESPACE, Confirmations
from restgpt.specs import Operation, load_api

TEXT = """
openapi: 3.1.0
info: {title: Shop, version: "1"}
servers: [{url: "https://shop.example"}]
paths:
  /orders/search: {post: {operationId: search, summary: Search orders, responses: {"200": {description: ok}}}}
  /users/search: {post: {operationId: users, summary: Search users, responses: {"200": {description: ok}}}}
"""


def operation(name: str = "search", text: str = TEXT, base_url: str | None = None) -> Operation:
    return load_api(text, base_url=base_url).operation(name)


@pytest.fixture
def kept() -> Confirmations:
    found = Confirmations(InMemoryStore(), clock=lambda: 5.0)
    found.remember(operation(), "its path ends in search")
    return found


def test_it_is_found_again_when_the_document_is_read_again(kept: Confirmations) -> None:
    assert operation() in kept


def test_it_is_for_that_operation_only(kept: Confirmations) -> None:
    assert operation("users") not in kept


@pytest.mark.parametrize(
    ("before", "after"), [("Search orders", "Search all orders"), ("description: ok", "description: found")]
)
def test_a_changed_operation_is_another_one(kept: Confirmations, before: str, after: str) -> None:
    assert operation(text=TEXT.replace(before, after)) not in kept


def test_a_change_elsewhere_in_the_document_matters_not(kept: Confirmations) -> None:
    assert operation(text=TEXT.replace("Search users", "Find users").replace("title: Shop", "title: Store")) in kept


def test_another_server_is_another_api(kept: Confirmations) -> None:
    assert operation(base_url="https://other.example") not in kept
    assert operation(text=TEXT.replace("https://shop.example", "https://other.example")) not in kept


def test_another_source_is_another_api(kept: Confirmations, tmp_path: Path) -> None:
    path = tmp_path / "shop.yaml"
    path.write_text(TEXT, encoding="utf-8")
    assert load_api(path).operation("search") not in kept


def test_the_list_tells_operation_place_reason_and_time(kept: Confirmations) -> None:
    assert [item.to_json() for item in kept.listed()] == [
        {
            "api": "shop",
            "base_url": "https://shop.example",
            "name": "search",
            "operation": "POST /orders/search",
            "reason": "its path ends in search",
            "at": 5.0,
        }
    ]


def test_a_forgotten_one_is_asked_about_again_and_nothing_else_is_deleted() -> None:
    store = InMemoryStore()
    store.put(("restgpt", "shapes"), "a", {})
    kept = Confirmations(store)
    kept.remember(operation(), "")
    kept.remember(operation("users"), "")
    for item in kept.listed():
        if item.name == "search":
            kept.forget(item)
    assert (operation() in kept, operation("users") in kept) == (False, True)
    assert len(store.search(("restgpt", "shapes"))) == 1


def test_it_outlives_the_process(tmp_path: Path) -> None:
    for _ in range(2):
        with SqliteStore.from_conn_string(str(tmp_path / "store.db")) as store:
            store.setup()
            kept = Confirmations(store)
            if operation() not in kept:
                kept.remember(operation(), "")
            else:
                return
    raise AssertionError("it was not found again")


def test_more_than_a_page_of_them_is_listed() -> None:
    store = InMemoryStore()
    for number in range(501):
        entry = {"api": "a", "base_url": "", "name": str(number), "operation": "", "reason": "", "at": 0.0}
        store.put(NAMESPACE, str(number), entry)
    assert len(Confirmations(store).listed()) == 501


def test_without_a_store_nothing_is_kept() -> None:
    kept = Confirmations()
    kept.remember(operation(), "")
    assert (operation() in kept, kept.listed()) == (False, [])
