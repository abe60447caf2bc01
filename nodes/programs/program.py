"""Programs: a model's Python makes the calls of a sub-task. It runs as far as its next calls, which the graph sends.

At calls without an answer the parser carries them out as it does those of an API plan. The program waits in its process
meanwhile, or, if the node ends, runs again from its start with the answers so far. So it waits for a person, or
survives a crash, like any other part of a run.

Programs of a client: opens a run whose program comes with the input, not from a model of the agent.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from restgpt.calling.record import Request
from restgpt.nodes.dialogue.conversation import answered_apis
from restgpt.nodes.programs.calls import WORD, entries, functions_of, left, made_in_turn, maker, offered, stub
from restgpt.nodes.programs.ending import Ending, as_read, changes_text, close, failure, program_of, report, shapes
from restgpt.nodes.run.run import Run
from restgpt.nodes.state.recipe_run import of_program
from restgpt.nodes.state.records import Program, Writer, spent_since
from restgpt.nodes.state.results import of_round, of_turn, shortened
from restgpt.nodes.state.state import State
from restgpt.prompts import render
from restgpt.specs import Operation
from restgpt.specs.problem import BarredOperationError
from restgpt.tools.errors import ArgumentError, UnfinishedProgramError
from restgpt.tools.sandbox.code import WAIT, program_code
from restgpt.tools.sandbox.result import ProgramRun, Status
from restgpt.tools.sandbox.runner import LIMITS, MOST_NAMES, run_program, sandbox_version
from restgpt.tools.text.storable import storable_text
from restgpt.tools.tracing.telemetry import annotate

MOST_ARGUMENTS = 5_000_000
"""The maximum number of characters of the arguments of all calls of a sub-task's programs, as JSON."""

CLIENT_LIMITS = replace(LIMITS, shown=LIMITS.output)
"""The limits of one run of a client's program: its whole output is kept, because a client reads it in pages."""

MOST_WRONG, NEAR = 10, 20
"""How many unknown names of a program a large API is searched for, and how many functions each search gives."""

_CALLED = re.compile(r"\b([A-Za-z_]\w*)\(", re.ASCII)

OTHER_VERSION = "The program began under another version of RestGPT, which may run it otherwise, so it does not go on."
"""Why a program ends that was resumed after an upgrade, if calls of it were answered."""

NOTHING_DONE = "Nothing could be done."
"""The report of a program that printed nothing but left something undone."""

UNREPAIRABLE = frozenset({Status.SANDBOX_UNAVAILABLE, Status.INTERNAL_ERROR})
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
        "code": program_code(storable_text(code)),
        "writer": writer,
        "number": number,
        "is_last": is_last,
        "clock": before["clock"] if before else run.now(),
        "seed": before["seed"] if before else run.turn_id,
        "version": sandbox_version(),
        "is_checked": False,
        "taken": {},
        "status": "running",
        "feedback": "",
        "seen": sorted(seen),
    }
    if before is not None and (claims := [*before.get("insists", ()), *before.get("refused", ())]):
        program["insists"] = claims
    return program if functions is None else {**program, "functions": list(functions)}


def program_text(run: Run, report: str) -> str:
    """Return how a program is written, for a prompt; `report` is the prompt on what it prints."""
    shown = 4 * run.context.result_budget
    return render("program", report=render(report), requests=f"{run.context.max_requests:,}", shown=f"{shown:,}")


def is_running(program: Program | None) -> bool:
    """Return whether the current round is carried out by a program that has not ended."""
    return program is not None and program["status"] == "running"


def may_write(run: Run, state: State) -> bool:
    """Return whether the caller writes a program for this round, and not the arguments of its calls."""
    if not run.writes_programs:
        return False
    if any(request["round"] == state["round"] and "place" not in request for request in state["requests"]):
        return False  # The round began call by call, before the run's setting was changed.
    program = state.get("program")
    return program is None or program["status"] != "over"


def advance(run: Run, state: State) -> dict[str, Any]:
    """Run the program as far as its next calls or its end, and return the update of the state."""
    requests = of_round(state)
    outcome = _outcome(run, state, program_of(state), requests)
    return close(run, state, outcome) if isinstance(outcome, Ending) else outcome


def _outcome(run: Run, state: State, program: Program, requests: Sequence[Request]) -> Ending | dict[str, Any]:
    """Return how the program ended, or the update with the next calls."""
    spent = spent_since(state["baseline"], state["usage"])
    if spent["seconds"] >= run.context.max_seconds:
        annotate(program=program["number"], program_calls=0, program_end="budget")
        return _late(run, program, requests)
    for request in requests:
        if request["status"] == "sent":
            run.learn(request, made_in_turn(state))
    requests = as_read(requests)
    if requests and program["version"] != sandbox_version():
        return failure(program, requests, OTHER_VERSION, is_final=True)
    found = _run(run, state, program, requests)
    taken = {**program["taken"], **found.taken}
    program = {**program, "is_checked": found.kind != "refused", "taken": taken}
    if found.claims:
        program["refused"] = list(found.claims)
    annotate(program=program["number"], program_calls=len(found.calls), program_end=found.kind)
    match found.kind:
        case "calls":
            return _handed_over(run, state, program, requests, found)
        case "finished" if found.result.ok:
            return report(run, state, program, requests, found.result.output.strip(), left=found.left)
        case "finished" | "failed" if found.result.status is Status.NO_OUTPUT:
            value, changes = found.result.output.strip(), changes_text(state, program, requests)
            if text := "\n".join(filter(None, [changes, value])):
                is_raw = not changes and value.startswith(("{", "["))
                return report(run, state, program, requests, text, left=found.left, is_raw=is_raw)
            if found.left:
                return report(run, state, program, requests, NOTHING_DONE, left=found.left)
        case "stopped":
            room = run.context.result_budget * 4
            shown = f"\nIt shows: {shortened(found.value, room)}" if found.value else ""
            before = f"\nIt had printed: {printed}" if (printed := found.result.output.strip()) else ""
            text = f"The program stopped: {found.text}{shown}{shortened(before, max(0, room - len(shown)))}"
            text += shapes(requests, shown=of_turn(state), room=max(0, room - len(text)))
            return Ending("stopped", text, program, requests)
        case "unknown":
            text = (
                f"What would come next is not known: it depends on the response to {found.function}, which a dry run "
                f"does not send (line {found.line}: {found.source})."
            )
            return Ending("unknown", text, program, requests)
    if found.kind == "budget" and not left(run, state):
        return Ending("budget", found.problem, program, requests)
    error = found.result.error
    if error is not None and error.type == "Rejected" and any(item["status"] == "rejected" for item in requests):
        return Ending("rejected", f"The program ended on line {found.line}: {error.message}", program, requests)
    is_final = found.result.status in UNREPAIRABLE
    names = dict.fromkeys(WORD.findall(found.problem))
    barred = [str(BarredOperationError(name, rule)) for name in names if (rule := run.catalogue.bars(name))]
    return failure(program, requests, "\n".join([found.problem, *barred]), is_final=is_final)


def _late(run: Run, program: Program, requests: Sequence[Request]) -> Ending:
    text = f"The program was stopped, because the time for this instruction is used up: {run.context.max_seconds:g} s."
    return Ending("budget", text, program, requests)


def _run(run: Run, state: State, program: Program, requests: Sequence[Request]) -> ProgramRun:
    known, recipe = functions_of(run, state, program), of_program(state, program)
    used = [name for name in dict.fromkeys(WORD.findall(program["code"])) if name in known]
    # Of a corrected program only names and arguments are checked, and a recipe may be one.
    check: Literal["", "names", "fields"] = "fields" if program["number"] == 1 and recipe is None else "names"
    is_first, insists = not program["is_checked"], program.get("insists", ())
    return run_program(
        program["code"],
        functions=used,
        entries=offered(entries(run, state, program, requests)),
        clock=program["clock"],
        seed=program["seed"],
        most=left(run, state),
        polls=_polls(program, requests),
        check=check if is_first else "",
        stubs=[stub(known[name], name, reads=run.rules.reads, insists=insists) for name in used] if is_first else (),
        names=_near_first(run, program["code"], known) if is_first else (),
        limits=run.limits(CLIENT_LIMITS if program["writer"] == "client" else LIMITS),
        inputs=recipe["inputs"] if recipe else None,
        is_dry=run.context.writes == "dry-run",
        live=state.get("live"),  # type: ignore[arg-type]  # a key of the parser alone
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
    run: Run, state: State, program: Program, requests: Sequence[Request], found: ProgramRun
) -> Ending | dict[str, Any]:
    """Draft the calls that the program waits for; if one cannot be made, none is made, and the program has failed.

    A list for whose pages the budget has no room beside those of other lists waits until these have answers.
    """
    number, waits = program["number"], {**program.get("waits", {})}
    calls, polls = [call for call in found.calls if call.function != WAIT], _polls(program, requests)
    for wait in found.calls:
        if wait.function == WAIT and wait.position not in waits:
            waits[wait.position] = (run.services.now() + wait.seconds, run.now() + wait.seconds)
    if waits:
        program = {**program, "waits": waits}
    known = {place["position"] for item in requests if (place := item.get("place")) and place["program"] == number}
    make = maker(run, state, program, len(requests))
    spare = left(run, state) - len(calls)
    made: list[Request] = []
    problems: list[str] = []
    claims: list[str] = []
    for call in calls:
        if run.left() <= 0:
            return _late(run, program, requests)
        try:
            if call.position in known:
                raise ValueError("the call at this place was answered already")
            request = make(call, len(made) + 1)
            if call.digest in polls:
                request["place"]["poll"] = polls[call.digest]
        except (ArgumentError, ValueError) as error:
            problems.append(f"Line {call.line}: {call.source}\n{call.function}: {error}")
            claims += error.claims if isinstance(error, ArgumentError) else ()
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
        refused: Program = {**program, "refused": claims}
        return failure(refused, requests, "\n".join(problems[:5]))
    return {"requests": [*requests, *made], "program": program, "usage": run.usage()}


def _polls(program: Program, requests: Sequence[Request]) -> dict[str, int]:
    """Return the digests of the reads after which a program has waited, each with how often it was made."""
    if not (waits := program.get("waits")):
        return {}
    waited = max(map(int, waits))
    places = [place for item in requests if item["safe"] and (place := item.get("place"))]
    made = [place for place in places if place["program"] == program["number"]]
    newest = {place["digest"]: int(place["position"]) for place in made}
    times = Counter(place["digest"] for place in made)
    return {digest: times[digest] for digest, position in newest.items() if position < waited}


THOUGHT = "A client gave the program."


def corrected(state: Any, thread: str) -> Program | None:
    """Return the program of the thread that a new one corrects: one that ended without a report.

    Raises `UnfinishedProgramError` for a program that has not ended: what it has changed so far has no step yet, so
    another program would make these changes once more.
    """
    before: Program | None = state.get("program")
    if is_running(before):
        raise UnfinishedProgramError(thread)
    return before if before is not None and before.get("end") != "report" else None


def client_update(
    run: Run, state: State, code: str, *, before: Program | None = None, operations: Sequence[str] | None = None
) -> dict[str, Any]:
    """Return the update that has the parser run a client's program; `before` is the one that it corrects.

    A corrected program belongs to the same sub-task, so that it gets the answers of the changes that were made. Its
    budget is a new one. `operations` limits the functions that it may call; raises `UnknownOperationError`.
    """
    functions = None
    if operations is not None:
        functions = [run.catalogue.function_name(run.catalogue.operation(name)) for name in operations]
    # The model behind a client may have seen every answer so far.
    seen = answered_apis(state["steps"], messages=state["messages"])
    number = before["number"] + 1 if before else 1
    program = written(
        run, code, writer="client", number=number, is_last=True, before=before, seen=seen, functions=functions
    )
    return {
        "decision": {"kind": "program", "text": program["code"], "thought": THOUGHT, "last": True},
        "plan": "",
        "task": state["task"] if before else state["task"] + 1,
        "round": state["round"] + 1,
        "api_plan": {"calls": [], "reason": THOUGHT},
        "program": program,
        "hint": "",
        "answer": "",
        "baseline": state["usage"],
        "usage": run.usage(),
    }
