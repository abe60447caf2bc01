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
from restgpt.tools.model.exceptions import cut_off, model_failures, unavailable
from restgpt.tools.model.usage import ModelUsage, usage_of

MOST_PRINTED = 100_000
"""The most characters of a printed dict that is read."""

_THOUGHT_END = re.compile(
    r"</(?:\w+:)?(?:think|thinking|thought|reasoning)>|\[/THINK\]|<\|END_THINKING\|>|◁/think▷"
    # The channels of OpenAI's harmony format, as a server gives them and without their marks.
    r"|<\|channel\|>(?!\s*analysis)[^<]*(?:<\|constrain\|>[^<]*)?<\|message\|>|assistantfinal(?=\W)",
    re.IGNORECASE,
)
_THOUGHT = re.compile(
    r"<(?:\w+:)?(?:think|thinking|thought|reasoning)>|\[THINK\]|<\|START_THINKING\|>|◁think▷|<\|channel\|>\s*analysis",
    re.IGNORECASE,
)
_HARMONY_END = re.compile(r"<\|(?:return|call|end)\|>\s*\Z")

_LIMIT = re.compile(r"length|max_?(?:\w+_)?tokens|context_window", re.IGNORECASE)
_FILTER = re.compile(r"filter|safety|recitation|blocklist|prohibited|guardrail|insufficient_system", re.IGNORECASE)
"""The words of the providers for the end of a reply at a limit, and by the provider; both are no end of its own."""

REASONS = ("finish_reason", "stop_reason", "stopReason", "done_reason", "completionReason")
"""The names that providers give to the reason why a reply ended."""


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
    found = reply.response_metadata
    given = [found.get(name) for name in REASONS] + [(found.get("incomplete_details") or {}).get("reason")]
    reason = " ".join(text for text in given if isinstance(text, str))[:100]
    if _LIMIT.search(reason):
        raise cut_off(reason, usage_of(reply).output_tokens)
    if _FILTER.search(reason):
        raise ModelUnavailableError(
            f"The model's provider ended the reply ({reason}), so nothing of it was used. Ask in other words, or take "
            "another model."
        )
    # A whole reply has the key, even without a reason; the Responses API has a status.
    if found.get("model_provider") == "openai" and not {"finish_reason", "status"} & found.keys():
        raise ModelUnavailableError(
            "The model's server broke off its reply before the end. Go on with the thread to ask it again; if that "
            "happens each time, check the server at OPENAI_BASE_URL, and any proxy before it."
        )
    return reply


def read_text(model: Runnable[Any, Any], messages: Sequence[BaseMessage | tuple[str, str]]) -> tuple[str, ModelUsage]:
    """A plain text reply and its cost; raises `ModelUnavailableError` when the provider fails."""
    reply = reply_to(model, messages)
    return text_of(reply), usage_of(reply)


def text_of(message: AIMessage) -> str:
    """The text of a reply without the model's thoughts; parts of other types, such as `thinking`, are no text."""
    return without_thoughts(str(message.text))


def without_thoughts(text: str) -> str:
    """What stands after the last end of a thought; nothing in a thought without an end, whose drafts are no reply."""
    if _is_object(text):
        return text.strip()
    *_, last = [0, *(match.end() for match in _THOUGHT_END.finditer(text))]
    rest = _HARMONY_END.sub("", text[last:]).strip()
    return "" if _THOUGHT.match(rest) else rest


def _is_object(text: str) -> bool:
    """Whether a text is one JSON object, whose values may speak of thoughts."""
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


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
