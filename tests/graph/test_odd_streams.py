"""Guards that streams of compatible servers are read in each form, and that half a reply is never used."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from board import Board
from oddserver import Answer, odd_server, refusal
from roles import end, program
from wrongserver import chunk

from restgpt.graph.build import build_graph
from restgpt.tools.model.errors import ModelUnavailableError

QUESTION = "How many projects are there?"
PROGRAM = json.dumps(program("print(len(rows(list_projects())), 'projects')"))
HALF = json.dumps(
    program('create_project(body={"name": "Half"})\nprint("Made.")\ncreate_project(body={"name": "More"})')
)
USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
FIRST = chunk({"role": "assistant", "content": ""})
LAST = chunk({}, "stop", usage=USAGE)
DONE = b"[DONE]"


def parts(text: str) -> list[bytes]:
    return [chunk({"content": text[at : at + 6]}) for at in range(0, len(text), 6)]


def calls(text: str, *, named: bool = False) -> Iterator[bytes]:
    """A tool call in parts; some servers repeat its id and its name in each of them."""
    for at in range(0, len(text), 6):
        name = "ProgramReply" if named or not at else None
        function = {"name": name, "arguments": text[at : at + 6]}
        yield chunk(
            {"tool_calls": [{"index": 0, "id": "a" if name else None, "type": "function", "function": function}]}
        )


def stream(*events: bytes, before: bytes = b"") -> bytes:
    return before + b"".join(b"data: " + event + b"\n\n" for event in events)


def ask(board: Board, monkeypatch: pytest.MonkeyPatch, answer: Answer, *, is_call: bool = False) -> str:
    def act(body: dict[str, Any]) -> Answer:
        return refusal(400, "response_format unsupported") if is_call and "response_format" in body else answer

    with odd_server(act) as (url, _):
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        monkeypatch.delenv("OPENAI_API_KEY", raising=False)
        graph = build_graph([board.api], model="openai:m", context={"writes": "allow"})
        parts = list(graph.stream({"instruction": QUESTION}, stream_mode=["messages", "values"]))
        return str(next(value for mode, value in reversed(parts) if mode == "values")["answer"])


WHOLE: dict[str, Iterable[bytes]] = {
    "in parts": (FIRST, *parts(PROGRAM), LAST, DONE),
    "without a reason": (FIRST, *parts(PROGRAM), DONE),
    "Azure": (json.dumps({"choices": [], "prompt_filter_results": []}).encode(), FIRST, *parts(PROGRAM), LAST, DONE),
    "a delta that is null": (FIRST, *parts(PROGRAM), chunk(None, "stop"), DONE),
    "thoughts with a draft": (*parts(f"<think>{json.dumps(end('A draft.'))}</think>{PROGRAM}"), LAST, DONE),
}


@pytest.mark.parametrize("events", WHOLE.values(), ids=WHOLE)
def test_a_whole_stream_is_read(board: Board, monkeypatch: pytest.MonkeyPatch, events: Iterable[bytes]) -> None:
    assert ask(board, monkeypatch, (200, stream(*events))) == "4 projects"


def test_comments_between_the_events_are_left_out(board: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    sent = stream(FIRST, *parts(PROGRAM), LAST, DONE, before=b": OPENROUTER PROCESSING\n\n")
    assert ask(board, monkeypatch, (200, sent)) == "4 projects"


def test_a_streamed_tool_call_is_read(board: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    sent = stream(FIRST, *calls(PROGRAM), chunk({}, "tool_calls"), DONE)
    assert ask(board, monkeypatch, (200, sent), is_call=True) == "4 projects"


BROKEN: dict[str, tuple[Iterable[bytes], str]] = {
    "cut": ((FIRST, *parts(HALF[:110]), chunk({}, "length"), DONE), "cut off"),
    "cut in a tool call": ((FIRST, *calls(HALF[:110]), chunk({}, "length"), DONE), "cut off"),
    "broken off": ((FIRST, *parts(HALF[:110])), "broke off"),
    "an error": ((FIRST, *parts(HALF[:110]), b'{"error": {"message": "limited", "code": 429}}'), "answered 429"),
}


@pytest.mark.parametrize("is_call", [False, True])
@pytest.mark.parametrize(("events", "cause"), BROKEN.values(), ids=BROKEN)
def test_half_a_reply_is_an_error_that_names_its_cause(
    board: Board, monkeypatch: pytest.MonkeyPatch, events: Iterable[bytes], cause: str, is_call: bool
) -> None:
    with pytest.raises(ModelUnavailableError, match=cause):
        ask(board, monkeypatch, (200, stream(*events)), is_call=is_call)
    assert board.calls() == []
