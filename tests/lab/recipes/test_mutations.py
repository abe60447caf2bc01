"""Guards the measurement of mutations: what is mutated, how harm is judged, and what the guards of a recipe stop."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import pytest

from lab.recipes.case import Case
from lab.recipes.mutated_world import MutatedWorld
from lab.recipes.mutation import Mutation
from lab.recipes.mutations import Ended, Stage, Verdict, measure, mutations_of, open_stage, sample, table
from lab.recipes.pointer import fields, holders
from lab.recipes.written import programs, written_of
from restgpt.recipes.recipe import Recipe
from restgpt_bench.worlds import CREDENTIAL, open_world
from restgpt_bench.worlds.exchange import Reply, Request

NAME = "hand-over"


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    with open_stage() as opened:
        yield opened


@pytest.fixture(scope="module")
def saved(stage: Stage) -> tuple[Recipe, Case]:
    return stage.saved(written_of(NAME))


@pytest.fixture(scope="module")
def mutations(stage: Stage, saved: tuple[Recipe, Case]) -> Mapping[str, Mutation]:
    """The mutations of the recipe, by kind, operation and place."""
    # Lists of another recipe give items that are not the named one.
    _, other = stage.saved(written_of("finish-task"))
    found = [item for item in mutations_of([saved[1], other]) if item.recipe == NAME]
    return {f"{item.kind} | {item.operation} | {item.at}": item for item in found}


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    ("named", "is_harmful"),
    [
        ("new required parameter | PATCH /tasks/{task_id} | workspace", True),
        ("body field renamed | PATCH /tasks/{task_id} | assignee", True),
        ("path moved | GET /tasks | /tasks", True),
        ("answer field renamed | GET /tasks | /items/*/id", True),
        ("another found | GET /tasks | /items", True),
        ("two found, the other first | GET /tasks | /items", True),
        ("nothing found | GET /tasks | /items", True),
        ("body field renamed | PATCH /tasks/{task_id} | notes", False),
        ("new optional parameter | PATCH /tasks/{task_id} | workspace", False),
        ("operationId renamed | GET /tasks | ", False),
        ("operations reordered | GET /tasks | ", False),
        ("new field | GET /tasks | ", False),
        ("more behind | GET /tasks | /items", False),
        ("other value not read | GET /tasks | /items/*/done", False),
    ],
)
def test_what_does_harm_is_stopped_before_a_change_and_what_does_none_is_not(
    stage: Stage, saved: tuple[Recipe, Case], mutations: Mapping[str, Mutation], named: str, is_harmful: bool
) -> None:
    recipe, case = saved
    [verdict] = measure(stage, {NAME: recipe}, {NAME: case}, [mutations[named]])
    assert verdict.is_harmful == is_harmful, str(verdict)
    assert verdict.fault == "", str(verdict)
    assert bool(verdict.guarded.changes) != is_harmful


def test_the_written_programs_are_many_and_a_third_of_them_change_something() -> None:
    assert len(programs()) >= 30
    assert {item.world for item in programs()} == {"toy", "tmdb", "spotify"}
    assert 3 * sum(item.changes > 0 for item in programs()) >= len(programs())
    assert len({item.name for item in programs()}) == len(programs())


def test_a_sample_has_each_kind_and_all_of_a_group(
    saved: tuple[Recipe, Case], mutations: Mapping[str, Mutation]
) -> None:
    found = list(mutations.values())
    drawn = sample(found, {NAME: saved[1]}, 1)
    assert {(item.target, item.kind) for item in drawn} == {(item.target, item.kind) for item in found}
    assert len(drawn) < len(found) / 4
    groups = {item.group for item in drawn if item.group}
    assert [item for item in found if item.group in groups] == [item for item in drawn if item.group]


RIGHT = Ended(True, "Done.", ("PATCH /tasks/1",), "state", None)
STOPPED = Ended(False, "GET /tasks, field /items/*/id: expected an integer.", (), "state", 0)
MUTATION = Mutation("field renamed", "answers", NAME, "GET /tasks", "/items/*/id")


def _verdict(guarded: Ended, *, is_harmful: bool = True, is_named: bool = True) -> Verdict:
    return Verdict(MUTATION, is_harmful, RIGHT, guarded, RIGHT, is_named)


def test_a_verdict_tells_what_was_not_stopped_from_what_was_stopped_without_need() -> None:
    assert _verdict(STOPPED).fault == ""
    assert _verdict(STOPPED, is_named=False).fault == "names no place"
    assert _verdict(RIGHT).fault == "not stopped"
    assert _verdict(Ended(False, "", ("PATCH /tasks/2",), "state", 0)).fault == "not stopped"
    assert _verdict(RIGHT, is_harmful=False).fault == ""
    assert _verdict(STOPPED, is_harmful=False).fault == "stopped without need"


def test_what_shows_only_in_the_answer_to_a_change_must_be_stopped_there() -> None:
    after_one = Ended(False, "It stopped.", ("POST /tasks",), "state", 1)
    assert _verdict(after_one).shows_late
    assert _verdict(after_one).fault == ""
    assert _verdict(replace(after_one, changes=("POST /tasks", "POST /projects"))).fault == "not stopped"


def test_the_table_counts_by_kind() -> None:
    shown = table([_verdict(STOPPED), _verdict(RIGHT), _verdict(STOPPED, is_harmful=False)])
    assert " ".join(shown.splitlines()[1].split()) == "answers: field renamed 3 2 0 1 0 1 1"


def _request(method: str, path: str, query: str = "") -> Request:
    return Request(method, path, query, {"Authorization": f"Bearer {CREDENTIAL}"})


def test_a_moved_operation_is_served_at_its_new_place_only() -> None:
    world = MutatedWorld(open_world("toy"))
    world.reset(mutation=Mutation("path moved", "document", NAME, "GET /tasks/{task_id}", moved="GET /v2/tasks/{id}"))
    assert world.handle(_request("GET", "/v1/tasks/101")).status == 404
    reply = world.handle(_request("GET", "/v1/v2/tasks/101"))
    assert (reply.status, reply.body["id"]) == (200, 101)
    assert world.handle(_request("GET", "/v1/projects")).status == 200


def test_only_good_replies_of_the_mutated_operation_are_changed() -> None:
    world = MutatedWorld(open_world("toy"))
    emptied = Mutation("empty", "answers", NAME, "GET /tasks/{task_id}", outgoing=lambda reply: Reply(200, {}))
    world.reset(mutation=emptied)
    assert world.handle(_request("GET", "/v1/tasks/101")).body == {}
    assert world.handle(_request("GET", "/v1/tasks/9")).status == 404
    assert world.handle(_request("GET", "/v1/projects/1")).body["id"] == 1
    assert [item.is_mutated for item in world.exchanges] == [True, True, False]


def test_patterns_name_each_field_once_and_find_all_its_objects() -> None:
    body = {"items": [{"id": 1, "tags": []}, {"id": 2, "a/b": None}], "total": 2}
    assert dict(fields(body)) == {
        "/items": body["items"],
        "/items/*/id": 1,
        "/items/*/tags": [],
        "/items/*/a~1b": None,
        "/total": 2,
    }
    assert [(holder["id"], name) for holder, name in holders(body, "/items/*/id")] == [(1, "id"), (2, "id")]
