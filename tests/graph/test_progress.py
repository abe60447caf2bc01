"""Guards progress events: what they say, when they come, and that no secret is in them."""

import asyncio
import json
from threading import Event
from typing import Any, get_args

import pytest
from board import CALLS, Board
from langchain_core.messages import BaseMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command
from roles import by_role, call, end, one_task, plan, program, role_of
from scripted import Reply as Scripted
from scripted import ScriptedModel

from lab.speed.stream import measure, table
from restgpt.graph.build import Graph, build_graph
from restgpt.nodes.run.events import ProgressEvent, events_of
from restgpt.nodes.run.services import Context, Services
from restgpt.tools.errors import TimeoutFault
from restgpt.tools.http.http_client import HttpClient
from restgpt.tools.response.content import Reply
from restgpt_bench.worlds import CREDENTIAL

THREAD: Any = {"configurable": {"thread_id": "1"}}
PATIENCE_S = 60
READING: dict[str, Any] = one_task(
    "find_tasks", planner=[plan("Count the tasks"), end("There are 24.")], parser=["print(data['total'])"]
)
CREATING: dict[str, Any] = one_task("create_project", caller=[call({"body": {"name": "Moss"}})])

CALLED = ["request_started", "request_finished", "call_finished"]
SENT = [*CALLED, "response_read", "step_finished", "turn_finished"]


def graph_of(board: Board, model: Any, *, http: HttpClient | None = None, **context: Any) -> Graph:
    services = Services([board.api], model=model, http=http, defaults=Context(**{**CALLS, **context}))
    return build_graph(services=services, checkpointer=InMemorySaver(), store=InMemoryStore())


def events(graph: Any, given: Any = None, **context: Any) -> list[Any]:
    value = {"instruction": "Count"} if given is None else given
    return list(graph.stream(value, THREAD, context=context or None, stream_mode="custom"))


def types_of(found: list[Any]) -> list[str]:
    return [event["type"] for event in found if event["type"] != "usage"]


def of_type(found: list[Any], name: str) -> Any:
    [event] = [event for event in found if event["type"] == name]
    return event


def test_a_run_call_by_call_tells_each_thing_once_and_in_order(board: Board) -> None:
    found = events(graph_of(board, by_role(READING)))
    assert types_of(found) == ["task_started", "operations_chosen", *SENT]
    started = {"type": "task_started", "turn": 1, "task": 1, "kind": "plan", "text": "Count the tasks"}
    assert of_type(found, "task_started") == started
    chosen = [{"operation": "find_tasks", "purpose": "use find_tasks"}]
    assert of_type(found, "operations_chosen")["operations"] == chosen
    sent, done = of_type(found, "request_started"), of_type(found, "request_finished")
    assert (sent["method"], sent["url"]) == ("GET", f"{board.server.url}/tasks")
    assert done == {**sent, "type": "request_finished", "status": 200, "ms": done["ms"], "error": ""}
    step = of_type(found, "step_finished")
    assert (step["operations"], step["end"]) == (["find_tasks"], None)
    assert "24" in step["result"]
    last = [event for event in found if event["type"] == "usage"][-1]
    assert (last["model_calls"], last["requests"], last["input_tokens"]) == (5, 1, 50)


def test_a_program_is_told_with_its_requests_and_its_end(board: Board) -> None:
    code = "print(find_tasks()['total'], get_project(project_id=1)['name'])"
    found = events(graph_of(board, by_role({"express": [program(code)]}), road="program"))
    assert types_of(found) == [
        "task_started",
        "functions_selected",
        "program_written",
        *["program_called", *CALLED] * 2,
        "step_finished",
        "turn_finished",
    ]
    assert of_type(found, "task_started")["text"] == "Count"
    written = {"type": "program_written", "number": 1, "writer": "caller", "code": code}
    assert of_type(found, "program_written") == written
    step = of_type(found, "step_finished")
    assert (step["end"], step["report"]) == ("report", "24 Winter timetable")
    first = next(event for event in found if event["type"] == "call_finished")
    assert (first["outcome"], first["status"], first["line"]) == ("sent", 200, 1)
    assert (first["method"], first["url"]) == ("GET", f"{board.server.url}/tasks")
    [called, _] = [event["calls"] for event in found if event["type"] == "program_called"]
    assert called == [{"id": first["id"], "operation": "find_tasks", "line": 1, "source": code}]


def test_a_pause_is_told_once_and_its_request_is_sent_after_the_answer(board: Board) -> None:
    graph = graph_of(board, by_role(CREATING))
    found = events(graph)
    assert types_of(found)[-1] == "approval_requested"
    [waiting] = of_type(found, "approval_requested")["requests"]
    assert (waiting["operation"], waiting["method"]) == ("create_project", "POST")
    assert waiting["url"] == f"{board.server.url}/projects"
    resumed = events(graph, Command(resume="approve"))
    assert types_of(resumed) == SENT
    assert of_type(resumed, "request_finished")["status"] == 201


class Failing(HttpClient):
    """Never gets a response."""

    def send(self, *args: Any, **more: Any) -> Reply:
        raise TimeoutFault("no response")


def test_a_request_without_a_response_has_the_name_of_its_error(board: Board) -> None:
    found = events(graph_of(board, by_role(READING), http=Failing()))
    done = of_type(found, "request_finished")
    assert (done["status"], done["error"]) == (None, "TimeoutFault")
    over = of_type(found, "call_finished")
    assert (over["outcome"], over["status"], over["note"]) == ("failed", None, "no response")


class Waiting(HttpClient):
    """Sends a request only after the test has seen an event."""

    def __init__(self, seen: Event) -> None:
        super().__init__()
        self.seen = seen

    def send(self, *args: Any, **more: Any) -> Reply:
        assert self.seen.wait(PATIENCE_S)
        return super().send(*args, **more)


@pytest.mark.parametrize("is_async", [False, True])
def test_the_first_event_follows_the_first_decision_and_precedes_all_else(board: Board, is_async: bool) -> None:
    first, started = Event(), Event()
    script = by_role(READING)

    def reply(prompt: list[BaseMessage]) -> Scripted:
        # No other role is asked before the first event has been seen.
        assert role_of(prompt) == "planner" or first.wait(PATIENCE_S)
        return script.reply(prompt, ["tool"])  # type: ignore[return-value]

    graph = graph_of(board, ScriptedModel(reply), http=Waiting(started))
    seen: list[Any] = []

    def see(event: Any) -> None:
        first.set()
        if event["type"] == "request_started":
            assert board.calls() == []
            started.set()
        seen.append(event["type"])

    async def run() -> None:
        async for event in graph.astream({"instruction": "Count"}, THREAD, stream_mode="custom"):
            see(event)

    if is_async:
        asyncio.run(run())
    else:
        for event in graph.stream({"instruction": "Count"}, THREAD, stream_mode="custom"):
            see(event)
    assert seen[0] == "task_started"
    assert "request_finished" in seen


def test_events_of_a_subgraph_have_its_namespace_and_without_a_stream_the_answer_is_the_same(board: Board) -> None:
    def host(**kept: Any) -> Any:
        builder = StateGraph(MessagesState)
        builder.add_node("restgpt", build_graph([board.api], model=by_role(READING), context=CALLS))
        builder.add_edge(START, "restgpt")
        return builder.compile(**kept)

    given: Any = {"messages": [("user", "Count")]}
    modes = ["custom", "messages"]
    parts = list(host(checkpointer=InMemorySaver()).stream(given, THREAD, stream_mode=modes, subgraphs=True))
    assert all(space and space[0].startswith("restgpt:") for space, mode, _ in parts if mode == "custom")
    assert types_of([event for _, mode, event in parts if mode == "custom"])[0] == "task_started"
    shown = [part[0].content for space, mode, part in parts if mode == "messages" and space]
    assert shown == ["There are 24."]
    assert host().invoke(given)["messages"][-1].content == "There are 24."


def test_no_event_holds_a_credential(board: Board) -> None:
    key = f"The key is {CREDENTIAL}"
    code = f'note = "{CREDENTIAL}"\nprint(find_tasks()["total"], note)'
    by_code = events(graph_of(board, by_role({"express": [program(code)]}), road="program"))
    by_call = events(graph_of(board, by_role({**READING, "planner": [plan(key), end("Done.")]})))
    assert "program_written" in types_of(by_code)
    assert "task_started" in types_of(by_call)
    assert CREDENTIAL not in json.dumps([*by_code, *by_call])


def test_the_state_streams_the_plan_the_operations_and_the_steps_as_they_come(board: Board) -> None:
    graph = graph_of(board, by_role(READING))
    values: list[Any] = list(graph.stream({"instruction": "Count"}, THREAD, stream_mode="values"))
    planned = next(number for number, value in enumerate(values) if value.get("plan") == "Count the tasks")
    chosen = next(number for number, value in enumerate(values) if value.get("api_plan", {}).get("calls"))
    finished = next(number for number, value in enumerate(values) if value.get("steps"))
    assert planned < chosen < finished < len(values) - 1


def test_every_type_of_event_is_an_object_with_its_type_first() -> None:
    for kind in get_args(ProgressEvent):
        [name, *_] = kind.__annotations__
        assert name == "type"


def test_an_update_without_news_gives_no_event() -> None:
    assert list(events_of({"turn": 1}, {"hint": ""})) == []


def test_the_benchmark_measures_each_run_from_its_decision() -> None:
    found = measure(2, is_async=False)
    assert len(found.event_ms) == len(found.request_ms) == 2
    assert min(*found.event_ms, *found.request_ms) > 0
    assert table({"here": found}).count("| here |") == 1
