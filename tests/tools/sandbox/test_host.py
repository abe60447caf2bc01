"""Guards the host side of the locked interpreter: its processes, descriptors and threads, on many kinds of hosts.

Hosts that cannot be simulated in the test process are scripts in processes of their own: as another user, without
/proc, on a read-only root, under a filter that forbids seccomp or Landlock. They use the standard library only.
"""

import contextlib
import gc
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from programrun import once

from restgpt.tools.sandbox.cpython import CPythonBackend
from restgpt.tools.sandbox.program import run_program
from restgpt.tools.sandbox.runner import Limits, SandboxUnavailableError, Status, run_python
from restgpt.tools.sandbox.waiting import WaitingPrograms

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the locked interpreter is for Linux")

ROOT = Path(__file__).resolve().parents[3]
BASE = str(getattr(sys, "_base_executable", sys.executable))
PATIENT = Limits(wall=30.0, cpu=30.0)
# Runs a second, and then fails to import the first of some modules that is not loaded.
VARYING = """
import sys, time
end = time.monotonic() + 1
while time.monotonic() < end:
    pass
# Backwards, because the modules that the code names are loaded before its first run.
name = next(name[::-1] for name in ("diuu", "eueuq", "camh", "pizg") if name[::-1] not in sys.modules)
raise ImportError(f"No module named {name!r}")
"""
GIVEN: dict[str, Any] = {"functions": ["get_item"], "clock": 0.0, "seed": "", "most": 9, "limits": PATIENT}
STUB = {
    "name": "get",
    "keywords": {"n": False, "u": False},
    "others": [],
    "needs_body": False,
    "result": None,
    "truths": [],
}
PRELUDE = f"import sys\nsys.path.insert(0, {str(ROOT)!r})\nfrom restgpt.tools.sandbox.runner import *\n"
REPORT = "r = run_python('import statistics\\nprint(statistics.mean(data))', [1, 3], limits=Limits(wall=30, cpu=30))\n"
REPORT += "print(r.status, r.output.strip(), r.error)\n"
HOSTILE = "print(run_python('open(data)', '\"/etc/hostname\"', limits=Limits(wall=30, cpu=30)).error.type)\n"


def host(script: str, *, python: str = BASE, prefix: tuple[str, ...] = (), **options: object) -> str:
    command = [*prefix, python, "-I", "-B", "-c", PRELUDE + script]
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload]
    assert done.returncode == 0, done.stderr
    return str(done.stdout)


def eventually(condition: Callable[[], bool]) -> bool:
    end_of_patience = time.monotonic() + PATIENT.wall
    while not condition():
        if time.monotonic() > end_of_patience:
            return False
        time.sleep(0.01)
    return True


def children(pid: int) -> set[int]:
    found: set[int] = set()
    for task in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(FileNotFoundError):  # The thread has ended since.
            found.update(map(int, (task / "children").read_text().split()))
    return found


def running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.fixture
def backend() -> CPythonBackend:
    return CPythonBackend()


def test_the_descriptors_that_the_host_has_open_show_nowhere() -> None:
    held = [os.open(os.devnull, os.O_RDONLY) for _ in range(50)]
    try:
        # The status descriptor is the lowest that is free.
        result = CPythonBackend().run("import os\nos.write(3, b'x')", b"null", media="json", limits=PATIENT)
    finally:
        for descriptor in held:
            os.close(descriptor)
    assert result.status is Status.CRASHED


@pytest.mark.slow
def test_runs_leave_no_process_descriptor_or_file_behind(tmp_path: Path) -> None:
    # A separate process and folder, so that only the runs start children, open files or write files.
    script = """
import json, os
from restgpt.tools.sandbox.cpython import CPythonBackend

def children():
    return set(open(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read().split())

def descriptors():
    return len(os.listdir("/proc/self/fd"))

endings = (
    "print(1)",
    "1 / 0",
    "import os; os._exit(3)",
    "x = (",
    "import os; os.closerange(0, 99)",
    "print('x' * 10**6)",
)
before = descriptors()
backend = CPythonBackend()
open_now = []
for _ in range(5):
    for code in endings:
        run_python(code, 1, backend=backend, limits=Limits(wall=30, cpu=30))
    open_now.append(descriptors())
run_python("while True: pass", 1, backend=backend, limits=Limits(wall=0.1))
idle = len(children())
backend.close()
print(json.dumps([sorted(set(open_now)), idle, sorted(children()), before, descriptors()]))
"""
    private = {"TMPDIR": str(tmp_path), "HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    open_now, idle, left, before, after = json.loads(host(script, env=private, cwd=tmp_path))
    assert len(open_now) == 1
    # The nursery.
    assert idle == 1
    assert left == []
    assert after == before < open_now[0]
    assert list(tmp_path.iterdir()) == []


def test_a_closed_backend_runs_nothing(backend: CPythonBackend) -> None:
    backend.close()
    assert run_python("print(1)", 1, backend=backend).status is Status.SANDBOX_UNAVAILABLE
    backend.close()


def test_a_nursery_that_died_is_replaced() -> None:
    others = children(os.getpid())
    backend = CPythonBackend()
    for _ in range(2):
        [nursery] = children(os.getpid()) - others
        os.kill(nursery, signal.SIGKILL)
        assert run_python("print(2)", 2, backend=backend, limits=PATIENT).output == "2\n"
    backend.close()


def test_a_worker_outlives_the_thread_that_started_the_nursery() -> None:
    made: list[CPythonBackend] = []
    thread = threading.Thread(target=lambda: made.append(CPythonBackend()))
    thread.start()
    thread.join()
    assert eventually(lambda: not Path(f"/proc/self/task/{thread.native_id}").exists())
    assert run_python("print(1)", 1, backend=made[0], limits=PATIENT).output == "1\n"
    made[0].close()


def test_a_worker_is_a_child_of_the_host_and_has_nothing_of_the_nursery_open() -> None:
    others = children(os.getpid())
    backend = CPythonBackend()
    [nursery] = children(os.getpid()) - others
    waiting = WaitingPrograms()
    run_program("print(get_item(item_id=1))", **GIVEN, entries=[], backend=backend, waiting=waiting)
    [worker] = children(os.getpid()) - others - {nursery}
    assert sorted(os.listdir(f"/proc/{worker}/fd")) == ["0", "1", "2", "3"]
    assert not children(nursery)
    backend.close()
    assert not running(nursery)


# As in a system that does not know how a clone gets the parent of its maker.
def test_where_no_process_may_be_cloned_each_worker_is_an_interpreter_of_its_own() -> None:
    refused = {"x86_64": 56, "aarch64": 220}[platform.machine()]
    # Only with the flag of such a clone in its first argument, or the host could start no thread and no process.
    script = FORBID + f"forbid(({refused}, 0x8011, 22))\n"
    assert host(script + REPORT + HOSTILE) == "ok 2 None\nPermissionError\n"


def test_more_runs_than_workers_wait_their_turn() -> None:
    backend = CPythonBackend(workers=2)
    with ThreadPoolExecutor(8) as threads:
        runs = threads.map(lambda n: run_python(f"print({n})", 1, backend=backend, limits=PATIENT).output, range(8))
        assert list(runs) == [f"{n}\n" for n in range(8)]
    backend.close()


def test_a_killed_host_leaves_no_process_though_it_ignored_the_alarm() -> None:
    script = """
import os, signal
signal.signal(signal.SIGALRM, signal.SIG_IGN)
signal.signal(signal.SIGXCPU, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM, signal.SIGXCPU])
run_python("print(1)", 1, limits=Limits(wall=30, cpu=30))
print("ready", flush=True)
while True:
    run_python("while True: pass", 1, limits=Limits(wall=1))
"""
    process = subprocess.Popen([BASE, "-I", "-B", "-c", PRELUDE + script], stdout=subprocess.PIPE)
    assert process.stdout
    assert process.stdout.readline() == b"ready\n"
    orphans: set[int] = set()

    def busy() -> bool:
        """Whether one worker runs code beside the nursery."""
        orphans.clear()
        orphans.update(children(process.pid))
        return len(orphans) == 2

    assert eventually(busy)
    process.kill()
    process.communicate()
    assert eventually(lambda: not any(map(running, orphans)))


def test_an_interrupted_host_kills_the_run() -> None:
    script = """
import os, signal, sys, threading, time
backend = open_backend("cpython")
main = threading.get_ident()

def interrupt():
    # The host waits for the run in poll, once everything is started.
    while sys._current_frames()[main].f_code.co_name != "select":
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=interrupt).start()
try:
    backend.run("while True: pass", b"1", media="json", limits=Limits(wall=60, cpu=60))
except KeyboardInterrupt:
    backend.close()
print(open(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read().split())
"""
    assert host(script) == "[]\n"


def test_a_forked_host_does_not_share_workers_with_its_parent() -> None:
    script = """
import os
print(run_python("print(data)", 1, limits=Limits(wall=30, cpu=30)).output.strip(), flush=True)
child = os.fork()
print(run_python("print(data)", 2 if child else 3, limits=Limits(wall=30, cpu=30)).output.strip(), flush=True)
if child:
    os.waitpid(child, 0)
"""
    assert sorted(host(script).split()) == ["1", "2", "3"]


def test_a_forked_host_runs_a_program_again_that_waits_in_its_parent() -> None:
    script = """
import os
from restgpt.tools.sandbox.program import Entry, run_program
from restgpt.tools.sandbox.waiting import WaitingPrograms
waiting = WaitingPrograms()
given = {"functions": ["get"], "clock": 0.0, "seed": "", "most": 9, "waiting": waiting}
given["limits"] = Limits(wall=30, cpu=30)
[call] = run_program("print(get(n=1))", entries=[], **given).calls
child = os.fork()
answer = Entry(call.position, "key", call.digest, "answer", 200, {}, "json", b"7")
print(run_program("print(get(n=1))", entries=[answer], **given).result.output.strip(), flush=True)
if child:
    os.waitpid(child, 0)
"""
    assert host(script).split() == ["7", "7"]


def test_a_host_that_ignores_its_children_still_learns_of_a_timeout() -> None:
    script = """
import signal
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
print(run_python("while True: pass", 1, limits=Limits(wall=0.3)).status)
print(run_python("print(4)", 1, limits=Limits(wall=30, cpu=30)).output.strip())
"""
    assert host(script) == "timeout\n4\n"


def test_the_environment_and_packages_of_a_host_stay_its_own() -> None:
    script = """
code = "import os, sys\\nprint(dict(os.environ) == {'TZ': 'UTC0'} or dict(os.environ), sys.path, 'site' in sys.modules)"
print(run_python(code, 1, limits=Limits(wall=30, cpu=30)).output)
"""
    environment = {"PYTHONPATH": "/tmp", "PYTHONSTARTUP": "/x", "PYTHONHOME": "", "LD_PRELOAD": "", "SECRET": "s3cret"}
    assert host(script, env=environment).strip() == "True [] False"


def test_another_user_without_privileges_can_run_code() -> None:
    if os.getuid() != 0:
        pytest.skip("the tests run without privileges already")
    if not _enterable(str(ROOT / "tools")):
        pytest.skip("this folder is not open to another user")
    for python in (BASE, "/usr/bin/python3"):
        readable = (
            subprocess.run([python, "-c", "import sys; sys.exit(sys.version_info < (3, 11))"], user=65534, check=False)
            if _enterable(python)
            else None
        )
        if readable and readable.returncode == 0:
            break
    else:
        pytest.skip("no Python 3.11 that another user may start")
    output = host(REPORT + HOSTILE, python=python, user=65534, group=65534, extra_groups=[], cwd="/")
    assert output == "ok 2 None\nPermissionError\n"


def _enterable(python: str) -> bool:
    path = Path(python).resolve()
    return path.exists() and all(parent.stat().st_mode & 0o001 for parent in path.parents)


@pytest.mark.parametrize(
    "change",
    [
        "mount -t tmpfs none /proc",
        "mount -o remount,bind,ro /",
        "mount -t tmpfs none /proc && mount -o remount,bind,ro /",
    ],
    ids=["no proc", "read-only root", "both"],
)
def test_hosts_without_proc_or_with_a_read_only_root_can_run_code(change: str) -> None:
    unshare = shutil.which("unshare")
    if not unshare or subprocess.run([unshare, "-m", "sh", "-c", change], capture_output=True, check=False).returncode:
        pytest.skip("mount namespaces are not available")
    prefix = (unshare, "-m", "sh", "-c", f'{change} && exec "$@"', "sh")
    assert host(REPORT + HOSTILE, prefix=prefix) == "ok 2 None\nPermissionError\n"


# Makes system calls, by number and optionally first argument, fail with an error for this process and its children,
# like the seccomp profile of a container.
FORBID = """
import ctypes, struct
def forbid(*rules):
    code = [(0x20, 0, 0, 0)]
    for number, argument, errno in rules:
        if argument is None:
            code += [(0x15, 0, 1, number), (0x06, 0, 0, 0x50000 | errno)]
        else:
            code += [(0x15, 0, 4, number), (0x20, 0, 0, 16), (0x15, 0, 1, argument)]
            code += [(0x06, 0, 0, 0x50000 | errno), (0x20, 0, 0, 0)]
    code.append((0x06, 0, 0, 0x7FFF0000))
    program = b"".join(struct.pack("<HBBI", *instruction) for instruction in code)
    buffer = ctypes.create_string_buffer(program, len(program))
    libc = ctypes.CDLL(None)
    libc.prctl(38, 1, 0, 0, 0)
    assert libc.prctl(22, 2, (ctypes.c_uint64 * 2)(len(code), ctypes.addressof(buffer)), 0, 0) == 0
"""
PRCTL, SECCOMP = {"x86_64": (157, 317), "aarch64": (167, 277)}.get(platform.machine(), (0, 0))


def test_without_seccomp_no_code_is_run() -> None:
    script = FORBID + f"forbid(({PRCTL}, 22, 1), ({SECCOMP}, None, 1))\n"
    script += "r = run_python('print(1)', 1)\nprint(r.status, '|', r.error.message)\n"
    status, _, told = host(script).partition("|")
    assert status.strip() == "sandbox_unavailable"
    assert "seccomp was refused" in told


def test_a_seccomp_that_only_pretends_is_found_out() -> None:
    script = FORBID + f"forbid(({PRCTL}, 22, 0), ({PRCTL}, 38, 0))\n"
    script += "r = run_python('print(1)', 1)\nprint(r.status, '|', r.error.message)\n"
    status, _, told = host(script).partition("|")
    assert status.strip() == "sandbox_unavailable"
    assert "in spite of the lock" in told or "went through" in told or "Landlock" in told


@pytest.mark.parametrize("errno", [38, 95], ids=["unknown to the kernel", "disabled at boot"])
def test_without_landlock_seccomp_alone_holds(errno: int) -> None:
    script = FORBID + f"forbid((444, None, {errno}), (445, None, {errno}), (446, None, {errno}))\n"
    assert host(script + REPORT + HOSTILE) == "ok 2 None\nPermissionError\n"


def test_a_container_profile_without_namespaces_is_enough() -> None:
    calls = {"x86_64": (272, 308, 165, 101, 56), "aarch64": (97, 268, 40, 117, 220)}[platform.machine()]
    rules = ", ".join(f"({number}, None, 1)" for number in calls[:4])
    assert host(FORBID + f"forbid({rules}, (435, None, 38))\n" + REPORT + HOSTILE) == "ok 2 None\nPermissionError\n"


def test_an_interpreter_that_cannot_start_is_refused() -> None:
    for python in ("/does/not/exist", "/bin/false", "/bin/true", "/bin/cat"):
        with pytest.raises(SandboxUnavailableError):
            CPythonBackend(python=python)


def interpreters() -> dict[str, str]:
    """Return the interpreters on the PATH or beside this one, by version."""
    probe = "import sys; print(sys._base_executable, f'3.{sys.version_info[1]}')"
    found: dict[str, str] = {}
    for minor in (11, 12, 13, 14):
        beside = [str(path) for path in Path(BASE).parents[2].glob(f"3.{minor}.*/bin/python3.{minor}")]
        for candidate in filter(None, [shutil.which(f"python3.{minor}"), *beside]):
            done = subprocess.run([candidate, "-c", probe], capture_output=True, text=True, check=False)
            if done.returncode == 0:
                path, version = done.stdout.split()
                found.setdefault(version, path)
    return found


@pytest.mark.slow
def test_every_version_of_python_here_runs_the_worker() -> None:
    code = "import statistics, zoneinfo, typing\nprint(statistics.mean(data), zoneinfo.ZoneInfo('Asia/Tokyo'))"
    for version, python in interpreters().items():
        backend = CPythonBackend(python=python)
        assert run_python(code, [1, 3], backend=backend, limits=PATIENT).output == "2 Asia/Tokyo\n", version
        closed = run_python("open('/etc/hostname')", 1, backend=backend, limits=PATIENT)
        assert closed.error is not None, version
        assert closed.error.type == "PermissionError", version
        for check in ("", "fields"):
            program = "import random, uuid\nprint(gather(get(n=random.random(), u=uuid.uuid1())))"
            given = {"check": check, "stubs": [STUB], "names": ["get"], "backend": backend}
            first, second = once(program, **given), once(program, **given)
            assert first.kind == "calls", (version, first.problem)
            assert first.calls == second.calls, version
        backend.close()


def test_the_lock_leaves_one_filter_no_capabilities_and_no_new_privileges() -> None:
    others = children(os.getpid())
    backend = CPythonBackend()
    [nursery] = children(os.getpid()) - others
    thread = threading.Thread(
        target=run_python,
        args=("import time\ntime.sleep(60)", 1),
        kwargs={"backend": backend, "limits": Limits(wall=60)},
    )
    thread.start()
    assert eventually(lambda: len(children(os.getpid()) - others) == 2)
    [worker] = children(os.getpid()) - others - {nursery}
    ours = int(status_of(os.getpid())["Seccomp_filters"])
    # The filter is installed last, so the other parts of the lock are in place by then.
    assert eventually(lambda: int(status_of(worker)["Seccomp_filters"]) == ours + 1)
    state = status_of(worker)
    os.kill(worker, signal.SIGKILL)
    thread.join()
    assert (state["Seccomp"], state["NoNewPrivs"], state["Threads"]) == ("2", "1", "1")
    assert int(state["CapEff"], 16) == int(state["CapPrm"], 16) == 0
    backend.close()


def status_of(pid: int) -> dict[str, str]:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return dict(line.split(":\t", 1) for line in lines if ":\t" in line)


@pytest.mark.slow
def test_a_run_that_is_repeated_for_its_imports_has_the_time_of_one_run() -> None:
    result = CPythonBackend().run(VARYING, b"1", media="json", limits=Limits(wall=1.7, cpu=30))
    assert result.status is Status.TIMEOUT


def test_a_run_that_finds_no_free_worker_in_its_time_has_a_timeout() -> None:
    backend = CPythonBackend(workers=1)
    started, code = threading.Event(), "import time; time.sleep(60)"

    def occupy() -> None:
        started.set()
        backend.run(code, b"1", media="json", limits=Limits(wall=60, cpu=60, total=60))

    thread = threading.Thread(target=occupy, daemon=True)
    thread.start()
    started.wait(30)
    result = backend.run(code, b"1", media="json", limits=Limits(wall=60, cpu=60, total=0.5))
    assert result.status is Status.TIMEOUT
    assert thread.is_alive()
    backend.close()


def test_a_program_waits_in_one_worker_which_ends_with_the_backend() -> None:
    before = _children()
    backend, waiting = CPythonBackend(), WaitingPrograms()
    run = run_program("print(get_item(item_id=1))", **GIVEN, entries=[], backend=backend, waiting=waiting)
    assert run.kind == "calls"
    # The worker, and the nursery.
    assert len(_children() - before) == 2
    backend.close()
    assert _children() <= before


def test_a_program_that_begins_to_wait_when_its_backend_is_closed_has_told_its_calls() -> None:
    class Closing:
        """A clock that closes the backend at its fifth reading in a run: the worker has begun by then."""

        readings = -1000

        def __call__(self) -> float:
            self.readings += 1
            if self.readings == 5:
                backend.close()
            return time.monotonic()

    clock = Closing()
    backend = CPythonBackend(clock=clock)
    clock.readings = 0
    run = run_program("print(get_item(item_id=1))", **GIVEN, entries=[], backend=backend, waiting=WaitingPrograms())
    assert (run.kind, run.result.process) == ("calls", None)


def test_the_garbage_collector_may_end_a_program_while_its_thread_chooses_a_worker() -> None:
    backend, waiting = CPythonBackend(), WaitingPrograms()
    run = run_program("print(get_item(item_id=1))", **GIVEN, entries=[], backend=backend, waiting=waiting)
    ring: list[Any] = [waiting]
    ring.append(ring)

    def collect() -> None:
        with backend._lock:
            gc.collect()

    thread = threading.Thread(target=collect, daemon=True)
    del waiting, ring
    thread.start()
    thread.join(30)
    assert not thread.is_alive()
    process: Any = run.result.process
    assert process.worker.process.returncode is not None
    backend.close()


def test_programs_that_wait_end_with_the_object_that_keeps_them() -> None:
    before = _children()
    backend, waiting = CPythonBackend(), WaitingPrograms(most=2)
    for number in range(5):
        run_program(f"print(get_item(item_id={number}))", **GIVEN, entries=[], backend=backend, waiting=waiting)
    assert len(_children() - before) == 3
    del waiting
    assert len(_children() - before) == 1
    backend.close()


def _children() -> set[int]:
    gc.collect()  # else programs of other tests that wait may end between two counts
    return children(os.getpid())
