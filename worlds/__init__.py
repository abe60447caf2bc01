"""Simulated APIs served over HTTP on loopback: seeded data, a request log, and faults on purpose."""

from importlib import import_module
from types import ModuleType
from typing import Any, cast

from restgpt.worlds.task import Task
from restgpt.worlds.world import CREDENTIAL, TODAY, World, served_api

__all__ = ["CREDENTIAL", "NAMES", "TODAY", "Task", "World", "open_tasks", "open_world", "served_api"]

NAMES = ("toy", "tmdb", "spotify")


def open_world(name: str, *, seed: int = 0) -> World[Any]:
    """A fresh world by name, its data decided by `seed`; raises LookupError on an unknown name."""
    return cast("World[Any]", _module(name).WORLD(seed=seed))


def open_tasks(name: str, *, own: bool = False) -> tuple[Task, ...]:
    """The tasks of a world by its name: the published instructions, or our `own`; LookupError on an unknown name."""
    tasks = import_module(f"{_module(name).__name__}.tasks")
    return cast("tuple[Task, ...]", tasks.own() if own else tasks.published())


def _module(name: str) -> ModuleType:
    if name not in NAMES:
        raise LookupError(f"there is no world {name}; there are: {', '.join(NAMES)}")
    return import_module(f"restgpt.worlds.{name}")
