"""Guards native tool calls: unfit replies are sent back, and errors name the remedy."""

from typing import Any

import httpx
import openai
import pytest
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage
from scripted import Reply, ScriptedModel

from restgpt.tools.model.model_errors import ModelReplyError, ModelUnavailableError
from restgpt.tools.model.structured import read_tool_calls

TOOL = {"type": "function", "function": {"name": "paint", "description": "", "parameters": {"type": "object"}}}
QUESTION = [HumanMessage("Paint it.")]


def call(name: str = "paint", **arguments: Any) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": "1", "type": "tool_call"}])


INVALID = {"name": "paint", "args": '{"colour": ', "id": "1", "error": None, "type": "invalid_tool_call"}


def test_calls_and_texts_are_taken_as_they_are() -> None:
    model = ScriptedModel([call(colour="red"), "Painted."])
    reply, usage = read_tool_calls(model, QUESTION, [TOOL])
    assert (reply.tool_calls[0]["args"], usage.calls) == ({"colour": "red"}, 1)
    assert str(read_tool_calls(model, QUESTION, [TOOL])[0].text) == "Painted."


def test_calls_that_are_written_as_text_are_native_calls() -> None:
    text = '```json\n{"name": "paint", "arguments": {"colour": "red"}}\n{"name": "paint", "arguments": {}}\n```'
    reply, usage = read_tool_calls(ScriptedModel([text]), QUESTION, [TOOL])
    assert [made["args"] for made in reply.tool_calls] == [{"colour": "red"}, {}]
    assert (str(reply.text), usage.calls) == ("", 1)


@pytest.mark.parametrize(
    ("unfit", "reason"),
    [
        (call("draw"), "There is no tool draw."),
        (AIMessage("", invalid_tool_calls=[INVALID]), "The arguments of paint are not a JSON object."),
        (AIMessage(""), "It is empty."),
        (AIMessage("<think>hm</think>"), "It is empty."),
    ],
)
def test_an_unfit_reply_is_sent_back_with_the_reason(unfit: Reply, reason: str) -> None:
    model = ScriptedModel([unfit, call()])
    reply, usage = read_tool_calls(model, QUESTION, [TOOL])
    assert (reply.tool_calls[0]["name"], usage.calls) == ("paint", 2)
    assert reason in str(model.prompts[1][-1].text)


def test_a_model_that_never_fits_is_an_error_with_its_cost() -> None:
    with pytest.raises(ModelReplyError, match="There is no tool draw") as raised:
        read_tool_calls(ScriptedModel([call("draw"), call("sing"), call("draw")]), QUESTION, [TOOL])
    assert raised.value.usage.calls == 3


def test_a_model_without_tools_is_refused() -> None:
    with pytest.raises(ModelUnavailableError):
        read_tool_calls(GenericFakeChatModel(messages=iter([])), QUESTION, [TOOL])


@pytest.mark.parametrize(("status", "text"), [(400, "too many tools"), (429, "answered 429")])
def test_a_providers_refusal_says_why(status: int, text: str) -> None:
    response = httpx.Response(status, request=httpx.Request("POST", "http://model.example/v1"))
    error = openai.APIStatusError("too many tools", response=response, body=None)
    with pytest.raises(ModelUnavailableError, match=text):
        read_tool_calls(ScriptedModel([error]), QUESTION, [TOOL])
