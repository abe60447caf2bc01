"""Guards the processes of real servers: none is left when its block ends, however it ends."""

import os
import sys
import time
from pathlib import Path

import pytest

from lab.kit.process import ServerError, running

CHILD = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
PARENT = f"""
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", {CHILD!r}])
open("part", "w").write(str(child.pid))
os.rename("part", "pids")
time.sleep(600)
"""
PATIENCE_S = 60


def is_alive(number: int) -> bool:
    """Whether a process runs; one that has ended and that nobody has waited for does not."""
    try:
        state = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


needs_proc = pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="there is no /proc on this machine")


@needs_proc
@pytest.mark.parametrize("fails", [False, True])
def test_a_server_and_its_children_end_with_the_block(fails: bool, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    child = 0
    try:
        with running([sys.executable, "-c", PARENT], folder=tmp_path, is_up=pids.exists):
            child = int(pids.read_text())
            assert is_alive(child)
            if fails:
                raise KeyError("a judge that failed")
    except KeyError:
        assert fails
    assert child
    # The kernel may take a moment to end a killed process.
    ends = time.monotonic() + PATIENCE_S
    while is_alive(child) and time.monotonic() < ends:
        time.sleep(0.01)
    assert not is_alive(child)


def test_a_server_that_ends_at_once_is_an_error_with_what_it_printed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "raise SystemExit('no such backend')"]
    with (
        pytest.raises(ServerError, match="exit code 1:\nno such backend"),
        running(command, folder=tmp_path, is_up=lambda: False),
    ):
        pass


def test_a_server_gets_no_settings_of_the_developer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-private")
    monkeypatch.setenv("LANGSMITH_API_KEY", "private")
    told = tmp_path / "told"
    program = (
        "import os, time; open('part', 'w').write(' '.join(os.environ)); os.rename('part', 'told'); time.sleep(600)"
    )
    with running([sys.executable, "-c", program], folder=tmp_path, is_up=told.exists, environment={"GIVEN": "1"}):
        names = told.read_text().split()
    assert "GIVEN" in names
    assert [name for name in names if name.startswith(("OPENAI_", "LANGSMITH_"))] == []
