"""A shift: something that a recipe relies on is not as it was when the recipe was saved."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Shift:
    """What is different: the place, what the recipe expected there, and what was found, each in a few words."""

    where: str
    expected: str
    found: str

    def __str__(self) -> str:
        return f"{self.where}: expected {self.expected}, found {self.found}."
