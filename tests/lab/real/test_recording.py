"""Guards recordings by task: they replay in order, and tell when a prompt is no longer the recorded one."""

import json
from pathlib import Path

import pytest
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from lab.real.models import ReplayedModels
from lab.real.recording import PromptWatch, Recording, TaskRecorder, masked_key
from restgpt.tools.model.errors import ModelError, NotRecordedError


def prompt(text: str) -> list[BaseMessage]:
    return [SystemMessage("You are the planner."), HumanMessage(text)]


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
def test_only_values_that_a_server_chooses_are_left_out_of_the_key(one: str, other: str, same: bool) -> None:
    assert (masked_key(prompt(one)) == masked_key(prompt(other))) is same


def write(path: Path, *replies: str) -> Path:
    lines = [
        {"task": "a/b", "role": "planner", "number": number, "prompt": masked_key(prompt(reply)), "reply": reply}
        for number, reply in enumerate(replies, 1)
    ]
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


def test_replies_come_in_order_and_changed_prompts_are_counted(tmp_path: Path) -> None:
    models = ReplayedModels(Recording.from_file(write(tmp_path / "r.jsonl", "first", "second")))
    model = models.model("a/b", "planner")
    assert model.invoke(prompt("first")).text == "first"
    assert models.changed("a/b") == 0
    assert model.invoke(prompt("another question")).text == "second"
    assert models.changed("a/b") == 1


def test_a_reply_too_many_is_an_error_that_names_the_task_and_shows_the_prompt(tmp_path: Path) -> None:
    models = ReplayedModels(Recording.from_file(write(tmp_path / "r.jsonl", "first")))
    with pytest.raises(NotRecordedError, match=r"no reply 1 of the parser for the task a/b.*who knows"):
        models.model("a/b", "parser").invoke(prompt("who knows"))


def test_what_is_recorded_can_be_replayed(tmp_path: Path) -> None:
    source = ReplayedModels(Recording.from_file(write(tmp_path / "r.jsonl", "first", "second")))
    model = source.model("a/b", "planner")
    model.callbacks = [TaskRecorder(tmp_path / "copy.jsonl", "a/b", "planner")]
    for text in ("first", "second"):
        model.invoke(prompt(text))
    again = ReplayedModels(Recording.from_file(tmp_path / "copy.jsonl"))
    copied = again.model("a/b", "planner")
    assert [copied.invoke(prompt(text)).text for text in ("first", "second")] == ["first", "second"]
    assert again.changed("a/b") == 0


@pytest.mark.parametrize("text", ["not json", '{"task": "a/b"}'])
def test_another_file_is_no_recording(text: str, tmp_path: Path) -> None:
    (tmp_path / "r.jsonl").write_text(text)
    with pytest.raises(ModelError, match="is not a recording"):
        Recording.from_file(tmp_path / "r.jsonl")


def test_phrases_are_counted_once_for_each_prompt_that_holds_them(tmp_path: Path) -> None:
    watch = PromptWatch(["Successful Response", "first page only"])
    model = ReplayedModels(Recording.from_file(write(tmp_path / "r.jsonl", "one", "two"))).model("a/b", "planner")
    for text in ("successful response, Successful Response", "nothing of the kind"):
        model.invoke(prompt(text), config={"callbacks": [watch]})
    assert (watch.prompts, watch.counts) == (2, {"Successful Response": 1, "first page only": 0})
