"""Guards programs of gold steps: they compute their report from the answers, and every computed report is right."""

import io
import re
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import Any

import pytest

from restgpt.specs import Operation
from restgpt_bench.restbench.check import is_question
from restgpt_bench.restbench.gold_program import Writer, code_of, variables_of
from restgpt_bench.restbench.judges.task import Step, Task, shape
from restgpt_bench.restbench.judges.tasks import open_tasks
from restgpt_bench.restbench.perfect import Script, whole_program
from restgpt_bench.worlds import NAMES, World, open_world

CREDITS = {
    "crew": [
        {"id": 1, "job": "Editor", "day": "2020-01-01", "tags": [{"name": "x"}]},
        {"id": 2, "job": "Director", "day": "2021-01-01", "tags": []},
        {"id": 3, "job": "Director", "day": "2019-01-01", "tags": [{"name": "y"}, {"name": "z"}]},
    ],
    "total": 3,
}


CREDIT = "credit in credits['crew']"
DIRECTORS = f"credit for {CREDIT} if credit['job'] == 'Director'"


@pytest.mark.parametrize(
    ("reference", "code", "value"),
    [
        ("$1.total", "credits['total']", 3),
        ("$1.crew[0].id", "credits['crew'][0]['id']", 1),
        ("$1.crew[-1].id", "credits['crew'][-1]['id']", 3),
        ("$1.crew[job=Director].id", f"next({DIRECTORS})['id']", 2),
        ("$1.crew[id=3].day", "next(credit for credit in credits['crew'] if credit['id'] == 3)['day']", "2019-01-01"),
        ("$1.crew[job=Director][1].id", f"[{DIRECTORS}][1]['id']", 3),
        ("$1.crew+crew[-1].id", "(credits['crew'] + credits['crew'])[-1]['id']", 3),
        ("$1.crew[*].id", "[credit['id'] for credit in credits['crew']]", [1, 2, 3]),
        ("$1.crew[:2][*].id", "[credit['id'] for credit in credits['crew'][:2]]", [1, 2]),
        ("$1.crew[job=Director][*].id", f"[{DIRECTORS}]".replace("credit", "credit['id']", 1), [2, 3]),
        ("$1.crew[*].tags[*].name", f"[tag['name'] for {CREDIT} for tag in credit['tags']]", ["x", "y", "z"]),
        ("$1.crew.max(day).id", "max(credits['crew'], key=lambda credit: credit['day'])['id']", 2),
        ("$1.crew[job=Director].min(day).id", f"min(({DIRECTORS}), key=lambda credit: credit['day'])['id']", 3),
    ],
)
def test_a_reference_is_plain_python(reference: str, code: str, value: Any) -> None:
    written = code_of(reference, {1: "credits"}).written()
    assert written == code
    assert eval(written, {"credits": CREDITS}) == value


@pytest.mark.parametrize(
    ("template", "report"),
    [
        ("{$1.name}", "film['name']"),
        ("Done.", "'Done.'"),
        ("{len($1.cast)} people", "f\"{len(film['cast'])} people\""),
        ("{$1.cast[*].name}", "', '.join(credit['name'] for credit in film['cast'])"),
        ("{$1.day[:4] + $2.day[:4]}", "film['day'][:4] + other['day'][:4]"),
    ],
)
def test_a_report_is_an_expression_or_a_text_with_expressions(template: str, report: str) -> None:
    assert Writer({1: "film", 2: "other"}, {}).report(template) == report


def test_arguments_are_written_as_keywords_unless_their_names_forbid_it() -> None:
    step = Step("GET /a/{b}", {"b": "$1.id"}, {"vote.gte": 7, "from": "x", "page": 2})
    assert Writer({1: "film"}, {}).call("find", step) == "find(b=film['id'], page=2, **{'vote.gte': 7, 'from': 'x'})"


def test_values_that_are_known_already_are_written_out() -> None:
    writer = Writer({1: "film"}, {"$1.id": [7]})
    assert (writer.value("$1.id"), writer.value(["$1.id"]), writer.value(["$1.cast[*].id"])) == (
        "7",
        "[7]",
        "[credit['id'] for credit in film['cast']]",
    )


def test_no_variable_hides_a_function_or_another_variable() -> None:
    steps = [Step("GET /search/tv"), Step("GET /follow"), Step("GET /tv/{id}"), Step("GET /tv/{id}"), Step("POST /me")]
    names = variables_of(steps, range(1, 6), ["follow"])
    assert names == {1: "found", 2: "found_2", 3: "tv", 4: "tv_2", 5: "me"}


def functions_of(world: World[Any]) -> dict[str, Callable[..., Any]]:
    return {operation.name: function_of(world, operation) for operation in world.api.operations}


def function_of(world: World[Any], operation: Operation) -> Callable[..., Any]:
    places = set(re.findall(r"\{(\w+)\}", operation.path))

    def call(body: Any = None, **given: Any) -> Any:
        path = {name: value for name, value in given.items() if name in places}
        query = {
            name: ",".join(value) if isinstance(value, list) else value
            for name, value in given.items()
            if name not in places
        }
        reply = world.call(f"{operation.method} {operation.path}", path=path, query=query, body=body)
        assert reply.ok, reply.body
        return reply.body

    return call


def program_of(task: Task, world: World[Any]) -> str:
    operations = {operation.name: f"{operation.method} {operation.path}" for operation in world.api.operations}
    by_shape = {shape(text): name for name, text in operations.items()}
    script = Script("", task.steps, task.right(world), operations=operations, report=task.answer)
    return whole_program(script, [by_shape[shape(step.operation)] for step in task.steps])


@pytest.mark.sampled(3, "seed")
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("name", NAMES)
def test_every_computed_report_is_right(name: str, seed: int) -> None:
    world = open_world(name, seed=seed)
    wrong = {}
    for task in (*open_tasks(name), *open_tasks(name, own=True)):
        world.reset(task.fixture)
        code, printed = program_of(task, world), io.StringIO()
        with redirect_stdout(printed):
            exec(code, functions_of(world))
        verdict = task.check(world, world.log, printed.getvalue())
        if not verdict.ok:
            wrong[task.key] = f"{verdict.why}: {printed.getvalue()}"
    assert wrong == {}


@pytest.mark.parametrize("name", NAMES)
def test_every_question_has_a_report_that_is_computed(name: str) -> None:
    questions = [task for task in (*open_tasks(name), *open_tasks(name, own=True)) if is_question(task)]
    assert [task.key for task in questions if not re.search(r"\{[^}]*\$\d", task.answer)] == []
