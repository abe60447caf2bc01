"""Approval: decides on drafted calls by the rules, and interrupts the run if a person must decide.

The interrupt has the payload of LangChain's human-in-the-loop middleware, so every client of the middleware can show
and answer it. If a program makes the calls, the payload has one more key: `program`, with the code and the place of
each call. An action that seems only to read has one more key too: `effect`, with the decision that confirms it. The
question is in the state before the interrupt, so the answer applies to that question, even if the policy has changed
since.

The sender: sends approved calls, reads side by side, and others one after the other, each change exactly once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import get_executor_for_config
from langgraph.types import Interrupt, interrupt

from restgpt.calling.call import Call, OutdatedCallError, failed
from restgpt.calling.decision import NOT_KNOWN, needs_person
from restgpt.calling.execution import carry_out
from restgpt.calling.origin.flow import api_record
from restgpt.calling.question import answered, decided_on, present
from restgpt.calling.record import Request, seems_to_read, succeeded, with_record
from restgpt.calling.session import Session
from restgpt.nodes.state.records import Program
from restgpt.tools.errors import HttpFault, StoppingError
from restgpt.tools.text.quotation import named
from restgpt.tools.text.redaction import note_sent

NOT_AFTER_UNKNOWN = "Not sent, because it is not known whether the change before it was carried out."


LATE = "Nobody answered in time, which counts as a rejection."


class UnapprovedCallError(StoppingError):
    """A call waits for a person, and no run of its graph can pause for one."""

    def __init__(self) -> None:
        super().__init__(
            "A call wants to change something and waits for a person's approval, but it was made where nobody can be "
            "asked. Make it in a graph with a checkpointer, such as build_graph(…, checkpointer=…) or "
            "create_agent(…, checkpointer=…), whose run pauses then, or with the setting writes at allow, deny or "
            "dry-run. The call was not sent."
        )


def decided_by_rules(session: Session, planned: Sequence[Request], others: Sequence[Request] = ()) -> list[Request]:
    """Decide by the rules in order; a call that needs only the answer to a question before it stays planned.

    `others` are the other calls of the thread, with which a question compares its own.
    """
    decided: list[Request] = []
    pending: set[tuple[str, str]] = set()
    for request in planned:
        try:
            draft = session.call(request)
        except OutdatedCallError as error:
            decided.append(with_record(request, failed(request, str(error))))
            continue
        crossing = session.rules.crossing(draft.operation, draft.flow)
        pairs = {(source, api_record(draft.operation.api)["id"]) for source in crossing}
        if pairs and pairs <= pending and not needs_person(draft, session.rules):
            continue
        found = with_record(request, session.keep(present(session, decided_on(session, draft), others=others)))
        if found["status"] == "asked":
            pending |= pairs
        decided.append(found)
    return decided


def pause_id(config: RunnableConfig) -> str:
    """Return the id of the pause that `interrupt` makes in this node."""
    return Interrupt.from_ns(None, ns=str(config.get("configurable", {}).get("checkpoint_ns", ""))).id


def decided_by_person(
    session: Session, asked: Sequence[Request], waiting: Sequence[Request], program: Program | None, pause: str
) -> list[Request]:
    """Interrupt until a person has decided on each call that is `asked`.

    Nothing catches the exception that `interrupt` raises. `pause` is the id of this pause (`pause_id`).
    """
    readable, outdated = [], []
    for request in asked:
        try:
            ask = session.call(request)
            readable.append((request, present(session, replace(ask, note="") if request.get("recalled") else ask)))
        except OutdatedCallError as error:
            outdated.append(with_record(request, failed(request, str(error))))
    answers: list[dict[str, Any]] = []
    if readable:
        payload = {
            **_payload([ask for _, ask in readable]),
            **_stopped(session, program, [request for request, _ in readable]),
        }
        answers = decisions_of(interrupt(payload), len(readable))
    decided = [
        with_record(request, session.keep(_after_answer(session, request, ask, answer)))
        for (request, ask), answer in zip(readable, answers, strict=True)
    ]
    for request in decided:
        if request["status"] == "approved":
            request["pause"] = pause
    return [*outdated, *decided, *_not_after([*outdated, *decided], waiting)]


def _after_answer(session: Session, request: Request, ask: Call, answer: Mapping[str, Any]) -> Call:
    """Decide a call by a person's answer. What a sender has begun by now cannot be recalled, only not repeated.

    An answer after the expiry of the question is none, but an approval that came in time can be decided again.
    """
    if session.rules.is_late(ask) and not request.get("recalled"):
        return present(session, ask.over("failed", NOT_KNOWN) if ask.unsure else ask.over("rejected", LATE))
    known = session.journal.look_up(request["id"], request["fingerprint"]).known if request.get("recalled") else "new"
    if known == "new":
        return answered(session, ask, answer)
    if known == "unknown" and answer.get("type") == "reject":
        return ask.over("failed", NOT_KNOWN)
    return ask.approved(sends=request.get("sends") or 1, note=request["note"], as_read=request["safe"])


def _not_after(decided: Sequence[Request], waiting: Sequence[Request]) -> list[Request]:
    """Return the changes of an API plan that wait behind one of unknown outcome, as rejected."""
    if not any(request["status"] == "failed" and not seems_to_read(request) for request in decided):
        return []
    behind = [request for request in waiting if not seems_to_read(request) and "place" not in request]
    return [{**request, "status": "rejected", "note": NOT_AFTER_UNKNOWN} for request in behind]


def _payload(asks: Sequence[Call]) -> dict[str, Any]:
    allowed = {ask.name: list(ask.allowed) for ask in asks}
    allowed |= {ask.name: list(ask.allowed) for ask in asks if ask.unsure}
    return {
        "action_requests": [dict(ask.question) for ask in asks],
        "review_configs": [{"action_name": name, "allowed_decisions": kinds} for name, kinds in allowed.items()],
    }


def _stopped(session: Session, program: Program | None, requests: Sequence[Request]) -> dict[str, Any]:
    """Return the payload's key `program`: its code, and where it stopped, a place for each action in their order."""
    places = [(request, place) for request in requests if (place := request.get("place"))]
    if program is None or not places:
        return {}
    calls = [
        {
            "line": place["line"],
            "source": session.redacted(place["source"]),
            "position": place["position"],
            "operation": request["operation"],
        }
        for request, place in places
    ]
    return {"program": {"code": session.redacted(program["code"]), "calls": calls}}


def decisions_of(answer: Any, wanted: int) -> list[dict[str, Any]]:
    """Read the decisions from a resume value; an invalid value becomes empty decisions, and the node asks again.

    Valid are the middleware's `{"decisions": […]}`, one decision for all calls, and the strings approve and reject.
    """
    if isinstance(answer, str):
        answer = {"type": answer}
    if isinstance(answer, dict) and "type" in answer:
        answer = {"decisions": [answer] * wanted}
    decisions = answer.get("decisions") if isinstance(answer, dict) else answer
    if not isinstance(decisions, list) or len(decisions) != wanted:
        return [{}] * wanted
    return [decision if isinstance(decision, dict) else {} for decision in decisions]


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
