"""Runs tasks on a real server: the server is seeded anew for each, and a careful person answers the questions."""

import tempfile
from collections.abc import Mapping, Sequence
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

from lab.kit.drive import driven, spent
from lab.real.person import Person
from lab.real.server import Running, Server
from lab.real.task import Task
from restgpt.graph.build import build_graph, recursion_limit
from restgpt.nodes.run.services import Context, Services
from restgpt.tools.errors import RestgptError
from restgpt.tools.settings import ApiEntry, Settings

TODAY = "2026-11-16"
"""The date that the agent uses as today: prompts contain it, so it must not change."""

REPLY_S = 1800.0
"""The timeout of one model reply, in seconds: a person may write the replies of a recording by hand."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one task: what is wrong with it, what it cost, and the person who decided."""

    task: str
    faults: Sequence[str]
    answer: str
    cost: Mapping[str, int]
    person: Person

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
        context = Context(today=TODAY, writes="ask", model_timeout=REPLY_S, max_seconds=2 * REPLY_S)
        limit, callbacks = recursion_limit(context.max_steps), [] if watch is None else [watch]
        config = RunnableConfig(configurable={"thread_id": "task"}, recursion_limit=limit, callbacks=callbacks)
        faults: list[str] = []
        try:
            driven(graph, {"instruction": task.instruction}, config, person.decide, context=context)
        except RestgptError as error:
            faults.append(f"the run broke off: {error}")
        values = graph.get_state(config).values
    answer = str(values.get("answer") or "")
    faults += task.faults(before, server.state(http), answer)
    return Outcome(task.name, faults, answer, spent(values.get("usage")), person)
