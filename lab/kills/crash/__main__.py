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
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial

from lab.kills.crash.driver import Driver, open_stage
from lab.kills.crash.trial import Task, Trial, Writes
from lab.kills.crash.trials import Tally, border_trials, pause_trials, random_trials, trials, zombie_trials
from lab.kills.job import ClientJob, Job, make_jobs
from lab.kills.postgres import NoPostgresError, postgres_server
from lab.kills.repeat import make_repeats

Lane = Callable[..., Iterator[Trial]]


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
            clients = [ClientJob.of(job) for job in jobs[: given.clients]]
            kinds: dict[str, tuple[str, Lane]] = {
                "calls": ("call by call", _call_trials),
                "programs": (f"{len(jobs)} programs", partial(_program_trials, jobs=jobs)),
                "recipes": (f"{len(repeats)} recipes", partial(_all_border_trials, tasks=repeats)),
                "clients": ("programs of clients", partial(_all_border_trials, tasks=clients)),
            }
            for writes in given.writes:
                for kind, (line, lane) in kinds.items():
                    if given.only in (None, kind):
                        wrong += _report(f"{name}, {writes}, {line}", database, writes, given, lane)
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


if __name__ == "__main__":
    sys.exit(main())
