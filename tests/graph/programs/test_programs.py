"""Guards programs: values flow, independent calls go out together, each change is asked about and made once."""

import asyncio
from typing import Any

import pytest
from board import Board, agent_of
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command
from programs import FailingClient, actions, decide, programmer
from roles import by_role, end, program, prompts_of
from scripted import ScriptedModel

from restgpt.nodes.run.services import Services
from restgpt.tools.errors import ConnectFault

MADE = "POST /projects/{project_id}/tasks 201"
TWO = """
made = gather(
    lambda: create_task(project_id=1, body={"title": "Chairs"}),
    lambda: create_task(project_id=2, body={"title": "Tables"}),
)
print("Made", [task["title"] for task in made])
"""
CAREFUL = """
def add(number, title):
    try:
        return create_task(project_id=number, body={"title": title})["title"]
    except Rejected as refused:
        return f"refused: {refused}"
made = gather(lambda: add(1, "Chairs"), lambda: add(2, "Tables"))
print(made)
"""
WISH = "Add the tasks Chairs and Tables to the projects 1 and 2"


def titles(board: Board) -> list[str]:
    return [task["title"] for task in board.tasks().values() if task["title"] in ("Chairs", "Tables")]


def test_values_flow_from_one_call_into_the_next_with_a_single_model_call(board: Board) -> None:
    code = """
    found = one(list_projects()["items"], name="Tool shed")
    tasks = list_project_tasks(project_id=found["id"], pages=20)
    print(found["owner"], "has", len(rows(tasks)), "tasks")
    """
    shed = next(item for item in board.world.dump()["projects"].values() if item["id"] == 1)  # type: ignore[call-overload,index]
    own = [task for task in board.tasks().values() if task["project_id"] == 1]
    agent = programmer(board, code.replace("\n    ", "\n").replace("Tool shed", shed["name"]))
    answer = agent.ask("How many tasks has the project?")["answer"]
    assert answer == f"{shed['owner']} has {len(own)} tasks"
    assert len(agent.model.prompts) == 1
    assert board.calls()[0] == "GET /projects 200"
    assert set(board.calls()[1:]) == {"GET /projects/{project_id}/tasks 200"}


def test_the_reads_of_a_program_go_out_from_one_node(board: Board) -> None:
    code = "found = gather(*[lambda n=n: get_project(project_id=n) for n in (1, 2, 3)])\nprint(len(found))"
    agent = programmer(board, code)
    updates = agent.graph.stream({"instruction": "Get the projects 1, 2 and 3"}, agent.config)
    nodes = [name for update in updates for name in update]
    assert nodes == ["intake", "planner", "selector", "caller", "parser", "planner"]
    assert board.calls() == ["GET /projects/{project_id} 200"] * 3


def test_one_question_is_about_all_changes_that_a_gather_hands_over(board: Board) -> None:
    agent = programmer(board, TWO)
    asked = actions(agent.ask(WISH))
    assert [action["args"]["body"]["title"] for action in asked] == ["Chairs", "Tables"]
    assert board.calls() == []
    assert decide(agent, "approve", "approve")["answer"] == "Made ['Chairs', 'Tables']"
    assert board.calls() == [MADE, MADE]


def test_each_of_several_changes_is_decided_for_itself(board: Board) -> None:
    agent = programmer(board, CAREFUL, end("Only the tables.", fulfilled=False))
    agent.ask(WISH)
    decide(agent, {"type": "reject", "message": "no chairs"}, "approve")
    assert titles(board) == ["Tables"]
    said = str(prompts_of(agent.model, "express")[1][-1].text)
    assert "refused: create_task was not sent: The user rejected it. no chairs" in said
    assert "Tables" in said


def test_an_edited_change_is_sent_as_edited_and_the_program_sees_its_answer(board: Board) -> None:
    agent = programmer(board, TWO)
    agent.ask(WISH)
    other = {"name": "create_task", "args": {"path": {"project_id": 1}, "body": {"title": "Benches"}}}
    done = decide(agent, {"type": "edit", "edited_action": other}, "approve")
    assert done["answer"] == "Made ['Benches', 'Tables']"
    assert board.calls() == [MADE, MADE]


def test_a_response_instead_of_a_change_reaches_the_program_as_a_rejection(board: Board) -> None:
    agent = programmer(board, CAREFUL, end("Asked back."))
    agent.ask(WISH)
    decide(agent, {"type": "respond", "message": "which chairs?"}, {"type": "respond", "message": "which tables?"})
    assert board.calls() == []
    assert "which chairs?" in str(prompts_of(agent.model, "express")[1][-1].text)


def test_a_paused_program_goes_on_in_another_graph_over_the_same_checkpoints(board: Board) -> None:
    kept: dict[str, Any] = {"checkpointer": InMemorySaver(), "store": InMemoryStore()}
    code = 'shed = get_project(project_id=1)\nmade = create_task(project_id=1, body={"title": "Chairs"})\n'
    code += 'print(shed["name"], made["title"])'
    agent_of([board.api], by_role({"express": [program(code)]}), **kept).ask(WISH)
    again = agent_of([board.api], ScriptedModel([]), **kept)
    assert decide(again, "approve")["answer"].endswith("Chairs")
    assert board.calls() == ["GET /projects/{project_id} 200", MADE]


def test_a_run_that_stopped_before_a_node_goes_on_and_sends_nothing_twice(board: Board) -> None:
    code = 'get_project(project_id=1)\ncreate_task(project_id=1, body={"title": "Chairs"})\n'
    code += 'create_task(project_id=2, body={"title": "Tables"})\nprint("Both")'
    agent = programmer(board, code, writes="allow")
    given: Any = {"instruction": WISH}
    for _ in range(8):
        agent.graph.invoke(given, agent.config, interrupt_before=["parser"])
        given = None
    assert agent.state["answer"] == "Both"
    assert board.calls() == ["GET /projects/{project_id} 200", MADE, MADE]
    assert titles(board) == ["Chairs", "Tables"]


@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize("is_sent", [False, True])
def test_a_run_that_a_fault_stopped_goes_on_with_the_answers_so_far(board: Board, number: int, is_sent: bool) -> None:
    code = "first = get_project(project_id=1)\nsecond = get_project(project_id=2)\nprint(first['id'] + second['id'])"
    model = by_role({"express": [program(code)]})
    services = Services([board.api], model=model, http=FailingClient(number, is_sent=is_sent))
    agent = agent_of(None, model, services=services)
    with pytest.raises(ConnectFault):
        agent.ask("Get the projects 1 and 2")
    assert agent.graph.invoke(None, agent.config)["answer"] == "3"
    # A read leaves no checkpoint, so those before the fault are sent again.
    assert len(board.calls()) == 1 + number + is_sent
    assert len(model.prompts) == 1


def test_a_change_that_may_have_been_made_is_asked_about_inside_a_program(board: Board) -> None:
    agent = programmer(board, TWO, end("One may be there.", fulfilled=False))
    agent.ask(WISH)
    first, _ = agent.state["requests"]
    agent.journal.intend(first["id"], first["fingerprint"], {})
    [action] = actions(decide(agent, "approve", "approve"))
    assert action["args"]["body"]["title"] == "Chairs"
    assert "may or may not have been carried out" in action["description"]
    decide(agent, "reject")
    assert titles(board) == ["Tables"]


def test_a_conversation_goes_on_with_the_answer_of_a_program(board: Board) -> None:
    agent = programmer(board, "print(find_tasks()['total'], 'tasks')", "print(get_project(project_id=1)['name'])")
    first = agent.ask("How many tasks are there?")["answer"]
    agent.ask("And project 1?")
    assert f"ai: {first}" in str(prompts_of(agent.model, "express")[1][1].text)
    assert [step["turn"] for step in agent.state["steps"]] == [1, 2]
    assert [message.type for message in agent.state["messages"]] == ["human", "ai"] * 2


def test_a_program_can_be_replaced_where_it_waits(board: Board) -> None:
    agent = programmer(board, TWO)
    agent.ask(WISH)
    *_, before = [state for state in agent.graph.get_state_history(agent.config) if state.next == ("parser",)]
    code = "print(get_project(project_id=1)['id'])"
    fork = agent.graph.update_state(before.config, {"program": {**before.values["program"], "code": code}})
    assert agent.graph.invoke(None, fork)["answer"] == "1"
    assert board.calls() == ["GET /projects/{project_id} 200"]


def test_a_program_runs_under_ainvoke_and_pauses_there(board: Board) -> None:
    agent = programmer(board, TWO)

    async def run() -> dict[str, Any]:
        paused = await agent.graph.ainvoke({"instruction": WISH}, agent.config)
        assert len(actions(paused)) == 2
        return await agent.graph.ainvoke(Command(resume="approve"), agent.config)

    assert asyncio.run(run())["answer"] == "Made ['Chairs', 'Tables']"
    assert board.calls() == [MADE, MADE]


def test_a_change_whose_target_changed_is_asked_about_again_and_holds_up_no_call_beside_it(board: Board) -> None:
    code = """
done = gather(
    lambda: get_project(project_id=1),
    lambda: update_project(project_id=2, body={"owner": "Noor"}),
    lambda: update_project(project_id=3, body={"owner": "Noor"}),
)
print([project["owner"] for project in done[1:]])
"""
    agent = programmer(board, code)
    agent.ask("Show project 1, and let Noor own the projects 2 and 3")
    board.world.call("PATCH /projects/{project_id}", path={"project_id": 2}, body={"owner": "Ada"})
    [again] = actions(decide(agent, "approve", "approve"))
    assert again["args"]["path"] == {"project_id": 2}
    assert 'owner: "Ada" → "Noor"' in again["description"]
    assert board.world.dump()["projects"]["3"]["owner"] == "Noor"  # type: ignore[call-overload,index]
    assert decide(agent, "approve")["answer"] == "['Noor', 'Noor']"
    assert board.calls().count("PATCH /projects/{project_id} 200") == 3
    assert len(agent.model.prompts) == 1


def test_a_text_that_no_store_keeps_as_it_is_is_sent_exactly_after_an_approval(board: Board) -> None:
    code = 'made = create_task(project_id=1, body={"title": "a" + chr(12) + chr(0)})\nprint(len(made["title"]))'
    agent = programmer(board, code)
    agent.ask("Add it to the project 1")
    answer = decide(agent, "approve")["answer"]
    assert (answer, any(task["title"] == "a\x0c\0" for task in board.tasks().values())) == ("3", True)


def test_a_program_does_not_go_on_under_another_version(board: Board) -> None:
    code = 'shed = get_project(project_id=1)\nprint(create_task(project_id=1, body={"title": shed["name"]})["title"])'
    script = {"express": [program(code)], "planner": [end("It was not finished.", fulfilled=False)]}
    agent = board.agent(by_role(script), context={})
    agent.ask(WISH)
    other = {**agent.state["program"], "version": "another"}
    agent.graph.update_state(agent.config, {"program": other}, as_node="parser")
    assert "__interrupt__" in agent.graph.invoke(None, agent.config)
    assert decide(agent, "approve")["answer"] == "It was not finished."
    assert "began under another version of RestGPT" in agent.state["steps"][-1]["result"]
    assert board.calls() == ["GET /projects/{project_id} 200", MADE]
