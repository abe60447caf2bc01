"""Native tool calls: a reply of a chat model that calls some of the given tools, or that is a text."""

import json
from collections.abc import Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from restgpt.tools.model.chat_span import chat_span
from restgpt.tools.model.errors import REPAIRS, ModelReplyError
from restgpt.tools.model.exceptions import model_failures, refused, status_of, unavailable
from restgpt.tools.model.reply import call_config, checked_message, text_of
from restgpt.tools.model.usage import ModelUsage, usage_of

UNSUPPORTED = frozenset({400, 422})
"""Statuses with which providers refuse tools that the model does not have, too many tools, or their schemas."""


def read_tool_calls(
    model: BaseChatModel, messages: Sequence[BaseMessage], tools: Sequence[dict[str, Any]]
) -> tuple[AIMessage, ModelUsage]:
    """Ask `model` for calls of `tools` (in OpenAI's form) or for a text; return the reply and its cost.

    A reply with neither, with an unknown tool or with arguments that are no JSON object is sent back with the reason,
    at most `REPAIRS` times. Raises `ModelReplyError` when none fits and `ModelUnavailableError` when the provider
    fails.
    """
    conversation = list(messages)
    names = [str(tool["function"]["name"]) for tool in tools]
    used = ModelUsage()
    reason = ""
    for _ in range(REPAIRS + 1):
        reply = _reply(model, conversation, tools)
        used += usage_of(reply)
        reason = _problem(reply, names)
        if not reason:
            return reply, used
        conversation = [
            *conversation,
            AIMessage(_shown(reply)),
            HumanMessage(f"That reply cannot be used. {reason} Call tools, or reply with the answer."),
        ]
    raise ModelReplyError("tool call", reason, usage=used)


@chat_span
def _reply(model: BaseChatModel, conversation: list[BaseMessage], tools: Sequence[dict[str, Any]]) -> AIMessage:
    try:
        return checked_message(model.bind_tools(list(tools)).invoke(conversation, call_config()))
    except NotImplementedError as error:
        raise refused(error, model) from None
    except model_failures(model) as error:
        raise (refused(error, model) if status_of(error) in UNSUPPORTED else unavailable(error)) from None


def _problem(reply: AIMessage, names: Sequence[str]) -> str:
    """The reason why a reply cannot be used; empty if it can."""
    if broken := [str(call["name"]) for call in reply.invalid_tool_calls]:
        return f"The arguments of {', '.join(broken)} are not a JSON object."
    if unknown := [call["name"] for call in reply.tool_calls if call["name"] not in names]:
        return f"There is no tool {', '.join(unknown)}."
    if not reply.tool_calls and not text_of(reply):
        return "It is empty."
    return ""


def _shown(reply: AIMessage) -> str:
    calls = [{"name": call["name"], "args": call["args"]} for call in (*reply.tool_calls, *reply.invalid_tool_calls)]
    text = text_of(reply)
    return "\n".join(filter(None, [text, json.dumps(calls, ensure_ascii=False) if calls else ""])) or "(an empty reply)"
