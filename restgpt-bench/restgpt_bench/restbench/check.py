"""Checks the judges: on every task gold calls must succeed; doing nothing, guessing and spoilt outcomes must fail."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from restgpt_bench.restbench.judges.task import PlannedCall, Task, follows, perform
from restgpt_bench.restbench.suite import Item, Suite
from restgpt_bench.worlds import World, open_world

GUESSES = ("", "Done.", "I do not know.", "Yes.", "The Beatles", "42")
"""Answers that an agent may give without a call; the true answer and a false one of the task come on top."""


@dataclass(frozen=True, slots=True)
class Tally:
    """The result of one kind of attempt: `passed` of `n` tasks succeeded; `wrong` has the reason of each surprise."""

    name: str
    expected: str
    passed: int
    n: int
    wrong: dict[str, str] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether every task ended as expected."""
        return not self.wrong


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The tallies of one suite and one seed."""

    suite: str
    seed: int
    tallies: tuple[Tally, ...]

    @property
    def ok(self) -> bool:
        """Whether every task ended as expected."""
        return all(tally.ok for tally in self.tallies)


@dataclass(frozen=True, slots=True)
class _Attempt:
    """One way to attempt a task. `make` returns whether the judge passed it and why; None where it does not apply."""

    name: str
    should_pass: bool
    make: Callable[[World[Any], Item], tuple[bool, str] | None]


def check_suite(suite: Suite, *, seed: int = 0, progress: Callable[[], None] = lambda: None) -> CheckReport:
    """Try all attempts on all tasks, in process; `progress` is called after each task."""
    world = open_world(suite.world, seed=seed)
    outcomes: dict[str, dict[str, tuple[bool, str]]] = {attempt.name: {} for attempt in ATTEMPTS}
    for item in suite.items:
        for attempt in ATTEMPTS:
            world.reset(item.task.fixture)
            outcome = attempt.make(world, item)
            if outcome is not None:
                outcomes[attempt.name][item.key] = outcome
        progress()
    return CheckReport(suite.name, seed, tuple(_tally(attempt, outcomes[attempt.name]) for attempt in ATTEMPTS))


def _tally(attempt: _Attempt, outcomes: dict[str, tuple[bool, str]]) -> Tally:
    wrong = {key: why for key, (passed, why) in outcomes.items() if passed != attempt.should_pass}
    passed = sum(passed for passed, _ in outcomes.values())
    return Tally(attempt.name, "all" if attempt.should_pass else "none", passed, len(outcomes), wrong)


def _gold(world: World[Any], item: Item) -> tuple[bool, str]:
    answer = item.task.replay(world).answer
    if not follows(world.log.operations(), item.task.gold):
        return False, "the gold calls are not in the log"
    verdict = item.task.check(world, world.log, answer)
    return verdict.ok, verdict.why


def _nothing(world: World[Any], item: Item) -> tuple[bool, str]:
    verdict = item.task.check(world, world.log, "")
    return verdict.ok, verdict.why


def _guess(world: World[Any], item: Item) -> tuple[bool, str]:
    """Even the true answer fails when nothing was looked up."""
    answers = (*GUESSES, item.task.right(world), item.task.wrong(world))
    return _any(f"said {answer!r}" for answer in answers if item.task.check(world, world.log, answer).ok)


def _wrong_answer(world: World[Any], item: Item) -> tuple[bool, str] | None:
    if not is_question(item.task):
        return None
    wrong = item.task.wrong(world)
    item.task.replay(world)
    answers = (wrong, "I do not know.", "")
    return _any(f"said {answer!r}" for answer in answers if item.task.check(world, world.log, answer).ok)


def _spoilt(world: World[Any], item: Item) -> tuple[bool, str] | None:
    if type(item.task).spoil is Task.spoil:
        return None
    answer = item.task.replay(world).answer
    item.task.spoil(world)
    verdict = item.task.check(world, world.log, answer)
    return verdict.ok, verdict.why


def _left_out(world: World[Any], item: Item) -> tuple[bool, str] | None:
    """Leave out each change in turn; the seed decides new ids, so the other calls stay the same."""
    if is_question(item.task):
        return None
    replay = item.task.replay(world)

    def passed() -> Iterator[str]:
        for number, call in enumerate(replay.calls):
            if not is_change(call.operation):
                continue
            world.reset(item.task.fixture)
            _perform_all(world, (*replay.calls[:number], *replay.calls[number + 1 :]))
            if item.task.check(world, world.log, replay.answer).ok:
                yield f"without {call.operation}"

    return _any(passed())


def _perform_all(world: World[Any], calls: Sequence[PlannedCall]) -> None:
    """Make the calls; the world may refuse some, because the change that they build on was left out."""
    for call in calls:
        perform(world, call)


def _any(found: Iterator[str]) -> tuple[bool, str]:
    first = next(found, "")
    return bool(first), first


def is_change(operation: str) -> bool:
    """Whether "METHOD /template" changes something (RFC 9110, section 9.2.1)."""
    return operation.split(" ", 1)[0] not in ("GET", "HEAD", "OPTIONS")


def is_question(task: Task) -> bool:
    """Whether only the answer counts, because no gold call changes anything."""
    return not any(is_change(operation) for operation in task.gold)


ATTEMPTS = (
    _Attempt("gold replay", True, _gold),
    _Attempt("do nothing", False, _nothing),
    _Attempt("guess only", False, _guess),
    _Attempt("mutated: wrong answer", False, _wrong_answer),
    _Attempt("mutated: end state spoilt", False, _spoilt),
    _Attempt("mutated: a change left out", False, _left_out),
)
