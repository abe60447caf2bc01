"""What a run says whose recipe stopped: why, what was changed until then, and what to do.

The log of a program: the answers that a run of it gets, of its own calls and of those of earlier programs.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal

from restgpt.calling.record import UNSENT, CallSite, Request, is_done, seems_to_read
from restgpt.nodes.dialogue.conversation import is_answered
from restgpt.nodes.run.run import Run
from restgpt.nodes.state.recipe_run import recipe_of
from restgpt.nodes.state.records import Program, RecipeRun, spent_since
from restgpt.nodes.state.results import result_of
from restgpt.nodes.state.state import State
from restgpt.specs.status import is_success
from restgpt.tools.response.content import Body
from restgpt.tools.response.store import ResponseStore, UnknownHandleError
from restgpt.tools.sandbox.result import Entry
from restgpt.tools.sandbox.runner import LIMITS


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
    return "\n".join(
        [
            f"The recipe {name} stopped after it had sent changes. {reason}",
            "Sent until then:",
            result_of(changes),
            f"`restgpt undo {thread}` takes back what can be taken back.",
        ]
    )


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
                entry = replace(entry, media="empty", body=b"", note="Its answer is too large to be read again.")
        given.append(entry)
    return given


def entries(run: Run, state: State, program: Program, requests: Sequence[Request]) -> Iterator[tuple[Request, Entry]]:
    """Yield the answers of the program's own calls, and those of earlier programs of the sub-task that it may take.

    A read before a change shows what there was, so it is made again; and a client's next program comes at any time. A
    program that waits in its process gets what was answered since.
    """
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
    note = response["notices"][0] if "outcome_unknown" in request else response.get("failure", "")
    return Entry(position, key, digest, given, response["status"], headers, media, raw, note)


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
    sent = spent_since(state["baseline"], state["usage"])["requests"]
    unsent = {request["id"] for request in made_in_turn(state) if request["status"] in ("rejected", "held")}
    return max(0, run.context.max_requests - max(sent, len(unsent)))
