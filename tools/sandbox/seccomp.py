"""The seccomp filter of the sandbox worker: the system calls that generated code may make, as a classic BPF program.

All other system calls fail with EPERM, which Python raises as `PermissionError`. A system call of another architecture
kills the process. Building the program is pure, so the programs of both architectures can be tested on any machine.
"""

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

KILL, ALLOW, DENY = 0x8000_0000, 0x7FFF_0000, 0x0005_0001  # SECCOMP_RET_KILL_PROCESS, _ALLOW, _ERRNO | EPERM

_LOAD, _EQUAL, _AT_LEAST, _AND, _RETURN = 0x20, 0x15, 0x35, 0x54, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16  # offsets in struct seccomp_data
_X32_BIT = 0x4000_0000
_PROT_EXEC = 0x4
_FUTEX_FLAGS = 0x80 | 0x100  # FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME
_WORD = 0xFFFF_FFFF


@dataclass(frozen=True, slots=True)
class Condition:
    """Allow a call only if its argument number `argument`, masked, is one of `values`."""

    argument: int
    mask: int
    values: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Architecture:
    """An instruction set: its AUDIT_ARCH constant and the numbers of its system calls."""

    audit: int
    numbers: Mapping[str, int]


_X86_64 = Architecture(
    0xC000_003E,
    {
        "read": 0, "write": 1, "close": 3, "fstat": 5, "lseek": 8, "mmap": 9, "mprotect": 10, "munmap": 11, "brk": 12,
        "rt_sigreturn": 15, "readv": 19, "writev": 20, "sched_yield": 24, "mremap": 25, "madvise": 28, "nanosleep": 35,
        "getpid": 39, "exit": 60, "gettimeofday": 96, "gettid": 186, "time": 201, "futex": 202, "restart_syscall": 219,
        "clock_gettime": 228, "clock_getres": 229, "clock_nanosleep": 230, "exit_group": 231, "getrandom": 318,
    },
)  # fmt: skip
_AARCH64 = Architecture(
    0xC000_00B7,
    {
        "read": 63, "write": 64, "close": 57, "fstat": 80, "lseek": 62, "mmap": 222, "mprotect": 226, "munmap": 215,
        "brk": 214, "rt_sigreturn": 139, "readv": 65, "writev": 66, "sched_yield": 124, "mremap": 216, "madvise": 233,
        "nanosleep": 101, "getpid": 172, "exit": 93, "gettimeofday": 169, "gettid": 178, "futex": 98,
        "restart_syscall": 128, "clock_gettime": 113, "clock_getres": 114, "clock_nanosleep": 115, "exit_group": 94,
        "getrandom": 278,
    },
)  # fmt: skip

ARCHITECTURES: Mapping[str, Architecture] = {"x86_64": _X86_64, "aarch64": _AARCH64, "arm64": _AARCH64}

# Without conditions these calls would allow more than memory and waiting: executable pages, poisoning of physical
# pages (madvise in a privileged process), and priority-inheritance futexes, which have a history of exploits.
CONDITIONS: Mapping[str, Condition] = {
    "mmap": Condition(2, _PROT_EXEC, (0,)),
    "mprotect": Condition(2, _PROT_EXEC, (0,)),
    "madvise": Condition(2, _WORD, (4, 8, 14, 15)),  # DONTNEED, FREE, HUGEPAGE, NOHUGEPAGE
    "futex": Condition(1, _WORD & ~_FUTEX_FLAGS, (0, 1, 9, 10)),  # WAIT, WAKE, WAIT_BITSET, WAKE_BITSET
}


def lock_program(machine: str) -> bytes | None:
    """Return the program, an array of `struct sock_filter`, for a `platform.machine()`; None if it is not supported."""
    architecture = ARCHITECTURES.get(machine)
    return b"".join(_instructions(architecture)) if architecture else None


def _instructions(architecture: Architecture) -> Iterator[bytes]:
    yield _instruction(_LOAD, _ARCHITECTURE)
    yield _instruction(_EQUAL, architecture.audit, 1, 0)
    yield _instruction(_RETURN, KILL)
    yield _instruction(_LOAD, _NUMBER)
    yield _instruction(_AT_LEAST, _X32_BIT, 0, 1)
    yield _instruction(_RETURN, KILL)
    for name, number in architecture.numbers.items():
        condition = CONDITIONS.get(name)
        verdict = list(_checked(condition)) if condition else [_instruction(_RETURN, ALLOW)]
        yield _instruction(_EQUAL, number, 0, len(verdict))
        yield from verdict
    yield _instruction(_RETURN, DENY)


def _checked(condition: Condition) -> Iterator[bytes]:
    # Both architectures are little-endian, so the low word of an argument comes first.
    yield _instruction(_LOAD, _ARGUMENTS + 8 * condition.argument)
    yield _instruction(_AND, condition.mask)
    for value in condition.values:
        yield _instruction(_EQUAL, value, 0, 1)
        yield _instruction(_RETURN, ALLOW)
    yield _instruction(_RETURN, DENY)


def _instruction(code: int, operand: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("<HBBI", code, if_true, if_false, operand)
