"""Save the finished run of a thread as a recipe: from its state and the kept answers, without a model."""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any, cast

from langgraph.store.base import BaseStore

from restgpt.calling.decision import EDITED
from restgpt.calling.policy import Writes
from restgpt.calling.record import CallSite, Request, seems_to_read, succeeded
from restgpt.nodes.dialogue.conversation import said
from restgpt.nodes.programs.log import entry_of
from restgpt.nodes.run.services import Services
from restgpt.nodes.state.recipe_run import current, is_of_recipe, kept_by
from restgpt.nodes.state.records import Program, Step
from restgpt.recipes.recipe import Recipe
from restgpt.recipes.recording.finished import FinishedCall, FinishedRun, NotSavableError
from restgpt.recipes.recording.saving import saved
from restgpt.specs import Catalogue
from restgpt.tools.response.store import ResponseStore, UnknownHandleError
from restgpt.tools.text.quotation import named as shown

_WORD = re.compile(r"[A-Za-z_]\w*", re.ASCII)

STOPPED = {
    "stopped": "its program stopped with a sentence instead of a report",
    "unknown": "it is a dry run that ended where it needed an answer that nobody has",
    "rejected": "its program ended at a change that was rejected",
    "failed": "its program failed",
    "budget": "the time or the requests of the instruction were used up",
}
"""Why the run of a program has no report, by how it ended."""


def save_run(
    values: Mapping[str, Any],
    services: Services,
    *,
    name: str,
    store: BaseStore,
    thread: str,
    description: str = "",
) -> Recipe:
    """Return the newest turn of a thread as a recipe; `values` is the state of its checkpoint.

    Raises NotSavableError with the reason why it cannot be saved.
    """
    steps = _steps(values)
    _check_over(values, steps, thread)
    catalogue = services.catalogue(services.defaults.apis)
    reading = _Reading(catalogue, ResponseStore(store, cache=services.bodies), services.defaults.writes)
    run = _program_of(values, steps, reading)
    return saved(
        run,
        name=name,
        at=datetime.fromtimestamp(services.now(), UTC).isoformat(timespec="seconds"),
        by=_version(),
        description=description,
        redactor=services.http.redactor(*catalogue.apis),
    )


def _version() -> str:
    try:
        return f"restgpt {version('restgpt')}"
    except PackageNotFoundError:
        return "restgpt"


def _steps(values: Mapping[str, Any]) -> list[Step]:
    """Return the steps of the newest turn."""
    newest = int(values.get("turn") or 0)
    return [step for step in values.get("steps") or () if step["turn"] == newest]


def _check_over(values: Mapping[str, Any], steps: Sequence[Step], thread: str) -> None:
    """Raise NotSavableError for a turn that is not over, that failed, or that called nothing."""
    where = f"The newest run of the thread {shown(thread)}"
    waiting = [request for request in values.get("requests") or () if request["status"] in ("asked", "approved")]
    if any(request["status"] == "asked" for request in waiting):
        raise NotSavableError(
            f"{where} is paused: a request waits for a decision. Finish it with: restgpt resume {thread}"
        )
    decision = values.get("decision") or {}
    if decision.get("kind") != "end" or waiting:
        raise NotSavableError(f"{where} is not finished. Finish it with: restgpt resume {thread}")
    ends = [end for step in steps if (made := step.get("program")) and (end := made.get("end"))]
    if ends and ends[-1] in STOPPED and (ends[-1] == "unknown" or not decision.get("fulfilled", True)):
        raise NotSavableError(f"{where} cannot be saved: {STOPPED[ends[-1]]}.")
    if not decision.get("fulfilled", True):
        raise NotSavableError(f"{where} cannot be saved: it did not fulfil the instruction.")
    if steps and is_of_recipe(steps[-1]):
        raise NotSavableError(f"{where} was made by a recipe, which exists already.")
    if not any(step["requests"] for step in steps):
        raise NotSavableError(f"{where} cannot be saved: it called no operation of an API.")


class _Reading:
    """Reads the records of calls, with their kept answers; `writes` is the setting of the run."""

    def __init__(self, catalogue: Catalogue, responses: ResponseStore, writes: Writes) -> None:
        self.catalogue = catalogue
        self.writes = writes
        self._responses = responses

    def call(self, request: Request, position: str) -> FinishedCall:
        """Return a call at a position of the program. Raises NotSavableError if its answer cannot be used."""
        _check_outcome(request)
        operation = self.catalogue.lookup(request["operation"])
        if operation is None:
            raise NotSavableError(
                f"The run called {shown(request['operation'])}, which is no operation of the configured APIs now."
            )
        function = self.catalogue.function_name(operation)
        handle = request["response"].get("handle")
        if handle:
            try:
                self._responses.open(handle)
            except UnknownHandleError:
                raise NotSavableError(
                    f"The answer to {function} is not kept any more, so the program cannot run over it again. Run the "
                    "instruction once more, and save that run."
                ) from None
        place: CallSite = request.get("place") or {"position": "", "line": 0, "source": "", "program": 0, "digest": ""}
        entry = entry_of(self._responses, request, place, position)
        return FinishedCall(function, request["arguments"], not seems_to_read(request), operation, entry)

    def bodies(self, requests: Iterable[Request]) -> tuple[Any, ...]:
        """Return the kept answers to requests that are JSON or text."""
        found = []
        for handle in dict.fromkeys(request["response"].get("handle") for request in requests):
            try:
                body = self._responses.open(handle) if handle else None
            except UnknownHandleError:
                continue
            if body is not None and not body.is_binary:
                found.append(body.value)
        return tuple(found)

    def notes(self) -> str:
        """Return the user's notes on the APIs."""
        return "\n".join(api.notes for api in self.catalogue.apis if api.notes)


def _check_outcome(request: Request) -> None:
    """Raise NotSavableError for a call without a usable outcome."""
    name = shown(request["operation"])
    if request["status"] == "rejected":
        raise NotSavableError(f"The run cannot be saved: {name} was rejected. {request['note']}".strip())
    if request["note"] == EDITED:
        raise NotSavableError(
            f"A person edited the arguments of {name} at the approval, so the program does not contain what was sent. "
            "Ask again with the edited values in the instruction, and save that run."
        )
    if request["status"] == "held" or seems_to_read(request):
        return
    if not request["response"]:
        raise NotSavableError(
            f"The run cannot be saved: nobody knows whether the change {name} was made. {request['note']}".strip()
        )
    if not succeeded(request):
        status = request["response"].get("status")
        raise NotSavableError(f"The run cannot be saved: the change {name} failed with status {status}.")


def _program_of(values: Mapping[str, Any], steps: Sequence[Step], reading: _Reading) -> FinishedRun:
    """Return the run of the one program that carried out the instruction; raises NotSavableError without one."""
    last = steps[-1]
    program, requests = last.get("program"), [request for step in steps for request in step["requests"]]
    tasks = {step["task"] for step in steps if step["requests"]}
    if program is None or program.get("end") != "report" or len(tasks) > 1 or not _is_answer(values, last):
        for request in requests:
            _check_outcome(request)
        raise NotSavableError(
            "The run cannot be saved: no single program made its calls and printed its answer. Ask again with programs "
            "(road: program), for everything in one instruction, and save that run."
        )
    own = {
        request["id"]: place["position"]
        for request in last["requests"]
        if (place := request.get("place")) and place["program"] == program["number"]
    }
    positions = {**{key: position for position, key in program["taken"].items()}, **own}
    _check_complete(requests, positions)
    made = [request for request in requests if request["id"] in positions]
    made.sort(key=lambda item: int(positions[item["id"]]))
    calls = [reading.call(item, positions[item["id"]]) for item in made]
    earlier = [item for step in values["steps"] for item in step["requests"] if item["id"] not in own]
    return _finished(values, reading, program, calls, reading.bodies(earlier))


def _is_answer(values: Mapping[str, Any], step: Step) -> bool:
    """Return whether the report of a program is the answer, and not what a model made of it."""
    answer = str(values.get("answer") or "")
    first = step["result"].partition("\n")[0]
    return (bool(first) and answer.startswith(first)) or any(item["status"] == "held" for item in step["requests"])


def _check_complete(requests: Iterable[Request], positions: Mapping[str, str]) -> None:
    """Raise NotSavableError if an earlier program made a change that the last one does not contain."""
    for request in requests:
        if request["id"] not in positions and not seems_to_read(request):
            _check_outcome(request)
            raise NotSavableError(
                f"The run cannot be saved: an earlier program made the change {shown(request['operation'])}, which the "
                "last program does not make. Run the instruction again, and save that run."
            )


def _finished(
    values: Mapping[str, Any],
    reading: _Reading,
    program: Program,
    calls: Sequence[FinishedCall],
    seen: tuple[Any, ...] = (),
) -> FinishedRun:
    called = {call.function for call in calls}
    functions = reading.catalogue.functions
    return FinishedRun(
        code=program["code"],
        clock=program["clock"],
        seed=program["seed"],
        calls=tuple(calls),
        # A healed run may have values of its recipe, which a user had said when that was saved.
        said="\n".join([said(cast(Any, values)), *kept_by(current(values))]),
        instruction=str(values["instruction"]),
        seen=seen,
        notes=reading.notes(),
        writes=reading.writes,
        others={
            name: functions[name]
            for name in dict.fromkeys(_WORD.findall(program["code"]))
            if name in functions and name not in called
        },
    )
