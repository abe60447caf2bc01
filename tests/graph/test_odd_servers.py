"""Guards that compatible servers are asked in a way that they take, and that an error names its cause."""

import json
from collections.abc import Callable
from itertools import pairwise
from threading import Event
from typing import Any

import pytest
from board import Board
from langchain_core.runnables import RunnableConfig
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from oddserver import Act, message, native, odd_server, refusal
from pydantic import SecretStr
from roles import program
from wrongserver import chunk

from restgpt.graph.build import build_graph
from restgpt.tools.model.model_errors import ModelUnavailableError

REPLY = program("print(len(rows(list_projects())), 'projects')")
TEXT = json.dumps(REPLY)
QUESTION = "How many projects are there?"


def ask(
    board: Board, act: Act, *questions: str, context: Any = None, **options: Any
) -> tuple[list[str], list[dict[str, Any]]]:
    with odd_server(act) as (url, bodies):
        model = ChatOpenAI(
            **{"model": "m", "base_url": url, "api_key": SecretStr("k"), "temperature": 0, "max_retries": 0, **options}
        )
        graph = build_graph([board.api], model=model, context=context)
        answers = [graph.invoke({"instruction": text})["answer"] for text in questions or (QUESTION,)]
    return answers, bodies


def without(refused: dict[str, tuple[int, str]], reply: Callable[[dict[str, Any]], Any] | None = None) -> Act:
    """A server that refuses requests with one of these keys, and else replies as it is asked."""

    def act(body: dict[str, Any]) -> Any:
        for key, (status, text) in refused.items():
            if key in body:
                return refusal(status, text)
        if reply is not None:
            return reply(body)
        return native(TEXT) if "tools" in body else message(TEXT)

    return act


FORMAT, TOOLS = "response_format", "tools"
REFUSALS = {
    "LM Studio": {FORMAT: (400, "'response_format.type' must be 'json_schema' or 'text'")},
    "llama.cpp": {FORMAT: (500, "Failed to initialize samplers: failed to parse grammar")},
    "not implemented": {FORMAT: (501, "response_format is not supported")},
    "OpenRouter": {FORMAT: (404, "No endpoints found that can handle the requested parameters.")},
    "OpenRouter without tools": {FORMAT: (400, "no"), TOOLS: (404, "No endpoints found that support tool use.")},
    "llama.cpp without jinja": {FORMAT: (400, "no"), TOOLS: (500, "tools param requires --jinja flag")},
    "Ollama": {FORMAT: (400, "no"), TOOLS: (400, "library/gemma3:4b does not support tools")},
    "vLLM": {FORMAT: (400, "no"), "tool_choice": (400, "tool_choice must be auto")},
    "a temperature": {"temperature": (400, "Unsupported value: 'temperature' does not support 0 with this model.")},
}


@pytest.mark.parametrize("refused", REFUSALS.values(), ids=REFUSALS)
def test_what_a_server_refuses_is_left_out_and_not_sent_again(board: Board, refused: dict[str, Any]) -> None:
    answers, bodies = ask(board, without(refused), QUESTION, QUESTION)
    assert answers == ["4 projects"] * 2
    assert not refused.keys() & bodies[-1].keys()
    assert len(bodies) == 2 + len(refused)


def test_refused_options_of_a_stream_are_left_out(board: Board) -> None:
    def act(body: dict[str, Any]) -> Any:
        refused = refusal(422, "stream_options: Extra inputs are not permitted")
        return refused if "stream_options" in body else (200, stream)

    events = (chunk({"role": "assistant", "content": TEXT}, "stop"), b"[DONE]")
    stream = b"".join(b"data: " + event + b"\n\n" for event in events)
    answers, bodies = ask(board, act, streaming=True, stream_usage=True)
    assert "stream_options" not in bodies[1]
    assert answers == ["4 projects"]


@pytest.mark.parametrize("strict", ["alternate", "system"])
def test_a_strict_template_gets_one_message_of_the_user(board: Board, strict: str) -> None:
    def act(body: dict[str, Any]) -> Any:
        roles = [item["role"] for item in body["messages"]]
        if "response_format" in body or "tools" in body:
            return refusal(400, "response_format and tools are not supported")
        if strict == "system" and "system" in roles:
            return refusal(400, "System role not supported")
        rest = [role for role in roles if role != "system"]
        if any(one == two for one, two in pairwise(rest)):
            return refusal(400, "Conversation roles must alternate user/assistant/user/assistant/...")
        return message(TEXT)

    answers, bodies = ask(board, act)
    assert answers == ["4 projects"]
    assert [item["role"] for item in bodies[-1]["messages"]] == (["user"] if strict == "system" else ["system", "user"])


DRAFT = json.dumps(program("delete_task(101)"))
CALL = native(TEXT)[1]["choices"][0]["message"]["tool_calls"][0]
FORMS: dict[str, Any] = {
    "arguments as an object": native(REPLY),
    "arguments encoded twice": native(json.dumps(TEXT)),
    "a line break in the arguments": native(TEXT.replace("\\n", "\n")),
    "the wrong name": native(TEXT, "functions.Reply"),
    "no arguments": native(""),
    "no arguments and another name": native("", "functions.Reply"),
    "two calls": message(None, "tool_calls", tool_calls=[CALL] * 2),
    "no call": message(None, "tool_calls", tool_calls=[]),
    "no id": message(None, "tool_calls", tool_calls=[{**CALL, "id": None}]),
    "a tool call in the text": message(f"<tool_call>\n{json.dumps({'name': 'X', 'arguments': REPLY})}\n</tool_call>"),
    "text beside the call": message("I do it.", "tool_calls", tool_calls=[CALL]),
    "a draft in thoughts": message(f"<think>Maybe {DRAFT} but no.</think>\n{TEXT}"),
    "thoughts that begin nowhere": message(f"Maybe {DRAFT}? No.\n</think>\n\n{TEXT}"),
    "Magistral": message(f"[THINK]Maybe {DRAFT}? No.[/THINK]{TEXT}"),
    "harmony": message(
        f"<|channel|>analysis<|message|>Maybe {DRAFT}? No.<|end|><|start|>assistant<|channel|>final<|message|>{TEXT}"
    ),
}


@pytest.mark.parametrize("answer", FORMS.values(), ids=FORMS)
def test_a_reply_is_read_in_each_form(board: Board, answer: Any) -> None:
    def reply(body: dict[str, Any]) -> Any:
        return answer if "tools" in body else message(TEXT)

    answers, bodies = ask(board, without({FORMAT: (400, "response_format unsupported")}, reply))
    assert answers == ["4 projects"]
    assert len(bodies) <= 3
    assert board.calls() == ["GET /projects 200"]


def test_after_an_empty_reply_the_next_method_is_tried(board: Board) -> None:
    def act(body: dict[str, Any]) -> Any:
        return native(TEXT) if "tools" in body else message(None, reasoning_content=TEXT)

    assert ask(board, act)[0] == ["4 projects"]


CAUSES: dict[str, tuple[Any, str]] = {
    "cut": (message(TEXT[:40], "length"), "cut off"),
    "filtered": (message("", "content_filter"), "ended the reply"),
    "refused": (message(None, refusal="I cannot help with that."), "refused to reply: I cannot help"),
    "an error with 200": ((200, {"error": {"message": "Too many", "code": 429}, "choices": None}), "answered 429"),
    "a bad gateway with 200": ((200, {"error": {"message": "Provider", "code": 502}}), "answered 502"),
    "too large": (refusal(413, "Request too large: Limit 6000, Requested 7012"), "functions_budget"),
    "too long": (refusal(400, "This model's maximum context length is 4096 tokens."), "maximum context length"),
    "no such model": (refusal(404, "model not found"), r"name \(m\) and OPENAI_BASE_URL \(127\.0\.0\.1\).*resume"),
    "no quota": (refusal(429, "You exceeded your current quota"), "answered 429"),
}


@pytest.mark.parametrize(("answer", "cause"), CAUSES.values(), ids=CAUSES)
def test_an_error_names_its_cause(board: Board, answer: Any, cause: str) -> None:
    with pytest.raises(ModelUnavailableError, match=cause):
        ask(board, lambda body: answer)


def test_a_timeout_names_its_setting(board: Board) -> None:
    def act(body: dict[str, Any]) -> Any:
        Event().wait(1.5)
        return message(TEXT)

    with pytest.raises(ModelUnavailableError, match="model_timeout"):
        ask(board, act, timeout=0.2)


TEXT_PART = {"type": "text", "text": TEXT}
ODD: dict[str, Any] = {
    "no usage": message(TEXT),
    "a usage of null": (200, {**message(TEXT)[1], "usage": dict.fromkeys(("prompt_tokens", "total_tokens"))}),
    "a part of a usage": (200, {**message(TEXT)[1], "usage": {"total_tokens": 7}}),
    "null for the usage": (200, {**message(TEXT)[1], "usage": None}),
    "a content of parts": message([TEXT_PART]),
    "thoughts as a part": message([{"type": "thinking", "thinking": [{"type": "text", "text": "hm {"}]}, TEXT_PART]),
}


@pytest.mark.parametrize("answer", ODD.values(), ids=ODD)
def test_a_reply_counts_with_any_usage_and_as_parts(board: Board, answer: Any) -> None:
    assert ask(board, lambda body: answer)[0] == ["4 projects"]


def test_a_server_that_asks_to_wait_is_asked_again(board: Board) -> None:
    waits = iter([(429, {"error": {"message": "slow down"}}, {"Retry_After_Ms": "1"})] * 2)
    answers, bodies = ask(board, lambda body: next(waits, message(TEXT)), max_retries=2)
    assert (answers, len(bodies)) == (["4 projects"], 3)


def test_a_server_that_asks_to_wait_long_ends_the_run_with_the_time_and_the_thread_goes_on(board: Board) -> None:
    waits = iter([(429, {"error": {"message": "slow down"}}, {"Retry_After": "90", "X_Should_Retry": "false"})])
    with odd_server(lambda body: next(waits, message(TEXT))) as (url, _):
        model = ChatOpenAI(model="m", base_url=url, api_key=SecretStr("k"))
        graph = build_graph([board.api], model=model, checkpointer=InMemorySaver())
        thread: RunnableConfig = {"configurable": {"thread_id": "1"}}
        with pytest.raises(ModelUnavailableError, match=r"answered 429\. It asks to wait 90 s; then go on"):
            graph.invoke({"instruction": QUESTION}, thread)
        assert graph.invoke(None, thread)["answer"] == "4 projects"


def test_a_call_of_a_shown_function_needs_no_arguments(board: Board) -> None:
    only = without({FORMAT: (400, "response_format unsupported")}, lambda body: native("{}", "list_projects"))
    assert "Harbour lights" in ask(board, only)[0][0]
    assert board.calls() == ["GET /projects 200"]


def test_a_server_that_never_answers_ends_the_turn_at_its_deadline(board: Board) -> None:
    over = Event()

    def act(body: dict[str, Any]) -> Any:
        over.wait(10)
        return message(TEXT)

    try:
        answers, _ = ask(board, act, context={"max_seconds": 0.5})
    finally:
        over.set()
    assert "budget for this instruction is used up (0.5 seconds)" in answers[0]
