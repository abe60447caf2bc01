"""Guards the seccomp programs of both architectures; the tests interpret them like the kernel."""

import struct

import pytest

from restgpt.tools.sandbox.seccomp import ALLOW, ARCHITECTURES, CONDITIONS, DENY, KILL, lock_program

REACHING = {
    "x86_64": {"open": 2, "socket": 41, "clone": 56, "fork": 57, "execve": 59, "kill": 62, "ptrace": 101, "prctl": 157},
    "aarch64": {"openat": 56, "socket": 198, "clone": 220, "execve": 221, "kill": 129, "ptrace": 117, "prctl": 167},
}
# These calls have the same number on all architectures.
MODERN = {"pidfd_open": 434, "clone3": 435, "openat2": 437, "io_uring_setup": 425, "landlock_restrict_self": 446}


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
    needing_values = {architecture.numbers[name] for name in ("madvise",)}
    assert allowed == set(architecture.numbers.values()) - needing_values
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


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
@pytest.mark.parametrize(
    ("name", "argument", "good", "bad"),
    [
        ("mmap", 2, [0, 1, 3], [4, 5, 7]),
        ("mprotect", 2, [0, 1, 3], [4, 5, 7]),
        ("madvise", 2, [4, 8, 14, 15], [0, 12, 21, 100, 101]),
        ("futex", 1, [0, 1, 128, 129, 9 | 128, 9 | 128 | 256, 10], [3, 4, 6, 7, 11, 13, 5 | 128]),
    ],
)
def test_conditions_look_at_the_right_argument(
    machine: str, name: str, argument: int, good: list[int], bad: list[int]
) -> None:
    architecture = ARCHITECTURES[machine]
    number = architecture.numbers[name]
    assert CONDITIONS[name].argument == argument
    for values, expected in ((good, ALLOW), (bad, DENY)):
        for value in values:
            arguments = tuple(value if position == argument else 0xFFFF for position in range(6))
            assert verdict(program_of(machine), number, arguments=arguments, audit=architecture.audit) == expected


def test_an_unknown_machine_has_no_program() -> None:
    assert lock_program("riscv64") is None


def test_a_program_fits_the_kernel_s_bounds() -> None:
    for machine in ARCHITECTURES:
        assert len(program_of(machine)) % 8 == 0
        assert len(program_of(machine)) // 8 < 4096
