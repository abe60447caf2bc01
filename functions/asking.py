"""Ways to ask a model for calls that a structured reply does not cover: native tools, and raw completions."""

from collections.abc import Sequence
from typing import Any

import openai
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import PrivateAttr

from restgpt.tools.model.chat import (
    ModelError,
    ModelUnavailableError,
    Usage,
    provider_errors,
    resolve_model,
    unavailable,
    usage_of,
)
from restgpt.tools.settings import Settings

COMPLETION = "completion:"
"""Names a model whose server takes a prompt as it is (`/v1/completions`), without a chat template around it."""

COMPLETION_TOKENS = 512


class CompletionModel(BaseChatModel):
    """A completions endpoint as a chat model: the last message is the whole prompt, sent as it is.

    The prompts of the OpenFunctions models must reach them without a chat template.
    """

    _client: Any = PrivateAttr()
    _name: str = PrivateAttr()

    def __init__(self, name: str, *, client: openai.OpenAI, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._client = client
        self._name = name

    @property
    def _llm_type(self) -> str:
        return "completion"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        found = self._client.completions.create(
            model=self._name,
            prompt=str(messages[-1].text),
            max_tokens=COMPLETION_TOKENS,
            temperature=0.0,
            stop=stop,
        )
        message = AIMessage(found.choices[0].text or "")
        if found.usage is not None:
            message.usage_metadata = {
                "input_tokens": found.usage.prompt_tokens,
                "output_tokens": found.usage.completion_tokens,
                "total_tokens": found.usage.total_tokens,
            }
        return ChatResult(generations=[ChatGeneration(message=message)])


def resolve_call_model(
    model: str | BaseChatModel | None, *, temperature: float | None = 0.0, settings: Settings | None = None
) -> BaseChatModel:
    """The model that writes calls; `completion:NAME` is a completions endpoint at OPENAI_BASE_URL.

    Raises `ModelError` as `resolve_model` does.
    """
    if not isinstance(model, str) or not model.startswith(COMPLETION):
        return resolve_model(model, temperature=temperature)
    settings = settings or Settings.from_env()
    key = {} if settings.has_openai_api_key else {"api_key": "unused"}
    try:
        client = openai.OpenAI(base_url=settings.openai_base_url, timeout=120.0, max_retries=2, **key)  # type: ignore[arg-type]
    except openai.OpenAIError as error:
        raise ModelError(f"The model {model} cannot be set up: {error}") from None
    return CompletionModel(model.removeprefix(COMPLETION), client=client)


def ask_with_tools(
    model: BaseChatModel, messages: Sequence[BaseMessage], tools: Sequence[dict[str, Any]]
) -> tuple[AIMessage, Usage]:
    """One reply with native tool calling, and what it cost; raises `ModelUnavailableError` when the provider fails."""
    try:
        reply = model.bind_tools(list(tools)).invoke(list(messages))
    except NotImplementedError:
        raise ModelUnavailableError("The model has no native tool calling; use another way of prompting.") from None
    except provider_errors() as error:
        raise unavailable(error) from None
    if not isinstance(reply, AIMessage):
        raise ModelUnavailableError(f"The model gave {type(reply).__name__} where a message was expected.")
    return reply, usage_of(reply)
