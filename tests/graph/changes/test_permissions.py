"""Guards permissions at a pause: what follows and looks like it goes out unasked, and nothing else does."""

from typing import Any

from board import Agent, Board
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command
from roles import program
from scripted import ScriptedModel

from restgpt.calling.permissions import Permissions

TITLES = ["Count the chairs", "Water the plants", "Sweep the floor"]
ASKED = f"Add the tasks {', '.join(map(repr, TITLES))} to project 1"
PROGRAM = "\n".join(f"create_task(project_id=1, title={title!r})" for title in TITLES) + "\nprint('added')"
TITLE = "/body/title"


def permit(**wish: Any) -> Command[Any]:
    return Command(resume={"decisions": [{"type": "approve", "permit": wish}]})


def waiting(agent: Agent) -> list[dict[str, Any]]:
    interrupts = agent.graph.get_state(agent.config).interrupts
    return [action for item in interrupts for action in item.value["action_requests"]]


def asked(board: Board, code: str = PROGRAM, thread: str = "thread", **options: Any) -> Agent:
    agent = board.agent(ScriptedModel([program(code)] * 2), context={}, **options)
    agent.thread = thread
    agent.ask(ASKED)
    return agent


def titles(board: Board) -> list[str]:
    return [task["title"] for task in board.tasks().values() if task["title"] in TITLES]


def test_the_rest_of_a_program_goes_out_after_one_answer(board: Board) -> None:
    agent = asked(board)
    [action] = waiting(agent)
    assert action["permit"]["free"] == {TITLE: {"from": "user"}}
    agent.graph.invoke(permit(free=[TITLE], times=2), agent.config)
    assert (titles(board), waiting(agent)) == (TITLES, [])


def test_after_its_uses_a_person_is_asked_again_and_sees_what_it_would_have_covered(board: Board) -> None:
    agent = asked(board)
    agent.graph.invoke(permit(free=[TITLE], times=1), agent.config)
    [action] = waiting(agent)
    assert titles(board) == TITLES[:2]
    assert action["permit"]["others"] == [
        {"differs": {TITLE: TITLES[0]}, "outside": []},
        {"differs": {TITLE: TITLES[1]}, "outside": []},
    ]


def test_a_wish_that_cannot_be_used_is_asked_again_with_the_reason(board: Board) -> None:
    agent = asked(board)
    agent.graph.invoke(permit(free=["/path/project_id"]), agent.config)
    [action] = waiting(agent)
    assert "has to stay as it is" in action["description"]
    assert titles(board) == []


def test_what_the_user_did_not_say_is_asked_about(board: Board) -> None:
    agent = asked(board, PROGRAM.replace(TITLES[1], "Burn the house"))
    agent.graph.invoke(permit(free=[TITLE]), agent.config)
    [action] = waiting(agent)
    assert (action["args"]["body"], titles(board)) == ({"title": "Burn the house"}, TITLES[:1])


def test_it_holds_in_another_run_until_it_is_taken_back(board: Board) -> None:
    store = InMemoryStore()
    first = asked(board, store=store)
    first.graph.invoke(permit(free=[TITLE]), first.config)
    kept = Permissions(store)
    (held,) = kept.listed()
    second = asked(board, store=store, thread="second")
    assert (waiting(second), len(titles(board))) == ([], 6)
    kept.revoke(held)
    assert len(waiting(asked(board, store=store, thread="third"))) == 1


def test_one_that_is_taken_back_before_its_request_goes_out_sends_nothing(board: Board) -> None:
    store = InMemoryStore()
    first = asked(board, store=store)
    first.graph.invoke(permit(free=[TITLE]), first.config)
    agent = board.agent(ScriptedModel([program(PROGRAM)]), context={}, store=store)
    agent.thread = "second"
    agent.stop_at("approved", {"instruction": ASKED})
    kept = Permissions(store)
    for item in kept.listed():
        kept.revoke(item)
    agent.graph.invoke(None, agent.config)
    assert (len(waiting(agent)), titles(board)) == (1, TITLES)


def test_a_change_that_another_turn_made_is_asked_about(board: Board) -> None:
    agent = asked(board)
    agent.graph.invoke(permit(free=[TITLE]), agent.config)
    agent.ask(ASKED)
    assert (len(waiting(agent)), titles(board)) == (1, TITLES)
