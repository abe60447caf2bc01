"""Guards that streams of compatible servers are read in each form, and that half a reply is never used."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from board import Board
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.messages.tool import ToolCallChunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from oddserver import Act, Answer, message, odd_server, refusal
from roles import end, program
from wrongserver import chunk

from restgpt.graph.build import build_graph
from restgpt.tools.model.model_errors import ModelUnavailableError

QUESTION = "How many projects are there?"
PROGRAM = json.dumps(program("print(len(rows(list_projects())), 'projects')"))
HALF = json.dumps(
    program('create_project(body={"name": "Half"})\nprint("Made.")\ncreate_project(body={"name": "More"})')
)
USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
FIRST = chunk({"role": "assistant", "content": ""})
LAST = chunk({}, "stop", usage=USAGE)
DONE = b"[DONE]"
HALVES = (PROGRAM[:9], PROGRAM[9:])
DRAFT = json.dumps(end("A draft."))
USED = json.dumps({"id": "x", "object": "chat.completion.chunk", "model": "m", "choices": [], "usage": USAGE}).encode()


def parts(text: str) -> list[bytes]:
    return [chunk({"content": text[at : at + 6]}) for at in range(0, len(text), 6)]


def one_call(text: str, number: str, **more: Any) -> bytes:
    """A tool call in one part."""
    function = {"name": "ProgramReply", "arguments": text}
    return chunk({"tool_calls": [{"id": number, "type": "function", "function": function, **more}]})


def calls(text: str, *, named: bool = False) -> Iterator[bytes]:
    """A tool call in parts; some servers repeat its id and its name in each of them."""
    for at in range(0, len(text), 6):
        name = "ProgramReply" if named or not at else None
        function = {"name": name, "arguments": text[at : at + 6]}
        made = {"index": 0, "id": "a" if name else None, "type": "function", "function": function}
        yield chunk({"tool_calls": [made]})


def ask(board: Board, monkeypatch: pytest.MonkeyPatch, answer: Answer, *, is_call: bool = False) -> str:
    def act(body: dict[str, Any]) -> Answer:
        return refusal(400, "response_format unsupported") if is_call and "response_format" in body else answer

    return answer_of(board, monkeypatch, act)


def answer_of(board: Board, monkeypatch: pytest.MonkeyPatch, act: Act) -> str:
    with odd_server(act) as (url, _):
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        monkeypatch.delenv("OPENAI_API_KEY", raising=False)
        graph = build_graph([board.api], model="openai:m", context={"writes": "allow"})
        parts = list(graph.stream({"instruction": QUESTION}, stream_mode=["messages", "values"]))
        return str(next(value for mode, value in reversed(parts) if mode == "values")["answer"])


def stream(*events: bytes, before: bytes = b"") -> bytes:
    return before + b"".join(b"data: " + event + b"\n\n" for event in events)


COMMENTED = stream(FIRST, *parts(PROGRAM), LAST, DONE, before=b": OPENROUTER PROCESSING\n\n")
WHOLE: dict[str, bytes] = {
    "in parts": stream(FIRST, *parts(PROGRAM), LAST, DONE),
    "without a reason": stream(FIRST, *parts(PROGRAM), DONE),
    "Azure": stream(b'{"choices": [], "prompt_filter_results": []}', FIRST, *parts(PROGRAM), LAST, DONE),
    "a delta that is null": stream(FIRST, *parts(PROGRAM), chunk(None, "stop"), DONE),
    "choices that are null": stream(FIRST, *parts(PROGRAM), chunk({}, "stop"), USED, DONE),
    "an empty reason": stream(FIRST, *(chunk({"content": part}, "") for part in HALVES), LAST, DONE),
    "usage in each part": stream(FIRST, chunk({"content": PROGRAM}, usage=USAGE), LAST, DONE),
    "reasoning before": stream(chunk({"role": "assistant", "reasoning_content": "hm {"}), *parts(PROGRAM), LAST, DONE),
    "thoughts that begin nowhere": stream(*parts(f"{DRAFT}? No.\n</think>\n{PROGRAM}"), LAST, DONE),
    "thoughts with a draft": stream(*parts(f"<think>{DRAFT}</think>{PROGRAM}"), LAST, DONE),
    "a comment before": COMMENTED,
    "named events": COMMENTED.replace(b"data:", b"event: message\ndata:").replace(b"\n", b"\r\n"),
}


@pytest.mark.parametrize("sent", WHOLE.values(), ids=WHOLE)
def test_a_whole_stream_is_read(board: Board, monkeypatch: pytest.MonkeyPatch, sent: bytes) -> None:
    assert ask(board, monkeypatch, (200, sent)) == "4 projects"


CALLED: dict[str, Iterable[bytes]] = {
    "in parts": tuple(calls(PROGRAM)),
    "named in each part": tuple(calls(PROGRAM, named=True)),
    "without an index": (one_call(PROGRAM, "a"),),
    "two with one index": (one_call(PROGRAM, "a", index=0), one_call(PROGRAM, "b", index=0)),
}


@pytest.mark.parametrize("events", CALLED.values(), ids=CALLED)
def test_a_streamed_tool_call_is_read(board: Board, monkeypatch: pytest.MonkeyPatch, events: Iterable[bytes]) -> None:
    sent = stream(FIRST, *events, chunk({}, "tool_calls"), DONE)
    assert ask(board, monkeypatch, (200, sent), is_call=True) == "4 projects"


@pytest.mark.parametrize("is_refused", [True, False])
def test_a_server_without_streams_gets_none(board: Board, monkeypatch: pytest.MonkeyPatch, is_refused: bool) -> None:
    def act(body: dict[str, Any]) -> Answer:
        no = refusal(403, 'Streaming is not allowed. Set value: "stream":false')
        return no if body.get("stream") and is_refused else message(PROGRAM)

    assert answer_of(board, monkeypatch, act) == "4 projects"


BROKEN: dict[str, tuple[Iterable[bytes], str]] = {
    "cut": ((FIRST, *parts(HALF[:110]), chunk({}, "length"), DONE), "cut off"),
    "cut in a tool call": ((FIRST, *calls(HALF[:110]), chunk({}, "length"), DONE), "cut off"),
    "broken off": ((FIRST, *parts(HALF[:110])), "broke off"),
    "an error beside a reason": (
        (FIRST, *parts(HALF[:110]), chunk({"content": ""}, "error", error={"code": 502, "message": "gone"})),
        "answered 502",
    ),
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


class Streams(BaseChatModel):
    """A model that is not OpenAI's, whose streamed tool call ends at its limit, as Anthropic's does."""

    @property
    def _llm_type(self) -> str:
        return "streams"

    def bind_tools(self, tools: Any, **options: Any) -> Any:
        return self.bind(tools=tools)

    def _stream(self, messages: Any, stop: Any = None, run_manager: Any = None, **options: Any) -> Any:
        name, said = "ProgramReply", HALF[: HALF.index("create_project", 80)]
        call = ToolCallChunk(index=0, id="a", name=name, args=said, type="tool_call_chunk")
        yield ChatGenerationChunk(message=AIMessageChunk("", tool_call_chunks=[call]))
        yield ChatGenerationChunk(message=AIMessageChunk("", response_metadata={"stop_reason": "max_tokens"}))

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **options: Any) -> ChatResult:
        one, two = (part.message for part in self._stream(messages))
        whole = one + two
        said = AIMessage("", tool_calls=whole.tool_calls, response_metadata=whole.response_metadata)
        return ChatResult(generations=[ChatGeneration(message=said)])


@pytest.mark.parametrize("mode", ["messages", "values"])
def test_half_a_program_of_another_provider_is_not_run(board: Board, mode: Any) -> None:
    graph = build_graph([board.api], model=Streams(), context={"writes": "allow"})
    with pytest.raises(ModelUnavailableError, match="cut off"):
        list(graph.stream({"instruction": QUESTION}, stream_mode=mode))
    assert board.calls() == []
