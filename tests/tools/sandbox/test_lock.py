"""Guards the lock of the kernel around Monty: the filters, read as the kernel reads them, and what they deny."""

import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from restgpt.tools.sandbox.lock import ALLOW, ARCHITECTURES, DENY, KILL, launcher, lock_program
from restgpt.tools.sandbox.pool import process
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


def program_of(machine: str) -> bytes:
    program = lock_program(machine)
    assert program is not None
    return program


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_only_the_listed_calls_are_allowed(machine: str) -> None:
    architecture = ARCHITECTURES[machine]
    program = program_of(machine)
    allowed = {n for n in range(1024) if verdict(program, n, audit=architecture.audit) == ALLOW}
    assert allowed == set(architecture.numbers.values())
    assert {verdict(program, n, audit=architecture.audit) for n in range(1024)} == {ALLOW, DENY}


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_calls_that_reach_out_are_denied(machine: str) -> None:
    architecture = ARCHITECTURES[machine]
    for name, number in {**REACHING[machine], **MODERN}.items():
        assert verdict(program_of(machine), number, audit=architecture.audit) == DENY, name


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_another_architecture_or_the_x32_numbers_kill(machine: str) -> None:
    architecture = ARCHITECTURES[machine]
    assert verdict(program_of(machine), 0, audit=0x4000_0003) == KILL
    assert verdict(program_of(machine), 0x4000_0000, audit=architecture.audit) == KILL
    assert verdict(program_of(machine), 0xFFFF_FFFF, audit=architecture.audit) == KILL


def test_an_unknown_machine_has_no_program() -> None:
    assert lock_program("riscv64") is None


def test_a_program_fits_the_kernel_s_bounds() -> None:
    for machine in ARCHITECTURES:
        assert len(program_of(machine)) % 8 == 0
        assert len(program_of(machine)) // 8 < 4096


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
    programs = (str(BASH), launcher(str(BASH), folder, machine=""))
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
