"""Guards changes against kills: at every request and at random moments, nothing is lost and nothing is made twice."""

from collections.abc import Iterator
from typing import Any

import pytest
from board import CALLS, served_board
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from restgpt.bench.errand import DONE, ErrandModel, board_errand
from restgpt.bench.rigs.crash import Kill, Stage, border_kills, measure, open_stage, random_kills, trials
from restgpt.bench.rigs.postgres import NoPostgresError, postgres_server
from restgpt.commands.agent import Agent
from restgpt.graph.build import build_graph
from restgpt.nodes.context import Context
from restgpt.nodes.resources import Resources
from restgpt.tools.settings import Settings


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    with open_stage() as opened:
        yield opened


@pytest.mark.slow
def test_a_run_killed_around_its_changes_goes_on_with_none_lost_and_none_doubled(stage: Stage) -> None:
    kills = [[Kill("answer", 2)], [Kill("answer", 3), Kill("answer", 1)], [Kill("send", 3)]]
    tally = trials(stage, kills)
    assert tally.wrong == []
    assert tally.killed == len(kills)
    assert tally.questions >= 2


@pytest.mark.slow
def test_a_run_killed_at_random_moments_goes_on(stage: Stage) -> None:
    found = measure(stage)
    assert trials(stage, random_kills(3, found.seconds, seed=1)).wrong == []


def test_the_borders_are_all_nodes_and_both_sides_of_all_requests() -> None:
    assert len(border_kills(nodes=3, requests=2)) == 3 + 2 * 2
    assert [Kill("answer", 2)] in border_kills(nodes=3, requests=2)


@pytest.mark.slow
def test_on_postgresql_a_killed_run_goes_on_too() -> None:
    pytest.importorskip("psycopg", reason="PostgreSQL's packages are not installed")
    try:
        with postgres_server() as url, open_stage(database=url) as stage:
            assert trials(stage, [[Kill("answer", 2)]]).wrong == []
    except NoPostgresError as error:
        pytest.skip(str(error))


class _KilledError(Exception):
    """Stands in for the end of the process."""


class _Dying(InMemorySaver):
    """Keeps results of tasks, and dies when it is to keep the checkpoint of a step."""

    def __init__(self, steps: set[int]) -> None:
        super().__init__()
        self.steps = steps

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        if metadata["step"] in self.steps:
            raise _KilledError
        return super().put(config, checkpoint, metadata, new_versions)


@pytest.mark.parametrize("step", range(10))
def test_a_run_killed_between_a_result_and_its_checkpoint_is_unfinished_and_goes_on(step: int) -> None:
    with served_board() as board:
        steps = {step}
        saver, store = _Dying(steps), InMemoryStore()
        resources = Resources(
            [board.api], model=ErrandModel.over(board_errand()), settings=Settings(), defaults=Context(**CALLS)
        )
        context = Context(writes="allow", code=False)
        graph = build_graph(resources=resources, checkpointer=saver, store=store)
        agent = Agent(graph, resources, [board.api], context)
        given: Any = {"instruction": board_errand().instruction}
        with pytest.raises(_KilledError):
            graph.invoke(given, agent.config("t"), context=context, durability="sync")
        steps.clear()
        given = None if agent.is_unfinished("t") else given
        graph.invoke(given, agent.config("t"), context=context, durability="sync")
        assert not agent.is_unfinished("t")
        assert agent.outcome("t").answer == DONE
        assert [call for call in board.calls() if call.startswith("POST")] == [
            "POST /projects 201",
            *["POST /projects/{project_id}/tasks 201"] * 2,
        ]
