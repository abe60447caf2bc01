"""The functions that a prompt is likely about, when there are more than a model should read."""

import re
from collections import Counter
from collections.abc import Sequence

from restgpt.specs.search.query import STOP_STEMS, stem
from restgpt.specs.search.search_index import impacts, rarity
from restgpt_functions.docs.function import Function

# How much a long description is damped (the parameter b of BM25).
LENGTH = 0.75


# A word, or a part of one that is written in camel case.
_WORD = re.compile(r"[^\W_]+?(?:(?<=[a-z0-9])(?=[A-Z])|(?![^\W_]))")


def shortlist(functions: Sequence[Function], text: str, limit: int) -> list[int]:
    """The positions of the `limit` functions that share most with a text, in their own order (BM25 over stems)."""
    if len(functions) <= limit:
        return list(range(len(functions)))
    bags = [Counter(_stems(_described(function))) for function in functions]
    spread = Counter(word for bag in bags for word in bag)
    wanted = set(_stems(text))
    scores = [
        sum(rarity(spread[word], len(bags)) * found[word] for word in wanted if word in found)
        for found in impacts([{"text": bag} for bag in bags], {"text": 1.0}, length=LENGTH)
    ]
    best = sorted(range(len(functions)), key=lambda number: (-scores[number], number))[:limit]
    return sorted(best)


def _described(function: Function) -> str:
    parameters = " ".join(f"{one.name} {one.description}" for one in function.parameters)
    # The name tells functions apart best, so it counts three times.
    return f"{function.name} {function.name} {function.name} {function.title} {function.description} {parameters}"


def _stems(text: str) -> list[str]:
    return [one for one in map(stem, _WORD.findall(text)) if one not in STOP_STEMS]
