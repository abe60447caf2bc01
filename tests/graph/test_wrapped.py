"""Guards chat models with fallbacks, retries, a config or bound arguments: the models inside are asked."""

from collections.abc import Callable
from typing import Any

import pytest
from board import Board
from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import RunnableLambda
from scripted import ScriptedModel

from restgpt.graph.build import build_graph
from restgpt.tools.model.provider import chat_model

REPLY = {"decision": "program", "text": 'print(find_tasks()["total"])'}
WRAPPERS: dict[str, Callable[[BaseChatModel], Any]] = {
    "with_config": lambda model: model.with_config(tags=["mine"]),
    "with_retry": lambda model: model.with_retry(stop_after_attempt=2, wait_exponential_jitter=False),
    "with_fallbacks": lambda model: ScriptedModel([OSError("down")]).with_fallbacks([model]),
    "bind": lambda model: model.bind(stop=["never"]),
    "two of them": lambda model: model.with_config(tags=["mine"]).with_fallbacks([]),
}


@pytest.mark.parametrize("method", ["auto", "json"])
@pytest.mark.parametrize("name", WRAPPERS)
def test_a_wrapped_model_is_asked(board: Board, name: str, method: str) -> None:
    inside = ScriptedModel([REPLY])
    graph = build_graph(board.api, model=WRAPPERS[name](inside), context={"structured_output": method})
    assert graph.invoke({"instruction": "How many tasks are there?"})["answer"] == "24"
    assert len(inside.prompts) == 1


def test_a_model_that_fails_once_is_asked_again_by_its_retry(board: Board) -> None:
    inside = ScriptedModel([OSError("down"), REPLY])
    graph = build_graph(board.api, models={"caller": WRAPPERS["with_retry"](inside)})
    assert graph.invoke({"instruction": "How many tasks are there?"})["answer"] == "24"


@pytest.mark.parametrize("given", [RunnableLambda(str), 3, object()])
def test_what_holds_no_chat_model_is_refused(given: Any) -> None:
    with pytest.raises(TypeError, match="A model is a chat model of LangChain"):
        chat_model(given)
