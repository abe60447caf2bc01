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
from collections.abc import Iterator, Sequence
from contextlib import ExitStack

from lab.kills.crash.driver import Driver, open_stage
from lab.kills.crash.trial import Task, Trial, Writes
from lab.kills.crash.trials import border_trials, pause_trials, random_trials, trials, zombie_trials
from lab.kills.job import ClientJob, make_jobs
from lab.kills.postgres import NoPostgresError, postgres_server
from lab.kills.repeat import make_repeats
from lab.kit.tally import Tally, in_lanes, say

DATABASES, POLICIES, KINDS = ("sqlite", "postgresql"), ("ask", "allow"), ("calls", "programs", "recipes", "clients")
"""Where the threads are, the policies for changes, and the kinds of tasks."""

NUMBERS = {
    "random": (200, "random moments: of calls for each database; of programs in all"),
    "programs": (50, "how many different programs"),
    "recipes": (20, "how many different recipes, all killed at every position"),
    "clients": (4, "how many programs of clients, killed at every position"),
    "borders": (2, "how many programs are killed at every position"),
    "pauses": (10, "how many are paused and resumed a day later"),
    "stops": (5, "stop children at every nth position; 0 for none"),
    "lanes": (2, "how many trials at a time"),
    "seed": (0, "the seed of the programs and of the random moments"),
}
"""The options that are numbers: the default, and what they mean."""


def _chosen(driver: Driver, kind: str, tasks: Sequence[Task], given: argparse.Namespace, lane: int) -> Iterator[Trial]:
    """Yield the trials of one lane: every nth of those at each position, and its share of those at random moments."""
    is_file, killed = driver.stage.database is None, list(tasks)
    if kind == "programs":
        # A program with few changes has few positions.
        killed = sorted(tasks, key=lambda job: getattr(job, "changes", 0))[: given.borders]
    found = [(task, driver.undisturbed(task)) for task in killed]
    every = [trial for task, seen in found for trial in border_trials(task, seen.nodes, seen.requests)]
    if kind in ("calls", "programs") and given.stops:
        every += [one for task, seen in found for one in zombie_trials(task, seen, has_file=is_file, every=given.stops)]
    if kind == "programs" and driver.stage.writes == "ask":
        every += pause_trials(tasks[: given.pauses])
    yield from every[lane :: given.lanes]
    if kind in ("calls", "programs"):
        # The policies share the random moments, and for programs the databases too.
        share = given.random // (len(given.writes) * (len(given.databases) if kind == "programs" else 1))
        if mine := tasks[lane :: given.lanes] or tasks:
            yield from random_trials(driver, mine, len(range(lane, share, given.lanes)), seed=given.seed + lane)


def _report(kind: str, database: str | None, writes: Writes, tasks: Sequence[Task], given: argparse.Namespace) -> int:
    """Run the trials of one line of the result, and print it."""
    name = f"{'sqlite' if database is None else 'postgresql'}, {writes}, {kind}"
    with ExitStack() as stack:
        stages = [stack.enter_context(open_stage(database=database, writes=writes)) for _ in range(given.lanes)]

        def run(lane: int) -> Tally:
            driver = Driver(stages[lane])
            chosen = _chosen(driver, kind, [driver.stage.errand] if kind == "calls" else tasks, given, lane)
            return trials(driver, chosen, name=f"{name}, lane {lane + 1}: ", say=say)

        tally = in_lanes(given.lanes, run)
    say(f"{name}: {tally}")
    return len(tally.wrong)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run all trials on SQLite, and on PostgreSQL where there is one; 1 if any trial went wrong."""
    parser = argparse.ArgumentParser(prog="crash-test", description=__doc__)
    for name, (default, meaning) in NUMBERS.items():
        parser.add_argument(f"--{name}", type=int, default=default, help=meaning)
    parser.add_argument("--only", nargs="+", default=KINDS, choices=KINDS, help="leave the other trials out")
    parser.add_argument("--databases", nargs="+", default=DATABASES, choices=DATABASES)
    parser.add_argument("--writes", nargs="+", default=POLICIES, choices=POLICIES)
    given = parser.parse_args(arguments)
    jobs = make_jobs(given.programs, seed=given.seed)
    repeats = make_repeats(given.recipes, seed=given.seed) if "recipes" in given.only else []
    clients = [ClientJob.of(job) for job in jobs[: given.clients]]
    tasks: dict[str, Sequence[Task]] = {"calls": (), "programs": jobs, "recipes": repeats, "clients": clients}
    wrong = 0
    for name in given.databases:
        with ExitStack() as stack:
            try:
                database = stack.enter_context(postgres_server()) if name == "postgresql" else None
            except (NoPostgresError, ImportError) as error:
                print(f"{name}: skipped, {error}")
                continue
            for writes in given.writes:
                wrong += sum(_report(kind, database, writes, tasks[kind], given) for kind in given.only)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
