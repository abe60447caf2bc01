"""Unique names: an equal name gets the next free number."""

from collections.abc import Iterable


class UniqueNames:
    """Numbers equal names from 2, of at most `longest` characters; finds the next number without trying lower ones."""

    def __init__(self, taken: Iterable[str] = (), *, longest: int | None = None) -> None:
        self._taken = set(taken)
        self._longest = longest
        self._numbers: dict[str, int] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._taken

    def claim(self, name: str) -> str:
        """Return the name, numbered if it is taken, and take it."""
        found, number = name, self._numbers.get(name, 1)
        while found in self._taken:
            number += 1
            suffix = f"_{number}"
            found = name[: None if self._longest is None else self._longest - len(suffix)] + suffix
        self._numbers[name] = number
        self._taken.add(found)
        return found
