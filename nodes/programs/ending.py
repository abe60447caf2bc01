"""Findings: what the reads of a program did not give, a line each: matches of a filter, fields that were asked for.

The end of a program: its step in the state, and what it proposes to the planner. Every program ends here.
"""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from restgpt.calling.record import MAX_PAGES, Request, is_done, seems_to_read, succeeded
from restgpt.nodes.dialogue.answer import may_be_fulfilled, rests_on_nothing
from restgpt.nodes.programs.calls import changes_of, left, made_in_task, made_in_turn, stop_text, to_planner
from restgpt.nodes.run.run import Run
from restgpt.nodes.state.recipe_run import functions_in, of_program
from restgpt.nodes.state.records import Program, ProgramEnd, Proposal, Step
from restgpt.nodes.state.results import (
    READS_HEAD,
    RECEIVED,
    SHAPES_HEAD,
    is_first_page,
    of_turn,
    result_of,
    shortened,
    step_of,
    wants_whole,
)
from restgpt.nodes.state.state import State
from restgpt.specs.reading.tree import values_in
from restgpt.tools.errors import INSIST
from restgpt.tools.http.pagination import CURSORS, GROUPS, OFFSETS, PAGES, SIZES, is_date, plain
from restgpt.tools.response.store import UnknownHandleError
from restgpt.tools.sandbox.library import LISTS, rows
from restgpt.tools.sandbox.result import shorten
from restgpt.tools.text.storable import storable_text

MOST_FINDINGS, MOST_SHOWN = 5, 60
"""The maximum number of lines, and of characters of one value in a line."""

_FIELDS = frozenset({"fields", "select"})
_PLACES = CURSORS | OFFSETS | PAGES | GROUPS
_FORMS = SIZES | _FIELDS | {"sort", "sortby", "sortorder", "order", "orderby", "direction", "include", "expand"}
_NAMES = re.compile(r"[\w.]+(\s*,\s*[\w.]+)*", re.ASCII)


def findings(run: Run, requests: Sequence[Request]) -> list[str]:
    """Return a line for each read whose filters matched nothing, and for fields that were asked for but did not come.

    A filter is not told of if a later read of the same operation gave something.
    """
    reads = [request for request in requests if seems_to_read(request) and is_done(request)]
    asking = {item["operation"] for item in reads if _filters(item) or _fields(item)}
    lines: list[str] = []
    full: set[str] = set()
    for request in reversed([item for item in reads if item["operation"] in asking]):
        name, answer = request["operation"], run.session.responses.read(request["response"].get("handle"))
        if not _is_empty(answer):
            full.add(name)
            lines += [f"({name}: {line})" for line in _missing(_fields(request), answer)]
        elif name not in full and (filters := _filters(request)):
            given = run.session.redactor().json({**request["arguments"].get("path", {}), **filters}, by_name=True)
            told = ", ".join(f"{key}={_shown(value)}" for key, value in given.items())
            lines.append(f"({name}: no match for {told})")
    return list(dict.fromkeys(reversed(lines)))[:MOST_FINDINGS]


def _filters(request: Request) -> dict[str, Any]:
    """Return the arguments of the query and the body that choose among items, not their page, order or form.

    There are none on a further page, which is empty after the last item.
    """
    places = (request["arguments"].get("query"), request["arguments"].get("body"))
    given = {name: value for place in places if isinstance(place, Mapping) for name, value in place.items()}
    pages = [name for name, value in given.items() if plain(name) in _PLACES and not is_date(value)]
    if any(str(given[name]) not in ("0", "1", "None") for name in pages):
        return {}
    forms = _FORMS.union(map(plain, pages))
    return {name: value for name, value in given.items() if value is not None and plain(name) not in forms}


def _fields(request: Request) -> dict[str, list[str]]:
    """Return the plain names of fields by the arguments of the query that ask for them."""
    query = request["arguments"].get("query") or {}
    texts = {name: ",".join(map(str, text)) if isinstance(text, list) else str(text) for name, text in query.items()}
    asked = {name: text for name, text in texts.items() if plain(name) in _FIELDS and _NAMES.fullmatch(text)}
    return {name: [part for part in re.split(r"\s*,\s*", text) if "." not in part] for name, text in asked.items()}


def _missing(asked: Mapping[str, Sequence[str]], answer: Any) -> list[str]:
    """Return what to say of fields whose names are nowhere in an answer with items."""
    if not asked or not isinstance(answer, list | Mapping):
        return []
    there = {plain(name) for value in values_in(answer) if isinstance(value, Mapping) for name in value}
    gone = {by: ", ".join(name for name in names if plain(name) not in there) for by, names in asked.items()}
    return [f"asked for with {by}=: not in the response: {names}" for by, names in gone.items() if names]


def _is_empty(answer: Any) -> bool:
    """Return whether an answer is an empty list, or an envelope around one.

    An object with a text or an id may be an item, whose own list is empty, unless the list has a name of envelopes.
    """
    try:
        found = None if answer is None else rows(answer)
    except (LookupError, ValueError):  # several lists, or a text
        return False
    if found != [] or isinstance(answer, list):
        return found == []
    around = [value for value in (answer, *answer.values()) if isinstance(value, Mapping) and [] in value.values()]
    return bool(around) and all(map(_is_envelope, around))


def _is_envelope(value: Mapping[str, Any]) -> bool:
    is_item = any((isinstance(part, str) and part) or plain(name) == "id" for name, part in value.items())
    return not is_item or any(part == [] and plain(name) in LISTS for name, part in value.items())


def _shown(value: Any) -> str:
    text = " ".join((value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)).split())
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}…"


MAX_PROGRAMS = 3
"""The maximum number of programs for one sub-task; then the planner decides what comes next."""

SHOWN_BODY = 300
"""The maximum number of characters of a change's response in a result."""

SHAPES = 6
"""The maximum number of responses whose shapes a failed program's writer sees."""

SHAPE = 500
"""The maximum number of characters of one such shape."""

HEALED = frozenset({"stopped", "failed"})
"""The ends of a recipe after which a model can do better; not a refusal or a budget."""

NOTHING_CALLED = "(The program called no function of the APIs, so nothing of this comes from them.)"
"""What the planner is told of a report that rests on no answer."""

LEFT = "Not done: "
"""The beginning of a line about something that a program left undone."""

CLIENT_PROBLEM = 3000
"""The maximum number of characters of an error of a client's program, with what it had printed."""

_COUNTS = re.compile(r"\b(?:len|sum|Counter)\(", re.ASCII)
_INDEX = re.compile(r"/\d+")


@dataclass(frozen=True, slots=True)
class Ending:
    """How a program ended, and what it said last, with its requests as they came out.

    `is_final` says of a program that failed that no other one does better, `is_answer` of a report that nothing speaks
    against it, and `is_part` that it does not fulfil all.
    """

    kind: ProgramEnd
    text: str
    program: Program
    requests: Sequence[Request]
    is_final: bool = False
    is_answer: bool = False
    is_part: bool = False


def program_of(state: State) -> Program:
    """Return the program of the current round, which has one."""
    return cast(Program, state["program"])


def close(run: Run, state: State, ending: Ending) -> dict[str, Any]:
    """Return the update that ends the round: its step, and a proposal to the planner if the turn ends with it.

    The program of a sub-task that failed does not end the round: the caller corrects it, up to `MAX_PROGRAMS`.
    """
    program, requests = ending.program, as_read(ending.requests)
    failed, of_sub_task = ending.kind == "failed", state["decision"]["kind"] != "program"
    if failed and of_sub_task and not ending.is_final and program["number"] < MAX_PROGRAMS:
        again: Program = {**program, "status": "failed", "feedback": ending.text, "end": "failed"}
        return {"program": again, "requests": requests, "usage": run.usage()}
    number = MAX_PROGRAMS if ending.is_final else program["number"]
    over: Program = {**program, "number": number, "status": "over", "end": ending.kind}
    requests = [_with_body(run, request) for request in requests]
    taken = [request for request in made_in_task(state) if request["id"] in over["taken"].values()]
    found = "".join(f"\n{line}" for line in findings(run, [*taken, *requests]))
    text, api_plan = f"{ending.text}{found}", _plan_of(state, requests)
    if ending.kind == "report" and not (requests or over["taken"]):
        text = f"{text}\n{NOTHING_CALLED}"
    if record := of_program(state, over):
        over["feedback"] = RECEIVED.split(text, maxsplit=1)[0]
        text = text if ending.kind == "report" else to_planner(record, text)
    closed: State = {**state, "api_plan": api_plan}
    step = step_of(closed, requests=requests, result=_summary(requests, text), program=over)
    update = {"requests": requests, "steps": [step], "api_plan": api_plan, "program": over, "usage": run.usage()}
    if program["writer"] == "caller":  # others may read the report by their own code
        ending = replace(ending, text=f"{ending.text}{found}")
    proposal = _proposal(run, state, ending, over, requests)
    return {**update, "proposal": proposal} if proposal else update


def _proposal(run: Run, state: State, ending: Ending, program: Program, requests: Sequence[Request]) -> Proposal | None:
    """Return the answer with which the turn ends; None if the planner goes on."""
    if ending.is_answer:
        # What a program prints about changes that a dry run held back is not so.
        is_held = any(request["status"] == "held" for request in requests)
        made = [*made_in_turn(state), *requests]
        fulfilled = not ending.is_part and (program["writer"] != "caller" or may_be_fulfilled(state, made))
        return {"kind": "end", "text": "" if is_held else ending.text, "fulfilled": fulfilled}
    if ending.kind == "unknown" and program["is_last"] and not _doubts(requests):
        return {"kind": "end", "text": "", "fulfilled": True, "remark": f"\n{ending.text}"}
    record = of_program(state, program)
    if record is None:
        return None
    may_heal = ending.kind in HEALED
    # After a person's refusal the agent does not try another way, unless it had chosen the recipe itself.
    if record.get("heals") and (may_heal or record.get("is_chosen")) and not changes_of(requests):
        return None
    text = stop_text(record, program["feedback"], requests, thread=run.thread, may_heal=may_heal)
    return {"kind": "end", "text": text, "fulfilled": False}


def failure(program: Program, requests: Sequence[Request], problem: str, *, is_final: bool = False) -> Ending:
    """Return the end of a program that failed, with the problem as its writer reads it."""
    if program["writer"] == "client":
        # Its whole output is kept, but the shapes below it must not be cut off.
        problem, _ = shorten(problem, CLIENT_PROBLEM)
    insist = f"\n{INSIST}" if program.get("refused") else ""
    text = shortened(storable_text(f"The program failed.\n{problem}{insist}{shapes(requests)}"), 6000)
    return Ending("failed", text, program, requests, is_final=is_final)


def report(
    run: Run,
    state: State,
    program: Program,
    requests: Sequence[Request],
    text: str,
    *,
    left: Sequence[str] = (),
    is_raw: bool = False,
) -> Ending:
    """Return the end of a program with its report, and whether that is the answer: if nothing speaks against it.

    What the program `left` undone stands below the report. A raw report is the answer of a call as it came, which a
    model has to read.
    """
    if program["writer"] != "client":
        # A client reads a long report in pages; a model's prompt has no room for it.
        text = shortened(text, run.context.result_budget * 4)
    failed = [f"({told})" for told in dict.fromkeys(map(_failure, requests)) if told]
    text = "\n".join([text, *failed, *_otherwise(run, state, program, requests), *(f"{LEFT}{one}" for one in left)])
    if program["writer"] == "recipe" and (doubt := _doubt(run, state, requests)):
        return Ending("failed", doubt, program, requests)
    is_whole = program["writer"] == "caller" and state["decision"]["kind"] == "program"
    # The failure of a change of its own is known to a program, and stands below its report.
    untold = [request for request in requests if not request["response"] or "outcome_unknown" in request]
    invented = program["writer"] == "caller" and not (requests or program["taken"])
    speaks_against = (
        not program["is_last"]
        or is_raw
        or (invented and rests_on_nothing(state, of_turn(state)))
        or _doubts([*_behind(state, program, requests), *untold])
        or _is_cut(run, state, requests)
        # The result says that the list goes on, so the planner decides whether that matters.
        or (is_whole and program["number"] == 1 and _counts_a_part(state, program, requests))
    )
    return Ending("report", text, program, requests, is_answer=not speaks_against, is_part=bool(left))


def _failure(request: Request) -> str:
    """Return what failed though the report may not say so: a change, or an answer of success that says so."""
    response = request["response"]
    if (told := response.get("failure", "")) and not response.get("is_error"):
        return f"{request['operation']} answered {response['status']}, but {told}"
    is_failed = bool(response) and not seems_to_read(request) and not succeeded(request)
    return f"{request['operation']} was not done: the API answered {response['status']}" if is_failed else ""


def _otherwise(run: Run, state: State, program: Program, requests: Sequence[Request]) -> list[str]:
    """Return the line about reads of a recipe that a document describes otherwise than when it was saved."""
    record = of_program(state, program)
    changed = functions_in(run.catalogue, record).changed if record is not None else ()
    read = {
        item["operation"]
        for item in requests
        if seems_to_read(item) and item.get("place", {}).get("function") in changed
    }
    names = ", ".join(sorted(read))
    return [f"(The document describes {names} otherwise than when the recipe was saved.)"] if names else []


def _doubt(run: Run, state: State, requests: Sequence[Request]) -> str:
    """Return why the report of a recipe is not its answer; an empty text if it is."""
    if _doubts(requests):
        return "A change did not succeed, so what the recipe reports may not be so."
    if _is_cut(run, state, requests):
        return "A list could not be read to its end, so what the recipe reports may not be so."
    return ""


def _doubts(requests: Sequence[Request]) -> bool:
    """Return whether a change did not succeed, so that the planner has to word the answer."""
    return any(
        not (_is_answered_read(request) or succeeded(request) or request["status"] == "held") for request in requests
    )


def _behind(state: State, program: Program, requests: Sequence[Request]) -> list[Request]:
    """Return the requests of earlier programs whose outcomes a report may be about, besides those of the round.

    These are the ones whose outcomes the program got again, and if it made no change, all: it may say that a change was
    made which an earlier program could not make. A client words its answer itself.
    """
    if program["writer"] == "client":
        return []
    changes = any(not seems_to_read(request) for request in requests)
    taken = set(program["taken"].values())
    return [request for request in made_in_task(state) if not changes or request["id"] in taken]


def changes_text(state: State, program: Program, requests: Sequence[Request]) -> str:
    """Return what a program without output has changed, or would have in a dry run; empty if nothing."""
    behind = [*_behind(state, program, requests), *requests]
    changes = [request for request in behind if not seems_to_read(request)]
    done = [request for request in changes if succeeded(request) or request["status"] == "held"]
    return "\n".join(f"Done: {request['operation']} {json.dumps(request['arguments'])}." for request in done)


def _is_answered_read(request: Request) -> bool:
    """Return whether a request is a read, or a proposed one with an answer: the program reports these, errors too."""
    return request["safe"] or (seems_to_read(request) and bool(request["response"]))


def _is_cut(run: Run, state: State, requests: Sequence[Request]) -> bool:
    """Return whether a list is not whole that the program wanted whole: a page failed, or the limits cut it short."""
    is_over = left(run, state) == 0
    rests = [
        (request["response"].get("rest"), request["pages"] >= MAX_PAGES or request.get("limited", False) or is_over)
        for request in requests
    ]
    return any(rest == "failed" or (rest == "unread" and is_limited) for rest, is_limited in rests)


def _counts_a_part(state: State, program: Program, requests: Sequence[Request]) -> bool:
    """Return whether a program seems to count in the first page of a list, although the whole list was asked about."""
    if not (wants_whole(state["instruction"]) and _COUNTS.search(program["code"])):
        return False
    lists = Counter(request["operation"] for request in requests)
    return any(is_first_page(request) and lists[request["operation"]] == 1 for request in requests)


def as_read(requests: Sequence[Request]) -> list[Request]:
    """Return the requests with those that were answered marked as read."""
    return [{**request, "status": "parsed"} if request["status"] == "sent" else request for request in requests]


def _with_body(run: Run, request: Request) -> Request:
    """Return a change with the start of its response as its result, because no program prints it for the planner."""
    response = request["response"]
    if seems_to_read(request) or request["result"] or not response.get("handle") or response.get("kind") == "binary":
        return request
    try:
        return {**request, "result": run.session.responses.open(response["handle"]).text(SHOWN_BODY)}
    except UnknownHandleError:
        return request


def _plan_of(state: State, requests: Sequence[Request]) -> Any:
    """Return the API plan of the round; that of a planner's program is the operations that it called."""
    if state["api_plan"]["calls"]:
        return state["api_plan"]
    sources = {request["operation"]: request["place"]["source"] for request in requests if "place" in request}
    calls = [{"operation": name, "purpose": source, "needs": []} for name, source in sources.items()]
    return {"calls": calls, "reason": state["api_plan"]["reason"]}


def _summary(requests: Sequence[Request], said_last: str) -> str:
    """Return the result of the round: what the program said last, its reads in numbers, and each other request."""
    plain = [request for request in requests if seems_to_read(request) and succeeded(request)]
    told = [request for request in requests if request not in plain]
    reads = Counter(request["operation"] for request in plain)
    lines = [said_last]
    if reads:
        lines.append(READS_HEAD + ", ".join(f"{name} ×{count}" if count > 1 else name for name, count in reads.items()))
    notices: dict[tuple[str, str], str] = {}
    for item in plain:
        for notice in item["response"].get("notices", ()):
            # One for all items of a list.
            notices.setdefault((item["operation"], _INDEX.sub("/*", notice)), notice)
    lines += [f"({name}: {notice})" for (name, _), notice in list(notices.items())[:5]]
    if told:
        lines.append(result_of(told))
    return "\n".join(lines)


def shapes(requests: Sequence[Request], *, shown: Sequence[Step] = (), room: int = SHAPES * SHAPE) -> str:
    """Return the shapes of the responses, one for each operation, for a model that did not see them.

    Those that the results of earlier steps have `shown` are left out, and those that `room` characters do not hold.
    """
    shapes: dict[str, str] = {}
    for request in requests:
        sketch = request["response"].get("sketch")
        if sketch:
            shapes[f"{request['operation']} (status {request['response']['status']})"] = _cut(str(sketch))
    lines: list[str] = []
    for line in reversed([f"{name}: {text}" for name, text in shapes.items()][-SHAPES:]):
        room -= len(line)
        if room >= 0 and not any(line in step["result"] for step in shown):
            lines.insert(0, line)
    return "\n".join(["", SHAPES_HEAD, *lines]) if lines else ""


def _cut(shape: str) -> str:
    return shape if len(shape) <= SHAPE else f"{shape[:SHAPE].rpartition(' ')[0]} …"
