"""Lets an API fail in every way, at every call of some runs: no traceback, no hang past the budget, no wrong success.

Three runs go call by call, the others are programs. A fault strikes once or from a call on for ever. A run must end
with everything done, and the world as it should be; or say that not everything could be done, with nothing made twice;
or stop with an error that is foreseen, and then go on to such an end once the API is well again.
"""

import argparse
import logging
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any

import requests
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from lab.kills.crash.child import settings_of
from lab.kills.job import Job, JobModel, make_jobs
from lab.kills.ledger import ledger, unstamped
from lab.kit.drive import driven, rejecting
from lab.kit.errand import DONE, UNDONE, Errand, ErrandModel, board_errand, playlist_errand, reading_errand
from lab.kit.tally import Tally, in_lanes, say, tallied
from restgpt.graph.build import Graph, build_graph
from restgpt.nodes.run.services import Services
from restgpt.tools.errors import ConnectFault, HttpFault, ResolveFault, RestgptError, TlsFault
from restgpt.tools.http.addresses import GuardedAdapter, resolve
from restgpt.tools.http.http_client import HttpClient, HttpLimits
from restgpt.tools.settings import Settings
from restgpt_bench.worlds import open_world, served_api
from restgpt_bench.worlds.faults import Fault, FaultKind
from restgpt_bench.worlds.server import WorldServer, serve

LIMITS = HttpLimits(
    connect_seconds=0.5, read_seconds=0.5, total_seconds=1.5, longest_wait=0.3, backoff_seconds=0.02, attempts=3
)
BUDGET_S = 8.0
PROGRAM_BUDGET_S = 30.0
"""The budget of a program, which runs in the sandbox once more for each change and so needs more of a busy machine."""

FEW = 5
"""The maximum number of changes of a job under faults."""

SLACK_S = 4.0
"""The seconds that a run may take past its budget, for the request under way and a busy machine."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """One way to fail: a fault of the world, or one of the network before it."""

    name: str
    fault: Fault | None = None
    network: str = ""


def troubles() -> list[Trouble]:
    """Every fault that the agent must survive."""
    statuses = [302, 307, 400, 401, 403, 404, 405, 408, 409, 410, 415, 422, 429, 500, 501, 502, 503, 504]
    found = [Trouble(f"status {status}", Fault(status=status)) for status in statuses]
    found += [Trouble(f"429, Retry-After {after}", Fault(status=429, retry_after=after)) for after in (0.05, 3600)]
    found.append(Trouble("503, Retry-After as a date", Fault(status=503, retry_after="Fri, 31 Dec 1999 23:59:59 GMT")))
    found.append(Trouble("slow", Fault(kind=FaultKind.SLOW, seconds=0.8)))
    found.append(Trouble("reset before the work", Fault(kind=FaultKind.RESET)))
    found.append(Trouble("reset after the work", Fault(kind=FaultKind.RESET, applied=True)))
    found.append(Trouble("malformed JSON", Fault(kind=FaultKind.MALFORMED)))
    found.append(Trouble("truncated body", Fault(kind=FaultKind.TRUNCATED)))
    found.append(Trouble("wrong content type", Fault(kind=FaultKind.MEDIA_TYPE)))
    found += [Trouble(name, network=name) for name in ("refused", "no such host", "TLS", "drip")]
    return found


class TroubledAdapter(GuardedAdapter):
    """Lets the network fail from the nth request on, `times` times."""

    def __init__(self, kind: str, number: int, times: int | None, connect_seconds: float) -> None:
        super().__init__(resolver=resolve, connect_seconds=connect_seconds)
        self._kind = kind
        self._number = number
        self._left = times
        self._count = 0
        self._lock = threading.Lock()

    def recover(self) -> None:
        """Let everything through from now on."""
        self._kind = ""

    def send(self, request: requests.PreparedRequest, *args: Any, **kwargs: Any) -> requests.Response:
        """Send a request, or fail."""
        with self._lock:
            self._count += 1
            strikes = bool(self._kind) and self._count >= self._number and self._left != 0
            if strikes and self._left is not None:
                self._left -= 1
        if not strikes:
            return super().send(request, *args, **kwargs)
        if self._kind == "drip":
            response = super().send(request, *args, **kwargs)
            response.raw = _Dripping(response.raw)
            return response
        raise {
            "refused": ConnectFault("nothing accepts connections there"),
            "no such host": ResolveFault("the host has no address"),
            "TLS": TlsFault("the certificate is not valid"),
        }[self._kind]


class _Dripping:
    """A body that comes a byte at a time."""

    def __init__(self, raw: Any) -> None:
        self._raw = raw

    def read(self, most: int) -> bytes:
        """The next byte, after a while."""
        time.sleep(0.05)
        part: bytes = self._raw.read1(1, decode_content=False)
        return part

    def close(self) -> None:
        """Close the connection."""
        self._raw.close()


@dataclass(frozen=True, slots=True)
class Case:
    """One fault at one call of an errand."""

    trouble: Trouble
    call: int
    times: int | None

    def __str__(self) -> str:
        often = "for ever" if self.times is None else f"{self.times} times"
        return f"{self.trouble.name} at call {self.call}, {often}"


class Proving:
    """Runs one errand or job under faults on one served world, and judges how it ends."""

    def __init__(self, errand: Errand | Job, server: WorldServer, limits: HttpLimits, budget: float) -> None:
        self.errand = errand
        self.server = server
        self.limits = limits
        self.budget = budget
        self._api = served_api(errand.world, server.url)
        self._wanted: Any = None
        self.requests = self._measure()

    def _measure(self) -> int:
        """The end state of an undisturbed run, and how many requests it takes."""
        answer, _ = self.run(Case(Trouble("nothing"), 1, 0))
        if answer != DONE:
            raise RuntimeError(f"the undisturbed run ended with: {answer}")
        self._wanted = self._state()
        return len(self.server.world.log)

    def run(self, case: Case) -> tuple[str, bool]:
        """Run the errand under one fault: the answer, and whether it stopped in between. Errors of no kind escape."""
        world = self.server.world
        world.reset()
        if case.trouble.fault is not None:
            world.faults.replace([replace(case.trouble.fault, nth=case.call, times=case.times)])
        adapter = TroubledAdapter(case.trouble.network, case.call, case.times, self.limits.connect_seconds)
        http = HttpClient(settings=Settings(), limits=self.limits, adapter=adapter)
        errand = self.errand
        model = JobModel.over(errand) if isinstance(errand, Job) else ErrandModel.over(errand)
        services = Services([self._api], model=model, settings=Settings(), http=http)
        graph = build_graph(services=services, checkpointer=InMemorySaver(), store=InMemoryStore())
        try:
            return self._drive(graph, {"instruction": self.errand.instruction}), False
        except (RestgptError, HttpFault):
            world.faults.replace([])
            adapter.recover()
            return self._drive(graph, None), True

    def _drive(self, graph: Graph, given: Any) -> str:
        context: Any = {**settings_of(self.errand, "allow"), "max_seconds": self.budget}
        # About a change of unknown outcome a person who does not know says no.
        values = driven(graph, given, {"configurable": {"thread_id": "errand"}}, rejecting, context=context)
        return str(values.get("answer", ""))

    def prove(self, case: Case, tally: Tally) -> None:
        """Run a case and judge how it ends: done, owned up that it is not; some stopped first and went on."""
        started = time.monotonic()
        answer, stopped = self.run(case)
        took = time.monotonic() - started
        is_done = answer == DONE
        tally.counts["done" if is_done else "owned up"] += 1
        tally.counts["stopped first"] += stopped
        wrong = []
        if took > (self.budget + SLACK_S) * (1 + stopped):
            wrong.append(f"took {took:.1f} s")
        if is_done and self._state() != self._wanted:
            wrong.append("said that everything is done, and it is not")
        if not is_done and not answer.startswith(UNDONE) and "found until then" not in answer:
            wrong.append(f"ended with {answer!r}")
        if doubled := self._doubled():
            wrong.append(f"made twice: {doubled}")
        if wrong:
            tally.wrong.append(f"{self.errand.world}, {case}: {'; '.join(wrong)}")

    def _state(self) -> Any:
        """Return the state of the world; that of a job independent of the order of changes and of new ids."""
        world = self.server.world
        return ledger(world).state if isinstance(self.errand, Job) else world.snapshot()

    def _doubled(self) -> list[str]:
        log = self.server.world.log
        made = [unstamped(f"{entry.path} {entry.body}") for entry in log if entry.method == "POST" and entry.ok]
        return sorted({change for change in made if made.count(change) > 1})


def cases(requests_made: int, *, every: int = 1) -> list[Case]:
    """Every fault at every call, once and for ever; or every nth of these."""
    found = [
        Case(trouble, call, times)
        for call in range(1, requests_made + 1)
        for trouble in troubles()
        for times in (1, None)
    ]
    return found[::every]


def errands() -> list[Errand]:
    """The three runs that go call by call."""
    return [playlist_errand(open_world("spotify")), board_errand(), reading_errand()]


def jobs(count: int, *, seed: int = 0) -> list[Job]:
    """Return jobs with few changes, so that a fault at each of their calls does not take long; the worlds in turn."""
    few = [job for job in make_jobs(20 * count, seed=seed) if job.changes <= FEW]
    worlds = [[job for job in few if job.world == name] for name in ("toy", "spotify")]
    return [job for pair in zip(*worlds, strict=False) for job in pair][:count]


@contextmanager
def proving(errand: Errand | Job, *, limits: HttpLimits = LIMITS, budget: float = BUDGET_S) -> Iterator[Proving]:
    """Serve the world of an errand and prove it there, with runs of `budget` seconds."""
    with serve(open_world(errand.world)) as server:
        yield Proving(errand, server, limits, budget)


def prove_all(errand: Errand | Job, *, every: int = 1, jobs: int = 1) -> Tally:
    """Prove an errand under every nth case, `jobs` at a time, each on a world of its own."""
    with ExitStack() as stack:
        budget = PROGRAM_BUDGET_S if isinstance(errand, Job) else BUDGET_S
        proofs = [stack.enter_context(proving(errand, budget=budget)) for _ in range(jobs)]
        chosen = cases(proofs[0].requests, every=every)
        return in_lanes(jobs, lambda lane: tallied(chosen[lane::jobs], proofs[lane].prove))


def main() -> int:
    """Run all cases; 1 if any ended wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1, help="run every nth case only")
    parser.add_argument("--jobs", type=int, default=6, help="how many runs at a time; they mostly wait")
    parser.add_argument("--programs", type=int, default=2, help="how many programs")
    parser.add_argument("--only", choices=["calls", "programs"], help="leave the other runs out")
    parser.add_argument("--seed", type=int, default=0, help="the seed of the programs")
    given = parser.parse_args()
    # The command line does the same: after parallel reads that fail together, LangGraph's pool logs a callback error.
    logging.getLogger("concurrent.futures").setLevel(logging.CRITICAL)
    wrong = 0
    chosen: list[Errand | Job] = [] if given.only == "programs" else [*errands()]
    chosen += [] if given.only == "calls" else jobs(given.programs, seed=given.seed)
    for errand in chosen:
        tally = prove_all(errand, every=given.every, jobs=given.jobs)
        say("\n  ".join([errand.instruction, str(tally), *tally.wrong]))
        wrong += len(tally.wrong)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
