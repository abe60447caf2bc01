"""The YAML files of packages: the names of a world, the gold calls of its tasks."""

from importlib.resources import files
from typing import Any

import yaml


def read_data(package: str, name: str) -> dict[Any, Any]:
    """The mapping in the file `name` of a package."""
    source = files(package).joinpath(name).read_text(encoding="utf-8")
    return dict(yaml.load(source, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)))
