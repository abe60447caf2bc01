"""The node that runs a recipe: the program up to its next change, with the reads before it sent on the spot.

A recipe's plain reads need no checkpoint: a run that is killed sends them again. So the node carries them out itself,
by the functions of the nodes parser, approval and sender, and leaves the rest to those nodes. After `QUICK` seconds it
leaves the reads to them too, so that a long run shows its progress and is not begun again.
"""

from collections.abc import Callable
from typing import Any

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import get_executor_for_config
from langgraph.runtime import Runtime

from restgpt.graph.routes import reads_to_send
from restgpt.nodes.approval import make_approval
from restgpt.nodes.context import Context
from restgpt.nodes.parser import make_parser
from restgpt.nodes.program import is_running
from restgpt.nodes.records import add_usage, merge_requests, no_usage, seconds_spent
from restgpt.nodes.resources import Resources
from restgpt.nodes.sender import make_sender
from restgpt.tools.telemetry import observed

QUICK = 1.0
"""The seconds after which the node sends no further reads itself."""


def make_running(resources: Resources) -> Callable[..., dict[str, Any]]:
    """Make the node that runs the program of a recipe and sends its plain reads."""
    parser, approval, sender = (
        observed("parser", make_parser(resources)),
        observed("approval", make_approval(resources)),
        observed("sender", make_sender(resources)),
    )

    def running(state: Any, runtime: Runtime[Context], config: RunnableConfig) -> dict[str, Any]:
        begun = resources.clock()
        update = parser(state, runtime, config)
        while is_running(update.get("program")) and resources.clock() - begun < QUICK:
            now = _after(state, update)
            if not all(request["safe"] for request in now["requests"] if request["status"] == "planned"):
                break
            update = _merged(update, approval(now, runtime, config))
            batches = reads_to_send(_after(state, update))
            if not batches:
                break
            spent = update["usage"]["seconds"]
            with get_executor_for_config(config) as executor:
                sent = list(executor.map(lambda batch: sender({**batch, "began": spent}, runtime, config), batches))
            for part in sent:
                update = _merged(update, part)
            update = _merged(update, parser(_after(state, update), runtime, config))
        return update

    return running


def _after(state: Any, update: dict[str, Any]) -> Any:
    requests = merge_requests(state["requests"], update.get("requests", []))
    return {**state, **update, "requests": requests, "usage": add_usage(state["usage"], update["usage"])}


def _merged(update: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    requests = merge_requests(update.get("requests", []), more.get("requests", []))
    return {**update, **more, "requests": requests, "usage": add_usage(update["usage"], more["usage"])}
