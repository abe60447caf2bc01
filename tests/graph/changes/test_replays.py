"""Guards that a replay of a turn, and a fork of it, send no change again, and that another turn asks before it does."""

from typing import Any

import pytest
from board import CALLS, Agent, Board
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command
from roles import call, end, plan, program, role_of, select
from scripted import ScriptedModel
from typing_extensions import TypedDict

from restgpt.graph.build import build_graph

CODE = """a = create_task(project_id=1, body={"title": "Moss"})
b = create_task(project_id=1, body={"title": a["title"] + " and Fern"})
print(b["title"])
"""
SENT = ["POST /projects/{project_id}/tasks 201"] * 2


def model_of(**replies: Any) -> ScriptedModel:
    """A model that replies by the role and by whether the prompt has a result, however often it is asked."""

    def reply(prompt: list[Any]) -> Any:
        made, told = replies[role_of(prompt)], str(prompt[-1].text)
        return made(told) if callable(made) else made

    return ScriptedModel(reply)


def of_program(board: Board, **options: Any) -> Agent:
    return board.agent(model_of(express=program(CODE)), context={}, **options)


def of_sub_task(board: Board, **options: Any) -> Agent:
    planner = {"express": plan("See to it"), "planner": end("Done.")}
    writer = {"selector": select("create_task"), "program": f"```python\n{CODE}```"}
    return board.agent(model_of(**planner, **writer), context={}, **options)


def by_calls(board: Board, **options: Any) -> Agent:
    titles = [{"path": {"project_id": 1}, "body": {"title": title}} for title in ("Moss", "Fern")]

    def caller(told: str) -> Any:
        return call(titles[1], numbers=[2]) if '"title": "Moss"' in told else call(titles[0], numbers=[1])

    def planner(told: str) -> Any:
        return end("Done.") if "Fern" in told else plan("Create them")

    chosen = select("create_task", ("create_task", [1]))
    return board.agent(model_of(planner=planner, selector=chosen, caller=caller), context=CALLS, **options)


def approved(agent: Agent, result: Any) -> None:
    """Approve every question of a run."""
    while "__interrupt__" in result:
        result = agent.graph.invoke(Command(resume="approve"), agent.config)


def forks(agent: Agent) -> list[Any]:
    """The checkpoints of the thread from which something follows, oldest first; the first has read the input."""
    found = [item for item in agent.graph.get_state_history(agent.config) if item.next not in ((), ("__start__",))]
    return found[::-1]


@pytest.mark.parametrize("made", [of_program, of_sub_task, by_calls])
@pytest.mark.parametrize("is_copied", [False, True])
def test_a_replay_or_a_fork_from_any_checkpoint_sends_nothing_twice(board: Board, made: Any, is_copied: bool) -> None:
    agent = made(board)
    agent.ask({"messages": [("user", "Create both")]}, writes="allow")
    sent = board.calls()
    assert sent == SENT
    for item in forks(agent):
        config = agent.graph.update_state(item.config, {"answer": ""}) if is_copied else item.config
        agent.graph.invoke(None, config, context={"writes": "allow"})
        assert board.calls() == sent, item.next


@pytest.mark.parametrize("made", [of_program, by_calls])
def test_a_fork_finds_what_a_person_had_approved(board: Board, made: Any) -> None:
    agent = made(board)
    approved(agent, agent.ask("Create both"))
    changes = board.changes()
    assert changes == SENT
    for item in forks(agent):
        approved(agent, agent.graph.invoke(None, item.config))
        assert board.changes() == changes, item.next


@pytest.mark.parametrize("made", [of_program, by_calls])
def test_another_turn_asks_before_it_makes_an_equal_change(board: Board, made: Any) -> None:
    agent = made(board)
    agent.ask("Create Moss", writes="allow")
    sent = board.calls()
    result = agent.ask("Create Moss", writes="allow")
    assert board.calls() == sent
    [asked] = result["__interrupt__"]
    assert "This very request was sent before. The API answered 201." in str(asked.value)
    agent.graph.invoke(Command(resume="approve"), agent.config, context={"writes": "allow"})
    assert len(board.calls()) > len(sent)


def test_a_change_that_was_undone_is_made_again_unasked(board: Board) -> None:
    agent = of_program(board)
    agent.ask("Create both", writes="allow")
    for entry in agent.journal.entries():
        agent.journal.note(entry["id"], undone=True)
    agent.ask("Create both", writes="allow")
    assert board.calls() == SENT * 2


def test_another_thread_and_a_run_without_checkpoints_make_their_own(board: Board) -> None:
    agent = of_program(board)
    agent.ask("Create Moss", writes="allow")
    agent.thread = "another"
    agent.ask("Create Moss", writes="allow")
    assert board.calls() == SENT * 2
    bare: Any = agent.graph.copy(update={"checkpointer": None})
    for _ in range(2):
        given = {"messages": [("user", "Create Moss")]}
        bare.invoke(given, {"configurable": {"thread_id": "bare"}}, context={"writes": "allow"})
    assert board.calls() == SENT * 4


def test_a_message_that_was_taken_back_in_a_fork_is_another_turn(board: Board) -> None:
    agent = of_program(board)
    agent.ask("Create Moss", writes="allow")
    [first] = [item for item in forks(agent) if item.next == ("intake",)]
    said = {"messages": [HumanMessage("Create Moss once more")]}
    assert "__interrupt__" in agent.graph.invoke(said, first.config, context={"writes": "allow"})
    assert board.calls() == SENT


def test_the_same_words_in_a_graph_around_are_another_turn_that_asks(board: Board) -> None:
    class Host(TypedDict, total=False):
        answer: str

    model = model_of(express=program(CODE))
    inner = build_graph([board.api], model=model, context={"writes": "allow"})

    def work(state: Host) -> Host:
        return {"answer": inner.invoke({"messages": [("user", "Create both")]})["answer"]}  # type: ignore[typeddict-item]

    builder = StateGraph(Host)
    builder.add_node("work", work)
    builder.add_edge(START, "work")
    host = builder.compile(checkpointer=InMemorySaver(), store=InMemoryStore())
    config: Any = {"configurable": {"thread_id": "host"}}
    host.invoke({"answer": ""}, config)
    assert board.calls() == SENT
    again = host.invoke({"answer": ""}, config)
    assert "This very request was sent before." in str(again["__interrupt__"])
    while "__interrupt__" in again:
        again = host.invoke(Command(resume="approve"), config)
    assert board.calls() == SENT * 2
