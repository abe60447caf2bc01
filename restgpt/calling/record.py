"""The JSON form of a call: the one that checkpoints, questions, `Client`, MCP and the page hold.

`CallRecord` is a call at any stage of `restgpt.calling.call`; `Request` is the same with its place in a plan or in a
program. Below stand only what the sandbox hands over, before the call is drafted, and the bytes of HTTP. The command
line reads records too, so this imports nothing heavy.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, NotRequired, cast

from typing_extensions import TypedDict

from restgpt.specs.problem import is_success

UNDO = ".undo."
"""What stands in the id of a call that reverses a change, between the id of the change and the number of the try."""

MAX_PAGES = 20
"""The maximum number of pages that one request may read."""

Origin = Literal["user", "document", "response", "model", "program"]


class Place(TypedDict):
    """A place in a kept response: its handle, a JSON pointer in it, its operation and the API that answered.

    Of a `header` that holds the value there is no pointer.
    """

    handle: str
    at: str
    header: NotRequired[str]
    operation: NotRequired[str]
    api: NotRequired[str]


class Provenance(TypedDict):
    """The origin of one argument; `pointer` is its JSON pointer in the grouped arguments.

    "model" is what no source holds as such, "program" what a program computed: no source and no literal of its code
    holds it. `places` are the newest places of a value in the answers, one an operation; of a computed text, those of
    the values that it contains.
    """

    pointer: str
    origin: Origin
    places: NotRequired[list[Place]]


class ApiRecord(TypedDict):
    """The API of a call: an id that its document cannot choose, and its name for people."""

    id: str
    name: str


class FlowRecord(TypedDict):
    """What a call may send of the answers of other APIs, by the ids of `ApiRecord` with their names.

    `carried` are those whose values the arguments hold, as such or computed; `worded` those whose answers the model had
    seen when it wrote an argument. `run` is the id of the run, for which a person may let values go over.
    """

    run: str
    carried: dict[str, str]
    worded: dict[str, str]


class AskedFlow(TypedDict):
    """The part of a question about values of other APIs: their ids and names, and the name of the API that gets them.

    `is_only` says that nothing else of the call needs a person.
    """

    sources: dict[str, str]
    to: str
    is_only: bool


Status = Literal[
    "planned",  # drafted
    "asked",  # waits for a person
    "approved",  # may be sent
    "rejected",  # policy or a person said no
    "held",  # dry run: shown, never sent
    "sent",  # the API answered, whatever the status
    "failed",  # no answer
    "parsed",  # the answer was read
]

End = Literal["sent", "failed", "rejected", "held"]
"""What became of a call: an answer came, none came, somebody or a rule said no, or a dry run kept it back."""

UNSENT: frozenset[Status] = frozenset({"planned", "asked", "approved"})
"""The statuses of a call that may still be sent."""


class TargetRecord(TypedDict):
    """A look at a target."""

    known: Literal["present", "absent", "unread"]
    value: Any
    reader: str
    digest: str
    restless: list[str]
    size: int
    exact: bool


class ProposedEffect(TypedDict):
    """That a request seems only to read, why, and the decision by which a person confirms it once and for all.

    `key` is a digest of the operation as it was shown: only that one can be confirmed.
    """

    kind: Literal["read"]
    reason: str
    key: str
    confirm: dict[str, Any]


class Question(TypedDict):
    """What a person sees of a call, as an action request of LangChain's human-in-the-loop middleware, with more.

    `effect` is there only where the person may confirm that the operation reads, `flow` where an approval lets values
    of other APIs go to this one for the rest of the run. `further_pages` is how many requests for further pages of a
    list the approval covers. An answer after `expires` (ISO 8601) counts as a rejection. `permit` is there where the
    approval may cover further calls too: which arguments may be `free`, each with what it may be then and as a line for
    people, `times` and `hours`. `details` is what the description leaves out: all headers, the line of the program, the
    origin of every value.
    """

    name: str
    args: dict[str, Any]
    description: str
    details: str
    request: dict[str, Any]
    target: Any
    undo: str
    provenance: list[Provenance]
    effect: NotRequired[ProposedEffect]
    permit: NotRequired[dict[str, Any]]
    flow: NotRequired[AskedFlow]
    further_pages: NotRequired[int]
    expires: NotRequired[str]


def has_expired(question: Mapping[str, Any], now: float) -> bool:
    """Whether nobody can answer a question any more, at a time in seconds since 1970."""
    expires = question.get("expires")
    return expires is not None and datetime.fromisoformat(expires).timestamp() <= now


class RequestLine(TypedDict):
    """A request in short: its method and its URL, without secrets."""

    method: str
    url: str


class CallRecord(TypedDict):
    """The JSON form of a call at any stage.

    `id` is unique in the thread and names the call in the write journal. `safe` says whether it only reads, by what was
    known at the newest decision, `proposed` that it seems to, but nobody has confirmed it. `pages` is how many pages of
    a list are read at most. `description` says why the call is made, or is the line of a program that makes it.
    `settled` are its arguments in the types and the spelling of the document, where they differ from those given, and
    `exact` the same as JSON text, where a store would not keep them as they are; `endpoint` is method and address of
    the operation. They are dropped once it is over, and `request` says then how it was, or would have been, sent.
    `unsure` counts how often a change was about to be sent without its outcome being known, `sends` how often it may
    be, which is once unless a person allowed more. `locks` are the places of arguments that tell the version of the
    target. `outcome_unknown` says of a change that it may have been carried
    out, although no success was answered. `answered` are the statuses by which the very same request was answered in
    earlier calls of the conversation, 0 for one that no answer came to; with `can_undo` a call would reverse it.
    `unknown` are the ids in its path of which nothing is known, so that a person is asked about them. `flow` is set if
    the call may send what another API answered. `pause` is the id of the pause in which a person approved it;
    `recalled` says that the approval is decided again. `agreed` says that a person approved it as it is, `permission`
    is the key of the one by which it went out unasked, `user` for whom it is made, empty today.
    """

    id: str
    operation: str
    safe: bool
    arguments: dict[str, Any]
    pages: int
    description: str
    fingerprint: str
    status: Status
    note: str
    response: dict[str, Any]
    api: ApiRecord
    provenance: NotRequired[list[Provenance]]
    request: NotRequired[RequestLine]
    settled: NotRequired[dict[str, Any]]
    exact: NotRequired[str]
    endpoint: NotRequired[str]
    confirm: NotRequired[bool]
    doubt: NotRequired[str]
    unknown: NotRequired[list[str]]
    proposed: NotRequired[bool]
    target: NotRequired[TargetRecord]
    question: NotRequired[Question]
    unsure: NotRequired[int]
    sends: NotRequired[int]
    locks: NotRequired[list[list[str]]]
    outcome_unknown: NotRequired[bool]
    flow: NotRequired[FlowRecord]
    answered: NotRequired[list[int]]
    insisted: NotRequired[list[str]]
    pause: NotRequired[str]
    recalled: NotRequired[bool]
    agreed: NotRequired[bool]
    permission: NotRequired[str]
    can_undo: NotRequired[bool]
    user: NotRequired[str]


class CallSite(TypedDict):
    """The place of a request in a program: number among its calls, line and source line, number of the program.

    `digest` is that of the call as the program made it, also if a person edited the request. A request of a recipe has
    the recipe's name of the function, and the digest of the same call under the function's name in the prompts. `poll`
    counts how often the program, after a wait, has made the same read again.
    """

    position: str
    line: int
    source: str
    program: int
    digest: str
    function: NotRequired[str]
    shown_digest: NotRequired[str]
    poll: NotRequired[int]


class Request(CallRecord):
    """One call of the current API plan, from its arguments to the result extracted from its response.

    `round` numbers the API plans of the thread, `call` counts from 1 in the API plan, `attempt` counts repairs from 0.
    `output_instruction` is the query of the extraction, `result` the output of `code`. `place` is set for a request of
    a program, which reads the response itself. `limited` says that the program wanted more pages than the budget left.
    """

    round: int
    call: int
    attempt: int
    output_instruction: str
    result: str
    code: str
    place: NotRequired[CallSite]
    limited: NotRequired[bool]


def request_of(
    record: CallRecord,
    *,
    round_number: int,
    call: int,
    attempt: int = 0,
    output_instruction: str = "",
    place: CallSite | None = None,
) -> Request:
    """Make a request from a call and its place in an API plan or in a program, without a result."""
    made = {"round": round_number, "call": call, "attempt": attempt, "output_instruction": output_instruction}
    in_program = {} if place is None else {"place": place}
    return cast(Request, {**record, **made, "result": "", "code": "", **in_program})


def with_record(request: Request, record: CallRecord) -> Request:
    """Return the request with a new call record, in the same place of the API plan."""
    place = {key: value for key, value in request.items() if key not in CallRecord.__annotations__}
    return cast(Request, {**place, **record})


def record_of(request: Request) -> CallRecord:
    """Return the call of a request that is over, without its place in an API plan."""
    call = {key: value for key, value in request.items() if key in CallRecord.__annotations__}
    return cast(CallRecord, {**call, "status": "sent" if request["status"] == "parsed" else request["status"]})


NOTHING = "There is nothing to undo."


def succeeded(record: CallRecord) -> bool:
    """Whether the API carried out the call of a record."""
    return record["status"] in ("sent", "parsed") and is_success(int(record["response"].get("status", 0)))


def is_done(record: CallRecord) -> bool:
    """Whether the API carried out the call of a record, and its answer does not say that it failed."""
    return succeeded(record) and not record["response"].get("failure")


def seems_to_read(record: CallRecord) -> bool:
    """Whether the call of a record reads or seems to, so that nothing depends on its success."""
    return record["safe"] or record.get("proposed", False)


def undo_report(records: Sequence[CallRecord]) -> str:
    """Return a line for each reversing call that says what became of it."""
    ends = ["Done." if succeeded(record) else f"Not done: {fault(record)}" for record in records]
    sent = [f"{line['method']} {line['url']}: " if (line := record.get("request")) else "" for record in records]
    told = zip((record["description"] for record in records), sent, ends, strict=True)
    lines = [f"{text} {'' if by.removesuffix(': ') in text else by}{end}".lstrip() for text, by, end in told]
    return "\n".join(lines) or NOTHING


def fault(record: CallRecord) -> str:
    """Return why a reversing call reversed nothing."""
    if record["status"] == "sent":
        status, reason = record["response"]["status"], record["response"].get("reason", "")
        gone = "what it reverses is gone: " if status in (404, 410) and UNDO in record["id"] else ""
        return f"{gone}the API answered with status {status}{reason and f': {reason}'}."
    return record["note"] or "it was not sent."
