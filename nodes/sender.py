"""The sender: sends approved calls one after the other, each change exactly once."""

from collections.abc import Callable
from typing import Any, NotRequired

from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from restgpt.calling.call import OutdatedCallError, failed, read_ready
from restgpt.calling.execution import carry_out
from restgpt.calling.question import present
from restgpt.calling.record import Request, seems_to_read, succeeded, with_record
from restgpt.calling.session import Session
from restgpt.nodes.run.context import Context
from restgpt.nodes.run.run import Run
from restgpt.nodes.run.services import Services
from restgpt.nodes.state.records import RecipeRun
from restgpt.tools.errors import HttpFault, StoppingError
from restgpt.tools.text.exits import note_sent
from restgpt.tools.text.quotation import named

UNUSED = (
    "{operation} was not sent, and its approval stands recorded: resuming the thread sends it, a rejection takes the "
    "approval back."
)
"""What an error says of the request that it kept from being sent."""

BEFORE_FAILED = "Not sent, because the change before it did not succeed."


class SenderState(TypedDict):
    """The state keys that the sender reads: requests, of which it sends the approved ones until one fails.

    `seconds` is the time of the instruction so far, `began` the time of the thread, `recipe` the recipe of the `turn`.
    """

    requests: list[Request]
    seconds: NotRequired[float]
    began: NotRequired[float]
    turn: NotRequired[int]
    recipe: NotRequired[RecipeRun | None]


def make_sender(services: Services) -> Callable[..., dict[str, Any]]:
    """Make the sender node."""

    def sender(state: SenderState, runtime: Runtime[Context], config: RunnableConfig) -> dict[str, Any]:
        run = Run.open(services, runtime, config, spent=state.get("seconds", 0.0), state=state)
        sent: list[Request] = []
        touched: set[str] = set()
        for request in (item for item in state["requests"] if item["status"] == "approved"):
            if "place" not in request and any(earlier["status"] == "asked" for earlier in sent):
                sent.append(request)
            elif not seems_to_read(request) and "place" not in request and not all(map(_is_done, sent)):
                # Calls of one API plan follow from each other; those that a program hands over together do not.
                sent.append({**request, "status": "rejected", "note": BEFORE_FAILED})
            else:
                sent.append(_sent(run.session, request, touched))
        began: Any = {"began": state["began"]} if "began" in state else {}
        return {"requests": sent, "usage": {**run.usage(), **began}}

    return sender


def _is_done(earlier: Request) -> bool:
    """Return whether a change may follow: a change before it has to have succeeded, a read need not have."""
    return seems_to_read(earlier) or succeeded(earlier) or earlier["status"] == "held"


def _sent(session: Session, request: Request, touched: set[str]) -> Request:
    """Send one request, or ask about it again; `carry_out` adds the read request of its target to `touched`."""
    try:
        ready = read_ready(request, session.catalogue)
    except OutdatedCallError as error:
        return with_record(request, failed(request, str(error)))
    try:
        done = carry_out(session, ready, touched=touched)
    except (HttpFault, StoppingError) as error:
        if request.get("pause") and not getattr(error, "outcome_unknown", False):
            note_sent(error, UNUSED.format(operation=named(request["operation"])))
        raise
    return with_record(request, present(session, done).to_json())
