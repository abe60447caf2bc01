"""Guards replies: whole ones only, their text without thoughts, the JSON in it, the remedy without a provider."""

from collections.abc import Callable
from typing import Any

import httpx
import openai
import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage
from pydantic import BaseModel
from scripted import ScriptedModel

from restgpt.tools.model.model_errors import ModelUnavailableError, ModelUsage
from restgpt.tools.model.reply import json_in, read_text, without_thoughts
from restgpt.tools.model.structured import ask, read_tool_calls

QUESTION = [HumanMessage("Which colour?")]
TOOL = {"type": "function", "function": {"name": "Colour", "description": "", "parameters": {"type": "object"}}}


class Colour(BaseModel):
    """A colour."""

    name: str


READERS: dict[str, Callable[[BaseChatModel], object]] = {
    "text": lambda model: read_text(model, QUESTION),
    "tool calls": lambda model: read_tool_calls(model, QUESTION, [TOOL]),
    "a schema": lambda model: ask(model, QUESTION, Colour),
    "JSON": lambda model: ask(model, QUESTION, Colour, method="json"),
}


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
@pytest.mark.parametrize(
    ("metadata", "reason"),
    [
        ({"finish_reason": "length"}, r"after 5 tokens \(length\).*max_tokens"),
        ({"finish_reason": "MAX_TOKENS"}, "MAX_TOKENS"),
        ({"stop_reason": "max_tokens"}, "max_tokens"),
        ({"stop_reason": "model_context_window_exceeded"}, "model_context_window_exceeded"),
        ({"stopReason": "max_tokens"}, "max_tokens"),
        ({"done_reason": "length"}, "length"),
        ({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}, "max_output_tokens"),
        ({"finish_reason": "content_filter"}, "provider ended the reply"),
        ({"finish_reason": "SAFETY"}, "provider ended the reply"),
        ({"model_provider": "openai"}, "broke off its reply"),
        ({"finish_reason": "stop"}, ""),
        ({"stop_reason": "end_turn"}, ""),
        ({"finish_reason": "STOP"}, ""),
        ({"model_provider": "openai", "finish_reason": None}, ""),
        ({"model_provider": "openai", "status": "completed", "incomplete_details": None}, ""),
    ],
)
def test_a_reply_that_was_cut_off_is_refused_before_it_is_read(
    metadata: dict[str, Any], reason: str, reader: Callable[[BaseChatModel], object]
) -> None:
    call = {"name": "Colour", "args": {"name": "red"}, "id": "call-1", "type": "tool_call"}
    usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
    reply = AIMessage("red", tool_calls=[call], response_metadata=metadata, usage_metadata=usage)
    model = ScriptedModel([reply])
    if not reason:
        reader(model)
        return
    with pytest.raises(ModelUnavailableError, match=reason):
        reader(model)
    assert len(model.prompts) == 1


DRAFT, REAL = '{"name": "draft"}', '{"name": "red"}'


@pytest.mark.parametrize(
    "thought",
    [
        f"<think>{DRAFT}?</think>{{}}",
        f"Maybe {DRAFT}? No.\n</think>\n\n{{}}",
        f"<think>{DRAFT}</think>\n<think>Or {DRAFT}?</think>{{}}",
        f"{DRAFT}</thinking>{{}}",
        f"[THINK]{DRAFT}[/THINK]{{}}",
        f"{DRAFT}[/THINK]{{}}",
        f"<|channel|>analysis<|message|>{DRAFT}<|end|><|start|>assistant<|channel|>final<|message|>{{}}<|return|>",
        f"<|channel|>analysis<|message|>{DRAFT}<|end|><|start|>assistant<|channel|>commentary to=functions.Colour "
        "<|constrain|>json<|message|>{}<|call|>",
        f"analysis{DRAFT} No.assistantfinal{{}}",
    ],
)
def test_a_draft_inside_the_thoughts_is_no_reply(thought: str) -> None:
    whole = thought.replace("{}", REAL)
    assert without_thoughts(whole) == REAL
    assert ask(ScriptedModel([whole]), QUESTION, Colour)[0].name == "red"
    assert ask(ScriptedModel([whole]), QUESTION, Colour, method="json")[0].name == "red"
    assert read_text(ScriptedModel([whole]), QUESTION)[0] == REAL


@pytest.mark.parametrize(
    "message",
    [
        AIMessage(f"<think>{DRAFT}"),
        AIMessage(f"<|channel|>analysis<|message|>{DRAFT}"),
        AIMessage([{"type": "thinking", "thinking": DRAFT}]),
        AIMessage([{"type": "reasoning", "reasoning": DRAFT}, {"type": "text", "text": ""}]),
        AIMessage("", additional_kwargs={"reasoning_content": DRAFT}),
    ],
)
def test_thoughts_without_an_end_are_an_empty_reply(message: AIMessage) -> None:
    model = ScriptedModel([message, REAL])
    assert ask(model, QUESTION, Colour)[0].name == "red"
    assert "draft" not in model.texts[1]


def test_an_object_may_speak_of_thoughts_and_plain_text_comes_without_them_and_with_its_cost() -> None:
    text = '{"name": "the mark </think>"}'
    assert ask(ScriptedModel([text]), QUESTION, Colour)[0].name == "the mark </think>"
    assert read_text(ScriptedModel(["<think>hm</think>\nred"]), QUESTION) == ("red", ModelUsage(1, 10, 5))


@pytest.mark.parametrize("text", ["", "none", "{", "[1, 2]"])
def test_text_without_an_object_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no JSON object"):
        json_in(text)


def test_a_decimal_of_a_reply_that_no_number_keeps_is_refused() -> None:
    assert json_in('{"amount": 10.10}') == {"amount": 10.1}
    with pytest.raises(ValueError, match=r"9007199254740993\.25 has more digits"):
        json_in('{"amount": 9007199254740993.25}')


def test_an_unreachable_provider_is_named_with_a_remedy() -> None:
    error = openai.APIConnectionError(request=httpx.Request("POST", "http://model.example/v1"))
    with pytest.raises(ModelUnavailableError, match="OPENAI_BASE_URL"):
        read_text(ScriptedModel([error]), QUESTION)
