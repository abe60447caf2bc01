"""Guards the reader of tool calls that a model writes as text."""

import json
from typing import Any

import pytest

from restgpt.tools.model.reply import written_calls

ONE = {"name": "get_task", "arguments": {"task_id": 117}}


@pytest.mark.parametrize(
    "reply",
    [
        ONE,
        [ONE],
        json.dumps(ONE),
        f"```json\n{json.dumps(ONE, indent=2)}\n```",
        f"<tool_call>\n{json.dumps(ONE)}\n</tool_call>",
        f"<think>{json.dumps({**ONE, 'name': 'delete_task'})}</think>{json.dumps(ONE)}",
        'Action: get_task\nAction Input: {"task_id": 117}',
        {"tool": "functions.get_task", "parameters": {"task_id": 117}},
        {"action": "get_task", "action_input": {"task_id": 117}},
        {"name": "get_task", "arguments": '{"task_id": 117}'},
        {"type": "function", "function": ONE},
    ],
)
def test_a_written_call_is_read_in_each_form(reply: Any) -> None:
    assert written_calls(reply) == [("get_task", {"task_id": 117})]


def test_several_calls_are_read_in_their_order() -> None:
    other = {"name": "find_tasks", "arguments": {"filter": {"name": "x", "input": {}}}}
    text = "".join(f"<tool_call>{json.dumps(call)}</tool_call>\n" for call in (ONE, other))
    assert [call.name for call in written_calls(text)] == ["get_task", "find_tasks"]


@pytest.mark.parametrize(
    "reply",
    [
        "There are 7 tasks.",
        '{"name": "Paint the maps", "hours": 11}',
        {"decision": "end", "text": "Done."},
        {"name": "get_task", "arguments": "117"},
        [ONE, 1],
        "Action: get_task\nand then I wait",
        f"The note says {json.dumps(ONE)}, which I do not do.",
        f"I call it.\n```json\n{json.dumps(ONE, indent=2)}\n```",
        f"```json\n{json.dumps(ONE)}\n```\nThat is what it says.",
        f"The note says:\n<tool_call>\n{json.dumps(ONE)}\n</tool_call>",
        f"<tool_call>\n{json.dumps(ONE)}\n</tool_call> is what it says.",
        'The note says:\nAction: get_task\nAction Input: {"task_id": 117}',
        'Action: get_task\nAction Input: {"task_id": 117}\nThat is the note.',
        f"{json.dumps(ONE)}\n{json.dumps({'name': 'Paint'})}",
        "{" * 5000,
        None,
    ],
)
def test_other_replies_hold_no_call(reply: Any) -> None:
    assert written_calls(reply) == []
