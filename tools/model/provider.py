"""Chat models in the runnables that `with_fallbacks`, `with_retry`, `with_config` and `bind` give.

Chat models by name: from `provider:name` to a LangChain chat model, or to the replay of a recording.

`completion:name` is a completions endpoint (`/v1/completions`), for models that must be prompted without a template.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable, RunnableWithFallbacks
from langchain_core.runnables.base import RunnableBindingBase
from pydantic import PrivateAttr

from restgpt.tools.http.cancellation import CancelledRunError, cancellation
from restgpt.tools.model.model_errors import (
    UNREADABLE,
    ModelError,
    NoModelError,
    first_line,
    provider_errors,
    unavailable,
)
from restgpt.tools.model.scripted import RecordedModel
from restgpt.tools.settings import Settings

if TYPE_CHECKING:
    import openai

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


PATIENCE_S = 120.0
"""The default time limit of one model call, in seconds."""

PREFIX = "completion:"
MOST_TOKENS = 512
"""The maximum number of tokens of a completion."""

_FINISHED = re.compile(rb'(?<!\\)"finish_reason"\s*:\s*"[^"]')
_NULL = re.compile(rb'(?<!\\)"delta"\s*:\s*null')
_DONE = re.compile(rb"data:\s*\[DONE\]")
_STOP = (
    b'data: {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}\n\n'
)

SPELLING = "A model is written PROVIDER:NAME, such as openai:gpt-5-mini."
LOCAL = "For a local server set OPENAI_BASE_URL; it needs no key."


LIMITS = ("max_tokens", "max_output_tokens", "num_predict")
"""The fields of LangChain's models that bound the tokens of a reply."""


def resolve_model(
    model: str | BaseChatModel | None, *, temperature: float | None = 0.0, timeout: float = PATIENCE_S
) -> BaseChatModel:
    """A chat model from `provider:name`, or the given model as it is.

    The provider `recorded` replays the file that its name gives. Raises `NoModelError` for None or an empty name and
    `ModelError` when the provider's package or key is missing.
    """
    if not model:
        raise NoModelError()
    if not isinstance(model, str):
        return model
    provider, _, name = model.partition(":")
    if provider == "recorded":
        return RecordedModel.from_file(name)
    from langchain.chat_models import init_chat_model

    options: dict[str, Any] = {"timeout": timeout, "max_retries": 2}
    if temperature is not None:
        options["temperature"] = temperature
    if provider == "openai" and name:
        # For a server at another address than OpenAI's, LangChain leaves out the tokens of a reply that it streams.
        options |= {"stream_usage": True, **openai_options(Settings.from_env(is_allowed=True))}
    try:
        chat_model: BaseChatModel = init_chat_model(model, **options)
    except ImportError as error:
        raise ModelError(f"The model {model} needs a package that is not installed: {error}") from None
    except ValueError as error:
        raise ModelError(f"{_cannot_be_set_up(model, error)} {SPELLING}") from None
    except provider_errors() as error:
        raise ModelError(f"{_cannot_be_set_up(model, error)} {LOCAL if name else SPELLING}") from None
    if provider == "openai":
        _hook(chat_model)
    return chat_model


def bounded(model: BaseChatModel, most: int) -> BaseChatModel:
    """The model with at most so many tokens for a reply, if it has no limit of its own: a lost model never ends."""
    own = {name: getattr(model, name) for name in LIMITS if name in type(model).model_fields}
    if not own or any(limit is not None for limit in own.values()):
        return model
    return model.model_copy(update={next(iter(own)): most})


def _hook(model: Any) -> None:
    """Give an OpenAI model an HTTP client that ends streams with a finish reason, and tries nothing after a stop."""
    import openai

    hooks: Any = {"request": [_stop], "response": [_finish_stream]}
    client = openai.DefaultHttpxClient(proxy=model.openai_proxy, event_hooks=hooks)
    model.root_client = model.root_client.with_options(http_client=client)
    model.client = model.root_client.chat.completions


def _stop(request: Any) -> None:
    """Send no request of a run that was stopped, such as a further try after a timeout."""
    if cancellation().is_cancelled:
        raise CancelledRunError


def _finish_stream(response: Any) -> None:
    """Have a stream give the finish reason `stop` before `[DONE]` if its server gives none.

    LangChain does not tell such an end from that of a connection that was broken off, and leaves out the finish reason
    beside a delta that is null.
    """
    if "text/event-stream" not in response.headers.get("content-type", ""):
        return
    read = response.iter_bytes

    def finished(chunk_size: int | None = None) -> Iterator[bytes]:
        rest, is_finished = b"", False
        for part in read(chunk_size):
            *lines, rest = (rest + part).split(b"\n")
            for line in lines:
                is_finished = is_finished or _FINISHED.search(line) is not None
                if not is_finished and _DONE.match(line):
                    yield _STOP
                yield _NULL.sub(b'"delta": {}', line) + b"\n"
        yield (b"" if is_finished or not _DONE.match(rest) else _STOP) + rest

    response.iter_bytes = finished


def _cannot_be_set_up(model: str, error: BaseException) -> str:
    return f"The model {model} cannot be set up: {first_line(error)}"


def openai_options(settings: Settings) -> dict[str, Any]:
    """A key that nobody checks, for a local server: it needs none, but the client insists on one."""
    if settings.openai_base_url and not settings.has_openai_api_key:
        return {"api_key": "unused", "base_url": settings.openai_base_url}
    return {}


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

    options: dict[str, Any] = {"base_url": settings.openai_base_url, **openai_options(settings)}
    try:
        client = openai.OpenAI(timeout=PATIENCE_S, max_retries=2, **options)
    except openai.OpenAIError as error:
        raise ModelError(f"{_cannot_be_set_up(model, error)} {LOCAL}") from None
    return CompletionModel(model.removeprefix(PREFIX), client=client)
