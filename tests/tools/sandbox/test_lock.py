"""Guards the lock of the kernel around Monty: the filters, read as the kernel reads them, and what they deny.

A host whose kernel has only a part of the lock says what is open.
"""

import platform
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from restgpt.tools.sandbox.pool import ABSENT, ALLOW, ARCHITECTURES, DENY, KILL, launcher, lock_program, process
from restgpt.tools.sandbox.result import Limits

REACHING = {
    "x86_64": {
        "open": 2,
        "socket": 41,
        "connect": 42,
        "clone": 56,
        "fork": 57,
        "kill": 62,
        "ptrace": 101,
        "prctl": 157,
    },
    "aarch64": {"socket": 198, "connect": 203, "clone": 220, "kill": 129, "ptrace": 117, "prctl": 167},
}
# These calls have the same number on all architectures.
MODERN = {"pidfd_open": 434, "openat2": 437, "io_uring_setup": 425, "landlock_restrict_self": 446}
CLONE3 = 435

THREADS = {"glibc": 0x003D_0F00, "musl": 0x007D_0F00}
"""The flags with which the C libraries start a thread; CLONE_THREAD is 0x1_0000."""

PROCESSES = {
    "fork": 0x0120_0011,
    "vfork": 0x0000_4111,
    "all but CLONE_THREAD": 0x003C_0F00,
    "CLONE_THREAD in the high half": 0x0001_0000_0000_0000,
    "a thread in a network of its own": 0x403D_0F00,
    "a thread with mounts of its own": 0x003F_0F00,
}
"""Flags with which `clone` starts no mere thread."""


def verdict(program: bytes, number: int, *, arguments: tuple[int, ...] = (), audit: int) -> int:
    """Return the verdict of the classic BPF program for a system call, with the data of `man 2 seccomp`."""
    padded = (*arguments, *[0] * (6 - len(arguments)))
    data = struct.pack("<IIQ6Q", number, audit, 0, *padded)
    instructions = [struct.unpack_from("<HBBI", program, at) for at in range(0, len(program), 8)]
    accumulator = position = 0
    while True:
        code, if_true, if_false, operand = instructions[position]
        position += 1
        if code == 0x20:
            accumulator = struct.unpack_from("<I", data, operand)[0]
        elif code == 0x54:
            accumulator &= operand
        elif code == 0x15:
            position += if_true if accumulator == operand else if_false
        elif code == 0x35:
            position += if_true if accumulator >= operand else if_false
        else:
            assert code == 0x06
            return operand


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_only_the_listed_calls_are_allowed(machine: str) -> None:
    architecture, program = ARCHITECTURES[machine], lock_program(machine)
    verdicts = {n: verdict(program, n, audit=architecture.audit) for n in range(1024)}
    assert {n for n, found in verdicts.items() if found == ALLOW} == set(architecture.numbers.values())
    assert {n for n, found in verdicts.items() if found == ABSENT} == {CLONE3}
    assert set(verdicts.values()) == {ALLOW, DENY, ABSENT}
    for name, number in {**REACHING[machine], **MODERN}.items():
        assert verdicts[number] == DENY, name
    # Another architecture, and the numbers of x32
    for number, audit in ((0, 0x4000_0003), (0x4000_0000, architecture.audit), (0xFFFF_FFFF, architecture.audit)):
        assert verdict(program, number, audit=audit) == KILL


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_clone_starts_threads_only(machine: str) -> None:
    program, audit, clone = lock_program(machine), ARCHITECTURES[machine].audit, REACHING[machine]["clone"]
    # The other arguments, and the bits that the kernel ignores, make no difference.
    threads = {verdict(program, clone, arguments=(f | 1 << 40, 5, 7), audit=audit) for f in THREADS.values()}
    assert threads == {ALLOW}
    for name, flags in PROCESSES.items():
        assert verdict(program, clone, arguments=(flags, 0x1_0000, 0x1_0000), audit=audit) == DENY, name


def test_a_program_fits_the_kernel_s_bounds_and_an_unknown_machine_has_none() -> None:
    for machine in ARCHITECTURES:
        assert len(lock_program(machine)) % 8 == 0
        assert len(lock_program(machine)) // 8 < 4096
    with pytest.raises(KeyError):
        lock_program("riscv64")


BASH = shutil.which("bash")


@pytest.mark.skipif(sys.platform != "linux" or BASH is None, reason="starts a shell under the lock of Linux")
@pytest.mark.parametrize(
    ("command", "denied"),
    [
        ("read x < secret.txt", "secret.txt: Permission denied"),
        ("echo x > new.txt", "new.txt: Permission denied"),
        ("exec ./program", "program: Permission denied"),
        ("exec 3<>/dev/tcp/127.0.0.1/9", "Permission denied"),
    ],
)
def test_what_gets_out_of_monty_reaches_no_file_and_no_server(tmp_path: Path, command: str, denied: str) -> None:
    (tmp_path / "secret.txt").write_text("a secret\n")
    (tmp_path / "program").write_text("#!/bin/true\n")
    (tmp_path / "program").chmod(0o700)
    folder = tmp_path / "launcher"
    folder.mkdir()
    # A shell in the place of Monty, by Landlock alone: the other half of the lock would leave it no way to try.
    programs = (str(BASH), launcher(str(BASH), folder, "seccomp"))
    free, locked = (
        subprocess.run([program, "-c", command], capture_output=True, check=False, text=True, cwd=tmp_path, timeout=60)
        for program in programs
    )
    assert denied not in free.stderr
    assert denied in locked.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="the lock is one of Linux")
def test_the_process_of_a_run_is_locked() -> None:
    with process(Limits(), memory=256 << 20) as running:
        status = Path(f"/proc/{running.session.worker_pid}/status").read_text(encoding="utf-8")
    found = dict(re.findall(r"^(NoNewPrivs|Seccomp|Seccomp_filters):\s*(\d+)$", status, re.MULTILINE))
    assert found == {"NoNewPrivs": "1", "Seccomp": "2", "Seccomp_filters": "1"}


STARTS = """
import _thread
from time import sleep
for name, number, *arguments in {calls}:
    if (pid := call_function(dlsym(libc, "syscall"), (number, *arguments))) == 0:
        os._exit(0)
    print(name, "refused" if pid == -1 else "started")
found = []
_thread.start_new_thread(found.append, ("started",))
while not found:
    sleep(0.01)
print("thread", *found, flush=True)
os._exit(0)
"""
"""What the launcher does here in the place of becoming Monty."""

OWN_SIGNAL = 17  # SIGCHLD, which makes `clone` a fork
CLONE3_AS_FORK = struct.pack("8Q", 0, 0, 0, 0, OWN_SIGNAL, 0, 0, 0)
CLONES: list[tuple[object, ...]] = [("clone3", CLONE3, CLONE3_AS_FORK, 64)]
CALLS: dict[str, list[tuple[object, ...]]] = {
    "x86_64": [("vfork", 58), ("fork", 57), ("clone", 56, OWN_SIGNAL, 0, 0, 0, 0), *CLONES],
    "aarch64": [("clone", 220, OWN_SIGNAL, 0, 0, 0, 0), *CLONES],
}
MACHINE = platform.machine()
needs_the_kernel = pytest.mark.skipif(
    sys.platform != "linux" or MACHINE not in CALLS, reason="makes system calls of Linux by their numbers"
)


@needs_the_kernel
@pytest.mark.parametrize("lacks", ["", "seccomp"])
def test_what_is_in_the_lock_starts_threads_but_no_process(tmp_path: Path, lacks: str) -> None:
    # Who calls vfork from a function and returns from it harms itself, so it is tried only where it is refused.
    calls = [call for call in CALLS[MACHINE] if not lacks or call[0] != "vfork"]
    path = Path(launcher(sys.executable, tmp_path, lacks))
    lock, becoming_monty, _ = path.read_text(encoding="utf-8").rpartition("os.execv(")
    assert becoming_monty
    path.write_text(lock + STARTS.format(calls=calls), encoding="utf-8")
    done = subprocess.run([path], capture_output=True, check=False, text=True, timeout=60)
    assert done.stderr == ""
    ended = "started" if lacks else "refused"
    assert done.stdout.splitlines() == [*(f"{name} {ended}" for name, *_ in calls), "thread started"]


HOST = """
import ctypes, logging
libc = ctypes.CDLL(None)
program = bytes.fromhex("{program}")
held = ctypes.create_string_buffer(program, len(program))
assert libc.prctl(38, 1, 0, 0, 0) == 0
filters = (ctypes.c_size_t * 2)(len(program) // 8, ctypes.addressof(held))
assert libc.prctl(22, 2, filters, 0, 0) == 0
from restgpt.tools.sandbox import run_python
logging.basicConfig(format="%(levelname)s %(message)s", filename="log.txt")
print(*(run_python("print(data)", number).output.strip() for number in range(3)))
"""
"""A host whose kernel refuses calls as one without them does."""

NO_LANDLOCK = [(0x20, 0, 0, 0), (0x15, 0, 1, 444), (0x06, 0, 0, ABSENT)]
NO_SECCOMP = [
    (0x20, 0, 0, 0),
    (0x15, 0, 3, REACHING.get(MACHINE, {}).get("prctl", 0)),
    (0x20, 0, 0, 16),
    (0x15, 0, 1, 22),  # PR_SET_SECCOMP
    (0x06, 0, 0, 0x0005_0016),  # EINVAL
]


@needs_the_kernel
@pytest.mark.parametrize(
    ("refused", "warning"),
    [
        ([], ""),
        (NO_LANDLOCK, "Landlock is not here: Monty alone keeps generated code from the files of this user"),
        (NO_SECCOMP, "seccomp is not here: Monty alone keeps generated code from other processes and most calls"),
        (NO_SECCOMP + NO_LANDLOCK, "generated code runs in Monty without the lock of the kernel around it"),
    ],
)
def test_a_host_says_once_which_part_of_the_lock_it_lacks(
    tmp_path: Path, refused: list[tuple[int, ...]], warning: str
) -> None:
    program = b"".join(struct.pack("<HBBI", *instruction) for instruction in [*refused, (0x06, 0, 0, ALLOW)])
    command = [sys.executable, "-c", HOST.format(program=program.hex())]
    done = subprocess.run(command, capture_output=True, check=False, text=True, cwd=tmp_path, timeout=60)
    assert done.stdout == "0 1 2\n", done.stderr
    log = (tmp_path / "log.txt").read_text(encoding="utf-8").splitlines()
    assert [line.startswith(f"WARNING {warning}") for line in log] == ([True] if warning else [])
