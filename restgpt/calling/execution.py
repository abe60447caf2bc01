"""Carrying a call out: each change exactly once, each list page by page, and every reply kept."""

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Literal, NamedTuple, cast

from restgpt.calling.call import Call
from restgpt.calling.claim import LostClaimError
from restgpt.calling.decision import EDITED, decide
from restgpt.calling.idempotency import with_key
from restgpt.calling.job import job_of
from restgpt.calling.journal import JournalEntry, entry_id
from restgpt.calling.origin.provenance import unchanged
from restgpt.calling.question import present
from restgpt.calling.record import UNDO
from restgpt.calling.session import UNREACHABLE, Session
from restgpt.calling.target import NO_TARGET, UNREAD, Target, TargetState
from restgpt.calling.undo import Irreversible, Made, needs_earlier, relocked, remedy
from restgpt.specs import Operation
from restgpt.tools.errors import ArgumentError, ArgumentProblem, BoundFault, HttpFault, RedirectFault, StoppingError
from restgpt.tools.http.cancellation import CancelledRunError
from restgpt.tools.http.pagination import PageWalk, merge_pages
from restgpt.tools.request.prepared_request import PAGE, PreparedRequest, settle
from restgpt.tools.response.content import Reply
from restgpt.tools.text.quotation import visible
from restgpt.tools.text.redaction import note_sent
from restgpt.tools.text.storable import storable_value
from restgpt.tools.tracing.span import Span, tool_span
from restgpt.tools.tracing.telemetry import MOST_CONTENT, set_content

REFUSED = (RedirectFault, BoundFault)
"""The API answered in a way that is not followed: of a request that changes nothing, the planner is told."""

FIRST_PAGE = "The list goes on: this is its first page only."
"""The notice of a list of which only the first page was wanted."""

APART = "The pages have no list in common, so this is a list of them."
"""The notice of pages that are not joined, such as one with an error under the status of a success."""

NOT_READY = "The API answered 202: the result is not made yet. Ask again later."
"""The notice of a read without a result so far (RFC 9110, section 15.3.3)."""

REASONS = ("message", "detail", "error_description", "title", "error", "errors", "reason")
"""The fields in which answers say what was wrong, the wordiest first."""

MOST_REASON = 200
"""The maximum length of a reason, in characters."""

OF_THE_USER = "must come from the user, so that the API does not set it for another page"

UNSURE = "Whether the API carried it out is not known: look before it is done again."


def carry_out(session: Session, ready: Call, *, touched: set[str] | None = None) -> Call:
    """Send a call and keep what came of it; it comes back asked where a person has to decide again.

    That is a change whose earlier try has no known outcome, a change whose target is not any more what the person saw,
    or a call that was to be sent unasked because it only reads, if that is not certain any more. What the rules bar by
    now is not sent: a run may have been killed between the decision and the sending.
    `touched` are the readers of targets that the same approval let other calls change in the meantime: these are not
    compared, and the reader of what this call changes is added. Raises `HttpFault` where nothing that a model could say
    would help, and `StoppingError`; both leave the journal true.
    """
    with tool_span(ready.name, kind="extension", call_id=ready.id) as current:
        set_content(current, "gen_ai.tool.call.arguments", lambda: ready.settled, session.redactor)
        done = _carried_out(session, ready, touched)
        _note(current, session, done)
    return done


def _note(current: Span, session: Session, done: Call) -> None:
    """Note on the span of a call what came of it."""
    outcome = "ask" if done.stage == "asked" else done.stage
    current.set({"restgpt.outcome": "refused" if outcome == "rejected" else outcome})
    if done.stage == "asked" or done.is_unsent:
        return
    if not done.succeeded:
        current.fail(str(done.response.get("status") or "_OTHER"))
    if (reply := done.reply) is not None:
        # The client has redacted the body already, so a cut can leave no half of a secret.
        body = reply.body[:MOST_CONTENT]
        set_content(current, "gen_ai.tool.call.result", lambda: body.decode("utf-8", "replace"), session.redactor)


def _carried_out(session: Session, ready: Call, touched: set[str] | None) -> Call:
    ready = replace(ready, effect=session.rules.effect(ready.operation))
    if ready.as_read and not ready.effect.is_read:
        ready = decide(ready, session.rules)
        if ready.stage != "approved":
            return ready
    if ready.effect.is_read:
        done = _read(session, ready)
    else:
        done = _change(session, ready, set() if touched is None else touched)
    return replace(done, note=ready.note) if done.is_over and not (done.note or done.is_unsent) else done


def _change(session: Session, ready: Call, touched: set[str]) -> Call:
    """Send a change with its intent noted before and its outcome after, so that no crash can double it."""
    journal = session.journal
    # Before the look-up: an earlier attempt either noted its intent by now, or loses its claim before it sends.
    claim = journal.claim(ready.id, ready.fingerprint)
    attempt = claim.number
    entry = journal.look_up(ready.id, ready.fingerprint, claim=claim)
    if entry.known == "answered":
        touched |= {ready.target.reader} if ready.note != EDITED else set()
        return _answered(ready, entry)
    checked = decide(replace(ready, sends=max(ready.sends, entry.tries + 1)), session.rules)
    if checked.stage != "approved":
        return checked if checked.is_over else present(session, checked)
    if entry.known == "unknown" and entry.tries >= ready.sends:
        return present(session, ready.asked(unsure=entry.tries))
    if not entry.tries and (missing := session.missing_login(ready.operation)):
        return ready.over("failed", missing)
    now = _look(session, ready, is_first=not entry.tries)
    if question := _changed_since(session, ready, now, touched) or _outdated(session, ready, now):
        return question
    # Not that of the target that was shown: an edit may have sent the call to another one.
    touched.add(now.reader)
    earlier = cast(TargetState, entry.earlier or UNREAD) if entry.tries else now.earlier
    # A copy that lost something in keeping would restore something else.
    kept = earlier if storable_value(earlier) == earlier else UNREAD
    journal.intend(ready.id, ready.fingerprint, session.shown(ready.request), earlier=kept, attempt=attempt)
    made = Made()
    try:
        reply = session.send(ready.request, ready.operation, before_send=claim.begin)
    except HttpFault as fault:
        if isinstance(fault, UNREACHABLE) or not fault.repairable:
            if not fault.outcome_unknown:
                journal.retract(ready.id, ready.fingerprint, attempt=attempt)
            raise
        unknown = fault.outcome_unknown
        done = ready.over("failed", f"{fault} {UNSURE}" if unknown else str(fault), outcome_unknown=unknown)
    except StoppingError as error:
        # A claim that was lost between two tries of a request leaves the outcome of the first one unknown.
        if not (isinstance(error, LostClaimError) and claim.has_begun):
            journal.retract(ready.id, ready.fingerprint, attempt=attempt)
        raise
    else:
        # The question about a proposed read names its further pages, so the approval covers them.
        is_list = ready.effect.is_proposed
        replies, rest = _pages(session, ready, reply, claim.begin) if is_list else ([reply], None)
        with _naming(session, ready, reply):
            response = _kept(session, ready.operation, replies, rest)
            if not reply.is_success and (UNDO in ready.id or reply.content.kind == "json"):
                response["reason"] = reason_of(_told(reply))
            done = ready.over("sent", response=response, outcome_unknown=reply.outcome_unknown, reply=reply)
        made = _made(reply)
    # Before the remedy is looked for, so that no error in that can lose the outcome.
    with _naming(session, ready, done.reply):
        journal.conclude(ready.id, ready.fingerprint, done.outcome(), attempt=attempt)
    if done.succeeded or done.outcome_unknown:
        entry_name = entry_id(ready.id, ready.fingerprint)
        undo = _undo(session, ready, earlier, made)
        journal.note(entry_name, attempt=attempt, undo=undo)
        done = replace(done, can_undo="operation" in undo)
    return done


@contextmanager
def _naming(session: Session, draft: Call, reply: Reply | None) -> Iterator[None]:
    """Name the change that went out in an error of the store, such as a full disk, that loses its answer."""
    try:
        yield
    except Exception as error:
        shown = session.shown(draft.request)
        said = f"was answered {reply.status} {reply.reason}".rstrip() if reply is not None else "got no usable response"
        note_sent(
            error, f"{shown['method']} {shown['url']} went out and {said}; its thread is {session.journal.thread}."
        )
        raise


def _answered(draft: Call, entry: JournalEntry) -> Call:
    outcome = {**entry.outcome}
    return draft.over(outcome.pop("status"), **outcome)


def _look(session: Session, ready: Call, *, is_first: bool) -> Target:
    """The target right before sending, where a person saw it before, or where an undo will need it."""
    wanted = session.keep_earlier and is_first and needs_earlier(ready.operation, ready.settled)
    if not (ready.target.is_known or wanted or ready.locks):
        return NO_TARGET
    return session.look(ready.operation, ready.settled, firm=ready.target.is_known)


def _changed_since(session: Session, ready: Call, now: Target, touched: Collection[str]) -> Call | None:
    """The question anew, if the target is not any more what the person saw."""
    seen, body = ready.target, ready.settled.get("body")
    if not seen.is_known or seen.reader in touched:
        return None
    written = frozenset(body) if isinstance(body, Mapping) else frozenset()
    changed = seen.changed(now, written=written)
    if not changed:
        return None
    if not now.is_known:
        return present(session, ready.asked(unsure=ready.sends - 1), changed=())
    restless = seen.restless | {change["field"] for change in changed}
    question = ready.asked(target=replace(now, restless=restless), unsure=ready.sends - 1)
    return present(session, question, changed=changed)


def _outdated(session: Session, ready: Call, now: Target) -> Call | None:
    """The question anew, if the version that an undo sends is not that of its target; once, for a restless one."""
    names = {place[-1] for place in ready.locks}
    # What may have been sent before must stay the very same request.
    if not names or names <= ready.target.restless or ready.sends > 1:
        return None
    fresh = relocked(ready, now)
    if fresh is not None and fresh.fingerprint == ready.fingerprint:
        return None
    return present(session, ready.asked(target=replace(now, restless=ready.target.restless | names)))


def _made(reply: Reply) -> Made:
    body = reply.content.value if reply.content.kind == "json" and not reply.truncated else None
    return Made(body, reply.header("location"), reply.header("etag"))


def _told(reply: Reply) -> Any:
    return reply.content.value if reply.content.kind == "json" else reply.content.text(MOST_REASON)


def reason_of(value: Any) -> str:
    """Why an API refused a request: the first text in its answer that has a usual name; empty if there is none."""
    if isinstance(value, str):
        return visible(" ".join(value.split())[:MOST_REASON]).rstrip(".")
    parts = [value[name] for name in REASONS if value.get(name)] if isinstance(value, Mapping) else value
    return next(filter(None, map(reason_of, parts)), "") if isinstance(parts, list) else ""


def _undo(session: Session, draft: Call, earlier: TargetState, made: Made) -> dict[str, Any]:
    """What would reverse a change, or why nothing would, for the journal."""
    if draft.effect.is_proposed:
        return {"reason": "it seems only to read, so there is nothing to undo"}
    found = remedy(draft.operation, draft.settled, earlier, made)
    if isinstance(found, Irreversible):
        return {"reason": found.reason}
    name = session.catalogue.name_of(found.operation)
    undo = {"operation": name, "arguments": storable_value(found.arguments), "caution": found.caution}
    return {**undo, "locks": [list(place) for place in found.locks]} if found.locks else undo


def _read(session: Session, ready: Call) -> Call:
    """Send a request that only reads, and follow its pages."""
    checked = decide(ready, session.rules)
    if checked.is_over:
        return checked
    if missing := session.missing_login(ready.operation):
        return ready.over("failed", missing)
    try:
        first = session.send(ready.request, ready.operation, is_read=True)
    except HttpFault as fault:
        if isinstance(fault, UNREACHABLE) or not (fault.repairable or isinstance(fault, REFUSED)):
            raise
        return ready.over("failed", str(fault))
    replies, rest = _pages(session, ready, first)
    return ready.over("sent", response=_kept(session, ready.operation, replies, rest), reply=first)


class Rest(NamedTuple):
    """Why a list is not whole: its next page `failed`, or was left `unread`; and the words for it."""

    kind: Literal["failed", "unread"]
    notice: str


def _pages(
    session: Session,
    draft: Call,
    first: Reply,
    before_send: Callable[[], None] | None = None,
) -> tuple[list[Reply], Rest | None]:
    """The first page and those after it as far as wanted, and why the list is not whole, if it is not."""
    operation = draft.operation
    asked, failed = 1, ""

    def send(arguments: Mapping[str, Any]) -> Reply:
        nonlocal asked, failed
        asked += 1
        request = _page_request(session, draft, arguments, asked)
        is_read = draft.effect.is_read
        reply = session.send(request, operation, is_read=is_read, before_send=before_send)
        failed = "" if reply.is_success else f"status {reply.status}"
        return reply

    replies: list[Reply] = []
    walk = PageWalk(send, operation, draft.arguments, first, most=draft.pages)
    try:
        for reply in walk:
            replies.append(reply)
    except (HttpFault, ArgumentError, CancelledRunError) as fault:
        failed = str(fault)
    if failed:
        return replies, Rest("failed", f"Page {len(replies) + 1} failed ({failed}): the list is not whole.")
    if walk.doubt and draft.pages > 1:
        return replies, Rest("failed", walk.doubt)
    if walk.goes_on and len(replies) > 1:
        return replies, Rest("unread", f"The list may go on after these {len(replies)} pages.")
    return replies, Rest("unread", FIRST_PAGE) if walk.goes_on or walk.doubt else None


def _page_request(session: Session, draft: Call, arguments: Mapping[str, Any], number: int) -> PreparedRequest:
    """The request of a further page; raises ArgumentError if the API sets an argument that must come from the user."""
    # A page is another request than the first, so it needs an idempotency key of its own.
    made = settle(draft.operation, with_key(draft.operation, arguments, f"{draft.id} page {number}"))
    sent = {**made.arguments, "query": {**made.arguments.get("query", {}), **arguments.get(PAGE, {})}}
    known = unchanged(draft.provenance, draft.settled, sent)
    if made.request.acts_as != draft.request.acts_as:
        raise ArgumentError([ArgumentProblem("/query", "names another method")], operation=draft.operation.name)
    if unmet := session.rules.unmet(draft.operation, sent, known):
        problems = [ArgumentProblem(item["pointer"], OF_THE_USER) for item in unmet]
        raise ArgumentError(problems, operation=draft.operation.name)
    return made.request


def _kept(session: Session, operation: Operation, replies: Sequence[Reply], rest: Rest | None = None) -> dict[str, Any]:
    """The record of a reply whose body is in the store, or of its pages as one; `rest` is that of a list."""
    notices = [rest.notice] if rest else []
    notices += [NOT_READY] if replies[0].status == 202 and operation.is_safe else []
    cut_short: dict[str, Any] = {"rest": rest.kind} if rest else {}
    values = [reply.content.value if reply.content.kind == "json" else None for reply in replies]
    failed = session.rules.failure(operation, values) if replies[0].is_success else {}
    notices += [f"answered {replies[0].status}, but {failed['failure']}"] if failed else []
    if hint := session.session_hint(operation, replies[0]):
        failed = {"failure": f"To use this API, {hint}."}
        notices.append(failed["failure"])
    cut_short |= failed
    if rest is None and (job := job_of(operation, replies[0])):
        name = session.catalogue.name_of(job.operation)
        cut_short["job"] = {"operation": name, "arguments": storable_value(job.arguments)}
        notices.append(f"It is not done yet: {name} with {json.dumps(cut_short['job']['arguments'])} tells its state.")
    if len(replies) == 1:
        record = session.responses.put(replies[0], operation if session.compares else None).to_dict()
        return {**record, "pages": 1, "notices": [*_doubt(replies[0]), *record["notices"], *notices], **cut_short}
    elapsed = sum(reply.elapsed_ms for reply in replies)
    merged = merge_pages(values)
    apart = [APART] if isinstance(merged, list) and merged[:1] == values[:1] else []
    record = session.responses.put_value(merged, replies[0].status, elapsed_ms=elapsed).to_dict()
    cut = [number for number, reply in enumerate(replies, 1) if reply.truncated]
    partly = [f"Of page {number} only the first part was read; the rest is missing." for number in cut]
    told = [*record["notices"], *partly, *apart, *notices]
    return {**record, "truncated": bool(cut), "pages": len(replies), "notices": told, **cut_short}


def _doubt(reply: Reply) -> list[str]:
    """The notice of a reply to a change that may have been carried out all the same."""
    tried = f"Tried {reply.attempts} times: {', then '.join(reply.tries)}. " if reply.attempts > 1 else ""
    return [tried + UNSURE] if reply.outcome_unknown else []
