"""Guards a planner that repeats itself: it is told, and in the end stopped with what was found."""

import pytest
from board import Agent, Board
from roles import by_role, call, end, plan, program, prompts_of, select
from scripted import Reply

LOOK = plan("Count the tasks")


def looping(board: Board, planner: list[Reply], operation: str, made: Reply) -> Agent:
    """An agent that makes one call in each round."""
    return board.one_task(planner=planner, selector=[select(operation)] * 4, caller=[made] * 4)


@pytest.mark.parametrize("last", [end("There is a project 99."), LOOK], ids=["ends", "goes on"])
def test_equal_rounds_are_told_to_the_planner_and_end_the_turn_at_the_third(board: Board, last: Reply) -> None:
    agent = looping(board, [*[LOOK] * 3, last], "get_project", call({"path": {"project_id": 99}}))
    answer = agent.ask("Show project 99")["answer"]
    told = [str(prompt[-1].text) for prompt in prompts_of(agent.model, "planner")]
    assert ["the second time" in text for text in told] == [False, False, True, False]
    assert told[2].index("</result-") < told[2].index("the second time")
    stopped = "3 rounds with the same calls and results"
    assert stopped in told[3]
    assert agent.state["decision"]["fulfilled"] is False
    assert board.calls() == ["GET /projects/{project_id} 404"] * 3
    if last is LOOK:
        assert stopped in answer
        assert "get_project" in answer
    else:
        assert answer == "There is a project 99."


def test_equal_changes_that_succeed_are_carried_out(board: Board) -> None:
    made = call({"path": {"project_id": 1}, "body": {"title": "Chairs"}})
    planner = [*[plan("Add the task Chairs to project 1")] * 4, end("Four were added.")]
    agent = looping(board, planner, "create_task", made)
    asked = "Add the task Chairs to project 1 four times"
    assert agent.ask(asked, writes="allow")["answer"] == "Four were added."
    assert len(board.calls()) == 4
    assert agent.state["decision"]["fulfilled"] is True


@pytest.mark.parametrize("code", ["stop('Hm.', find_tasks()['total'])", "print(find_tasks()['total'] / 0)"])
def test_a_program_that_comes_again_is_told_what_came_of_it_and_a_third_ends_the_turn(board: Board, code: str) -> None:
    model = by_role({"express": [program(code)] * 3})
    agent = board.agent(model, context={})
    assert "The model wrote the same program again" in agent.ask("How many tasks?")["answer"]
    told = [str(prompt[-1].text) for prompt in prompts_of(model, "express")]
    assert ["is the one that ran last" in text for text in told] == [False, False, True]
    assert (agent.state["road"], agent.state["decision"]["fulfilled"]) == ("", False)
    assert board.calls() == ["GET /tasks 200"]
