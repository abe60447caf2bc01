"""Guards the values of programs: no invented ids, the origin of values in a question, learned shapes in prompts."""

from typing import Any

import pytest
from board import TOY, Board, agent_of
from paths import api_of
from programs import actions, programmer, worker
from question import unmarked
from roles import by_role, call, end, plan, program, prompts_of, select
from wire.case import Canned
from wire.echo import EchoServer

from restgpt.specs import load_api
from restgpt_bench.worlds import CREDENTIAL


def test_a_read_is_sent_whatever_its_id_comes_from(board: Board) -> None:
    agent = programmer(board, "print(get_task(task_id=117)['id'])")
    assert agent.ask("Name a task")["answer"] == "117"


@pytest.mark.slow
def test_the_first_of_many_answers_still_gives_ids(board: Board) -> None:
    code = (
        "ids = [task['id'] for task in rows(find_tasks())]\n"
        "words = [find_tasks(text='nothing', page=n) for n in range(1, 36)]\n"
        "delete_task(task_id=ids[3])\nprint('Deleted.')"
    )
    answer = programmer(board, code, writes="allow").ask("Look for words")["answer"]
    assert answer == "Deleted.\n(find_tasks: no match for text=nothing)"


def test_the_question_says_where_the_values_of_a_program_come_from(board: Board) -> None:
    code = """
shed = get_project(project_id=2)
hours = len(rows(find_tasks())) * 7
create_task(project_id=shed["id"], body={"title": "Chairs", "assignee": shed["owner"], "hours": hours})
print("There")
"""
    agent = programmer(board, code)
    [action] = actions(agent.ask("Add the task Chairs to project 2, for its owner"))
    text = action["description"]
    assert action["args"]["body"] == {"title": "Chairs", "assignee": "Björn", "hours": 70}
    assert "Line 4 of the program calls it:" in action["details"]
    assert "body.assignee: owner in a response of get_project" in action["details"]
    assert "body.assignee" not in text
    assert "body.hours: computed by the program in line 4" in text
    origins = {item["pointer"]: item["origin"] for item in action["provenance"]}
    assert origins == {
        "/path/project_id": "user",
        "/body/title": "user",
        "/body/assignee": "response",
        "/body/hours": "program",
    }


@pytest.mark.parametrize("learned", [True, False])
def test_learned_shapes_are_shown_without_values_where_the_document_says_nothing(board: Board, learned: bool) -> None:
    bare = Board(board.server, without_schemas(board))
    agent = programmer(bare, "print(len(rows(find_tasks())))", end("Fine."), learned_shapes=learned)
    agent.ask("Look at the tasks")
    agent.ask("And now?")
    first, second = (str(prompts_of(agent.model, "express")[number][0].text) for number in (0, 1))
    assert "total" not in first
    assert ("total" in second) is learned
    assert "Paint the shelves" not in second


def without_schemas(board: Board) -> Any:
    """The toy API with a document that says nothing about the answers of lists of tasks."""
    text = TOY.read_text(encoding="utf-8")
    begin, end = text.index("    TaskPage:\n"), text.index("    Error:\n      description")
    bare = "    TaskPage:\n      description: Ten tasks.\n      content:\n        application/json: {}\n"
    return load_api(text[:begin] + bare + text[end:], base_url=board.server.url, auth={"key": CREDENTIAL})


def test_the_caller_sees_learned_shapes_too(board: Board) -> None:
    bare = Board(board.server, without_schemas(board))
    code = "print(len(rows(find_tasks())))"
    planner = [plan("Count again"), end("Done.")]
    agent = worker(bare, code, code, planner=planner, selector=[select("find_tasks")] * 2)
    agent.ask("Look at the tasks")
    first, second = (str(prompts_of(agent.model, "program")[number][1].text) for number in (0, 1))
    assert "total" not in first.partition("Functions:")[2]
    assert "total" in second.partition("Functions:")[2]


def test_a_round_that_began_call_by_call_goes_on_so_where_the_setting_changes(board: Board) -> None:
    caller = [call({"path": {"project_id": 2}}), call({"path": {"project_id": 2}}, numbers=[2])]
    agent = board.one_task("get_project", ("list_project_tasks", [1]), caller=caller, parser=["print(1)"])
    agent.stop_at("planned", {"instruction": "Show project 2"})
    other: Any = {"road": "program"}
    assert agent.graph.invoke(None, agent.config, context=other)["answer"] == "Done."
    assert len(board.calls()) == 2


def test_a_program_goes_on_where_the_setting_changes_to_calls(board: Board) -> None:
    code = "first = get_project(project_id=1)\nprint(get_project(project_id=2)['id'])"
    agent = programmer(board, code)
    agent.graph.invoke({"instruction": "Show the projects 1 and 2"}, agent.config, interrupt_before=["parser"])
    context: Any = {"road": "roles"}
    assert agent.graph.invoke(None, agent.config, context=context)["answer"] == "2"


def test_the_caller_sees_the_names_that_a_program_can_call(board: Board) -> None:
    text = TOY.read_text(encoding="utf-8").replace("operationId: find_tasks", "operationId: find-tasks")
    api = load_api(text, base_url=board.server.url, auth={"key": CREDENTIAL})
    agent = worker(Board(board.server, api), "print(find_tasks()['total'])", selector=[select("find-tasks")])
    agent.ask("Look at the tasks")
    prompt = str(prompts_of(agent.model, "program")[0][-1].text)
    assert "1. find_tasks: use find-tasks" in prompt
    assert "find_tasks(" in prompt
    assert agent.state["steps"][0]["result"].startswith("24")


ALIAS = "The id of the customer; `my_customer` stands for your own."


@pytest.mark.parametrize(("first", "is_asked"), [("list_devices(customer='my_customer')\n", False), ("", True)])
def test_an_alias_that_the_document_tells_of_a_called_operation_is_no_invented_id(first: str, is_asked: bool) -> None:
    described = [{"name": "customer", "in": "path", "required": True, "description": ALIAS}]
    plain = [{"name": "customer", "in": "path", "required": True, "schema": {"type": "string"}}]
    paths = {
        "/customers/{customer}/devices": {"get": {"operationId": "list_devices", "parameters": described}},
        "/customers/{customer}/move": {"post": {"operationId": "move_devices", "parameters": plain}},
    }
    with EchoServer() as echo:
        echo.script([Canned(b"[]", headers={"Content-Type": "application/json"}), Canned(status=204)])
        model = by_role({"express": [program(f"{first}move_devices(customer='my_customer')\nprint('Moved.')")]})
        agent = agent_of([api_of(paths, base_url=echo.url)], model)
        assert ("__interrupt__" in agent.ask("Move the devices", writes="allow")) is is_asked


def test_the_question_says_which_thing_an_id_of_an_answer_stands_for(board: Board) -> None:
    code = "task = rows(find_tasks())[0]\nupdate_task(task_id=task['id'], body={'hours': 1})\nprint('Done')"
    [action] = actions(programmer(board, code).ask("Shorten the first task"))
    lines = unmarked(action["description"])
    assert lines[lines.index("Changes, by a response of team-board:") + 2].startswith('title "')
    assert not any(line.startswith("path.task_id: ") for line in lines)
    code = "shed = rows(list_projects())[1]\ncreate_task(project_id=shed['id'], body={'title': 'Moss'})\nprint('Done')"
    [action] = actions(programmer(board, code).ask("Add the task Moss of 2 hours to the second project"))
    assert 'path.project_id: name "Seed library", owner "Björn" (from list_projects)' in unmarked(action["description"])


def test_the_question_tells_each_thing_that_an_id_may_stand_for() -> None:
    schema = {"type": "object", "properties": {"member_id": {"type": "integer"}}}
    loan = {"content": {"application/json": {"schema": schema}}}
    paths = {
        "/members": {"get": {"operationId": "list_members"}},
        "/books": {"get": {"operationId": "list_books"}},
        "/loans": {"post": {"operationId": "create_loan", "requestBody": loan}},
    }
    code = "sam = list_members()[0]\nlist_books()\ncreate_loan(body={'member_id': sam['id']})"
    with EchoServer() as echo:
        found = (b'[{"id": 3, "name": "Sam"}]', b'[{"id": 3, "title": "Dune"}]')
        echo.script([Canned(body, headers={"Content-Type": "application/json"}) for body in found])
        agent = agent_of([api_of(paths, base_url=echo.url)], by_role({"express": [program(code)]}))
        [action] = actions(agent.ask("Lend Sam a book"))
    told = 'body.member_id: title "Dune" (from list_books), or name "Sam" (from list_members)'
    assert told in unmarked(action["description"])
