"""The lock of the sandbox on Linux: what the process of Monty may ask of the kernel, should anything get out of Monty.

A launcher restricts itself and becomes Monty, which inherits it: by Landlock it reads nothing but Monty's program and
the system's libraries, by seccomp it makes only the listed system calls. Other calls fail with EPERM; a call with the
numbers of another architecture ends the process. Where the kernel has one of the two alone, that one holds.
"""

import os
import platform
import struct
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

KILL, ALLOW, DENY = 0x8000_0000, 0x7FFF_0000, 0x0005_0001  # SECCOMP_RET_KILL_PROCESS, _ALLOW, _ERRNO | EPERM

_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_NUMBER, _ARCHITECTURE = 0, 4  # offsets in struct seccomp_data
_X32_BIT = 0x4000_0000

LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache")
"""What the dynamic loader reads."""


@dataclass(frozen=True, slots=True)
class Architecture:
    """An instruction set: its AUDIT_ARCH constant and the numbers of its system calls."""

    audit: int
    numbers: Mapping[str, int]


# No socket, no signal to others, no trace of others, no write to files; `openat` and `execve` are Landlock's.
_X86_64 = Architecture(
    0xC000_003E,
    {
        "read": 0, "write": 1, "close": 3, "fstat": 5, "poll": 7, "lseek": 8, "mmap": 9, "mprotect": 10, "munmap": 11,
        "brk": 12, "rt_sigaction": 13, "rt_sigprocmask": 14, "rt_sigreturn": 15, "pread64": 17, "readv": 19,
        "writev": 20, "access": 21, "sched_yield": 24, "mremap": 25, "madvise": 28, "nanosleep": 35, "getpid": 39,
        "execve": 59, "exit": 60, "gettimeofday": 96, "sigaltstack": 131, "arch_prctl": 158, "gettid": 186, "time": 201,
        "futex": 202, "sched_getaffinity": 204, "set_tid_address": 218, "restart_syscall": 219, "clock_gettime": 228,
        "clock_getres": 229, "clock_nanosleep": 230, "exit_group": 231, "openat": 257, "newfstatat": 262, "ppoll": 271,
        "set_robust_list": 273, "prlimit64": 302, "getrandom": 318, "rseq": 334, "clone3": 435,
    },
)  # fmt: skip
_AARCH64 = Architecture(
    0xC000_00B7,
    {
        "openat": 56, "close": 57, "lseek": 62, "read": 63, "write": 64, "readv": 65, "writev": 66, "pread64": 67,
        "ppoll": 73, "newfstatat": 79, "fstat": 80, "exit": 93, "exit_group": 94, "set_tid_address": 96, "futex": 98,
        "set_robust_list": 99, "nanosleep": 101, "clock_gettime": 113, "clock_getres": 114, "clock_nanosleep": 115,
        "sched_getaffinity": 123, "sched_yield": 124, "restart_syscall": 128, "sigaltstack": 132, "rt_sigaction": 134,
        "rt_sigprocmask": 135, "rt_sigreturn": 139, "gettimeofday": 169, "getpid": 172, "gettid": 178, "brk": 214,
        "munmap": 215, "mremap": 216, "execve": 221, "mmap": 222, "mprotect": 226, "madvise": 233, "prlimit64": 261,
        "getrandom": 278, "rseq": 293, "clone3": 435, "faccessat": 48,
    },
)  # fmt: skip

ARCHITECTURES: Mapping[str, Architecture] = {"x86_64": _X86_64, "aarch64": _AARCH64, "arm64": _AARCH64}

# Each run starts it, so it loads no module that it can do without: `_ctypes` takes half of the time of `ctypes`. The
# functions get whole numbers as `int`, and bytes by their address, which is behind the head of the object.
_SCRIPT = """#!{python} -ISB
import os, sys
from _ctypes import call_function, dlopen, dlsym
libc = dlopen(None, 2)
prctl, syscall = dlsym(libc, "prctl"), dlsym(libc, "syscall")
def packed(*words, size=8):
    return b"".join(word.to_bytes(size, sys.byteorder) for word in words)
call_function(prctl, (4, 0, 0, 0, 0))
call_function(prctl, (38, 1, 0, 0, 0))
version = call_function(syscall, (444, None, 0, 1))
if version > 0:
    rights = {{1: 13, 2: 14, 3: 15, 4: 15}}.get(version, 16)
    words = packed((1 << rights) - 1, 3 if version >= 4 else 0, 3 if version >= 6 else 0)
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    rules = call_function(syscall, (444, words, size, 0))
    for path in {readable!r}:
        try:
            opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue
        rule = packed(13 if os.path.isdir(path) else 5) + packed(opened, size=4)
        call_function(syscall, (445, rules, 1, rule, 0))
    if rules < 0 or call_function(syscall, (446, rules, 0)):
        sys.exit("Landlock was refused")
program = bytes.fromhex("{program}")
if program and call_function(prctl, (22, 2, packed(len(program) // 8, id(program) + bytes.__basicsize__ - 1), 0, 0)):
    sys.exit("seccomp was refused")
os.execv({binary!r}, [{binary!r}, *sys.argv[1:]])
"""


def launcher(binary: str, folder: Path, machine: str = platform.machine()) -> str:
    """Write the launcher of a program into a folder and return its path; elsewhere than on Linux return the program.

    For a `machine` without a filter, Landlock holds alone.
    """
    if sys.platform != "linux":
        return binary
    own, filters = str(Path(binary).resolve()), lock_program(machine) or b""
    python, readable = os.path.realpath(sys.executable), [own, *LIBRARIES]
    script = _SCRIPT.format(python=python, readable=readable, program=filters.hex(), binary=own)
    path = folder / "monty"
    path.write_text(script, encoding="utf-8")
    path.chmod(0o700)
    return str(path)


def lock_program(machine: str) -> bytes | None:
    """Return the filter, an array of `struct sock_filter`, for a `platform.machine()`; None if it is not supported."""
    architecture = ARCHITECTURES.get(machine)
    return b"".join(_instructions(architecture)) if architecture else None


def _instructions(architecture: Architecture) -> Iterator[bytes]:
    yield _instruction(_LOAD, _ARCHITECTURE)
    yield _instruction(_EQUAL, architecture.audit, 1, 0)
    yield _instruction(_RETURN, KILL)
    yield _instruction(_LOAD, _NUMBER)
    yield _instruction(_AT_LEAST, _X32_BIT, 0, 1)
    yield _instruction(_RETURN, KILL)
    for number in architecture.numbers.values():
        yield _instruction(_EQUAL, number, 0, 1)
        yield _instruction(_RETURN, ALLOW)
    yield _instruction(_RETURN, DENY)


def _instruction(code: int, operand: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("<HBBI", code, if_true, if_false, operand)
