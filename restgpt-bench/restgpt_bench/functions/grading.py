"""The outcome of a function-calling task: SUCCESS, INCOMPLETE or FAILURE, as in the original's figure, and why."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from restgpt_bench.functions.matcher import MatchRules, decode_calls, match_calls
from restgpt_bench.functions.tasks import FunctionTask
from restgpt_bench.restbench.metrics import Proportion
from restgpt_functions.calls.call import Call, CallSyntaxError
from restgpt_functions.docs.function import Function

Mode = Literal["original", "strict"]


class Outcome(StrEnum):
    """The three outcomes of the original's figure."""

    SUCCESS = "success"
    INCOMPLETE = "incomplete"
    FAILURE = "failure"


@dataclass(frozen=True, slots=True)
class Said:
    """The answer of a system: calls, a question, or neither; `broken` is the reason why its call cannot be read."""

    calls: tuple[Call, ...] = ()
    question: str = ""
    broken: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class Grade:
    """The outcome of one task, whether it is right, and the kind of fault if not."""

    task: str
    outcome: Outcome
    right: bool
    kind: str = ""
    message: str = ""


def read_answer(text: str, functions: Sequence[Function], *, rules: MatchRules | None = None) -> Said:
    """The answer in a model's raw text: its calls, else a question if it has a question mark."""
    try:
        calls = tuple(decode_calls(text, functions, rules=rules))
    except CallSyntaxError as error:
        return Said(broken=str(error), text=text)
    if calls:
        return Said(calls, text=text)
    return Said(question=text.strip() if "?" in text else "", text=text)


def grade(task: FunctionTask, said: Said, *, mode: Mode = "strict", rules: MatchRules | None = None) -> Grade:
    """Grade an answer.

    In the mode `original` a question is INCOMPLETE wherever it is asked, and counts as right, as in the published
    figure; a call is compared with the reference answer even where that invents values. In the mode `strict` a question
    is right only where a required value is unsaid, and an invented value is a FAILURE.
    """
    rules = rules or MatchRules()
    if said.broken and not (rules.malformed_abstains and task.expected == "abstain"):
        return _failure(task, "malformed", said.broken)
    if task.expected == "abstain":
        return _abstained(task, said)
    if task.expected == "any call":
        called = bool(said.calls)
        return Grade(task.id, Outcome.SUCCESS, True) if called else _failure(task, "no_call", "nothing is called")
    if said.question:
        return _asked(task, said, mode)
    if not said.calls:
        return _failure(task, "no_call", "nothing is called and nothing is asked")
    if mode == "strict" and task.expected == "ask":
        return _failure(task, "invented", f"made up: {', '.join(_made_up(task, said))}")
    verdict = match_calls(said.calls, task.answers, task.functions, language=task.language, rules=rules)
    if verdict.valid:
        return Grade(task.id, Outcome.SUCCESS, True)
    return _failure(task, verdict.kind, verdict.message)


def _failure(task: FunctionTask, kind: str, message: str) -> Grade:
    return Grade(task.id, Outcome.FAILURE, False, kind, message)


def _abstained(task: FunctionTask, said: Said) -> Grade:
    if said.calls:
        return _failure(task, "irrelevant_call", f"{said.calls[0].name} is called where no function fits")
    return Grade(task.id, Outcome.SUCCESS, True)


def _asked(task: FunctionTask, said: Said, mode: Mode) -> Grade:
    if mode == "original" or task.may_ask:
        return Grade(task.id, Outcome.INCOMPLETE, True, "asked", said.question)
    if task.expected != "ask":
        return _failure(task, "asked_needlessly", said.question)
    named = [name for name in task.unsaid if _names(said.question, name)]
    if not named and len(task.functions) == 1:
        return _failure(task, "asked_for_something_else", said.question)
    return Grade(task.id, Outcome.INCOMPLETE, True, "asked", said.question)


def _names(question: str, name: str) -> bool:
    """Whether a question names a value, by its name or by one of the name's words."""
    folded = question.lower()
    return any(word in folded for word in [name.lower(), *(part for part in name.lower().split("_") if len(part) > 2)])


def _made_up(task: FunctionTask, said: Said) -> list[str]:
    """The unsaid values that the calls give all the same."""
    return sorted(task.unsaid & {name for call in said.calls for name in call.arguments})


@dataclass(frozen=True, slots=True)
class Score:
    """Counts over the tasks of a suite; `kinds` are the faults by kind."""

    n: int
    outcomes: dict[str, int]
    right: int
    kinds: dict[str, int]

    @property
    def accuracy(self) -> float:
        """The share of right answers; 0 where there is no task."""
        return self.right / self.n if self.n else 0.0


def score(grades: Sequence[Grade]) -> Score:
    """Count outcomes and kinds of faults."""
    outcomes = Counter(str(one.outcome) for one in grades)
    kinds = Counter(one.kind for one in grades if not one.right)
    return Score(
        n=len(grades),
        outcomes={str(outcome): outcomes.get(str(outcome), 0) for outcome in Outcome},
        right=sum(one.right for one in grades),
        kinds=dict(kinds.most_common()),
    )


def report(suite: str, result: Score) -> str:
    """The score as a table with n, shares and the kinds of faults."""
    low, high = Proportion(result.right, result.n).interval
    lines = [f"{suite}  n={result.n}", ""]
    for outcome, count in result.outcomes.items():
        lines.append(f"{outcome.upper():<12}{count:>5}  {_percent(count, result.n)}")
    certain = f"(95 %: {100 * low:.1f} to {100 * high:.1f})"
    lines.append(f"{'accuracy':<12}{result.right:>5}  {_percent(result.right, result.n)}  {certain}")
    if result.kinds:
        lines += ["", "faults:"]
        lines += [f"  {kind:<26}{count:>4}  {_percent(count, result.n)}" for kind, count in result.kinds.items()]
    return "\n".join(lines)


def _percent(count: int, n: int) -> str:
    return f"{100 * count / n:6.2f} %" if n else "     – %"
