"""The operations of a catalogue as native tools of a chat model: definitions, and the way back to the operations."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from restgpt.functions.docs.operations import from_operation
from restgpt.functions.docs.writers import to_openai
from restgpt.specs import Catalogue, Operation
from restgpt_bench.methods.flat_function import FlatFunction, flatten


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
    tools = []
    for operation in catalogue:
        name = catalogue.name_of(operation)
        tools.append(Tool(operation, name, flatten(replace(from_operation(operation), name=name))))
    definitions, names = to_openai(tool.arguments.function for tool in tools)
    return Toolbox(tuple(definitions), dict(zip(names.legal, tools, strict=True)))
