"""BM25 over fields (BM25F, Robertson and Zaragoza 2009): how much a stem counts in a document, and in a collection.

A score is the sum, over the stems of the query, of `rarity` times impact.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

# The parameter k1: a stem counts less with every further occurrence.
SATURATION = 1.2

Fields = Mapping[str, Counter[str]]


def impacts(documents: Sequence[Fields], weights: Mapping[str, float], *, length: float) -> Iterator[dict[str, float]]:
    """Yield the impact of each stem of each document.

    A document is the count of its stems by field. `weights` says how much one occurrence counts, by field; `length`
    is the parameter b: how much a field that is longer than the average is damped, from 0 (not at all) to 1.
    """
    count = max(1, len(documents))
    lengths = [{field: counts.total() for field, counts in document.items()} for document in documents]
    averages = {field: sum(item[field] for item in lengths) / count or 1.0 for field in weights}
    for document, own in zip(documents, lengths, strict=True):
        weighted: dict[str, float] = {}
        for field, counts in document.items():
            factor = weights[field] / (1 - length + length * own[field] / averages[field])
            for stem, occurrences in counts.items():
                weighted[stem] = weighted.get(stem, 0.0) + factor * occurrences
        yield {stem: weight * (SATURATION + 1) / (weight + SATURATION) for stem, weight in weighted.items()}


def rarity(frequency: int, size: int) -> float:
    """Return the weight of a stem that `frequency` of `size` documents have (inverse document frequency)."""
    return math.log(1 + (size - frequency + 0.5) / (frequency + 0.5))
