"""The YAML files of a world: its names and the gold calls of its tasks."""

from importlib.resources import files
from typing import Any

import yaml


def read_data(world: str, name: str) -> dict[Any, Any]:
    """The mapping in the file `name` of a world."""
    source = files(f"restgpt.worlds.{world}").joinpath(name).read_text(encoding="utf-8")
    return dict(yaml.load(source, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)))
