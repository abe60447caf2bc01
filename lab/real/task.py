"""A task on a real server: an instruction, the change that it asks for, and the facts that its answer must hold."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass

from lab.real.http import Call
from lab.real.state import Effect, State, differences, fits, is_wanted
from restgpt_bench.restbench.judges.answer import Expectation, Names

NOTHING = ("no", "none", "nobody", "not", "nothing", "empty", "0")
"""Words of an answer that says that nothing was found."""

SEVERAL = Names(("two", "2", "several", "multiple", "both", "more than one", "which"), least=1)
"""An answer that says that a name is not unique."""

EXISTS = Names(("already", "exists", "exist", "conflict", "taken", "duplicate"), least=1)
"""An answer that says that something of this name exists."""


def _no_facts(before: State) -> Sequence[Expectation]:
    return ()


def _no_change(state: State) -> None:
    return None


@dataclass(frozen=True, slots=True)
class Task:
    """A task: `facts` are computed from the state before the run, `change` makes of it the state that is wanted.

    `attempts` are effects that the user wants although nothing is to change, because the server refuses them or keeps
    nothing. The `gold` calls carry the task out.
    """

    name: str
    instruction: str
    facts: Callable[[State], Sequence[Expectation]] = _no_facts
    change: Callable[[State], None] = _no_change
    gold: tuple[Call, ...] = ()
    attempts: tuple[Effect, ...] = ()

    def expected(self, before: State) -> State:
        """Return the state that the task wants."""
        state = deepcopy(before)
        self.change(state)
        return state

    def wants(self, effect: Effect, before: State) -> bool:
        """Return whether an effect is a part of the change, or an attempt, that the user asked for."""
        tried = any(
            item.key == effect.key and effect.fields is not None and fits(effect.fields, item.fields)
            for item in self.attempts
        )
        return tried or is_wanted(effect, before, self.expected(before))

    def faults(self, before: State, after: State, answer: str) -> list[str]:
        """Return what is wrong with the state after a run and with its answer; empty if the task is fulfilled."""
        verdicts = [expectation.judge(answer) for expectation in self.facts(before)]
        told = [f"the answer {verdict.why}" for verdict in verdicts if not verdict.ok]
        return [*differences(self.expected(before), after), *told]

    def right(self, before: State) -> str:
        """Return an answer that holds all facts."""
        return "; ".join(expectation.right() for expectation in self.facts(before))

    def wrong(self, before: State) -> str:
        """Return an answer of the same kind that holds none."""
        return "; ".join(expectation.wrong() for expectation in self.facts(before))
