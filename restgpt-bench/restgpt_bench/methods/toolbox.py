"""The operations of a catalogue as native tools of a chat model: definitions, and the way back to the operations."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from restgpt.specs import Catalogue, Operation
from restgpt.specs.reading.index import ILLEGAL, UniqueNames
from restgpt_bench.methods.flat_function import FlatFunction, flatten

NAME, DESCRIPTION = 64, 1024
"""The most characters of a name, and of a description, that every provider takes."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool: the operation, its name in the catalogue, and its flat arguments."""

    operation: Operation
    name: str
    arguments: FlatFunction


@dataclass(frozen=True, slots=True)
class Toolbox:
    """Tool definitions in OpenAI's form, which `bind_tools` accepts for every provider, and the tools by their name."""

    definitions: tuple[dict[str, Any], ...]
    tools: Mapping[str, Tool]


@lru_cache(maxsize=8)
def toolbox(catalogue: Catalogue) -> Toolbox:
    """Make a tool of each operation of a catalogue."""
    legal = UniqueNames(longest=NAME)
    tools = {}
    for operation in catalogue:
        name = catalogue.name_of(operation)
        tools[legal.claim(ILLEGAL.sub("_", name)[:NAME])] = Tool(operation, name, flatten(operation, name))
    return Toolbox(tuple(_definition(name, tool.arguments) for name, tool in tools.items()), tools)


def _definition(name: str, function: FlatFunction) -> dict[str, Any]:
    described = {"name": name, "description": function.description[:DESCRIPTION], "parameters": dict(function.schema)}
    return {"type": "function", "function": described}
