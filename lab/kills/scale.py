"""Kills and stops instances of a server while many runs change a world: no change lost, none made twice unasked.

Each run makes two changes, and a person approves both. A client submits the runs to the instances in turn; if one is
gone or does not answer, the client submits the same run to another one, as the server has no queue. One instance is
killed again and again; another one is stopped with SIGSTOP, and continues later with runs that others have finished
in the meantime. The clock of the last one is an hour behind. The world's log says what arrived.
"""

import argparse
import json
import random
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, Literal, NamedTuple
from uuid import UUID, uuid5

import requests

from lab.kills.instances import Instance, NoAegraError, instances
from lab.kills.lots import CHANGES, WORLD, lot, lot_of_change
from lab.kills.postgres import NoPostgresError, postgres_server
from lab.kit.errand import DONE
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

Person = Literal["careful", "careless"]


class Change(NamedTuple):
    """One change as it is counted: of a lot, by its method."""

    lot: int
    method: str


@dataclass(frozen=True, slots=True)
class Plan:
    """How many runs there are, on how many instances, and what happens to these."""

    runs: int = 500
    count: int = 3
    clients: int = 8
    kill_every: float = 3.0
    stop_for: float = 60.0
    patience: float = 15.0
    behind: float = 3600.0
    writes: Literal["ask", "allow"] = "ask"
    person: Person = "careful"
    seed: int = 0


@dataclass(slots=True)
class Verdict:
    """What became of the runs, by the world's log, the journal and what the clients saw.

    `lost` and `doubled` are changes of lots. `doubled_after_question` has the changes that a person approved again
    although the question said that the change may have been made.
    """

    runs: int = 0
    seconds: float = 0.0
    kills: int = 0
    stops: int = 0
    submissions: int = 0
    resubmissions: int = 0
    questions: int = 0
    unknown: int = 0
    refused: int = 0
    unfinished: list[int] = field(default_factory=list)
    lost: list[Change] = field(default_factory=list)
    doubled: list[Change] = field(default_factory=list)
    doubled_after_question: list[Change] = field(default_factory=list)
    journal: dict[str, int] = field(default_factory=dict)

    @property
    def is_good(self) -> bool:
        """Whether every run ended, no change is missing and none was made twice without a question."""
        return not (self.unfinished or self.lost or self.doubled)

    def __str__(self) -> str:
        rate = self.runs / self.seconds if self.seconds else 0.0
        return (
            f"{self.runs} runs in {self.seconds:.0f} s ({rate:.2f}/s), {self.kills} kills, {self.stops} stops; "
            f"{self.submissions} submissions, {self.resubmissions} of them again; {self.questions} questions, "
            f"{self.unknown} of unknown outcome; {len(self.lost)} changes lost, {len(self.doubled)} doubled, "
            f"{len(self.doubled_after_question)} doubled after a question; {self.refused} late changes refused; "
            f"{len(self.unfinished)} runs without an end; journal {self.journal}"
        )


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
        self.submissions = self.resubmissions = self.questions = 0
        self.unknown: Counter[Change] = Counter()
        self.unfinished: list[int] = []

    def carry_out(self, number: int) -> None:
        """Submit a run until it has ended, and answer its questions."""
        given: dict[str, Any] = {"input": {"instruction": lot(number).instruction}}
        for attempt in range(MOST_SUBMISSIONS):
            answer = self._submit(number, given, again=attempt > 0 and "input" in given)
            if answer is None:
                # The same run id: the server goes on from the last checkpoint, if there is one.
                given = {"input": {"instruction": lot(number).instruction}}
            elif answer.get("__interrupt__"):
                given = {"command": {"resume": self._decide(number, answer["__interrupt__"])}}
            elif str(answer.get("answer", "")).strip() == DONE:
                return
            else:
                given = {"input": {"instruction": lot(number).instruction}}
                time.sleep(0.2)
        with self._lock:
            self.unfinished.append(number)

    def warm_up(self) -> None:
        """Let each instance carry out a run that may change nothing: the first one takes longer, and does not count."""
        body = {
            "assistant_id": "restgpt",
            "input": {"instruction": lot(self._plan.runs).instruction},
            "context": {"writes": "deny"},
        }
        for number, instance in enumerate(self._served):
            thread = uuid5(SPACE, f"warm-up {number}")
            requests.post(
                f"{instance.url}/threads/{thread}/runs/wait", json=body, timeout=PATIENCE_S
            ).raise_for_status()

    def _submit(self, number: int, given: Mapping[str, Any], *, again: bool) -> dict[str, Any] | None:
        """Return the output of a run, or None if the instance is gone, refuses the run or does not answer in time."""
        instance = self._next()
        with self._lock:
            self.submissions += 1
            self.resubmissions += again
        body = {
            "assistant_id": "restgpt",
            "config": {"metadata": {"run_id": str(uuid5(SPACE, f"run {number}"))}},
            "context": {"writes": self._plan.writes},
            **given,
        }
        url = f"{instance.url}/threads/{uuid5(SPACE, f'thread {number}')}/runs/wait"
        try:
            answer = requests.post(url, json=body, timeout=(2.0, self._plan.patience))
        except requests.RequestException:
            self._rests[instance.url] = time.monotonic() + REST_S
            time.sleep(0.1)
            return None
        if answer.status_code != 200:
            return None
        found: dict[str, Any] = answer.json()
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
            self.questions += 1
            self.unknown[change] += is_unsure
        if is_unsure and self._plan.person == "careful" and arrivals(self._world)[change]:
            return {"type": "reject", "message": "It was made."}
        return {"type": "approve"}


def arrivals(world: World[Any]) -> Counter[Change]:
    """Return how often each change of a lot arrived at the world and was carried out."""
    found: Counter[Change] = Counter()
    for entry in list(world.log):
        number = lot_of_change(entry.body)
        if number is not None and entry.ok and entry.method != "GET":
            found[Change(number, entry.method)] += 1
    return found


def judge(runs: int, made: Counter[Change], asked: Counter[Change]) -> tuple[list[Change], list[Change], list[Change]]:
    """Return the changes that are lost, those doubled without a question, and those doubled after one."""
    wanted = [Change(number, method) for number in range(runs) for method in ("POST", "PATCH")]
    lost = [change for change in wanted if not made[change]]
    doubled = [change for change in made if made[change] > 1 + asked[change]]
    after = [change for change in made if 1 < made[change] <= 1 + asked[change]]
    return lost, sorted(doubled), sorted(after)


class Trouble:
    """Kills the first instance whenever it has been up for some seconds, and stops the second one now and then."""

    def __init__(self, plan: Plan, served: Sequence[Instance]) -> None:
        self._plan = plan
        self._over = threading.Event()
        self._chance = random.Random(plan.seed)
        lanes = [(self._kill, served[0])] if plan.kill_every else []
        lanes += [(self._stop, served[1])] if plan.stop_for and len(served) > 1 else []
        self._threads = [threading.Thread(target=lane, args=(instance,), daemon=True) for lane, instance in lanes]

    def __enter__(self) -> "Trouble":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    def _kill(self, instance: Instance) -> None:
        while not self._over.wait(self._plan.kill_every):
            instance.kill()
            instance.start()
            while not instance.is_up() and not self._over.wait(0.2):
                pass

    def _stop(self, instance: Instance) -> None:
        """Stop an instance at a random moment; after it has continued, it works for a while."""
        while not self._over.wait(self._chance.uniform(1.0, 4.0)):
            instance.stop()
            self._over.wait(self._plan.stop_for)
            instance.proceed()


@contextmanager
def progress(plan: Plan, clients: Clients, world: World[Any], say: Callable[[str], None]) -> Iterator[None]:
    """Say every ten seconds how far the runs are."""
    over = threading.Event()
    started = time.monotonic()

    def tell() -> None:
        while not over.wait(10.0):
            made = len(arrivals(world))
            say(
                f"  {time.monotonic() - started:.0f} s: {made} of {plan.runs * CHANGES} changes, "
                f"{clients.submissions} submissions, {clients.questions} questions"
            )

    thread = threading.Thread(target=tell, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def scale(plan: Plan, *, say: Callable[[str], None] = lambda text: None, keep: Path | None = None) -> Verdict:
    """Carry out all runs of a plan; raises `NoPostgresError` and `NoAegraError` where these are missing."""
    with ExitStack() as stack:
        folder = keep or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="restgpt-scale-")))
        folder.mkdir(parents=True, exist_ok=True)
        database = stack.enter_context(postgres_server())
        server = stack.enter_context(serve(open_world(WORLD)))
        served = stack.enter_context(
            instances(plan.count, database=database, api_url=server.url, folder=folder, behind=plan.behind)
        )
        say(f"{plan.count} instances are up")
        clients = Clients(plan, served, server.world)
        clients.warm_up()
        started = time.monotonic()
        with Trouble(plan, served), progress(plan, clients, server.world, say):
            with ThreadPoolExecutor(plan.clients) as pool:
                list(pool.map(clients.carry_out, range(plan.runs)))
            seconds = time.monotonic() - started
        _settle(server.world)
        verdict = Verdict(
            runs=plan.runs,
            seconds=seconds,
            kills=sum(instance.kills for instance in served),
            stops=sum(instance.stops for instance in served),
            submissions=clients.submissions,
            resubmissions=clients.resubmissions,
            questions=clients.questions,
            unknown=clients.unknown.total(),
            unfinished=sorted(clients.unfinished),
        )
        made = arrivals(server.world)
        verdict.lost, verdict.doubled, verdict.doubled_after_question = judge(plan.runs, made, clients.unknown)
        verdict.refused, verdict.journal = _refused(database), _journal(database)
        return verdict


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
    return dict(Counter(outcome["status"] if outcome else "unknown" for outcome in outcomes))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a plan and print its verdict; 1 if a change was lost or doubled, 2 if a server is missing."""
    given = _options().parse_args(arguments)
    plan = Plan(**{name: value for name, value in vars(given).items() if name not in ("json", "keep")})
    try:
        verdict = scale(plan, say=lambda text: print(text, flush=True), keep=given.keep)
    except (NoPostgresError, NoAegraError) as error:
        print(error)
        return 2
    print(json.dumps({"plan": asdict(plan), **asdict(verdict)}) if given.json else verdict)
    return 0 if verdict.is_good else 1


def _options() -> argparse.ArgumentParser:
    plan = Plan()
    parser = argparse.ArgumentParser(prog="scale-test", description=__doc__)
    parser.add_argument("--runs", type=int, default=plan.runs)
    parser.add_argument("--instances", type=int, default=plan.count, dest="count")
    parser.add_argument("--clients", type=int, default=plan.clients, help="how many runs at a time")
    parser.add_argument("--kill-every", type=float, default=plan.kill_every, help="seconds up before a kill; 0: never")
    parser.add_argument("--stop-for", type=float, default=plan.stop_for, help="seconds of a stop; 0: never")
    parser.add_argument("--patience", type=float, default=plan.patience, help="seconds that a client waits")
    parser.add_argument("--behind", type=float, default=plan.behind, help="seconds of the last instance's clock")
    parser.add_argument("--writes", choices=["ask", "allow"], default=plan.writes)
    parser.add_argument("--person", choices=["careful", "careless"], default=plan.person)
    parser.add_argument("--seed", type=int, default=plan.seed)
    parser.add_argument("--json", action="store_true", help="print one document")
    parser.add_argument("--keep", type=Path, help="folder for the logs of the instances")
    return parser


if __name__ == "__main__":
    import sys

    sys.exit(main())
