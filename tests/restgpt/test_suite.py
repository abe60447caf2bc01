"""Guards what a quick run of the suite leaves out, with and without workers, and that its closing line says it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).parents[1] / "conftest.py"
TESTS = """
import pytest

def test_quick():
    pass

@pytest.mark.slow
@pytest.mark.parametrize("number", range(3))
def test_slow(number):
    pass

@pytest.mark.sampled(3)
@pytest.mark.parametrize("number", range(8))
def test_alike(number):
    assert number in (0, 3, 6)

@pytest.mark.sampled(2, "era")
@pytest.mark.parametrize("number", range(3))
@pytest.mark.parametrize("era", ["new", "old"])
def test_of_each_era(number, era):
    assert era == "new"
"""


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["0", "2"])
def test_the_closing_line_says_how_many_tests_were_left_out(workers: str, tmp_path: Path) -> None:
    shutil.copy(CONFTEST, tmp_path)
    (tmp_path / "test_some.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n slow: takes long\n sampled(n): many cases\n")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    plugins = ["--disable-plugin-autoload", "-p", "xdist", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", "-q", *plugins, "-n", workers, "-m", "not slow"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "7 passed, 11 deselected in " in done.stdout.splitlines()[-1]
