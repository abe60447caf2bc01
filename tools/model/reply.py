"""The reply of a chat model: the message, the text in it without the model's thoughts, the JSON in that text.

Replies are plans, code and JSON, which LangGraph's stream mode `messages` must not show as messages of the agent. So
each model call has the tag that keeps it out of that mode.
"""

import ast
import json
import re
from collections.abc import Sequence
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.utils import convert_to_messages
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import ensure_config, merge_configs
from langgraph.constants import TAG_NOSTREAM

from restgpt.tools.model.chat_span import chat_span
from restgpt.tools.model.errors import ModelUnavailableError
from restgpt.tools.model.exceptions import model_failures, unavailable
from restgpt.tools.model.usage import ModelUsage, usage_of

MOST_PRINTED = 100_000
"""The most characters of a printed dict that is read."""

_THOUGHTS = re.compile(r"^<think>.*?</think>", re.DOTALL)


@chat_span
def reply_to(model: Runnable[Any, Any], messages: Sequence[BaseMessage | tuple[str, str]]) -> AIMessage:
    """The reply of a model to some messages; raises `ModelUnavailableError` when the provider fails."""
    try:
        return checked_message(model.invoke(convert_to_messages(list(messages)), call_config()))
    except model_failures(model) as error:
        raise unavailable(error) from None


def call_config(callbacks: Sequence[BaseCallbackHandler] = ()) -> RunnableConfig:
    """The config of a model call: that of the caller, with the tag for calls that `messages` does not show.

    `callbacks` are called in addition to the caller's.
    """
    return merge_configs(ensure_config(), {"tags": [TAG_NOSTREAM], "callbacks": list(callbacks)})


def checked_message(reply: object) -> AIMessage:
    """The reply if it is a whole message; raises `ModelUnavailableError` otherwise."""
    if not isinstance(reply, AIMessage):
        raise ModelUnavailableError(f"The model gave {type(reply).__name__} where a message was expected.")
    if _is_cut(reply):
        raise ModelUnavailableError(
            "The model's server broke off its reply before the end. Go on with the thread to ask it again; if that "
            "happens each time, check the server at OPENAI_BASE_URL, and any proxy before it."
        )
    return reply


def _is_cut(reply: AIMessage) -> bool:
    """Whether a streamed reply ended without its last parts: half of a program or of an answer may look whole."""
    found = reply.response_metadata
    return found.get("model_provider") == "openai" and "finish_reason" not in found and reply.usage_metadata is None


def read_text(model: Runnable[Any, Any], messages: Sequence[BaseMessage | tuple[str, str]]) -> tuple[str, ModelUsage]:
    """A plain text reply and its cost; raises `ModelUnavailableError` when the provider fails."""
    reply = reply_to(model, messages)
    return without_thoughts(str(reply.text)), usage_of(reply)


def without_thoughts(text: str) -> str:
    """The text without the `<think>` block that reasoning models write in front of it."""
    return _THOUGHTS.sub("", text.strip()).strip()


def json_in(text: str) -> Any:
    """The first JSON object in a text that may hold fences or prose around it; raises `ValueError` if there is none.

    An object as Python prints or writes it is taken too: with single quotes, or a comma after its last entry.
    """
    stripped = without_thoughts(text)
    decoder = json.JSONDecoder(strict=False)
    for number, start in enumerate(match.start() for match in re.finditer(r"\{", stripped)):
        try:
            return decoder.raw_decode(stripped, start)[0]
        except json.JSONDecodeError:
            # Before the next brace, which may belong to a text in the printed dict.
            if number == 0 and (found := _printed_dict(stripped)) is not None:
                return found
    raise ValueError("it holds no JSON object")


def _printed_dict(text: str) -> Any:
    """The dict of plain values that a text holds as Python writes it; None if there is none."""
    written = text[text.find("{") : text.rfind("}") + 1]
    if len(written) > MOST_PRINTED:
        return None
    try:
        return json.loads(json.dumps(ast.literal_eval(written)))
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return None
