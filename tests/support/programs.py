"""The agent with scripted programs of its planner, and decisions on the changes that they wait for."""

from typing import Any

from board import Agent, Board
from langgraph.types import Command
from roles import by_role, end, plan, program, select

from restgpt.tools.errors import ConnectFault
from restgpt.tools.http.http_client import HttpClient
from restgpt.tools.response.content import Reply


def programmer(board: Board, *replies: Any, **context: Any) -> Agent:
    """An agent whose planner writes these programs, or gives these replies."""
    told = [program(reply) if isinstance(reply, str) else reply for reply in replies]
    return board.agent(by_role({"express": told}), context=context)


def worker(board: Board, *codes: str, **script: Any) -> Agent:
    """An agent whose caller writes these programs, for one sub-task that creates or finds tasks of a project."""
    told = {
        "express": [plan("See to the tasks of project 1")],
        "planner": [end("Done.")],
        "selector": [select("find_tasks", "create_task", "get_project")],
        "program": [f"```python\n{code}\n```" for code in codes],
    }
    return board.agent(by_role({**told, **script}), context={})


def decide(agent: Agent, *decisions: dict[str, Any] | str) -> dict[str, Any]:
    told = [{"type": decision} if isinstance(decision, str) else decision for decision in decisions]
    return agent.graph.invoke(Command(resume={"decisions": told}), agent.config)


def actions(result: dict[str, Any]) -> list[dict[str, Any]]:
    [pause] = result["__interrupt__"]
    return pause.value["action_requests"]  # type: ignore[no-any-return]


class FailingClient(HttpClient):
    """Fails at one request, by its number from 1, as if the network were down; or after it, when the API has it."""

    def __init__(self, number: int, *, is_sent: bool = False) -> None:
        super().__init__()
        self._left, self._is_sent = number, is_sent

    def send(self, *args: Any, **more: Any) -> Reply:
        self._left -= 1
        if self._left:
            return super().send(*args, **more)
        if self._is_sent:
            super().send(*args, **more)
        raise ConnectFault("the network is down")
