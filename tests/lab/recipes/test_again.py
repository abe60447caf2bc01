"""Guards the measurement of recipes that run again: what is compared, and with which programs."""

import pytest

from lab.recipes.again import main, runs_of
from lab.recipes.written import programs


@pytest.mark.slow
def test_a_saved_program_does_the_same_again() -> None:
    [written] = [item for item in programs() if item.name == "hand-over"]
    first, again = runs_of(written)
    assert first == again
    assert first.changes
    assert main(["finish-task"]) == 0


def test_the_written_programs_are_many_and_a_third_of_them_change_something() -> None:
    assert len(programs()) >= 30
    assert 3 * sum(item.changes > 0 for item in programs()) >= len(programs())
    assert len({item.name for item in programs()}) == len(programs())
