"""Chat models in the runnables that `with_fallbacks`, `with_retry`, `with_config` and `bind` give."""

from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable, RunnableWithFallbacks
from langchain_core.runnables.base import RunnableBindingBase

ChatModel = BaseChatModel | Runnable[Any, Any]
"""What a host may give as a model, beside its name."""


class WrappedModel(BaseChatModel):
    """A chat model that asks the models inside of a runnable; tools are bound to each of these."""

    runnable: Runnable[Any, Any]

    @property
    def _llm_type(self) -> str:
        return "wrapped"

    def bind_tools(
        self, tools: Sequence[Any], *, tool_choice: str | None = None, **kwargs: Any
    ) -> Runnable[Any, AIMessage]:
        """Bind tools to the models inside, which know how."""
        return _inside(self.runnable, lambda model: model.bind_tools(tools, tool_choice=tool_choice, **kwargs))

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        bound: dict[str, Any] = {"stop": stop} if stop else {}
        message = self.runnable.invoke(messages, None, **bound, **kwargs)
        return ChatResult(generations=[ChatGeneration(message=message)])


def chat_model(given: ChatModel) -> BaseChatModel:
    """Return a chat model, or one that asks the chat models inside a runnable; raises `TypeError` for other values."""
    if isinstance(given, BaseChatModel):
        return given
    found: list[BaseChatModel] = []

    def noted(model: BaseChatModel) -> BaseChatModel:
        found.append(model)
        return model

    if isinstance(given, Runnable):
        _inside(given, noted)
    if not found:
        raise TypeError(
            "A model is a chat model of LangChain, one with fallbacks, retries, a config or bound arguments, or a name "
            f"such as openai:gpt-5-mini, not {type(given).__name__}."
        )
    return WrappedModel(runnable=given)


def _inside(given: Runnable[Any, Any], change: Callable[[BaseChatModel], Runnable[Any, Any]]) -> Runnable[Any, Any]:
    """Return a runnable with its chat models changed."""
    match given:
        case BaseChatModel():
            return change(given)
        case RunnableWithFallbacks():
            others = [_inside(one, change) for one in given.fallbacks]
            return given.model_copy(update={"runnable": _inside(given.runnable, change), "fallbacks": others})
        case RunnableBindingBase():
            return given.model_copy(update={"bound": _inside(given.bound, change)})
    return given
