"""What every world keeps: a clean document, a handler for each operation, the same data for the same seed."""

from typing import Any
from urllib.parse import urlsplit

import jsonschema
import pytest

from restgpt.specs import Operation, Response, load_api
from restgpt.specs.docs.example import minimal_arguments
from restgpt_bench.restbench.judges.task import PlannedCall, follows, perform, shape
from restgpt_bench.restbench.judges.tasks import open_tasks
from restgpt_bench.worlds import CREDENTIAL, NAMES, World, open_world
from restgpt_bench.worlds.exchange import Reply, Request

PUBLISHED = {"tmdb": "restbench/tmdb_oas.json", "spotify": "restbench/spotify_oas.json"}
SUITES = [(name, own) for name in NAMES for own in (False, True)]


@pytest.fixture(params=NAMES)
def world(request: pytest.FixtureRequest) -> World[Any]:
    return open_world(request.param)


VALIDATORS: dict[tuple[str, str], jsonschema.Draft202012Validator] = {}


def validator(operation: Operation, response: Response) -> jsonschema.Draft202012Validator:
    """The validator of a response, kept because building one costs more than using it."""
    key = (f"{operation.api.name} {operation_key(operation)}", response.status)
    if key not in VALIDATORS:
        schema = operation.json_schema(response.content["application/json"].schema)
        VALIDATORS[key] = jsonschema.Draft202012Validator(schema)
    return VALIDATORS[key]


def complaints(operation: Operation, reply: Reply) -> list[str]:
    """What the document says against a reply."""
    documented = operation.responses.get(str(reply.status)) or operation.responses.get(f"{reply.status // 100}XX")
    if documented is None:
        return [f"{operation.method} {operation.path}: status {reply.status} is not documented"]
    if not documented.content:
        return [] if reply.body is None else [f"{operation.path}: {reply.status} has a body"]
    errors = validator(operation, documented).iter_errors(reply.body)
    return [f"{operation.method} {operation.path}: {error.message[:200]} at {list(error.path)}" for error in errors]


def call_examples(world: World[Any]) -> list[tuple[Operation, Reply]]:
    return [
        (operation, perform(world, PlannedCall(operation_key(operation), minimal_arguments(operation))))
        for operation in world.api.operations
    ]


def operation_key(operation: Operation) -> str:
    return f"{operation.method} {operation.path}"


def test_the_document_is_clean_and_the_world_handles_just_its_operations(world: World[Any]) -> None:
    assert world.api.problems == []
    assert {operation_key(operation) for operation in world.api.operations} == set(world.routes)
    first = next(iter(world.api.operations))
    assert urlsplit(first.base_url).path.rstrip("/") == world.base_path
    for operation in world.api.operations:
        assert operation.operation_id, operation.path
        assert operation.summary, operation.path


@pytest.mark.sampled(2, "seed")
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("name", NAMES)
def test_the_same_seed_gives_the_same_world(name: str, seed: int) -> None:
    assert open_world(name, seed=seed).snapshot() == open_world(name, seed=seed).snapshot()


def test_another_seed_gives_another_world(world: World[Any]) -> None:
    assert open_world(world.name, seed=1).snapshot()["state"] != world.snapshot()["state"]


def test_a_reset_undoes_whatever_was_done(world: World[Any]) -> None:
    before = world.snapshot()
    call_examples(world)
    assert len(world.log) == len(world.api.operations)
    world.reset()
    assert world.snapshot() == before
    assert len(world.log) == 0


def test_every_fixture_can_be_set_up_twice_alike(world: World[Any]) -> None:
    for fixture in world.fixtures:
        world.reset(fixture)
        first = world.snapshot()
        world.reset(fixture)
        assert world.snapshot() == first


def test_an_unknown_fixture_is_refused(world: World[Any]) -> None:
    with pytest.raises(ValueError, match="no fixture"):
        world.reset("no such fixture")


def test_replies_to_example_arguments_are_documented(world: World[Any]) -> None:
    found = [complaint for operation, reply in call_examples(world) for complaint in complaints(operation, reply)]
    assert found == []


def test_without_a_credential_there_is_a_documented_401(world: World[Any]) -> None:
    for operation in world.api.operations:
        reply = world.handle(
            Request(operation.method, world.base_path + operation.path.replace("{", "").replace("}", ""))
        )
        assert reply.status in (401, 404), operation.path
    open_paths = [operation for operation in world.api.operations if "{" not in operation.path]
    for operation in open_paths:
        reply = world.handle(Request(operation.method, world.base_path + operation.path))
        assert reply.status == 401, operation.path
        assert complaints(operation, reply) == []


def test_an_unknown_path_is_a_404_in_the_style_of_the_api(world: World[Any]) -> None:
    reply = world.call("GET /no/such/path")
    known = next(reply for _, reply in call_examples(world) if reply.status == 404)
    assert reply.status == 404
    assert set(reply.body) == set(known.body)
    assert world.log[0].template is None


def test_the_credential_is_not_in_the_log(world: World[Any]) -> None:
    call_examples(world)
    if world.key_parameter:
        world.handle(Request("GET", f"{world.base_path}/x", f"{world.key_parameter}={CREDENTIAL}"))
    assert CREDENTIAL not in str(world.log.to_json())


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_published_document_has_the_same_operations(name: str, data_folder: Any) -> None:
    published = load_api(data_folder / PUBLISHED[name])
    world = open_world(name)
    assert {shape(operation_key(operation)) for operation in published.operations} == set(map(shape, world.routes))


@pytest.mark.parametrize(("name", "own"), SUITES)
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_gold_calls_are_answered_as_documented_and_score(name: str, own: bool, seed: int) -> None:
    world = open_world(name, seed=seed)
    operations = {operation_key(operation): operation for operation in world.api.operations}
    found: list[str] = []
    examined: set[str] = set()

    def send(call: PlannedCall) -> Reply:
        reply = perform(world, call)
        if call.operation not in examined:
            found.extend(complaints(operations[call.operation], reply))
        examined.add(call.operation)
        return reply

    for task in open_tasks(name, own=own):
        world.reset(task.fixture)
        answer = task.replay(world, send).answer
        verdict = task.check(world, world.log, answer)
        assert verdict.ok, (task.key, verdict.why)
        assert follows(world.log.operations(), task.gold)
    assert found == []


@pytest.mark.parametrize(("name", "own"), SUITES)
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_who_does_nothing_guesses_or_errs_in_answer_or_state_scores_nothing(name: str, own: bool, seed: int) -> None:
    world = open_world(name, seed=seed)
    for task in open_tasks(name, own=own):
        world.reset(task.fixture)
        for answer in ("", "Done.", "The Beatles", task.right(world)):
            assert not task.check(world, world.log, answer), (task.key, answer)
        wrong = task.wrong(world)
        task.replay(world)
        task.spoil(world)
        assert not task.check(world, world.log, wrong), task.key


@pytest.mark.parametrize(("name", "published"), [("toy", None), ("tmdb", 100), ("spotify", 57)])
def test_all_published_tasks_are_there_and_fifteen_of_ours_with_instructions(name: str, published: int | None) -> None:
    theirs, ours = open_tasks(name, own=False), open_tasks(name, own=True)
    assert {task.instruction for task in theirs} <= {None}
    assert None not in {task.instruction for task in ours}
    if published is not None:
        assert (len(theirs), len(ours)) == (published, 15)
        assert {len(task.steps) for task in ours} >= {1, 2, 3, 4}


def test_an_unknown_world_is_refused_by_name() -> None:
    with pytest.raises(LookupError, match="there are: toy, tmdb, spotify"):
        open_world("mars")
