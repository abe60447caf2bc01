"""Guards the jobs of the rigs: many different programs, each of which makes exactly its changes."""

import pytest
from langchain_core.messages import HumanMessage, SystemMessage

from lab.hostile.faults import Case, Trouble, proving
from lab.kills.job import FEWEST, MOST, JobModel, make_jobs
from lab.kit.errand import DONE, UNDONE
from lab.kit.tally import Tally


def test_a_seed_gives_many_different_jobs_and_the_same_ones_again() -> None:
    jobs = make_jobs(50)
    assert len({job.code for job in jobs}) == len({job.instruction for job in jobs}) == 50
    assert make_jobs(50) == jobs
    assert make_jobs(50, seed=1) != jobs


def test_jobs_have_loops_gather_and_three_to_ten_changes() -> None:
    jobs = make_jobs(50)
    assert all(FEWEST <= job.changes <= MOST for job in jobs)
    assert sum("gather(" in job.code for job in jobs) >= 25
    assert sum("\nfor " in job.code for job in jobs) >= 25
    assert {job.world for job in jobs} == {"spotify", "toy"}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("number", [0, 1], ids=["spotify", "toy"])
def test_the_program_of_a_job_makes_its_changes(number: int) -> None:
    job = make_jobs(2)[number]
    with proving(job, budget=300) as proof:
        proof.prove(Case(Trouble("nothing"), 1, 0), tally := Tally())
        made = [entry for entry in proof.server.world.log if entry.ok and entry.method != "GET"]
    assert tally.wrong == []
    assert len(made) == job.changes


@pytest.mark.parametrize(
    ("results", "decision"), [([], "program"), (["an error"], "program"), (["an error", "an error"], "end")]
)
def test_the_model_of_a_job_writes_the_program_twice_at_most(results: list[str], decision: str) -> None:
    messages = [SystemMessage("You fulfil a user's instruction"), HumanMessage("the instruction")]
    reply = JobModel.over(make_jobs(1)[0]).reply([*messages, *map(HumanMessage, results)], [])
    assert isinstance(reply, dict)
    assert reply["decision"] == decision
    assert decision == "program" or reply["text"] == UNDONE


def test_the_model_of_a_job_ends_with_the_report_of_its_program() -> None:
    messages = [SystemMessage("You are the planner"), HumanMessage("the instruction"), HumanMessage(f"… {DONE} …")]
    reply = JobModel.over(make_jobs(1)[0]).reply([*messages], [])
    assert isinstance(reply, dict)
    assert (reply["decision"], reply["text"]) == ("end", DONE)
