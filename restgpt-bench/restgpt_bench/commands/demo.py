"""`restgpt demo`: three instructions on the simulated APIs, with recorded model replies: no key, no network."""

from collections.abc import Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from restgpt.commands.terminal import AsJson, Exit, Quiet, Terminal, UsageError, reported, say_address_of_dotenv

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from restgpt.commands.agent_run import Agent, Outcome
    from restgpt.outcome import Pending
    from restgpt.specs import Api

TODAY = "2023-12-01"
"""The date that the simulated APIs use as today; the agent uses the same."""

SETTINGS = {"today": TODAY}
"""The settings of the agent."""

MODEL_TIMEOUT_S = 1800.0
"""The timeout of one model reply, in seconds: a person may write the replies of a recording by hand."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """An instruction of the demo, and the world that it is for."""

    world: str
    text: str


INSTRUCTIONS = (
    Instruction("tmdb", "Give me the number of movies directed by Sofia Coppola."),
    Instruction("tmdb", "Who is the director of today's most trending movie?"),
    Instruction("spotify", 'Make me a playlist with one song of Mariah Carey and name it "Love Mariah".'),
)


def demo(
    model: Annotated[
        str | None,
        typer.Option(help="Call this chat model instead of replaying recorded replies.", metavar="PROVIDER:NAME"),
    ] = None,
    record: Annotated[
        Path | None,
        typer.Option(help="Save the replies of --model in this file, so that they can be replayed.", metavar="FILE"),
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Answer three instructions on the simulated TMDB and Spotify, with recorded model replies."""
    terminal = Terminal(as_json=as_json, quiet=quiet)
    with reported(terminal), ExitStack() as stack:
        if record is not None and model is None:
            raise UsageError("--record saves the replies of a chat model. Name the model with --model.")
        apis = _serve_worlds(stack, dict.fromkeys(item.world for item in INSTRUCTIONS))
        terminal.note(_introduction(model))
        if model is not None:
            say_address_of_dotenv(terminal)
        chat_model = _model(model, record)
        outcomes = [_run(terminal, item, apis[item.world], chat_model) for item in INSTRUCTIONS]
        runs = [
            {"instruction": item.text, "world": item.world, **outcome.to_dict()}
            for item, outcome in zip(INSTRUCTIONS, outcomes, strict=True)
        ]
        terminal.document({"recorded": model is None, "model": model, "runs": runs})
    if any(outcome.status != "done" for outcome in outcomes):
        raise typer.Exit(Exit.UNFULFILLED)


def recorded() -> str:
    """Return the name of the model that replays the demo's recorded replies."""
    return f"recorded:{files('restgpt_bench.commands').joinpath('recordings', 'demo.jsonl')}"


def _model(name: str | None, record: Path | None) -> "BaseChatModel":
    """Return the chat model, with a `Recorder` as callback if `record` names a file."""
    from restgpt.tools.model.provider import resolve_model
    from restgpt.tools.model.scripted import Recorder

    chat_model = resolve_model(name or recorded(), timeout=MODEL_TIMEOUT_S)
    if record is not None:
        chat_model.callbacks = [Recorder(record)]
    return chat_model


def _introduction(model: str | None) -> str:
    where = "The APIs are simulated: real HTTP on 127.0.0.1, invented data."
    if model is not None:
        return f"{where} The model is {model}."
    return (
        f"{where} The model's replies are recorded; planning, requests, approval and the Python that reads the "
        "responses run for real. To run the demo with a chat model: restgpt demo --model openai:gpt-5-mini"
    )


def _serve_worlds(stack: ExitStack, names: Sequence[str] | dict[str, Any]) -> "dict[str, Api]":
    """Serve the worlds on free ports until the stack is closed; return their APIs, with credentials."""
    from restgpt_bench.worlds import open_world, served_api
    from restgpt_bench.worlds.server import serve

    return {name: served_api(name, stack.enter_context(serve(open_world(name))).url) for name in names}


def _run(terminal: Terminal, item: Instruction, api: "Api", model: "BaseChatModel") -> "Outcome":
    from restgpt.trace import usage_text

    terminal.note(f"\n▶ {item.text}")
    given = {"messages": [("user", item.text)]}
    agent = _agent(api, model)
    outcome = agent.drive("demo", given, terminal, decide=partial(_approve, agent))
    terminal.note(usage_text(outcome.usage))
    terminal.answer(f"{item.text}\n  {outcome.answer}")
    return outcome


def _agent(api: "Api", model: "BaseChatModel") -> "Agent":
    """Return an agent that keeps its threads in memory and ignores the user's settings."""
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.store.memory import InMemoryStore

    from restgpt.commands.agent_run import Agent
    from restgpt.graph.persistence import Persistence
    from restgpt.nodes.run.services import Context
    from restgpt.tools.settings import Settings
    from restgpt.tools.settings.settings import checked_settings

    memory = Persistence(InMemorySaver(), InMemoryStore(), "memory", lambda thread: nullcontext())
    context = checked_settings(Context, SETTINGS)
    return Agent.over([api], context=context, settings=Settings(), persistence=memory, model=model, recipes=())


def _approve(agent: "Agent", terminal: Terminal, pending: "Sequence[Pending]", find: Any) -> dict[str, Any]:
    """Print the pending requests and approve them."""
    from restgpt.commands.review import Verdict, pending_text

    terminal.note(f"\nApproval is needed.\n{pending_text(pending, agent.printed)}\n→ approved by the demo\n")
    return Verdict(approve=True).answers(pending, find)
