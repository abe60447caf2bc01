"""The baselines, each a graph of its own: those of the paper (appendix B), and native tool calling."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from langchain_core.language_models import BaseChatModel
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.store.base import BaseStore

from restgpt.graph.build import Graph, add_executor, add_loop, build_graph, compiled, make_resources
from restgpt.graph.node import after_sending, make_parser, node_of
from restgpt.nodes.intake import intake
from restgpt.nodes.run.run import check_store
from restgpt.nodes.run.services import Context, Services
from restgpt.nodes.state.state import InputState, OutputState, State
from restgpt.specs import Api
from restgpt.tools.graphs import on_loop
from restgpt_bench.methods.deps import make_deps
from restgpt_bench.methods.offline import make_answer, make_offline
from restgpt_bench.methods.react import make_react
from restgpt_bench.methods.reflexion import make_judge
from restgpt_bench.methods.tools import make_tools

Builder = StateGraph[State, Context, InputState, OutputState]


def build_method(
    method: str,
    apis: Sequence[Api] | None = None,
    *,
    model: str | BaseChatModel | None = None,
    models: Mapping[str, str | BaseChatModel] | None = None,
    context: Context | Mapping[str, Any] | None = None,
    checkpointer: BaseCheckpointSaver[Any] | bool | None = None,
    store: BaseStore | None = None,
    services: Services | None = None,
    concurrency: int | None = None,
) -> Graph:
    """Build `restgpt` or one of its baselines, with the same inputs, outputs and settings; see `METHODS`.

    Raises `LookupError` for an unknown method, and `ValueError` for the same reasons as `build_graph`.
    """
    check_store(checkpointer, store)
    if method not in METHODS:
        raise LookupError(f"There is no method {method!r}. Choose one of: {', '.join(METHODS)}.")
    services = make_resources(apis, model=model, models=models, context=context, store=store, services=services)
    if method == "calls":
        services = services.with_defaults(road="roles")
    wire = METHODS[method]
    if wire is None:
        return build_graph(checkpointer=checkpointer, store=store, services=services, concurrency=concurrency)
    builder = StateGraph(State, context_schema=Context, input_schema=InputState, output_schema=OutputState)
    builder.add_node("intake", node_of("intake", lambda state, runtime, config: intake(state, config), services))
    builder.add_edge(START, "intake")
    wire(builder, services)
    options: Any = {"checkpointer": checkpointer, "store": store, "concurrency": concurrency}
    graph: Graph = compiled(builder, method, traced_as="agent", **options)
    return graph


@on_loop
def calls_or_end(state: State) -> Literal["call", "end"]:
    """Go to the caller if the API plan has calls; otherwise end."""
    return "call" if state["api_plan"]["calls"] else "end"


@on_loop
def another_trial(state: State) -> Literal["another trial", "end"]:
    """Start another trial if the judge wrote a reflection; otherwise end."""
    return "another trial" if state["decision"]["kind"] == "continue" else "end"


@on_loop
def requests_or_end(state: State) -> Literal["requests", "no request", "end"]:
    """Send drafted requests; without one, ask the model again, or end if it answered."""
    if not state["api_plan"]["calls"]:
        return "end"
    drafted = [item for item in state["requests"] if item["round"] == state["round"] and item["status"] == "planned"]
    return "requests" if drafted else "no request"


def _loop(builder: Builder, services: Services, node: str, *, at_end: str = END, at_result: str = "") -> None:
    """Add the executor nodes; connect a planning node to them, and them to `at_result` or back to the planning node."""
    add_executor(builder, services, programs=False)
    back = at_result or node
    builder.add_edge("intake", node)
    builder.add_conditional_edges(node, calls_or_end, {"call": "caller", "end": at_end})
    add_loop(builder, node, back)


def _react(builder: Builder, services: Services) -> None:
    builder.add_node("react", node_of("react", make_react(services), services))
    _loop(builder, services, "react")


def _offline(builder: Builder, services: Services) -> None:
    builder.add_node("offline", node_of("offline", make_offline(services), services))
    builder.add_node("answer", node_of("answer", make_answer(services), services))
    _loop(builder, services, "offline", at_result="answer")
    builder.add_edge("answer", END)


def _deps(builder: Builder, services: Services) -> None:
    builder.add_node("deps", node_of("deps", make_deps(services), services))
    _loop(builder, services, "deps")


def _reflexion(builder: Builder, services: Services) -> None:
    builder.add_node("react", node_of("react", make_react(services), services))
    builder.add_node("judge", node_of("judge", make_judge(services), services))
    _loop(builder, services, "react", at_end="judge")
    builder.add_conditional_edges("judge", another_trial, {"another trial": "react", "end": END})


def _tools(builder: Builder, services: Services) -> None:
    builder.add_node("tools", node_of("tools", make_tools(services), services))
    builder.add_node("parser", make_parser(services, None))
    builder.add_conditional_edges("parser", after_sending, {"next calls": "parser", "answered": "tools"})
    builder.add_edge("intake", "tools")
    builder.add_conditional_edges("tools", requests_or_end, {"requests": "parser", "no request": "tools", "end": END})


METHODS: Mapping[str, Callable[[Builder, Services], None] | None] = {
    "restgpt": None,
    "calls": None,
    "react": _react,
    "offline": _offline,
    "deps": _deps,
    "reflexion": _reflexion,
    "tools": _tools,
}
