"""The lock of the sandbox on Linux: what the process of Monty may ask of the kernel, should anything get out of Monty.

A launcher restricts itself and becomes Monty, which inherits it: by Landlock it reads nothing but Monty's program and
the system's libraries, by seccomp it makes only the listed system calls, and starts threads but no processes. Other
calls fail with EPERM; a call with the numbers of another architecture ends the process.
"""

import os
import platform
import struct
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

# SECCOMP_RET_KILL_PROCESS, _ALLOW, _ERRNO | EPERM, _ERRNO | ENOSYS
KILL, ALLOW, DENY, ABSENT = 0x8000_0000, 0x7FFF_0000, 0x0005_0001, 0x0005_0026

_LOAD, _AND, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x06
_NUMBER, _ARCHITECTURE, _FLAGS = 0, 4, 16  # offsets in struct seccomp_data: the flags are the first argument's low half
_X32_BIT, _CLONE3 = 0x4000_0000, 435
_THREAD, _NAMESPACES = 0x0001_0000, 0x7E02_0000  # CLONE_THREAD, and all flags CLONE_NEW... that `clone` takes

LACKS = {"": "", "Landlock": "the files of this user", "seccomp": "other processes and most calls of the kernel"}
"""What a system may lack of the lock, the best first, and from what Monty alone keeps generated code there."""

LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache")
"""What the dynamic loader reads."""


@dataclass(frozen=True, slots=True)
class Architecture:
    """An instruction set: its AUDIT_ARCH constant, the number of `clone`, and those of the calls that are allowed."""

    audit: int
    clone: int
    numbers: Mapping[str, int]


# No socket, no signal to others, no trace of others, no write to files; `openat` and `execve` are Landlock's.
_X86_64 = Architecture(
    0xC000_003E,
    56,
    {
        "read": 0, "write": 1, "close": 3, "fstat": 5, "poll": 7, "lseek": 8, "mmap": 9, "mprotect": 10, "munmap": 11,
        "brk": 12, "rt_sigaction": 13, "rt_sigprocmask": 14, "rt_sigreturn": 15, "pread64": 17, "readv": 19,
        "writev": 20, "access": 21, "sched_yield": 24, "mremap": 25, "madvise": 28, "nanosleep": 35, "getpid": 39,
        "execve": 59, "exit": 60, "gettimeofday": 96, "sigaltstack": 131, "arch_prctl": 158, "gettid": 186, "time": 201,
        "futex": 202, "sched_getaffinity": 204, "set_tid_address": 218, "restart_syscall": 219, "clock_gettime": 228,
        "clock_getres": 229, "clock_nanosleep": 230, "exit_group": 231, "openat": 257, "newfstatat": 262, "ppoll": 271,
        "set_robust_list": 273, "prlimit64": 302, "getrandom": 318, "rseq": 334,
    },
)  # fmt: skip
_AARCH64 = Architecture(
    0xC000_00B7,
    220,
    {
        "openat": 56, "close": 57, "lseek": 62, "read": 63, "write": 64, "readv": 65, "writev": 66, "pread64": 67,
        "ppoll": 73, "newfstatat": 79, "fstat": 80, "exit": 93, "exit_group": 94, "set_tid_address": 96, "futex": 98,
        "set_robust_list": 99, "nanosleep": 101, "clock_gettime": 113, "clock_getres": 114, "clock_nanosleep": 115,
        "sched_getaffinity": 123, "sched_yield": 124, "restart_syscall": 128, "sigaltstack": 132, "rt_sigaction": 134,
        "rt_sigprocmask": 135, "rt_sigreturn": 139, "gettimeofday": 169, "getpid": 172, "gettid": 178, "brk": 214,
        "munmap": 215, "mremap": 216, "execve": 221, "mmap": 222, "mprotect": 226, "madvise": 233, "prlimit64": 261,
        "getrandom": 278, "rseq": 293, "faccessat": 48,
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
if {landlock}:
    version = call_function(syscall, (444, None, 0, 1))
    rights = {{1: 13, 2: 14, 3: 15, 4: 15}}.get(version, 16)
    words = packed((1 << rights) - 1, *[3] * ((version >= 4) + (version >= 6)))
    rules = call_function(syscall, (444, words, len(words), 0))
    for path in {readable!r}:
        rule = packed(13 if os.path.isdir(path) else 5) + packed(os.open(path, os.O_PATH | os.O_CLOEXEC), size=4)
        call_function(syscall, (445, rules, 1, rule, 0))
    if rules < 0 or call_function(syscall, (446, rules, 0)):
        sys.exit("Landlock was refused")
program = bytes.fromhex("{program}")
if program and call_function(prctl, (22, 2, packed(len(program) // 8, id(program) + bytes.__basicsize__ - 1), 0, 0)):
    sys.exit("seccomp was refused")
os.execv({binary!r}, [{binary!r}, *sys.argv[1:]])
"""


def launcher(binary: str, folder: Path, lacks: str = "") -> str:
    """Write the launcher of a program into a folder and return its path; elsewhere than on Linux return the program.

    The launcher ends where the kernel refuses a part of the lock, but for the one that it `lacks`. Raises KeyError.
    """
    if sys.platform != "linux":
        return binary
    own, python, landlock = str(Path(binary).resolve()), os.path.realpath(sys.executable), lacks != "Landlock"
    program = "" if lacks == "seccomp" else lock_program(platform.machine()).hex()
    readable = [own, *filter(os.path.exists, LIBRARIES)]
    script = _SCRIPT.format(python=python, landlock=landlock, readable=readable, program=program, binary=own)
    path = folder / "monty"
    path.write_text(script, encoding="utf-8")
    path.chmod(0o700)
    return str(path)


def lock_program(machine: str) -> bytes:
    """Return the filter, an array of `struct sock_filter`, for a `platform.machine()`. Raises KeyError."""
    architecture = ARCHITECTURES[machine]
    instructions = [
        (_LOAD, 0, 0, _ARCHITECTURE), (_EQUAL, 1, 0, architecture.audit), (_RETURN, 0, 0, KILL),
        (_LOAD, 0, 0, _NUMBER), (_AT_LEAST, 0, 1, _X32_BIT), (_RETURN, 0, 0, KILL),
        *(rule for call in architecture.numbers.values() for rule in ((_EQUAL, 0, 1, call), (_RETURN, 0, 0, ALLOW))),
        # No filter reads the flags of `clone3`, which are in memory; where it is absent, the C library uses `clone`.
        (_EQUAL, 0, 1, _CLONE3), (_RETURN, 0, 0, ABSENT),
        (_EQUAL, 0, 4, architecture.clone), (_LOAD, 0, 0, _FLAGS), (_AND, 0, 0, _THREAD | _NAMESPACES),
        (_EQUAL, 0, 1, _THREAD), (_RETURN, 0, 0, ALLOW), (_RETURN, 0, 0, DENY),
    ]  # fmt: skip
    return b"".join(struct.pack("<HBBI", *instruction) for instruction in instructions)
