"""Guards what a program is told of failed calls: only a success is an answer."""

import pytest
from board import served_board
from scripted import ScriptedModel

from restgpt_bench.worlds.faults import Fault

CODE = """
try:
    create_project(body={"name": "Quay"})
    print("made")
except ApiError as error:
    print(f"failed: {error.status}")
"""


@pytest.mark.parametrize("status", [302, 304, 404])
def test_a_status_that_is_no_success_is_an_error_in_a_program(status: int) -> None:
    with served_board() as board:
        board.world.faults.replace([Fault(status=status)])
        agent = board.agent(ScriptedModel([{"thought": "", "decision": "program", "text": CODE}]))
        told = agent.ask("Make a project.", writes="allow", road="program")["answer"]
        assert told == f"failed: {status}\n(create_project was not done: the API answered {status})"
        assert board.calls() == [f"POST /projects {status}"]
