"""The base of the scripted models that carry out tasks of their own from the prompts alone."""

import time
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Generic, Self, TypeVar

from langchain_core.messages import BaseMessage
from pydantic import PrivateAttr

from restgpt.tools.model.scripted import Reply, ScriptedChatModel

Task = TypeVar("Task")


class TaskModel(ScriptedChatModel, Generic[Task]):
    """Carries out tasks, and takes `seconds` for each reply; it keeps no state but what it was asked.

    `prompts` keeps what it was asked if `keep` is set.
    """

    keep: bool = False
    seconds: float = 0.0
    _task_of: Callable[[str], Any] = PrivateAttr()
    _prompts: list[str] = PrivateAttr(default_factory=list)

    @classmethod
    def over(cls, task: Task, *, keep: bool = False) -> Self:
        """Return the model of one task."""
        return cls.choosing(lambda prompt: task, keep=keep)

    @classmethod
    def choosing(cls, task_of: Callable[[str], Task], *, keep: bool = False, seconds: float = 0.0) -> Self:
        """Return the model of many tasks; `task_of` finds the one that the text of a prompt is about."""
        model = cls(keep=keep, seconds=seconds)
        model._task_of = task_of
        return model

    @property
    def prompts(self) -> list[str]:
        """The prompts so far, each as one text."""
        return self._prompts

    @abstractmethod
    def answer(self, task: Callable[[], Task], messages: list[BaseMessage]) -> Reply:
        """Return the reply to a prompt; `task` finds the task that it is about."""

    def reply(self, messages: list[BaseMessage], tools: Sequence[str]) -> Reply:
        """Return the answer, after the seconds that a model would take."""
        prompt = "\n".join(str(message.text) for message in messages)
        if self.keep:
            self._prompts.append(prompt)
        time.sleep(self.seconds)
        return self.answer(lambda: self._task_of(prompt), messages)
