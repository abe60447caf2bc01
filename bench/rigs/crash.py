"""Kills an agent in the middle of its changes, resumes it, and compares the world: nothing lost, nothing doubled.

A child process carries out an errand with five changes on the simulated Spotify, its threads in SQLite or PostgreSQL.
The rig kills it with SIGKILL at random moments, after every node, and right before and after each request; then another
child resumes the thread. The rig answers questions about changes of unknown outcome from the world's own log.
"""

import argparse
import json
import multiprocessing
import os
import random
import signal
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Literal
from uuid import uuid4

import requests
from langgraph.types import Command

from restgpt.bench.errand import DONE, Errand, ErrandModel, playlist_errand
from restgpt.bench.rigs.postgres import NoPostgresError, postgres_server
from restgpt.graph.build import Graph, build_graph
from restgpt.graph.persistence import open_persistence
from restgpt.nodes.resources import Resources
from restgpt.specs.status import is_success
from restgpt.tools.http.client import HttpClient
from restgpt.tools.network.addresses import GuardedAdapter, resolve
from restgpt.tools.settings import Secret, Settings
from restgpt.worlds import World, open_world, served_api
from restgpt.worlds.server import WorldServer, serve

THREAD = "errand.1"
PATIENCE_S = 60.0

Moment = Literal["never", "after", "node", "send", "answer"]


@dataclass(frozen=True, slots=True)
class Kill:
    """The moment when a child dies: `after` some seconds, after the nth `node`, before or after the nth request."""

    moment: Moment = "never"
    number: float = 0

    def __str__(self) -> str:
        return f"{self.moment} {self.number:.3g}" if self.moment != "never" else "never"


@dataclass(frozen=True, slots=True)
class Stage:
    """The surroundings of trials: the served world, the errand, and the home of the threads."""

    server: WorldServer
    errand: Errand
    home: str
    database: str | None


@dataclass(slots=True)
class Tally:
    """The results of some trials; `wrong` has a line for each that lost or doubled a change."""

    trials: int = 0
    killed: int = 0
    questions: int = 0
    wrong: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def __str__(self) -> str:
        return (
            f"{self.trials} trials, {self.killed} killed in the middle, {self.questions} asked about a change of "
            f"unknown outcome, {len(self.wrong)} wrong, {self.seconds:.0f} s"
        )


class _DeadlyAdapter(GuardedAdapter):
    """Kills its own process at the nth request: before it goes out, or once its answer is there."""

    def __init__(self, kill: Kill) -> None:
        super().__init__(resolver=resolve, connect_seconds=10.0)
        self._kill = kill
        self._count = 0

    def send(self, *args: Any, **kwargs: Any) -> requests.Response:
        self._count += 1
        if self._kill == Kill("send", self._count):
            _die()
        response = super().send(*args, **kwargs)
        if self._kill == Kill("answer", self._count):
            _die()
        return response


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def carry_out(
    errand: Errand, url: str, control_url: str, home: str, database: str | None, kill: Kill, told: Connection
) -> None:
    """Carry the errand out as the child, from the last checkpoint of its thread, and send the outcome to the parent."""
    settings = Settings(home=Path(home), database_url=Secret(database) if database else None)
    http = HttpClient(settings=settings, adapter=_DeadlyAdapter(kill))
    api = served_api(errand.world, url)
    resources = Resources([api], model=ErrandModel.over(errand), settings=settings, http=http)
    with open_persistence(settings) as kept, kept.lock(THREAD):
        graph = build_graph(resources=resources, checkpointer=kept.checkpointer, store=kept.store)
        told.send("ready")
        told.send(_drive(graph, errand, control_url, kill))


def _drive(graph: Graph, errand: Errand, control_url: str, kill: Kill) -> dict[str, Any]:
    """Run until the end: the answer, how many questions of unknown outcome were asked, how many nodes there were."""
    config: Any = {"configurable": {"thread_id": THREAD}}
    options: Any = {"context": {"execution": "calls", "code": False}, "durability": "sync", "stream_mode": "updates"}
    nodes = questions = 0
    while True:
        snapshot = graph.get_state(config)
        # `next` leaves out a task whose result was saved before the kill and whose checkpoint was not; `tasks` has it.
        if not snapshot.tasks and snapshot.values.get("answer"):
            return {"answer": snapshot.values["answer"], "questions": questions, "nodes": nodes}
        given: Any = None if snapshot.tasks else {"instruction": errand.instruction}
        if snapshot.interrupts:
            questions += sum("may not have been" in str(pause.value) for pause in snapshot.interrupts)
            given = Command(resume={pause.id: _decide(pause.value, control_url) for pause in snapshot.interrupts})
        for _ in graph.stream(given, config, **options):
            nodes += 1
            if kill == Kill("node", nodes):
                _die()


def _decide(payload: Any, control_url: str) -> dict[str, Any]:
    """Approve, except what the world's log says was carried out already."""
    decisions = []
    for action in payload["action_requests"]:
        unsure = "may not have been" in action["description"]
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

    def run(self, kills: list[Kill]) -> tuple[dict[str, Any], int, list[str]]:
        """One trial: a fresh world and thread, a child for each kill, then one that lives.

        Returns the outcome of the last child, the number of killed ones, and the successful changes in the world's log.
        """
        world = self.stage.server.world
        world.reset()
        home = f"{self.stage.home}/{uuid4().hex}"
        outcome, killed = None, 0
        for kill in [*kills, Kill()]:
            outcome = self._child(kill, home)
            if outcome is not None:
                break
            killed += 1
        return outcome or {"answer": "", "questions": 0}, killed, _changes(world)

    def _child(self, kill: Kill, home: str) -> dict[str, Any] | None:
        """Run a child until it ends or is killed; returns its outcome, or None if it was killed."""
        server, stage = self.stage.server, self.stage
        ours, theirs = self._context.Pipe(duplex=False)
        database = None if stage.database is None else self._database(home)
        arguments = (stage.errand, server.url, server.control_url, home, database, kill, theirs)
        child = self._context.Process(target=carry_out, args=arguments, daemon=True)
        child.start()
        theirs.close()
        try:
            if not ours.poll(PATIENCE_S) or ours.recv() != "ready":
                raise RuntimeError("a child did not start")
            if kill.moment == "after" and not ours.poll(kill.number):
                child.kill()
            child.join(PATIENCE_S)
            if child.is_alive():
                child.kill()
                raise RuntimeError(f"a child did not end within {PATIENCE_S:.0f} s")
            outcome: dict[str, Any] | None = ours.recv() if ours.poll() else None
        except EOFError:
            outcome = None
        child.join(PATIENCE_S)
        # The next child asks the world's log what was carried out, so nothing may still be under way.
        server.settle()
        if outcome is None and child.exitcode != -signal.SIGKILL:
            raise RuntimeError(f"a child failed with exit code {child.exitcode}")
        return outcome

    def _database(self, home: str) -> str:
        """A schema of its own for each trial, so that trials share nothing."""
        import psycopg

        url = str(self.stage.database)
        schema = f"trial_{Path(home).name}"
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}".encode())
        return f"{url}?options=-csearch_path%3D{schema}"


def _changes(world: World[Any]) -> list[str]:
    """The changes that the world carried out, in order."""
    return [
        f"{entry.method} {entry.path} {json.dumps(entry.query)} {json.dumps(entry.body)}"
        for entry in world.log
        if entry.ok and entry.method != "GET"
    ]


@contextmanager
def open_stage(*, database: str | None = None) -> Iterator[Stage]:
    """Serve a Spotify for trials, with a folder for their threads."""
    world = open_world("spotify")
    with tempfile.TemporaryDirectory(prefix="restgpt-crash-") as home, serve(world) as server:
        yield Stage(server, playlist_errand(world, looks=True), home, database)


def trials(stage: Stage, kills: list[list[Kill]], *, say: Callable[[str], None] = lambda text: None) -> Tally:
    """Run trials, each with its kills, and compare each world with that of an undisturbed run."""
    started = time.monotonic()
    driver, tally = Driver(stage), Tally()
    told, _, wanted = driver.run([])
    state = stage.server.world.snapshot()
    if told["answer"] != DONE:
        raise RuntimeError("the undisturbed run did not succeed")
    for trial in kills:
        told, killed, made = driver.run(trial)
        while not killed and trial[0].moment == "after":
            # The run ended before the kill, because the machine is less busy than when it was measured.
            trial = [Kill("after", 0.7 * kill.number) for kill in trial]
            told, killed, made = driver.run(trial)
        tally.trials += 1
        tally.killed += bool(killed)
        tally.questions += told["questions"]
        if told["answer"] != DONE or made != wanted or stage.server.world.snapshot() != state:
            lost, doubled = len(set(wanted) - set(made)), len(made) - len(set(made))
            tally.wrong.append(f"killed {', '.join(map(str, trial))}: {lost} lost, {doubled} doubled")
            say(tally.wrong[-1])
    tally.seconds = time.monotonic() - started
    return tally


def random_kills(count: int, longest: float, *, seed: int = 0) -> list[list[Kill]]:
    """Random moments within a run; every fourth trial is killed twice."""
    chance = random.Random(seed)
    return [
        [Kill("after", chance.uniform(0, longest)) for _ in range(2 if number % 4 == 3 else 1)]
        for number in range(count)
    ]


def border_kills(nodes: int, requests: int) -> list[list[Kill]]:
    """A kill after each node, and before and after each request."""
    moments: list[Moment] = ["send", "answer"]
    kills = [Kill("node", number) for number in range(1, nodes + 1)]
    kills += [Kill(moment, number) for number in range(1, requests + 1) for moment in moments]
    return [[kill] for kill in kills]


@dataclass(frozen=True, slots=True)
class Measure:
    """An undisturbed run: its nodes, its requests, and its seconds without the start of the process."""

    nodes: int
    requests: int
    seconds: float


def measure(stage: Stage) -> Measure:
    """Measure an undisturbed run; the first one is slower and does not count."""
    driver = Driver(stage)
    driver.run([])
    started = time.monotonic()
    told, _, _ = driver.run([])
    return Measure(told["nodes"], len(stage.server.world.log), time.monotonic() - started)


def main() -> int:
    """Run all trials on SQLite, and on PostgreSQL where there is one; 1 if anything was lost or doubled."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--random", type=int, default=200, help="how many random moments")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    wrong = 0
    for name in ("SQLite", "PostgreSQL"):
        with ExitStack() as stack:
            try:
                database = stack.enter_context(postgres_server()) if name == "PostgreSQL" else None
            except (NoPostgresError, ImportError) as error:
                print(f"{name}: skipped, {error}")
                continue
            stage = stack.enter_context(open_stage(database=database))
            wrong += _report(name, stage, given.random, given.seed)
    return 1 if wrong else 0


def _report(name: str, stage: Stage, count: int, seed: int) -> int:
    found = measure(stage)
    borders = trials(stage, border_kills(found.nodes, found.requests), say=print)
    print(f"{name}, every border: {borders}", flush=True)
    moments = trials(stage, random_kills(count, 0.8 * found.seconds, seed=seed), say=print)
    print(f"{name}, random moments: {moments}", flush=True)
    return len(borders.wrong) + len(moments.wrong)
