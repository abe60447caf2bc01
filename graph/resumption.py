"""A person's answer that resumes a thread: to the question that is open, or in place of an approval not used yet.

An approved request that did not go out, because the API was down or the process was killed, stays in the person's
hands. The next answer opens its question again and decides it, whoever resumes the thread, so a rejection sends
nothing.
"""

from collections.abc import Mapping
from typing import Any

from langgraph.types import Command, StateSnapshot

from restgpt.calling.record import Request
from restgpt.nodes.approval import decisions_of
from restgpt.tools.errors import OutdatedDecisionError
from restgpt.tools.graphs.compiled_graph import Reopened


def unused_approvals(snapshot: StateSnapshot) -> list[Request]:
    """Return the approved requests that no node has sent to its end; none while a question is open."""
    requests: list[Request] = [] if _is_open(snapshot) else snapshot.values.get("requests", [])
    return [request for request in requests if request["status"] == "approved"] if snapshot.tasks else []


def reopened(snapshot: StateSnapshot, resume: Any, is_own: bool) -> Reopened | None:
    """Return what opens the question of unused approvals again, and the answer to it; None where a question is open.

    `resume` is one answer for all, or answers by the id of the pause whose question was answered. Raises
    `OutdatedDecisionError` for an answer to nothing that `is_own`: one that a graph around this one got may be for
    another node.
    """
    if _is_open(snapshot):
        return None
    unused = unused_approvals(snapshot)
    answers = resume if isinstance(resume, Mapping) and not resume.keys() & {"decisions", "type"} else None
    chosen = [request for request in unused if answers is None or pause_of(request) in answers]
    if not chosen and not is_own:
        return None
    if not chosen:
        raise OutdatedDecisionError(str(snapshot.config["configurable"]["thread_id"]))
    answer = resume
    if answers is not None:
        pauses = list(map(pause_of, chosen))
        given = {pause: iter(decisions_of(answers[pause], pauses.count(pause))) for pause in set(pauses)}
        answer = {"decisions": [next(given[pause]) for pause in pauses]}
    recalled: list[Any] = [{**request, "status": "asked", "recalled": True} for request in chosen]
    return Reopened({"requests": recalled}, "parser", Command(resume=answer))


def pause_of(request: Request) -> str:
    """Return the id of the pause in which a person approved a request; empty if nobody was asked."""
    return request.get("pause", "")


def _is_open(snapshot: StateSnapshot) -> bool:
    requests = snapshot.values.get("requests", ()) if snapshot.tasks else ()
    return bool(snapshot.interrupts) or any(request["status"] == "asked" for request in requests)
