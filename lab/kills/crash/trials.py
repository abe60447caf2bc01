"""Lists of trials: kills at random moments and at every border, zombies and pauses; and the tally of some of them."""

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from lab.kills.crash.driver import Driver
from lab.kills.crash.trial import Kill, Moment, Outcome, Person, Removed, Task, Trial
from lab.kills.machine import DAY_S, HERE, HOUR_S, Machine
from lab.kit.tally import Tally, tallied

OTHER_VERSION = "99.0"


def trials(
    driver: Driver, chosen: Iterable[Trial], *, name: str = "", say: Callable[[str], None] = lambda line: None
) -> Tally:
    """Run trials, and compare each world with that of an undisturbed run.

    Beside the counts of outcomes the tally has the trials that went on with another clock or version (`moved`), those
    with `zombies`, the approvals that were `asked` for, and the recipes that ended in doubt (`unsure`).
    """

    def run(trial: Trial, tally: Tally) -> None:
        wanted = driver.undisturbed(trial.task)
        outcome = driver.run(trial)
        while trial.kills and not outcome.counts["killed"] and trial.kills[0].moment == "after":
            # The run ended before the kill, because the machine is less busy than when it was measured.
            trial = replace(trial, kills=tuple(replace(kill, number=0.7 * kill.number) for kill in trial.kills))
            outcome = driver.run(trial)
        machines = [trial.last, *(kill.machine for kill in trial.kills)]
        tally.counts.update({**outcome.counts, "killed": bool(outcome.counts["killed"])})
        tally.counts["moved"] += any(machine != HERE for machine in machines)
        tally.counts["zombies"] += any(kill.fate == "stopped" for kill in trial.kills)
        tally.counts["asked"] += outcome.asked.total()
        tally.counts["unsure"] += outcome.is_unsure
        if found := outcome.faults(wanted, trial):
            tally.wrong.append(f"{trial}\n  {'; '.join(found)}")

    return tallied(chosen, run, name=name, say=say)


def random_trials(driver: Driver, tasks: Sequence[Task], count: int, *, seed: int = 0) -> Iterator[Trial]:
    """Kill at random moments of the tasks in turn; every fourth trial is killed twice.

    Every fourth goes on with a clock that is an hour behind, and every third has a careless person.
    """
    chance = random.Random(seed)
    for number in range(count):
        task = tasks[number % len(tasks)]
        longest = 0.8 * driver.undisturbed(task).seconds
        moments = [chance.uniform(0, longest) for _ in range(3)]
        behind = Machine(ahead=-HOUR_S)
        person: Person = "careless" if number % 3 == 2 else "careful"
        if number % 4 == 1:
            kills = (Kill("after", moments[0]), Kill("after", moments[1], behind))
            yield Trial(task, kills, last=chance.choice([behind, HERE]), person=person)
        else:
            several = tuple(Kill("after", moment) for moment in moments[: 2 if number % 4 == 3 else 1])
            yield Trial(task, several, person=person)


def border_trials(task: Task, nodes: int, requests: int) -> list[Trial]:
    """Kill after each node, and before and after each request."""
    moments: list[Moment] = ["send", "answer"]
    kills = [Kill("node", number) for number in range(1, nodes + 1)]
    kills += [Kill(moment, number) for number in range(1, requests + 1) for moment in moments]
    return [Trial(task, (kill,)) for kill in kills]


def zombie_trials(task: Task, found: Outcome, *, has_file: bool = True, every: int = 1) -> Iterator[Trial]:
    """Stop the child at every nth position, and continue it when another one has ended.

    The positions are after each node, before and after each request, and before each use of the store, if it is a file.
    The trials run in turn as on a server, which locks no thread; with lock files that are removed under the first
    child, which approves carelessly; and with a database that is removed, if it is a file.
    """
    ways: list[tuple[Removed, Person]] = [("", "careful"), ("locks", "careless"), ("", "careless")]
    ways += [("database", "careful")] if has_file else []
    stops = [trial.kills[0] for trial in border_trials(task, found.nodes, found.requests)]
    stops += [Kill("store", number) for number in range(1, found.uses + 1)] if has_file else []
    for number, stop in enumerate(stops[::every]):
        removed, person = ways[number % len(ways)]
        yield Trial(task, (replace(stop, fate="stopped"),), person=person, removed=removed, locked=bool(removed))


def pause_trials(tasks: Sequence[Task]) -> Iterator[Trial]:
    """End the process at a question, and answer it a day later in another version of the package."""
    later = Machine(ahead=DAY_S, version=OTHER_VERSION)
    for number, task in enumerate(tasks):
        yield Trial(task, (Kill("question", 2 + number % 2),), last=later)
