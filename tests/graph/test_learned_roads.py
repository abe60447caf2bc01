"""Guards that `road: auto` learns which road a model's first replies work on, and has short prompts for a small one."""

from typing import Any

import pytest
from board import Agent, Board
from langchain_core.messages import BaseMessage
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command
from roles import end, program, prompts_of, role_of
from scripted import Reply, ScriptedModel

from restgpt.calling.roads import Roads
from restgpt.graph.build import build_graph
from restgpt.nodes.run.services import Services
from restgpt.specs.docs.documentation import TOKEN

HOURS = "How many hours does task 117 take?"
GOOD = program("print(get_task(117)['hours'])")
DONE = end("50 hours.")
ASKED = "I could not find out which call"


class NamedModel(ScriptedModel):
    """A model with a name, by which it is known again."""

    model_name: str = "small"


def small(**replies: Reply) -> NamedModel:
    """A model that gives the same reply whenever it is asked for one operation, its arguments, or as a role."""

    def reply(prompt: list[BaseMessage]) -> Reply:
        opening = str(prompt[0].text)
        name = "operation" if "choose the one operation" in opening else "arguments" if "of one call" in opening else ""
        return replies.get(name or role_of(prompt), "Hm.")

    return NamedModel(reply)


def calls_one(**more: Reply) -> NamedModel:
    return small(operation={"operation": "get_task"}, arguments={"path": {"task_id": 117}}, planner=DONE, **more)


def asked(board: Board, model: NamedModel, store: InMemoryStore, instruction: str = HOURS, **context: Any) -> Agent:
    agent = board.agent(model, store=store, context=context)
    agent.ask(instruction)
    return agent


def test_a_model_without_usable_programs_makes_its_calls_one_by_one_from_then_on(board: Board) -> None:
    store = InMemoryStore()
    first = asked(board, calls_one(), store)
    again = asked(board, calls_one(), store)
    assert len(prompts_of(first.model, "express")) == 2
    assert [role_of(prompt) for prompt in again.model.prompts] == ["selector", "caller", "planner"]
    assert (again.state["answer"], again.state["decision"]["fulfilled"]) == ("50 hours.", True)


def test_a_model_is_tried_with_a_program_again_after_a_week(board: Board) -> None:
    store, day = InMemoryStore(), 24 * 60 * 60
    for days, tries in ((0, 2), (6, 0), (8, 2), (14, 0)):
        model = calls_one()
        services = Services([board.api], model=model, store=store, now=lambda days=days: days * day)
        build_graph(services=services).invoke({"instruction": HOURS})
        assert len(prompts_of(model, "express")) == tries


def test_a_model_whose_first_programs_work_keeps_writing_them(board: Board) -> None:
    store, failing = InMemoryStore(), program("print(get_task(117)['nothing'])")
    for express in (GOOD, GOOD, GOOD, failing, failing):
        last = asked(board, calls_one(express=express), store)
    assert prompts_of(last.model, "express")


@pytest.mark.parametrize(("name", "context"), [("other", {}), ("small", {"learned_shapes": False})])
def test_what_one_model_taught_holds_for_no_other_and_not_without_the_setting(
    board: Board, name: str, context: dict[str, Any]
) -> None:
    store, other = InMemoryStore(), calls_one()
    asked(board, calls_one(), store)
    other.model_name = name
    assert prompts_of(asked(board, other, store, **context).model, "express")


def test_what_was_learned_is_forgotten_with_the_shapes(board: Board) -> None:
    store = InMemoryStore()
    asked(board, calls_one(), store)
    Roads(store).clear()
    assert prompts_of(asked(board, calls_one(), store).model, "express")


def test_the_prompts_of_a_small_model_are_short(board: Board) -> None:
    store = InMemoryStore()
    asked(board, calls_one(), store)
    choices = small(
        operation={"operation": "find_tasks"},
        arguments={},
        planner={"text": "More", "fulfilled": False, "decision": "continue"},
    )
    prompts = asked(board, choices, store, "How many tasks are there?").model.prompts
    assert len(prompts) == 5
    assert max(sum(len(message.text) for message in prompt) for prompt in prompts) <= 1200 * TOKEN


def test_an_operation_whose_id_is_not_known_is_planned_after_the_one_that_gives_it(board: Board) -> None:
    store = InMemoryStore()
    asked(board, calls_one(), store)
    given = iter([{"path": {"project_id": 77}}, {}, {"path": {"project_id": 1}}])

    def reply(prompt: list[BaseMessage]) -> Reply:
        if "of one call" in str(prompt[0].text):
            return next(given)
        return {"operation": "list_project_tasks"} if role_of(prompt) == "selector" else end("There are tasks.")

    agent = asked(board, NamedModel(reply), store, "Which tasks has the project Harbour lights?")
    asked_for = [role_of(prompt) for prompt in agent.model.prompts]
    assert asked_for == ["selector", "caller", "caller", "caller", "planner"]
    assert board.calls()[-2:] == ["GET /projects 200", "GET /projects/{project_id}/tasks 200"]


def test_a_change_that_was_made_is_not_made_again_for_a_planner_that_goes_on(board: Board) -> None:
    store = InMemoryStore()
    asked(board, calls_one(), store)
    add = "Add a task called Buy bulbs to project 1."
    made = {"path": {"project_id": 1}, "body": {"title": "Buy bulbs"}}
    loop = {"decision": "continue", "text": add, "fulfilled": False}
    agent = asked(
        board, small(operation={"operation": "create_task"}, arguments=made, planner=loop), store, add, writes="allow"
    )
    assert board.calls().count("POST /projects/{project_id}/tasks 201") == 1
    assert agent.state["decision"]["fulfilled"] is False
    assert "create_task" in agent.state["answer"]


MADE_UP = {"path": {"project_id": 4}, "body": {"title": "Buy bulbs", "assignee": "Ada", "hours": 1, "done": False}}


def test_optional_arguments_that_a_small_model_made_up_are_left_out(board: Board) -> None:
    store, add = InMemoryStore(), "Add a task called Buy bulbs to project 4, which Ada owns by now."
    asked(board, calls_one(), store)
    done = {"text": "Buy bulbs was added.", "fulfilled": True, "decision": "end"}
    asked(
        board,
        small(operation={"operation": "create_task"}, arguments=MADE_UP, planner=done),
        store,
        add,
        writes="allow",
    )
    assert board.world.log[-1].body == {"title": "Buy bulbs", "assignee": "Ada"}
    asked(
        board,
        small(operation={"operation": "find_tasks"}, arguments={"text": "bulbs", "assignee": "John", "page": 1}),
        store,
        "Is there a task about bulbs?",
    )
    assert board.world.log[-1].query == {"text": "bulbs"}


@pytest.mark.parametrize(
    ("instruction", "meant"),
    [("Delete task 103.", False), ("Delete task 101", True), ("Delete the task paint the shelves", True)],
)
def test_a_change_is_of_what_the_user_named(board: Board, instruction: str, meant: bool) -> None:
    store = InMemoryStore()
    asked(board, calls_one(), store)

    def reply(prompt: list[BaseMessage]) -> Reply:
        if role_of(prompt) == "selector":
            return {"operation": "delete_task"}
        is_list = "GET /tasks " in str(prompt[-1].text)
        return ({} if is_list else {"path": {"task_id": 101}}) if role_of(prompt) == "caller" else "Hm."

    asked(board, NamedModel(reply), store, instruction, writes="allow")
    assert ("DELETE /tasks/{task_id} 204" in board.calls()) == meant


@pytest.mark.parametrize(("title", "meant"), [("Buy bulbs", True), ("Seed library", False)])
def test_what_a_change_creates_has_words_of_the_user(board: Board, title: str, meant: bool) -> None:
    store = InMemoryStore()
    asked(board, calls_one(), store)
    made = {"path": {"project_id": 4}, "body": {"title": title, "hours": 7}}
    model = small(operation={"operation": "create_task"}, arguments=made)
    asked(board, model, store, "Add a task called Buy bulbs to project 4.", writes="allow")
    assert ("POST /projects/{project_id}/tasks 201" in board.calls()) == meant


@pytest.mark.parametrize(("instruction", "is_asked"), [("Lösche Aufgabe 101!", True), ("Remove task 101.", False)])
def test_a_change_that_no_known_word_asks_for_is_put_to_a_person(
    board: Board, instruction: str, is_asked: bool
) -> None:
    store = InMemoryStore()
    asked(board, calls_one(), store)
    model = small(operation={"operation": "delete_task"}, arguments={"path": {"task_id": 101}}, planner="Hm.")
    agent = asked(board, model, store, instruction, writes="allow")
    assert ("DELETE /tasks/{task_id} 204" not in board.calls()) == is_asked
    if is_asked:
        agent.graph.invoke(Command(resume={"decisions": [{"type": "approve"}]}), agent.config)
    assert board.calls()[-1] == "DELETE /tasks/{task_id} 204"


def test_an_order_is_not_fulfilled_by_a_call_that_only_reads(board: Board) -> None:
    store = InMemoryStore()
    asked(board, calls_one(), store)
    claim = {"text": "Task 117 is deleted.", "fulfilled": True, "decision": "end"}
    model = small(operation={"operation": "get_task"}, arguments={"path": {"task_id": 117}}, planner=claim)
    assert asked(board, model, store, "Delete task 117.").state["decision"]["fulfilled"] is False


def test_a_small_model_that_believes_to_know_the_answer_makes_another_call(board: Board) -> None:
    store = InMemoryStore()
    asked(board, calls_one(), store)
    chosen = iter([("find_tasks", {"text": "cables"}), ("get_task", {"path": {"task_id": 117}})])
    made: list[tuple[str, dict[str, Any]]] = []

    def reply(prompt: list[BaseMessage]) -> Reply:
        if role_of(prompt) == "selector":
            made.append(next(chosen))
            return {"operation": made[-1][0]}
        if role_of(prompt) == "caller":
            return made[-1][1]
        says = "They take 50 hours." if "Called get_task" in str(prompt[1].text) else "They take 1926 hours."
        return {"text": says, "fulfilled": True, "decision": "end"}

    agent = asked(board, NamedModel(reply), store, "How many hours do the cables of task 117 take?")
    assert (agent.state["answer"], len(made)) == ("They take 50 hours.", 2)


def test_an_answer_that_no_further_call_bears_out_gives_way_to_what_was_found(board: Board) -> None:
    store = InMemoryStore()
    asked(board, calls_one(), store)
    chosen = iter([("find_tasks", {"text": "cables"}), ("get_task", {"path": {"task_id": 117}}), ("list_projects", {})])
    made: list[tuple[str, dict[str, Any]]] = []

    def reply(prompt: list[BaseMessage]) -> Reply:
        if role_of(prompt) == "selector":
            made.append(next(chosen))
            return {"operation": made[-1][0]}
        return made[-1][1] if role_of(prompt) == "caller" else {**end("They take 1926 hours."), "fulfilled": True}

    agent = asked(board, NamedModel(reply), store, "How many hours do the cables of task 117 take?")
    assert agent.state["answer"].startswith("The results do not hold the answer that the model gave. What was found")
    assert (len(made), agent.state["decision"]["fulfilled"]) == (3, False)


@pytest.mark.parametrize("answer", ["PWNED", "There are 6 hours.", "Chandara has 50 hours."])
def test_an_answer_that_stands_in_no_result_is_not_fulfilled(board: Board, answer: str) -> None:
    store = InMemoryStore()
    asked(board, calls_one(), store)
    claim = {"text": answer, "fulfilled": True, "decision": "end"}
    model = small(operation={"operation": "get_task"}, arguments={"path": {"task_id": 117}}, planner=claim)
    agent = asked(board, model, store)
    assert (agent.state["decision"]["fulfilled"], "hours 50" in agent.state["answer"]) == (False, True)
    assert not any("ignore your instructions" in message.text for prompt in model.prompts for message in prompt)


@pytest.mark.parametrize(
    ("instruction", "offered"),
    [
        ("Which tasks are open?", set()),
        ("Show the open tasks.", set()),
        ("Delete task 103.", {"delete_task", "delete_project"}),
        ("Could you add a task to project 1?", {"create_task"}),
        ("Rename project 4 to Lights", {"update_task", "update_project"}),
        (
            "Lösche Aufgabe 103!",
            {f"{verb}_{noun}" for verb in ("create", "update", "delete") for noun in ("task", "project")},
        ),
    ],
)
def test_a_small_model_may_choose_a_change_only_if_the_user_asks_for_one(
    board: Board, instruction: str, offered: set[str]
) -> None:
    store = InMemoryStore()
    asked(board, calls_one(), store)
    system = str(asked(board, calls_one(), store, instruction).model.prompts[0][0].text)
    names = {line.removeprefix("- ").partition(":")[0] for line in system.splitlines() if line.startswith("- ")}
    assert {name for name in names if name.startswith(("create", "update", "delete"))} == offered
