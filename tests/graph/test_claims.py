"""Guards that no turn whose calls all failed ends as fulfilled, and that one without calls is asked about first."""

from typing import Any

import pytest
from board import Board
from roles import end, program
from scripted import ScriptedModel

CLAIM = end("The task 117 takes 2 hours.")
CAUGHT = "try:\n    get_project(117)\nexcept ApiError:\n    pass\nprint('Task 117 takes 2 hours.')"
HOURS = "How many hours does task 117 take?"


@pytest.mark.parametrize("road", ["roles", "auto"])
@pytest.mark.parametrize(
    "reply",
    [
        {**CLAIM, "fulfilled": None},
        {name: value for name, value in CLAIM.items() if name != "fulfilled"},
        program("print('Task 117 takes 2 hours.')"),
        program(CAUGHT),
    ],
    ids=range(4),
)
def test_an_answer_without_a_call_that_succeeded_is_not_fulfilled(board: Board, road: str, reply: Any) -> None:
    agent = board.agent(ScriptedModel(lambda prompt: reply), context={"road": road})
    agent.ask(HOURS)
    assert agent.state["decision"]["fulfilled"] is False


def test_a_claim_after_calls_that_failed_is_not_believed(board: Board) -> None:
    replies = iter([program("get_task(99)"), CLAIM])
    agent = board.agent(ScriptedModel(lambda prompt: next(replies)), context={})
    agent.ask("How many hours does task 99 take?")
    assert (board.calls(), agent.state["decision"]["fulfilled"]) == (["GET /tasks/{task_id} 404"], False)


@pytest.mark.parametrize("road", ["roles", "auto"])
@pytest.mark.parametrize("said", ["Hello!", HOURS, "3 plus 4?"])
def test_an_end_of_a_thread_without_calls_is_asked_about_once_then_believed(board: Board, road: str, said: str) -> None:
    agent = board.agent(ScriptedModel(lambda prompt: end("There are 7 of them.")), context={"road": road})
    assert agent.ask(said)["answer"] == "There are 7 of them."
    assert len(agent.model.prompts) == 2
    assert "nothing was called" in agent.model.texts[1]
    assert agent.state["decision"]["fulfilled"] is True


def test_an_answer_from_an_earlier_turn_is_fulfilled(board: Board) -> None:
    replies = iter([program("print(get_task(117)['hours'])"), end("2 hours, as I said.")])
    agent = board.agent(ScriptedModel(lambda prompt: next(replies)), context={})
    agent.ask(HOURS)
    agent.ask("Say again how many hours task 117 takes")
    assert agent.state["decision"]["fulfilled"] is True
