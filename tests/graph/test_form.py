"""Guards typed answers: a report that has the form already costs no call, another one is put into it once."""

from dataclasses import dataclass
from typing import Any

import pytest
from board import Board
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command
from pydantic import BaseModel
from roles import program
from scripted import ScriptedModel
from typing_extensions import TypedDict

from restgpt.graph.build import build_graph

ASKED = {"instruction": "How many tasks are there?"}
TYPED = 'print({"total": find_tasks()["total"]})'
PLAIN = 'print("There are", find_tasks()["total"], "tasks.")'


class Count(BaseModel):
    """How many there are."""

    total: int


class Counted(TypedDict):
    total: int


@dataclass
class Number:
    total: int


@pytest.mark.parametrize(("kind", "value"), [(Count, Count(total=24)), (Counted, {"total": 24}), (Number, Number(24))])
def test_a_report_in_the_form_is_the_typed_answer_without_a_further_call(board: Board, kind: Any, value: Any) -> None:
    model = ScriptedModel([program(TYPED)])
    found = build_graph(board.api, model=model, response_format=kind).invoke(ASKED)
    assert found["structured_response"] == value
    assert '"total"' in str(model.prompts[0][0].text)


@pytest.mark.parametrize(("kind", "reply"), [(Count, {"total": 24}), (Counted, {"value": {"total": 24}})])
def test_another_report_is_put_into_the_form_by_one_call(board: Board, kind: Any, reply: Any) -> None:
    model = ScriptedModel([program(PLAIN), reply])
    found = build_graph(board.api, model=model, response_format=kind).invoke(ASKED)
    assert found["structured_response"] == (Count(total=24) if kind is Count else {"total": 24})
    assert found["answer"] == "There are 24 tasks."
    assert found["usage"]["roles"]["planner"]["calls"] == 1
    assert "There are 24 tasks." in model.texts[1]


def test_an_answer_that_cannot_be_put_into_the_form_stays_an_answer(board: Board) -> None:
    model = ScriptedModel([program(PLAIN), *["no"] * 4])
    found = build_graph(board.api, model=model, response_format=Count).invoke(ASKED)
    assert (found["answer"], found["structured_response"]) == ("There are 24 tasks.", None)


def test_the_typed_answer_comes_after_a_pause_and_no_checkpoint_holds_it(board: Board) -> None:
    code = 'print({"total": len([create_project(body={"name": "Moss"})])})'
    kept: dict[str, Any] = {"checkpointer": InMemorySaver(), "store": InMemoryStore()}
    graph = build_graph(board.api, model=ScriptedModel([program(code)]), response_format=Count, **kept)
    thread: Any = {"configurable": {"thread_id": "1"}}
    assert "__interrupt__" in graph.invoke({"instruction": "Create Moss"}, thread)
    found = graph.invoke(Command(resume={"decisions": [{"type": "approve"}]}), thread)
    assert found["structured_response"] == Count(total=1)
    assert "structured_response" not in graph.get_state(thread).values


def test_what_is_no_type_is_refused(board: Board) -> None:
    with pytest.raises(TypeError, match="a pydantic model, a dataclass or a TypedDict, not dict"):
        build_graph(board.api, response_format={"type": "object"})  # type: ignore[arg-type]
