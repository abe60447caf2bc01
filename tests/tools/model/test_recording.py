"""Guards recordings: recorded calls are replayed, and any other call is a clear error."""

from pathlib import Path

import pytest
from langchain_core.messages import HumanMessage, SystemMessage
from pydantic import BaseModel
from scripted import ScriptedModel

from restgpt.tools.model.model_errors import ModelError, NotRecordedError
from restgpt.tools.model.provider import resolve_model
from restgpt.tools.model.reply import read_text
from restgpt.tools.model.scripted import Recorder, key_of
from restgpt.tools.model.structured import ask


class Colour(BaseModel):
    """A colour."""

    name: str


PROMPT = [SystemMessage("Be brief."), HumanMessage("Which colour?")]


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    path = tmp_path / "colours.jsonl"
    model = ScriptedModel([{"name": "red"}, "just red"], callbacks=[Recorder(path)])
    ask(model, PROMPT, Colour)
    read_text(model, [*PROMPT, HumanMessage("In words?")])
    return path


def test_a_recorded_value_or_text_is_replayed_with_its_cost(recording: Path) -> None:
    model = resolve_model(f"recorded:{recording}")
    value, usage = ask(model, PROMPT, Colour)
    assert (value, usage.input_tokens) == (Colour(name="red"), 10)
    assert read_text(model, [*PROMPT, HumanMessage("In words?")])[0] == "just red"


def test_a_prompt_that_differs_was_not_recorded(recording: Path) -> None:
    with pytest.raises(NotRecordedError, match="Which colour, please"):
        ask(resolve_model(f"recorded:{recording}"), [*PROMPT[:1], HumanMessage("Which colour, please?")], Colour)


def test_the_key_depends_on_type_text_and_order() -> None:
    joined, asked = (
        [SystemMessage("Be brief.Which colour?")],
        [HumanMessage("Be brief."), HumanMessage("Which colour?")],
    )
    assert len({key_of(PROMPT), key_of(PROMPT[::-1]), key_of(joined), key_of(asked)}) == 4


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("thread 1f0e2b3c-0000-4000-8000-00000000000a", "thread 77777777-aaaa-4000-8000-00000000000b", True),
        ("at 2026-11-22T10:29:34.256950+00:00", "at 2026-11-23T01:02:03Z", True),
        ("http://127.0.0.1:40123/ok", "http://127.0.0.1:5/ok", True),
        ("last_modified 1767225600001", "last_modified 1799999999999", True),
        ("<result-cb538f41632705cc>", "<result-a8585b03427d3478>", True),
        ("Today is 2026-11-22", "Today is 2026-11-23", False),
        ("10 threads", "11 threads", False),
    ],
)
def test_only_values_that_differ_from_run_to_run_are_left_out_of_the_key(one: str, other: str, same: bool) -> None:
    assert (key_of([*PROMPT, HumanMessage(one)]) == key_of([*PROMPT, HumanMessage(other)])) is same


def test_a_file_that_is_no_recording_is_named(tmp_path: Path) -> None:
    path = tmp_path / "other.jsonl"
    path.write_text('{"not": "a recording"}\n')
    with pytest.raises(ModelError, match="is not a recording"):
        resolve_model(f"recorded:{path}")
