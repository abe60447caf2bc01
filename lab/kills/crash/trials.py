"""Lists of trials: kills at random moments and at every border, zombies and pauses; and the tally of some of them."""

import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from lab.kills.crash.driver import Driver
from lab.kills.crash.trial import Kill, Moment, Outcome, Person, Removed, Task, Trial
from lab.kills.machine import DAY_S, HERE, HOUR_S, Machine
from lab.kit.tally import Sum

OTHER_VERSION = "99.0"


@dataclass(slots=True)
class Tally(Sum):
    """The results of some trials; `wrong` has a line for each that lost or doubled a change, or asked twice."""

    trials: int = 0
    killed: int = 0
    moved: int = 0
    questions: int = 0
    asked: int = 0
    changed: int = 0
    zombies: int = 0
    fenced: int = 0
    risked: int = 0
    unsure: int = 0
    wrong: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def add(self, outcome: Outcome, trial: Trial) -> None:
        """Count a trial."""
        self.trials += 1
        self.killed += bool(outcome.killed)
        self.moved += any(machine != HERE for machine in [trial.last, *(kill.machine for kill in trial.kills)])
        self.questions += outcome.unknown
        self.asked += sum(outcome.asked.values())
        self.changed += outcome.changed
        self.zombies += any(kill.fate == "stopped" for kill in trial.kills)
        self.fenced += outcome.fenced
        self.risked += outcome.risked
        self.unsure += outcome.is_unsure

    def __str__(self) -> str:
        return (
            f"{self.trials} trials, {self.killed} killed or stopped in the middle, {self.moved} went on with another "
            f"clock or version; {self.zombies} zombies, {self.fenced} of them kept from going on; {self.asked} "
            f"approvals asked for, {self.questions} of unknown outcome, {self.risked} of these sent once more, "
            f"{self.changed} because the target had changed; {self.unsure} reports in doubt; {len(self.wrong)} wrong; "
            f"{self.seconds:.0f} s"
        )


def trials(driver: Driver, chosen: Iterable[Trial], *, say: Callable[[str], None] = lambda text: None) -> Tally:
    """Run trials, and compare each world with that of an undisturbed run."""
    started = time.monotonic()
    tally = Tally()
    for trial in chosen:
        wanted = driver.undisturbed(trial.task)
        outcome = driver.run(trial)
        while trial.kills and not outcome.killed and trial.kills[0].moment == "after":
            # The run ended before the kill, because the machine is less busy than when it was measured.
            trial = replace(trial, kills=tuple(replace(kill, number=0.7 * kill.number) for kill in trial.kills))
            outcome = driver.run(trial)
        tally.add(outcome, trial)
        if found := outcome.faults(wanted, trial):
            tally.wrong.append(f"{trial}\n  {'; '.join(found)}")
            say(tally.wrong[-1])
    tally.seconds = time.monotonic() - started
    return tally


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
