"""The filters of generated examples: kept ones parse, validate, leak no name, and are new."""

import re
from collections.abc import Sequence

from restgpt_functions.calls.call import Call, CallSyntaxError
from restgpt_functions.calls.parsing import parse_calls
from restgpt_functions.calls.validation import check_call, settle_call
from restgpt_functions.docs.function import Function

WORDS = (3, 120)
"""The least and the most words of an instruction."""

LIKENESS = 0.7
"""Two instructions with at least this ROUGE-L count as the same."""


class Rejected(ValueError):
    """A generated example is not kept; `reason` is the name of the filter."""

    def __init__(self, reason: str, message: str) -> None:
        self.reason = reason
        super().__init__(f"{reason}: {message}")


def accept(instruction: str, text: str, function: Function, kept: Sequence[str]) -> Call:
    """The call of an example that passes every filter; raises `Rejected`."""
    call = _parsed(text, function)
    problems = check_call(call, [function])
    if problems:
        raise Rejected("does not validate", "; ".join(map(str, problems)))
    words = instruction.split()
    if not WORDS[0] <= len(words) <= WORDS[1]:
        raise Rejected("length", f"the instruction has {len(words)} words")
    leaked = leaked_name(instruction, function)
    if leaked:
        raise Rejected("leaks a name", leaked)
    if any(likeness(instruction, other) >= LIKENESS for other in kept):
        raise Rejected("near duplicate", instruction)
    return call


def _parsed(text: str, function: Function) -> Call:
    try:
        calls = parse_calls(text, [function])
    except CallSyntaxError as error:
        raise Rejected("does not parse", str(error)) from None
    if len(calls) != 1:
        raise Rejected("does not parse", f"{len(calls)} calls where one is wanted")
    if calls[0].name != function.name:
        raise Rejected("does not validate", f"{calls[0].name} is called instead of {function.name}")
    return settle_call(calls[0], function)


def leaked_name(instruction: str, function: Function) -> str:
    """A name of the function or of a parameter that no person would say; empty if there is none."""
    names = [function.name, *function.name.split("."), *(parameter.name for parameter in function.parameters)]
    telling = [name for name in names if re.search(r"[_.]|[a-z][A-Z]", name)]
    folded = instruction.lower()
    return next((name for name in telling if name.lower() in folded), "")


def likeness(one: str, other: str) -> float:
    """The ROUGE-L F-measure of two texts, from 0 to 1."""
    first, second = re.findall(r"\w+", one.lower()), re.findall(r"\w+", other.lower())
    if not first or not second:
        return 0.0
    common = _common(first, second)
    return 2 * common / (len(first) + len(second))


def _common(first: Sequence[str], second: Sequence[str]) -> int:
    """The length of the longest common subsequence."""
    row = [0] * (len(second) + 1)
    for word in first:
        diagonal = 0
        for column, other in enumerate(second, start=1):
            above = row[column]
            row[column] = diagonal + 1 if word == other else max(above, row[column - 1])
            diagonal = above
    return row[-1]
