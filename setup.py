"""Finds the packages: `restgpt`, and the rooms beside it, each of which is installed as a package of `restgpt`."""

from setuptools import find_packages, setup

ROOMS = ("graph", "nodes", "prompts", "specs", "tools")
"""The rooms that are shipped. A checkout without links, as Windows makes it, finds them here and not in `restgpt/`."""

# Through the links, `restgpt/` shows the rooms too.
own = find_packages(include=["restgpt", "restgpt.*"])
rooms = find_packages(include=[pattern for room in ROOMS for pattern in (room, f"{room}.*")])

setup(
    packages=sorted({*own, *(f"restgpt.{name}" for name in rooms)}),
    package_dir={f"restgpt.{room}": room for room in ROOMS},
)
