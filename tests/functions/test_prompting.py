"""Guards the other ways to ask a model for calls: every provider's failure is told alike, with what to do."""

import httpx
import openai
import pytest
from langchain_core.messages import HumanMessage
from scripted import ScriptedModel

from restgpt.tools.model.model_errors import ModelUnavailableError
from restgpt_functions.prompting import ask_with_tools

REQUEST = httpx.Request("POST", "https://models.example.com/v1/chat/completions")
REFUSED = openai.AuthenticationError("key sk-123", response=httpx.Response(401, request=REQUEST), body=None)


@pytest.mark.parametrize(
    ("error", "remedy"),
    [
        (REFUSED, "answered 401. Check the API key."),
        (openai.APIConnectionError(request=REQUEST), "Check OPENAI_BASE_URL"),
        (httpx.ConnectError("key sk-123"), "Check OPENAI_BASE_URL"),
        (NotImplementedError(), "another way of prompting"),
    ],
)
def test_a_model_that_cannot_be_asked_for_tool_calls_is_told_with_a_remedy(error: Exception, remedy: str) -> None:
    with pytest.raises(ModelUnavailableError) as caught:
        ask_with_tools(ScriptedModel([error]), [HumanMessage("Call something.")], [])
    assert remedy in str(caught.value)
    assert "sk-123" not in str(caught.value)
