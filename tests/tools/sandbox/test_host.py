"""Guards the host of the sandbox: many runs at once, forked, killed and restricted hosts, and nothing left behind."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from restgpt.tools.sandbox.result import Limits
from restgpt.tools.sandbox.runner import run_python

PATIENT = Limits(wall=30.0)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes as Linux shows them")


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def eventually(check: Callable[[], bool]) -> bool:
    for _ in range(600):
        if check():
            return True
        time.sleep(0.1)
    return False


def host(script: str) -> str:
    before = "from restgpt.tools.sandbox import Limits, run_python\n"
    done = subprocess.run(
        [sys.executable, "-c", before + script], capture_output=True, check=False, text=True, timeout=60
    )
    assert done.stderr[-2000:] == ""
    return done.stdout


def test_fifty_threads_get_their_own_answers() -> None:
    with ThreadPoolExecutor(50) as pool:
        results = pool.map(lambda number: run_python("print(data * 2)", number, limits=PATIENT), range(50))
    assert [result.output for result in results] == [f"{number * 2}\n" for number in range(50)]


@pytest.mark.parametrize("ran", [False, True])
def test_a_forked_host_runs_code_of_its_own_or_says_why_it_cannot(ran: bool) -> None:
    script = f"""
import os
if {ran}:
    run_python("print(data)", 1, limits=Limits(wall=30))
child = os.fork()
print(run_python("print(data)", 2, limits=Limits(wall=30)).status, flush=True)
if child:
    os.waitpid(child, 0)
"""
    assert sorted(host(script).split()) == (["ok", "sandbox_unavailable"] if ran else ["ok", "ok"])


def test_a_killed_host_leaves_no_process() -> None:
    script = """
from restgpt.tools.sandbox import Limits, run_python
print("ready", flush=True)
while True:
    run_python("while True: pass", 1, limits=Limits(wall=2))
"""
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    assert process.stdout
    assert process.stdout.readline() == b"ready\n"
    assert eventually(lambda: bool(children(process.pid)))
    orphans = children(process.pid)
    process.kill()
    process.communicate()
    assert eventually(lambda: not any(map(is_running, orphans)))


def test_runs_leave_no_process_descriptor_or_file_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = """
import os
def opened():
    return len(os.listdir("/proc/self/fd"))
def run(code):
    run_python(code, 1, limits=Limits(wall=30))
run("print(1)")
before = opened()
for _ in range(10):
    for code in ("print(1)", "1 / 0", "x = (", "print('x' * 10**6)", "x = [0] * 10**11"):
        run(code)
run_python("while True: pass", 1, limits=Limits(wall=0.1))
busy = len(open(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read().split())
print(opened() - before < 30, busy <= 4)
"""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert host(script) == "True True\n"
    assert os.listdir(tmp_path) == []


def test_the_environment_of_a_host_stays_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SANDBOX_SECRET", "a secret")
    result = run_python("import os\nprint(os.environ.get('SANDBOX_SECRET'))", 1, limits=PATIENT)
    assert "a secret" not in f"{result.output}{result.error}"
