"""Measures an installation of the wheel: the size of its packages, and whether their versions fit.

Run it in a checkout with `python -m lab.speed.installation [--extra NAME ...]`. pip fetches the packages from
its configured index.

The wheel is built from a copy of the checkout and installed into a fresh virtual environment, first with the
dependencies of the core only, where `restgpt demo` then has to work with `restgpt-bench` beside it, and after that
with one extra after the other.
Sizes are megabytes of `site-packages` with bytecode and pip itself.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
import tomllib
import venv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MOST_CORE_MB = 220
"""The megabytes that an installation without extras may take."""

LEFT_OUT = frozenset({"dev"})
"""The extras that are measured only if they are named: the project's own tools."""

QUIET = ("--quiet", "--disable-pip-version-check")


@dataclass(frozen=True, slots=True)
class Installed:
    """An installation after one step: its megabytes, the number of its packages, and the complaints of `pip check`."""

    step: str
    megabytes: float
    packages: int
    complaints: str


class Installation:
    """A virtual environment with the wheel of a checkout; packages have the versions of `constraints.txt`."""

    def __init__(self, checkout: Path, folder: Path) -> None:
        self._constraints = checkout / "constraints.txt"
        self._folder = folder / "venv"
        venv.create(self._folder, with_pip=True)
        self._wheel, self._bench = self._built(checkout, folder)

    def _pip(self, *arguments: str, check: bool = True) -> str:
        command = [str(self._folder / "bin" / "python"), "-m", "pip", *arguments]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        if check and done.returncode:
            raise RuntimeError(f"pip {arguments[0]} failed: {done.stderr.strip() or done.stdout.strip()}")
        return "" if done.returncode == 0 else done.stdout.strip()

    def _built(self, checkout: Path, folder: Path) -> tuple[Path, Path]:
        """Build the wheels of RestGPT and its benchmarks, from a copy, so that the checkout gets no build folder."""
        source = folder / "source"
        ignored = shutil.ignore_patterns(".*", "__pycache__", "node_modules", "build", "runs", "*.egg-info")
        shutil.copytree(checkout, source, symlinks=True, ignore=ignored)
        self._pip("wheel", *QUIET, "--no-deps", "--wheel-dir", str(folder), str(source), str(source / "restgpt-bench"))
        return next(folder.glob("restgpt-*.whl")), next(folder.glob("restgpt_bench-*.whl"))

    def run_demo(self) -> None:
        """Run `restgpt demo` with the benchmarks beside what is installed; raises `RuntimeError` if it fails."""
        self._pip("install", *QUIET, "--no-deps", str(self._bench))
        command = [str(self._folder / "bin" / "restgpt"), "demo"]
        done = subprocess.run(command, cwd=self._folder, check=False, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"restgpt demo failed: {done.stderr.strip()}")

    def install(self, extra: str = "") -> Installed:
        """Install the wheel with an extra beside what is there; raises `RuntimeError` if pip cannot."""
        wanted = f"{self._wheel}[{extra}]" if extra else str(self._wheel)
        self._pip("install", *QUIET, "--constraint", str(self._constraints), wanted)
        [site] = self._folder.glob("lib/python*/site-packages")
        size = sum(path.lstat().st_size for path in site.rglob("*") if path.is_file())
        packages = len(list(site.glob("*.dist-info")))
        return Installed(extra or "core", size / 1e6, packages, self._pip("check", check=False))


def _config(checkout: Path) -> dict[str, Any]:
    return tomllib.loads((checkout / "pyproject.toml").read_text(encoding="utf-8"))


def extras_of(checkout: Path) -> list[str]:
    """Return the extras of the project that are measured unless others are named."""
    return [name for name in _config(checkout)["project"]["optional-dependencies"] if name not in LEFT_OUT]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; return 1 if the core is too large, an extra cannot be installed, or `pip check` complains."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--extra", action="append", help="measure this extra instead of the usual ones")
    parser.add_argument("--checkout", type=Path, default=Path.cwd(), help="the checkout (default: this folder)")
    options = parser.parse_args(arguments)
    checkout: Path = options.checkout
    if not (checkout / "pyproject.toml").is_file():
        parser.error(f"{checkout} is no checkout of the project; name one with --checkout")
    failed = False
    print("| installed | MB | packages | pip check |")
    print("|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        installation = Installation(checkout, Path(folder))
        for extra in ("", *(options.extra or extras_of(checkout))):
            try:
                found = installation.install(extra)
            except RuntimeError as error:
                if not extra:
                    raise
                failed = True
                print(f"| + {extra} | | | {str(error).splitlines()[0]} |", flush=True)
                continue
            if not extra:
                installation.run_demo()
            is_too_large = not extra and found.megabytes > MOST_CORE_MB
            failed = failed or is_too_large or bool(found.complaints)
            step = f"+ {extra}" if extra else found.step
            verdict = "; ".join(found.complaints.splitlines()) or "clean"
            print(f"| {step} | {found.megabytes:.0f} | {found.packages} | {verdict} |", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
