"""Simulated APIs served over HTTP on loopback: seeded data, a request log, and faults on purpose."""

from importlib import import_module
from types import ModuleType
from typing import Any, cast

from restgpt_bench.worlds.world import CREDENTIAL, TODAY, World, served_api

__all__ = ["CREDENTIAL", "NAMES", "TODAY", "World", "open_world", "served_api"]

NAMES = ("toy", "tmdb", "spotify")


def open_world(name: str, *, seed: int = 0) -> World[Any]:
    """A fresh world by name, its data decided by `seed`; raises LookupError on an unknown name."""
    return cast("World[Any]", _module(name).WORLD(seed=seed))


def _module(name: str) -> ModuleType:
    if name not in NAMES:
        raise LookupError(f"there is no world {name}; there are: {', '.join(NAMES)}")
    return import_module(f"restgpt_bench.worlds.{name}")
