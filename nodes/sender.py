"""The sender: sends approved calls, reads side by side, and others one after the other, each change exactly once."""

from collections.abc import Sequence
from dataclasses import replace

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import get_executor_for_config

from restgpt.calling.call import OutdatedCallError, failed
from restgpt.calling.execution import carry_out
from restgpt.calling.question import present
from restgpt.calling.record import Request, seems_to_read, succeeded, with_record
from restgpt.calling.session import Session
from restgpt.tools.errors import HttpFault, StoppingError
from restgpt.tools.text.exits import note_sent
from restgpt.tools.text.quotation import named

UNUSED = (
    "{operation} was not sent, and its approval stands recorded: resuming the thread sends it, a rejection takes the "
    "approval back."
)
"""What an error says of the request that it kept from being sent."""

BEFORE_FAILED = "Not sent, because the change before it did not succeed."


def sent(session: Session, approved: Sequence[Request], config: RunnableConfig) -> list[Request]:
    """Send requests, and return them with what came of them.

    Plain reads go out at once, at most `max_concurrency` of the config; their first error in the order of the requests
    is raised after all that had begun have ended. With a change among them, one goes out after the other.
    """
    if len(approved) > 1 and all(request["safe"] for request in approved):
        sessions = [replace(session, requests=0) for _ in approved]
        try:
            with get_executor_for_config(config) as executor:
                return list(executor.map(_sent, sessions, approved))
        finally:
            session.requests += sum(one.requests for one in sessions)
    done: list[Request] = []
    touched: set[str] = set()
    for request in approved:
        if "place" not in request and any(earlier["status"] == "asked" for earlier in done):
            done.append(request)
        elif not seems_to_read(request) and "place" not in request and not all(map(_is_done, done)):
            # Calls of one API plan follow from each other; those that a program hands over together do not.
            done.append({**request, "status": "rejected", "note": BEFORE_FAILED})
        else:
            done.append(_sent(session, request, touched))
    return done


def _is_done(earlier: Request) -> bool:
    """Return whether a change may follow: a change before it has to have succeeded, a read need not have."""
    return seems_to_read(earlier) or succeeded(earlier) or earlier["status"] == "held"


def _sent(session: Session, request: Request, touched: set[str] | None = None) -> Request:
    """Send one request, or ask about it again; `carry_out` adds the read request of its target to `touched`."""
    try:
        ready = session.call(request)
    except OutdatedCallError as error:
        return with_record(request, failed(request, str(error)))
    try:
        done = carry_out(session, ready, touched=touched)
    except (HttpFault, StoppingError) as error:
        if request.get("pause") and not getattr(error, "outcome_unknown", False):
            note_sent(error, UNUSED.format(operation=named(request["operation"])))
        raise
    return with_record(request, session.keep(present(session, done)))
