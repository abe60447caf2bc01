"""Programs: a model's Python makes the calls of a sub-task. It runs as far as its next calls, which the graph sends.

The parser node runs a program. At calls without an answer the program ends with them; approval and sender carry them
out as they do the calls of an API plan; then the program runs again from its start, with the answers so far. So a
program waits for a person, or survives a crash, like any other part of a run.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, cast

from restgpt.calling.call import seems_to_read, succeeded
from restgpt.nodes.dialogue.answer import rests_on_nothing
from restgpt.nodes.programs.calls import MAX_PAGES, functions_of, maker
from restgpt.nodes.programs.guard import changes_of, guard_of, stop_text, to_planner, told
from restgpt.nodes.programs.log import ProgramState, entries, made_in_task, made_in_turn, offered
from restgpt.nodes.run.resources import Run
from restgpt.nodes.state.notices import is_first_page, wants_whole
from restgpt.nodes.state.recipe_run import of_program
from restgpt.nodes.state.records import Program, ProgramEnd, Request, Writer, spent_since
from restgpt.nodes.state.results import result_of, shortened
from restgpt.nodes.state.rounds import of_turn, step_of
from restgpt.specs import Operation
from restgpt.specs.docs.stub import stub
from restgpt.tools.errors import ArgumentError
from restgpt.tools.response.store import UnknownHandleError
from restgpt.tools.sandbox.code import clean_code
from restgpt.tools.sandbox.program import LIMITS, MOST_NAMES, ProgramRun, run_program
from restgpt.tools.sandbox.result import SandboxResult, Status, shorten
from restgpt.tools.text.storable import storable_text
from restgpt.tools.tracing.telemetry import annotate

MAX_PROGRAMS = 3
"""The maximum number of programs for one sub-task; then the calls are made one by one."""

MOST_ARGUMENTS = 5_000_000
"""The maximum number of characters of the arguments of all calls of a sub-task's programs, as JSON."""

SHOWN_BODY = 300
"""The maximum number of characters of a change's response in a result."""

SHAPES = 6
"""The maximum number of responses whose shapes a failed program's writer sees."""

SHAPES_HEAD, READS_HEAD = "Shapes of the answers, with values of their first items:", "Read: "
"""The beginnings of the lines about received answers in a result, below the output of the program."""

SHAPE = 500
"""The maximum number of characters of one such shape."""

RECEIVED = re.compile(rf"\n(?:Shapes of the answers|{READS_HEAD})")
"""The beginning of the part of a result that tells about received answers."""

HEALED = frozenset({"shifted", "stopped", "failed"})
"""The ends of a recipe after which a model can do better; not a refusal or a budget."""

NOTHING_CALLED = "(The program called no function of the APIs, so this is no answer of theirs.)"
"""What the planner is told of a report that rests on no answer."""

CLIENT_LIMITS = replace(LIMITS, shown=LIMITS.output)
"""The limits of one run of a client's program: its whole output is kept, because a client reads it in pages."""

CLIENT_PROBLEM = 3000
"""The maximum number of characters of an error of a client's program, with what it had printed."""

MOST_WRONG, NEAR = 10, 20
"""How many unknown names of a program a large API is searched for, and how many functions each search gives."""

_WORD = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_COUNTS = re.compile(r"\b(?:len|sum|Counter)\(", re.ASCII)
_INDEX = re.compile(r"/\d+")
_CALLED = re.compile(r"\b([A-Za-z_]\w*)\(", re.ASCII)

UNREPAIRABLE = frozenset({Status.SANDBOX_UNAVAILABLE, Status.INTERNAL_ERROR, Status.UNSUPPORTED})
"""Sandbox failures that another program cannot avoid."""


def written(
    run: Run,
    code: str,
    *,
    writer: Writer,
    number: int = 1,
    is_last: bool = False,
    before: Program | None = None,
    seen: Iterable[str] = (),
    functions: Iterable[str] | None = None,
) -> Program:
    """Return the record of a new program, with the clock and the seed of the program `before`, which it corrects.

    `seen` are the ids of the APIs of which its writer had seen answers, `functions` the only ones that it may call.
    With another clock, a change that contains the time or a random number would be another change, and be made once
    more.
    """
    program: Program = {
        "code": _bare(storable_text(code)),
        "writer": writer,
        "number": number,
        "is_last": is_last,
        "clock": before["clock"] if before else run.now(),
        "seed": before["seed"] if before else run.new_id(),
        "is_checked": False,
        "taken": {},
        "status": "running",
        "feedback": "",
        "seen": sorted(seen),
    }
    return program if functions is None else {**program, "functions": list(functions)}


def _bare(code: str) -> str:
    """Return the code as the sandbox runs it, without Markdown, so that line numbers are those of the shown code."""
    while (cleaned := clean_code(code)) != code:
        code = cleaned
    return code


def is_whole(state: ProgramState, program: Program) -> bool:
    """Return whether a model has written a program for the whole instruction, not for a sub-task."""
    return program["writer"] == "caller" and state["decision"]["kind"] == "program"


def is_running(program: Program | None) -> bool:
    """Return whether the current round is carried out by a program that has not ended."""
    return program is not None and program["status"] == "running"


def may_write(run: Run, state: ProgramState) -> bool:
    """Return whether the caller writes a program for this round, and not the arguments of its calls."""
    if not run.writes_programs:
        return False
    if any(request["round"] == state["round"] and "place" not in request for request in state["requests"]):
        return False  # The round began call by call, before the run's setting was changed.
    program = state.get("program")
    return program is None or program["status"] != "over"


def advanced_program(run: Run, state: ProgramState) -> dict[str, Any]:
    """Run the program as far as its next calls or its end, and return the update of the state.

    A recipe that stopped ends the turn, unless the planner may go on from here.
    """
    update = _advanced(run, state)
    record, program = of_program(state, _program_of(state)), update["program"]
    if record is None or is_running(program) or "proposal" in update:
        return update
    may_heal = program["end"] in HEALED
    # After a person's refusal the agent does not try another way, unless it had chosen the recipe itself.
    if record.get("heals") and (may_heal or record.get("is_chosen")) and not changes_of(update["requests"]):
        return update
    answer = stop_text(record, program["feedback"], update["requests"], thread=run.thread, may_heal=may_heal)
    return {**update, "proposal": {"kind": "end", "text": answer, "fulfilled": False}}


def _advanced(run: Run, state: ProgramState) -> dict[str, Any]:
    program = _program_of(state)
    requests = [request for request in state["requests"] if request["round"] == state["round"]]
    guard = guard_of(run, state, program)
    if guard and guard.comparison.shifts:
        return _closed(run, state, requests, told(guard.comparison.shifts), end="shifted")
    if over := _exhausted(run, state):
        annotate(program=program["number"], program_calls=0, program_end="budget")
        return _closed(run, state, requests, over, end="budget")
    for request in requests:
        if request["status"] == "sent":
            run.learn(request, made_in_turn(state))
    requests = _read(requests)
    found = _run(run, state, program, requests)
    taken = {**program["taken"], **found.taken}
    program = {**program, "is_checked": found.kind != "refused", "taken": taken}
    annotate(program=program["number"], program_calls=len(found.calls), program_end=found.kind)
    if guard and (shifts := guard.shifts(requests)):
        said_last = "\n".join(filter(None, [told(shifts), found.problem or found.text]))
        return _closed(run, state, requests, f"{said_last}{_shapes(requests)}", program=program, end="shifted")
    match found.kind:
        case "calls":
            return _handed_over(run, state, program, requests, found)
        case "finished":
            return _finished(run, state, program, requests, found.result.output.strip())
        case "stopped":
            shown = f"\nIt shows: {found.value}" if found.value else ""
            said_last = f"The program stopped: {found.text}{shown}{_shapes(requests)}"
            return _closed(run, state, requests, said_last, end="stopped")
        case "unknown":
            return _unknown(run, state, program, requests, found)
    if found.result.pause == "many" and not _left(run, state):
        return _closed(run, state, requests, found.problem, program=program, end="budget")
    refusal = _refusal(found, requests)
    if refusal:
        return _closed(run, state, requests, refusal, end="rejected")
    return _failed(run, state, program, requests, found.problem, found.result)


def _program_of(state: ProgramState) -> Program:
    """Return the program of the current round, which has one."""
    return cast(Program, state["program"])


def _exhausted(run: Run, state: ProgramState) -> str:
    """Return a sentence about the budget of time if it is used up; a program uses no tokens."""
    spent = spent_since(state["baseline"], state["usage"])
    return "" if spent["seconds"] < run.context.max_seconds else _time_is_up(run)


def _time_is_up(run: Run) -> str:
    return f"The program was stopped, because the time for this instruction is used up: {run.context.max_seconds:g} s."


def _left(run: Run, state: ProgramState) -> int:
    """Return the number of requests that the budget leaves; as many calls may be refused or held back without one.

    A program can go on after a refusal, so that without a limit it would call in a loop until the time is used up.
    """
    sent = spent_since(state["baseline"], state["usage"])["requests"]
    unsent = {request["id"] for request in made_in_turn(state) if request["status"] in ("rejected", "held")}
    return max(0, run.context.max_requests - max(sent, len(unsent)))


def _run(run: Run, state: ProgramState, program: Program, requests: Sequence[Request]) -> ProgramRun:
    known, recipe = functions_of(run, state, program), of_program(state, program)
    used = [name for name in dict.fromkeys(_WORD.findall(program["code"])) if name in known]
    check: Literal["", "names", "fields"] = "fields" if program["number"] == 1 else "names"
    is_first = not program["is_checked"]
    return run_program(
        program["code"],
        functions=used,
        entries=offered(entries(run, state, program, requests)),
        clock=program["clock"],
        seed=program["seed"],
        most=_left(run, state),
        check=check if is_first else "",
        stubs=[stub(known[name], name, reads=run.rules.reads) for name in used] if is_first else (),
        names=_near_first(run, program["code"], known) if is_first else (),
        limits=run.limits(CLIENT_LIMITS if program["writer"] == "client" else LIMITS),
        inputs=recipe["inputs"] if recipe else None,
        # A model's program runs again from its start at each call, which finds calls that differ from run to run.
        waiting=run.resources.waiting_programs if recipe else None,
    )


def _near_first(run: Run, code: str, known: Mapping[str, Operation]) -> list[str]:
    """Return the names of the functions; of many, first those that fit the unknown names that the code calls.

    A check compares a wrong name with the first `MOST_NAMES` only.
    """
    if len(known) <= MOST_NAMES:
        return list(known)
    wrong = [name for name in dict.fromkeys(_CALLED.findall(code)) if name not in known]
    found = (item for name in wrong[:MOST_WRONG] for item in run.catalogue.search(name.replace("_", " "), NEAR))
    near = dict.fromkeys(name for item in found if (name := run.catalogue.function_name(item)) in known)
    return list({**near, **dict.fromkeys(known)})


def _handed_over(
    run: Run, state: ProgramState, program: Program, requests: Sequence[Request], found: ProgramRun
) -> dict[str, Any]:
    """Draft the calls that the program waits for; if one cannot be made, none is made, and the program has failed.

    A list for whose pages the budget has no room beside those of other lists waits until these have answers.
    """
    calls, number = found.calls, program["number"]
    known = {place["position"] for item in requests if (place := item.get("place")) and place["program"] == number}
    make = maker(run, state, program, len(requests))
    spare = _left(run, state) - len(calls)
    made: list[Request] = []
    problems: list[str] = []
    for call in calls:
        if run.left() <= 0:
            return _closed(run, state, requests, _time_is_up(run), program=program, end="budget")
        try:
            if call.position in known:
                raise ValueError("the call at this place was answered already")
            request = make(call, len(made) + 1)
        except (ArgumentError, ValueError) as error:
            problems.append(f"Line {call.line}: {call.source}\n{call.function}: {error}")
            continue
        if request["pages"] > 1 + spare:
            if any(item["pages"] > 1 for item in made):
                # Most lists are shorter than the pages kept for them: this call waits until the others have answers.
                continue
            request["pages"], request["limited"] = 1 + max(0, spare), True
        spare -= request["pages"] - 1
        made.append(request)
    size = sum(len(json.dumps(request["arguments"])) for request in (*requests, *made))
    if size > MOST_ARGUMENTS:
        problems.append(f"The arguments of all calls are too large together: {size} characters of {MOST_ARGUMENTS}.")
    if problems:
        return _failed(run, state, program, requests, "\n".join(problems[:5]), None)
    return {"requests": [*requests, *made], "program": program, "usage": run.usage()}


def _finished(
    run: Run, state: ProgramState, program: Program, requests: Sequence[Request], report: str
) -> dict[str, Any]:
    """End the round with the program's report, which is the answer if nothing speaks against it."""
    if program["writer"] != "client":
        # A client reads a long report in pages; a model's prompt has no room for it.
        report = shortened(report, run.context.result_budget * 4)
    if program["writer"] == "recipe" and (doubt := _doubt(run, state, requests)):
        return _closed(run, state, requests, doubt, program=program, end="failed")
    is_first = is_whole(state, program) and program["number"] == 1
    called = bool(requests or program["taken"])
    said_last = report if called else f"{report}\n{NOTHING_CALLED}"
    update = _closed(run, state, requests, said_last, program=program, end="report")
    if program["writer"] == "caller" and not called and rests_on_nothing(state, of_turn(state)):
        return update
    if not program["is_last"] or _doubts(_behind(state, program, requests)) or _is_cut(run, state, requests):
        return update
    if is_first and _counts_a_part(state, program, requests):
        # The result says that the list goes on, so the planner decides whether that matters.
        return update
    # What a program prints about changes that a dry run held back is not so.
    answer = "" if any(request["status"] == "held" for request in requests) else report
    return {**update, "proposal": {"kind": "end", "text": answer, "fulfilled": True}}


def _doubt(run: Run, state: ProgramState, requests: Sequence[Request]) -> str:
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


def _behind(state: ProgramState, program: Program, requests: Sequence[Request]) -> list[Request]:
    """Return the requests whose outcomes a report may be about: those of the round, and some of earlier programs.

    These are the ones whose outcomes the program got again, and if it made no change, all: it may say that a change was
    made which an earlier program could not make. A client words its answer itself.
    """
    if program["writer"] == "client":
        return list(requests)
    changes = any(not seems_to_read(request) for request in requests)
    taken = set(program["taken"].values())
    earlier = (request for request in made_in_task(state) if not changes or request["id"] in taken)
    return [*earlier, *requests]


def _is_answered_read(request: Request) -> bool:
    """Return whether a request is a read, or a proposed one with an answer: the program reports these, errors too."""
    return request["safe"] or (seems_to_read(request) and bool(request["response"]))


def _is_cut(run: Run, state: ProgramState, requests: Sequence[Request]) -> bool:
    """Return whether a list is not whole that the program wanted whole: a page failed, or the limits cut it short."""
    is_over = _left(run, state) == 0
    rests = [
        (request["response"].get("rest"), request["pages"] >= MAX_PAGES or request.get("limited", False) or is_over)
        for request in requests
    ]
    return any(rest == "failed" or (rest == "unread" and is_limited) for rest, is_limited in rests)


def _counts_a_part(state: ProgramState, program: Program, requests: Sequence[Request]) -> bool:
    """Return whether a program seems to count in the first page of a list, although the whole list was asked about."""
    if not (wants_whole(state["instruction"]) and _COUNTS.search(program["code"])):
        return False
    lists = Counter(request["operation"] for request in requests)
    return any(is_first_page(request) and lists[request["operation"]] == 1 for request in requests)


def _unknown(
    run: Run, state: ProgramState, program: Program, requests: Sequence[Request], found: ProgramRun
) -> dict[str, Any]:
    """End the round of a dry run where it would need an answer that it does not have."""
    where = (
        f"What would come next is not known: it depends on the answer to {found.function}, which a dry run does not "
        f"send (line {found.line}: {found.source})."
    )
    update = _closed(run, state, requests, where, program=program, end="unknown")
    if not program["is_last"] or _doubts(requests):
        return update
    return {**update, "proposal": {"kind": "end", "text": "", "fulfilled": True, "remark": f"\n{where}"}}


def _refusal(found: ProgramRun, requests: Sequence[Request]) -> str:
    """Return what to tell the planner if a person's or a rule's refusal ended the program."""
    error = found.result.error
    if error is None or error.type != "Rejected" or not any(request["status"] == "rejected" for request in requests):
        return ""
    return f"The program ended on line {found.line}: {error.message}"


def _failed(
    run: Run,
    state: ProgramState,
    program: Program,
    requests: Sequence[Request],
    problem: str,
    result: SandboxResult | None,
) -> dict[str, Any]:
    """Give the problem to the writer of the program; after `MAX_PROGRAMS`, go on call by call."""
    if program["writer"] == "client":
        # Its whole output is kept, but the shapes below it must not be cut off.
        problem, _ = shorten(problem, CLIENT_PROBLEM)
    feedback = shortened(storable_text(f"The program failed.\n{problem}{_shapes(requests)}"), 6000)
    is_final = result is not None and result.status in UNREPAIRABLE
    if program["writer"] != "caller" or is_whole(state, program):
        number = MAX_PROGRAMS if is_final else program["number"]
        return _closed(run, state, requests, feedback, program={**program, "number": number}, end="failed")
    if program["number"] < MAX_PROGRAMS and not is_final:
        failed: Program = {**program, "status": "failed", "feedback": feedback, "end": "failed"}
        return {"program": failed, "requests": _read(requests), "usage": run.usage()}
    over: Program = {**program, "status": "over", "end": "failed"}
    step = step_of(state, requests=_read(requests), result=_summary(requests, feedback), program=over)
    return {"steps": [step], "round": state["round"] + 1, "program": over, "usage": run.usage()}


def _closed(
    run: Run,
    state: ProgramState,
    requests: Sequence[Request],
    said_last: str,
    *,
    end: ProgramEnd,
    program: Program | None = None,
) -> dict[str, Any]:
    """End the round: its step, with the requests as they came out."""
    read = [_with_body(run, request) for request in _read(requests)]
    closed: ProgramState = {**state, "api_plan": _plan_of(state, read)}
    over: Program = {**(program or _program_of(state)), "status": "over", "end": end}
    if record := of_program(state, over):
        over["feedback"] = RECEIVED.split(said_last, maxsplit=1)[0]
        said_last = said_last if end == "report" else to_planner(record, said_last)
    step = step_of(closed, requests=read, result=_summary(read, said_last), program=over)
    return {
        "requests": read,
        "steps": [step],
        "api_plan": closed["api_plan"],
        "program": over,
        "usage": run.usage(),
    }


def _with_body(run: Run, request: Request) -> Request:
    """Return a change with the start of its response as its result, because no program prints it for the planner."""
    response = request["response"]
    if seems_to_read(request) or request["result"] or not response.get("handle") or response.get("kind") == "binary":
        return request
    try:
        return {**request, "result": run.session.responses.open(response["handle"]).text(SHOWN_BODY)}
    except UnknownHandleError:
        return request


def _read(requests: Sequence[Request]) -> list[Request]:
    """Return the requests with those that were answered marked as read."""
    return [{**request, "status": "parsed"} if request["status"] == "sent" else request for request in requests]


def _plan_of(state: ProgramState, requests: Sequence[Request]) -> Any:
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


def _shapes(requests: Sequence[Request]) -> str:
    """Return the shapes of the responses, one for each operation, for a model that did not see them."""
    shapes: dict[str, str] = {}
    for request in requests:
        sketch = request["response"].get("sketch")
        if sketch:
            shapes[f"{request['operation']} (status {request['response']['status']})"] = _cut(str(sketch))
    if not shapes:
        return ""
    return f"\n{SHAPES_HEAD}\n" + "\n".join(f"{name}: {text}" for name, text in list(shapes.items())[-SHAPES:])


def _cut(shape: str) -> str:
    return shape if len(shape) <= SHAPE else f"{shape[:SHAPE].rpartition(' ')[0]} …"
