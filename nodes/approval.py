"""Approval: the rules decide on each drafted call, and the run pauses where a person has to.

The payload of the pause is that of LangChain's human-in-the-loop middleware, so that every client of it can show and
answer it. What a person is asked is in the state before the pause: the answer is for that, whatever the rules are then.
"""

from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime
from langgraph.types import interrupt
from typing_extensions import TypedDict

from restgpt.calling.call import Ask, OutdatedCallError, Ready, failed, read_ask, read_draft, read_ready
from restgpt.calling.decision import decide
from restgpt.calling.question import present
from restgpt.calling.session import Session
from restgpt.nodes.context import Context
from restgpt.nodes.records import Request, advanced
from restgpt.nodes.resources import Resources

NOT_AFTER_UNKNOWN = "Not sent, because it is not known whether the change before it was carried out."


class ApprovalState(TypedDict):
    """What approval reads."""

    round: int
    requests: list[Request]


def make_approval(resources: Resources) -> Callable[..., dict[str, Any]]:
    """The approval node over `resources`."""

    def approval(state: ApprovalState, runtime: Runtime[Context], config: RunnableConfig) -> dict[str, Any]:
        run = resources.open(runtime, config)
        asked = [request for request in state["requests"] if request["status"] == "asked"]
        if asked:
            waiting = [request for request in state["requests"] if request["status"] == "approved"]
            decided = _decided_by_person(run.session, asked, waiting)
        else:
            planned = [request for request in state["requests"] if request["status"] == "planned"]
            decided = [_decided_by_rules(run.session, request) for request in planned]
        return {"requests": decided, "usage": run.usage()}

    return approval


def _decided_by_rules(session: Session, request: Request) -> Request:
    try:
        draft = read_draft(request, session.catalogue)
    except OutdatedCallError as error:
        return advanced(request, failed(request, str(error)))
    decided = decide(draft, session.rules)
    # Senders of the first checkpoint format said so of a change of unknown outcome, and left the question to approval.
    if (tries := request.get("unsure")) and isinstance(decided, Ready | Ask):
        decided = Ask(draft, unsure=tries)
    return advanced(request, present(session, decided).to_json())


def _decided_by_person(session: Session, asked: Sequence[Request], waiting: Sequence[Request]) -> list[Request]:
    """Pause until a person has decided on each; then look again at the calls that waited behind them."""
    readable, outdated = [], []
    for request in asked:
        try:
            readable.append((request, present(session, read_ask(request, session.catalogue))))
        except OutdatedCallError as error:
            outdated.append(advanced(request, failed(request, str(error))))
    answers = _decisions(interrupt(_payload([ask for _, ask in readable])), len(readable)) if readable else []
    decided = [
        advanced(request, present(session, decide(ask, session.rules, answer)).to_json())
        for (request, ask), answer in zip(readable, answers, strict=True)
    ]
    return [*outdated, *decided, *_still_ready(session, waiting, [*outdated, *decided])]


def _still_ready(session: Session, waiting: Sequence[Request], before: Sequence[Request]) -> list[Request]:
    """The calls that wait behind those a person was asked about, as far as they are not sent after all."""
    is_unknown = any(request["status"] == "failed" for request in before)
    kept: list[Request] = []
    for request in waiting:
        if is_unknown and not request["safe"]:
            kept.append({**request, "status": "rejected", "note": NOT_AFTER_UNKNOWN})
            continue
        try:
            decided = decide(read_ready(request, session.catalogue), session.rules)
        except OutdatedCallError as error:
            kept.append(advanced(request, failed(request, str(error))))
            continue
        kept.append(advanced(request, present(session, decided).to_json()))
    return kept


def _payload(asks: Sequence[Ask]) -> dict[str, Any]:
    allowed = {ask.draft.name: list(ask.allowed) for ask in asks}
    allowed |= {ask.draft.name: list(ask.allowed) for ask in asks if ask.unsure}
    return {
        "action_requests": [dict(ask.action) for ask in asks],
        "review_configs": [{"action_name": name, "allowed_decisions": kinds} for name, kinds in allowed.items()],
    }


def _decisions(answer: Any, wanted: int) -> list[dict[str, Any]]:
    """The decisions in a resume value; an unreadable value is an empty decision, which is asked for again.

    Accepted are the middleware's `{"decisions": […]}`, one decision for all, and the plain words approve and reject.
    """
    if isinstance(answer, str):
        answer = {"type": answer}
    if isinstance(answer, dict) and "type" in answer:
        answer = {"decisions": [answer] * wanted}
    decisions = answer.get("decisions") if isinstance(answer, dict) else answer
    if not isinstance(decisions, list) or len(decisions) != wanted:
        return [{}] * wanted
    return [decision if isinstance(decision, dict) else {} for decision in decisions]
