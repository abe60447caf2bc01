"""Guards changes against kills: at every request and at random moments, nothing is lost and nothing is made twice."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from board import served_board
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from lab.kills.crash.driver import Driver, open_stage
from lab.kills.crash.trial import Kill, Outcome, Trial
from lab.kills.crash.trials import border_trials, pause_trials, random_trials, trials, zombie_trials
from lab.kills.job import ClientJob, make_jobs
from lab.kills.ledger import Ledger
from lab.kills.machine import DAY_S, HOUR_S, Machine
from lab.kills.postgres import NoPostgresError, postgres_server
from lab.kills.repeat import SIZES, make_repeats
from lab.kit.errand import DONE, ErrandModel, board_errand
from restgpt import __version__
from restgpt.commands.agent_run import Agent
from restgpt.graph.build import build_graph
from restgpt.nodes.run.services import Context, Services
from restgpt.tools.settings import Settings

JOBS = make_jobs(2)


@pytest.fixture(scope="module")
def driver() -> Iterator[Driver]:
    with open_stage() as stage:
        yield Driver(stage)


@pytest.fixture(scope="module")
def trusting() -> Iterator[Driver]:
    with open_stage(writes="allow") as stage:
        yield Driver(stage)


@pytest.mark.slow
def test_a_run_killed_around_its_changes_goes_on_with_none_lost_and_none_doubled(driver: Driver) -> None:
    kills = [(Kill("answer", 2),), (Kill("answer", 3), Kill("answer", 1)), (Kill("send", 3),)]
    tally = trials(driver, [Trial(driver.stage.errand, kill) for kill in kills])
    assert tally.wrong == []
    assert tally["killed"] == len(kills)
    assert tally["unknown"] >= 2


@pytest.mark.slow
def test_a_run_killed_at_random_moments_goes_on(driver: Driver) -> None:
    assert trials(driver, random_trials(driver, [driver.stage.errand], 3, seed=1)).wrong == []


@pytest.mark.slow
def test_a_clients_program_killed_around_its_changes_goes_on_with_none_lost_and_none_doubled() -> None:
    spotify, board = map(ClientJob.of, JOBS)
    chosen = [
        Trial(spotify, (Kill("answer", 3),)),
        Trial(spotify, (Kill("send", 2), Kill("question", 2))),
        Trial(board, (Kill("answer", 4), Kill("send", 2))),
        Trial(board, (Kill("node", 3),)),
    ]
    with open_stage() as stage:
        tally = trials(Driver(stage), chosen)
    assert tally.wrong == []
    assert tally["killed"] == len(chosen)
    assert tally["unknown"] >= 1


@pytest.mark.slow
def test_a_program_killed_around_its_changes_goes_on_and_asks_about_none_twice(driver: Driver) -> None:
    spotify, board = JOBS
    chosen = [
        Trial(spotify, (Kill("answer", 3),)),
        Trial(spotify, (Kill("node", 7), Kill("question", 2))),
        Trial(board, (Kill("answer", 4), Kill("send", 2))),
    ]
    tally = trials(driver, chosen)
    assert tally.wrong == []
    assert tally["killed"] == len(chosen)
    assert tally["unknown"] >= 1


@pytest.mark.slow
def test_a_recipe_killed_around_its_changes_goes_on_without_a_model(driver: Driver) -> None:
    [recipe] = make_repeats(1, sizes=[4])
    kills = [(Kill("send", 2),), (Kill("answer", 2),), (Kill("node", 5), Kill("answer", 3)), (Kill("question", 2),)]
    tally = trials(driver, [Trial(recipe, kill) for kill in kills])
    assert tally.wrong == []
    assert tally["killed"] == len(kills)
    assert tally["unsure"] >= 1


@pytest.mark.slow
def test_recipes_for_the_rig_repeat_jobs_with_one_to_eight_changes() -> None:
    [small, large] = make_repeats(2, sizes=[2])
    assert [item.changes for item in (small, large)] == [2, 2]
    assert {small.world, large.world} == {"spotify", "toy"}
    assert all(used.key for used in small.recipe.operations)
    assert (min(SIZES), max(SIZES)) == (1, 8)


@pytest.mark.slow
def test_a_program_goes_on_after_the_clock_was_set_back(trusting: Driver) -> None:
    behind = Machine(ahead=-HOUR_S)
    tally = trials(trusting, [Trial(JOBS[1], (Kill("node", 8), Kill("node", 12, behind)))])
    assert tally.wrong == []
    assert tally["moved"] == 1


@pytest.mark.slow
def test_a_program_goes_on_between_clocks_that_are_hours_ahead_and_behind(trusting: Driver) -> None:
    kills = (Kill("node", 5, Machine(ahead=3 * HOUR_S)), Kill("answer", 3, Machine(ahead=-3 * HOUR_S)))
    tally = trials(trusting, [Trial(JOBS[1], kills, last=Machine(ahead=-DAY_S))])
    assert tally.wrong == []
    assert tally["moved"] == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "stop",
    [Kill("store", 1), Kill("store", 60), Kill("node", 4), Kill("send", 6), Kill("answer", 6)],
    ids=["before its claim", "in the middle", "between nodes", "before a request", "after a request"],
)
def test_a_program_that_was_stopped_and_goes_on_later_doubles_nothing(trusting: Driver, stop: Kill) -> None:
    tally = trials(trusting, [Trial(JOBS[1], (replace(stop, fate="stopped"),), locked=False)])
    assert tally.wrong == []
    assert tally["fenced"] == 1


@pytest.mark.slow
def test_a_zombie_whose_lock_files_were_removed_doubles_nothing_though_a_person_approves_carelessly(
    driver: Driver,
) -> None:
    stopped = Kill("answer", 3, fate="stopped")
    tally = trials(driver, [Trial(JOBS[1], (stopped,), person="careless", removed="locks")])
    assert tally.wrong == []
    assert tally["fenced"] == 1


@pytest.mark.slow
def test_a_run_whose_database_was_removed_doubles_nothing(driver: Driver) -> None:
    stopped = Kill("node", 9, fate="stopped")
    tally = trials(driver, [Trial(JOBS[1], (stopped,), removed="database")])
    assert tally.wrong == []
    assert tally["zombies"] == 1


@pytest.mark.slow
def test_a_program_answered_a_day_later_by_another_version_completes(driver: Driver) -> None:
    tally = trials(driver, pause_trials(JOBS[:1]))
    assert tally.wrong == []
    assert tally["killed"] == tally["moved"] == 1


@pytest.mark.slow
def test_programs_killed_at_random_moments_go_on(trusting: Driver) -> None:
    tally = trials(trusting, random_trials(trusting, JOBS, 2, seed=1))
    assert tally.wrong == []
    assert tally["killed"] == 2


def test_the_borders_are_all_nodes_and_both_sides_of_all_requests() -> None:
    borders = border_trials(JOBS[0], nodes=3, requests=2)
    assert len(borders) == 3 + 2 * 2
    assert Trial(JOBS[0], (Kill("answer", 2),)) in borders


def test_zombies_stop_at_all_nodes_requests_and_uses_of_the_store() -> None:
    stops = list(zombie_trials(JOBS[0], Outcome(nodes=3, requests=2, uses=5)))
    assert len(stops) == 3 + 2 * 2 + 5
    assert all(trial.kills[0].fate == "stopped" for trial in stops)
    assert {trial.removed for trial in stops} == {"", "locks", "database"}
    assert {trial.person for trial in stops} == {"careful", "careless"}


@pytest.mark.slow
def test_on_postgresql_a_killed_run_goes_on_too() -> None:
    pytest.importorskip("psycopg", reason="PostgreSQL's packages are not installed")
    try:
        with postgres_server() as url, open_stage(database=url) as stage:
            chosen = [Trial(stage.errand, (Kill("answer", 2),)), Trial(JOBS[1], (Kill("answer", 4),))]
            assert trials(Driver(stage), chosen).wrong == []
    except NoPostgresError as error:
        pytest.skip(str(error))


def test_the_judge_forgives_a_doubled_change_only_where_a_person_took_the_risk() -> None:
    made = Ledger(Counter({"POST a": 2, "POST b": 1}), "state")
    outcome = Outcome(DONE, __version__, ledger=made)
    assert _judged(outcome) == ["doubled POST a"]
    outcome.hear(("risked",))
    assert _judged(outcome) == []


def _judged(outcome: Outcome) -> list[str]:
    wanted = Outcome(DONE, __version__, ledger=Ledger(Counter({"POST a": 1, "POST b": 1}), "state"))
    return outcome.faults(wanted, Trial(JOBS[0]))


def test_the_judge_sees_changes_that_are_lost_or_doubled() -> None:
    made = Ledger(Counter({"POST a": 2}), "another state")
    assert _judged(Outcome(DONE, __version__, ledger=made)) == ["lost POST b", "doubled POST a"]


def test_the_judge_sees_a_question_that_was_asked_twice_unless_its_answer_died_with_the_process() -> None:
    outcome = Outcome(DONE, __version__, ledger=Ledger(Counter({"POST a": 1, "POST b": 1}), "state"))
    outcome.hear(("question", "", "POST a"))
    outcome.hear(("question", "", "POST a"))
    assert _judged(outcome) == []
    outcome.hear(("answered", "POST a"))
    outcome.hear(("question", "unknown", "POST a"))
    assert _judged(outcome) == []
    outcome.hear(("question", "", "POST a"))
    assert _judged(outcome) == ["asked twice about POST a"]


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


@pytest.mark.sampled(4)
@pytest.mark.parametrize("step", range(10))
def test_a_run_killed_between_a_result_and_its_checkpoint_is_unfinished_and_goes_on(step: int) -> None:
    with served_board() as board:
        steps = {step}
        saver, store = _Dying(steps), InMemoryStore()
        services = Services([board.api], model=ErrandModel.over(board_errand()), settings=Settings())
        context = Context(writes="allow", code=False, road="roles")
        graph = build_graph(services=services, checkpointer=saver, store=store)
        agent = Agent(graph, services, [board.api], context)
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
