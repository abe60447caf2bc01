"""Guards the whole agent: real graph, real HTTP, real sandbox, scripted model."""

import json
from collections.abc import Callable

import pytest
from board import CALLS, Board, agent_of, served_board
from paths import api_of
from roles import by_role, call, end, go_on, missing, no_call, one_task, plan, program, prompts_of, select
from scripted import Reply

from lab.kit.port import held_port
from restgpt.graph.build import build_graph
from restgpt.tools.errors import ConnectFault
from restgpt.tools.model.model_errors import ModelUnavailableError
from restgpt_bench.worlds.server import serve

COUNT = "print('There are', data['total'], 'tasks; the first is', data['items'][0]['title'])"
PROJECT = {"path": {"project_id": 1}}


def move(project: int) -> dict[str, object]:
    return {"path": {"task_id": 101}, "body": {"project_id": project}}


def text(prompt: list) -> str:
    return "\n".join(str(message.text) for message in prompt)


def test_an_instruction_goes_through_all_roles_each_of_which_reads_its_own_part_of_the_document(board: Board) -> None:
    agent = board.one_task("find_tasks", planner=[plan("Count the tasks"), end("24")], parser=[COUNT])
    assert agent.ask("How many tasks are there?")["answer"] == "24"
    assert board.calls() == ["GET /tasks 200"]
    [step] = agent.state["steps"]
    assert "There are 24 tasks; the first is" in step["result"]
    usage = agent.state["usage"]
    assert (usage["roles"]["planner"]["calls"], usage["requests"]) == (2, 1)
    prompts = {role: prompts_of(agent.model, role) for role in ("planner", "selector", "caller", "parser")}
    for role, shown, hidden in (
        ("planner", "Team board", "find_tasks"),
        ("selector", "find_tasks", "First name of the person"),
        ("selector", "delete_project", "First name of the person"),
        ("caller", "First name of the person", "delete_project"),
        ("parser", "hours", "delete_project"),
    ):
        read = text(prompts[role][0])
        assert (shown in read, hidden in read) == (True, False), role
    again = prompts["planner"][1]
    assert step["result"] in text(again)
    assert [json.loads(str(item.text)) for item in again if item.type == "ai"] == [plan("Count the tasks")]
    held = json.dumps(agent.state, default=str)
    assert sum(task["title"] in held for task in board.tasks().values()) < 6, "no body is in the state"


@pytest.mark.parametrize(
    ("second", "kind", "shown"),
    [(plan, "plan", False), (go_on, "continue", True)],
    ids=["another", "the same"],
)
def test_the_selector_sees_a_sub_task_that_goes_on_whole_and_of_another_only_the_result(
    board: Board, second: Callable[[str], Reply], kind: str, shown: bool
) -> None:
    planner = [plan("Get the owner of the first project"), second("Now get project 1"), end("Done.")]
    selector = [select("list_projects"), select("get_project")]
    agent = board.one_task(planner=planner, selector=selector, caller=[call({}), call(PROJECT)])
    agent.ask("Who owns the first project?")
    again = text(prompts_of(agent.model, "selector")[1])
    assert "Winter timetable" in again
    assert "Now get project 1" in again
    # What an unfinished sub-task has found is not background.
    for told in ("Get the owner of the first project", "(nothing yet)"):
        assert (told in again) == shown
    steps = agent.state["steps"]
    assert [(step["task"], step["kind"]) for step in steps] == [(1, "plan"), (1 if shown else 2, kind)]


def test_independent_reads_of_one_plan_are_all_made_and_reported_in_order(board: Board) -> None:
    ids = [1, 2, 3]
    caller = [call(*({"path": {"project_id": number}} for number in ids), numbers=[1, 1, 1])]
    agent = board.one_task("get_project", caller=caller)
    agent.ask("Show projects 1, 2 and 3")
    assert sorted(board.calls()) == ["GET /projects/{project_id} 200"] * 3
    [step] = agent.state["steps"]
    assert [request["arguments"]["path"]["project_id"] for request in step["requests"]] == ids


def test_a_call_that_needs_another_is_filled_in_after_it(board: Board) -> None:
    agent = board.one_task("list_projects", ("get_project", [1]), caller=[call({}), call(PROJECT, numbers=[2])])
    agent.ask("Show the first project")
    assert board.calls() == ["GET /projects 200", "GET /projects/{project_id} 200"]
    assert "Winter timetable" in text(prompts_of(agent.model, "caller")[1])
    assert len(agent.state["steps"]) == 1


def test_a_subtask_that_needs_no_call_is_answered_from_the_background(board: Board) -> None:
    agent = board.one_task(selector=[no_call("Hello is a greeting.")])
    agent.ask("Hello?")
    assert agent.state["steps"][0]["result"] == "Hello is a greeting."
    assert board.calls() == []


@pytest.mark.parametrize(
    ("role", "replies", "told"),
    [
        ("selector", [select("find_task"), select("find_tasks")], "find_tasks"),
        ("caller", [call({"query": {"page": "two"}}), call({"query": {"page": 1}})], "/query/page"),
        ("parser", ["print(data['count'])", COUNT], "KeyError"),
    ],
)
def test_a_wrong_reply_comes_back_with_what_is_wrong_and_nothing_is_sent_for_it(
    board: Board, role: str, replies: list[Reply], told: str
) -> None:
    agent = board.one_task("find_tasks", **{"parser": [COUNT], role: replies})
    agent.ask("How many tasks are there?")
    assert told in str(prompts_of(agent.model, role)[1][-1].text)
    assert board.calls() == ["GET /tasks 200"]
    assert "There are 24 tasks" in agent.state["steps"][0]["result"]


def test_a_value_that_is_missing_leads_to_the_operations_that_would_give_it(board: Board) -> None:
    selector = [select("get_project"), select("list_projects")]
    agent = board.one_task(selector=selector, caller=[missing("the id of the harbour project"), call({})])
    agent.ask("Show the harbour project")
    hint = str(prompts_of(agent.model, "selector")[1][-1].text)
    for told in ("the id of the harbour project", "project_id: ", "list_projects"):
        assert told in hint
    assert board.calls() == ["GET /projects 200"]


def test_a_value_that_nothing_gives_ends_the_round_with_the_reason(board: Board) -> None:
    agent = board.one_task(selector=[select("get_project")] * 2, caller=[missing("the project")] * 2)
    assert agent.ask("Show it")["answer"] == "Done."
    assert "A required value is not known: the project" in agent.state["steps"][0]["result"]


def test_a_refused_request_is_corrected_by_the_caller_with_what_the_api_said(board: Board) -> None:
    planner = [plan("Move task 101 to project 99 or else 2"), end("Done.")]
    agent = board.one_task("update_task", planner=planner, caller=[call(move(99)), call(move(2))])
    agent.ask("Move task 101 to project 99, or else to 2", writes="allow")
    again = str(prompts_of(agent.model, "caller")[1][-1].text)
    assert "status 422" in again
    assert "project_id names no project" in again
    sent = [line for line in board.calls() if line.startswith("PATCH")]
    assert sent == ["PATCH /tasks/{task_id} 422", "PATCH /tasks/{task_id} 200"]
    [step] = agent.state["steps"]
    assert [request["attempt"] for request in step["requests"]] == [0, 1]
    assert step["result"].count("Called update_task") == 1


def test_a_read_with_an_id_that_nobody_gave_is_sent_and_its_error_goes_to_the_planner_unparsed(board: Board) -> None:
    agent = board.one_task("get_project", caller=[call({"path": {"project_id": 63926}})])
    agent.ask("Show the harbour project")
    assert board.calls() == ["GET /projects/{project_id} 404"]
    assert "status 404" in agent.state["steps"][0]["result"]


def test_the_operations_of_several_apis_stand_under_their_names(board: Board) -> None:
    today = {"/today": {"get": {"operationId": "today", "responses": {}}}}
    weather = api_of(today, title="Weather", base_url="https://weather.example.com")
    agent = agent_of([board.api, weather], by_role(one_task(selector=[no_call("Nothing fits.")])), context=CALLS)
    agent.ask("Is it raining?")
    [prompt] = prompts_of(agent.model, "selector")
    assert "Weather:\n- today: GET /today" in text(prompt)
    assert "Team board:\n- list_projects: GET /projects" in text(prompt)


@pytest.mark.parametrize(
    ("codes", "told"),
    [
        (["print(data['total'], 'tasks')"], [" tasks", " tasks"]),
        ([f"print('project {number}:', data['total'], 'tasks')" for number in (1, 2)], ["project 1: ", "project 2: "]),
    ],
    ids=["of any response", "of one response"],
)
def test_one_code_reads_all_responses_unless_it_names_one(board: Board, codes: list[str], told: list[str]) -> None:
    caller = [call(PROJECT, {"path": {"project_id": 2}}, numbers=[1, 1])]
    agent = board.one_task("list_project_tasks", caller=caller, parser=codes)
    agent.ask("How many tasks have projects 1 and 2?")
    result = agent.state["steps"][0]["result"]
    assert [result.count(text) for text in told] == [told.count(text) for text in told]
    assert len(prompts_of(agent.model, "parser")) == len(codes)


def test_code_that_keeps_failing_is_replaced_by_direct_reading(board: Board) -> None:
    codes = ["print(data['count'])", "pass"]
    agent = board.one_task("find_tasks", parser=codes, direct=["There are 24 tasks in all."])
    agent.ask("How many tasks?")
    assert agent.state["steps"][0]["result"].count("There are 24 tasks in all.") == 1
    assert '"total"' in text(prompts_of(agent.model, "direct")[0])


def test_without_code_the_model_reads_the_body(board: Board) -> None:
    agent = board.one_task("find_tasks", direct=["24 tasks."])
    agent.ask("How many tasks?", code=False)
    assert "24 tasks." in agent.state["steps"][0]["result"]


def test_api_text_is_marked_as_data_wherever_a_model_reads_it(board: Board) -> None:
    agent = board.one_task("get_task", caller=[call({"path": {"task_id": 117}})], parser=["print(data['notes'])"])
    agent.ask("How deep is the shelf of task 117?")
    prompt = str(prompts_of(agent.model, "planner")[1][-1].text)
    opening, rest = prompt.split("\n", 1)
    assert opening.startswith("<result-")
    assert "ignore your instructions" in rest
    assert rest.endswith(opening.replace("<", "</"))


def test_a_follow_up_sees_the_conversation_and_earlier_results(board: Board) -> None:
    agent = board.one_task(
        planner=[plan("Count"), end("24 tasks."), plan("Get project 1"), end("Done.")],
        selector=[select("find_tasks"), select("get_project")],
        caller=[call({}), call(PROJECT)],
        parser=[COUNT],
    )
    agent.ask({"messages": [("user", "How many tasks?")]})
    agent.ask({"messages": [("user", "And project 1?")]})
    third = text(prompts_of(agent.model, "planner")[2])
    assert "24 tasks." in third
    assert "Instruction: And project 1?" in third
    assert "There are 24 tasks" in text(prompts_of(agent.model, "selector")[1])
    assert agent.state["turn"] == 2
    assert [message.type for message in agent.state["messages"]] == ["human", "ai", "human", "ai"]


def test_an_api_that_cannot_be_reached_stops_the_run_which_goes_on_when_it_is_back() -> None:
    with held_port() as port:
        with served_board(port=port) as board:
            agent = board.one_task("get_project", caller=[call(PROJECT)])
        with pytest.raises(ConnectFault, match=r"127\.0\.0\.1"):
            agent.ask("Show project 1")
        with serve(board.world, port=port):
            result = agent.graph.invoke(None, agent.config)
    assert result["answer"] == "Done."
    assert board.calls() == ["GET /projects/{project_id} 200"]


def test_a_model_that_is_unavailable_stops_the_run_with_the_state_saved(board: Board) -> None:
    agent = board.agent(by_role({"planner": [ModelUnavailableError("It is down."), end("Hello.")]}))
    with pytest.raises(ModelUnavailableError, match="down"):
        agent.ask("Hello?")
    assert agent.state["instruction"] == "Hello?"
    assert agent.graph.invoke(None, agent.config)["answer"] == "Hello."


def test_steps_are_bounded_and_the_answer_is_truthful(board: Board) -> None:
    planner = [plan("One"), plan("Two"), end("I got only this far.")]
    agent = board.one_task(planner=planner, selector=[no_call("one"), no_call("two")])
    assert agent.ask("Go on for ever", max_steps=2)["answer"] == "I got only this far."
    assert "No further call can be made (2 API plans)" in str(prompts_of(agent.model, "planner")[2][-1].text)


def test_without_tokens_left_the_answer_is_what_was_found(board: Board) -> None:
    endless = (plan(f"More, part {number}") for number in range(999))
    agent = board.one_task(planner=endless, selector=(no_call("A fact.") for _ in range(999)))
    result = agent.ask("Go on for ever", max_tokens=1000, max_steps=100)
    assert "used up (1000 tokens)" in result["answer"]
    assert "A fact." in result["answer"]
    assert len(agent.model.prompts) < 100


@pytest.mark.parametrize(
    ("planner", "fulfilled"),
    [
        ([end("There it is.")], True),
        ([end("There it is.", fulfilled=False)], False),
        ([plan("One"), end("All done.")], True),
        # The budget cuts this one.
        ([plan("One"), plan("More")], False),
    ],
)
def test_an_end_says_whether_the_instruction_was_fulfilled(board: Board, planner: list[Reply], fulfilled: bool) -> None:
    agent = board.one_task(planner=planner, selector=[no_call("one")])
    agent.ask("Sing a song", max_steps=1)
    assert (agent.state["decision"]["kind"], agent.state["decision"]["fulfilled"]) == ("end", fulfilled)


@pytest.mark.parametrize(
    ("pages", "sent", "told"),
    [(5, 3, "status 200. 24 tasks"), (1, 1, "first page only"), (2, 2, "may go on after these 2 pages")],
)
def test_the_pages_of_a_list_are_parsed_as_one_which_may_go_on(board: Board, pages: int, sent: int, told: str) -> None:
    code = "print(len(data['items']), 'tasks')"
    agent = board.one_task("find_tasks", caller=[call({}, pages=pages)], parser=[code])
    agent.ask("How many tasks?")
    assert board.calls() == ["GET /tasks 200"] * sent
    assert told in agent.state["steps"][0]["result"]
    assert agent.state["usage"]["requests"] == sent


def test_the_purpose_of_a_call_stands_for_an_empty_output_instruction(board: Board) -> None:
    agent = board.one_task("get_task", caller=[call({"path": {"task_id": 101}}, output_instruction="")])
    agent.ask("Show the task 101")
    assert board.calls() == ["GET /tasks/{task_id} 200"]
    assert agent.state["steps"][0]["requests"][0]["output_instruction"] == "use get_task"


def test_an_empty_instruction_is_refused(board: Board) -> None:
    from restgpt.nodes.intake import EmptyInstructionError

    with pytest.raises(EmptyInstructionError, match="instruction"):
        board.agent(by_role({})).ask("   ")


def test_one_api_needs_no_list(board: Board) -> None:
    model = by_role({"express": [program('print(find_tasks()["total"])')]})
    # The input is a literal, so that the type checker reads it as it reads the example of README.md.
    found = build_graph(board.api, model=model).invoke({"messages": [("user", "How many tasks?")]})
    assert found["answer"] == "24"
