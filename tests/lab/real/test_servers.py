"""Guards the tasks on real servers: their judges judge, and scripted programs fulfil them on the way of every run."""

from collections.abc import Iterator

import pytest
from realprograms import REPLIES, model_for

from lab.kit.process import MissingServerError
from lab.real.__main__ import SERVERS
from lab.real.check import check_task
from lab.real.kinto.server import VERSION
from lab.real.run import Outcome, run_task
from lab.real.server import Running, Server
from lab.real.task import Task

pytestmark = pytest.mark.slow

TOO_MUCH = "powerdns/retire"
"""The scripted program of this task deletes a zone that nobody wants to be deleted."""


@pytest.fixture(scope="module", params=SERVERS)
def served(request: pytest.FixtureRequest) -> Iterator[tuple[Server, Running]]:
    server = SERVERS[request.param]
    try:
        with server.serve() as running:
            yield server, running
    except MissingServerError as error:
        pytest.skip(str(error))


def outcome_of(server: Server, running: Running, task: Task) -> Outcome:
    fee = next((at for at, path in enumerate(server.seed) if path.endswith("/late-fee")), 0)
    return run_task(server, running, task, model_for(f"{server.name}/{task.name}", VERSION=str(VERSION + fee)))


def test_every_judge_passes_the_gold_calls_and_fails_everything_else(served: tuple[Server, Running]) -> None:
    server, running = served
    assert len(server.tasks) == 10
    assert [line for task in server.tasks for line in check_task(server, running, task)] == []


def test_scripted_programs_fulfil_tasks_with_exactly_the_approvals_that_they_need(
    served: tuple[Server, Running],
) -> None:
    server, running = served
    scripted = [task for task in server.tasks if f"{server.name}/{task.name}" in REPLIES.keys() - {TOO_MUCH}]
    assert len(scripted) >= 3
    outcomes = [outcome_of(server, running, task) for task in scripted]
    assert [(outcome.task, outcome.faults) for outcome in outcomes if not outcome.ok or outcome.person.rejected] == []
    assert [outcome.cost["calls"] for outcome in outcomes] == [
        len(REPLIES[f"{server.name}/{task.name}"]) for task in scripted
    ]
    assert all(outcome.cost["requests"] and outcome.cost["input_tokens"] for outcome in outcomes)


def test_a_change_that_the_task_does_not_want_is_rejected_and_the_task_fails(served: tuple[Server, Running]) -> None:
    server, running = served
    if server.name != "powerdns":
        pytest.skip("the program that changes too much is one for PowerDNS")
    [task] = [task for task in server.tasks if f"{server.name}/{task.name}" == TOO_MUCH]
    outcome = outcome_of(server, running, task)
    assert (outcome.person.approved, outcome.person.rejected, outcome.ok) == (0, 1, False)
    assert "/servers/localhost/zones/example.org./www.example.org./A" in server.state(running.http)
