"""Guards the stream mode `messages`: it shows the answer and nothing else; joined, it is the state's message."""

import asyncio
import json
from collections.abc import Callable
from threading import Event
from typing import Any

import pytest
from board import CALLS, Board
from boardscript import READ, board_script
from chatserver import ChatServer
from langchain_core._api import LangChainBetaWarning
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from roles import call, end, no_call, plan, program, select
from streaming import PIECE, ChatClient, StreamingModel

from restgpt.graph.build import Graph, build_graph
from restgpt.tools.model.provider import resolve_model
from restgpt_bench.methods.build import build_method

THREAD: Any = {"configurable": {"thread_id": "1"}}
PATIENCE_S = 60
ANSWER = "There are 24 tasks, as the board says."
COUNTING = [plan("Count"), select("find_tasks"), call({}), "print(data['total'])", end(ANSWER)]
BROKEN = '{"thought": "", "decision": "end", "text": "There are 25 tasks.", "fulfilled": perhaps}'


def graph_of(board: Board, model: Any, **context: Any) -> Graph:
    given: Any = {"checkpointer": InMemorySaver(), "store": InMemoryStore(), "context": {**CALLS, **context}}
    return build_graph([board.api], model=model, **given)


def shown(graph: Graph, given: Any = None) -> ChatClient:
    client = ChatClient()
    for message, _ in graph.stream(given or {"instruction": READ}, THREAD, stream_mode="messages"):
        client.add(message)  # type: ignore[arg-type]
    return client


async def awaited(graph: Graph) -> ChatClient:
    client = ChatClient()
    async for message, _ in graph.astream({"instruction": READ}, THREAD, stream_mode="messages"):
        client.add(message)  # type: ignore[arg-type]
    return client


def answer_of(graph: Graph) -> Any:
    return graph.get_state(THREAD).values["messages"][-1]


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("method", ["auto", "json"])
def test_the_joined_chunks_are_the_answer_of_the_state_and_no_more(board: Board, method: str, is_async: bool) -> None:
    replies = COUNTING if method == "auto" else [json.dumps(x) if isinstance(x, dict) else x for x in COUNTING]
    graph = graph_of(board, StreamingModel(replies), structured_output=method)
    client = asyncio.run(awaited(graph)) if is_async else shown(graph)
    assert len(client.parts) > len(ANSWER) // PIECE
    assert client.messages == [answer_of(graph)]
    assert "".join(client.texts) == ANSWER


@pytest.mark.parametrize("method", ["json_schema", "function_calling", "json"])
def test_the_methods_of_a_provider_stream_alike(board: Board, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with ChatServer(board_script) as chat:
        monkeypatch.setenv("OPENAI_BASE_URL", chat.url)
        graph = graph_of(board, resolve_model("openai:scripted"), structured_output=method)
        client = shown(graph)
    assert len(client.parts) > 2
    assert client.messages == [answer_of(graph)]
    used = graph.get_state(THREAD).values["usage"]["roles"].values()
    # The tokens of streamed replies count as those of others do.
    assert all(role["input_tokens"] == 10 * role["calls"] for role in used)


def held(event: Event) -> Callable[[str], None]:
    """What holds a model from the word `says` on until the event."""
    written: list[str] = []

    def before(piece: str) -> None:
        written.append(piece)
        if "says" in "".join(written):
            assert event.wait(PATIENCE_S)

    return before


def test_the_answer_is_shown_while_the_model_writes_it(board: Board) -> None:
    seen = Event()
    graph = graph_of(board, StreamingModel([end("The board says: 24.", fulfilled=False)], before=held(seen)))
    texts = []
    for message, _ in graph.stream({"instruction": READ}, THREAD, stream_mode="messages"):
        texts.append(message.content)  # type: ignore[union-attr]
        seen.set()
    assert "".join(texts) == "The board says: 24."


DRAFTED = f"{json.dumps(end('A draft.'))} would be wrong.\n</think>\n{json.dumps(end(ANSWER))}"
WITHDRAWN = {
    "an unusable answer": ([*COUNTING[:-1], BROKEN, end(ANSWER)], ANSWER),
    "a draft inside the thoughts": ([*COUNTING[:-1], DRAFTED], ANSWER),
    "before a plan": ([BROKEN, *COUNTING], ANSWER),
    "every answer": ([BROKEN] * 8, "The model's replies were not a valid"),
}


@pytest.mark.parametrize(("replies", "said"), WITHDRAWN.values(), ids=WITHDRAWN)
def test_what_is_no_answer_is_withdrawn_and_the_next_has_a_new_id(board: Board, replies: list[Any], said: str) -> None:
    graph = graph_of(board, StreamingModel(replies))
    client = shown(graph)
    assert client.messages == [answer_of(graph)]
    assert said in answer_of(graph).content
    assert [part.type for part in client.parts].count("remove") == len({part.id for part in client.parts}) - 1 > 0
    if said == ANSWER:
        assert len([text for text in client.texts if text in ANSWER]) > len(ANSWER) // PIECE


def test_an_answer_that_comes_too_late_is_withdrawn_and_its_rest_is_ignored(board: Board) -> None:
    is_over = Event()
    model = StreamingModel([end("Many tasks, says a late model.")], before=held(is_over))
    graph = graph_of(board, model, max_seconds=1)
    client = shown(graph)
    is_over.set()
    assert client.texts[0] == "Many"
    assert client.messages == [answer_of(graph)]
    assert "budget" in answer_of(graph).content


def test_what_is_added_to_an_answer_is_its_last_chunk(board: Board) -> None:
    graph = graph_of(board, StreamingModel([end("Nothing to do. \n", fulfilled=False)]), writes="dry-run")
    client = shown(graph)
    assert client.texts[-1].endswith("was needed.")
    assert client.messages == [answer_of(graph)]


REPORTING = StreamingModel([program("print('There are', find_tasks()['total'], 'tasks.')")])
SILENT = StreamingModel(COUNTING, disable_streaming=True)


@pytest.mark.parametrize(("model", "road"), [(REPORTING, "program"), (SILENT, "roles")], ids=["report", "no stream"])
def test_a_report_and_the_answer_of_a_model_that_does_not_stream_are_one_whole_message(
    board: Board, model: StreamingModel, road: str
) -> None:
    graph = graph_of(board, model, road=road)
    client = shown(graph)
    assert client.parts == [answer_of(graph)]
    assert type(client.parts[0]) is AIMessage


def test_nobody_streams_so_the_model_does_not(board: Board) -> None:
    pieces: list[str] = []
    graph = graph_of(board, StreamingModel(COUNTING, before=pieces.append))
    assert graph.invoke({"instruction": READ}, THREAD)["answer"] == ANSWER  # type: ignore[arg-type]
    assert pieces == []


def test_the_second_turn_shows_only_its_own_answer(board: Board) -> None:
    graph = graph_of(board, StreamingModel([*COUNTING, end("Still 24.")]))
    shown(graph)
    client = shown(graph, {"messages": [HumanMessage("And now?")]})
    assert client.messages == [answer_of(graph)]
    assert answer_of(graph).content == "Still 24."


@pytest.mark.parametrize("method", ["react", "deps"])
def test_the_calls_of_a_baseline_are_not_shown_either(board: Board, method: str) -> None:
    reply = {**no_call("None."), "decision": "end", "text": "None.", "description": "x", "situation": "x"}
    graph = build_method(method, [board.api], model=StreamingModel([reply]), checkpointer=InMemorySaver())
    assert shown(graph).texts == [answer_of(graph).content]


def test_events_of_all_model_calls_have_the_tag_that_hides_them(board: Board) -> None:
    async def tags() -> list[list[str]]:
        graph = graph_of(board, StreamingModel(COUNTING))
        events = graph.astream_events({"instruction": READ}, THREAD, version="v2")
        return [event["tags"] async for event in events if event["event"] == "on_chat_model_start"]

    found = asyncio.run(tags())
    assert len(found) == len(COUNTING)
    assert all("nostream" in names for names in found)


def test_langgraphs_event_protocol_has_the_answer_whole_and_nothing_else(board: Board) -> None:
    graph = graph_of(board, StreamingModel(COUNTING))
    with pytest.warns(LangChainBetaWarning):
        parts: Any = list(graph.stream_events({"instruction": READ}, THREAD, version="v3"))
    shown_messages = [part["params"]["data"][0] for part in parts if part["method"] == "messages"]
    assert shown_messages == [answer_of(graph)]
