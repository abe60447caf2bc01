"""The graph `openfunctions`: from a prompt and function documentation to calls, without executing any.

START → intake → caller ── call | refuse | failed ──→ emitter → END
▲  └───── ask ──→ follow_up ─┐
└──────── the answer ────────┘
"""

from collections.abc import Mapping
from typing import Any

from langchain_core.language_models import BaseChatModel
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import get_runtime

from restgpt.tools.graphs import ServedGraph, TracedGraph, on_loop, run_in_threads
from restgpt.tools.text.redaction import withholding
from restgpt.tools.tracing.telemetry import observed
from restgpt_functions.context import FunctionContext, FunctionInput, FunctionOutput, FunctionState
from restgpt_functions.docs.loading import Source, load_functions
from restgpt_functions.nodes import Node, make_caller, make_emitter, make_follow_up, make_intake
from restgpt_functions.resources import FunctionResources

FunctionGraph = CompiledStateGraph[FunctionState, FunctionContext, FunctionInput, FunctionOutput]

QUESTIONS = 25
"""The most questions that one run may ask."""


def build_functions_graph(
    functions: Source | None = None,
    *,
    model: str | BaseChatModel | None = None,
    context: FunctionContext | Mapping[str, Any] | None = None,
    checkpointer: BaseCheckpointSaver[Any] | bool | None = None,
    concurrency: int | None = None,
    name: str = "openfunctions",
) -> FunctionGraph:
    """Build the graph over `functions` in any dialect; without any, a run brings its own under `functions`.

    `context` gives defaults for the settings of a run. Pausing for a missing value needs a checkpointer; with
    `on_missing="return"` the run ends with the question instead. `concurrency` gives the graph so many threads of its
    own for `ainvoke`, `astream` and `abatch`. Raises `FunctionError` for unreadable documentation.
    """
    defaults = context if isinstance(context, FunctionContext) else FunctionContext(**(context or {}))
    services = FunctionResources(load_functions(functions) if functions is not None else None, model, defaults)
    builder = StateGraph(
        FunctionState, context_schema=FunctionContext, input_schema=FunctionInput, output_schema=FunctionOutput
    )

    def add(node: str, function: Node, about: str) -> None:
        withheld = withholding(observed(node, function), services.redactor)
        builder.add_node(node, withheld, metadata={"description": about})

    add("intake", make_intake(services), "Finds the prompt and likely functions.")
    add("caller", make_caller(services), "Writes the calls and checks them.")
    add("follow_up", make_follow_up(services), "Pauses for a missing value.")
    add("emitter", make_emitter(services), "Gives calls, question or refusal.")
    builder.add_edge(START, "intake")
    builder.add_edge("intake", "caller")
    builder.add_conditional_edges(
        "caller", _after_caller(services), {"missing value": "follow_up", "answer": "emitter"}
    )
    builder.add_conditional_edges(
        "follow_up", _after_follow_up, {"words": "caller", "missing value": "follow_up", "values": "emitter"}
    )
    builder.add_edge("emitter", END)
    run_in_threads(builder, concurrency)
    graph = TracedGraph.of(builder.compile(checkpointer=checkpointer, name=name))
    return graph.with_config(recursion_limit=10 + 2 * QUESTIONS)


def _after_caller(services: FunctionResources) -> Any:
    @on_loop
    def after_caller(state: FunctionState) -> str:
        context = services.context(get_runtime(FunctionContext))
        asks = state["outcome"] == "ask" and context.on_missing == "ask"
        return "missing value" if asks else "answer"

    return after_caller


@on_loop
def _after_follow_up(state: FunctionState) -> str:
    """The next step after an answer: the model reads words; values given by name may leave others missing."""
    return {"failed": "words", "ask": "missing value"}.get(state["outcome"], "values")


openfunctions = build_functions_graph()
"""The exported graph, without a checkpointer of its own."""

served = ServedGraph.of(openfunctions)
"""The exported graph as a LangGraph server loads it."""
