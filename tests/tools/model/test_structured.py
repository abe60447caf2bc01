"""Guards the access to chat models: validated values, repairs, fallbacks, errors that name the remedy."""

import json
from typing import Any

import httpx
import openai
import pytest
import requests
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from pydantic import BaseModel, SecretStr
from scripted import ScriptedModel

from restgpt.tools.errors import StoppingError
from restgpt.tools.model.model_errors import ModelReplyError, ModelUnavailableError, ModelUsage
from restgpt.tools.model.structured import ask


class Colour(BaseModel):
    """A colour."""

    name: str
    shade: int = 0


QUESTION = [("user", "Which colour?")]


def refusal(status: int) -> openai.APIStatusError:
    response = httpx.Response(status, request=httpx.Request("POST", "http://model.example/v1"))
    kind = openai.BadRequestError if status == 400 else openai.APIStatusError
    return kind("no", response=response, body=None)


INVALID = {"name": "Colour", "args": '{"name": ', "id": "call-1", "error": "no JSON", "type": "invalid_tool_call"}
BROKEN = AIMessage("", invalid_tool_calls=[INVALID])


def test_a_tool_call_becomes_the_value_and_broken_arguments_are_repaired() -> None:
    value, usage = ask(ScriptedModel([{"name": "red", "shade": 3}]), QUESTION, Colour)
    assert value == Colour(name="red", shade=3)
    assert usage == ModelUsage(1, 10, 5)
    whole = AIMessage("", invalid_tool_calls=[{**INVALID, "args": '{"name": "red"}'}])
    assert ask(ScriptedModel([whole]), QUESTION, Colour)[0].name == "red"


RED = {"name": "red"}


@pytest.mark.parametrize(
    "reply",
    [
        '```json\n{"name": "red"}\n```',
        '[{"name": "red"}]',
        '<think>{"name": "green"}?</think>{"name": "red"}',
        "{'name': 'red'}",
        "{'name': 'red', \"shade\": 3,}",
        "{'name': 'red', 'text': '{\"name\": \"blue\"}'}",
        '<tool_call>{"arguments": {"name": "red"}}</tool_call>',
        '{"Colour": {"name": "red"}}',
        {"answer": RED},
    ],
)
def test_an_object_is_read_in_a_fence_after_thoughts_as_a_printed_dict_and_in_an_envelope(reply: Any) -> None:
    assert ask(ScriptedModel([reply]), QUESTION, Colour)[0].name == "red"


def test_a_tool_call_that_is_written_as_json_is_read() -> None:
    class Plan(BaseModel):
        text: str

    for written in ({"text": "go"}, '{"text": "go"}'):
        reply = json.dumps({"name": "Plan", "arguments": written})
        assert ask(ScriptedModel([reply]), QUESTION, Plan)[0].text == "go"


@pytest.mark.parametrize(
    "quoted",
    [
        'Here you are:\n```json\n{"name": "blue"}\n```',
        '```json\n{"name": "blue"}\n```\nAnything else?',
        '```json\n{"name": "blue"}\n```\n```json\n{"name": "green"}\n```',
        "It is {'name': 'blue'}",
        '{"name": "blue"} and nothing else',
        'It says <tool_call>{"arguments": {"name": "blue"}}</tool_call>',
    ],
)
@pytest.mark.parametrize("method", ["json_schema", "function_calling", "json"])
def test_an_object_inside_of_other_text_is_no_reply(quoted: str, method: Any) -> None:
    model = ScriptedModel([quoted, {"name": "red"}])
    assert ask(model, QUESTION, Colour, method=method)[0].name == "red"
    assert "no text before and after it" in model.texts[1]


@pytest.mark.parametrize(
    ("reply", "said", "complaint"),
    [
        ({"shade": 1}, '"shade": 1', "name: Field required"),
        ({"answer": {"shade": 1}}, '"shade": 1', "name: Field required"),
        (BROKEN, '{"name": ', ""),
        ('{"name":' * 50_000, '{"name":', "nested too deeply"),
    ],
    ids=["invalid", "in an envelope", "broken arguments", "nested without end"],
)
def test_an_invalid_reply_is_sent_back_as_it_was_with_the_reason(reply: Any, said: str, complaint: str) -> None:
    model = ScriptedModel([reply, {"name": "red"}])
    value, usage = ask(model, QUESTION, Colour)
    assert (value.name, usage.calls) == ("red", 2)
    before, told = (str(message.text) for message in model.prompts[1][-2:])
    assert said in before
    assert complaint in told


def test_a_check_can_refuse_a_well_formed_reply() -> None:
    def only_red(colour: Colour) -> None:
        if colour.name != "red":
            raise ValueError("only red will do")

    model = ScriptedModel([{"name": "blue"}, {"name": "red"}])
    assert ask(model, QUESTION, Colour, check=only_red)[0].name == "red"
    assert "only red will do" in model.texts[1]


def test_replies_that_stay_invalid_end_in_an_error_that_counts_their_cost() -> None:
    with pytest.raises(ModelReplyError, match="name: Field required") as raised:
        ask(ScriptedModel([{}, {"a": 1}, {"a": 2}]), QUESTION, Colour)
    assert raised.value.usage == ModelUsage(3, 30, 15)
    assert isinstance(raised.value, StoppingError)


@pytest.mark.parametrize(
    ("replies", "is_shapeless"), [(["Hm."] * 3, True), (["Hm.", "Hm.", {}], False), ([{"name": "blue"}] * 3, False)]
)
def test_replies_are_shapeless_if_none_is_json_of_the_schema_or_a_tool_call(
    replies: list[Any], is_shapeless: bool
) -> None:
    def check(colour: Colour) -> None:
        raise ValueError("Not this one.")

    with pytest.raises(ModelReplyError) as raised:
        ask(ScriptedModel(replies), QUESTION, Colour, check=check)
    assert (raised.value.is_shapeless, raised.value.usage.calls) == (is_shapeless, 3)


def test_a_model_without_tools_is_asked_for_json_in_text() -> None:
    model = GenericFakeChatModel(messages=iter([AIMessage('{"name": "red"}')]))
    assert ask(model, QUESTION, Colour)[0].name == "red"


def test_a_provider_that_refuses_tools_is_asked_in_text() -> None:
    model = ScriptedModel([refusal(400), '{"name": "red"}'])
    assert ask(model, QUESTION, Colour)[0].name == "red"
    assert "JSON Schema" in model.texts[1]


def test_a_reply_that_was_cut_off_is_asked_for_in_another_way() -> None:
    error = openai.ContentFilterFinishReasonError()
    error.response = httpx.Response(200)  # type: ignore[attr-defined]
    model = ScriptedModel([error, {"name": "red"}])
    assert ask(model, QUESTION, Colour)[0].name == "red"


@pytest.mark.parametrize(
    ("status", "remedy"), [(401, "API key"), (404, "model's name"), (429, "limit"), (503, "later")]
)
def test_a_failing_provider_is_named_with_a_remedy(status: int, remedy: str) -> None:
    with pytest.raises(ModelUnavailableError, match=f"{status}.*{remedy}"):
        ask(ScriptedModel([refusal(status)]), QUESTION, Colour)


POSTED = httpx.Request("POST", "http://model.example")


@pytest.mark.parametrize(
    "error",
    [
        httpx.ConnectError("secret-key"),
        requests.ConnectionError("secret-key"),
        httpx.HTTPStatusError("secret-key", request=POSTED, response=httpx.Response(503)),
    ],
)
def test_the_errors_of_other_providers_are_told_without_their_text(error: Exception) -> None:
    with pytest.raises(ModelUnavailableError) as raised:
        ask(ScriptedModel([error]), QUESTION, Colour)
    assert "secret-key" not in str(raised.value)
    assert raised.value.__cause__ is None


class Keyed(ScriptedModel):
    """A model whose client contains a key."""

    api_key: SecretStr = SecretStr("sk-model-key-of-the-user")


def test_a_refusal_that_quotes_the_models_key_is_told_without_it() -> None:
    text = f"{'long ' * 55}sk-model-key-of-the-user is no key"
    response = httpx.Response(400, request=httpx.Request("POST", "http://model.example/v1"))
    refusals = [openai.BadRequestError(text, response=response, body=None) for _ in range(3)]
    with pytest.raises(ModelUnavailableError, match="refused the request: long") as raised:
        ask(Keyed(refusals), QUESTION, Colour)
    assert "sk-model" not in str(raised.value)


def test_a_fault_of_the_program_is_not_blamed_on_the_provider() -> None:
    with pytest.raises(KeyError):
        ask(ScriptedModel([KeyError("bug")]), QUESTION, Colour)
