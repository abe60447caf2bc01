"""Writes constraints.txt: the version, as installed here, of everything that `.[dev]` pulls in.

Run it in an environment in which the whole suite passes: `make constraints`.
"""

import tomllib
from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, distribution, version
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
HEADER = "# The versions that the suite passed with; `make constraints` writes this file. Names and versions only.\n"


def closure(requirements: Iterable[str]) -> dict[str, str]:
    """All installed packages that some requirements lead to, by canonical name."""
    found: dict[str, str] = {}
    seen: set[tuple[str, str]] = set()
    waiting = [Requirement(text) for text in requirements]
    while waiting:
        requirement = waiting.pop()
        for extra in ("", *requirement.extras):
            name = canonicalize_name(requirement.name)
            if (name, extra) in seen:
                continue
            seen.add((name, extra))
            try:
                found[name] = version(name)
            except PackageNotFoundError:
                # Wanted on another platform only; pip is free to choose there.
                continue
            waiting += _needs(name, extra)
    return found


def _needs(name: str, extra: str) -> Iterator[Requirement]:
    for text in distribution(name).requires or ():
        requirement = Requirement(text)
        if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
            yield requirement


def main() -> None:
    """Write the file."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pinned = closure([*project["dependencies"], *project["optional-dependencies"]["dev"]])
    lines = sorted(f"{name}=={number}\n" for name, number in pinned.items())
    (ROOT / "constraints.txt").write_text(HEADER + "".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
