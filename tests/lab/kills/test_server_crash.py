"""Guards the rig that kills MCP servers: a change is made once or not at all, as a person decided."""

import pytest

from lab.kills.server_crash import ERAS, PHASES, WAYS, make_trials, run_trials


def test_the_trials_cover_eras_ways_phases_and_decisions() -> None:
    trials = list(make_trials(50))
    assert len(trials) == 100
    assert {(trial.era, trial.way, trial.phase) for trial in trials} == {
        (era, way, phase) for era in ERAS for way in WAYS for phase in PHASES
    }
    assert {(trial.era, trial.approves) for trial in trials} == {(era, yes) for era in ERAS for yes in (True, False)}


@pytest.mark.slow
def test_a_killed_server_makes_a_change_once_or_not_at_all_as_decided() -> None:
    tally = run_trials(4, say=lambda text: None)
    assert tally.wrong == []
    assert tally["trials"] - tally["ended before the kill"] >= 4
