"""`restgpt function`: turn a prompt and function documentation into function calls, without executing them."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from restgpt.commands.terminal import AsJson, Exit, Terminal, UsageError, reported, say_address_of_dotenv

if TYPE_CHECKING:
    from restgpt_functions.docs.function import Function
    from restgpt_functions.graph import FunctionGraph

SHOWN = ("outcome", "calls", "text", "tool_calls", "requests", "question", "missing", "answer", "usage")


def function(
    text: Annotated[str, typer.Argument(help="The request, in plain language.", metavar="TEXT")],
    functions: Annotated[
        list[str],
        typer.Option(
            "--functions",
            "-f",
            help="A file of function documentation, or an OpenAPI document. May be repeated.",
            metavar="FILE",
        ),
    ],
    model: Annotated[
        str | None,
        typer.Option(help="The chat model; completion:NAME uses a completions endpoint.", metavar="PROVIDER:NAME"),
    ] = None,
    prompting: Annotated[
        Literal["structured", "tools", "v0", "v1", "v2"],
        typer.Option(
            help="Ask for structured output, native tool calls, or in the prompt format of an OpenFunctions model."
        ),
    ] = "structured",
    call_style: Annotated[
        Literal["python", "json", "requests", "tools"], typer.Option(help="The format of the calls.")
    ] = "python",
    on_missing: Annotated[
        Literal["ask", "placeholder"],
        typer.Option(help="Whether to ask for a missing required value, or to write a placeholder."),
    ] = "ask",
    base_url: Annotated[
        str | None, typer.Option("--base-url", help="The base URL of an OpenAPI document.", metavar="URL")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write the function calls that fulfil a request; they are not executed."""
    terminal = Terminal(as_json=as_json)
    with reported(terminal):
        from langgraph.checkpoint.memory import InMemorySaver

        from restgpt_functions.context import FunctionContext
        from restgpt_functions.graph import build_functions_graph

        context = FunctionContext(
            model=model or "",
            prompting=prompting,
            call_style=call_style,
            on_missing="placeholder" if on_missing == "placeholder" else "ask" if terminal.is_interactive else "return",
        )
        found = [one for source in functions for one in _read(source, base_url)]
        graph = build_functions_graph(found, context=context, checkpointer=InMemorySaver())
        say_address_of_dotenv(terminal)
        _show(terminal, _converse(terminal, graph, text))


def _read(source: str, base_url: str | None) -> "list[Function]":
    """Read the functions of a file; raises `UsageError` that names the file if it has no readable function."""
    from restgpt_functions.docs.function import FunctionError
    from restgpt_functions.docs.loading import load_functions

    if not Path(source).is_file():
        raise UsageError(f"--functions {source}: this file does not exist.")
    try:
        return load_functions(Path(source), base_url=base_url)
    except FunctionError as error:
        place = f"{error.pointer}: " if error.pointer else ""
        remedy = "Give a file of function documentation or an OpenAPI document."
        raise UsageError(f"--functions {source}: {place}{error.problem}. {remedy}") from None


def _converse(terminal: Terminal, graph: "FunctionGraph", text: str) -> dict[str, Any]:
    """Run the graph; at a terminal, ask the user its questions until the user gives an empty answer."""
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
    """Print the calls; or print the question or refusal and exit with its code."""
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
