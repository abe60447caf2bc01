"""The base of all chat models whose replies come from Python code: scripts, recordings, players of roles."""

import json
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable

Reply = str | Mapping[str, Any] | AIMessage


class ScriptedChatModel(BaseChatModel):
    """A chat model that asks no provider: a subclass gives its replies.

    A text and a message are passed on unchanged. An object becomes a call of the first bound tool, since structured
    output binds one, or JSON text if no tool is bound.
    """

    @abstractmethod
    def reply(self, messages: list[BaseMessage], tools: Sequence[str]) -> Reply:
        """The reply to a prompt, when the tools of these names are bound; a message brings its own usage."""

    def usage(self, messages: list[BaseMessage], text: str) -> UsageMetadata | None:
        """The cost to report for a reply of this text."""
        return {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(
        self, tools: Sequence[Any], *, tool_choice: str | None = None, **kwargs: Any
    ) -> Runnable[Any, AIMessage]:
        """Bind the names of the tools."""
        return self.bind(tools=[_name_of(tool) for tool in tools])

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        tools = kwargs.get("tools") or ()
        reply = self.reply(messages, tools)
        message = reply if isinstance(reply, AIMessage) else self._message(messages, reply, tools)
        return ChatResult(generations=[ChatGeneration(message=message)])

    def _message(self, messages: list[BaseMessage], reply: str | Mapping[str, Any], tools: Sequence[str]) -> AIMessage:
        text = reply if isinstance(reply, str) else json.dumps(reply, ensure_ascii=False)
        usage = self.usage(messages, text)
        if isinstance(reply, str) or not tools:
            return AIMessage(text, usage_metadata=usage)
        call = {"name": tools[0], "args": dict(reply), "id": "call-1", "type": "tool_call"}
        return AIMessage("", tool_calls=[call], usage_metadata=usage)


def _name_of(tool: Any) -> str:
    if isinstance(tool, dict):
        return str(tool.get("title") or tool.get("name") or tool.get("function", {}).get("name"))
    return str(getattr(tool, "__name__", tool))
