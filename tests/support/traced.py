"""Runs of graphs in a process of their own that has a provider of OpenTelemetry, and prints their spans as JSON.

`python traced.py [NAME…]` carries out the scenarios, or those of the names, and prints their exported spans by name.
"""

import asyncio
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import Any

import requests
from board import TOY, Board, served_board
from chatserver import ChatServer, script_by_role
from kitchen import Kitchen
from langchain_core.runnables import RunnableConfig
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command
from opentelemetry import context, trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from requests.adapters import BaseAdapter
from roles import by_role, call, end, plan, select
from scripted import ScriptedModel
from typing_extensions import TypedDict

from lab.kit.port import held_port
from recipes import recipe
from restgpt.calling.journal import Journal
from restgpt.calling.undo import reversals
from restgpt.client import Client
from restgpt.graph.single import build_calls, build_program, calls_input
from restgpt.nodes.run.services import Services
from restgpt.specs import load_api
from restgpt.tools.http.http_client import HttpClient
from restgpt.tools.request.prepared_request import build_request
from restgpt_bench.worlds import CREDENTIAL
from restgpt_functions.graph import build_functions_graph

WORD = "Chestnut"
SECRET = CREDENTIAL
INSTRUCTION = f"Add the task '{WORD} planting' to project 1"
APPROVE: Any = Command(resume={"decisions": [{"type": "approve"}]})
CODE = "one, two = gather(get_project(1), get_project(2))\nprint(one['name'], two['name'])"
FUNCTION = {"name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}

exporter = InMemorySpanExporter()
SCENARIOS: list[Callable[[Board], None]] = []


def scenario(function: Callable[[Board], None]) -> Callable[[Board], None]:
    SCENARIOS.append(function)
    return function


def task_model(*, title: str = f"{WORD} planting", goal: str = "Add a task", done: str = "Done.") -> ScriptedModel:
    said = {"path": {"project_id": 1}, "body": {"title": title}}
    return by_role({"planner": [plan(goal), end(done)], "selector": [select("create_task")], "caller": [call(said)]})


def writing(code: str, *more: Any) -> ScriptedModel:
    """A model that writes a program, and what else it replies."""
    return ScriptedModel([{"thought": "", "decision": "program", "text": code}, *more])


def config(thread: str = "thread") -> RunnableConfig:
    return {"configurable": {"thread_id": thread}}


@contextmanager
def host_span(name: str) -> Iterator[None]:
    with trace.get_tracer("host").start_as_current_span(name):
        yield


@scenario
def invoke(board: Board) -> None:
    board.agent(task_model()).ask(INSTRUCTION, writes="allow")


def by_roles(board: Board, **options: Any) -> Any:
    """The graph of an agent that carries out its task call by call, without questions."""
    return board.agent(task_model(), context={"road": "roles", "writes": "allow"}, **options).graph


GIVEN = {"instruction": INSTRUCTION}


@scenario
def ainvoke(board: Board) -> None:
    asyncio.run(by_roles(board).ainvoke(GIVEN, config()))


@scenario
def stream(board: Board) -> None:
    for number, _ in enumerate(by_roles(board).stream(GIVEN, config())):
        if number == 2:
            with host_span("consumer"):
                pass


@scenario
def astream(board: Board) -> None:
    async def run() -> None:
        async for _ in by_roles(board).astream(GIVEN, config(), stream_mode="tasks"):
            with host_span("consumer"):
                await asyncio.sleep(0)

    asyncio.run(run())


@scenario
def astream_events(board: Board) -> None:
    async def run() -> None:
        async for _ in by_roles(board).astream_events(GIVEN, config(), version="v2"):
            pass

    asyncio.run(run())


@scenario
def batch(board: Board) -> None:
    model = ScriptedModel(lambda prompt: {"thought": "", "decision": "program", "text": CODE})
    given: Any = [{"instruction": "Name projects 1 and 2"}] * 2
    board.agent(model, context={"road": "program"}).graph.batch(given, [config("first"), config("second")])


@scenario
def program(board: Board) -> None:
    board.agent(writing(CODE), context={"road": "program"}).ask("Name projects 1 and 2")


@scenario
def pause(board: Board) -> None:
    agent = board.agent(task_model())
    agent.ask(INSTRUCTION)
    agent.graph.invoke(APPROVE, agent.config)


@scenario
def failing_program(board: Board) -> None:
    model = writing("print(1 // 0)", end("No.", fulfilled=False))
    board.agent(model, context={"road": "program"}).ask("Divide")


@scenario
def recipe_run(board: Board) -> None:
    Kitchen(recipe(board.api), board).run({"project": "Winter timetable", "title": "Buy soil"}, writes="allow")


@scenario
def undo(board: Board) -> None:
    agent = board.agent(task_model())
    agent.ask(INSTRUCTION, writes="allow")
    exporter.clear()
    saver, store = agent.graph.checkpointer, agent.graph.store
    services = Services([board.api], store=store)
    found = reversals(Journal(store, "thread"), services.catalogue(()))  # type: ignore[arg-type]
    drafts = [reversal.draft for reversal in found if reversal.draft]
    graph = build_calls(services, checkpointer=saver, store=store)  # type: ignore[arg-type]
    graph.invoke(calls_input(drafts), config("thread/undo"))  # type: ignore[arg-type]


@scenario
def given_program(board: Board) -> None:
    build_program([board.api]).invoke({"code": CODE})  # type: ignore[call-overload]


@scenario
def client(board: Board) -> None:
    Client([board.api]).call("list_projects", {})


@scenario
def functions(board: Board) -> None:
    reply = {"thought": "", "calls": [{"name": "weather", "arguments": {"city": "Paris"}}]}
    graph = build_functions_graph([FUNCTION], model=ScriptedModel([reply]), context={"prompting": "structured"})
    graph.invoke({"prompt": "The weather in Paris?"})  # type: ignore[arg-type]


@scenario
def failing_model(board: Board) -> None:
    response = requests.Response()
    response.status_code = 429
    error = requests.HTTPError(f"refused {SECRET}", response=response)
    attempt(board.agent(ScriptedModel([error])), "Hello")


@scenario
def failing_node(board: Board) -> None:
    attempt(board.agent(ScriptedModel([ZeroDivisionError(SECRET)])), "Hello")


def attempt(agent: Any, instruction: str) -> None:
    try:
        agent.ask(instruction)
    except Exception:  # noqa: BLE001 - the spans are what is looked at
        return
    raise AssertionError("the run did not fail")


@scenario
def unreachable_api(board: Board) -> None:
    with held_port() as port:
        api = load_api(TOY.read_bytes(), base_url=f"http://127.0.0.1:{port}", auth={"key": SECRET})
        attempt(Board(board.server, api).agent(task_model(), context={"road": "roles", "writes": "allow"}), INSTRUCTION)


class NotingAdapter(BaseAdapter):
    """Answers every request with 200, and notes whether instrumentations of HTTP would be on meanwhile."""

    def send(self, request: Any, **options: Any) -> requests.Response:  # type: ignore[override]
        with host_span("on" if is_http_instrumentation_enabled() else "off"):
            response = requests.Response()
            response.status_code, response.raw = 200, BytesIO(b"{}")
            return response

    def close(self) -> None:
        """Close nothing."""


def is_http_instrumentation_enabled() -> bool:
    """Return what `opentelemetry.instrumentation.utils` would: its packages look at these two keys."""
    keys = (context._SUPPRESS_INSTRUMENTATION_KEY, context._SUPPRESS_HTTP_INSTRUMENTATION_KEY)
    return not any(context.get_value(key) for key in keys)


@scenario
def instrumented(board: Board) -> None:
    catalogue = Services([board.api]).catalogue(())
    operation = catalogue.operation("list_projects")
    request = build_request(operation, {})
    NotingAdapter().send(request)
    HttpClient(adapter=NotingAdapter()).send(request, operation)
    NotingAdapter().send(request)


@scenario
def missing_object(board: Board) -> None:
    code = "try:\n    get_project(999)\nexcept ApiError as error:\n    print(error.status)"
    board.agent(writing(code), context={"road": "program"}).ask("Get project 999")


@scenario
def stopped_stream(board: Board) -> None:
    parts = by_roles(board).stream(GIVEN, config())
    next(parts)
    next(parts)
    parts.close()


@scenario
def abandoned_streams(board: Board) -> None:
    for _ in by_roles(board).stream(GIVEN, config()):
        break

    async def run() -> None:
        async for _ in by_roles(board).astream(GIVEN, config()):
            break

    asyncio.run(run())


@scenario
def cancelled_run(board: Board) -> None:
    async def run() -> None:
        async for _ in by_roles(board).astream(GIVEN, config()):
            asyncio.current_task().cancel()  # type: ignore[union-attr]

    try:
        asyncio.run(run())
    except asyncio.CancelledError:
        return
    raise AssertionError("the run was not cancelled")


class _HostState(TypedDict):
    instruction: str
    answer: str


@scenario
def nested(board: Board) -> None:
    host = StateGraph(_HostState)
    host.add_node("agent", by_roles(board, checkpointer=None))
    host.add_edge(START, "agent")
    host.add_edge("agent", END)
    with host_span("host"):
        host.compile().invoke({**GIVEN, "answer": ""})


@scenario
def openai(board: Board) -> None:
    script = script_by_role({"planner": [end("Nothing to do.", fulfilled=False)]})
    with ChatServer(script) as server:
        model = ChatOpenAI(model="gpt-4.1-mini", base_url=server.url, api_key="model-key-1234", temperature=0.5)  # type: ignore[arg-type]
        board.agent(model).ask("Do nothing")  # type: ignore[arg-type]


@scenario
def secrets(board: Board) -> None:
    """A person says the secret, the models repeat it, the API echoes it, and a failure quotes it."""
    model = task_model(title=f"{WORD} {SECRET}", goal=f"Add a task {SECRET}", done=f"Done {SECRET}.")
    board.agent(model, context={"road": "roles", "writes": "allow"}).ask(
        f"Add the task '{WORD} {SECRET}' to project 1 with https://user:pass@example.com/?api_key=another-key-5678"
    )
    attempt(board.agent(ScriptedModel([ZeroDivisionError(SECRET)])), f"Hello {SECRET}")


def described(span: Any) -> dict[str, Any]:
    return {
        "name": span.name,
        "kind": span.kind.name,
        "trace": f"{span.context.trace_id:032x}",
        "id": f"{span.context.span_id:016x}",
        "parent": f"{span.parent.span_id:016x}" if span.parent else "",
        "status": span.status.status_code.name,
        "description": span.status.description,
        "events": [event.name for event in span.events],
        "attributes": dict(span.attributes),
    }


def main() -> None:
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    found = {}
    for run in [run for run in SCENARIOS if not sys.argv[1:] or run.__name__ in sys.argv[1:]]:
        with served_board() as board:
            run(board)
        found[run.__name__] = [described(span) for span in exporter.get_finished_spans()]
        exporter.clear()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
