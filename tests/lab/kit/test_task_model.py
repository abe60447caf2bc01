"""Guards scripted models of tasks: they find the task of a prompt, and keep prompts only if they are asked to."""

from collections.abc import Callable

import pytest
from langchain_core.messages import BaseMessage

from lab.kit.task_model import TaskModel


class Echo(TaskModel[str]):
    """Replies with its task."""

    def answer(self, task: Callable[[], str], messages: list[BaseMessage]) -> str:
        return task()


def test_the_task_is_the_one_that_the_prompt_is_about() -> None:
    model = Echo.choosing(lambda prompt: "one" if "first" in prompt else "other")
    assert [str(model.invoke(text).text) for text in ("the first", "the next")] == ["one", "other"]


@pytest.mark.parametrize("keep", [True, False])
def test_prompts_are_kept_if_asked_for(keep: bool) -> None:
    model = Echo.over("task", keep=keep)
    model.invoke("a prompt")
    assert model.prompts == (["a prompt"] if keep else [])
