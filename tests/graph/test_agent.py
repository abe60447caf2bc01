"""Guards the whole agent: real graph, real HTTP, real sandbox, scripted model."""

import json

import pytest
from board import CALLS, Agent, Board, served_board
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from roles import by_role, call, end, go_on, missing, no_call, plan, program, prompts_of, select
from scripted import Reply

from lab.kit.port import held_port
from restgpt.graph.build import build_graph
from restgpt.specs import load_api
from restgpt.tools.errors import ConnectFault
from restgpt.tools.model.model_errors import ModelUnavailableError
from restgpt_bench.worlds.server import serve

COUNT = "print('There are', data['total'], 'tasks; the first is', data['items'][0]['title'])"


def move(project: int) -> dict[str, object]:
    return {"path": {"task_id": 101}, "body": {"project_id": project}}


def text(prompt: list) -> str:
    return "\n".join(str(message.text) for message in prompt)


def test_an_instruction_is_planned_selected_called_parsed_and_answered(board: Board) -> None:
    model = by_role(
        {
            "planner": [plan("Count the tasks"), end("There are 24 tasks.")],
            "selector": [select("find_tasks")],
            "caller": [call({})],
            "parser": [f"```python\n{COUNT}\n```"],
        }
    )
    agent = board.agent(model)
    assert agent.ask("How many tasks are there?")["answer"] == "There are 24 tasks."
    assert board.calls() == ["GET /tasks 200"]
    [step] = agent.state["steps"]
    assert "There are 24 tasks; the first is" in step["result"]
    assert step["result"] in text(prompts_of(model, "planner")[1])
    assert agent.state["usage"]["roles"]["planner"]["calls"] == 2
    assert agent.state["usage"]["requests"] == 1


def test_each_role_reads_its_own_part_of_the_document_only(board: Board) -> None:
    model = by_role(
        {
            "planner": [plan("Count the tasks"), end("24")],
            "selector": [select("find_tasks")],
            "caller": [call({"query": {"done": True}})],
            "parser": [COUNT],
        }
    )
    board.agent(model).ask("How many tasks are there?")
    planner, selector, caller, parser = (
        text(prompts_of(model, role)[0]) for role in ("planner", "selector", "caller", "parser")
    )
    assert "find_tasks" not in planner
    assert "Team board" in planner
    assert "find_tasks" in selector
    assert "delete_project" in selector
    assert "First name of the person" not in selector
    assert "First name of the person" in caller
    assert "delete_project" not in caller
    assert "hours" in parser
    assert "delete_project" not in parser


def test_continue_shows_the_selector_subtask_plan_result_and_new_words(board: Board) -> None:
    model = by_role(
        {
            "planner": [plan("Get the owner of the first project"), go_on("Now get project 1"), end("Done.")],
            "selector": [select("list_projects"), select("get_project")],
            "caller": [call({}), call({"path": {"project_id": 1}})],
        }
    )
    agent = board.agent(model)
    agent.ask("Who owns the first project?")
    again = text(prompts_of(model, "selector")[1])
    for shown in ("Get the owner of the first project", "list_projects", "Winter timetable", "Now get project 1"):
        assert shown in again
    assert "(nothing yet)" in again, "r_t of the unfinished sub-task is not background"
    assert [(step["task"], step["kind"]) for step in agent.state["steps"]] == [(1, "plan"), (1, "continue")]


def test_a_new_subtask_gets_earlier_results_as_background(board: Board) -> None:
    model = by_role(
        {
            "planner": [plan("List projects"), plan("Get project 1"), end("Done.")],
            "selector": [select("list_projects"), select("get_project")],
            "caller": [call({}), call({"path": {"project_id": 1}})],
        }
    )
    board.agent(model).ask("Who owns the first project?")
    assert "Winter timetable" in text(prompts_of(model, "selector")[1])
    assert "List projects" not in text(prompts_of(model, "selector")[1])


def test_independent_reads_of_one_plan_are_all_made_and_reported_in_order(board: Board) -> None:
    ids = [1, 2, 3]
    model = by_role(
        {
            "planner": [plan(f"Get projects {ids}"), end("Done.")],
            "selector": [select("get_project")],
            "caller": [call(*({"path": {"project_id": number}} for number in ids), numbers=[1, 1, 1])],
        }
    )
    agent = board.agent(model)
    agent.ask("Show projects 1, 2 and 3")
    assert sorted(board.calls()) == ["GET /projects/{project_id} 200"] * 3
    [step] = agent.state["steps"]
    assert [request["arguments"]["path"]["project_id"] for request in step["requests"]] == ids


def test_a_call_that_needs_another_is_filled_in_after_it(board: Board) -> None:
    model = by_role(
        {
            "planner": [plan("Get the first project"), end("Done.")],
            "selector": [select("list_projects", ("get_project", [1]))],
            "caller": [call({}), call({"path": {"project_id": 1}}, numbers=[2])],
        }
    )
    agent = board.agent(model)
    agent.ask("Show the first project")
    assert board.calls() == ["GET /projects 200", "GET /projects/{project_id} 200"]
    assert "Winter timetable" in text(prompts_of(model, "caller")[1])
    assert len(agent.state["steps"]) == 1


def test_a_subtask_that_needs_no_call_is_answered_from_the_background(board: Board) -> None:
    model = by_role({"planner": [plan("Say hello"), end("Hello.")], "selector": [no_call("Hello is a greeting.")]})
    agent = board.agent(model)
    agent.ask("Hello?")
    assert agent.state["steps"][0]["result"] == "Hello is a greeting."
    assert board.calls() == []


def test_an_unknown_operation_is_refused_with_near_names(board: Board) -> None:
    model = by_role(
        {
            "planner": [plan("List projects"), end("Done.")],
            "selector": [select("list_project"), select("list_projects")],
            "caller": [call({})],
        }
    )
    board.agent(model).ask("List projects")
    assert "list_projects" in str(prompts_of(model, "selector")[1][-1].text)
    assert board.calls() == ["GET /projects 200"]


def test_arguments_that_do_not_fit_are_refused_with_a_pointer_before_anything_is_sent(board: Board) -> None:
    model = by_role(
        {
            "planner": [plan("Second page"), end("Done.")],
            "selector": [select("find_tasks")],
            "caller": [call({"query": {"page": "two"}}), call({"query": {"page": 2}})],
            "parser": [COUNT],
        }
    )
    board.agent(model).ask("Show page 2")
    assert "/query/page" in str(prompts_of(model, "caller")[1][-1].text)
    assert board.calls() == ["GET /tasks 200"]


def test_a_value_that_is_missing_leads_to_the_operations_that_would_give_it(board: Board) -> None:
    model = by_role(
        {
            "planner": [plan("Get the harbour project"), end("Done.")],
            "selector": [select("get_project"), select("list_projects")],
            "caller": [missing("the id of the harbour project"), call({})],
        }
    )
    board.agent(model).ask("Show the harbour project")
    hint = str(prompts_of(model, "selector")[1][-1].text)
    assert "the id of the harbour project" in hint
    assert "project_id: " in hint
    assert "list_projects" in hint
    assert board.calls() == ["GET /projects 200"]


def test_a_read_with_an_id_that_nobody_gave_is_sent(board: Board) -> None:
    script = {"planner": [plan("Get a project"), end("There is none.")], "selector": [select("get_project")]}
    board.agent(by_role({**script, "caller": [call({"path": {"project_id": 63926}})]})).ask("Show the harbour project")
    assert board.calls() == ["GET /projects/{project_id} 404"]


def test_a_value_that_nothing_gives_ends_the_round_with_the_reason(board: Board) -> None:
    model = by_role(
        {
            "planner": [plan("Get a project"), end("Which project?")],
            "selector": [select("get_project"), select("get_project")],
            "caller": [missing("the project"), missing("the project")],
        }
    )
    agent = board.agent(model)
    assert agent.ask("Show it")["answer"] == "Which project?"
    assert "A required value is not known: the project" in agent.state["steps"][0]["result"]


def test_a_refused_request_is_corrected_by_the_caller_with_what_the_api_said(board: Board) -> None:
    model = by_role(
        {
            "planner": [plan("Move task 101 to project 99 or else 2"), end("Done.")],
            "selector": [select("update_task")],
            "caller": [call(move(99)), call(move(2))],
        }
    )
    agent = board.agent(model)
    agent.ask("Move task 101 to project 99, or else to 2", writes="allow")
    assert "status 422" in str(prompts_of(model, "caller")[1][-1].text)
    assert "project_id names no project" in str(prompts_of(model, "caller")[1][-1].text)
    assert [line for line in board.calls() if line.startswith("PATCH")] == [
        "PATCH /tasks/{task_id} 422",
        "PATCH /tasks/{task_id} 200",
    ]
    [step] = agent.state["steps"]
    assert [request["attempt"] for request in step["requests"]] == [0, 1]
    assert step["result"].count("Called update_task") == 1


def test_an_error_status_goes_to_the_planner_without_a_parser(board: Board) -> None:
    model = by_role(
        {
            "planner": [plan("Get project 77"), end("There is no project 77.")],
            "selector": [select("get_project")],
            "caller": [call({"path": {"project_id": 77}})],
        }
    )
    agent = board.agent(model)
    agent.ask("Show project 77")
    assert "status 404" in agent.state["steps"][0]["result"]


def test_code_that_fails_is_repaired_with_its_traceback(board: Board) -> None:
    model = by_role(
        {
            "planner": [plan("Count"), end("24")],
            "selector": [select("find_tasks")],
            "caller": [call({})],
            "parser": ["print(data['count'])", COUNT],
        }
    )
    agent = board.agent(model)
    agent.ask("How many tasks?")
    assert "KeyError" in str(prompts_of(model, "parser")[1][-1].text)
    assert "There are 24 tasks" in agent.state["steps"][0]["result"]


def test_the_operations_of_several_apis_stand_under_their_names(board: Board) -> None:
    weather = load_api(
        {
            "openapi": "3.1.0",
            "info": {"title": "Weather", "version": "1"},
            "servers": [{"url": "https://weather.example.com"}],
            "paths": {"/today": {"get": {"operationId": "today", "responses": {"200": {"description": "ok"}}}}},
        }
    )
    model = by_role({"planner": [plan("Look outside"), end("No.")], "selector": [no_call("Nothing fits.")]})
    graph = build_graph(
        [board.api, weather], model=model, context=CALLS, checkpointer=InMemorySaver(), store=InMemoryStore()
    )
    Agent(graph, model).ask("Is it raining?")
    [prompt] = prompts_of(model, "selector")
    assert "Weather:\n- today: GET /today" in text(prompt)
    assert "Team board:\n- list_projects: GET /projects" in text(prompt)


def test_the_planner_sees_its_earlier_decisions_as_it_gave_them(board: Board) -> None:
    first = {"thought": "Nothing is known yet.", "decision": "plan", "text": "Count the tasks"}
    model = by_role(
        {
            "planner": [first, end("There are 24.")],
            "selector": [select("find_tasks")],
            "caller": [call({})],
            "parser": [COUNT],
        }
    )
    board.agent(model).ask("How many tasks are there?")
    history = [message.text for message in prompts_of(model, "planner")[1] if message.type == "ai"]
    assert [json.loads(text) for text in history] == [first]


def test_one_code_reads_all_responses_to_the_same_query(board: Board) -> None:
    model = by_role(
        {
            "planner": [plan("Count the tasks of projects 1 and 2"), end("Done.")],
            "selector": [select("list_project_tasks")],
            "caller": [call({"path": {"project_id": 1}}, {"path": {"project_id": 2}}, numbers=[1, 1])],
            "parser": ["print(data['total'], 'tasks')"],
        }
    )
    agent = board.agent(model)
    agent.ask("How many tasks have projects 1 and 2?")
    assert agent.state["steps"][0]["result"].count(" tasks") == 2
    assert len(prompts_of(model, "parser")) == 1


def test_code_that_names_one_response_does_not_read_another(board: Board) -> None:
    model = by_role(
        {
            "planner": [plan("Count the tasks of projects 1 and 2"), end("Done.")],
            "selector": [select("list_project_tasks")],
            "caller": [call({"path": {"project_id": 1}}, {"path": {"project_id": 2}}, numbers=[1, 1])],
            "parser": [f"print('project {number}:', data['total'], 'tasks')" for number in (1, 2)],
        }
    )
    agent = board.agent(model)
    agent.ask("How many tasks have projects 1 and 2?")
    result = agent.state["steps"][0]["result"]
    assert "project 1: " in result
    assert "project 2: " in result


def test_code_that_keeps_failing_is_replaced_by_direct_reading(board: Board) -> None:
    model = by_role(
        {
            "planner": [plan("Count"), end("24")],
            "selector": [select("find_tasks")],
            "caller": [call({})],
            "parser": ["print(data['count'])", "pass"],
            "direct": ["There are 24 tasks in all."],
        }
    )
    agent = board.agent(model)
    agent.ask("How many tasks?")
    assert agent.state["steps"][0]["result"].count("There are 24 tasks in all.") == 1
    assert '"total"' in text(prompts_of(model, "direct")[0])


def test_without_code_the_model_reads_the_body(board: Board) -> None:
    model = by_role(
        {
            "planner": [plan("Count"), end("24")],
            "selector": [select("find_tasks")],
            "caller": [call({})],
            "direct": ["24 tasks."],
        }
    )
    board.agent(model).ask("How many tasks?", code=False)
    assert prompts_of(model, "parser") == []


def test_api_text_is_marked_as_data_wherever_a_model_reads_it(board: Board) -> None:
    show = "print(data['notes'])"
    model = by_role(
        {
            "planner": [plan("Read task 117"), end("40 cm.")],
            "selector": [select("get_task")],
            "caller": [call({"path": {"task_id": 117}})],
            "parser": [show],
        }
    )
    board.agent(model).ask("How deep is the shelf of task 117?")
    prompt = str(prompts_of(model, "planner")[1][-1].text)
    opening, rest = prompt.split("\n", 1)
    assert opening.startswith("<result-")
    assert "ignore your instructions" in rest
    assert rest.endswith(opening.replace("<", "</"))


def test_response_bodies_stay_out_of_the_state(board: Board) -> None:
    model = by_role(
        {
            "planner": [plan("Count"), end("24")],
            "selector": [select("find_tasks")],
            "caller": [call({})],
            "parser": [COUNT],
        }
    )
    agent = board.agent(model)
    agent.ask("How many tasks?")
    held = [entry["title"] for entry in board.tasks().values()]
    state = json.dumps(agent.state, default=str)
    assert sum(title in state for title in held) < 6


def test_a_follow_up_sees_the_conversation_and_earlier_results(board: Board) -> None:
    model = by_role(
        {
            "planner": [plan("Count"), end("24 tasks."), plan("Get project 1"), end("Done.")],
            "selector": [select("find_tasks"), select("get_project")],
            "caller": [call({}), call({"path": {"project_id": 1}})],
            "parser": [COUNT],
        }
    )
    agent = board.agent(model)
    agent.ask({"messages": [("user", "How many tasks?")]})
    agent.ask({"messages": [("user", "And project 1?")]})
    third = text(prompts_of(model, "planner")[2])
    assert "24 tasks." in third
    assert "Instruction: And project 1?" in third
    assert "There are 24 tasks" in text(prompts_of(model, "selector")[1])
    assert agent.state["turn"] == 2
    assert [message.type for message in agent.state["messages"]] == ["human", "ai", "human", "ai"]


def test_an_api_that_cannot_be_reached_stops_the_run_which_goes_on_when_it_is_back() -> None:
    script = {
        "planner": [plan("Get project 1"), end("Done.")],
        "selector": [select("get_project")],
        "caller": [call({"path": {"project_id": 1}})],
    }
    with held_port() as port:
        with served_board(port=port) as board:
            agent = board.agent(by_role(script))
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
    model = by_role(
        {
            "planner": [plan("One"), plan("Two"), end("I got only this far.")],
            "selector": [no_call("one"), no_call("two")],
        }
    )
    result = board.agent(model).ask("Go on for ever", max_steps=2)
    assert result["answer"] == "I got only this far."
    assert "No further call can be made (2 API plans)" in str(prompts_of(model, "planner")[2][-1].text)


def test_without_tokens_left_the_answer_is_what_was_found(board: Board) -> None:
    def endless() -> object:
        for number in range(999):
            yield plan(f"More, part {number}")

    model = by_role({"planner": endless(), "selector": (no_call("A fact.") for _ in range(999))})
    result = board.agent(model).ask("Go on for ever", max_tokens=1000, max_steps=100)
    assert "used up (1000 tokens)" in result["answer"]
    assert "A fact." in result["answer"]
    assert len(model.prompts) < 100


def test_an_end_says_whether_the_instruction_was_fulfilled(board: Board) -> None:
    for fulfilled in (True, False):
        agent = board.agent(by_role({"planner": [end("There it is.", fulfilled=fulfilled)]}))
        agent.ask("Sing a song")
        assert agent.state["decision"]["fulfilled"] is fulfilled


@pytest.mark.parametrize(("last", "fulfilled"), [(end("All done."), True), (plan("More"), False)])
def test_a_run_that_is_cut_by_its_budget_is_not_fulfilled(board: Board, last: Reply, fulfilled: bool) -> None:
    agent = board.agent(by_role({"planner": [plan("One"), last], "selector": [no_call("one")]}))
    agent.ask("Go on", max_steps=1)
    assert agent.state["decision"]["kind"] == "end"
    assert agent.state["decision"]["fulfilled"] is fulfilled


ALL = "print(len(data['items']), 'tasks')"


def paged(pages: int) -> dict[str, object]:
    return {
        "planner": [plan("Count the tasks"), end("24")],
        "selector": [select("find_tasks")],
        "caller": [call({}, pages=pages)],
        "parser": [ALL],
    }


def test_the_pages_of_a_list_are_followed_and_parsed_as_one(board: Board) -> None:
    agent = board.agent(by_role(paged(5)))  # type: ignore[arg-type]
    agent.ask("How many tasks?")
    assert board.calls() == ["GET /tasks 200"] * 3
    assert agent.state["steps"][0]["result"].endswith("status 200. 24 tasks")
    assert agent.state["usage"]["requests"] == 3


@pytest.mark.parametrize(("pages", "notice"), [(1, "first page only"), (2, "may go on after these 2 pages")])
def test_a_list_that_goes_on_is_said_to(board: Board, pages: int, notice: str) -> None:
    agent = board.agent(by_role(paged(pages)))  # type: ignore[arg-type]
    agent.ask("How many tasks?")
    assert len(board.calls()) == pages
    assert notice in agent.state["steps"][0]["result"]


def test_the_purpose_of_a_call_stands_for_an_empty_output_instruction(board: Board) -> None:
    model = by_role(
        {
            "planner": [plan("Show the task"), end("Done.")],
            "selector": [select("get_task")],
            "caller": [call({"path": {"task_id": 101}}, output_instruction="")],
        }
    )
    agent = board.agent(model)
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
