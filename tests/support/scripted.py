"""A chat model that answers from a script: the fake at the model's seam."""

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from pydantic import BaseModel, ConfigDict, PrivateAttr

Reply = str | dict[str, Any] | BaseModel | AIMessage | BaseException
Script = Callable[[list[BaseMessage]], Reply]


class ScriptedModel(BaseChatModel):
    """Gives its replies in order, or asks a function for each; keeps every prompt in `prompts`.

    A dict or pydantic reply is given as a tool call when a tool is bound, else as JSON text; an exception is raised. A
    script that runs out is an `AssertionError`.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)
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

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(
        self, tools: Sequence[Any], *, tool_choice: str | None = None, **kwargs: Any
    ) -> Runnable[Any, AIMessage]:
        return self.bind(tools=list(tools), tool_choice=tool_choice)

    def _next(self, messages: list[BaseMessage]) -> Reply:
        if callable(self._replies):
            return self._replies(messages)
        try:
            return next(self._replies)
        except StopIteration:
            raise AssertionError(f"the script is over, but the model was asked:\n{messages[-1].text}") from None

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        self._prompts.append(list(messages))
        reply = self._next(messages)
        if isinstance(reply, BaseException):
            raise reply
        return ChatResult(generations=[ChatGeneration(message=_message(reply, bool(kwargs.get("tools"))))])


def _message(reply: Any, tools: bool) -> AIMessage:
    if isinstance(reply, AIMessage):
        return reply
    counts: Any = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
    if isinstance(reply, str):
        return AIMessage(reply, usage_metadata=counts)
    value = reply.model_dump() if isinstance(reply, BaseModel) else reply
    if not tools:
        return AIMessage(json.dumps(value), usage_metadata=counts)
    call = {"name": "reply", "args": value, "id": "call-1", "type": "tool_call"}
    return AIMessage("", tool_calls=[call], usage_metadata=counts)
