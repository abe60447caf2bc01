"""Guards the waits of programs: their pace, their order in every run, the clock after them."""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from programrun import CLOCK, entry, once

from restgpt.tools.sandbox.code import WAIT
from restgpt.tools.sandbox.result import Entry, ProgramRun
from restgpt.tools.sandbox.runner import Live


@dataclass
class Server:
    """Jobs that are done some seconds after they were first asked for, and a clock that only waits move.

    `lateness` makes each wait end later than it should, as the machine does.
    """

    jobs: Mapping[int, float]
    asks: float = 0.0
    lateness: random.Random | None = None
    now: float = CLOCK
    begun: dict[int, float] = field(default_factory=dict)
    polls: list[tuple[int, float]] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)
    made: list[str] = field(default_factory=list)

    def play(self, code: str, *, is_live: bool = False) -> ProgramRun:
        """Run a program to its end, from its start each time, or in one process."""
        entries: dict[str, Entry] = {}
        slept: dict[str, Entry] = {}
        given: dict[str, Any] = {"functions": ["get_job", "take"]}
        live = Live() if is_live else None
        while True:
            due = [item for item in slept.values() if item.until <= self.now]
            run = once(code, *entries.values(), *due, live=live, **given)
            if run.kind != "calls":
                if live is not None:
                    live.close()
                return run
            calls = [call for call in run.calls if call.function != WAIT]
            for call in run.calls:
                if call.function == WAIT and call.position not in slept:
                    until = self.now + call.seconds
                    self.waits.append(round(call.seconds, 2))
                    slept[call.position] = Entry(call.position, "", call.digest, "slept", until=until, clock=until)
            for call in calls:
                self.made.append(f"{call.position} {call.function}")
                value = self.answer(call.function, **call.keywords)
                found = entry(call, value)
                entries[call.position] = Entry(
                    *(getattr(found, name) for name in list(found.__slots__)[:9]), pause=self.asks
                )
            if not calls:
                self.now = min(until for item in slept.values() if (until := item.until) > self.now)
            if self.lateness:
                self.now += self.lateness.random() * 3

    def answer(self, function: str, job: int, **_: Any) -> Any:
        """Answer a call."""
        if function == "take":
            return {"result": job}
        since = self.begun.setdefault(job, self.now)
        self.polls.append((job, self.now - since))
        return {"id": job, "state": "done" if self.now - since >= self.jobs[job] else "running"}


WAITS = 'wait_until(lambda: get_job(job={}), lambda job: job["state"] == "done")'


@pytest.mark.parametrize(
    ("asks", "seconds", "waits"),
    [
        pytest.param(0, 4, [1, 1.5, 2.25], id="growing"),
        pytest.param(2, 4, [2, 2], id="as the server asks"),
        pytest.param(0.2, 2, [1, 1.5], id="a server that asks for less than a second"),
        pytest.param(0, 100, [1, 1.5, 2.25, 3.38, 5.06, 7.59, 11.39, 17.09, 25.63, 30], id="up to 30 seconds"),
        pytest.param(0, 0, [], id="done at once"),
    ],
)
def test_the_pace_is_the_server_s_else_a_second_that_grows(asks: float, seconds: float, waits: list[float]) -> None:
    server = Server({1: seconds}, asks=asks)
    run = server.play(f'print({WAITS.format(1)}["id"])')
    assert run.result.output == "1\n"
    assert server.waits == waits
    assert len(server.polls) == len(waits) + 1


def test_a_job_that_is_never_done_ends_the_program_with_what_was_answered_last() -> None:
    server = Server({1: 1e9}, asks=99_999)
    run = server.play(f"{WAITS.format(1)[:-1]}, most=100)")
    assert (run.kind, run.text, server.waits) == ("stopped", "It was not done after 100 s.", [100])
    assert "running" in run.value


POLLED = (
    "import time\nfrom datetime import datetime, date, timezone\n"
    "from time import sleep as nap\nbegan, count = time.time(), 0\n"
    'while get_job(job=1)["state"] != "done":\n    nap(2)\n    count += 1\n'
    "print(count, time.time() - began, datetime.now(timezone.utc).timestamp() - began, "
    "datetime.now().second, date.today())"
)
COROUTINE = (
    "import asyncio, time\nbegan = time.time()\nasync def late(n):\n    await asyncio.sleep(n)\n    return n\n"
    "print(asyncio.run(late(2)), time.time() - began)"
)


@pytest.mark.parametrize("is_live", [True, False])
@pytest.mark.parametrize(
    ("code", "printed", "waits"), [(POLLED, "2 4.0 4.0 24 2023-11-14", [2, 2]), (COROUTINE, "2 2.0", [2])]
)
def test_sleep_waits_in_a_coroutine_too_and_the_clock_is_that_of_the_wake(
    code: str, printed: str, waits: list[float], is_live: bool
) -> None:
    server = Server({1: 3.5})
    assert server.play(code, is_live=is_live).result.output == f"{printed}\n"
    assert server.waits == waits


@pytest.mark.parametrize("seconds", ["-1", "86401", "10**9", 'float("nan")'])
def test_a_wait_of_no_sense_is_an_error_that_the_program_can_catch(seconds: str) -> None:
    run = once(f"import time\ntry:\n    time.sleep({seconds})\nexcept ValueError as error:\n    print('no')")
    assert run.result.output == "no\n"


def test_a_wait_of_nothing_is_none_and_a_loop_of_waits_ends() -> None:
    assert once("import time\nfor _ in range(900):\n    time.sleep(0)\nprint('over')").result.output == "over\n"
    server = Server({1: 1e9})
    run = server.play("import time\nwhile True:\n    time.sleep(0.001)", is_live=True)
    assert (run.kind, len(server.waits)) == ("failed", 500)
    assert "waits at most 500 times" in run.problem


MANY = """
def whole(n):
    job = {wait}
    return take(job=n)["result"]
def pause(n):
    import time
    time.sleep(n)
    return take(job=n)["result"]
print(gather(*[whole(n) for n in range(1, {count})], pause(2)), take(job=0)["result"])
"""


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(12))
def test_jobs_side_by_side_go_the_same_way_in_a_process_and_from_the_start(seed: int) -> None:
    chance = random.Random(seed)
    count = chance.randint(2, 5)
    jobs = {n: chance.choice([0, 0.1, 1, 4, 9, 30]) for n in range(1, count)}
    code = MANY.format(wait=WAITS.format("n"), count=count)
    asks = chance.choice([0, 2])
    ended = []
    for is_live in (True, False):
        server = Server(jobs, asks=asks, lateness=random.Random(seed))
        run = server.play(code, is_live=is_live)
        assert run.kind == "finished", run.problem
        assert len(server.made) == len({line.split()[0] for line in server.made})
        ended.append((run.result.output, server.made, server.waits, server.polls))
    assert ended[0] == ended[1]
    assert ended[0][0] == f"{[*range(1, count), 2]} 0\n"
    for job, seconds in jobs.items():
        made = sum(polled == job for polled, _ in server.polls)
        needed = next(n for n in range(20) if sum(min(1.5**k, 30) for k in range(n)) >= seconds) + 1
        assert made <= needed + 3
