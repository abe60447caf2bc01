"""The places of arguments in earlier answers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from restgpt.calling.origin.evidence import text_of
from restgpt.recipes.guards.pattern import Path, pattern_of, pointer_of, scalars
from restgpt.recipes.recording.inputs import SMALL
from restgpt.recipes.sent import Sent
from restgpt.specs.status import is_success


@dataclass(frozen=True, slots=True)
class Found:
    """A value at a path in the answer of the call `number` (from 1)."""

    number: int
    path: Path

    @property
    def pointer(self) -> str:
        """The JSON pointer of the value."""
        return pointer_of(self.path)

    @property
    def name(self) -> str:
        """The name of the innermost field; empty for an item of a list at the top."""
        return next((part for part in reversed(self.path) if isinstance(part, str)), "")


class Answers:
    """The scalars of the answers of calls, by their text."""

    def __init__(self, sent: Sequence[Sent]) -> None:
        self._sent = sent
        self._places: dict[str, list[Found]] = {}
        for number, call in enumerate(sent, 1):
            if is_success(call.status):
                for path, value in scalars(call.body):
                    self._places.setdefault(text_of(value), []).append(Found(number, path))

    def places(self, value: Any, *, before: int | None = None) -> list[Found]:
        """Return the places of a value in the answers of the calls before a call, or in all answers."""
        found = self._places.get(text_of(value), [])
        return [place for place in found if before is None or place.number < before]

    def best(self, value: Any, keyword: str, *, before: int) -> Found | None:
        """Return the place that an argument most likely has its value from; None if none is likely.

        Fields that the program read go first, then fields whose name fits the argument, then the first place.
        """
        ranked = [
            (-self._is_read(place), -_affinity(keyword, place.name), order, place)
            for order, place in enumerate(self.places(value, before=before))
        ]
        if not ranked:
            return None
        read, affinity, _, place = min(ranked, key=lambda item: item[:3])
        is_small = not isinstance(value, str) and -SMALL < value < SMALL
        return None if is_small and not (read or affinity) else place

    def _is_read(self, place: Found) -> bool:
        reads = self._sent[place.number - 1].reads
        return pattern_of(place.path) in reads or place.pointer in reads


def _affinity(keyword: str, field: str) -> int:
    """Return how well the name of a field fits that of an argument, such as `id` for `person_id`."""
    argument, name = (text.replace("_", "").lower() for text in (keyword, field))
    if not name:
        return 0
    if argument == name:
        return 3
    if argument.endswith(name):
        return 2
    return 1 if argument.rstrip("s").endswith(name) else 0
