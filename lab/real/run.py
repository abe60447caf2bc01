"""Runs tasks on a real server: the server is seeded anew for each, and a careful person answers the questions."""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command

from lab.real.person import Person
from lab.real.server import Running, Server
from lab.real.task import Task
from restgpt.graph.build import Graph, build_graph, recursion_limit
from restgpt.nodes.run.services import Context, Services
from restgpt.nodes.state.records import no_usage
from restgpt.tools.errors import RestgptError
from restgpt.tools.settings import ApiEntry, Settings

TODAY = "2026-11-16"
"""The date that the agent uses as today: prompts contain it, so it must not change."""

REPLY_S = 1800.0
"""The timeout of one model reply, in seconds: a person may write the replies of a recording by hand."""

MOST_QUESTIONS = 20


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result and the cost of one task.

    `approved` and `rejected` count the decisions on changes, `reads` the decisions on requests that only read.
    """

    server: str
    task: str
    faults: tuple[str, ...]
    answer: str
    calls: int
    input_tokens: int
    output_tokens: int
    requests: int
    approved: int
    rejected: int
    reads: int

    @property
    def ok(self) -> bool:
        """Whether the task was fulfilled."""
        return not self.faults


class PromptWatch(BaseCallbackHandler):
    """Counts the prompts of some runs and their characters."""

    prompts = characters = 0

    def on_chat_model_start(
        self, serialized: dict[str, Any], messages: list[list[BaseMessage]], *, run_id: UUID, **kwargs: Any
    ) -> None:
        """Count a prompt."""
        self.prompts += 1
        self.characters += len("\n".join(str(message.text) for message in messages[0]))


def run_task(
    server: Server, running: Running, task: Task, model: BaseChatModel, *, watch: BaseCallbackHandler | None = None
) -> Outcome:
    """Seed the server, run the agent on one task, and judge the server's state and the answer.

    Each task gets a home folder of its own, so that no decision of an earlier task is remembered.
    """
    http = running.http
    server.reset(http)
    before = server.state(http)
    person = Person(server, task, http, before)
    with tempfile.TemporaryDirectory(prefix="restgpt-home-") as home:
        entry = ApiEntry(server.name, "-", effects=server.reads)
        settings = Settings(home=Path(home), apis={server.name: entry})
        services = Services([running.api(server.name)], model=model, settings=settings, recipes=())
        graph = build_graph(services=services, checkpointer=InMemorySaver(), store=InMemoryStore())
        error = _drive(graph, task, person, watch)
        values = graph.get_state(_config(None)).values
    answer = str(values.get("answer") or "")
    faults = [*([error] if error else []), *task.faults(before, server.state(http), answer)]
    usage = values.get("usage") or no_usage()
    spent = usage["roles"].values()
    return Outcome(
        server=server.name,
        task=task.name,
        faults=tuple(faults),
        answer=answer,
        calls=sum(role["calls"] for role in spent),
        input_tokens=sum(role["input_tokens"] for role in spent),
        output_tokens=sum(role["output_tokens"] for role in spent),
        requests=usage["requests"],
        approved=person.approved,
        rejected=person.rejected,
        reads=person.reads,
    )


def _config(watch: BaseCallbackHandler | None) -> RunnableConfig:
    callbacks = [] if watch is None else [watch]
    limit = recursion_limit(Context().max_steps)
    return {"configurable": {"thread_id": "task"}, "recursion_limit": limit, "callbacks": callbacks}


def _drive(graph: Graph, task: Task, person: Person, watch: BaseCallbackHandler | None) -> str:
    """Run until the end; returns the error that broke the run off, or an empty text."""
    context = Context(today=TODAY, writes="ask", model_timeout=REPLY_S, max_seconds=2 * REPLY_S)
    config = _config(watch)
    given: Any = {"instruction": task.instruction}
    try:
        for _ in range(MOST_QUESTIONS):
            graph.invoke(given, config, context=context)
            pauses = graph.get_state(config).interrupts
            if not pauses:
                return ""
            given = Command(resume={pause.id: _answers(person, pause.value) for pause in pauses})
    except RestgptError as error:
        return f"the run broke off: {error}"
    return f"the run asked more than {MOST_QUESTIONS} times"


def _answers(person: Person, question: Mapping[str, Any]) -> dict[str, Any]:
    return {"decisions": [person.decide(action) for action in question["action_requests"]]}
