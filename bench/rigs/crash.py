"""Kills an agent in the middle of its changes, resumes it, and compares the world: nothing lost, nothing doubled.

A child process carries out a task on a simulated API, its threads in SQLite or PostgreSQL: an errand with five changes
call by call, or a job by a program. The rig kills it with SIGKILL at random moments, after every node, and right before
and after each request; then another child resumes the thread, in a part of the trials on a machine with another clock
or another version. In other trials it stops the child instead, and lets it go on after another child has finished the
run. The rig answers questions about changes of unknown outcome from the world's own log.
"""

import argparse
import json
import multiprocessing
import os
import pickle
import random
import signal
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Literal
from uuid import uuid4

import requests
from langgraph.types import Command

import restgpt
from restgpt.bench.errand import DONE, Errand, ErrandModel, playlist_errand
from restgpt.bench.rigs.job import Job, JobModel, make_jobs
from restgpt.bench.rigs.ledger import Ledger, ledger
from restgpt.bench.rigs.machine import DAY_S, HERE, HOUR_S, Machine, run_on
from restgpt.bench.rigs.postgres import NoPostgresError, postgres_server
from restgpt.calling.claim import LostClaimError
from restgpt.graph.build import Graph, build_graph
from restgpt.graph.persistence import open_persistence
from restgpt.nodes.resources import Resources
from restgpt.specs.status import is_success
from restgpt.tools.http.client import HttpClient
from restgpt.tools.network.addresses import GuardedAdapter, resolve
from restgpt.tools.settings import Secret, Settings
from restgpt.worlds import World, open_world, served_api
from restgpt.worlds.server import WorldServer, serve

PATIENCE_S = 120.0
MOST_QUESTIONS = 100
"""The maximum number of questions that a run may ask before the rig calls it endless."""

STOPPED = "stopped"
UNKNOWN = "may not have been"
CHANGED = "The target has changed"
OTHER_VERSION = "99.0"

Moment = Literal["never", "after", "node", "send", "answer", "question", "store"]
Writes = Literal["ask", "allow"]
Task = Errand | Job


@dataclass(frozen=True, slots=True)
class Kill:
    """The moment when a child dies, and the machine that it runs on.

    It dies `after` some seconds, after the nth `node`, before or after the nth request, at the nth `question`, or
    before the nth time that it uses the `store`, which must be in SQLite. With `stops` it is stopped instead, and goes
    on after the trial's last child has ended.
    """

    moment: Moment = "never"
    number: float = 0
    machine: Machine = HERE
    stops: bool = False

    def __str__(self) -> str:
        if self.stops:
            return f"stopped, not killed, {replace(self, stops=False)}"
        when = f"{self.moment} {self.number:.3g}" if self.moment != "never" else "never"
        return f"{when}{self.machine}"


@dataclass(frozen=True, slots=True)
class Trial:
    """A task and the ends of the children that carry it out; the last child lives, on the machine `last`."""

    task: Task
    kills: tuple[Kill, ...] = ()
    last: Machine = HERE

    def __str__(self) -> str:
        kills = ", then ".join(map(str, self.kills)) or "never"
        return f"killed {kills}{f', then never{self.last}' if self.last != HERE else ''}: {self.task.instruction}"


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
    `uses` counts the uses of the store, and `fenced` the stopped children that went on and then lost their claims.
    """

    answer: str = ""
    version: str = ""
    nodes: int = 0
    requests: int = 0
    killed: int = 0
    uses: int = 0
    fenced: int = 0
    seconds: float = 0.0
    unknown: int = 0
    changed: int = 0
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
            case ("uses", number):
                self.uses = number
            case "lost":
                self.fenced += 1
            case ("end", answer, nodes, version):
                self.answer, self.nodes, self.version = answer, nodes, version

    def faults(self, wanted: "Outcome", task: Task, last: Machine) -> list[str]:
        """Return what is wrong with it beside an undisturbed outcome."""
        found = [] if self.answer.strip() == DONE else [f"it ended with {self.answer!r}"]
        lost, doubled = self.ledger.lost(wanted.ledger), self.ledger.doubled(wanted.ledger)
        found += [f"lost {change}" for change in lost] + [f"doubled {change}" for change in doubled]
        # The calls of an API plan follow from each other, so their order counts; and after a change of unknown outcome
        # those behind it are dropped, planned anew and asked about again.
        found += [f"asked twice about {request}" for request in self.again if isinstance(task, Job)]
        is_same = self.ledger == wanted.ledger if isinstance(task, Job) else self._is_same(wanted)
        if not found and not is_same:
            found.append("the world is another one")
        if self.version != (last.version or restgpt.__version__):
            found.append(f"the version was {self.version}")
        return found

    def _is_same(self, wanted: "Outcome") -> bool:
        return (self.made, self.state) == (wanted.made, wanted.state)


@dataclass(slots=True)
class Tally:
    """The results of some trials; `wrong` has a line for each that lost or doubled a change, or asked twice."""

    trials: int = 0
    killed: int = 0
    fenced: int = 0
    moved: int = 0
    questions: int = 0
    asked: int = 0
    changed: int = 0
    wrong: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def add(self, outcome: Outcome, trial: Trial) -> None:
        """Count a trial."""
        self.trials += 1
        self.killed += bool(outcome.killed)
        self.fenced += outcome.fenced
        self.moved += any(machine != HERE for machine in [trial.last, *(kill.machine for kill in trial.kills)])
        self.questions += outcome.unknown
        self.asked += sum(outcome.asked.values())
        self.changed += outcome.changed

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(
            self.trials + other.trials,
            self.killed + other.killed,
            self.fenced + other.fenced,
            self.moved + other.moved,
            self.questions + other.questions,
            self.asked + other.asked,
            self.changed + other.changed,
            self.wrong + other.wrong,
            max(self.seconds, other.seconds),
        )

    def __str__(self) -> str:
        return (
            f"{self.trials} trials, {self.killed} killed or stopped in the middle, {self.fenced} of them refused when "
            f"they went on; {self.moved} went on with another clock or "
            f"version; {self.asked} approvals asked for, {self.questions} of unknown outcome, {self.changed} because "
            f"the target had changed; {len(self.wrong)} wrong; {self.seconds:.0f} s"
        )


class _DeadlyAdapter(GuardedAdapter):
    """Kills its own process at the nth request: before it goes out, or once its answer is there."""

    def __init__(self, kill: Kill, told: Connection) -> None:
        super().__init__(resolver=resolve, connect_seconds=10.0)
        self._kill = kill
        self._told = told
        self._count = 0

    def send(self, *args: Any, **kwargs: Any) -> requests.Response:
        self._count += 1
        _die_at(self._kill, "send", self._count, self._told)
        response = super().send(*args, **kwargs)
        _die_at(self._kill, "answer", self._count, self._told)
        return response


class _DeadlyStore:
    """Kills its own process before the nth time that it uses the store, which is when SQLite begins a transaction."""

    def __init__(self, kill: Kill, told: Connection) -> None:
        self._kill = kill
        self._told = told
        self.uses = 0

    def __call__(self, statement: str) -> None:
        if statement.startswith("BEGIN"):
            self.uses += 1
            _die_at(self._kill, "store", self.uses, self._told)


def _die_at(kill: Kill, moment: Moment, number: int, told: Connection) -> None:
    if (kill.moment, kill.number) == (moment, number):
        if kill.stops:
            told.send(STOPPED)
        os.kill(os.getpid(), signal.SIGSTOP if kill.stops else signal.SIGKILL)


def carry_out(
    task: Task,
    writes: Writes,
    url: str,
    control_url: str,
    home: str,
    database: str | None,
    kill: Kill,
    told: Connection,
) -> None:
    """Carry the task out as the child, from the last checkpoint of its thread, and tell the parent what happens."""
    settings = Settings(home=Path(home), database_url=Secret(database) if database else None)
    http = HttpClient(settings=settings, adapter=_DeadlyAdapter(kill, told))
    model = JobModel.over(task) if isinstance(task, Job) else ErrandModel.over(task)
    resources = Resources([served_api(task.world, url)], model=model, settings=settings, http=http)
    # PostgreSQL's locks are those of a database, and the trials that run side by side share one.
    thread = f"trial.{Path(home).name}"
    with open_persistence(settings) as kept, nullcontext() if kill.stops else kept.lock(thread):
        uses = _DeadlyStore(kill, told)
        if database is None:
            kept.store.conn.set_trace_callback(uses)  # type: ignore[attr-defined]
        graph = build_graph(resources=resources, checkpointer=kept.checkpointer, store=kept.store)
        told.send("ready")
        try:
            _drive(graph, thread, task, writes, control_url, kill, told)
        except LostClaimError:
            told.send("lost")
        told.send(("uses", uses.uses))


def settings_of(task: Task, writes: Writes) -> dict[str, Any]:
    """Return the settings of a run of a task."""
    how = {"execution": "program"} if isinstance(task, Job) else {"execution": "calls", "code": False}
    return {**how, "writes": writes}


def _drive(
    graph: Graph, thread: str, task: Task, writes: Writes, control_url: str, kill: Kill, told: Connection
) -> None:
    """Run until the end, and answer all questions."""
    config: Any = {"configurable": {"thread_id": thread}}
    options: Any = {"context": settings_of(task, writes), "durability": "sync", "stream_mode": "updates"}
    nodes = 0
    for pauses in range(1, MOST_QUESTIONS + 1):
        snapshot = graph.get_state(config)
        # `next` leaves out a task whose result was saved before the kill and whose checkpoint was not; `tasks` has it.
        if not snapshot.tasks and snapshot.values.get("answer"):
            told.send(("end", snapshot.values["answer"], nodes, restgpt.__version__))
            return
        given: Any = None if snapshot.tasks else {"instruction": task.instruction}
        waiting: list[str] = []
        if snapshot.interrupts:
            waiting = _tell(told, snapshot.interrupts)
            _die_at(kill, "question", pauses, told)
            given = Command(resume={pause.id: _decide(pause.value, control_url) for pause in snapshot.interrupts})
        for _ in graph.stream(given, config, **options):
            while waiting:
                told.send(("answered", waiting.pop()))
            nodes += 1
            _die_at(kill, "node", nodes, told)
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


def _decide(payload: Any, control_url: str) -> dict[str, Any]:
    """Approve, except what the world's log says was carried out already."""
    decisions = []
    for action in payload["action_requests"]:
        unsure = UNKNOWN in action["description"]
        done = unsure and _was_carried_out(action["request"], control_url)
        decisions.append({"type": "reject" if done else "approve"})
    return {"decisions": decisions}


def _was_carried_out(request: dict[str, Any], control_url: str) -> bool:
    with urllib.request.urlopen(f"{control_url}/log", timeout=10) as answer:
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
        self._context.set_forkserver_preload(["restgpt.bench.rigs.crash"])
        self._wanted: dict[str, Outcome] = {}

    def run(self, trial: Trial) -> Outcome:
        """Run a trial: a fresh world and thread, a child for each kill, then one that lives."""
        world = self.stage.servers[trial.task.world].world
        world.reset()
        home = f"{self.stage.home}/{uuid4().hex}"
        outcome, stopped = Outcome(), list[_Stopped]()
        for kill in [*trial.kills, Kill(machine=trial.last)]:
            if self._child(trial.task, kill, home, outcome, stopped):
                break
            outcome.killed += 1
        for child in stopped:
            outcome.fenced += child.go_on().fenced
        if stopped:
            # The thread must be where the last child left it, so that there is nothing to do any more.
            self.stage.servers[trial.task.world].settle()
            outcome.answer = ""
            self._child(trial.task, Kill(machine=trial.last), home, outcome, [])
        outcome.requests, outcome.made, outcome.state = len(world.log), _changes(world), world.snapshot()
        outcome.ledger = ledger(world)
        return outcome

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

    def _child(self, task: Task, kill: Kill, home: str, outcome: Outcome, stopped: "list[_Stopped]") -> bool:
        """Run a child until it ends, is killed or is among the `stopped`; returns whether it ended."""
        server, stage = self.stage.servers[task.world], self.stage
        ours, theirs = self._context.Pipe(duplex=False)
        database = None if stage.database is None else self._database(home)
        arguments = (task, stage.writes, server.url, server.control_url, home, database, kill)
        child = self._process(kill.machine, arguments, theirs)
        child.start()
        theirs.close()
        if not ours.poll(PATIENCE_S) or _received(ours) != "ready":
            raise RuntimeError("a child did not start")
        if kill.moment == "after" and not _listen(ours, kill.number, outcome):
            os.kill(child.pid, signal.SIGSTOP if kill.stops else signal.SIGKILL)
            is_stopped = kill.stops
        else:
            is_stopped = False
        is_over = is_stopped or _listen(ours, PATIENCE_S, outcome)
        if is_stopped or (kill.stops and not outcome.answer):
            stopped.append(_Stopped(child, ours))
            return False
        child.kill()
        child.join(PATIENCE_S)
        if not is_over:
            raise RuntimeError(f"a child did not end within {PATIENCE_S:.0f} s")
        # The next child asks the world's log what was carried out, so nothing may still be under way.
        server.settle()
        if not outcome.answer and child.exitcode != -signal.SIGKILL:
            raise RuntimeError(f"a child failed with exit code {child.exitcode}")
        return bool(outcome.answer)

    def _process(self, machine: Machine, arguments: tuple[Any, ...], told: Connection) -> Any:
        if machine == HERE:
            return self._context.Process(target=carry_out, args=(*arguments, told), daemon=True)
        call = pickle.dumps((carry_out, arguments))
        return multiprocessing.get_context("spawn").Process(target=run_on, args=(machine, call, told), daemon=True)

    def _database(self, home: str) -> str:
        """Make a schema of its own for each trial, so that trials share nothing."""
        import psycopg

        url = str(self.stage.database)
        schema = f"trial_{Path(home).name}"
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}".encode())
        return f"{url}?options=-csearch_path%3D{schema}"


@dataclass(frozen=True, slots=True)
class _Stopped:
    """A child that was stopped, and the end of its pipe."""

    child: Any
    told: Connection

    def go_on(self) -> Outcome:
        """Let the child go on until it ends; returns what it told."""
        outcome = Outcome()
        os.kill(self.child.pid, signal.SIGCONT)
        is_over = _listen(self.told, PATIENCE_S, outcome)
        self.child.kill()
        self.child.join(PATIENCE_S)
        if not is_over:
            raise RuntimeError(f"a stopped child did not end within {PATIENCE_S:.0f} s after it went on")
        return outcome


def _received(connection: Connection) -> Any:
    """Return the next message, or None after the last one."""
    try:
        return connection.recv()
    except EOFError:
        return None


def _listen(connection: Connection, seconds: float, outcome: Outcome) -> bool:
    """Note what a child tells for some seconds; returns whether it has ended or stopped itself."""
    ends = time.monotonic() + seconds
    while connection.poll(max(0.0, ends - time.monotonic())):
        message = _received(connection)
        if message in (None, STOPPED):
            return True
        outcome.hear(message)
    return False


def _changes(world: World[Any]) -> list[str]:
    """Return the changes that the world carried out, in order."""
    return [
        f"{entry.method} {entry.path} {json.dumps(entry.query)} {json.dumps(entry.body)}"
        for entry in world.log
        if entry.ok and entry.method != "GET"
    ]


@contextmanager
def open_stage(*, database: str | None = None, writes: Writes = "ask") -> Iterator[Stage]:
    """Serve the worlds for trials, with a folder for their threads."""
    with tempfile.TemporaryDirectory(prefix="restgpt-crash-") as home, ExitStack() as stack:
        servers = {name: stack.enter_context(serve(open_world(name))) for name in ("spotify", "toy")}
        yield Stage(servers, writes, home, database)


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
        if found := outcome.faults(wanted, trial.task, trial.last):
            tally.wrong.append(f"{trial}\n  {'; '.join(found)}")
            say(tally.wrong[-1])
    tally.seconds = time.monotonic() - started
    return tally


def random_trials(driver: Driver, tasks: Sequence[Task], count: int, *, seed: int = 0) -> Iterator[Trial]:
    """Kill at random moments of the tasks in turn; every fourth trial is killed twice.

    Of the trials of programs, every fourth goes on with a clock that is an hour behind.
    """
    chance = random.Random(seed)
    for number in range(count):
        task = tasks[number % len(tasks)]
        longest = 0.8 * driver.undisturbed(task).seconds
        moments = [chance.uniform(0, longest) for _ in range(3)]
        behind = Machine(ahead=-HOUR_S)
        if isinstance(task, Job) and number % 4 == 1:
            kills = (Kill("after", moments[0]), Kill("after", moments[1], behind))
            yield Trial(task, kills, last=chance.choice([behind, HERE]))
        else:
            yield Trial(task, tuple(Kill("after", moment) for moment in moments[: 2 if number % 4 == 3 else 1]))


def border_trials(task: Task, nodes: int, requests: int) -> list[Trial]:
    """Kill after each node, and before and after each request."""
    moments: list[Moment] = ["send", "answer"]
    kills = [Kill("node", number) for number in range(1, nodes + 1)]
    kills += [Kill(moment, number) for number in range(1, requests + 1) for moment in moments]
    return [Trial(task, (kill,)) for kill in kills]


def stop_trials(task: Task, found: Outcome, *, every: int = 1) -> list[Trial]:
    """Stop at every nth of: after each node, before and after each request, and before each use of the store."""
    counts: list[tuple[Moment, int]] = [
        ("node", found.nodes),
        ("send", found.requests),
        ("answer", found.requests),
        ("store", found.uses),
    ]
    kills = [Kill(moment, number, stops=True) for moment, count in counts for number in range(1, count + 1)]
    return [Trial(task, (kill,)) for kill in kills[::every]]


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
            yield from stop_trials(job, found, every=given.stops)
    if driver.stage.writes == "ask":
        yield from pause_trials([job for job in jobs[: given.pauses] if job in mine])
    # The databases and policies share the random moments.
    share = given.random // (len(given.writes) * len(given.databases))
    count = len(range(lane, share, given.lanes))
    yield from random_trials(driver, mine, count, seed=given.seed + lane)


def _call_trials(driver: Driver, given: argparse.Namespace, lane: int) -> Iterator[Trial]:
    errand = driver.stage.errand
    found = driver.undisturbed(errand)
    yield from border_trials(errand, found.nodes, found.requests)[lane :: given.lanes]
    yield from random_trials(driver, [errand], len(range(lane, given.random, given.lanes)), seed=given.seed + lane)


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
            if given.only != "programs":
                wrong += _report(f"{name}, ask, call by call", database, "ask", given, [])
            jobs = make_jobs(given.programs, seed=given.seed)
            for writes in given.writes if given.only != "calls" else ():
                wrong += _report(f"{name}, {writes}, {len(jobs)} programs", database, writes, given, jobs)
    return 1 if wrong else 0


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="crash-test", description=__doc__)
    parser.add_argument(
        "--random", type=int, default=200, help="random moments: of calls for each database; of programs in all"
    )
    parser.add_argument("--programs", type=int, default=50, help="how many different programs")
    parser.add_argument("--borders", type=int, default=2, help="how many of these are killed at every position")
    parser.add_argument("--pauses", type=int, default=10, help="how many are paused and resumed a day later")
    parser.add_argument("--stops", type=int, default=10, help="stop these at every nth position too; 0 for none")
    parser.add_argument("--only", choices=["calls", "programs"], help="leave the other trials out")
    parser.add_argument("--databases", nargs="+", default=["sqlite", "postgresql"], choices=["sqlite", "postgresql"])
    parser.add_argument("--writes", nargs="+", default=["ask", "allow"], choices=["ask", "allow"])
    parser.add_argument("--lanes", type=int, default=2, help="how many trials at a time")
    parser.add_argument("--seed", type=int, default=0)
    return parser


def _report(name: str, database: str | None, writes: Writes, given: argparse.Namespace, jobs: Sequence[Job]) -> int:
    """Run the trials of one line of the result, and print it."""
    with ExitStack() as stack, ThreadPoolExecutor(given.lanes) as pool:
        stages = [stack.enter_context(open_stage(database=database, writes=writes)) for _ in range(given.lanes)]

        def run(lane: int) -> Tally:
            driver = Driver(stages[lane])
            chosen = _program_trials(driver, jobs, given, lane) if jobs else _call_trials(driver, given, lane)
            return trials(driver, _counted(chosen, f"{name}, lane {lane + 1}"), say=print)

        tally = sum(pool.map(run, range(given.lanes)), Tally())
    print(f"{name}: {tally}", flush=True)
    return len(tally.wrong)


def _counted(chosen: Iterable[Trial], name: str) -> Iterator[Trial]:
    """Print a line after every ten trials."""
    for number, trial in enumerate(chosen, 1):
        yield trial
        if number % 10 == 0:
            print(f"  {name}: {number} trials", flush=True)
