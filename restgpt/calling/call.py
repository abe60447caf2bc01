"""What a call is at each stage of its road, as frozen values with one JSON form: the form that a checkpoint holds.

    Draft ── decide ─→ Ready ── carry_out ─→ Done: sent or failed
                  ├──→ Ask ─── a person's answer ─→ Ready | Ask | Done
                  └──→ Done: held (a dry run: shown, never sent) or rejected (with the reason)

The `status` of the JSON form names the stage: planned, approved, asked, and for Done what became of the call.
`carry_out` can come back with an Ask too: the outcome of an earlier try is unknown, or the target has changed since the
question. Every stage holds its draft, so each of them can be shown, kept and read back alone.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from restgpt.calling.origin.flow import api_record, entry_id
from restgpt.calling.record import CallRecord, End, FlowRecord, Provenance, Question, Request, RequestLine
from restgpt.calling.target import NO_TARGET, Target
from restgpt.specs import Catalogue, Operation, SpecError, UnknownOperationError
from restgpt.specs.effect import Effect, effect_of
from restgpt.specs.status import is_success
from restgpt.tools.errors import ArgumentError, RestgptError
from restgpt.tools.request.build import PreparedRequest, settle
from restgpt.tools.response.reply import Reply
from restgpt.tools.text.storable import storable_value


class OutdatedCallError(RestgptError):
    """A kept call can no longer be made, because the document has changed since it was drafted."""


@dataclass(frozen=True, slots=True)
class Problems:
    """Why a call cannot be drafted: problems by JSON pointer, and a valid example if there is one."""

    error: ArgumentError

    def __str__(self) -> str:
        return str(self.error)


@dataclass(frozen=True, slots=True)
class Draft:
    """A call that could be made: its arguments are settled, its request is built, nobody has decided on it yet.

    `name` is the operation's name in the catalogue, which is qualified only where names collide. `arguments` are as
    they were given and a store keeps them, `settled` as they are sent: in the types and the spelling of the document.
    `confirm` has a person asked whatever the rules say; so does a `doubt`, which the question shows, and so do the
    `unknown` ids in the path, of which no part stands in what the user, an answer or the document says. `effect` is the
    newest knowledge of whether the call reads: by the document, until a decision under the rules renews it. `flow` is
    what it may send of the answers of other APIs. `answered` are the statuses of the very same request in earlier
    threads of the conversation. `line` is that of the program which makes the call, and `description` is then what the
    line says; 0 without one.
    """

    id: str
    operation: Operation
    effect: Effect
    name: str
    arguments: Mapping[str, Any]
    settled: Mapping[str, Any]
    request: PreparedRequest
    provenance: tuple[Provenance, ...] = ()
    pages: int = 1
    description: str = ""
    line: int = 0
    confirm: bool = False
    doubt: str = ""
    unknown: tuple[str, ...] = ()
    flow: FlowRecord | None = None
    answered: tuple[int, ...] = ()

    @property
    def fingerprint(self) -> str:
        """The SHA-256 of everything that is sent."""
        return self.request.fingerprint

    def to_json(self) -> CallRecord:
        """The JSON form."""
        record: CallRecord = {
            "id": self.id,
            "operation": self.name,
            "safe": self.effect.is_read,
            "arguments": dict(self.arguments),
            "pages": self.pages,
            "description": self.description,
            "fingerprint": self.fingerprint,
            "status": "planned",
            "note": "",
            "response": {},
            "provenance": list(self.provenance),
            "endpoint": _endpoint(self.operation),
            "api": api_record(self.operation.api),
        }
        settled = storable_value(self.settled)
        if settled != self.arguments:
            record["settled"] = settled
        if settled != self.settled:
            record["exact"] = json.dumps(self.settled)
        if self.confirm:
            record["confirm"] = True
        if self.doubt:
            record["doubt"] = self.doubt
        if self.unknown:
            record["unknown"] = list(self.unknown)
        if self.effect.is_proposed:
            record["proposed"] = True
        if self.flow is not None:
            record["flow"] = self.flow
        if self.answered:
            record["answered"] = list(self.answered)
        return record


@dataclass(frozen=True, slots=True)
class Ready:
    """A call that may be sent now: `target` is what a person saw of it, `sends` how often it may be tried in all.

    `as_read` says that it may be sent because it only reads: if that is not certain any more, it is decided on again.
    `action` is what the person saw who approved it.
    """

    draft: Draft
    target: Target = NO_TARGET
    sends: int = 1
    note: str = ""
    as_read: bool = False
    action: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> CallRecord:
        """The JSON form."""
        record = self.draft.to_json()
        record["status"], record["note"] = "approved", self.note
        if self.action:
            record["question"] = cast(Question, dict(self.action))
        if self.sends > 1:
            record["sends"] = self.sends
        if self.target.is_known:
            record["target"] = self.target.to_json()
        return record


@dataclass(frozen=True, slots=True)
class Ask:
    """A call that waits for a person.

    `action` is everything that the person has to see, as an action request of LangChain's human-in-the-loop middleware;
    `present` fills it in, and nothing of it is computed again after the answer. `unsure` is how often the change was
    about to be sent without its outcome being known. `note` says why an earlier answer could not be used.
    """

    draft: Draft
    action: Mapping[str, Any] = field(default_factory=dict)
    target: Target = NO_TARGET
    unsure: int = 0
    note: str = ""

    @property
    def allowed(self) -> tuple[str, ...]:
        """The decisions that are taken: what may have been sent already must stay the very same request."""
        return ("approve", "reject") if self.unsure else ("approve", "edit", "reject", "respond")

    def to_json(self) -> CallRecord:
        """The JSON form."""
        record = self.draft.to_json()
        record["status"], record["note"] = "asked", self.note
        if self.action:
            record["question"] = cast(Question, dict(self.action))
        if self.target.is_known:
            record["target"] = self.target.to_json()
        if self.unsure:
            record["unsure"] = self.unsure
        return record


@dataclass(frozen=True, slots=True)
class Done:
    """A call that is over: the API answered, no answer came, a dry run held it, or somebody or a rule said no.

    `note` is the reason; `present` fills in `request`, and for a call that is held its summary as the note. `response`
    is the record of what the API answered, empty if no answer came. With `outcome_unknown` the API may have carried out
    a change all the same. `reply` is the first reply itself, for those who are in the same process; it is not in the
    JSON form.
    """

    draft: Draft
    status: End
    note: str = ""
    response: Mapping[str, Any] = field(default_factory=dict)
    outcome_unknown: bool = False
    request: RequestLine | None = None
    reply: Reply | None = field(default=None, compare=False)

    @property
    def is_unsent(self) -> bool:
        """Whether policy, a person or a dry run kept the call from being sent."""
        return self.status in ("held", "rejected")

    @property
    def succeeded(self) -> bool:
        """Whether the API carried the call out."""
        return self.status == "sent" and is_success(int(self.response["status"]))

    def outcome(self) -> dict[str, Any]:
        """What the write journal keeps of it."""
        facts = {"status": self.status, "response": dict(self.response), "note": self.note}
        return {**facts, "outcome_unknown": True} if self.outcome_unknown else facts

    def to_json(self) -> CallRecord:
        """The JSON form, without the request."""
        record = cast(CallRecord, {**self.draft.to_json(), **self.outcome()})
        if self.request is not None:
            record["request"] = self.request
        return _unsendable(record)


Decided = Ready | Ask | Done
Call = Draft | Decided


SENT_WITH = ("endpoint", "settled", "exact", "question", "target", "pause")
"""What a record holds only as long as its call may still be sent."""


def sent_arguments(record: CallRecord) -> dict[str, Any]:
    """The arguments of a kept call as they are sent; raises `OutdatedCallError` if an edit has broken them."""
    try:
        exact = json.loads(record["exact"]) if "exact" in record else None
    except ValueError:
        raise OutdatedCallError("The arguments that are kept with this request cannot be read.") from None
    return exact or record.get("settled") or record["arguments"]


def read_draft(record: CallRecord, catalogue: Catalogue) -> Draft:
    """The draft of a kept call.

    The request is built again, and must be the same: a record may have been edited since, and no request is kept
    besides its arguments. Raises `OutdatedCallError` if the document lacks the operation by now, or gives another
    request, or if the operation belongs to another entry of `apis.yaml` now, whose credentials the request would get.
    """
    try:
        operation = catalogue.operation(record["operation"])
        request, settled = settle(operation, sent_arguments(record))
        operation = operation.acting_as(request.acts_as)
        endpoint = _endpoint(operation)
    except (UnknownOperationError, ArgumentError, SpecError) as error:
        raise OutdatedCallError(f"The API document changed since this request was made: {error}") from None
    # Another operation may have the name now.
    if request.fingerprint != record["fingerprint"] or record.get("endpoint") != endpoint:
        raise OutdatedCallError(
            "The API document or the kept call changed since this request was made, so it would not be the same."
        )
    entry = operation.api.entry
    if entry is not None and record["api"]["id"] != entry_id(entry):
        raise OutdatedCallError(
            f"This request was made for another API than the entry {entry} of apis.yaml, and would get its credentials."
        )
    place = cast(Request, record).get("place")
    return Draft(
        id=record["id"],
        operation=operation,
        effect=effect_of(operation),
        name=record["operation"],
        arguments=record["arguments"],
        settled=settled,
        request=request,
        provenance=tuple(record.get("provenance", ())),
        pages=record["pages"],
        description=record["description"],
        line=place["line"] if place else 0,
        confirm=record.get("confirm", False),
        doubt=record.get("doubt", ""),
        unknown=tuple(record.get("unknown", ())),
        flow=record.get("flow"),
        answered=tuple(record.get("answered", ())),
    )


def _endpoint(operation: Operation) -> str:
    """The method and the address of an operation, before arguments are filled in."""
    return f"{operation.method} {operation.base_url}{operation.path}"


def read_ready(record: CallRecord, catalogue: Catalogue) -> Ready:
    """A kept call that may be sent; raises `OutdatedCallError`."""
    draft = read_draft(record, catalogue)
    sends, note = record.get("sends") or 1, record["note"]
    action: Mapping[str, Any] = record.get("question") or {}
    return Ready(draft, _target(record), sends=sends, note=note, as_read=record["safe"], action=action)


def read_ask(record: CallRecord, catalogue: Catalogue) -> Ask:
    """A kept question; raises `OutdatedCallError`. It holds nothing to show if its document changed meanwhile."""
    return Ask(
        draft=read_draft(record, catalogue),
        action=record.get("question") or {},
        target=_target(record),
        unsure=record.get("unsure") or 0,
        note=record["note"],
    )


def _target(record: CallRecord) -> Target:
    kept = record.get("target")
    return Target.from_json(kept) if kept else NO_TARGET


def failed(record: CallRecord, note: str) -> CallRecord:
    """The record of a call that cannot be sent any more, without reading it."""
    return _unsendable({**record, "status": "failed", "note": note})


def _unsendable(record: CallRecord) -> CallRecord:
    return cast(CallRecord, {key: value for key, value in record.items() if key not in SENT_WITH})
