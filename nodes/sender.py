"""The sender: carries out approved requests, each change exactly once."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NotRequired, cast

from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from restgpt.calling.journal import Entry, entry_id
from restgpt.calling.undo import UNREAD, Earlier, Irreversible, Made, needs_earlier, remedy
from restgpt.nodes.context import Context
from restgpt.nodes.records import Request
from restgpt.nodes.resources import Resources, Run
from restgpt.nodes.rounds import is_good, succeeded
from restgpt.nodes.target import look
from restgpt.specs import Operation
from restgpt.tools.errors import (
    ArgumentError,
    BoundFault,
    ConnectFault,
    HttpFault,
    RedirectFault,
    ResolveFault,
    StoppingError,
)
from restgpt.tools.http.client import Reply
from restgpt.tools.http.pagination import follow_pages, merge_pages, next_request
from restgpt.tools.request.build import PreparedRequest, build_request
from restgpt.tools.response.content import read_content
from restgpt.tools.storable import storable_value

UNREACHABLE = (ConnectFault, ResolveFault)
"""Nothing was sent and nothing that the model could say would help: the run stops, to be resumed when the API is up."""

REFUSED = (RedirectFault, BoundFault)
"""The API answered in a way that is not followed: of a request that changes nothing, something for the planner."""

UNSURE = "Whether the API carried it out is not known: look before it is done again."
BEFORE_FAILED = "Not sent, because the change before it did not succeed."

KEPT = 200_000
"""How many characters of a target's earlier state the journal keeps for an undo."""


class SenderState(TypedDict):
    """What the sender reads: requests to send one after the other. A change that fails stops those after it.

    Only what is approved is sent; any other request is left as it is. `seconds` is what the instruction took so far,
    `began` what the thread did.
    """

    requests: list[Request]
    seconds: NotRequired[float]
    began: NotRequired[float]


def make_sender(resources: Resources) -> Callable[..., dict[str, Any]]:
    """The sender node over `resources`."""

    def sender(state: SenderState, runtime: Runtime[Context], config: RunnableConfig) -> dict[str, Any]:
        run = resources.open(runtime, config)
        deadline = time.monotonic() + max(0.0, run.context.max_seconds - state.get("seconds", 0.0))
        sent: list[Request] = []
        for request in (item for item in state["requests"] if item["status"] == "approved"):
            if any(_is_unsure(earlier) for earlier in sent):
                sent.append(request)
            elif not all(succeeded(earlier) for earlier in sent):
                sent.append({**request, "status": "rejected", "note": BEFORE_FAILED})
            else:
                sent.append(_carry_out(run, request, deadline))
        began: Any = {"began": state["began"]} if "began" in state else {}
        return {"requests": sent, "usage": {**run.usage(), **began}}

    return sender


def _is_unsure(request: Request) -> bool:
    """Whether a person is to be asked first, so that what comes after it has to wait."""
    return request["status"] == "planned"


def _carry_out(run: Run, request: Request, deadline: float) -> Request:
    operation = run.catalogue.operation(request["operation"])
    prepared = build_request(operation, request["arguments"])
    if prepared.fingerprint != request["fingerprint"]:
        note = "The API document changed since this request was made, so it would not be the same request."
        return {**request, "status": "failed", "note": note}
    if operation.is_safe:
        return _read(run, request, prepared, operation, deadline)
    return _change(run, request, prepared, operation, deadline)


def _change(run: Run, request: Request, prepared: PreparedRequest, operation: Operation, deadline: float) -> Request:
    """Send a change with its intent noted before and its outcome after, so that no crash can double it.

    A change that was about to be sent as often as it may be, without an outcome, goes back to a person.
    """
    entry = run.journal.look_up(request["id"], prepared.fingerprint)
    if entry.known == "answered":
        return cast(Request, {**request, **entry.outcome})
    if entry.known == "unknown" and entry.tries >= request.get("sends", 1):
        return {**request, "status": "planned", "unsure": entry.tries}
    earlier = _earlier(run, request, operation, entry)
    # A copy that lost something in keeping would restore something else.
    kept = earlier if storable_value(earlier) == earlier else UNREAD
    run.journal.intend(request["id"], prepared.fingerprint, run.shown(prepared), earlier=kept)
    made = Made()
    try:
        run.count_request()
        reply = run.http.send(prepared, operation, deadline=deadline)
    except HttpFault as fault:
        if isinstance(fault, UNREACHABLE) or not fault.repairable:
            if not fault.outcome_unknown:
                run.journal.retract(request["id"], prepared.fingerprint)
            raise
        done: Request = {**request, "status": "failed", "note": _what_is_known(fault)}
    except StoppingError:
        run.journal.retract(request["id"], prepared.fingerprint)
        raise
    else:
        done = {**request, "status": "sent", "response": _kept(run, operation, [reply])}
        made = _made(reply)
    outcome = {key: done[key] for key in ("status", "response", "note")}
    # First, so that nothing that goes wrong with the way back can lose what became of the change.
    run.journal.conclude(request["id"], prepared.fingerprint, outcome)
    if succeeded(done):
        entry_of = entry_id(request["id"], prepared.fingerprint)
        run.journal.note(entry_of, undo=_undo(run, request, operation, earlier, made))
    return done


def _what_is_known(fault: HttpFault) -> str:
    return f"{fault} {UNSURE}" if fault.outcome_unknown else str(fault)


def _earlier(run: Run, request: Request, operation: Operation, entry: Entry) -> Earlier:
    """The target before the change: as noted at the first attempt, else as it is now; too much is not kept."""
    if entry.tries:
        return cast(Earlier, entry.earlier or UNREAD)
    if not run.context.undo or not needs_earlier(operation, request["arguments"]):
        return UNREAD
    found = look(run, operation, request["arguments"])
    return found if len(json.dumps(found["value"])) <= KEPT else UNREAD


def _made(reply: Reply) -> Made:
    content = read_content(reply.body, reply.header("content-type"))
    body = content.value() if content.kind == "json" and not reply.truncated else None
    return Made(body, reply.header("location"))


def _undo(run: Run, request: Request, operation: Operation, earlier: Earlier, made: Made) -> dict[str, Any]:
    """What would reverse a change, or why nothing would, for the journal."""
    found = remedy(operation, request["arguments"], earlier, made)
    if isinstance(found, Irreversible):
        return {"reason": found.reason}
    name = run.catalogue.name_of(found.operation)
    return {"operation": name, "arguments": storable_value(found.arguments), "caution": found.caution}


def _read(run: Run, request: Request, prepared: PreparedRequest, operation: Operation, deadline: float) -> Request:
    """Send a safe request, and follow its pages."""
    try:
        run.count_request()
        first = run.http.send(prepared, operation, deadline=deadline)
    except HttpFault as fault:
        if isinstance(fault, UNREACHABLE) or not (fault.repairable or isinstance(fault, REFUSED)):
            raise
        return {**request, "status": "failed", "note": str(fault)}
    replies, notice = _pages(run, request, operation, first, deadline)
    return {**request, "status": "sent", "response": _kept(run, operation, replies, notice)}


def _pages(
    run: Run, request: Request, operation: Operation, first: Reply, deadline: float
) -> tuple[list[Reply], list[str]]:
    """The first page and those after it as far as wanted, and what has to be said of a list that is not whole."""
    asked: list[Mapping[str, Any]] = [request["arguments"]]
    failed = ""

    def send(arguments: Mapping[str, Any]) -> Reply:
        nonlocal failed
        asked.append(arguments)
        run.count_request()
        reply = run.http.send(build_request(operation, arguments), operation, deadline=deadline)
        failed = "" if is_good(reply.status) else f"status {reply.status}"
        return reply

    replies: list[Reply] = []
    try:
        for reply in follow_pages(send, operation, request["arguments"], first, most=request["pages"]):
            replies.append(reply)
    except (HttpFault, ArgumentError) as fault:
        failed = str(fault)
    if failed:
        return replies, [f"Page {len(replies) + 1} failed ({failed}): the list is not whole."]
    if next_request(operation, asked[len(replies) - 1], replies[-1]) is None:
        return replies, []
    if len(replies) > 1:
        return replies, [f"The list may go on after these {len(replies)} pages."]
    return replies, ["The list goes on: this is its first page only."]


def _kept(run: Run, operation: Operation, replies: Sequence[Reply], notices: Sequence[str] = ()) -> dict[str, Any]:
    """The reply in the store, or its pages as one."""
    if len(replies) == 1:
        record = run.responses.put(replies[0], operation).to_dict()
        return {**record, "pages": 1, "notices": [*record["notices"], *notices]}
    values = [read_content(reply.body, reply.header("content-type")).value() for reply in replies]
    elapsed = sum(reply.elapsed_ms for reply in replies)
    record = run.responses.put_value(merge_pages(values), replies[0].status, elapsed_ms=elapsed).to_dict()
    cut = [number for number, reply in enumerate(replies, 1) if reply.truncated]
    partly = [f"Of page {number} only the first part was read; the rest is missing." for number in cut]
    return {**record, "truncated": bool(cut), "pages": len(replies), "notices": [*record["notices"], *partly, *notices]}
