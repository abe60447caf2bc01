"""Kills and stops instances of a server while many runs change a world: no change lost, none made twice unasked.

Each run makes two changes, and a person approves both. A client submits the runs to the instances in turn; if one is
gone or does not answer, the client submits the same run to another one, as the server has no queue. One instance is
killed again and again; another one is stopped with SIGSTOP, and continues later with runs that others have finished
in the meantime. The clock of the last one is an hour behind. The world's log says what arrived.
"""

import argparse
import random
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields
from itertools import count
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args
from uuid import UUID, uuid5

import requests

from lab.kills.instances import Instance, instances
from lab.kills.lots import WORLD, lot, lot_of_change
from lab.kills.postgres import NoPostgresError, postgres_server
from lab.kit.errand import DONE
from lab.kit.process import MissingServerError
from lab.kit.tally import Tally, say
from restgpt_bench.worlds import World, open_world
from restgpt_bench.worlds.server import serve

SPACE = UUID("5f0c3f0e-3c1b-4c8e-9d55-6f1d3f8f2f11")
"""The namespace of thread and run ids, so that a lot has the same ids at every submission."""

UNKNOWN = "may not have been"
"""The words of a question about a change whose earlier try has no known outcome."""

PATIENCE_S = 180.0
"""How long the first run of an instance may take, in seconds."""

REST_S = 5.0
"""How long clients leave an instance alone that was gone or did not answer, in seconds."""

MOST_SUBMISSIONS = 200
"""How often a client submits one run before the rig gives it up."""


class Change(NamedTuple):
    """One change as it is counted: of a lot, by its method."""

    lot: int
    method: str


@dataclass(frozen=True, slots=True)
class Plan:
    """How many runs there are, on how many instances, by how many clients at a time, and what happens to these.

    An instance is killed when it has been up for `kill_every` seconds, another one is stopped for `stop_for` seconds
    (0: never), and the clock of the last one is `behind`; a client waits with `patience`, in seconds too.
    """

    runs: int = 500
    instances: int = 3
    clients: int = 8
    kill_every: float = 3.0
    stop_for: float = 60.0
    patience: float = 15.0
    behind: float = 3600.0
    writes: Literal["ask", "allow"] = "ask"
    person: Literal["careful", "careless"] = "careful"
    seed: int = 0


class Clients:
    """Clients that submit runs to the instances in turn, and a person who answers the questions.

    A careless person approves everything. A careful one looks into the world about a change of unknown outcome, and
    rejects it if it was made.
    """

    def __init__(self, plan: Plan, served: Sequence[Instance], world: World[Any]) -> None:
        self._plan = plan
        self._served = served
        self._world = world
        self._turn = count()
        self._rests: dict[str, float] = {}
        self._lock = threading.Lock()
        self.counts: Counter[str] = Counter()
        self.unknown: Counter[Change] = Counter()
        self.unfinished: list[int] = []

    def carry_out(self, number: int) -> None:
        """Submit a run until it has ended, and answer its questions."""
        anew = {"input": {"instruction": lot(number).instruction}}
        given: dict[str, Any] = anew
        for attempt in range(MOST_SUBMISSIONS):
            answer = self._submit(number, given, again=attempt > 0 and "input" in given)
            if answer is not None and answer.get("__interrupt__"):
                given = {"command": {"resume": self._decide(number, answer["__interrupt__"])}}
                continue
            if answer is not None and str(answer.get("answer", "")).strip() == DONE:
                return
            # The same run id: the server goes on from the last checkpoint, if there is one.
            given = anew
            time.sleep(0.2)
        with self._lock:
            self.unfinished.append(number)

    def warm_up(self) -> None:
        """Let each instance carry out a run that may change nothing: the first one takes longer, and does not count."""
        given = {"input": {"instruction": lot(self._plan.runs).instruction}, "context": {"writes": "deny"}}
        for number, instance in enumerate(self._served):
            _posted(instance, f"warm-up {number}", given, PATIENCE_S).raise_for_status()

    def _submit(self, number: int, given: Mapping[str, Any], *, again: bool) -> dict[str, Any] | None:
        """Return the output of a run, or None if the instance is gone, refuses the run or does not answer in time."""
        instance = self._next()
        with self._lock:
            self.counts["submissions"] += 1
            self.counts["of them again"] += again
        metadata = {"metadata": {"run_id": str(uuid5(SPACE, f"run {number}"))}}
        body = {"config": metadata, "context": {"writes": self._plan.writes}, **given}
        try:
            answer = _posted(instance, f"thread {number}", body, self._plan.patience)
        except requests.RequestException:
            self._rests[instance.url] = time.monotonic() + REST_S
            return None
        found: dict[str, Any] | None = answer.json() if answer.status_code == 200 else None
        return found

    def _next(self) -> Instance:
        """Return the next instance in turn, but one that answered lately, if there is one."""
        for _ in self._served:
            instance = self._served[next(self._turn) % len(self._served)]
            if self._rests.get(instance.url, 0.0) < time.monotonic():
                break
        return instance

    def _decide(self, number: int, pauses: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
        """Return the decisions by the id of the pause, so that a late submission cannot answer another question."""
        return {
            pause["id"]: {"decisions": [self._decision(number, action) for action in pause["value"]["action_requests"]]}
            for pause in pauses
        }

    def _decision(self, number: int, action: Mapping[str, Any]) -> dict[str, Any]:
        change = Change(number, action["request"]["method"])
        is_unsure = UNKNOWN in action["description"]
        with self._lock:
            self.counts["questions"] += 1
            self.unknown[change] += is_unsure
        if is_unsure and self._plan.person == "careful" and arrivals(self._world)[change]:
            return {"type": "reject", "message": "It was made."}
        return {"type": "approve"}


def _posted(instance: Instance, thread: str, body: Mapping[str, Any], patience: float) -> requests.Response:
    """Let an instance carry out a run on a thread, and wait for it."""
    url = f"{instance.url}/threads/{uuid5(SPACE, thread)}/runs/wait"
    return requests.post(url, json={"assistant_id": "restgpt", **body}, timeout=(2.0, patience))


def arrivals(world: World[Any]) -> Counter[Change]:
    """Return how often each change of a lot arrived at the world and was carried out."""
    found: Counter[Change] = Counter()
    for entry in list(world.log):
        number = lot_of_change(entry.body)
        if number is not None and entry.ok and entry.method != "GET":
            found[Change(number, entry.method)] += 1
    return found


def judge(runs: int, made: Counter[Change], asked: Counter[Change], tally: Tally) -> None:
    """Tell changes that are lost, and those doubled without a question; count those doubled after one."""
    wanted = [Change(number, method) for number in range(runs) for method in ("POST", "PATCH")]
    tally.wrong += [f"lost: {change.method} of lot {change.lot}" for change in wanted if not made[change]]
    doubled = sorted(change for change in made if made[change] > 1 + asked[change])
    tally.wrong += [f"doubled: {change.method} of lot {change.lot}" for change in doubled]
    tally.counts["doubled after a question"] += sum(1 < made[one] <= 1 + asked[one] for one in made)


@contextmanager
def trouble(plan: Plan, served: Sequence[Instance], counts: Counter[str]) -> Iterator[None]:
    """Kill the first instance whenever it has been up for some seconds, and stop the second one now and then."""
    over, chance = threading.Event(), random.Random(plan.seed)

    def kill(instance: Instance) -> None:
        while not over.wait(plan.kill_every):
            counts["kills"] += 1
            instance.end()
            instance.start()
            while not instance.is_up() and not over.wait(0.2):
                pass

    def stop(instance: Instance) -> None:
        """Stop it at a random moment; after it has continued, it works for a while."""
        while not over.wait(chance.uniform(1.0, 4.0)):
            counts["stops"] += 1
            instance.signal(signal.SIGSTOP)
            over.wait(plan.stop_for)
            instance.signal(signal.SIGCONT)

    lanes = [(kill, served[0])] if plan.kill_every else []
    lanes += [(stop, served[1])] if plan.stop_for and len(served) > 1 else []
    threads = [threading.Thread(target=lane, args=(instance,), daemon=True) for lane, instance in lanes]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()


def scale(plan: Plan, *, say: Callable[[str], None] = lambda text: None, keep: Path | None = None) -> Tally:
    """Carry out all runs of a plan; raises `NoPostgresError` and `MissingServerError` where these are missing."""
    with ExitStack() as stack:
        folder = keep or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="restgpt-scale-")))
        folder.mkdir(parents=True, exist_ok=True)
        database = stack.enter_context(postgres_server())
        server = stack.enter_context(serve(open_world(WORLD)))
        served = stack.enter_context(
            instances(plan.instances, database=database, api_url=server.url, folder=folder, behind=plan.behind)
        )
        say(f"{plan.instances} instances are up")
        clients = Clients(plan, served, server.world)
        clients.warm_up()
        started = time.monotonic()
        with trouble(plan, served, clients.counts), ThreadPoolExecutor(plan.clients) as pool:
            for number, _ in enumerate(pool.map(clients.carry_out, range(plan.runs)), 1):
                if number % 10 == 0:
                    say(f"  {number} runs, {time.monotonic() - started:.0f} s")
        tally = Tally(Counter(runs=plan.runs), seconds=time.monotonic() - started)
        _settle(server.world)
        tally.counts.update(clients.counts)
        tally.counts["of unknown outcome"] = clients.unknown.total()
        tally.counts["late changes refused"] = _refused(database)
        tally.counts.update(_journal(database))
        tally.wrong += [f"run {number} has no end" for number in sorted(clients.unfinished)]
        judge(plan.runs, arrivals(server.world), clients.unknown, tally)
        return tally


def _settle(world: World[Any], quiet: float = 3.0) -> None:
    """Wait until nothing has arrived for some seconds, so that the requests of continued instances are there."""
    while True:
        before = len(world.log)
        time.sleep(quiet)
        if len(world.log) == before:
            return


def _refused(database: str) -> int:
    """Return how many runs ended because another one had claimed their change."""
    import psycopg

    with psycopg.connect(database) as connection:
        found = connection.execute("SELECT count(*) FROM runs WHERE error_message LIKE '%taken over%'").fetchone()
    return int(found[0]) if found else 0


def _journal(database: str) -> dict[str, int]:
    """Return how many entries of the journal have an outcome, by its status, and how many have none."""
    from langgraph.store.postgres import PostgresStore

    from restgpt.calling.journal import journals

    with PostgresStore.from_conn_string(database) as store:
        outcomes = [entry["outcome"] for entry in journals(store)]
    return dict(Counter(f"in the journal {outcome['status'] if outcome else 'unknown'}" for outcome in outcomes))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a plan and print its tally; 1 if a change was lost or doubled, 2 if a server is missing."""
    parser = argparse.ArgumentParser(prog="scale-test", description=__doc__)
    for item in fields(Plan):
        choices, kind = get_args(item.type), type(item.default)
        parser.add_argument(
            f"--{item.name.replace('_', '-')}", type=kind, default=item.default, choices=choices or None
        )
    parser.add_argument("--keep", type=Path, help="folder for the logs of the instances")
    given = vars(parser.parse_args(arguments))
    keep = given.pop("keep")
    try:
        tally = scale(Plan(**given), say=say, keep=keep)
    except (NoPostgresError, MissingServerError) as error:
        print(error)
        return 2
    print(tally, *tally.wrong, sep="\n  ")
    return 1 if tally.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
