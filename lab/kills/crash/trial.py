"""A trial of the crash test: the task, how the children that carry it out end, and the judge of what came of it."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Literal

import restgpt
from lab.kills.job import Job
from lab.kills.ledger import Ledger
from lab.kills.machine import HERE, Machine
from lab.kit.errand import DONE, Errand
from restgpt.calling.claim import RemovedDatabaseError

UNSURE = "what the recipe reports may not be so"

Moment = Literal["never", "after", "node", "send", "answer", "question", "store"]
Fate = Literal["killed", "stopped"]
Person = Literal["careful", "careless"]
Removed = Literal["", "locks", "database"]
Writes = Literal["ask", "allow"]
Task = Errand | Job


@dataclass(frozen=True, slots=True)
class Kill:
    """The moment when a child is killed, or stopped until the others have ended, and the machine that it runs on.

    That is `after` some seconds, after the nth `node`, before or after the nth request, at the nth `question`, or
    before the nth time that it uses the `store`, which must be in SQLite.
    """

    moment: Moment = "never"
    number: float = 0
    machine: Machine = HERE
    fate: Fate = "killed"

    def __str__(self) -> str:
        when = f"{self.fate} {self.moment} {self.number:.3g}" if self.moment != "never" else "never killed"
        return f"{when}{self.machine}"


@dataclass(frozen=True, slots=True)
class Trial:
    """A task and how the children that carry it out end; the last child is not killed, and runs on the machine `last`.

    The `person` answers the questions. Lock files or the database are `removed` while a child is stopped; without the
    database no other child takes over. A trial that is not `locked` runs as on a server, which locks no thread.
    """

    task: Task
    kills: tuple[Kill, ...] = ()
    last: Machine = HERE
    person: Person = "careful"
    removed: Removed = ""
    locked: bool = True

    def __str__(self) -> str:
        kills = ", then ".join(map(str, self.kills)) or "never killed"
        last = f", then never{self.last}" if self.last != HERE else ""
        ways = [self.person] * (self.person != "careful") + [f"without {self.removed}"] * bool(self.removed)
        ways += ["unlocked"] * (not self.locked)
        return f"{kills}{last}{' (' + ', '.join(ways) + ')' if ways else ''}: {self.task.instruction}"


@dataclass(slots=True)
class Outcome:
    """What came of a trial, and what its children told while they ran.

    `asked` counts the questions that were answered, by request; `again` has those that came again without a reason.
    `counts` are of children that were killed or stopped (`killed`), zombies that lost their claims (`fenced`),
    questions about an `unknown` outcome or a `changed` target, and changes of unknown outcome that a person approved
    again (`risked`). `uses` counts the uses of the store, and `withheld` is the error of a child that ended with one.
    """

    answer: str = ""
    version: str = ""
    nodes: int = 0
    requests: int = 0
    seconds: float = 0.0
    uses: int = 0
    withheld: str = ""
    counts: Counter[str] = field(default_factory=Counter)
    asked: Counter[str] = field(default_factory=Counter)
    again: list[str] = field(default_factory=list)
    made: list[str] = field(default_factory=list)
    state: Any = None
    ledger: Ledger = field(default_factory=lambda: Ledger(Counter(), ""))

    def hear(self, told: Any) -> None:
        """Note one message of a child."""
        match told:
            case ("question", "unknown" | "changed" as why, _):
                self.counts[why] += 1
            case ("question", _, request) if self.asked[request]:
                self.again.append(request)
            case ("answered", request):
                # An answer counts once its effect is saved: one that dies with its process has to be given again.
                self.asked[request] += 1
            case ("risked",):
                self.counts["risked"] += 1
            case ("withheld", error):
                self.withheld = error
            case ("uses", number):
                self.uses = number
            case ("end", answer, nodes, version):
                self.answer, self.nodes, self.version = answer, nodes, version

    def faults(self, wanted: "Outcome", trial: Trial) -> list[str]:
        """Return what is wrong with it beside an undisturbed outcome.

        A change may be there twice only as often as a person let one of unknown outcome go out once more.
        """
        task, last = trial.task, trial.last
        lost, doubled = self.ledger.lost(wanted.ledger), self.ledger.doubled(wanted.ledger)
        if trial.removed == "database":
            # A change that was not sent counts as lost unless the run ended with an error.
            is_told = RemovedDatabaseError.__name__ in self.withheld or not lost
            return [f"doubled {change}" for change in doubled] + ([] if is_told else ["it went on without database"])
        is_end = self.answer.strip() == DONE or self.is_unsure
        found = [] if is_end else [f"it ended with {self.answer or self.withheld!r}"]
        found += [f"lost {change}" for change in lost]
        found += [f"doubled {change}" for change in doubled] if len(doubled) > self.counts["risked"] else []
        if self.counts["risked"]:
            return found
        # The calls of an API plan follow from each other, so their order counts; and after a change of unknown outcome
        # those behind it are dropped, planned anew and asked about again.
        found += [f"asked twice about {request}" for request in self.again if isinstance(task, Job)]
        is_same = (self.made, self.state) == (wanted.made, wanted.state)
        if isinstance(task, Job):
            is_same = self.ledger == wanted.ledger
        if not found and not is_same:
            found.append("the world is another one")
        if self.version != (last.version or restgpt.__version__):
            found.append(f"the version was {self.version}")
        return found

    @property
    def is_unsure(self) -> bool:
        """Whether a recipe ended and said that it cannot know what came of a change of unknown outcome."""
        return bool(self.counts["unknown"]) and UNSURE in self.answer
