"""Guards the test suite's summary line: it counts the deselected and skipped tests, with and without workers."""

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
"""


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["0", "2"])
def test_the_closing_line_says_how_many_tests_were_left_out(workers: str, tmp_path: Path) -> None:
    shutil.copy(CONFTEST, tmp_path)
    (tmp_path / "test_some.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = slow: takes long\n")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    plugins = ["--disable-plugin-autoload", "-p", "xdist", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", "-q", *plugins, "-n", workers, "-m", "not slow"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed, 3 deselected in " in done.stdout.splitlines()[-1]
