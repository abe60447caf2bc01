"""Attributes each failed task to a module (paper, section 5.3 and figure 3), by rules over the record.

The rules are tried in the order of `RULES`; the first that fits decides. They look at the listed path along which the
fulfilled calls came furthest, and at its first step that was not reached (the missing operation):

    none                        the task succeeded
    run broke off               neither module: a provider or the API could not be reached, or the program failed
    planner gave no decision    its replies could not be read
    never planned               no sub-task is about the missing operation: planner
    another was selected        a sub-task is about it, but no API plan holds it: selector
    value not extracted         selected, not fulfilled, and an earlier result that was fetched holds a value that the
                                call needs but the parser did not bring out: parser
    API failed                  selected and requested, and the API did not answer or answered 5xx: run
    not carried out             selected, but not requested, or refused with 4xx: caller
    value not extracted         all calls fulfilled, but one without a value that no result brought out: parser
    other value used            all calls fulfilled, but one with another value than the results gave: caller
    change planned in excess    something else was changed, and a sub-task is about it: planner
    change selected in excess   something else was changed, and no sub-task is about it: selector
    answer not extracted        all calls fulfilled, but the extracted results do not hold the answer: parser
    answered wrongly            the extracted results hold the answer, but the answer does not: planner
    changed wrongly             all changes made, but not as wanted: caller

For a method without a planner of its own, whoever plans counts as the planner.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from restgpt.specs.problem import is_success
from restgpt.tools.model import ROLES, Role
from restgpt_bench.restbench.check import is_change
from restgpt_bench.restbench.judges.task import shape
from restgpt_bench.restbench.record import GoldCall, Record

Module = Role | Literal["none", "run"]
MODULES: tuple[Module, ...] = (*ROLES, "none", "run")

Rule = Callable[["Trail"], bool]


@dataclass(frozen=True, slots=True)
class Attribution:
    """The module that caused a task's failure, and the rule that found it."""

    module: Module
    rule: str


def attribute(record: Record) -> Attribution:
    """Apply the rules to a record."""
    trail = Trail(record)
    return next(Attribution(module, name) for name, module, fits in RULES if fits(trail))


class Trail:
    """The values of a record that the rules read."""

    def __init__(self, record: Record) -> None:
        self.record = record

    @cached_property
    def fulfilled(self) -> list[str]:
        """The shapes of all fulfilled calls, the parts of one request included."""
        return [shape(operation) for operation in self.record.called(covered=True)]

    @cached_property
    def path(self) -> tuple[str, ...]:
        """The listed path along which the calls came furthest; among equals one whose next step was selected."""
        paths = [tuple(map(shape, path)) for path in self.record.paths]
        return min(paths, key=self._distance)

    def _distance(self, path: tuple[str, ...]) -> tuple[int, bool]:
        step = self._next(path)
        return len(path) - reached(self.fulfilled, path), bool(step) and not self._is_selected(step, path)

    def _next(self, path: tuple[str, ...]) -> str:
        count = reached(self.fulfilled, path)
        return path[count] if count < len(path) else ""

    @cached_property
    def missing(self) -> str:
        """The first step of the path that was not reached; empty if all were."""
        return self._next(self.path)

    @cached_property
    def planned(self) -> bool:
        """Whether a sub-task is about the missing operation."""
        return self.speaks_of(self.missing)

    def speaks_of(self, operation: str) -> bool:
        """Whether some sub-task is about an operation."""
        return any(operation in map(shape, part.speaks_of) for part in self.record.subtasks)

    @cached_property
    def selected(self) -> bool:
        """Whether an API plan holds the missing operation more often than it was fulfilled."""
        return self._is_selected(self.missing, self.path)

    def _is_selected(self, operation: str, path: Sequence[str]) -> bool:
        wanted = min(path.count(operation), self.fulfilled.count(operation) + 1)
        return self._chosen.count(operation) >= wanted

    @cached_property
    def _chosen(self) -> list[str]:
        return [self._shape(call) for plan in self.record.plans for call in plan["calls"]]

    def _shape(self, call: Any) -> str:
        return shape(self.record.operations.get(call["operation"], ""))

    @cached_property
    def requests(self) -> list[Any]:
        """The requests of the trajectory, in order."""
        return [request for step in self.record.steps for request in step["requests"]]

    @cached_property
    def extracted(self) -> str:
        """The text of all results."""
        return "\n".join(request["result"] for request in self.requests)

    def brought_out(self, value: Any) -> bool:
        """Whether the instruction or a result contains a value."""
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        return any(text in place for place in (self.extracted, self.record.instruction))

    @cached_property
    def next_gold(self) -> GoldCall | None:
        """The gold call of the missing operation."""
        return next((call for call in self.record.calls if shape(call.operation) == self.missing), None)

    @cached_property
    def strayed(self) -> list[Any]:
        """Values of earlier results that a gold call takes and that no fulfilled call of its operation has."""
        found: list[Any] = []
        for call in self.record.calls:
            sent = [text for key, text in self._sent if key == shape(call.operation)]
            if sent:
                found += [value for value in call.flows if not any(_plain(value) in text for text in sent)]
        return found

    @cached_property
    def _sent(self) -> list[tuple[str, str]]:
        """The fulfilled requests with path, query and body, as the world logged them."""
        return [
            (shape(operation), json.dumps([entry["path"], entry["query"], entry["body"]], ensure_ascii=False))
            for entry in self.record.log
            if is_success(entry["status"])
            for operation in entry["covers"]
        ]

    @cached_property
    def excess(self) -> list[str]:
        """The fulfilled changes beyond those of the path."""
        left = list(self.path)
        found = []
        for operation in self.fulfilled:
            if operation in left:
                left.remove(operation)
            elif is_change(operation):
                found.append(operation)
        return found

    @property
    def is_question(self) -> bool:
        """Whether only the answer counts."""
        return not any(is_change(operation) for operation in self.path)


def reached(called: Sequence[str], path: Sequence[str]) -> int:
    """The number of steps of a path that were reached, in order."""
    count = 0
    for operation in called:
        if count < len(path) and operation == path[count]:
            count += 1
    return count


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _broke_off(trail: Trail) -> bool:
    return trail.record.failure is not None and trail.record.failure.type != "ModelReplyError"


def _no_decision(trail: Trail) -> bool:
    return trail.record.failure is not None


def _never_planned(trail: Trail) -> bool:
    return bool(trail.missing) and not trail.selected and not trail.planned


def _another_selected(trail: Trail) -> bool:
    return bool(trail.missing) and not trail.selected


def _value_missing(trail: Trail) -> bool:
    if not trail.missing or trail.next_gold is None:
        return False
    return any(not trail.brought_out(value) for value in trail.next_gold.flows)


def _api_failed(trail: Trail) -> bool:
    """The last request of the missing operation got no response, or one of 5xx."""
    tried = [request for request in trail.requests if trail._shape(request) == trail.missing]
    if not trail.missing or not tried:
        return False
    return tried[-1]["status"] == "failed" or int(tried[-1]["response"].get("status", 0)) >= 500


def _not_carried_out(trail: Trail) -> bool:
    return bool(trail.missing)


def _value_not_extracted(trail: Trail) -> bool:
    return any(not trail.brought_out(value) for value in trail.strayed)


def _other_value(trail: Trail) -> bool:
    return bool(trail.strayed)


def _excess_planned(trail: Trail) -> bool:
    return any(trail.speaks_of(operation) for operation in trail.excess)


def _excess_selected(trail: Trail) -> bool:
    return bool(trail.excess)


def _answer_not_extracted(trail: Trail) -> bool:
    return trail.is_question and not trail.record.told


RULES: tuple[tuple[str, Module, Rule], ...] = (
    ("success", "none", lambda trail: trail.record.success),
    ("run broke off", "run", _broke_off),
    ("planner gave no decision", "planner", _no_decision),
    ("never planned", "planner", _never_planned),
    ("another was selected", "selector", _another_selected),
    ("value not extracted", "parser", _value_missing),
    ("API failed", "run", _api_failed),
    ("not carried out", "caller", _not_carried_out),
    ("value not extracted", "parser", _value_not_extracted),
    ("other value used", "caller", _other_value),
    ("change planned in excess", "planner", _excess_planned),
    ("change selected in excess", "selector", _excess_selected),
    ("answer not extracted", "parser", _answer_not_extracted),
    ("answered wrongly", "planner", lambda trail: trail.is_question),
    ("changed wrongly", "caller", lambda trail: True),
)
"""Name, module and condition of each rule, in the order in which they are tried; the last one always fits."""


def breakdown(records: Sequence[Record]) -> dict[Module, int]:
    """The number of records that are attributed to each module."""
    found = [attribute(record).module for record in records]
    return {module: found.count(module) for module in MODULES}
