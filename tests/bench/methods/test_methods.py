"""Guards the baselines: each plans as its paper describes, with the same executor nodes."""

from collections.abc import Iterable

import pytest
from board import Agent, Board
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from roles import by_role, call, prompts_of, select
from scripted import Reply

from restgpt_bench.methods.build import METHODS, build_method

READ_FIRST = {"path": {"project_id": 1}}


def done(answer: str) -> Reply:
    return {"thought": "", "calls": [], "answer": answer}


def describe(*calls: str | tuple[str, list[int]], answer: str = "") -> Reply:
    selected = select(*calls)
    assert isinstance(selected, dict)
    return {**selected, "description": "so far", "explanation": "it failed", "answer": answer}


def method(board: Board, name: str, **script: Iterable[Reply]) -> Agent:
    model = by_role(script)
    graph = build_method(name, [board.api], model=model, checkpointer=InMemorySaver(), store=InMemoryStore())
    return Agent(graph, model)


def text(prompt: list) -> str:
    return "\n".join(str(message.text) for message in prompt)


def test_react_names_one_call_at_a_time_and_sees_each_result(board: Board) -> None:
    agent = method(
        board,
        "react",
        react=[select("list_projects"), select("get_project"), done("Winter timetable.")],
        caller=[call({}), call(READ_FIRST)],
    )
    assert agent.ask("What is the first project?")["answer"] == "Winter timetable."
    assert board.calls() == ["GET /projects 200", "GET /projects/{project_id} 200"]
    second = text(prompts_of(agent.model, "react")[1])
    assert "Sub-task" not in text(prompts_of(agent.model, "caller")[0])
    assert "list_projects" in second
    assert "Winter timetable" in second


def test_react_refuses_two_calls_at_once(board: Board) -> None:
    both = select("list_projects", "find_tasks")
    agent = method(board, "react", react=[both, done("One at a time, then.")], caller=[])
    agent.ask("What is there?")
    assert "one call at a time" in text(prompts_of(agent.model, "react")[1])
    assert board.calls() == []


def test_offline_plans_once_and_answers_from_the_results(board: Board) -> None:
    agent = method(
        board,
        "offline",
        offline=[select("list_projects", "get_project")],
        caller=[call({}), call(READ_FIRST, numbers=[2])],
        answer=["Winter timetable."],
    )
    assert agent.ask("What is the first project?")["answer"] == "Winter timetable."
    assert len(prompts_of(agent.model, "offline")) == 1
    assert board.calls() == ["GET /projects 200", "GET /projects/{project_id} 200"]
    assert "Winter timetable" in text(prompts_of(agent.model, "answer")[0])


def test_offline_cannot_mend_a_plan_that_fails(board: Board) -> None:
    planned, missing = [select("get_project", "list_projects")], [call({"path": {"project_id": 77}})]
    agent = method(board, "offline", offline=planned, caller=missing, answer=["It failed."])
    agent.ask("What is project 77?")
    assert board.calls() == ["GET /projects/{project_id} 404"]


def test_deps_explains_a_failure_and_plans_the_rest_anew(board: Board) -> None:
    agent = method(
        board,
        "deps",
        deps=[describe("get_project"), describe("list_projects"), describe(answer="There is no project 77.")],
        caller=[call({"path": {"project_id": 77}}), call({})],
    )
    assert agent.ask("What is project 77?")["answer"] == "There is no project 77."
    second, third = (text(prompt) for prompt in prompts_of(agent.model, "deps")[1:])
    assert "status 404" in second
    assert "it failed" in third


def test_reflexion_tries_again_with_its_reflection_and_without_the_first_trial(board: Board) -> None:
    agent = method(
        board,
        "reflexion",
        react=[select("list_projects"), done("I do not know."), select("get_project"), done("Winter timetable.")],
        caller=[call({}), call(READ_FIRST)],
        judge=[{"success": False, "reflection": "Look at project 1 itself."}],
    )
    assert agent.ask("What is project 1?")["answer"] == "Winter timetable."
    second_trial = text(prompts_of(agent.model, "react")[2])
    assert "Look at project 1 itself." in second_trial
    assert "status 200" not in second_trial
    assert len(prompts_of(agent.model, "judge")) == 1, "the last trial is not judged: nothing would follow"


def test_reflexion_stops_at_a_trial_that_succeeded(board: Board) -> None:
    tried, right = [select("list_projects"), done("Winter timetable.")], [{"success": True, "reflection": ""}]
    agent = method(board, "reflexion", react=tried, caller=[call({})], judge=right)
    assert agent.ask("What is project 1?")["answer"] == "Winter timetable."


@pytest.mark.parametrize("name", ["react", "deps"])
def test_a_used_up_budget_ends_with_what_was_found(board: Board, name: str) -> None:
    reply = describe("list_projects")
    agent = method(board, name, **{name: [reply, reply, reply]}, caller=[call({}), call({})])
    result = agent.ask("Go on for ever", max_steps=2)
    assert "used up (2 API plans)" in result["answer"]
    assert "Winter timetable" in result["answer"]


def test_every_method_has_the_state_and_settings_of_the_agent_and_an_unknown_one_is_named(board: Board) -> None:
    for name in METHODS:
        graph = build_method(name, [board.api])
        assert set(graph.get_context_jsonschema()["properties"]) >= {"model", "writes", "max_steps"}
        assert "messages" in graph.get_output_jsonschema()["properties"]
    with pytest.raises(LookupError, match="offline"):
        build_method("magic", [board.api])
