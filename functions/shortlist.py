"""The functions that a prompt is likely about, when there are more than a model should read."""

import math
from collections import Counter
from collections.abc import Sequence

from restgpt.functions.docs.function import Function
from restgpt.tools.evidence import STOPWORDS, stem, words_of


def shortlist(functions: Sequence[Function], text: str, limit: int) -> list[int]:
    """The positions of the `limit` functions that share most with a text, in their own order (BM25 over stems)."""
    if len(functions) <= limit:
        return list(range(len(functions)))
    bags = [Counter(_stems(_described(function))) for function in functions]
    spread = Counter(word for bag in bags for word in bag)
    usual = sum(bag.total() for bag in bags) / len(bags)
    wanted = set(_stems(text))
    scores = [_score(bag, wanted, spread, len(bags), usual) for bag in bags]
    best = sorted(range(len(functions)), key=lambda number: (-scores[number], number))[:limit]
    return sorted(best)


def _described(function: Function) -> str:
    parameters = " ".join(f"{one.name} {one.description}" for one in function.parameters)
    # The name tells functions apart best, so it counts three times.
    return f"{function.name} {function.name} {function.name} {function.title} {function.description} {parameters}"


def _stems(text: str) -> list[str]:
    return [stem(word) for word in words_of(text) if word.lower() not in STOPWORDS]


def _score(bag: Counter[str], wanted: set[str], spread: Counter[str], count: int, usual: float) -> float:
    length = 0.25 + 0.75 * bag.total() / max(usual, 1)
    return sum(
        math.log(1 + (count - spread[word] + 0.5) / (spread[word] + 0.5)) * bag[word] * 2.2 / (bag[word] + 1.2 * length)
        for word in wanted
        if word in bag
    )
