"""Kills an agent in the middle of its changes, resumes it, and compares the world: nothing lost, nothing doubled.

A child process carries out a task on a simulated API, its threads in SQLite or PostgreSQL: an errand with five changes
call by call, a job by a program of the agent or of a client, or a recipe that was saved from one. The rig kills it with
SIGKILL at random moments, after every node, and right before and after each request; then another child resumes the
thread, in a part of the trials on a machine with another clock or another version. In other trials the rig stops the
child with SIGSTOP, lets another one take over, and continues the first one, a zombie, afterwards; or it removes lock
files, or the database, under a running child. The rig answers questions about changes of unknown outcome from the
world's own log, or approves them all as a careless person would.
"""

import argparse
import json
import multiprocessing
import os
import pickle
import random
import signal
import sqlite3
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Literal
from uuid import uuid4

import requests
from langgraph.types import Command

import restgpt
from restgpt.calling.journal.claim import LostClaimError, RemovedDatabaseError
from restgpt.graph.build import build_graph
from restgpt.graph.persistence import open_persistence
from restgpt.graph.program import build_program, ended
from restgpt.graph.recipes.build import build_recipe
from restgpt.lab.kills.job import ClientJob, Job, JobModel, make_jobs
from restgpt.lab.kills.ledger import Ledger, ledger
from restgpt.lab.kills.machine import DAY_S, HERE, HOUR_S, Machine, run_on
from restgpt.lab.kills.postgres import NoPostgresError, postgres_server
from restgpt.lab.kills.repeat import Repeat, make_repeats
from restgpt.lab.kit.errand import DONE, Errand, ErrandModel, playlist_errand
from restgpt.nodes.run.context import Context
from restgpt.nodes.run.resources import Resources
from restgpt.specs.status import is_success
from restgpt.tools.errors import StoppingError
from restgpt.tools.http.client import HttpClient
from restgpt.tools.model.scripted import ScriptedChatModel
from restgpt.tools.network.addresses import GuardedAdapter, resolve
from restgpt.tools.settings import Secret, Settings
from restgpt.worlds import World, open_world, served_api
from restgpt.worlds.server import WorldServer, serve

PATIENCE_S = 120.0
# How long a stopped child has to say that it was continued, before it is continued again.
WAKE_S = 0.1
MOST_QUESTIONS = 100
"""The maximum number of questions that a run may ask before the rig calls it endless."""

UNKNOWN = "may not have been"
CHANGED = "The target has changed"
UNSURE = "what the recipe reports may not be so"
OTHER_VERSION = "99.0"

STOPPED, WOKEN = "stopped", "woken"
"""The messages of a child that is about to stop itself, and of one that was continued."""

Moment = Literal["never", "after", "node", "send", "answer", "question", "store"]
Fate = Literal["killed", "stopped"]
Person = Literal["careful", "careless"]
Removed = Literal["", "locks", "database"]
Writes = Literal["ask", "allow"]
Task = Errand | Job
Lane = Callable[..., Iterator["Trial"]]


@dataclass(frozen=True, slots=True)
class Kill:
    """The moment when a child is killed, or stopped until the others have ended, and the machine that it runs on.

    That is `after` some seconds, after the nth `node`, before or after the nth request, at the nth `question`, or
    before the nth time that it uses the `store`, which must be in SQLite.
    """

    moment: Moment = "never"
    number: float = 0
    machine: Machine = HERE
    fate: Fate = "killed"

    def __str__(self) -> str:
        when = f"{self.fate} {self.moment} {self.number:.3g}" if self.moment != "never" else "never killed"
        return f"{when}{self.machine}"


@dataclass(frozen=True, slots=True)
class Trial:
    """A task and how the children that carry it out end; the last child is not killed, and runs on the machine `last`.

    The `person` answers the questions. Lock files or the database are `removed` while a child is stopped; without the
    database no other child takes over. A trial that is not `locked` runs as on a server, which locks no thread.
    """

    task: Task
    kills: tuple[Kill, ...] = ()
    last: Machine = HERE
    person: Person = "careful"
    removed: Removed = ""
    locked: bool = True

    def __str__(self) -> str:
        kills = ", then ".join(map(str, self.kills)) or "never killed"
        last = f", then never{self.last}" if self.last != HERE else ""
        ways = [self.person] * (self.person != "careful") + [f"without {self.removed}"] * bool(self.removed)
        ways += ["unlocked"] * (not self.locked)
        return f"{kills}{last}{' (' + ', '.join(ways) + ')' if ways else ''}: {self.task.instruction}"


@dataclass(frozen=True, slots=True)
class Stage:
    """The surroundings of trials: the served worlds, the policy for changes, and the home of the threads."""

    servers: Mapping[str, WorldServer]
    writes: Writes
    home: str
    database: str | None

    @property
    def errand(self) -> Errand:
        """The errand that is carried out call by call."""
        return playlist_errand(self.servers["spotify"].world, looks=True)


@dataclass(slots=True)
class Outcome:
    """What came of a trial, and what its children told while they ran.

    `asked` counts the questions that were answered, by request; `again` has those that came again without a reason.
    `risked` counts the changes of unknown outcome that a person approved again. `uses` counts the uses of the
    store, `fenced` the zombies that lost their claims, and `withheld` is the error of a child that ended with one.
    """

    answer: str = ""
    version: str = ""
    nodes: int = 0
    requests: int = 0
    killed: int = 0
    seconds: float = 0.0
    unknown: int = 0
    changed: int = 0
    risked: int = 0
    uses: int = 0
    fenced: int = 0
    withheld: str = ""
    asked: Counter[str] = field(default_factory=Counter)
    again: list[str] = field(default_factory=list)
    made: list[str] = field(default_factory=list)
    state: Any = None
    ledger: Ledger = field(default_factory=lambda: Ledger(Counter(), ""))

    def hear(self, told: Any) -> None:
        """Note one message of a child."""
        match told:
            case ("question", "unknown", _):
                self.unknown += 1
            case ("question", "changed", _):
                self.changed += 1
            case ("question", _, request) if self.asked[request]:
                self.again.append(request)
            case ("answered", request):
                # An answer counts once its effect is saved: one that dies with its process has to be given again.
                self.asked[request] += 1
            case ("risked",):
                self.risked += 1
            case ("withheld", error):
                self.withheld = error
            case ("uses", number):
                self.uses = number
            case ("end", answer, nodes, version):
                self.answer, self.nodes, self.version = answer, nodes, version

    def faults(self, wanted: "Outcome", trial: Trial) -> list[str]:
        """Return what is wrong with it beside an undisturbed outcome.

        A change may be there twice only as often as a person let one of unknown outcome go out once more.
        """
        task, last = trial.task, trial.last
        lost, doubled = self.ledger.lost(wanted.ledger), self.ledger.doubled(wanted.ledger)
        if trial.removed == "database":
            # A change that was not sent counts as lost unless the run ended with an error.
            is_told = RemovedDatabaseError.__name__ in self.withheld or not lost
            return [f"doubled {change}" for change in doubled] + ([] if is_told else ["it went on without database"])
        is_end = self.answer.strip() == DONE or self.is_unsure
        found = [] if is_end else [f"it ended with {self.answer or self.withheld!r}"]
        found += [f"lost {change}" for change in lost]
        found += [f"doubled {change}" for change in doubled] if len(doubled) > self.risked else []
        if self.risked:
            return found
        # The calls of an API plan follow from each other, so their order counts; and after a change of unknown outcome
        # those behind it are dropped, planned anew and asked about again.
        found += [f"asked twice about {request}" for request in self.again if isinstance(task, Job)]
        is_same = self.ledger == wanted.ledger if isinstance(task, Job) else self._is_same(wanted)
        if not found and not is_same:
            found.append("the world is another one")
        if self.version != (last.version or restgpt.__version__):
            found.append(f"the version was {self.version}")
        return found

    @property
    def is_unsure(self) -> bool:
        """Whether a recipe ended and said that it cannot know what came of a change of unknown outcome."""
        return bool(self.unknown) and UNSURE in self.answer

    def _is_same(self, wanted: "Outcome") -> bool:
        return (self.made, self.state) == (wanted.made, wanted.state)


@dataclass(slots=True)
class Tally:
    """The results of some trials; `wrong` has a line for each that lost or doubled a change, or asked twice."""

    trials: int = 0
    killed: int = 0
    moved: int = 0
    questions: int = 0
    asked: int = 0
    changed: int = 0
    zombies: int = 0
    fenced: int = 0
    risked: int = 0
    unsure: int = 0
    wrong: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def add(self, outcome: Outcome, trial: Trial) -> None:
        """Count a trial."""
        self.trials += 1
        self.killed += bool(outcome.killed)
        self.moved += any(machine != HERE for machine in [trial.last, *(kill.machine for kill in trial.kills)])
        self.questions += outcome.unknown
        self.asked += sum(outcome.asked.values())
        self.changed += outcome.changed
        self.zombies += any(kill.fate == "stopped" for kill in trial.kills)
        self.fenced += outcome.fenced
        self.risked += outcome.risked
        self.unsure += outcome.is_unsure

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(
            self.trials + other.trials,
            self.killed + other.killed,
            self.moved + other.moved,
            self.questions + other.questions,
            self.asked + other.asked,
            self.changed + other.changed,
            self.zombies + other.zombies,
            self.fenced + other.fenced,
            self.risked + other.risked,
            self.unsure + other.unsure,
            self.wrong + other.wrong,
            max(self.seconds, other.seconds),
        )

    def __str__(self) -> str:
        return (
            f"{self.trials} trials, {self.killed} killed or stopped in the middle, {self.moved} went on with another "
            f"clock or version; {self.zombies} zombies, {self.fenced} of them kept from going on; {self.asked} "
            f"approvals asked for, {self.questions} of unknown outcome, {self.risked} of these sent once more, "
            f"{self.changed} because the target had changed; {self.unsure} reports in doubt; {len(self.wrong)} wrong; "
            f"{self.seconds:.0f} s"
        )


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


class _DeadlyStore:
    """Kills or stops its own process before it uses the store for the nth time, as SQLite begins a transaction."""

    def __init__(self, kill: Kill, told: Connection) -> None:
        self._kill = kill
        self._told = told
        self.uses = 0

    def __call__(self, statement: str) -> None:
        if statement.startswith("BEGIN"):
            self.uses += 1
            _end_at(self._kill, "store", self.uses, self._told)


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
    resources = Resources(
        [served_api(task.world, url)],
        model=_model(task),
        settings=settings,
        http=http,
        defaults=Context(**settings_of(task, writes)),
    )
    # PostgreSQL's advisory locks are those of a database, and the trials of a stage share one.
    thread = f"trial.{Path(home).name}"
    told.send("ready")
    try:
        with open_persistence(settings) as kept, kept.lock(thread) if trial.locked else nullcontext():
            uses = _DeadlyStore(kill, told)
            if database is None:
                kept.store.conn.set_trace_callback(uses)  # type: ignore[attr-defined]
            graph = _graph(task, resources=resources, checkpointer=kept.checkpointer, store=kept.store)
            _drive(graph, thread, trial, control_url, kill, told)
            told.send(("uses", uses.uses))
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
    found = ended(values)
    # Below the report of a program stands what it caught.
    return found.text.partition("\n")[0] if found is not None and found.is_report else ""


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
    how = {"execution": "program"} if isinstance(task, Job) else {"execution": "calls", "code": False}
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


class Driver:
    """Runs trials on one stage; children are forked from a process that has everything imported."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["restgpt.lab.kills.crash"])
        self._wanted: dict[str, Outcome] = {}

    def run(self, trial: Trial) -> Outcome:
        """Run a trial: a fresh world and thread, a child for each kill, one without; then wake the zombies."""
        server = self.stage.servers[trial.task.world]
        server.world.reset()
        home = f"{self.stage.home}/{uuid4().hex}"
        outcome = Outcome()
        zombies: list[_Child] = []
        for kill in [*trial.kills, Kill(machine=trial.last)]:
            child = self._start(trial, kill, home)
            state = child.follow(outcome)
            # The next child asks the world's log what was carried out, so nothing may still be under way.
            server.settle()
            if state == "ended":
                break
            outcome.killed += 1
            if state == "stopped":
                zombies.append(child)
                self._remove(trial.removed, home)
            if trial.removed == "database":
                break
        for zombie in zombies:
            self._wake(zombie, trial, outcome)
        server.settle()
        if zombies and outcome.answer and trial.removed != "database":
            # The thread must be where the last child left it, so that there is nothing to do any more.
            outcome.answer = ""
            self._start(trial, Kill(machine=trial.last), home).follow(outcome)
        outcome.requests, outcome.made, outcome.state = (
            len(server.world.log),
            _changes(server.world),
            server.world.snapshot(),
        )
        outcome.ledger = ledger(server.world)
        return outcome

    def _wake(self, zombie: "_Child", trial: Trial, outcome: Outcome) -> None:
        """Continue a stopped child until it ends; it goes on with the run only where no other child could."""
        took_over = bool(outcome.answer)
        heard = Outcome() if took_over else outcome
        heard.withheld = ""
        zombie.wake(heard)
        zombie.follow(heard)
        outcome.risked += heard.risked if took_over else 0
        outcome.fenced += took_over and LostClaimError.__name__ in heard.withheld

    def _remove(self, removed: Removed, home: str) -> None:
        """Remove lock files, or the locks of PostgreSQL by ending the connections that hold them; or the database."""
        if removed == "locks" and self.stage.database is not None:
            _end_lockers(self.stage.database, _schema(home))
        elif removed == "locks":
            for file in Path(home, "locks").iterdir():
                file.unlink()
        elif removed == "database":
            for file in Path(home).glob("restgpt.db*"):
                file.unlink()

    def undisturbed(self, task: Task) -> Outcome:
        """Return the outcome of an undisturbed run, made once; the very first run is slower and does not count."""
        if task.instruction not in self._wanted:
            if not self._wanted:
                self.run(Trial(task))
            started = time.monotonic()
            outcome = self.run(Trial(task))
            outcome.seconds = time.monotonic() - started
            if outcome.answer != DONE:
                raise RuntimeError(f"the undisturbed run ended with {outcome.answer!r}: {task.instruction}")
            self._wanted[task.instruction] = outcome
        return self._wanted[task.instruction]

    def _start(self, trial: Trial, kill: Kill, home: str) -> "_Child":
        server, stage = self.stage.servers[trial.task.world], self.stage
        ours, theirs = self._context.Pipe(duplex=False)
        database = None if stage.database is None else self._database(home)
        arguments = (trial, stage.writes, server.url, server.control_url, home, database, kill)
        process = self._process(kill.machine, arguments, theirs)
        process.start()
        theirs.close()
        if not ours.poll(PATIENCE_S) or _received(ours) != "ready":
            raise RuntimeError("a child did not start")
        return _Child(process, ours, kill)

    def _process(self, machine: Machine, arguments: tuple[Any, ...], told: Connection) -> Any:
        if machine == HERE:
            return self._context.Process(target=carry_out, args=(*arguments, told), daemon=True)
        call = pickle.dumps((carry_out, arguments))
        return multiprocessing.get_context("spawn").Process(target=run_on, args=(machine, call, told), daemon=True)

    def _database(self, home: str) -> str:
        """Make a schema of its own for each trial, so that trials share nothing."""
        import psycopg

        url = str(self.stage.database)
        schema = _schema(home)
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}".encode())
        return f"{url}?options=-csearch_path%3D{schema}&application_name={schema}"


@dataclass(slots=True)
class _Child:
    """A process that carries out a trial, the connection for its messages, and when it ends."""

    process: Any
    told: Connection
    kill: Kill

    @property
    def pid(self) -> int:
        return int(self.process.pid)

    def wake(self, outcome: Outcome) -> None:
        """Continue the stopped child until it tells something; a signal that comes before it has stopped is lost."""
        ends = time.monotonic() + PATIENCE_S
        while time.monotonic() < ends:
            os.kill(self.pid, signal.SIGCONT)
            if _listen(self.told, WAKE_S, outcome):
                return
        raise RuntimeError(f"a stopped child did not go on within {PATIENCE_S:.0f} s")

    def follow(self, outcome: Outcome) -> Literal["ended", "killed", "stopped"]:
        """Record its messages until it ends, is killed or stops itself."""
        if self.kill.moment == "after" and not _listen(self.told, self.kill.number, outcome):
            self.process.kill()
        heard = _listen(self.told, PATIENCE_S, outcome)
        if heard == STOPPED:
            return "stopped"
        self.process.kill()
        self.process.join(PATIENCE_S)
        if not heard:
            raise RuntimeError(f"a child did not end within {PATIENCE_S:.0f} s")
        if outcome.answer or outcome.withheld:
            return "ended"
        if self.process.exitcode != -signal.SIGKILL:
            raise RuntimeError(f"a child failed with exit code {self.process.exitcode}")
        return "killed"


def _end_lockers(url: str, application: str) -> None:
    """End the connections of an application that hold advisory locks of PostgreSQL, as a lost network would."""
    import psycopg

    held = "pg_locks JOIN pg_stat_activity USING (pid) WHERE locktype = 'advisory' AND application_name = %s"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"SELECT pg_terminate_backend(pid) FROM {held}".encode(), (application,))


def _schema(home: str) -> str:
    """Return the name of the schema of a trial, and of its connections."""
    return f"trial_{Path(home).name}"


def _received(connection: Connection) -> Any:
    """Return the next message, or None after the last one."""
    try:
        return connection.recv()
    except EOFError:
        return None


def _listen(connection: Connection, seconds: float, outcome: Outcome) -> Literal["", "ended", "stopped", "woken"]:
    """Record the messages of a child for some seconds; returns what it told of itself, or nothing if it still runs."""
    ends = time.monotonic() + seconds
    while connection.poll(max(0.0, ends - time.monotonic())):
        message = _received(connection)
        if message is None:
            return "ended"
        if message == STOPPED:
            return "stopped"
        if message == WOKEN:
            return "woken"
        outcome.hear(message)
    return ""


def _changes(world: World[Any]) -> list[str]:
    """Return the changes that the world carried out, in order."""
    return [
        f"{entry.method} {entry.path} {json.dumps(entry.query)} {json.dumps(entry.body)}"
        for entry in world.log
        if entry.ok and entry.method != "GET"
    ]


@contextmanager
def open_stage(*, database: str | None = None, writes: Writes = "ask") -> Iterator[Stage]:
    """Serve the worlds for trials, with a folder for their threads, or a new database on the server of `database`.

    Stages share no database: an index that one creates waits for all transactions of the database, and so for a child
    that another has stopped in one.
    """
    with tempfile.TemporaryDirectory(prefix="restgpt-crash-") as home, ExitStack() as stack:
        servers = {name: stack.enter_context(serve(open_world(name))) for name in ("spotify", "toy")}
        yield Stage(servers, writes, home, database and _new_database(database))


def _new_database(url: str) -> str:
    """Create a database on the server of a database, and return its URL."""
    import psycopg

    name = f"stage_{uuid4().hex}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    return f"{url.rpartition('/')[0]}/{name}"


def trials(driver: Driver, chosen: Iterable[Trial], *, say: Callable[[str], None] = lambda text: None) -> Tally:
    """Run trials, and compare each world with that of an undisturbed run."""
    started = time.monotonic()
    tally = Tally()
    for trial in chosen:
        wanted = driver.undisturbed(trial.task)
        outcome = driver.run(trial)
        while trial.kills and not outcome.killed and trial.kills[0].moment == "after":
            # The run ended before the kill, because the machine is less busy than when it was measured.
            trial = replace(trial, kills=tuple(replace(kill, number=0.7 * kill.number) for kill in trial.kills))
            outcome = driver.run(trial)
        tally.add(outcome, trial)
        if found := outcome.faults(wanted, trial):
            tally.wrong.append(f"{trial}\n  {'; '.join(found)}")
            say(tally.wrong[-1])
    tally.seconds = time.monotonic() - started
    return tally


def random_trials(driver: Driver, tasks: Sequence[Task], count: int, *, seed: int = 0) -> Iterator[Trial]:
    """Kill at random moments of the tasks in turn; every fourth trial is killed twice.

    Every fourth goes on with a clock that is an hour behind, and every third has a careless person.
    """
    chance = random.Random(seed)
    for number in range(count):
        task = tasks[number % len(tasks)]
        longest = 0.8 * driver.undisturbed(task).seconds
        moments = [chance.uniform(0, longest) for _ in range(3)]
        behind = Machine(ahead=-HOUR_S)
        person: Person = "careless" if number % 3 == 2 else "careful"
        if number % 4 == 1:
            kills = (Kill("after", moments[0]), Kill("after", moments[1], behind))
            yield Trial(task, kills, last=chance.choice([behind, HERE]), person=person)
        else:
            several = tuple(Kill("after", moment) for moment in moments[: 2 if number % 4 == 3 else 1])
            yield Trial(task, several, person=person)


def border_trials(task: Task, nodes: int, requests: int) -> list[Trial]:
    """Kill after each node, and before and after each request."""
    moments: list[Moment] = ["send", "answer"]
    kills = [Kill("node", number) for number in range(1, nodes + 1)]
    kills += [Kill(moment, number) for number in range(1, requests + 1) for moment in moments]
    return [Trial(task, (kill,)) for kill in kills]


def zombie_trials(task: Task, found: Outcome, *, has_file: bool = True, every: int = 1) -> Iterator[Trial]:
    """Stop the child at every nth position, and continue it when another one has ended.

    The positions are after each node, before and after each request, and before each use of the store, if it is a file.
    The trials run in turn as on a server, which locks no thread; with lock files that are removed under the first
    child, which approves carelessly; and with a database that is removed, if it is a file.
    """
    ways: list[tuple[Removed, Person]] = [("", "careful"), ("locks", "careless"), ("", "careless")]
    ways += [("database", "careful")] if has_file else []
    stops = [trial.kills[0] for trial in border_trials(task, found.nodes, found.requests)]
    stops += [Kill("store", number) for number in range(1, found.uses + 1)] if has_file else []
    for number, stop in enumerate(stops[::every]):
        removed, person = ways[number % len(ways)]
        yield Trial(task, (replace(stop, fate="stopped"),), person=person, removed=removed, locked=bool(removed))


def pause_trials(tasks: Sequence[Task]) -> Iterator[Trial]:
    """End the process at a question, and answer it a day later in another version of the package."""
    later = Machine(ahead=DAY_S, version=OTHER_VERSION)
    for number, task in enumerate(tasks):
        yield Trial(task, (Kill("question", 2 + number % 2),), last=later)


def _program_trials(driver: Driver, jobs: Sequence[Job], given: argparse.Namespace, lane: int) -> Iterator[Trial]:
    """Yield the trials of one lane, which has every nth job."""
    mine = jobs[lane :: given.lanes]
    # A program with few changes has few positions.
    short = sorted(jobs, key=lambda job: job.changes)[: given.borders]
    for job in [job for job in short if job in mine]:
        found = driver.undisturbed(job)
        yield from border_trials(job, found.nodes, found.requests)
        if given.stops:
            yield from zombie_trials(job, found, has_file=driver.stage.database is None, every=given.stops)
    if driver.stage.writes == "ask":
        yield from pause_trials([job for job in jobs[: given.pauses] if job in mine])
    # The databases and policies share the random moments.
    share = given.random // (len(given.writes) * len(given.databases))
    count = len(range(lane, share, given.lanes))
    yield from random_trials(driver, mine, count, seed=given.seed + lane)


def _all_border_trials(driver: Driver, tasks: Sequence[Task], given: argparse.Namespace, lane: int) -> Iterator[Trial]:
    """Yield the trials of one lane, which kills every nth recipe, or client's program, at every position."""
    for task in tasks[lane :: given.lanes]:
        found = driver.undisturbed(task)
        yield from border_trials(task, found.nodes, found.requests)


def _call_trials(driver: Driver, given: argparse.Namespace, lane: int) -> Iterator[Trial]:
    errand = driver.stage.errand
    found = driver.undisturbed(errand)
    borders = border_trials(errand, found.nodes, found.requests)
    if given.stops:
        borders += zombie_trials(errand, found, has_file=driver.stage.database is None, every=given.stops)
    yield from borders[lane :: given.lanes]
    count = len(range(lane, given.random // len(given.writes), given.lanes))
    yield from random_trials(driver, [errand], count, seed=given.seed + lane)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run all trials on SQLite, and on PostgreSQL where there is one; 1 if any trial went wrong."""
    given = _options().parse_args(arguments)
    wrong = 0
    for name in given.databases:
        with ExitStack() as stack:
            try:
                database = stack.enter_context(postgres_server()) if name == "postgresql" else None
            except (NoPostgresError, ImportError) as error:
                print(f"{name}: skipped, {error}")
                continue
            jobs = make_jobs(given.programs, seed=given.seed)
            repeats = make_repeats(given.recipes, seed=given.seed) if given.only in (None, "recipes") else []
            for writes in given.writes:
                if given.only in (None, "calls"):
                    wrong += _report(f"{name}, {writes}, call by call", database, writes, given, _call_trials)
                if given.only in (None, "programs"):
                    lane = partial(_program_trials, jobs=jobs)
                    wrong += _report(f"{name}, {writes}, {len(jobs)} programs", database, writes, given, lane)
                if given.only in (None, "recipes"):
                    lane = partial(_all_border_trials, tasks=repeats)
                    wrong += _report(f"{name}, {writes}, {len(repeats)} recipes", database, writes, given, lane)
                if given.only in (None, "clients"):
                    lane = partial(_all_border_trials, tasks=[ClientJob.of(job) for job in jobs[: given.clients]])
                    wrong += _report(f"{name}, {writes}, programs of clients", database, writes, given, lane)
    return 1 if wrong else 0


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="crash-test", description=__doc__)
    parser.add_argument(
        "--random", type=int, default=200, help="random moments: of calls for each database; of programs in all"
    )
    parser.add_argument("--programs", type=int, default=50, help="how many different programs")
    parser.add_argument(
        "--recipes", type=int, default=20, help="how many different recipes, all killed at every position"
    )
    parser.add_argument("--clients", type=int, default=4, help="how many programs of clients, killed at every position")
    parser.add_argument("--borders", type=int, default=2, help="how many programs are killed at every position")
    parser.add_argument("--pauses", type=int, default=10, help="how many are paused and resumed a day later")
    parser.add_argument("--stops", type=int, default=5, help="stop children at every nth position; 0 for none")
    parser.add_argument(
        "--only", choices=["calls", "programs", "recipes", "clients"], help="leave the other trials out"
    )
    parser.add_argument("--databases", nargs="+", default=["sqlite", "postgresql"], choices=["sqlite", "postgresql"])
    parser.add_argument("--writes", nargs="+", default=["ask", "allow"], choices=["ask", "allow"])
    parser.add_argument("--lanes", type=int, default=2, help="how many trials at a time")
    parser.add_argument("--seed", type=int, default=0)
    return parser


def _report(name: str, database: str | None, writes: Writes, given: argparse.Namespace, lane_of: Lane) -> int:
    """Run the trials of one line of the result, and print it."""
    with ExitStack() as stack, ThreadPoolExecutor(given.lanes) as pool:
        stages = [stack.enter_context(open_stage(database=database, writes=writes)) for _ in range(given.lanes)]

        def run(lane: int) -> Tally:
            driver = Driver(stages[lane])
            return trials(
                driver, _counted(lane_of(driver, given=given, lane=lane), f"{name}, lane {lane + 1}"), say=print
            )

        tally = sum(pool.map(run, range(given.lanes)), Tally())
    print(f"{name}: {tally}", flush=True)
    return len(tally.wrong)


def _counted(chosen: Iterable[Trial], name: str) -> Iterator[Trial]:
    """Print a line after every ten trials."""
    for number, trial in enumerate(chosen, 1):
        yield trial
        if number % 10 == 0:
            print(f"  {name}: {number} trials", flush=True)
