"""Plain BM25 over the text of an operation, the yardstick of the search."""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from math import log

from restgpt.specs import Operation

WORD = re.compile(r"[a-z0-9]+")
SATURATION, LENGTH = 1.2, 0.75


class PlainBm25:
    """Ranks operations by lower-case words of name, path, summary, description and parameter names, without stems."""

    def __init__(self, operations: Sequence[Operation]) -> None:
        texts = [Counter(WORD.findall(_text(item).lower())) for item in operations]
        mean = sum(text.total() for text in texts) / max(1, len(texts))
        self._operations = operations
        self._scores: dict[str, list[tuple[int, float]]] = defaultdict(list)
        frequency = Counter(word for text in texts for word in text)
        for number, text in enumerate(texts):
            damped = SATURATION * (1 - LENGTH + LENGTH * text.total() / mean)
            for word, count in text.items():
                rarity = log(1 + (len(texts) - frequency[word] + 0.5) / (frequency[word] + 0.5))
                self._scores[word].append((number, rarity * count * (SATURATION + 1) / (count + damped)))

    def search(self, text: str, k: int) -> list[Operation]:
        """Return the best `k` operations; of equal ones the first in the document."""
        found: dict[int, float] = defaultdict(float)
        for word in set(WORD.findall(text.lower())):
            for number, score in self._scores.get(word, ()):
                found[number] += score
        best = sorted(found, key=lambda number: (-found[number], number))[:k]
        return [self._operations[number] for number in best]


def _text(operation: Operation) -> str:
    parameters = " ".join(item.name for item in operation.parameters)
    return " ".join((operation.name, operation.path, operation.summary, operation.description, parameters))
