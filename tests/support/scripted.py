"""A fake chat model that answers from a script."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage
from pydantic import BaseModel, PrivateAttr

from restgpt.tools.model.scripted import Reply as ModelReply
from restgpt.tools.model.scripted import ScriptedChatModel

Reply = str | dict[str, Any] | BaseModel | AIMessage | BaseException
Script = Callable[[list[BaseMessage]], Reply]


class ScriptedModel(ScriptedChatModel):
    """Gives its replies in order, or asks a function for each; keeps every prompt in `prompts`.

    A pydantic reply becomes a JSON object, an exception is raised. After the last reply, the model raises
    `AssertionError`.
    """

    _replies: Any = PrivateAttr()
    _prompts: list[list[BaseMessage]] = PrivateAttr(default_factory=list)

    def __init__(self, replies: Iterable[Reply] | Script, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._replies = replies if callable(replies) else iter(replies)

    @property
    def prompts(self) -> list[list[BaseMessage]]:
        return self._prompts

    @property
    def texts(self) -> list[str]:
        return ["\n".join(str(message.text) for message in prompt) for prompt in self._prompts]

    def _next(self, messages: list[BaseMessage]) -> Reply:
        if callable(self._replies):
            return self._replies(messages)
        try:
            return next(self._replies)
        except StopIteration:
            raise AssertionError(f"the script is over, but the model was asked:\n{messages[-1].text}") from None

    def reply(self, messages: list[BaseMessage], tools: Sequence[str]) -> ModelReply:
        self._prompts.append(list(messages))
        reply = self._next(messages)
        if isinstance(reply, BaseException):
            raise reply
        return reply.model_dump() if isinstance(reply, BaseModel) and not isinstance(reply, AIMessage) else reply
