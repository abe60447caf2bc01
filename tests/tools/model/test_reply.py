"""Guards plain replies: the text without thoughts, the JSON in it, and the remedy if a provider is unreachable."""

import httpx
import openai
import pytest
from scripted import ScriptedModel

from restgpt.tools.model.errors import ModelUnavailableError
from restgpt.tools.model.reply import json_in, read_text
from restgpt.tools.model.usage import ModelUsage

QUESTION = [("user", "Which colour?")]


def test_plain_text_comes_without_thinking_and_with_its_cost() -> None:
    assert read_text(ScriptedModel(["<think>hm</think>\nred"]), QUESTION) == ("red", ModelUsage(1, 10, 5))


@pytest.mark.parametrize("text", ["", "none", "{", "[1, 2]"])
def test_text_without_an_object_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no JSON object"):
        json_in(text)


def test_an_unreachable_provider_is_named_with_a_remedy() -> None:
    error = openai.APIConnectionError(request=httpx.Request("POST", "http://model.example/v1"))
    with pytest.raises(ModelUnavailableError, match="OPENAI_BASE_URL"):
        read_text(ScriptedModel([error]), QUESTION)
