"""Access to chat models: from a `provider:name` to a validated value, whatever the provider can do.

A role asks for a pydantic model and gets one. How the answer travels (the provider's JSON schema mode, a tool call, or
JSON in plain text) is a setting, and `auto` falls back by itself.
"""

import json
import re
import sys
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Generic, Literal, TypeVar

import openai
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.messages.utils import convert_to_messages
from langchain_core.runnables import Runnable, RunnableSequence
from pydantic import BaseModel, SecretStr, ValidationError

from restgpt.tools.errors import StoppingError
from restgpt.tools.redaction import Redactor

Method = Literal["auto", "json_schema", "function_calling", "json"]
Answer = TypeVar("Answer", bound=BaseModel)

REPAIRS = 2
"""How often a reply that does not fit the schema is sent back with the reason."""

PATIENCE_S = 120.0
"""How long one model call may take, in seconds, unless the caller of `resolve_model` says otherwise."""


class ModelError(StoppingError):
    """A model cannot be used; the message names the cause and the remedy."""


class NoModelError(ModelError):
    """No model is configured."""

    def __init__(self) -> None:
        super().__init__(
            "No model is configured. Give one with one of these:\n"
            "  a hosted provider:         export OPENAI_API_KEY=…  and  --model openai:gpt-5-mini\n"
            "  a local server:            export OPENAI_BASE_URL=http://localhost:11434/v1  and  --model openai:NAME\n"
            "  any LangChain chat model:  export RESTGPT_MODEL=PROVIDER:NAME  (pip install langchain-PROVIDER)"
        )


class ModelReplyError(ModelError):
    """The model's replies did not fit the schema, even after they were sent back with the reason."""

    def __init__(self, schema: str, reason: str, *, usage: "Usage | None" = None) -> None:
        super().__init__(
            f"The model's replies were not a valid {schema} after {REPAIRS} repairs: {reason}. "
            "A more capable model, or another --structured-output method, may help."
        )
        self.usage = usage or Usage()


class ModelUnavailableError(ModelError):
    """The provider refused or could not be reached."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What some model calls cost: `calls` made, tokens read and written."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        """Add up two usages."""
        return Usage(
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
        )


@dataclass(frozen=True, slots=True)
class Asked(Generic[Answer]):
    """A validated answer and what it cost."""

    value: Answer
    usage: Usage


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
        from restgpt.tools.model.recording import RecordedModel

        return RecordedModel.from_file(name)
    from langchain.chat_models import init_chat_model

    options: dict[str, Any] = {"timeout": timeout, "max_retries": 2}
    if temperature is not None:
        options["temperature"] = temperature
    if provider == "openai" and name:
        options |= _openai_options()
    try:
        chat_model: BaseChatModel = init_chat_model(model, **options)
    except ImportError as error:
        raise ModelError(f"The model {model} needs a package that is not installed: {error}") from None
    except (ValueError, openai.OpenAIError) as error:
        told = f"The model {model} cannot be set up: {_first_line(error)}"
        if not name or isinstance(error, ValueError):
            told += " A model is written PROVIDER:NAME, such as openai:gpt-5-mini."
        raise ModelError(told) from None
    return chat_model


def _openai_options() -> dict[str, Any]:
    """A local server needs no key, but the client insists on one."""
    from restgpt.tools.settings import Settings

    settings = Settings.from_env()
    if settings.openai_base_url and not settings.has_openai_api_key:
        return {"api_key": "unused", "base_url": settings.openai_base_url}
    return {}


def ask(
    model: BaseChatModel,
    messages: Sequence[BaseMessage | tuple[str, str]],
    schema: type[Answer],
    *,
    method: Method = "auto",
    check: Callable[[Answer], None] | None = None,
    repairs: int = REPAIRS,
) -> Asked[Answer]:
    """Ask `model` for a `schema`.

    A reply that does not fit, or for which `check` raises `ValueError`, is sent back with the reason, at most `repairs`
    times. Raises `ModelReplyError` when none fits and `ModelUnavailableError` when the provider fails.
    """
    conversation = convert_to_messages(list(messages))
    used = Usage()
    reason = ""
    ways = _ways(model, method)
    for _ in range(repairs + 1):
        raw, ways = _reply(model, conversation, schema, ways)
        used += usage_of(raw)
        try:
            value = _read(raw, schema)
            if check is not None:
                check(value)
            return Asked(value, used)
        except (ValueError, ValidationError) as error:
            reason = _reason(error)
        except RecursionError:
            reason = "It is nested too deeply."
        conversation = [
            *conversation,
            AIMessage(_shown(raw)),
            HumanMessage(f"That reply cannot be used. {reason}\nReply again with the whole JSON object, corrected."),
        ]
    raise ModelReplyError(schema.__name__, reason, usage=used)


def usage_of(message: AIMessage) -> Usage:
    """What one reply cost; zero tokens where the provider does not say."""
    counts = message.usage_metadata
    if counts is None:
        return Usage(calls=1)
    return Usage(1, counts["input_tokens"], counts["output_tokens"])


def _ways(model: BaseChatModel, method: Method) -> tuple[str, ...]:
    if method != "auto":
        return (method,)
    if isinstance(model, _OpenAIModels.classes()):
        return ("json_schema", "function_calling", "json")
    return ("function_calling", "json")


class _OpenAIModels:
    """The classes whose server understands `response_format`; looked up late, because the import is slow."""

    @staticmethod
    def classes() -> tuple[type, ...]:
        from langchain_openai.chat_models.base import BaseChatOpenAI

        return (BaseChatOpenAI,)


def _reply(
    model: BaseChatModel, conversation: list[BaseMessage], schema: type[BaseModel], ways: tuple[str, ...]
) -> tuple[AIMessage, tuple[str, ...]]:
    """One reply, with the ways that are still worth trying."""
    refusal: BaseException | None = None
    while ways:
        try:
            return _invoke(model, conversation, schema, ways[0]), ways
        except NotImplementedError as error:
            refusal, ways = error, ways[1:]
        except provider_errors() as error:
            if status_of(error) not in NOT_THIS_WAY:
                raise unavailable(error) from None
            refusal, ways = error, ways[1:]
    told = Redactor(_keys_of(model)).message(str(refusal))
    raise ModelUnavailableError(f"The model refused the request: {_first_line(told)}") from None


def _keys_of(model: BaseChatModel) -> list[str]:
    """The keys that a model's client holds, which LangChain's classes keep as `SecretStr`."""
    values = (getattr(model, name) for name in type(model).model_fields)
    return [value.get_secret_value() for value in values if isinstance(value, SecretStr)]


NOT_THIS_WAY = frozenset({200, 400, 422})
"""Statuses with which providers refuse a way of structuring replies that the model does not have.

Behind a 200 is a reply that its provider's package cannot read, such as one that was cut off; other ways can mend it.
"""

PROVIDER_ERRORS = (
    ("openai", "OpenAIError"),
    ("anthropic", "AnthropicError"),
    ("google.genai.errors", "APIError"),
    ("google.api_core.exceptions", "GoogleAPIError"),
    ("mistralai.models", "SDKError"),
    ("groq", "GroqError"),
    ("cohere.core.api_error", "ApiError"),
    ("ollama", "ResponseError"),
    ("botocore.exceptions", "BotoCoreError"),
    ("botocore.exceptions", "ClientError"),
    ("httpx", "HTTPError"),
    ("requests", "RequestException"),
)
"""The base classes of what providers' packages raise; they have none in common."""


def provider_errors() -> tuple[type[BaseException], ...]:
    """The error classes of the providers' packages that are loaded."""
    found = [getattr(sys.modules[module], name, None) for module, name in PROVIDER_ERRORS if module in sys.modules]
    return tuple(kind for kind in found if isinstance(kind, type) and issubclass(kind, BaseException))


def status_of(error: BaseException) -> int | None:
    """The HTTP status behind a provider's error, under any of the names that providers use."""
    for holder in (error, getattr(error, "response", None)):
        for name in ("status_code", "code", "status"):
            if isinstance(value := getattr(holder, name, None), int):
                return value
    return None


def unavailable(error: BaseException) -> ModelUnavailableError:
    """A provider's error as ours, without its text, which may quote the request or a key."""
    status = status_of(error)
    if status is None:
        return ModelUnavailableError(
            f"The model's server cannot be reached or used ({type(error).__name__}). Check OPENAI_BASE_URL, or the "
            "provider's own settings, and the network."
        )
    remedy = {
        401: "Check the API key.",
        403: "Check what the API key may do.",
        404: "Check the model's name and OPENAI_BASE_URL.",
        429: "Wait, or raise the account's limit.",
    }.get(status, "Try again later.")
    return ModelUnavailableError(f"The model's server answered {status}. {remedy}")


def _invoke(model: BaseChatModel, conversation: list[BaseMessage], schema: type[BaseModel], way: str) -> AIMessage:
    if way == "json":
        wanted = json.dumps(schema_of(schema), ensure_ascii=False)
        asked = [
            *conversation,
            HumanMessage(f"Reply with one JSON object and nothing else. It must fit this JSON Schema:\n{wanted}"),
        ]
        return _message(model.invoke(asked))
    structured: Runnable[Any, Any] = model.with_structured_output(schema_of(schema), method=way)
    if isinstance(structured, RunnableSequence):
        # Only the model, and no parser after it. LangChain's own way to the raw message, `include_raw`, starts two
        # threads for each call, and a thread that starts holds a lock on which every executor of the process waits.
        return _message(structured.first.invoke(conversation))
    both: Runnable[Any, Any] = model.with_structured_output(schema_of(schema), method=way, include_raw=True)
    return _message(both.invoke(conversation)["raw"])


def _message(reply: object) -> AIMessage:
    if not isinstance(reply, AIMessage):
        raise ModelUnavailableError(f"The model gave {type(reply).__name__} where a message was expected.")
    return reply


def schema_of(schema: type[BaseModel]) -> dict[str, Any]:
    """The JSON Schema that a model sees; its title and description are the tool's name and purpose."""
    # Copied, because a provider's package may write into it.
    return deepcopy(_schema_of(schema))


@lru_cache(maxsize=64)
def _schema_of(schema: type[BaseModel]) -> dict[str, Any]:
    wanted = schema.model_json_schema()
    wanted.setdefault("description", schema.__name__)
    return wanted


def _read(message: AIMessage, schema: type[Answer]) -> Answer:
    """The value in a tool call or, failing that, in the text."""
    if message.tool_calls:
        return schema.model_validate(message.tool_calls[0]["args"])
    return schema.model_validate(json_in(_written(message)))


def _written(message: AIMessage) -> str:
    """The text, or that of a tool call whose arguments are no JSON."""
    broken = [call["args"] or "" for call in message.invalid_tool_calls]
    return str(message.text) or "".join(broken[:1])


def json_in(text: str) -> Any:
    """The first JSON object in a text that may hold fences or prose around it; raises `ValueError` if there is none."""
    stripped = re.sub(r"^<think>.*?</think>", "", text.strip(), flags=re.DOTALL).strip()
    decoder = json.JSONDecoder(strict=False)
    for start in (match.start() for match in re.finditer(r"\{", stripped)):
        try:
            return decoder.raw_decode(stripped, start)[0]
        except json.JSONDecodeError:
            continue
    raise ValueError("it holds no JSON object")


def _reason(error: ValueError) -> str:
    if not isinstance(error, ValidationError):
        return str(error)
    return "; ".join(
        f"{'.'.join(str(part) for part in problem['loc']) or 'the object'}: {problem['msg']}"
        for problem in error.errors(include_url=False, include_input=False)
    )


def _shown(message: AIMessage) -> str:
    if message.tool_calls:
        return json.dumps(message.tool_calls[0]["args"], ensure_ascii=False)
    return _written(message) or "(an empty reply)"


def read_text(model: BaseChatModel, messages: Sequence[BaseMessage | tuple[str, str]]) -> tuple[str, Usage]:
    """A plain text reply and what it cost; raises `ModelUnavailableError` when the provider fails."""
    try:
        raw = _message(model.invoke(convert_to_messages(list(messages))))
    except provider_errors() as error:
        raise unavailable(error) from None
    text = re.sub(r"^<think>.*?</think>", "", str(raw.text).strip(), flags=re.DOTALL)
    return text.strip(), usage_of(raw)


def _first_line(error: object) -> str:
    return str(error).strip().partition("\n")[0][:300]
