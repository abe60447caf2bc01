"""Runs JavaScript programs with LangGraph's JavaScript clients, which `make javascript` installs."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = Path(__file__).with_name("javascript")
PATIENCE_S = 300


def install() -> None:
    """Install the packages, or skip the test with the reason why they cannot be had."""
    if not (shutil.which("node") and shutil.which("npm")):
        pytest.skip("Node.js is not installed: there is no node or no npm on the PATH")
    done = subprocess.run(
        ["make", "--no-print-directory", "javascript"], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S
    )
    if done.returncode:
        pytest.skip(f"npm cannot install LangGraph's JavaScript clients: {done.stderr.strip()[-300:]}")


def run_javascript(program: Path, *arguments: str, folder: Path) -> list[str]:
    """Run a copy of a program in an empty folder, beside the packages, and return the lines that it prints."""
    (folder / "node_modules").symlink_to(PACKAGES / "node_modules")
    shutil.copy(program, folder)
    command = ["node", program.name, *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()
