"""Augmentation: further examples from kept ones, by new names, distractors, parallel calls or a value left out."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from random import Random
from typing import Literal

from restgpt.functions.calls.call import Call
from restgpt.functions.calls.grounding import ungrounded_values
from restgpt.functions.docs.function import Function
from restgpt_bench.functions.filters import likeness

PairKind = Literal["single", "renamed", "multiple", "parallel", "parallel multiple", "irrelevant", "missing"]

DISTRACTORS = 3
RELATED = 0.34
"""Two functions whose documentation has at least this likeness are no distractors for each other."""

_CONSONANTS, _VOWELS = "bdfgklmnprstvz", "aeiou"
_PREPOSITIONS = "in|at|on|for|from|to|of|with|near|by|about|named|called|into|under|over|is|as"


@dataclass(frozen=True, slots=True)
class Pair:
    """One example: an instruction, the documented functions, and the right calls or the right answer in words."""

    instruction: str
    functions: tuple[Function, ...]
    calls: tuple[Call, ...] = ()
    answer: str = ""
    kind: PairKind = "single"
    source: str = ""


def augment(pairs: Sequence[Pair], random: Random) -> list[Pair]:
    """One further example of each kind per kept one, where it can be made."""
    others = list({pair.functions[0].name: pair.functions[0] for pair in pairs}.values())
    found: list[Pair] = []
    for pair in pairs:
        found += _renamed(pair, random)
        found += _multiple(pair, others, random)
        found += _irrelevant(pair, others, random)
        found += _missing(pair)
    found += _parallel(pairs, random)
    found += _parallel_multiple(pairs, random)
    return found


def _renamed(pair: Pair, random: Random) -> Iterator[Pair]:
    """The same example with a meaningless function name, so that only the documentation tells what it does."""
    function = pair.functions[0]
    if function.operation is not None or function.method:
        return
    name = ".".join("".join(_syllable(random) for _ in range(2)) for _ in function.name.split("."))
    renamed = replace(function, name=name, title="")
    calls = tuple(replace(call, name=name) for call in pair.calls)
    yield replace(pair, functions=(renamed,), calls=calls, kind="renamed")


def _syllable(random: Random) -> str:
    return random.choice(_CONSONANTS) + random.choice(_VOWELS) + random.choice(_CONSONANTS)


def _unrelated(function: Function, others: Sequence[Function]) -> list[Function]:
    """The functions that cannot be meant instead: another name and a description of other words."""
    return [
        other
        for other in others
        if other.name != function.name and likeness(other.description, function.description) < RELATED
    ]


def _multiple(pair: Pair, others: Sequence[Function], random: Random) -> Iterator[Pair]:
    """The function among others that do not fit."""
    unrelated = _unrelated(pair.functions[0], others)
    if unrelated:
        chosen = [pair.functions[0], *random.sample(unrelated, min(DISTRACTORS, len(unrelated)))]
        random.shuffle(chosen)
        yield replace(pair, functions=tuple(chosen), kind="multiple")


def _irrelevant(pair: Pair, others: Sequence[Function], random: Random) -> Iterator[Pair]:
    """Only functions that do not fit: the right answer is no call."""
    unrelated = _unrelated(pair.functions[0], others)
    if unrelated:
        chosen = random.sample(unrelated, min(DISTRACTORS, len(unrelated)))
        answer = "None of the given functions can do that."
        yield replace(pair, functions=tuple(chosen), calls=(), answer=answer, kind="irrelevant")


def _missing(pair: Pair) -> Iterator[Pair]:
    """The example without one required value, where cutting it out leaves it unsaid: the right answer asks for it."""
    function, call = pair.functions[0], pair.calls[0]
    for name in function.required:
        value = call.arguments.get(name)
        if not isinstance(value, str | int | float) or isinstance(value, bool):
            continue
        cut = _without(pair.instruction, str(value))
        if cut == pair.instruction or len(cut.split()) < 3:
            continue
        if any(one.name == name for one in ungrounded_values(call, function, [cut])):
            described = function.parameter(name)
            hint = f" ({described.description.rstrip('.')})" if described and described.description else ""
            yield replace(pair, instruction=cut, calls=(), answer=f"What is the {name}{hint}?", kind="missing")
            return


def _without(instruction: str, value: str) -> str:
    """The instruction without a value and the preposition before it."""
    pattern = rf"(?:\s+(?:{_PREPOSITIONS}))?\s+(?:the\s+)?['\"]?{re.escape(value)}['\"]?(?!\w)"
    return re.sub(pattern, "", instruction, count=1, flags=re.IGNORECASE).strip()


def _parallel(pairs: Sequence[Pair], random: Random) -> Iterator[Pair]:
    """Two wishes for the same function in one instruction."""
    for first, second in pairwise(pairs):
        if first.functions[0].name == second.functions[0].name and first.calls != second.calls:
            yield _joined(first, second, first.functions, "parallel", random)


def _parallel_multiple(pairs: Sequence[Pair], random: Random) -> Iterator[Pair]:
    """Two wishes for two functions in one instruction."""
    by_function: dict[str, Pair] = {}
    for pair in pairs:
        by_function.setdefault(pair.functions[0].name, pair)
    listed = list(by_function.values())
    for first, second in pairwise(listed):
        functions = [first.functions[0], second.functions[0]]
        random.shuffle(functions)
        yield _joined(first, second, tuple(functions), "parallel multiple", random)


def _joined(first: Pair, second: Pair, functions: tuple[Function, ...], kind: PairKind, random: Random) -> Pair:
    link = random.choice(("Also: {}", "Then: {}", "And another thing. {}"))
    instruction = f"{first.instruction.rstrip()} {link.format(second.instruction)}"
    return replace(first, instruction=instruction, functions=functions, calls=(*first.calls, *second.calls), kind=kind)
