"""Kills an MCP server between the question about a change and its answer, and checks that the answer holds once.

A client calls one operation that changes something, over stdio or HTTP, in either era of the protocol. The rig kills
the server with SIGKILL: before the question, while it is shown, after the answer, or while the API carries the change
out. Then it starts another server on the same folder. The client, which has its handles still, goes on: it sends the
call again with its request state, repeats the call, or asks what is pending. The API's log must have the change once
if the person approved, and not at all otherwise.
"""

import argparse
import asyncio
import logging
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any, Literal, NamedTuple

from mcp import Client, types
from mcp.client.stdio import StdioServerParameters
from mcp.shared.exceptions import MCPError

from lab.kit.tally import Tally, say, tallied
from restgpt.specs.reading.download import bundled_document
from restgpt_bench.worlds import CREDENTIAL, open_world
from restgpt_bench.worlds.faults import Fault, FaultKind
from restgpt_bench.worlds.server import WorldServer, serve

Era = Literal["legacy", "2026-07-28"]
Phase = Literal["call", "question", "answer", "change"]
Way = Literal["stdio", "http"]

ERAS: tuple[Era, ...] = ("legacy", "2026-07-28")
PHASES: tuple[Phase, ...] = ("call", "question", "answer", "change")
WAYS: tuple[Way, ...] = ("stdio", "http")

CALL: dict[str, Any] = {
    "operation": "create_task",
    "arguments": {"path": {"project_id": 1}, "body": {"title": "Moss"}},
}
UNKNOWN = "may not have been"
"""Words of a question about a change of unknown outcome."""

PATIENCE_S = 60.0
SLOW_S = 1.0
TRIES, SOONER = 6, 0.6
"""How often a trial is tried whose call ends before the kill, each time at a part of the time before."""
LAST_WORDS_S = 2.0
"""How long the client waits for a lost connection to show, in seconds, once the server was killed."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One call: when the server is killed, `after` being a part of the time that the phase takes undisturbed."""

    era: Era
    way: Way
    phase: Phase
    after: float
    approves: bool
    asks_pending: bool = False

    def __str__(self) -> str:
        decided = "approved" if self.approves else "rejected"
        how = ", by `pending`" if self.asks_pending else ""
        return f"{self.era}, {self.way}, killed at {self.after:.2f} of the {self.phase}, {decided}{how}"


@dataclass(slots=True)
class Person:
    """Answers the questions: as the trial says, and about a change of unknown outcome by the log of the API."""

    approves: bool
    world: WorldServer
    on_question: Callable[[], None] = lambda: None
    on_answer: Callable[[], None] = lambda: None
    asked: int = 0
    unknown: int = 0

    async def __call__(self, context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        """Answer a question."""
        self.asked += 1
        self.on_question()
        # The server may be killed now, while the question is shown.
        await asyncio.sleep(0.01)
        approves = self.approves
        if UNKNOWN in params.message:
            self.unknown += 1
            approves = not made(self.world)
        self.on_answer()
        return types.ElicitResult(action="accept", content={"decision": "approve" if approves else "reject"})


def made(world: WorldServer) -> int:
    """Return how often the API has carried the change out."""
    return sum(1 for entry in world.world.log if entry.method != "GET" and entry.ok)


@contextmanager
def served(world: WorldServer, home: Path, way: Way) -> Iterator[tuple[Any, Callable[[], None]]]:
    """Run a process of `restgpt mcp`, over stdio from the first connection on.

    Gives what the client connects to, and the function that kills the process.
    """
    document, known = str(bundled_document("toy")), home.with_name(f"{home.name}.pid")
    environment = {**os.environ, "RESTGPT_HOME": str(home), "RESTGPT_AUTH_KEY": CREDENTIAL}
    command = [sys.executable, "-m", "restgpt", "mcp", "--spec", document, "--base-url", world.url]
    if way == "stdio":

        def kill() -> None:
            if known.exists():
                with suppress(ProcessLookupError):
                    os.kill(int(known.read_text()), signal.SIGKILL)

        arguments = ["-c", f'echo $$ > "{known}"; exec "$@"', "server", *command]
        yield StdioServerParameters(command="sh", args=arguments, env=environment), kill
        return
    command += ["--http", "--port", "0"]
    with subprocess.Popen(command, text=True, env=environment, stderr=subprocess.PIPE) as process:
        try:
            assert process.stderr is not None
            yield process.stderr.readline().rpartition(" ")[2].strip(), process.kill
        finally:
            process.kill()


@dataclass(slots=True)
class Caller:
    """The client: it keeps what it has to send again, and notes when a phase begins."""

    era: Era
    person: Person
    again: dict[str, Any] = field(default_factory=dict)
    ended: float = 0.0

    async def call(self, server: Any, *, asks_pending: bool = False) -> types.CallToolResult:
        """Make the call, or go on with it after the server was killed; returns its result."""
        async with Client(server, mode=self.era, elicitation_callback=self.person) as client:
            if asks_pending and not self.again:
                listed = await client.call_tool("pending", {})
                if threads := (listed.meta or {})["restgpt"].get("threads"):
                    # The trial has one call, so there is one thread.
                    [thread] = threads
                    is_pending = thread["status"] == "pending"
                    return await self._done(client, "pending", {"handle": thread["handle"]}) if is_pending else listed
            result = await self._done(client, "change_operation", CALL)
            self.ended = time.monotonic()
            return result

    async def _done(self, client: Client, name: str, arguments: dict[str, Any]) -> types.CallToolResult:
        if self.era == "legacy":
            return await client.call_tool(name, arguments)
        if name != "change_operation":
            self.again = {}
        while True:
            asked: Any = await client.session.call_tool(name, arguments, allow_input_required=True, **self.again)
            if isinstance(asked, types.CallToolResult):
                return asked
            answers = {
                key: await self.person(None, request.params) for key, request in (asked.input_requests or {}).items()
            }
            self.again = {"input_responses": answers, "request_state": asked.request_state}


class Times(NamedTuple):
    """How long the phases take in an undisturbed call, in seconds."""

    call: float
    answer: float


class Rig:
    """Runs trials on one world."""

    def __init__(self, world: WorldServer, folder: Path) -> None:
        self._world = world
        self._homes = (folder / str(number) for number in count())
        self._times: dict[tuple[Era, Way], Times] = {}

    async def times(self, era: Era, way: Way) -> Times:
        """Return the times of an undisturbed call, measured once."""
        if (era, way) not in self._times:
            self._world.world.reset()
            moments: list[float] = []
            caller = Caller(era, Person(True, self._world, on_answer=lambda: moments.append(time.monotonic())))
            with served(self._world, next(self._homes), way) as (target, _):
                started = time.monotonic()
                await caller.call(target)
            self._times[(era, way)] = Times(moments[0] - started, caller.ended - moments[0])
        return self._times[(era, way)]

    async def run(self, trial: Trial, tally: Tally) -> None:
        """Run one trial and add its result."""
        times = await self.times(trial.era, trial.way)
        world, was_killed = self._world, False
        for _ in range(TRIES):
            world.world.reset()
            home, person = next(self._homes), Person(trial.approves, world)
            caller = Caller(trial.era, person)
            was_killed = await self._killed(trial, times, home, caller)
            if was_killed:
                break
            # The call had its result before the kill, because the machine is less busy than when it was measured.
            world.settle()
            trial = replace(trial, after=trial.after * SOONER)
        world.world.faults.replace([])
        world.settle()
        asked, person.on_question, person.on_answer = person.asked, lambda: None, lambda: None
        if was_killed:
            with served(world, home, trial.way) as (target, _):
                try:
                    await asyncio.wait_for(caller.call(target, asks_pending=trial.asks_pending), PATIENCE_S)
                except (ExceptionGroup, MCPError, TimeoutError) as error:
                    tally.wrong.append(f"{trial}: the call did not go on: {_innermost(error)!r}")
        world.settle()
        tally.counts[f"killed at the {trial.phase}" if was_killed else "ended before the kill"] += 1
        tally.counts["of unknown outcome"] += person.unknown
        tally.counts["asked again"] += bool(asked) and person.asked > asked
        if made(world) != int(trial.approves):
            tally.wrong.append(f"{trial}: the change was made {made(world)} times")

    async def _killed(self, trial: Trial, times: Times, home: Path, caller: Caller) -> bool:
        """Make the call until the server is killed; returns whether it was killed before the call had its result."""
        reached = asyncio.Event()
        if trial.phase == "question":
            caller.person.on_question = reached.set
        elif trial.phase == "answer":
            caller.person.on_answer = reached.set
        elif trial.phase == "change":
            self._world.world.faults.replace([Fault(kind=FaultKind.SLOW, seconds=SLOW_S)])
        with served(self._world, home, trial.way) as (target, kill):
            called = asyncio.create_task(caller.call(target))
            moment = asyncio.create_task(self._moment(trial, times, reached))
            try:
                await asyncio.wait([called, moment], return_when=asyncio.FIRST_COMPLETED)
                if called.done() and called.exception() is None:
                    return False
                kill()
                await asyncio.wait([called], timeout=LAST_WORDS_S)
                return not (called.done() and not called.cancelled() and called.exception() is None)
            finally:
                called.cancel()
                moment.cancel()
                # The lost connection shows as one of several errors, by transport and moment; the rig caused it.
                await asyncio.gather(called, moment, return_exceptions=True)

    async def _moment(self, trial: Trial, times: Times, reached: asyncio.Event) -> None:
        """Wait for the moment of the kill."""
        if trial.phase == "call":
            await asyncio.sleep(times.call * trial.after)
        elif trial.phase == "change" and trial.approves:
            while not made(self._world):
                await asyncio.sleep(0.005)
        else:
            await reached.wait()
            await asyncio.sleep(times.answer * trial.after if trial.phase == "answer" else 0)


def _innermost(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def make_trials(moments: int) -> Iterator[Trial]:
    """Make trials at so many moments of each era: half of them after the answer, the others in the phases around it."""
    for era in ERAS:
        for number in range(moments):
            phase: Phase = "answer" if number % 2 else PHASES[(number // 2) % len(PHASES)]
            after = ((number * 7) % moments + 0.5) / moments
            # A rejected change never reaches the API.
            approves = phase == "change" or number % 3 != 2
            way = WAYS[(number // 8) % 2]
            yield Trial(era, way, phase, after, approves, asks_pending=number % 5 in (1, 2))


def run_trials(moments: int, *, say: Callable[[str], None] = say) -> Tally:
    """Run the trials one after another."""
    with tempfile.TemporaryDirectory(prefix="restgpt-mcp-") as folder, serve(open_world("toy")) as world:
        rig = Rig(world, Path(folder))
        return tallied(make_trials(moments), lambda trial, tally: asyncio.run(rig.run(trial, tally)), say=say)


def main() -> int:
    """Run the trials and print the result; 1 if any went wrong."""
    parser = argparse.ArgumentParser(prog="mcp-crash-test", description=__doc__)
    parser.add_argument("--moments", type=int, default=50, help="how many moments in each era")
    # The SDK's client logs each connection that the rig breaks.
    logging.getLogger("mcp").setLevel(logging.CRITICAL)
    tally = run_trials(parser.parse_args().moments)
    print(tally)
    return 1 if tally.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
