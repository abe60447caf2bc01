"""The span of one call of a chat model, as the semantic conventions for GenAI describe it."""

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.utils import convert_to_messages

from restgpt.tools.model.errors import ModelError, status_of
from restgpt.tools.tracing.span import note_provider, span, type_name
from restgpt.tools.tracing.telemetry import set_content

Chat = TypeVar("Chat", bound=Callable[..., AIMessage])

PROVIDERS = {
    "amazon_bedrock": "aws.bedrock",
    "azure": "azure.ai.openai",
    "azure_openai": "azure.ai.openai",
    "google_genai": "gcp.gemini",
    "google_vertexai": "gcp.vertex_ai",
    "mistral": "mistral_ai",
    "mistralai": "mistral_ai",
    "xai": "x_ai",
}
"""The names that the conventions give to providers, where LangChain has others."""

ROLES = {"human": "user", "ai": "assistant"}
"""The roles that the conventions give to types of messages, where LangChain has others."""


def chat_span(function: Chat) -> Chat:
    """Wrap a function of a model and messages that asks the model once, so that each of its runs has a span."""

    @functools.wraps(function)
    def asked(model: Any, messages: Sequence[Any], *args: Any, **kwargs: Any) -> AIMessage:
        request = _request(model)
        name = f"chat {request.get('gen_ai.request.model', '')}".strip()
        with span(name, request, kind="CLIENT", error_type=_error_type) as current:
            note_provider(request["gen_ai.provider.name"])
            set_content(current, "gen_ai.input.messages", lambda: _described(convert_to_messages(list(messages))))
            reply = function(model, messages, *args, **kwargs)
            current.set(_response(reply))
            set_content(current, "gen_ai.output.messages", lambda: _output(reply))
            return reply

    return cast(Chat, asked)


def _request(model: Any) -> dict[str, Any]:
    while not isinstance(model, BaseChatModel) and hasattr(model, "bound"):
        model = model.bound
    # These are the parameters for LangSmith: LangChain names the provider nowhere else.
    about: Mapping[str, Any] = model._get_ls_params() if isinstance(model, BaseChatModel) else {}
    provider = str(about.get("ls_provider") or "unknown")
    found = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": PROVIDERS.get(provider, provider),
        "gen_ai.request.model": about.get("ls_model_name"),
        "gen_ai.request.temperature": about.get("ls_temperature"),
        "gen_ai.request.max_tokens": about.get("ls_max_tokens"),
    }
    return {name: value for name, value in found.items() if value is not None}


def _response(reply: AIMessage) -> dict[str, Any]:
    about, usage = reply.response_metadata, reply.usage_metadata
    found = {
        "gen_ai.response.id": about.get("id"),
        "gen_ai.response.model": about.get("model_name") or about.get("model"),
        "gen_ai.response.finish_reasons": [finish] if (finish := _finish(reply)) else None,
    }
    if usage is None:
        return found
    return found | {
        "gen_ai.usage.input_tokens": usage["input_tokens"],
        "gen_ai.usage.output_tokens": usage["output_tokens"],
        "gen_ai.usage.cache_read.input_tokens": usage.get("input_token_details", {}).get("cache_read"),
        "gen_ai.usage.reasoning.output_tokens": usage.get("output_token_details", {}).get("reasoning"),
    }


def _finish(reply: AIMessage) -> str | None:
    """Return why the model stopped, as its provider says it."""
    about = reply.response_metadata
    return about.get("finish_reason") or about.get("stop_reason")


def _output(reply: AIMessage) -> list[dict[str, Any]]:
    """Return a reply in the form of the conventions, which want a reason."""
    finish = _finish(reply) or ("tool_call" if reply.tool_calls else "stop")
    return [{**message, "finish_reason": finish} for message in _described([reply])]


def _described(messages: Iterable[BaseMessage]) -> list[dict[str, Any]]:
    """Return messages in the form of the conventions: a role, and parts that are texts or tool calls."""
    return [{"role": ROLES.get(message.type, message.type), "parts": _parts(message)} for message in messages]


def _parts(message: BaseMessage) -> list[dict[str, Any]]:
    text = str(message.text)
    parts: list[dict[str, Any]] = [{"type": "text", "content": text}] if text else []
    for call in message.tool_calls if isinstance(message, AIMessage) else ():
        parts.append({"type": "tool_call", "id": call["id"], "name": call["name"], "arguments": call["args"]})
    return parts


def _error_type(error: BaseException) -> str:
    """Return the status with which the provider refused, else the class of the provider's exception."""
    cause = error.__context__ if isinstance(error, ModelError) and error.__context__ is not None else error
    status = status_of(cause)
    return str(status) if status and status >= 400 else type_name(cause)
