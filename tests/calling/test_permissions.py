"""Guards permissions: a read is kept for one operation as long as that is the same, a flow for its pair and its run."""

from pathlib import Path

import pytest
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite import SqliteStore

from restgpt.calling.permissions import FLOW_S, NAMESPACE, Permissions
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
def kept() -> Permissions:
    found = Permissions(InMemoryStore(), clock=lambda: 5.0)
    found.confirm_read(operation(), "its path ends in search")
    return found


def test_it_is_for_that_operation_only_and_found_again_when_the_document_is_read_again(kept: Permissions) -> None:
    assert (kept.reads(operation()), kept.reads(operation("users"))) == (True, False)
    # A change elsewhere in the document matters not.
    assert kept.reads(operation(text=TEXT.replace("Search users", "Find users").replace("title: Shop", "title: Store")))


@pytest.mark.parametrize(
    ("before", "after"), [("Search orders", "Search all orders"), ("description: ok", "description: found")]
)
def test_a_changed_operation_is_another_one(kept: Permissions, before: str, after: str) -> None:
    assert not kept.reads(operation(text=TEXT.replace(before, after)))


def test_another_server_is_another_api(kept: Permissions) -> None:
    assert not kept.reads(operation(base_url="https://other.example"))
    assert not kept.reads(operation(text=TEXT.replace("https://shop.example", "https://other.example")))


def test_another_source_is_another_api(kept: Permissions, tmp_path: Path) -> None:
    path = tmp_path / "shop.yaml"
    path.write_text(TEXT, encoding="utf-8")
    assert not kept.reads(load_api(path).operation("search"))


def test_the_list_tells_operation_place_reason_and_time(kept: Permissions) -> None:
    place = {"base_url": "https://shop.example", "name": "search", "operation": "POST /orders/search"}
    told = {"kind": "read", "api": "shop", "at": 5.0, "is_granted": True, "reason": "its path ends in search"}
    assert [item.to_json() for item in kept.listed()] == [{**told, **place}]


def test_a_forgotten_one_is_asked_about_again_and_nothing_else_is_deleted() -> None:
    store = InMemoryStore()
    store.put(("restgpt", "shapes"), "a", {})
    kept = Permissions(store)
    kept.confirm_read(operation(), "")
    kept.confirm_read(operation("users"), "")
    for item in kept.listed():
        if item.name == "search":
            kept.revoke(item)
    assert (kept.reads(operation()), kept.reads(operation("users"))) == (False, True)
    assert len(store.search(("restgpt", "shapes"))) == 1


def test_it_outlives_the_process(tmp_path: Path) -> None:
    for _ in range(2):
        with SqliteStore.from_conn_string(str(tmp_path / "store.db")) as store:
            store.setup()
            kept = Permissions(store)
            if not kept.reads(operation()):
                kept.confirm_read(operation(), "")
            else:
                return
    raise AssertionError("it was not found again")


def test_more_than_a_page_of_them_is_listed() -> None:
    store = InMemoryStore()
    for number in range(501):
        entry = {"kind": "read", "api": "a", "name": str(number), "at": 0.0}
        store.put(NAMESPACE, str(number), entry)
    assert len(Permissions(store).listed()) == 501


def test_without_a_store_nothing_is_kept() -> None:
    kept = Permissions()
    kept.confirm_read(operation(), "")
    assert (kept.reads(operation()), kept.listed()) == (False, [])


def test_a_flow_is_permitted_for_its_pair_of_apis_and_its_run() -> None:
    kept = Permissions(InMemoryStore())
    kept.answer_flow("run 1", {"a": "A"}, ("b", "B"), True, call="1.0")
    kept.answer_flow("run 1", {"c": "C"}, ("b", "B"), False, call="1.1")
    assert (kept.flow("run 1", "a", "b"), kept.flow("run 1", "c", "b")) == (True, False)
    assert (kept.flow("run 2", "a", "b"), kept.flow("run 1", "b", "a")) == (None, None)
    assert [str(item) for item in kept.listed()] == [
        "values of A may go to B: a person allowed it for the rest of a run",
        "values of C must not go to B: a person refused it for the rest of a run",
    ]


def test_an_approval_that_is_taken_back_ends_what_it_permitted_and_nothing_else() -> None:
    kept = Permissions(InMemoryStore())
    kept.answer_flow("run", {"a": "A"}, ("b", "B"), True, call="1.0")
    kept.answer_flow("run", {"a": "A"}, ("b", "B"), None, call="1.1")
    assert kept.flow("run", "a", "b")
    kept.answer_flow("run", {"a": "A"}, ("b", "B"), None, call="1.0")
    assert kept.flow("run", "a", "b") is None


def test_a_flow_ends_by_itself_and_a_read_does_not() -> None:
    store, now = InMemoryStore(), 5.0
    kept = Permissions(store, clock=lambda: now)
    kept.confirm_read(operation(), "")
    kept.answer_flow("run", {"a": "A"}, ("b", "B"), True, call="1.0")
    now += FLOW_S
    assert kept.flow("run", "a", "b") is None
    assert [item.kind for item in kept.listed()] == ["read"]
    assert len(store.search(NAMESPACE)) == 1
