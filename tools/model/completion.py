"""A completions endpoint (`/v1/completions`) as a chat model, for models that must be prompted without a template."""

from typing import TYPE_CHECKING, Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import PrivateAttr

from restgpt.tools.model.errors import ModelError
from restgpt.tools.model.exceptions import UNREADABLE, unavailable
from restgpt.tools.settings import Settings

if TYPE_CHECKING:
    import openai

PREFIX = "completion:"
MOST_TOKENS = 512
TIMEOUT_S = 120.0


class CompletionModel(BaseChatModel):
    """A completions endpoint as a chat model: the last message is the whole prompt, sent as it is."""

    _client: Any = PrivateAttr()
    _name: str = PrivateAttr()

    def __init__(self, name: str, *, client: "openai.OpenAI", **kwargs: Any) -> None:
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
        try:
            found = self._client.completions.create(
                model=self._name,
                prompt=str(messages[-1].text),
                max_tokens=MOST_TOKENS,
                temperature=0.0,
                stop=stop,
            )
            choice = found.choices[0]
            message = AIMessage(choice.text, response_metadata={"finish_reason": choice.finish_reason})
            if found.usage is not None:
                message.usage_metadata = {
                    "input_tokens": found.usage.prompt_tokens,
                    "output_tokens": found.usage.completion_tokens,
                    "total_tokens": found.usage.total_tokens,
                }
        except UNREADABLE as error:
            raise unavailable(error) from None
        return ChatResult(generations=[ChatGeneration(message=message)])


def resolve_completion_model(model: str, *, settings: Settings) -> CompletionModel:
    """The model `completion:NAME` at OPENAI_BASE_URL; raises `ModelError` when its key is missing."""
    import openai

    key = {} if settings.has_openai_api_key else {"api_key": "unused"}
    try:
        client = openai.OpenAI(base_url=settings.openai_base_url, timeout=TIMEOUT_S, max_retries=2, **key)  # type: ignore[arg-type]
    except openai.OpenAIError as error:
        raise ModelError(f"The model {model} cannot be set up: {error}") from None
    return CompletionModel(model.removeprefix(PREFIX), client=client)
