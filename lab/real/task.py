"""A task on a real server: an instruction, the change that it asks for, and the facts that its answer must hold."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from lab.real.http import Call
from lab.real.state import Effect, State, differences, fits, is_wanted
from restgpt_bench.restbench.judges.answer import Dates, Expectation, Names, Number

SAYS: Mapping[str, tuple[str, ...]] = {
    "nothing": ("no", "none", "nobody", "not", "nothing", "empty", "0"),
    "several": ("two", "2", "several", "multiple", "both", "more than one", "which"),
    "exists": ("already", "exists", "exist", "conflict", "taken", "duplicate"),
}
"""Words of which an answer has one that says: nothing was found, a name is not unique, such a thing exists."""


def _expectation(
    names: Sequence[str] = (),
    says: str = "",
    number: float | None = None,
    days: Sequence[date] = (),
    least: int | None = None,
    forbidden: Sequence[str] = (),
) -> Expectation:
    if number is not None:
        return Number(number)
    if days:
        return Dates(tuple(days))
    return Names(SAYS[says] if says else tuple(names), 1 if says else least, tuple(forbidden))


def _merged(content: Any, part: Any) -> Any:
    if not isinstance(part, Mapping):
        return part
    known = content if isinstance(content, Mapping) else {}
    return {**known, **{name: _merged(known.get(name), value) for name, value in part.items()}}


@dataclass(frozen=True, slots=True)
class Task:
    """A task: `facts` are conditions of the answer, `change` has what is to be merged into each resource, or None.

    `attempts` are effects that the user wants although nothing is to change, because the server refuses them or keeps
    nothing. The `gold` calls carry the task out.
    """

    name: str
    instruction: str
    facts: Sequence[Expectation] = ()
    change: Mapping[str, Any] = field(default_factory=dict)
    gold: Sequence[Call] = ()
    attempts: Sequence[Effect] = ()

    @classmethod
    def of(cls, name: str, given: Mapping[str, Any]) -> "Task":
        """Return the task that a file of tasks describes."""
        return cls(
            name,
            given["instruction"],
            [_expectation(**fact) for fact in given.get("facts", ())],
            given.get("change", {}),
            [Call(**call) for call in given.get("gold", ())],
            [Effect(key, fields) for key, fields in given.get("attempts", {}).items()],
        )

    def expected(self, before: State) -> State:
        """Return the state that the task wants."""
        changed = {key: _merged(before.get(key), part) for key, part in self.change.items() if part is not None}
        return {key: content for key, content in before.items() if self.change.get(key, content) is not None} | changed

    def wants(self, effect: Effect, before: State) -> bool:
        """Return whether an effect is a part of the change, or an attempt, that the user asked for."""
        tried = any(
            item.key == effect.key and effect.fields is not None and fits(effect.fields, item.fields)
            for item in self.attempts
        )
        return tried or is_wanted(effect, before, self.expected(before))

    def faults(self, before: State, after: State, answer: str) -> list[str]:
        """Return what is wrong with the state after a run and with its answer; empty if the task is fulfilled."""
        verdicts = [fact.judge(answer) for fact in self.facts]
        told = [f"the answer {verdict.why}" for verdict in verdicts if not verdict.ok]
        return [*differences(self.expected(before), after), *told]

    @property
    def right(self) -> str:
        """An answer that holds all facts."""
        return "; ".join(fact.right() for fact in self.facts)

    @property
    def wrong(self) -> str:
        """An answer of the same kind that holds none."""
        return "; ".join(fact.wrong() for fact in self.facts)
