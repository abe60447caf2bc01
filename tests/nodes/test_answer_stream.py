"""Guards which part of an unfinished reply counts as the answer."""

import json
from typing import Any

import pytest

from restgpt.nodes.run.model_calls import answer_in

REPLY: dict[str, Any] = {"thought": "It is {there}.", "decision": "end", "text": 'Ten "Ä" 😀\n- x', "fulfilled": True}


@pytest.mark.parametrize("fence", ["", "```json\n", " \n```\n"])
@pytest.mark.parametrize("is_ascii", [True, False])
def test_each_beginning_of_a_reply_gives_a_beginning_of_its_answer(fence: str, is_ascii: bool) -> None:
    text = fence + json.dumps(REPLY, ensure_ascii=is_ascii)
    found = [answer_in(text[:end]) for end in range(len(text) + 1)]
    assert all(REPLY["text"].startswith(answer) for answer in found)
    assert found == sorted(found, key=len)
    assert found[-1] == REPLY["text"]
    assert len(set(found)) > 10


@pytest.mark.parametrize("decision", ["plan", "continue", "program", "endless"])
def test_no_beginning_of_another_decision_is_an_answer(decision: str) -> None:
    text = json.dumps({**REPLY, "decision": decision})
    assert {answer_in(text[:end]) for end in range(len(text) + 1)} == {""}


def test_a_text_before_its_decision_waits_for_the_decision() -> None:
    text = '{"text": "Ten.", "decision": "end", "fulfilled": true}'
    assert answer_in(text[: text.index("end") + 3]) == ""
    assert answer_in(text) == "Ten."


@pytest.mark.parametrize(
    "text",
    [
        '<think>{"decision": "end", "text": "no"',
        'I use {"decision": "end", "text": "no"',
        '["decision", "end"]',
        '{"decision": "end", "text": 5, "fulfilled"',
        '{"decision": "end", "text": "raw\nline',
    ],
)
def test_what_is_not_plainly_the_reply_is_not_shown(text: str) -> None:
    assert answer_in(text) == ""
