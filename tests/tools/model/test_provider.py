"""Guards the choice of a model by its name: an error names the missing key or package and the remedy."""

import pytest
from scripted import ScriptedModel

from restgpt.tools.model.model_errors import ModelError, NoModelError
from restgpt.tools.model.provider import resolve_model


def test_no_model_names_three_ways_to_get_one() -> None:
    with pytest.raises(NoModelError) as raised:
        resolve_model("")
    assert all(way in str(raised.value) for way in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "RESTGPT_MODEL"))


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("nosuch:model", "nosuch:model"),
        ("llama3", "PROVIDER:NAME, such as openai:gpt-5-mini"),
        ("openai:gpt-5-mini", "openai:gpt-5-mini"),
        ("recorded:nowhere.jsonl", r"nowhere\.jsonl cannot be read"),
    ],
    ids=["an unknown provider", "no provider", "no key", "no recording"],
)
def test_a_name_of_no_model_is_an_error_of_the_setting(name: str, told: str) -> None:
    with pytest.raises(ModelError, match=told):
        resolve_model(name)


def test_a_local_server_needs_no_key_and_a_model_is_taken_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost:11434/v1")
    assert resolve_model("openai:qwen3")._llm_type == "openai-chat"
    model = ScriptedModel([])
    assert resolve_model(model) is model
