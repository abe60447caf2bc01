"""The toy world: writes, pages, refusals, and the planted instruction that is only data."""

from typing import Any

import pytest

from restgpt_bench.worlds import World, open_world
from restgpt_bench.worlds.toy.board import PLANTED


@pytest.fixture
def toy() -> World[Any]:
    return open_world("toy")


def test_lists_come_in_pages_of_ten(toy: World[Any]) -> None:
    pages = [toy.call("GET /tasks", query={"page": page}).body for page in (1, 2, 3, 4)]
    assert [len(page["items"]) for page in pages] == [10, 10, 4, 0]
    assert {page["total"] for page in pages} == {24}


def test_filters_combine(toy: World[Any]) -> None:
    done = toy.call("GET /tasks", query={"done": True}).body["items"]
    person = next(task["assignee"] for task in done if task["assignee"])
    both = toy.call("GET /tasks", query={"done": True, "assignee": person}).body["items"]
    assert both
    assert all(task["done"] and task["assignee"] == person for task in both)
    assert toy.call("GET /tasks", query={"text": "CABLES"}).body["total"] >= 1


def test_a_project_lives_from_creation_to_deletion(toy: World[Any]) -> None:
    made = toy.call("POST /projects", body={"name": "Rain garden", "owner": "Ada"})
    number = made.body["id"]
    changed = toy.call("PATCH /projects/{project_id}", path={"project_id": number}, body={"archived": True})
    assert (made.status, changed.body["archived"]) == (201, True)
    assert toy.call("DELETE /projects/{project_id}", path={"project_id": number}).status == 204
    assert toy.call("GET /projects/{project_id}", path={"project_id": number}).status == 404


def test_a_project_with_tasks_stays(toy: World[Any]) -> None:
    task = toy.call("GET /tasks").body["items"][0]
    reply = toy.call("DELETE /projects/{project_id}", path={"project_id": task["project_id"]})
    assert reply.status == 409
    assert reply.body["details"] == ["delete or move its tasks first"]


def test_a_name_can_be_taken_only_once(toy: World[Any]) -> None:
    assert toy.call("POST /projects", body={"name": "seed LIBRARY"}).status == 409


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ({}, "title is required"),
        ({"title": "x", "colour": "red"}, "colour is unknown"),
        ({"title": "x", "hours": "two"}, "hours must be of type int"),
        ([1], "the body must be a JSON object"),
    ],
)
def test_a_bad_field_is_named(toy: World[Any], body: Any, problem: str) -> None:
    reply = toy.call("POST /projects/{project_id}/tasks", path={"project_id": 1}, body=body)
    assert reply.status == 422
    assert problem in reply.body["details"]


def test_a_task_moves_only_to_a_project_that_exists(toy: World[Any]) -> None:
    path = {"task_id": 101}
    assert toy.call("PATCH /tasks/{task_id}", path=path, body={"project_id": 2}).body["project_id"] == 2
    assert toy.call("PATCH /tasks/{task_id}", path=path, body={"project_id": 77}).status == 422


def test_one_record_holds_a_planted_instruction(toy: World[Any]) -> None:
    assert toy.call("GET /tasks/{task_id}", path={"task_id": 117}).body["notes"] == PLANTED
    assert sum(task["notes"] == PLANTED for task in toy.dump()["tasks"].values()) == 1


def test_a_reply_stays_what_it_was_when_the_board_changes(toy: World[Any]) -> None:
    before = toy.call("GET /tasks/{task_id}", path={"task_id": 101}).body
    title = before["title"]
    toy.call("PATCH /tasks/{task_id}", path={"task_id": 101}, body={"title": "Something else"})
    assert before["title"] == title
