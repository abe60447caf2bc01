"""The child of a trial: carries the task out from its last checkpoint, tells its parent so, and ends itself on time."""

import json
import os
import signal
import sqlite3
import urllib.request
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import requests
from langgraph.types import Command

import restgpt
from lab.kills.crash.trial import Kill, Moment, Task, Trial, Writes
from lab.kills.job import ClientJob, Job, JobModel
from lab.kills.repeat import Repeat
from lab.kit.errand import ErrandModel
from restgpt.graph.build import build_graph
from restgpt.graph.persistence import open_persistence
from restgpt.graph.recipe_graph import build_recipe
from restgpt.graph.single import build_program
from restgpt.nodes.run.services import Context, Services
from restgpt.outcome import Ran
from restgpt.specs.problem import is_success
from restgpt.tools.errors import StoppingError
from restgpt.tools.http.addresses import GuardedAdapter, resolve
from restgpt.tools.http.http_client import HttpClient
from restgpt.tools.model.scripted import ScriptedChatModel
from restgpt.tools.settings import Secret, Settings
from restgpt_bench.worlds import served_api

MOST_QUESTIONS = 100
"""The maximum number of questions that a run may ask before the rig calls it endless."""

UNKNOWN = "may not have been"
CHANGED = "The target has changed"

STOPPED, WOKEN = "stopped", "woken"
"""The messages of a child that is about to stop itself, and of one that was continued."""


class _DeadlyAdapter(GuardedAdapter):
    """Kills or stops its own process at the nth request: before it goes out, or once its answer is there."""

    def __init__(self, kill: Kill, told: Connection) -> None:
        super().__init__(resolver=resolve, connect_seconds=10.0)
        self._kill = kill
        self._told = told
        self._count = 0

    def send(self, *args: Any, **kwargs: Any) -> requests.Response:
        self._count += 1
        _end_at(self._kill, "send", self._count, self._told)
        response = super().send(*args, **kwargs)
        _end_at(self._kill, "answer", self._count, self._told)
        return response


def _end_at(kill: Kill, moment: Moment, number: int, told: Connection) -> None:
    if (kill.moment, kill.number) != (moment, number):
        return
    if kill.fate == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    told.send(STOPPED)
    os.kill(os.getpid(), signal.SIGSTOP)
    told.send(WOKEN)


def carry_out(
    trial: Trial,
    writes: Writes,
    url: str,
    control_url: str,
    home: str,
    database: str | None,
    kill: Kill,
    told: Connection,
) -> None:
    """Carry the task out as the child, from the last checkpoint of its thread, and tell the parent what happens."""
    task = trial.task
    settings = Settings(home=Path(home), database_url=Secret(database) if database else None)
    http = HttpClient(settings=settings, adapter=_DeadlyAdapter(kill, told))
    services = Services(
        [served_api(task.world, url)],
        model=_model(task),
        settings=settings,
        http=http,
        defaults=Context(**settings_of(task, writes)),
    )
    thread = "trial"
    told.send("ready")
    try:
        with open_persistence(settings) as kept, kept.lock(thread) if trial.locked else nullcontext():
            uses: list[str] = []

            def used(statement: str) -> None:
                """Note each use of the store, which SQLite begins with a transaction, and die at the nth."""
                if statement.startswith("BEGIN"):
                    uses.append(statement)
                    _end_at(kill, "store", len(uses), told)

            if database is None:
                kept.store.conn.set_trace_callback(used)  # type: ignore[attr-defined]
            graph = _graph(task, services=services, checkpointer=kept.checkpointer, store=kept.store)
            _drive(graph, thread, trial, control_url, kill, told)
            told.send(("uses", len(uses)))
    except _withholding(database) as error:
        told.send(("withheld", f"{type(error).__name__}: {error}"))


def _model(task: Task) -> ScriptedChatModel | None:
    """Return the model of a task; a recipe and a client's program have none."""
    if isinstance(task, Repeat | ClientJob):
        return None
    return JobModel.over(task) if isinstance(task, Job) else ErrandModel.over(task)


def _graph(task: Task, **options: Any) -> Any:
    if isinstance(task, ClientJob):
        return build_program(**options)
    return build_recipe(task.recipe, **options) if isinstance(task, Repeat) else build_graph(**options)


def _given(task: Task) -> dict[str, Any]:
    """Return the input of the graph that begins a task."""
    if isinstance(task, ClientJob):
        return {"code": task.code}
    return {"inputs": task.recipe.examples} if isinstance(task, Repeat) else {"instruction": task.instruction}


def _answer(task: Task, values: Mapping[str, Any]) -> str:
    """Return the answer of a task that has ended; empty before, and for a client's program that ended in an error."""
    if not isinstance(task, ClientJob):
        return str(values.get("answer") or "")
    found = Ran.of(values)
    # Below the report of a program stands what it caught.
    return found.text.partition("\n")[0] if found is not None and found.ok else ""


def _withholding(database: str | None) -> tuple[type[Exception], ...]:
    """Return the errors with which a run does not go on, the wait for a process that is stopped in a transaction too.

    Such a process keeps its locks until it goes on: SQLite locks the whole file, PostgreSQL the rows that were written.
    """
    if database is None:
        return StoppingError, sqlite3.OperationalError
    from psycopg.errors import LockNotAvailable

    return StoppingError, LockNotAvailable


def settings_of(task: Task, writes: Writes) -> dict[str, Any]:
    """Return the settings of a run of a task."""
    how = {"road": "program"} if isinstance(task, Job) else {"road": "roles", "code": False}
    return {**how, "writes": writes}


def _drive(graph: Any, thread: str, trial: Trial, control_url: str, kill: Kill, told: Connection) -> None:
    """Run until the end, and answer all questions."""
    config: Any = {"configurable": {"thread_id": thread}}
    options: Any = {"durability": "sync", "stream_mode": "updates"}
    nodes = 0
    for pauses in range(1, MOST_QUESTIONS + 1):
        snapshot = graph.get_state(config)
        # `next` leaves out a task whose result was saved before the kill and whose checkpoint was not; `tasks` has it.
        if not snapshot.tasks and (answer := _answer(trial.task, snapshot.values)):
            told.send(("end", answer, nodes, restgpt.__version__))
            return
        given: Any = None if snapshot.tasks else _given(trial.task)
        waiting: list[str] = []
        if snapshot.interrupts:
            waiting = _tell(told, snapshot.interrupts)
            _end_at(kill, "question", pauses, told)
            log = f"{control_url}/log" if trial.person == "careful" else ""
            given = Command(resume={pause.id: _decide(pause.value, log, told) for pause in snapshot.interrupts})
        for _ in graph.stream(given, config, **options):
            while waiting:
                told.send(("answered", waiting.pop()))
            nodes += 1
            _end_at(kill, "node", nodes, told)
    told.send(("end", f"no end after {MOST_QUESTIONS} questions", nodes, restgpt.__version__))


def _tell(told: Connection, pauses: Iterable[Any]) -> list[str]:
    """Tell the parent of all questions; returns the requests of those that must not be asked again."""
    plain = []
    for action in (action for pause in pauses for action in pause.value["action_requests"]):
        reason = {UNKNOWN: "unknown", CHANGED: "changed"}
        why = next((name for words, name in reason.items() if words in action["description"]), "")
        request = json.dumps([action["request"][name] for name in ("method", "url", "body")])
        told.send(("question", why, request))
        plain += [] if why else [request]
    return plain


def _decide(payload: Any, log_url: str, told: Connection) -> dict[str, Any]:
    """Approve, except what the world's log says was carried out already; a careless person has no log."""
    decisions = []
    for action in payload["action_requests"]:
        unsure = UNKNOWN in action["description"]
        done = unsure and log_url and _was_carried_out(action["request"], log_url)
        decisions.append({"type": "reject" if done else "approve"})
        if unsure and not done:
            told.send(("risked",))
    return {"decisions": decisions}


def _was_carried_out(request: dict[str, Any], log_url: str) -> bool:
    with urllib.request.urlopen(log_url, timeout=10) as answer:
        log = json.load(answer)
    path, _, query = request["url"].partition("?")
    return any(
        entry["method"] == request["method"]
        and path.endswith(entry["path"])
        and (entry["body"] or None) == (request["body"] or None)
        and all(f"{name}={value}" in query for name, value in entry["query"].items())
        and is_success(entry["status"])
        for entry in log
    )
