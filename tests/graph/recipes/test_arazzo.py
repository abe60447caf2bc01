"""Guards imported Arazzo workflows on the road of all calls: approval, refusal, dry run, retries of the workflow."""

from typing import Any

from arazzorun import Json, document, imported, inputs
from board import Board
from kitchen import Kitchen
from langgraph.types import Command

from restgpt.recipes.recipe import Recipe

NEW: Json = {
    "stepId": "new",
    "operationId": "create_project",
    "requestBody": {"payload": {"name": "$inputs.name", "owner": "Zelda"}},
    "successCriteria": [{"condition": "$statusCode == 201"}],
    "outputs": {"id": "$response.body#/id"},
}
ADD: Json = {
    "stepId": "add",
    "operationId": "create_task",
    "parameters": [{"name": "project_id", "in": "path", "value": "$steps.new.outputs.id"}],
    "requestBody": {"payload": {"title": "Plan", "hours": 4}},
    "outputs": {"task": "$response.body#/id"},
}


def a_recipe(board: Board, *steps: Json, **workflow: Any) -> Recipe:
    return imported(document(*steps, inputs=inputs("name"), **workflow), board.api)


def answered(kind: str) -> Any:
    return Command(resume={"decisions": [{"type": kind}]})


def test_each_change_of_a_workflow_is_asked_about(board: Board) -> None:
    kitchen = Kitchen(a_recipe(board, NEW, ADD, outputs={"task": "$steps.add.outputs.task"}), board)
    paused = kitchen.run({"name": "Shed"})
    [action] = paused["__interrupt__"][0].value["action_requests"]
    assert "/projects" in str(action)
    assert "Shed" in str(action)
    assert board.calls() == []
    kitchen.run(answered("approve"))
    done = kitchen.run(answered("approve"))
    assert done["answer"] == "task: 202"
    assert board.calls() == ["POST /projects 201", "POST /projects/{project_id}/tasks 201"]


def test_a_refused_change_ends_the_workflow_before_its_other_steps(board: Board) -> None:
    kitchen = Kitchen(a_recipe(board, NEW, ADD), board)
    kitchen.run({"name": "Shed"})
    done = kitchen.run(answered("reject"))
    assert board.calls() == []
    assert "not sent" in done["answer"]


def test_a_workflow_that_fails_says_at_which_step(board: Board) -> None:
    gone = {
        "stepId": "gone",
        "operationId": "get_project",
        "parameters": [{"name": "project_id", "in": "path", "value": 999}],
    }
    done = Kitchen(a_recipe(board, gone, NEW), board).run({"name": "Shed"}, writes="allow")
    assert "The step gone of main failed: the answer was HTTP 404." in done["answer"]
    assert board.calls() == ["GET /projects/{project_id} 404"]


def test_a_dry_run_of_a_workflow_shows_its_first_change_and_sends_none(board: Board) -> None:
    done = Kitchen(a_recipe(board, NEW, ADD), board).run({"name": "Shed"}, writes="dry-run")
    assert '"name": "Shed"' in done["answer"]
    assert board.calls() == []
