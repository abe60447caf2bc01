"""The span of one call of a chat model, as the semantic conventions for GenAI describe it.

The dialect of a model's server: the parameters, messages and methods of reply that it takes, as its refusals tell.

Servers that call themselves compatible refuse different parts of a request, with different statuses. A dialect is kept
as long as its model, so that a part that was refused is not sent again.
"""

import functools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar, cast
from weakref import finalize

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.messages.utils import convert_to_messages

from restgpt.tools.model.model_errors import ModelError, is_unreadable, model_failures, status_of
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


UNSUPPORTED = frozenset({200, 400, 422})
"""Statuses with which providers refuse a method of structured output that the model does not have.

Behind a 200 is a reply that the provider's package cannot read, such as one that a filter ended; another method can
help.
"""

_METHOD = re.compile(
    r"\btools?\b|tool_|function.call|response_format|json_schema|grammar|requested parameters", re.IGNORECASE
)
"""The words of a refusal of tools or of a schema, whatever its status (llama.cpp: 500, OpenRouter: 404)."""

_ROLES = re.compile(r"roles? must alternate|alternate user|system (?:role|message)s? (?:is |are )?not", re.IGNORECASE)

_PARAMETERS: tuple[tuple[re.Pattern[str], str, Any], ...] = (
    (re.compile("temperature", re.IGNORECASE), "temperature", None),
    (re.compile("stream_options"), "stream_usage", False),
    (re.compile(r"max_(?:completion_)?tokens"), "max_tokens", None),
    # The second is how LangChain reads a whole answer in the place of a stream.
    (re.compile(r"\bstreaming\b|\"stream\"|found in stream", re.IGNORECASE), "disable_streaming", True),
)
"""The words of a refusal of a parameter, the field of LangChain's model that sends it, and the value that does not."""


class Dialect:
    """What the server of a model refused: methods of a reply, parameters, and several messages."""

    def __init__(self) -> None:
        self.methods: set[str] = set()
        self._parameters: dict[str, Any] = {}
        self._is_single = False

    def adapted(self, model: BaseChatModel) -> BaseChatModel:
        """Return the model without the parameters that were refused."""
        return model.model_copy(update=self._parameters) if self._parameters else model

    def messages(self, conversation: Sequence[BaseMessage]) -> list[BaseMessage]:
        """Return the messages of a conversation, or all in one for a template that demands turns."""
        if not self._is_single:
            return list(conversation)
        told = (f"assistant: {item.text}" if item.type == "ai" else str(item.text) for item in conversation)
        return [HumanMessage("\n\n".join(told))]

    def learn(self, model: BaseChatModel, error: BaseException) -> bool:
        """Leave out what a refusal names, and return whether the request can be sent again without it."""
        text = str(error)
        if not self._is_single and _ROLES.search(text):
            self._is_single = True
            return True
        for words, name, value in _PARAMETERS:
            if name not in self._parameters and getattr(model, name, value) != value and words.search(text):
                self._parameters[name] = value
                return True
        return False


_DIALECTS: dict[int, Dialect] = {}


def dialect_of(model: BaseChatModel) -> Dialect:
    """Return the dialect of a model's server, as far as it is known."""
    found = _DIALECTS.get(id(model))
    if found is None:
        found = _DIALECTS[id(model)] = Dialect()
        finalize(model, _DIALECTS.pop, id(model), None)
    return found


def spoken(
    model: BaseChatModel,
    conversation: Sequence[BaseMessage],
    send: Callable[[BaseChatModel, list[BaseMessage]], AIMessage],
) -> AIMessage:
    """Return the reply that `send` gets for a conversation, which is sent again without each part that is refused."""
    dialect = dialect_of(model)
    while True:
        try:
            return send(dialect.adapted(model), dialect.messages(conversation))
        except model_failures(model) as error:
            if not dialect.learn(model, error):
                raise


def is_refusal(error: BaseException) -> bool:
    """Return whether an error refuses the method of a reply, so that another one may work."""
    status = status_of(error)
    if status is None:
        return is_unreadable(error)
    return status in UNSUPPORTED or ((status == 404 or status >= 500) and _METHOD.search(str(error)) is not None)
