"""Guards a planner that repeats itself: it is told, and in the end stopped with what was found."""

import pytest
from board import Board
from roles import by_role, call, end, plan, program, prompts_of, select

LOOK = plan("Count the tasks")


def looping(rounds: int, *last: object) -> dict[str, list[object]]:
    return {
        "planner": [*[LOOK] * rounds, *last],
        "selector": [select("get_project")] * rounds,
        "caller": [call({"path": {"project_id": 99}})] * rounds,
    }


def test_the_second_equal_round_is_told_to_the_planner(board: Board) -> None:
    model = by_role(looping(2, end("There is no project 99.", fulfilled=False)))
    board.agent(model).ask("Show project 99")
    told = [str(prompt[-1].text) for prompt in prompts_of(model, "planner")]
    assert ["the second time" in text for text in told] == [False, False, True]
    assert told[2].index("</result-") < told[2].index("the second time")


def test_the_third_equal_round_ends_with_an_answer_that_is_not_fulfilled(board: Board) -> None:
    model = by_role(looping(3, end("There is a project.", fulfilled=True)))
    agent = board.agent(model)
    assert agent.ask("Show project 99")["answer"] == "There is a project."
    assert agent.state["decision"]["fulfilled"] is False
    assert "3 rounds with the same calls and results" in str(prompts_of(model, "planner")[3][-1].text)
    assert board.calls() == ["GET /projects/{project_id} 404"] * 3


def test_a_planner_that_still_goes_on_is_stopped_with_what_was_found(board: Board) -> None:
    agent = board.agent(by_role(looping(3, LOOK)))
    answer = agent.ask("Show project 99")["answer"]
    assert "3 rounds with the same calls and results" in answer
    assert "get_project" in answer
    assert agent.state["decision"]["fulfilled"] is False


def test_equal_changes_that_succeed_are_carried_out(board: Board) -> None:
    body = {"path": {"project_id": 1}, "body": {"title": "Chairs"}}
    script = {
        "planner": [*[plan("Add the task Chairs to project 1")] * 4, end("Four were added.")],
        "selector": [select("create_task")] * 4,
        "caller": [call(body)] * 4,
    }
    agent = board.agent(by_role(script), context={"road": "roles", "writes": "allow"})
    assert agent.ask("Add the task Chairs to project 1 four times")["answer"] == "Four were added."
    assert len(board.calls()) == 4
    assert agent.state["decision"]["fulfilled"] is True


@pytest.mark.parametrize("code", ["stop('Hm.', find_tasks()['total'])", "print(find_tasks()['total'] / 0)"])
def test_a_program_that_comes_again_is_told_what_came_of_it_and_ends_the_turn_at_the_third(
    board: Board, code: str
) -> None:
    model = by_role({"express": [program(code)] * 3})
    agent = board.agent(model, context={})
    assert "The model wrote the same program again" in agent.ask("How many tasks?")["answer"]
    told = [str(prompt[-1].text) for prompt in prompts_of(model, "express")]
    assert ["is the one that ran last" in text for text in told] == [False, False, True]
    assert (agent.state["road"], agent.state["decision"]["fulfilled"]) == ("", False)
    assert board.calls() == ["GET /tasks 200"]
