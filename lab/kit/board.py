"""The agent over a served team board, with its checkpoints in memory or in SQLite; a model that writes a program."""

import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import PrivateAttr

from restgpt.graph.build import Graph, build_graph
from restgpt.graph.persistence import open_persistence
from restgpt.nodes.run.services import Context, Services
from restgpt.tools.http.http_client import HttpClient
from restgpt.tools.model.scripted import Reply, ScriptedChatModel
from restgpt.tools.response.store import BoundedMemory
from restgpt.tools.settings import Settings
from restgpt_bench.worlds import served_api


class Programmer(ScriptedChatModel):
    """Writes the same program for each instruction, and notes the moment of its reply."""

    code: str
    _decided: float = PrivateAttr(default=0.0)

    @property
    def decided(self) -> float:
        """The moment of the newest reply, in seconds of the performance counter."""
        return self._decided

    def reply(self, messages: list[BaseMessage], tools: Sequence[str]) -> Reply:
        """The caller's program."""
        self._decided = time.perf_counter()
        return {"thought": "", "decision": "program", "text": self.code}


def board_resources(url: str, model: BaseChatModel, defaults: Context) -> Services:
    """Return the services of an agent over the team board at `url`."""
    settings, api = Settings(), served_api("toy", url)
    return Services([api], model=model, defaults=defaults, settings=settings, http=HttpClient(settings=settings))


def board_agent(services: Services, stack: ExitStack, kept_in: Path | None = None) -> Graph:
    """Return an agent that keeps its checkpoints in memory, or in SQLite in a folder until the stack is closed."""
    if kept_in is None:
        return build_graph(services=services, checkpointer=InMemorySaver(), store=BoundedMemory())
    kept = stack.enter_context(open_persistence(Settings(home=kept_in)))
    return build_graph(services=services, checkpointer=kept.checkpointer, store=kept.store)
