"""Programs whose finished runs become recipes: what a user asked on a simulated API, and how a program fulfils it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from lab.kills.job import Job

INPUT = "inputs[{}{}{}]"
"""The text by which a program names an input, with its two quotes."""


@dataclass(frozen=True, slots=True, eq=False)
class Written:
    """A program over the functions of a world, with the inputs of its first run.

    `changes` is the number of changes that a run makes.
    """

    name: str
    world: str
    instruction: str
    code: str
    inputs: Mapping[str, Any] = field(default_factory=dict)
    changes: int = 0

    @property
    def job(self) -> Job:
        """The program as a model writes it, and the words of the user: with the values in place of the inputs."""
        code = self.code
        for name, value in self.inputs.items():
            for quote in "\"'":
                code = code.replace(INPUT.format(quote, name, quote), repr(value))
        return Job(self.world, self.instruction.format(**self.inputs), code, self.changes)


@cache
def programs() -> tuple[Written, ...]:
    """Return all programs of `written.yaml`."""
    source = files("lab.recipes").joinpath("written.yaml").read_text(encoding="utf-8")
    worlds: dict[str, dict[str, Any]] = yaml.safe_load(source)
    return tuple(Written(name, world, **given) for world, found in worlds.items() for name, given in found.items())
