"""A call: one frozen value at each stage of its road, with one JSON form, which a checkpoint holds.

    planned ── decide ─→ approved ── carry_out ─→ sent | failed
                    ├──→ asked ─── a person's answer ─→ approved | asked | rejected
                    └──→ held (a dry run: shown, never sent) | rejected (with the reason)

The `status` of the JSON form is the stage. `carry_out` can come back with a question too: the outcome of an earlier try
is unknown, or the target has changed since the question.

Drafting a call: arguments are checked, settled and traced once, and the request is built from them.
"""

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

from restgpt.calling.idempotency import given_key, with_key, without_key
from restgpt.calling.origin.flow import AnsweredApis, api_record, entry_id, flow_of
from restgpt.calling.origin.provenance import is_traceable, owned, trace, with_operations
from restgpt.calling.record import UNSENT, CallRecord, End, FlowRecord, Provenance, Request, RequestLine, Status
from restgpt.calling.target import NO_TARGET, Target
from restgpt.specs import Catalogue, Operation, SpecError, UnknownOperationError
from restgpt.specs.effect import Effect, effect_of
from restgpt.specs.problem import BarredOperationError, is_success
from restgpt.tools.errors import ArgumentError, ArgumentProblem, RestgptError
from restgpt.tools.request.arguments import by_place
from restgpt.tools.request.files import FilePolicy
from restgpt.tools.request.prepared_request import PreparedRequest, settle
from restgpt.tools.response.content import Reply
from restgpt.tools.text.redaction import MARK
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
class Call:
    """A call at one stage of its road; the next stage is a new value with the same draft.

    `name` is the operation's name in the catalogue, which is qualified only where names collide. `arguments` are as
    they were given and a store keeps them, `settled` as they are sent: in the types and the spelling of the document.
    `confirm` has a person asked whatever the rules say; so does a `doubt`, which the question shows, and so do the
    `unknown` ids in the path, of which no part stands in what the user, an answer or the document says. `effect` is the
    newest knowledge of whether the call reads: by the document, until a decision under the rules renews it. `flow` is
    what it may send of the answers of other APIs. `answered` are the statuses of the very same request in earlier calls
    of the conversation, 0 for one that no answer came to. `insisted` are the claims of values that do not fit the
    document, on which the writer insists. `line` is that of the program which makes the call, and
    `description` is then what the line says; 0 without one.

    The rest is of later stages. `note` says why an answer of a person could not be used, or why the call was not sent.
    `question` is everything that a person has to see, as an action request of LangChain's human-in-the-loop middleware;
    `present` fills it in, and nothing of it is computed again after the answer. `target` is what the person saw of the
    target. `unsure` is how often the change was about to be sent without its outcome being known, `sends` how often it
    may be tried in all. `locks` are the places of arguments that tell the version of the target, such as If-Match: the
    look for the question gives them. `as_read` says that it may be sent because it only reads: if that is not certain
    any more, it is decided on again; so is it if the `permission` that let it go out unasked, by its key, has ended.
    `agreed` says that a person approved it as it is. `user` is for whom it is made, empty today. `response` is the
    record of what the API answered, empty if no answer came; with `outcome_unknown` the API may have carried out a
    change all the same, and with `can_undo` a call would reverse it. `wire` is the request in short, once the call is
    over, and `reply` the first reply itself, for those who are in the same process; it is not in the JSON form.
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
    insisted: tuple[str, ...] = ()
    stage: Status = "planned"
    note: str = ""
    question: Mapping[str, Any] = field(default_factory=dict)
    target: Target = NO_TARGET
    unsure: int = 0
    sends: int = 1
    locks: tuple[tuple[str, ...], ...] = ()
    as_read: bool = False
    agreed: bool = False
    permission: str = ""
    user: str = ""
    response: Mapping[str, Any] = field(default_factory=dict)
    outcome_unknown: bool = False
    can_undo: bool = False
    wire: RequestLine | None = None
    reply: Reply | None = field(default=None, compare=False)

    @property
    def fingerprint(self) -> str:
        """The SHA-256 of everything that is sent."""
        return self.request.fingerprint

    @property
    def is_over(self) -> bool:
        """Whether nothing more happens to the call."""
        return self.stage not in UNSENT

    @property
    def is_unsent(self) -> bool:
        """Whether policy, a person or a dry run kept the call from being sent."""
        return self.stage in ("held", "rejected")

    @property
    def succeeded(self) -> bool:
        """Whether the API carried the call out."""
        return self.stage == "sent" and is_success(int(self.response["status"]))

    @property
    def allowed(self) -> tuple[str, ...]:
        """The decisions that a person may take: what may have been sent already must stay the very same request."""
        return ("approve", "reject") if self.unsure else ("approve", "edit", "reject", "respond")

    def planned(self) -> "Call":
        """The draft of the call, with nothing of an earlier question or answer."""
        return replace(
            self,
            stage="planned",
            note="",
            question={},
            target=NO_TARGET,
            unsure=0,
            sends=1,
            as_read=False,
            agreed=False,
            permission="",
        )

    def asked(self, *, unsure: int = 0, target: Target = NO_TARGET) -> "Call":
        """The call as it waits for a person, to be asked anew."""
        return replace(self.planned(), stage="asked", unsure=unsure, target=target)

    def approved(self, *, sends: int = 1, note: str = "", as_read: bool = False, permission: str = "") -> "Call":
        """The call that may be sent now, with what the person saw who approved it."""
        return replace(self, stage="approved", note=note, unsure=0, sends=sends, as_read=as_read, permission=permission)

    def over(self, stage: End, note: str = "", **found: Any) -> "Call":
        """The call that is over: sent or failed, held in a dry run, or rejected with the reason."""
        return replace(self, stage=stage, note=note, **found)

    def outcome(self) -> dict[str, Any]:
        """What the write journal keeps of it."""
        facts = {"status": self.stage, "response": dict(self.response), "note": self.note}
        return {**facts, "outcome_unknown": True} if self.outcome_unknown else facts

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
            "status": self.stage,
            "note": self.note,
            "response": dict(self.response),
            "provenance": list(self.provenance),
            "api": api_record(self.operation.api),
        }
        facts: dict[str, Any] = {
            "confirm": self.confirm,
            "doubt": self.doubt,
            "unknown": list(self.unknown),
            "proposed": self.effect.is_proposed,
            "flow": self.flow,
            "answered": list(self.answered),
            "outcome_unknown": self.outcome_unknown,
            "can_undo": self.can_undo,
            "agreed": self.agreed,
            "permission": self.permission,
            "user": self.user,
            "insisted": list(self.insisted),
            "request": self.wire,
        }
        if not self.is_over:
            facts |= self._sendable()
        return cast(CallRecord, {**record, **{name: value for name, value in facts.items() if value}})

    def _sendable(self) -> dict[str, Any]:
        """What a record holds only as long as its call may still be sent."""
        settled = storable_value(self.settled)
        return {
            "endpoint": _endpoint(self.operation),
            "settled": settled if settled != self.arguments else None,
            "exact": json.dumps(self.settled) if settled != self.settled else "",
            "question": dict(self.question),
            "target": self.target.to_json() if self.target.is_known else None,
            "unsure": self.unsure,
            "sends": self.sends if self.sends > 1 else 0,
            "locks": [list(place) for place in self.locks],
        }


SENT_WITH = ("endpoint", "settled", "exact", "question", "target", "pause", "locks")
"""What a record holds only as long as its call may still be sent."""


def sent_arguments(record: CallRecord) -> dict[str, Any]:
    """The arguments of a kept call as they are sent; raises `OutdatedCallError` if an edit has broken them."""
    try:
        exact = json.loads(record["exact"]) if "exact" in record else None
    except ValueError:
        raise OutdatedCallError("The arguments that are kept with this request cannot be read.") from None
    return exact or record.get("settled") or record["arguments"]


def read_call(record: CallRecord, catalogue: Catalogue) -> Call:
    """A kept call that may still be sent, at its stage.

    The request is built again, and must be the same: a record may have been edited since, and no request is kept
    besides its arguments. Raises `OutdatedCallError` if the document lacks the operation by now, or gives another
    request, or if the operation belongs to another entry of `apis.yaml` now, whose credentials the request would get.
    """
    try:
        operation = catalogue.operation(record["operation"])
        insisted = tuple(record.get("insisted", ()))
        request, settled, _ = settle(operation, sent_arguments(record), insisted=insisted)
        operation = operation.acting_as(request.acts_as)
        endpoint = _endpoint(operation)
    except BarredOperationError as error:
        raise OutdatedCallError(f"{error}.") from None
    except (UnknownOperationError, ArgumentError, SpecError) as error:
        raise OutdatedCallError(f"The API's spec changed since this request was made: {error}") from None
    # Another operation may have the name now.
    if request.fingerprint != record["fingerprint"] or record.get("endpoint") != endpoint:
        raise OutdatedCallError(
            "The API's spec or the kept call changed since this request was made, so it would not be the same."
        )
    entry = operation.api.entry
    if entry is not None and record["api"]["id"] != entry_id(entry):
        raise OutdatedCallError(
            f"This request was made for another API than the entry {entry} of apis.yaml, and would get its credentials."
        )
    place = cast(Request, record).get("place")
    kept = record.get("target")
    return Call(
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
        stage=record["status"],
        note=record["note"],
        question=record.get("question") or {},
        target=Target.from_json(kept) if kept else NO_TARGET,
        unsure=record.get("unsure") or 0,
        sends=record.get("sends") or 1,
        locks=tuple(map(tuple, record.get("locks", ()))),
        as_read=record["status"] == "approved" and record["safe"],
        agreed=record.get("agreed", False),
        permission=record.get("permission", ""),
        user=record.get("user", ""),
        insisted=insisted,
    )


def _endpoint(operation: Operation) -> str:
    """The method and the address of an operation, before arguments are filled in."""
    return f"{operation.method} {operation.base_url}{operation.path}"


def failed(record: CallRecord, note: str) -> CallRecord:
    """The record of a call that cannot be sent any more, without reading it."""
    kept = {key: value for key, value in record.items() if key not in SENT_WITH}
    return cast(CallRecord, {**kept, "status": "failed", "note": note})


UNTRACEABLE = "names hold control characters, or values are nested too deeply, to say where they come from"

HIDDEN = f"a value contains {MARK}, which stands for a secret that no program gets: such a request is not sent"


def draft(
    operation: Operation,
    arguments: Mapping[str, Any],
    *,
    id: str,
    name: str | None = None,
    said: str | None = None,
    is_own: bool = False,
    found: Iterable[tuple[str, Any]] = (),
    operations: Mapping[str, str] = {},
    code: str | None = None,
    line: int = 0,
    answered: AnsweredApis | None = None,
    pages: int = 1,
    description: str = "",
    confirm: bool = False,
    files: FilePolicy | None = None,
    effect: Effect | None = None,
    insisted: Collection[str] = (),
) -> Call | Problems:
    """Draft a call of `operation` from `{"path", "query", "header", "cookie", "body"}` groups, or from named arguments.

    `id` names the call in the write journal; an idempotency key is made from it where the document has a header for
    one. `said` is what the user said and `found` gives kept responses by handle, the newest first: every argument is
    traced to one of them, unless `said` is None. `operations` names the operations that answered by handle. `code` is
    the program that makes the call in `line`, `answered` the APIs that gave the responses, if there are several. With
    `is_own` all arguments are the user's own. `effect` is that of the rules, where they were asked, else that of the
    document. `insisted` are claims of refusals that the writer of the arguments has read (`ArgumentError.claims`): a
    read is sent all the same, a change is asked about. Only an operation that reads, or seems to, has more than one of
    its `pages` read. Raises `SpecError` if the document names no host.
    """
    effect = effect or effect_of(operation)
    try:
        given = with_key(operation, by_place(operation, arguments), id, said=None if is_own else said or "")
        settled = settle(operation, given, files=files, insisted=insisted)
        operation = operation.acting_as(settled.request.acts_as)
    except ArgumentError as error:
        return Problems(error)
    except BarredOperationError as error:
        return Problems(ArgumentError([ArgumentProblem("", str(error))], operation=operation.name))
    if MARK in repr(settled.arguments):
        return Problems(ArgumentError([ArgumentProblem("", HIDDEN)], operation=operation.name))
    if operation.acts_as != operation.method:
        effect = effect_of(operation)
    traced: list[Provenance] = owned(settled.arguments) if is_own else []
    pages, flow = pages if effect.kind == "read" and not settled.against else 1, None
    if said is not None:
        if not is_traceable(settled.arguments):
            return Problems(ArgumentError([ArgumentProblem("", UNTRACEABLE)], operation=operation.name))
        traced = trace(operation, settled.arguments, said=said, responses=found, code=code, line=line)
        if answered is not None:
            flow = flow_of(operation, settled.arguments, answered, said=said, code=code)
        traced = with_operations(traced, operations, answered.by_handle if answered is not None else {})
    return Call(
        id=id,
        operation=operation,
        effect=effect,
        name=name or operation.name,
        arguments=storable_value(given),
        settled=settled.arguments,
        request=settled.request,
        # An answer may name its fields as no store takes it.
        provenance=tuple(storable_value(traced)),
        pages=pages,
        description=description,
        line=line,
        confirm=confirm,
        doubt="" if effect.is_read else _against(settled.against.values()),
        flow=flow,
        insisted=tuple(settled.against),
    )


def _against(problems: Iterable[ArgumentProblem]) -> str:
    told = "; ".join(map(str, problems))
    return f"Against the document, after it was refused by it once: {told}." if told else ""


def edited(before: Call, arguments: Mapping[str, Any]) -> Call | Problems:
    """The same call with other arguments, all of them a person's own.

    Its idempotency key is another one, unless a person typed it: in a fork of its thread, the request as it was may
    have been sent.
    """
    operation = before.operation
    try:
        given = by_place(operation, arguments)
    except ArgumentError as error:
        return Problems(error)
    named, id = (_edit_id(before, item) for item in (before.arguments, storable_value(given)))
    if given_key(operation, given) in [
        given_key(operation, with_key(operation, {}, item)) for item in (before.id, named)
    ]:
        given = without_key(operation, given)
    made = draft(
        operation,
        given,
        id=id,
        name=before.name,
        is_own=True,
        pages=before.pages,
        effect=before.effect,
        description=before.description,
        confirm=before.confirm,
        insisted=before.insisted,
    )
    return made if isinstance(made, Problems) else replace(made, id=before.id, line=before.line)


def _edit_id(before: Call, arguments: Mapping[str, Any]) -> str:
    """What the idempotency key of an edited call is made from."""
    return f"{before.id} {json.dumps(without_key(before.operation, arguments), ensure_ascii=False, default=str)}"
