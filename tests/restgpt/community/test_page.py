"""Guards the page for users of langchain-community: every block runs, and old and new give the same answer."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from board import Board
from langchain_core.messages import AIMessage
from roles import by_role, program
from scripted import Reply, ScriptedModel

from restgpt.specs.reading.download import bundled_document
from restgpt_bench.worlds import CREDENTIAL

pytest.importorskip("langchain_community", reason="langchain-community, of the extra `community`, is not installed")
pytest.importorskip("openapi_pydantic", reason="openapi-pydantic, of the extra `dev`, is not installed")

PAGE = Path(__file__).parents[3] / "docs" / "from-langchain-community.md"
BLOCKS = dict(
    re.findall(r"<!-- ((?:old|new): \w+) -->\n```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
)
NAME = "Winter timetable"
GET = "GET /projects/{project_id} 200"
READ = "print(get_project(project_id=1)['name'])"
LISTED = "GET /projects 200"


def old_planner(url: str) -> list[Reply]:
    request = f'{{"url": "{url}/projects/1", "params": {{}}, "output_instructions": "the name"}}'
    return [
        "Action: api_planner\nAction Input: Which is project 1?",
        "1. GET /projects/{project_id} to read it",
        "Action: api_controller\nAction Input: 1. GET /projects/1 to read it",
        f"Action: requests_get\nAction Input: {request}",
        NAME,
        f"Final Answer: {NAME}",
        f"Final Answer: {NAME}",
    ]


def old_requests(url: str) -> list[Reply]:
    call = {"name": "requests_get", "args": {"url": f"{url}/projects/1"}, "id": "1", "type": "tool_call"}
    return [AIMessage("", tool_calls=[call]), NAME]


def old_toolkit(url: str) -> list[Reply]:
    return [f"Action: requests_get\nAction Input: {url}/projects/1", f"Final Answer: {NAME}"]


def old_nla(url: str) -> list[Reply]:
    return ["ARGS: ```json\n{}\n```", f'```json\n{{"response": "{NAME} and others"}}\n```']


def old_chain(url: str) -> list[Reply]:
    asked = {"name": "get_project", "arguments": '{"path_params": {"project_id": 1}}'}
    return [AIMessage("", additional_kwargs={"function_call": asked})]


OLD: dict[str, tuple[Callable[[str], list[Reply]], str, list[str]]] = {
    "planner": (old_planner, NAME, [GET]),
    "requests": (old_requests, NAME, [GET]),
    "toolkit": (old_toolkit, NAME, [GET]),
    "nla": (old_nla, f"{NAME} and others", [LISTED]),
    "chain": (old_chain, NAME, [GET]),
}
"""The replies of the model, the answer and the requests of each old block."""

NEW = dict.fromkeys(OLD, READ) | {"nla": "print(rows(list_projects())[0]['name'], 'and others')"}
"""The program of the model in each new block, whose answer and requests are those of the old one."""


def run(block: str, board: Board, llm: Any) -> Any:
    spec = yaml.safe_load(bundled_document("toy").read_text(encoding="utf-8"))
    names: dict[str, Any] = {
        "SPEC": {**spec, "servers": [{"url": board.server.url}]},
        "URL": board.server.url,
        "TOKEN": CREDENTIAL,
        "llm": llm,
    }
    exec(compile(BLOCKS[block], f"{PAGE.name}, {block}", "exec"), names)
    return names["answer"]


def test_every_block_of_the_page_is_run() -> None:
    assert BLOCKS.keys() == {f"old: {name}" for name in OLD} | {f"new: {name}" for name in NEW}
    assert PAGE.read_text(encoding="utf-8").count("```python") == len(BLOCKS)


@pytest.mark.parametrize("name", OLD)
def test_the_old_call_answers(name: str, board: Board) -> None:
    replies, answer, requests = OLD[name]
    assert run(f"old: {name}", board, ScriptedModel(replies(board.server.url))) == answer
    assert board.calls() == requests


@pytest.mark.parametrize("name", NEW)
def test_the_new_call_answers_the_same(name: str, board: Board) -> None:
    _, answer, requests = OLD[name]
    llm = by_role({"express": [program(NEW[name])]})
    assert run(f"new: {name}", board, llm) == answer
    assert board.calls() == requests
    assert [text for text in llm.texts if CREDENTIAL in text] == []
