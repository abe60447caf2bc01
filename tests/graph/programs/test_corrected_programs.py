"""Guards corrected programs: a change that an earlier program made is not made once more."""

from board import served_board
from roles import program
from scripted import ScriptedModel

CODE = """
import datetime
import random
name = f"Made {datetime.datetime.now().isoformat()} lot {random.randrange(10**9)}"
print(create_project(body={"name": name})["name"])
"""


def test_a_corrected_program_has_the_clock_and_the_random_numbers_of_the_program_that_failed() -> None:
    with served_board() as board:
        agent = board.agent(ScriptedModel([program(f"{CODE}\nraise ValueError('too early')"), program(CODE)]))
        made = agent.ask("Make a project.", writes="allow", road="program")
        assert made["answer"].strip().startswith("Made ")
        assert board.calls() == ["POST /projects 201"]
