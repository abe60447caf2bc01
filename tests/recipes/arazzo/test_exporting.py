"""Export: linear recipes become steps of Arazzo; others keep their program and stop other runners."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from paths import api_of

from restgpt.recipes.arazzo.exporting import NOT_PROVED, PROGRAM, to_arazzo
from restgpt.recipes.arazzo.fault import ArazzoError
from restgpt.recipes.recipe import Recipe, RecipeApi, Saved, SavedCall, Source, UsedOperation
from restgpt_bench.worlds.world import document

GOLDEN = Path(__file__).parent / "golden"
TOY = document("toy")
CREATE = UsedOperation(
    function="create_project", api="toy", method="POST", path="/projects", status=(201,), reads={"/id": ("integer",)}
)
ADD = UsedOperation(
    function="create_task",
    api="toy",
    method="POST",
    path="/projects/{id}/tasks",
    status=(200, 201),
    reads={"/id": ("integer",), "/title": ("string",)},
)


def a_recipe(**changed: Any) -> Recipe:
    """A recipe that makes a project and adds a task to it."""
    fields: dict[str, Any] = {
        "name": "add-task",
        "description": "Add a project with a task.",
        "saved": Saved(at="2026-01-01T00:00:00Z"),
        "apis": (RecipeApi(name="toy"),),
        "inputs": {
            "type": "object",
            "properties": {
                "project": {"type": "string", "examples": ["Roof garden"]},
                "title": {"type": "string", "examples": ["Buy soil"]},
            },
            "required": ["project", "title"],
        },
        "program": (
            'project = create_project(body={"name": inputs["project"]})\n'
            'create_task(project_id=project["id"], body={"title": f"Do: {inputs[\'title\']}", "hours": 3})'
        ),
        "operations": (CREATE, ADD),
        "calls": (
            SavedCall(function="create_project", arguments={"/body/name": Source(input="project")}),
            SavedCall(
                function="create_task",
                arguments={
                    "/path/project_id": Source(call=1, at="/id"),
                    "/body/title": Source(text="Do: {title}"),
                    "/body/hours": Source(value=3),
                },
            ),
        ),
        "is_linear": True,
    }
    return Recipe(**{**fields, **changed})


def exported(recipe: Recipe, **options: Any) -> dict[str, Any]:
    return to_arazzo(recipe, {"toy": "toy.yaml"}, TOY.operations, **options).document


def with_argument(pointer: str, source: Source) -> Recipe:
    """The recipe with one more argument of its first call."""
    first, second = a_recipe().calls
    changed = SavedCall(function=first.function, arguments={**first.arguments, pointer: source})
    return a_recipe(calls=(changed, second))


def test_a_linear_recipe_is_written_as_steps() -> None:
    wanted = yaml.safe_load((GOLDEN / "add-task.arazzo.yaml").read_text(encoding="utf-8"))
    assert exported(a_recipe()) == wanted


def test_the_version_can_be_chosen() -> None:
    assert exported(a_recipe(), version="1.0.1")["arazzo"] == "1.0.1"


def test_a_proved_recipe_does_not_say_that_it_is_not_proved() -> None:
    assert NOT_PROVED in exported(a_recipe())["info"]["description"]
    assert NOT_PROVED not in exported(a_recipe(proved="2026-01-02T00:00:00Z"))["info"]["description"]


def test_a_recipe_with_a_loop_keeps_its_program_and_has_no_step_that_sends() -> None:
    export = to_arazzo(a_recipe(is_linear=False), {"toy": "toy.yaml"}, TOY.operations)
    [workflow] = export.document["workflows"]
    assert workflow[PROGRAM] == a_recipe().program
    assert [step["operationPath"] for step in workflow["steps"]] == [f"{{$sourceDescriptions.toy.url}}#/{PROGRAM}"]
    assert export.notices == (
        "The recipe add-task cannot be written as Arazzo steps: it has loops, choices or computed values. Its program "
        "is in x-restgpt-program, which other runners do not carry out: they stop before the first request.",
    )


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (Source(), "the value at /body/owner is computed"),
        (Source(value="$inputs.project"), "the text at /body/owner would be read as a runtime expression"),
        (Source(value="{x}"), "the text at /body/owner would be read as a runtime expression"),
        (Source(text="{{title}"), "the text at /body/owner has braces of its own"),
        (Source(call=1, at="/id"), "the value at /body/owner comes from call 1, which is not before it"),
    ],
)
def test_a_value_that_arazzo_cannot_say_keeps_the_program(source: Source, reason: str) -> None:
    export = to_arazzo(with_argument("/body/owner", source), {"toy": "toy.yaml"}, TOY.operations)
    assert PROGRAM in export.document["workflows"][0]
    assert reason in export.notices[0]


def test_arrays_of_arguments_are_written_as_arrays() -> None:
    first, second = a_recipe().calls
    arguments = {"/body/tags/1/name": Source(value="b"), "/body/tags/0/name": Source(value="a")}
    recipe = a_recipe(calls=(SavedCall(function=first.function, arguments=arguments), second))
    [step, _] = exported(recipe)["workflows"][0]["steps"]
    assert step["requestBody"]["payload"] == {"tags": [{"name": "a"}, {"name": "b"}]}


def test_a_fixed_truth_value_of_a_parameter_is_written_as_in_a_url() -> None:
    used = UsedOperation(function="find_tasks", api="toy", method="GET", path="/tasks")
    call = SavedCall(
        function="find_tasks", arguments={"/query/done": Source(value=False), "/query/page": Source(value=2)}
    )
    [step] = exported(a_recipe(operations=(used,), calls=(call,)))["workflows"][0]["steps"]
    assert [parameter["value"] for parameter in step["parameters"]] == ["false", 2]


def test_an_operation_without_an_id_is_named_by_its_place_in_the_document() -> None:
    paths = {"/projects": {"post": {"requestBody": {"content": {"application/json": {}}}, "responses": {}}}}
    api = api_of(paths, title="toy", servers=[{"url": "https://toy.example"}])
    recipe = a_recipe(operations=(CREATE,), calls=a_recipe().calls[:1])
    [step] = to_arazzo(recipe, {"toy": "toy.yaml"}, api.operations).document["workflows"][0]["steps"]
    assert step["operationPath"] == "{$sourceDescriptions.toy.url}#/paths/~1projects/post"


def test_with_several_apis_each_operation_is_named_by_its_place() -> None:
    recipe = a_recipe(apis=(RecipeApi(name="toy"), RecipeApi(name="other")))
    made = to_arazzo(recipe, {"toy": "toy.yaml", "other": "other.yaml"}, TOY.operations).document
    assert [source["name"] for source in made["sourceDescriptions"]] == ["toy", "other"]
    assert [step["operationPath"] for step in made["workflows"][0]["steps"]] == [
        "{$sourceDescriptions.toy.url}#/paths/~1projects/post",
        "{$sourceDescriptions.toy.url}#/paths/~1projects~1{project_id}~1tasks/post",
    ]


def test_what_is_missing_for_an_export_is_listed_with_its_place() -> None:
    gone = ADD.model_copy(update={"path": "/nowhere"})
    with pytest.raises(ArazzoError) as caught:
        to_arazzo(a_recipe(operations=(CREATE, gone)), {}, TOY.operations)
    assert str(caught.value).splitlines() == [
        "The recipe add-task cannot be exported.",
        "- at /apis/0: no document is given for the API 'toy': name its path or URL",
        "- at /operations/1: the document of 'toy' has no operation POST /nowhere: run the recipe with --check",
    ]
