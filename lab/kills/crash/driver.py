"""Runs trials: starts children, kills or stops them, wakes the zombies, and reads from the world what came of it."""

import multiprocessing
import os
import pickle
import signal
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Literal
from uuid import uuid4

from lab.kills.crash.child import STOPPED, WOKEN, carry_out
from lab.kills.crash.trial import Kill, Outcome, Removed, Task, Trial, Writes
from lab.kills.ledger import changes_of, ledger
from lab.kills.machine import HERE, Machine, run_on
from lab.kit.errand import DONE, Errand, playlist_errand
from restgpt.calling.claim import LostClaimError
from restgpt_bench.worlds import open_world
from restgpt_bench.worlds.server import WorldServer, serve

PATIENCE_S = 120.0
# How long a stopped child has to say that it was continued, before it is continued again.
WAKE_S = 0.1


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


class Driver:
    """Runs trials on one stage; children are forked from a process that has everything imported."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload([carry_out.__module__])
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
            outcome.counts["killed"] += 1
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
        if self.stage.database is not None:
            with _connected(self.stage.database) as connection:
                connection.execute(f"DROP DATABASE {_name(home)} WITH (FORCE)".encode())
        world = server.world
        outcome.requests, outcome.made, outcome.state = len(world.log), changes_of(world), world.snapshot()
        outcome.ledger = ledger(world)
        return outcome

    def _wake(self, zombie: "_Child", trial: Trial, outcome: Outcome) -> None:
        """Continue a stopped child until it ends; it goes on with the run only where no other child could."""
        took_over = bool(outcome.answer)
        heard = Outcome() if took_over else outcome
        heard.withheld = ""
        zombie.wake(heard)
        zombie.follow(heard)
        outcome.counts["risked"] += heard.counts["risked"] if took_over else 0
        outcome.counts["fenced"] += took_over and LostClaimError.__name__ in heard.withheld

    def _remove(self, removed: Removed, home: str) -> None:
        """Remove lock files, or the locks of PostgreSQL by ending the connections that hold them; or the database."""
        if removed == "locks" and self.stage.database is not None:
            _end_lockers(self._database(home))
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
        # A spawned process does not import the `__main__` of a package, so nothing is imported before its clock is set.
        call = pickle.dumps((carry_out, arguments))
        on = (machine, self.stage.home, call, told)
        return multiprocessing.get_context("spawn").Process(target=run_on, args=on, daemon=True)

    def _database(self, home: str) -> str:
        """Make a database of its own for each trial, so that trials share nothing; return its URL.

        An index that one creates would wait for all transactions of the database, and so for another's stopped child.
        """
        url, name = str(self.stage.database), _name(home)
        with _connected(url) as connection:
            if not connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", (name,)).fetchone():
                connection.execute(f"CREATE DATABASE {name}".encode())
        return f"{url.rpartition('/')[0]}/{name}"


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


def _name(home: str) -> str:
    """Return the name of the database of a trial."""
    return f"trial_{Path(home).name}"


def _connected(url: str) -> Any:
    import psycopg

    return psycopg.connect(url, autocommit=True)


def _end_lockers(url: str) -> None:
    """End the connections that hold advisory locks of PostgreSQL in a database, as a lost network would."""
    held = "pg_locks JOIN pg_stat_activity USING (pid) WHERE locktype = 'advisory' AND datname = current_database()"
    with _connected(url) as connection:
        connection.execute(f"SELECT pg_terminate_backend(pid) FROM {held}".encode())


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


@contextmanager
def open_stage(*, database: str | None = None, writes: Writes = "ask") -> Iterator[Stage]:
    """Serve the worlds for trials, with a folder for their threads; `database` is that of a PostgreSQL server."""
    with tempfile.TemporaryDirectory(prefix="restgpt-crash-") as home, ExitStack() as stack:
        servers = {name: stack.enter_context(serve(open_world(name))) for name in ("spotify", "toy")}
        yield Stage(servers, writes, home, database)
