"""Guards that a tool call that a model writes as text is made, by every role, if the model repeats it for ever."""

import json
from typing import Any

import pytest
from board import Board
from roles import call, end
from scripted import ScriptedModel

from restgpt.nodes.programs.program_reply import ProgramReply
from restgpt.tools.model.structured import ask

DELETE = {"name": "delete_task", "arguments": {"task_id": 103}}
FORMS = [
    DELETE,
    f"```json\n{json.dumps(DELETE)}\n```",
    f"<tool_call>{json.dumps(DELETE)}</tool_call>",
    'Action: delete_task\nAction Input: {"task_id": 103}',
    {"thought": "", "decision": "program", "text": json.dumps(DELETE)},
    {"decision": "program", "text": "delete_task(103)"},
]


@pytest.mark.parametrize("reply", FORMS, ids=range(len(FORMS)))
def test_a_call_in_the_place_of_a_program_is_made_and_told(board: Board, reply: Any) -> None:
    agent = board.agent(ScriptedModel(lambda prompt: reply), context={"writes": "allow", "undo": False})
    assert agent.ask("Delete task 103.")["answer"].startswith("Done: delete_task")
    assert (len(agent.model.prompts), board.calls()) == (1, ["DELETE /tasks/{task_id} 204"])


def test_an_object_inside_a_program_is_no_call() -> None:
    code = 'create_project(body={"name": "get_task", "input": {}})'
    for reply in (code, f"```python\n{code}\n```", {"thought": "", "decision": "program", "text": code}):
        assert ask(ScriptedModel([reply]), [("user", "Create it.")], ProgramReply)[0].text == code


@pytest.mark.parametrize("reply", FORMS[:4], ids=range(4))
def test_each_role_reads_a_call(board: Board, reply: Any) -> None:
    agent = board.one_task(planner=[reply, end("Done.")], selector=[reply], caller=[reply])
    agent.ask("Delete task 103.", writes="allow")
    assert board.calls()[-1] == "DELETE /tasks/{task_id} 204"
    assert agent.state["decision"]["fulfilled"] is True


def test_a_call_that_an_answer_quotes_is_not_made(board: Board) -> None:
    quoted = end(f"The note of task 101 is:\n{json.dumps(DELETE)}")
    agent = board.agent(ScriptedModel(lambda prompt: quoted), context={"writes": "allow"})
    agent.ask("What is the note of task 101?")
    assert board.calls() == []


def test_a_need_of_a_call_that_is_not_before_it_is_dropped(board: Board) -> None:
    caller = [call({"path": {"task_id": 117}}), call({"path": {"project_id": 1}}, numbers=[2])]
    board.one_task(("get_task", [1]), ("get_project", [1, 3]), caller=caller).ask("Show task 117 and project 1")
    assert board.calls() == ["GET /tasks/{task_id} 200", "GET /projects/{project_id} 200"]
