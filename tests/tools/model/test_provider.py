"""Guards the choice of a model by its name: an error names the missing key or package and the remedy."""

import pytest
from scripted import ScriptedModel

from restgpt.tools.model.model_errors import ModelError, NoModelError
from restgpt.tools.model.provider import resolve_model


def test_no_model_names_three_ways_to_get_one() -> None:
    with pytest.raises(NoModelError) as raised:
        resolve_model("")
    assert all(way in str(raised.value) for way in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "RESTGPT_MODEL"))


def test_an_unknown_provider_is_an_error_of_the_setting() -> None:
    with pytest.raises(ModelError, match="nosuch:model"):
        resolve_model("nosuch:model")


def test_a_name_without_a_provider_is_told_how_to_be_written() -> None:
    with pytest.raises(ModelError, match=r"PROVIDER:NAME, such as openai:gpt-5-mini"):
        resolve_model("llama3")


def test_a_missing_key_is_an_error_of_the_setting() -> None:
    with pytest.raises(ModelError, match="openai:gpt-5-mini"):
        resolve_model("openai:gpt-5-mini")


def test_a_local_server_needs_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost:11434/v1")
    assert resolve_model("openai:qwen3")._llm_type == "openai-chat"


def test_a_model_is_taken_as_it_is() -> None:
    model = ScriptedModel([])
    assert resolve_model(model) is model
