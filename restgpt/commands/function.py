"""`restgpt function`: from a prompt and function documentation to function calls, executing nothing."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from restgpt.commands.failure import Exit, UsageError, reported
from restgpt.commands.options import AsJson
from restgpt.commands.terminal import Terminal

if TYPE_CHECKING:
    from restgpt.functions.docs.function import Function
    from restgpt.functions.graph import FunctionGraph

MOST_READ = 2000
"""Of an API with more operations, only the best by search are read at all."""

SHOWN = ("outcome", "calls", "text", "tool_calls", "requests", "question", "missing", "answer", "usage")


def function(
    text: Annotated[str, typer.Argument(help="What is wanted, in plain language.", metavar="TEXT")],
    functions: Annotated[
        list[str],
        typer.Option("--functions", "-f", help="Function documentation or an OpenAPI document.", metavar="FILE"),
    ],
    model: Annotated[
        str | None,
        typer.Option(help="The chat model; completion:NAME is a raw completions endpoint.", metavar="PROVIDER:NAME"),
    ] = None,
    prompting: Annotated[
        Literal["structured", "tools", "v0", "v1", "v2"],
        typer.Option(help="A structured reply, native tools, or the layout of an OpenFunctions model."),
    ] = "structured",
    call_style: Annotated[
        Literal["python", "json", "requests", "tools"], typer.Option(help="How the calls are written.")
    ] = "python",
    on_missing: Annotated[
        Literal["ask", "placeholder"], typer.Option(help="What happens when a required value is missing.")
    ] = "ask",
    grounding: Annotated[bool, typer.Option(help="Treat required values that nobody said as missing.")] = True,
    base_url: Annotated[
        str | None, typer.Option("--base-url", help="Where routes without a host are.", metavar="URL")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write the function calls that do what is wanted; nothing is executed."""
    terminal = Terminal(as_json=as_json)
    with reported(terminal):
        from restgpt.functions.context import FunctionContext
        from restgpt.functions.graph import build_functions_graph

        context = FunctionContext(
            model=model or "",
            prompting=prompting,
            call_style=call_style,
            on_missing="placeholder" if on_missing == "placeholder" else "ask" if terminal.is_interactive else "return",
            grounding=grounding,
            base_url=base_url or "",
        )
        found = [one for source in functions for one in _read(source, text, base_url)]
        graph = build_functions_graph(found, context=context, checkpointer=_memory())
        _show(terminal, _converse(terminal, graph, text))


def _memory() -> Any:
    from langgraph.checkpoint.memory import InMemorySaver

    return InMemorySaver()


def _read(source: str, text: str, base_url: str | None) -> "list[Function]":
    """The functions of a file; raises `UsageError` naming the file where it holds none that can be read."""
    from restgpt.functions.docs.function import FunctionError
    from restgpt.functions.docs.loading import load_functions
    from restgpt.functions.docs.sources import from_operations

    path = Path(source)
    if not path.is_file():
        raise UsageError(f"--functions {source}: there is no such file.")
    if _is_openapi(path):
        from restgpt.specs import load_api

        api = load_api(path, base_url=base_url)
        many = len(api.operations) > MOST_READ
        return from_operations(api.search(text, 100) if many else api.operations)
    try:
        return load_functions(path)
    except FunctionError as error:
        place = f"{error.pointer}: " if error.pointer else ""
        remedy = "Give a file of function documentation or an OpenAPI document."
        raise UsageError(f"--functions {source}: {place}{error.problem}. {remedy}") from None


def _is_openapi(path: Path) -> bool:
    """Whether a file opens like an OpenAPI document; it is read as such before it is read as functions."""
    import re

    with path.open("rb") as file:
        head = file.read(65536).decode("utf-8", "replace")
    return re.search(r"(?:^|[\"'])(openapi|swagger)[\"']?\s*:\s*[\"']?\d", head, re.MULTILINE) is not None


def _converse(terminal: Terminal, graph: "FunctionGraph", text: str) -> dict[str, Any]:
    """Run the graph; at a terminal, put its questions to the person until one is left without an answer."""
    from langgraph.types import Command

    config: Any = {"configurable": {"thread_id": "function"}}
    state = graph.invoke({"prompt": text}, config)
    while waiting := state.get("__interrupt__"):
        answer = terminal.ask(f"{waiting[0].value['question']} ")
        if not answer:
            break
        state = graph.invoke(Command(resume=answer), config)
    return dict(state)


def _show(terminal: Terminal, state: dict[str, Any]) -> None:
    """Print the calls, or the question or refusal with its exit code."""
    outcome = state["outcome"]
    terminal.document({name: state[name] for name in SHOWN if name in state})
    if outcome == "call":
        terminal.answer(state["text"])
    elif outcome == "ask":
        terminal.say(state["question"])
        raise typer.Exit(Exit.PAUSED)
    else:
        terminal.say(state["answer"])
        raise typer.Exit(Exit.UNFULFILLED)
