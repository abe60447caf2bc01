"""What a run says whose recipe stopped: why, what was changed until then, and what to do.

The log of a program: the answers that a run of it gets, of its own calls and of those of earlier programs.

The calls of a program: drafted from the functions and arguments that it names, with the origin of every value.
"""

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import islice
from typing import Any, Literal, cast

from restgpt.calling.record import MAX_PAGES, UNSENT, CallSite, Request, is_done, request_of, seems_to_read, succeeded
from restgpt.nodes.dialogue.conversation import (
    MOST_TRACED,
    answered,
    is_answered,
    known_words,
    operations_by_handle,
    responses,
    said,
    traced_draft,
)
from restgpt.nodes.run.run import Run
from restgpt.nodes.state.recipe_run import functions_in, of_program, recipe_of, unsaid_by
from restgpt.nodes.state.records import Program, RecipeRun, spent_since
from restgpt.nodes.state.results import result_of
from restgpt.nodes.state.state import State
from restgpt.specs import Operation
from restgpt.specs.docs.function_arguments import arguments_of, body_fields
from restgpt.specs.effect import seems_to_read as operation_reads
from restgpt.specs.effort import within
from restgpt.specs.operation import BODY, CONTENT_TYPE, PAGES
from restgpt.specs.problem import is_success
from restgpt.specs.reading.tree import format_pointer
from restgpt.specs.schemas.shape import Shape
from restgpt.tools.http.http_client import retry_after
from restgpt.tools.request.arguments import claim_of
from restgpt.tools.response.content import Body
from restgpt.tools.response.store import ResponseStore, UnknownHandleError
from restgpt.tools.sandbox.code import WAIT_DIGEST, call_text, digest_of
from restgpt.tools.sandbox.result import Entry, WantedCall
from restgpt.tools.sandbox.runner import LIMITS
from restgpt.tools.text.storable import storable_text


def changes_of(requests: Iterable[Request]) -> list[Request]:
    """Return the changes that were sent, whatever came of them."""
    return [request for request in requests if not seems_to_read(request) and is_answered(request)]


def stop_text(record: RecipeRun, reason: str, requests: Sequence[Request], *, thread: str, may_heal: bool) -> str:
    """Return the answer of a run whose recipe stopped: why, what was changed until then, and what to do."""
    name, changes = record["name"], changes_of(requests)
    if not changes:
        lines = [f"The recipe {name} stopped before it changed anything. {reason}", "Nothing was changed."]
        if may_heal:
            lines.append(
                f"To let the agent go on from here, run it again with --heal (`restgpt recipe run {name} --heal …`). "
                "Or correct the file of the recipe."
            )
        return "\n".join(lines)
    is_any_made = any(succeeded(change) or change.get("outcome_unknown") for change in changes)
    back = f"`restgpt undo {thread}` takes back what can be taken back." if is_any_made else "The API refused them."
    told = f"The recipe {name} stopped after it had sent changes. {reason}"
    return "\n".join([told, "Sent until then:", result_of(changes), back])


def to_planner(record: RecipeRun, reason: str) -> str:
    """Return the result of a recipe that stopped, for the planner, who sees the program too."""
    inputs = json.dumps(record["inputs"], ensure_ascii=False)
    described = " ".join(recipe_of(record).description.split())
    does = f" ({described})" if described else ""
    return f"This program is the recipe {record['name']}{does}. It ran with inputs = {inputs} and stopped. {reason}"


MOST_DATA = LIMITS.data - (4 << 20)
"""The maximum number of bytes of all answers that a run of a program gets; the rest is for their headers and notes."""


def offered(found: Iterable[tuple[Request, Entry]], *, most: int = MOST_DATA) -> list[Entry]:
    """Return the entries that a run gets: answers of earlier programs only as far as the sandbox can hold them.

    A read that does not fit is made again. A change is not, so only the body of its answer is left out.
    """
    listed = list(found)
    left = most - sum(len(entry.body) for _, entry in listed if entry.position)
    given = []
    for request, entry in listed:
        if not entry.position:
            left -= len(entry.body)
            if left < 0:
                left += len(entry.body)
                if request["safe"]:
                    continue
                entry = replace(entry, media="empty", body=b"", note="Its response is too large to be read again.")
        given.append(entry)
    return given


NO_REQUEST: Any = {"safe": True}
"""Stands for the request of a wait."""

MOST_POLLS = 1000
"""How many polls of a turn do not count as requests of its budget."""


def waits_of(program: Program) -> Iterator[Entry]:
    """Yield the waits of a program as it is told of their ends."""
    for position, (until, clock) in program.get("waits", {}).items():
        yield Entry(position, "", WAIT_DIGEST, "slept", until=until, clock=clock)


def polled(requests: Iterable[Request]) -> int:
    """Return how many of the requests were polls, which are none of the budget."""
    return min(MOST_POLLS, sum(request["place"].get("poll", 0) > 0 for request in requests if "place" in request))


def entries(run: Run, state: State, program: Program, requests: Sequence[Request]) -> Iterator[tuple[Request, Entry]]:
    """Yield the answers of the program's own calls, and those of earlier programs of the sub-task that it may take.

    A read before a change shows what there was, so it is made again; and a client's next program comes at any time. A
    program that waits in its process gets what was answered since.
    """
    yield from ((NO_REQUEST, wait) for wait in waits_of(program) if wait.until <= run.services.now())
    live: Any = state.get("live")
    is_begun = live is not None and live.rounds is not None
    past = [] if is_begun else made_in_task(state)
    fresh = max((at for at, request in enumerate([*past, *requests], 1) if _has_changed(request)), default=0)
    fresh = len(past) + len(requests) if program["writer"] == "client" else fresh
    positions = {key: position for position, key in program["taken"].items()}
    for at, request in enumerate([*past, *requests]):
        place = request.get("place")
        if place is None or request["status"] in UNSENT:
            continue
        if at >= len(past) and place["program"] == program["number"]:
            if live is None or place["position"] not in live.placed:
                yield request, entry_of(run.session.responses, request, place, place["position"])
        elif is_begun:
            continue
        elif request["id"] in positions or (_is_settled(request) and (at >= fresh or not request["safe"])):
            shown: CallSite = {**place, "digest": place.get("shown_digest", place["digest"])}
            yield request, entry_of(run.session.responses, request, shown, positions.get(request["id"], ""))


def made_in_turn(state: State) -> list[Request]:
    """Return the requests of the turn so far, oldest first; the state has those of an earlier turn until a new one."""
    earlier = (step["requests"] for step in state["steps"] if step["turn"] == state["turn"])
    current = (request for request in state["requests"] if request["round"] == state["round"])
    return [*(request for requests in earlier for request in requests), *current]


def made_in_task(state: State) -> list[Request]:
    """Return the requests of earlier rounds of the current sub-task."""
    here = (state["turn"], state["task"])
    return [request for step in state["steps"] if (step["turn"], step["task"]) == here for request in step["requests"]]


def _has_changed(request: Request) -> bool:
    return not request["safe"] and request["status"] not in (*UNSENT, "held", "rejected")


def _is_settled(request: Request) -> bool:
    """Return whether a corrected program must get the same answer, instead of making the same call once more.

    A change that was rejected, or whose outcome is not known, must not be asked about or made again.
    """
    is_lost = not request["safe"] and (not request["response"] or "outcome_unknown" in request)
    return is_done(request) or request["status"] == "held" or is_lost


def entry_of(responses: ResponseStore, request: Request, place: CallSite, position: str) -> Entry:
    """Return the answer to a request as a program gets it at a position; the body comes from the response store."""
    key, digest, status = request["id"], place["digest"], request["status"]
    if status == "held":
        return Entry(position, key, digest, "held")
    if status == "rejected":
        return Entry(position, key, digest, "rejected", note=request["note"])
    response = request["response"]
    if status == "failed" or not response:
        return Entry(position, key, digest, "error", note=request["note"])
    # A redirect that is not followed is no success either.
    is_good = is_success(response["status"]) and not response.get("is_error")
    given: Literal["answer", "error"] = "answer" if is_good else "error"
    try:
        body = responses.open(response["handle"]) if response.get("handle") else None
    except UnknownHandleError:
        return Entry(position, key, digest, "error", note="The body of this response is no longer kept.")
    media, raw = _content(body)
    headers = response.get("headers") or {}
    pause = retry_after(headers) or 0.0
    note = response["notices"][0] if "outcome_unknown" in request else response.get("failure", "")
    return Entry(position, key, digest, given, response["status"], headers, media, raw, note, pause)


def _content(body: Body | None) -> tuple[Literal["json", "text", "binary", "empty"], bytes]:
    if body is None or not body.size:
        return "empty", b""
    if body.is_binary:
        return "binary", body.raw
    return ("json" if body.kind in ("json", "json-lines") else "text"), body.json()


def left(run: Run, state: State) -> int:
    """Return the number of requests that the budget leaves; as many calls may be refused or held back without one.

    A program can go on after a refusal, so that without a limit it would call in a loop until the time is used up.
    """
    sent, made = spent_since(state["baseline"], state["usage"])["requests"], made_in_turn(state)
    unsent = {request["id"] for request in made if request["status"] in ("rejected", "held")}
    return max(0, run.context.max_requests - max(sent - polled(made), len(unsent)))


FIELDS_MOST = 400
"""The fields of a result with more of them are not listed, so any field may be read."""

TRUTHS_DEPTH = 3
"""How deep an answer is searched for fields that are true or false."""

STEPS_MOST = 15_000
"""How many steps one stub may take; what is not known by then is left out."""

OTHERWISE = "The document describes this operation otherwise than when the recipe was saved."
"""Why a person is asked about a change of a recipe, whatever the rules say."""


def _claims(operation: Operation) -> dict[str, str]:
    """Return the names of the required arguments of the query, each with the claim that it may be left out."""
    queries = [item for item in operation.accepted if item.required and item.location == "query"]
    return {item.name: claim_of(operation, format_pointer(("query", item.field)), None) for item in queries}


def stub(
    operation: Operation,
    name: str,
    *,
    reads: Callable[[Operation], bool] = operation_reads,
    insists: Collection[str] = (),
) -> dict[str, Any]:
    """Describe the function of an operation: its keywords, the fields of its body and of its result.

    `reads` tells whether the operation reads, or seems to, so that several pages of it may be asked for. What the
    program `insists` on leaving out is not required.
    """
    pages = [PAGES] if reads(operation) else []
    claims = _claims(operation)
    with within(STEPS_MOST, operation.document.allowance):
        body = operation.sent
        choice = [CONTENT_TYPE] if operation.takes_type else []
        return {
            "name": name,
            "keywords": {
                item.name: item.required and claims.get(item.name) not in insists for item in operation.accepted
            },
            "claims": claims,
            "others": [*([BODY, *body_fields(body)] if body is not None else []), *choice, *pages],
            "needs_body": operation.body is not None and operation.body.required,
            "result": _result(operation),
            "truths": sorted(_truths(operation)),
        }


def _result(operation: Operation) -> list[str] | None:
    """Return the fields of the object that every successful response is; None if others may occur."""
    successes = [status for status in operation.responses if status.startswith("2")] or ["default"]
    media = [response.preferred for status in successes if (response := operation.responses.get(status))]
    contents = [content for content in media if content is not None]
    if not contents or any("json" not in item.media_type.lower() and "*" not in item.media_type for item in contents):
        return None
    shape = Shape(operation.document, contents[0].schema)
    is_closed = shape.kinds == ("object",) and not shape.is_open and not shape.is_base
    if any(item.schema != contents[0].schema for item in contents) or not is_closed:
        return None
    return list(shape.fields) if len(shape.fields) <= FIELDS_MOST else None


def _truths(operation: Operation) -> set[str]:
    """Return the names under which an answer holds true or false, wherever they occur in it."""
    waiting = [(shape, TRUTHS_DEPTH)] if (shape := operation.received) is not None else []
    truths: set[str] = set()
    others: set[str] = set()
    for shape, depth in waiting:
        inner = shape.items or shape
        for name, field in islice(inner.fields.items(), FIELDS_MOST if depth else 0):
            (truths if field.kinds == ("boolean",) else others).add(name)
            waiting.append((field, depth - 1))
    return truths - others


WORD = re.compile(r"[A-Za-z_]\w*", re.ASCII)
"""A word of a program, which may be the name of a function."""


def maker(run: Run, state: State, program: Program, before: int) -> Callable[[WantedCall, int], Request]:
    """Return a function that drafts calls of the program; it reads the responses once, if a call needs their values."""
    texts = said(state)
    made = len(made_in_turn(state))
    functions, record = functions_of(run, state, program), of_program(state, program)
    changed = functions_in(run.catalogue, record).changed if record is not None else ()
    code, insists = _code(state, program), program.get("insists", ())

    @cache
    def found() -> list[tuple[str, Any]]:
        # A program may use any of its answers, also the first of many.
        return list(responses(run, state, most=MOST_TRACED))

    @cache
    def operations() -> Mapping[str, str]:
        return operations_by_handle(state)

    def answers() -> Iterator[tuple[str, Any]]:
        yield from found()

    given_by = answered(run, state, most=MOST_TRACED, seen=program.get("seen"))
    # A client's model has a conversation of its own with the user, so what it writes is not invented here.
    known = known_words(run, state, [program["code"]] if program["writer"] == "client" else [])

    def make(call: WantedCall, number: int) -> Request:
        operation = functions.get(call.function)
        if operation is None:
            raise ValueError(f"there is no function {call.function}")
        keywords = dict(call.keywords)
        pages = _pages(keywords.pop("pages", 1))
        absent = [item for item, claim in _claims(operation).items() if claim in insists] if insists else []
        arguments = arguments_of(operation, keywords, call.positional, name=call.function, absent=absent)
        drafted = traced_draft(
            run,
            state,
            operation,
            arguments,
            known=known,
            # A client may say the same twice, and it words its programs itself.
            repeats=program["writer"] == "client",
            id=f"{run.request_id(made + number)}.0",
            name=run.catalogue.name_of(operation),
            said=texts,
            found=answers(),
            operations=operations(),
            code=code,
            line=call.line,
            answered=given_by,
            pages=pages,
            insisted=insists,
            # The pause shows the line of a recipe; code made by `exec` has none.
            description=call.source if call.line and program["writer"] != "recipe" else "",
        )
        if call.function in changed and not drafted.effect.is_read:
            drafted = replace(drafted, doubt=OTHERWISE)
        place: CallSite = {
            "position": call.position,
            "line": call.line,
            "source": storable_text(call.source),
            "program": program["number"],
            "digest": call.digest,
            **_of_recipe(run, program, call, operation),
        }
        return request_of(run.session.keep(drafted), round_number=state["round"], call=before + number, place=place)

    return make


def _code(state: State, program: Program) -> str:
    """Return the code of a program; inputs that the user did not say count as its literals."""
    record = of_program(state, program)
    unsaid = unsaid_by(record) if record is not None else {}
    return f"{program['code']}\n{json.dumps(unsaid, ensure_ascii=False)}" if unsaid else program["code"]


def functions_of(run: Run, state: State, program: Program) -> Mapping[str, Operation]:
    """Return the functions that a program can call: those of its recipe, those it is limited to, or all of the APIs."""
    record = of_program(state, program)
    if record is not None:
        return functions_in(run.catalogue, record).operations
    known, long, allowed = run.catalogue.functions, run.catalogue.long_functions, program.get("functions")
    if allowed is not None:
        known = {name: found for name in allowed if (found := known.get(name) or long.get(name))}
    # Code from before the names were shortened, or of a client that knows the operationIds.
    used = {name: long[name] for name in WORD.findall(program["code"]) if name in long and long[name] in known.values()}
    return {**known, **used} if used else known


def _of_recipe(run: Run, program: Program, call: WantedCall, operation: Operation) -> CallSite:
    """Return what the place of a recipe's call has besides, so that a model's program can take its answer."""
    if program["writer"] != "recipe":
        return cast(CallSite, {})
    text = call_text(run.catalogue.function_name(operation), call.positional, call.keywords)
    return cast(CallSite, {"function": call.function, "shown_digest": digest_of(text)})


def _pages(given: Any) -> int:
    if not isinstance(given, int) or isinstance(given, bool) or given < 1:
        raise ValueError(f"pages is a number from 1 to {MAX_PAGES}")
    return min(given, MAX_PAGES)
