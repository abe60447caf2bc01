"""Guards that a run whose caller is gone begins no further request, keeps what was sent, and can go on."""

import asyncio
from typing import Any

import pytest
from board import Agent, Board
from roles import by_role, end, program

from restgpt.tools.http.cancellation import Cancellation, CancelledRunError, cancellable
from restgpt.tools.http.http_client import HttpClient
from restgpt_bench.worlds.faults import Fault, FaultKind

ADD = program("for title in ('Moss', 'Fern'):\n    print(create_task(project_id=1, body={'title': title})['title'])")
COUNT = program("print(find_tasks()['total'])")
TWO = "Add the tasks Moss and Fern to project 1"
SLOW = Fault(kind=FaultKind.SLOW, seconds=0.5)
BUSY = Fault(status=429, times=None, retry_after=1)
DOWN = Fault(status=503, times=None)


def requests(board: Board) -> list[int]:
    return [entry.status for entry in board.world.log]


@pytest.mark.parametrize(
    ("written", "fault", "sent"), [(ADD, SLOW, [201]), (ADD, BUSY, [429]), (COUNT, BUSY, [429]), (COUNT, DOWN, [503])]
)
def test_a_cancelled_task_sends_nothing_more(board: Board, written: Any, fault: Fault, sent: list[int]) -> None:
    """A LangGraph server cancels a run in the same way."""
    model = by_role({"express": [written, end("No call was needed.")]})
    # One thread, so that a second run begins only after the cancelled one has left it.
    agent = board.agent(model, context={"writes": "allow"}, concurrency=1)
    board.world.faults.replace([fault])

    async def run() -> None:
        task = asyncio.create_task(agent.graph.ainvoke({"instruction": TWO}, agent.config))
        while not board.world.log:
            await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()
        other = Agent(agent.graph, model, thread="other")
        await agent.graph.ainvoke({"instruction": "Hello"}, other.config)

    asyncio.run(run())
    assert requests(board) == sent
    if fault is SLOW:
        board.world.faults.replace([])
        assert agent.graph.invoke(None, agent.config)["answer"] == "Moss\nFern"
        assert requests(board) == [201, 201]


def test_work_inside_cancelled_work_sends_nothing(board: Board) -> None:
    agent = board.agent(by_role({"express": [COUNT]}), context={})
    outer = Cancellation()
    with cancellable(outer):
        inner = Cancellation()
    outer.cancel()
    with cancellable(inner), pytest.raises(CancelledRunError, match="nothing more was sent"):
        agent.ask("How many tasks are there?")
    assert requests(board) == []
    assert agent.graph.invoke(None, agent.config)["answer"] == "24"


def test_a_wait_ends_when_the_work_is_cancelled() -> None:
    work = Cancellation()
    work.cancel()
    with cancellable(work):
        HttpClient()._sleep(3600.0)
