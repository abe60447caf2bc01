"""Guards programs that wait in their process: their calls and results are those of programs that run again."""

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from programrun import FORGE, PATIENT, Failure, Host, entry, once

from restgpt.tools.sandbox.cpython import CPythonBackend
from restgpt.tools.sandbox.program import Entry, ProgramRun
from restgpt.tools.sandbox.record import LOCKED, is_waiting
from restgpt.tools.sandbox.result import Limits, Status
from restgpt.tools.sandbox.waiting import WaitingPrograms

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="programs run in the locked interpreter of Linux")


def missing(n: int) -> int:
    raise Failure(404, {"why": "none"})


def items(n: int) -> dict[str, Any]:
    return {"items": [{"id": n, "name": f"name {n}"}, {"id": n + 1, "name": None}]}


CODES = [
    "print(get(n=1))",
    "total = 0\nfor n in range(6):\n    total += get(n=n)\nprint(total)",
    "print('before')\na = get(n=1)\nprint('between', a)\nb = put(n=a)\nprint('after', b, headers()['x-position'])",
    "a = get(n=1)\nprint(gather(get(n=a), get(n=a + 1)), get(n=9))\nprint(put(n=3))",
    "def f(n):\n    return get(n=n) + get(n=n + 1)\nseen = []\nprint(gather(f(1), f(5)), [f(n) for n in (3, 4)])",
    "try:\n    lost(n=1)\nexcept ApiError as error:\n    print(error.status, error.body, get(n=2))",
    "lost(n=get(n=1))",
    "a = get(n=1)\nstop(f'it is {a}', a)",
    "import random, time, uuid\nprint(random.random(), get(n=1), time.time(), uuid.uuid4(), random.random())",
    "a = listed(n=4)\nprint(field(one(rows(a), 'name 4'), 'id'), get(n=7), len(rows(listed(n=get(n=2)))))",
    "get(n=1)\nundefined_name",
    "get(n=1)\nimport sys\nsys.exit('so it ends')",
    "class Late:\n    def __del__(self):\n        get(n=8)\nlate = Late()\nget(n=1)\ndel late\nprint('end')",
]


@pytest.mark.sampled(3, "code")
@pytest.mark.parametrize("code", CODES)
def test_a_program_does_the_same_in_one_process_and_when_it_is_run_again(code: str) -> None:
    answers: dict[str, Callable[..., Any]] = {
        **{"get": lambda n: n * 2, "put": lambda n: {"n": n}, "listed": items, "lost": missing}
    }
    again, waiting = Host(answers), Host(answers, waiting=WaitingPrograms())
    one, other = again.play(code), waiting.play(code)
    assert told(one) == told(other)
    assert (again.log, again.batches) == (waiting.log, waiting.batches)


def told(run: ProgramRun) -> tuple[Any, ...]:
    return run.kind, run.problem, run.text, run.value, run.line, run.result.output, run.result.error


def test_a_program_goes_on_in_the_process_that_waits() -> None:
    waiting, code = WaitingPrograms(), "print(get(n=1), get(n=2))"
    first = once(code, waiting=waiting)
    second = once(code, entry(first.calls[0], 7), waiting=waiting)
    again = once(code, entry(first.calls[0], 7))
    assert [call.position for call in second.calls] == [call.position for call in again.calls] == ["1"]
    assert pid_of(second) == pid_of(first)
    assert again.result.process is None


def test_a_program_whose_process_is_gone_is_run_again() -> None:
    backend, waiting = CPythonBackend(), WaitingPrograms()
    code = "print(get(n=1), get(n=2))"
    first = once(code, waiting=waiting, backend=backend)
    backend.close()
    second = once(code, entry(first.calls[0], 7), waiting=waiting)
    assert [call.position for call in second.calls] == ["1"]
    last = once(code, entry(first.calls[0], 7), entry(second.calls[0], 8), waiting=waiting)
    assert last.result.output == "7 8\n"


def test_a_program_whose_process_was_ended_by_its_timer_is_run_again() -> None:
    waiting = WaitingPrograms()
    code = "get(n=1)\nimport time\nfor _ in range(3):\n    pass\nprint(get(n=2))"
    first = once(code, waiting=waiting, limits=Limits(wall=0.2, cpu=30))
    assert first.result.process is not None
    ended(first)
    second = once(code, entry(first.calls[0], 7), waiting=waiting)
    assert [call.position for call in second.calls] == ["1"]


def pid_of(run: ProgramRun) -> int:
    process: Any = run.result.process
    return int(process.worker.process.pid)


def ended(run: ProgramRun) -> None:
    """Wait until the timer of a process has ended it."""
    process: Any = run.result.process
    process.worker.process.wait(PATIENT.wall)


def test_a_loop_without_end_after_a_call_is_ended() -> None:
    host = Host({"get": lambda n: n}, waiting=WaitingPrograms())
    run = host.play("get(n=1)\nwhile True:\n    pass", limits=Limits(wall=0.5, cpu=0.5))
    assert run.result.status is Status.TIMEOUT


def test_a_loop_without_end_after_a_call_gets_no_more_time_than_there_is_for_everything() -> None:
    waiting, code = WaitingPrograms(), "get(n=1)\nwhile True:\n    pass"
    first = once(code, waiting=waiting)
    other = CPythonBackend()
    other.close()
    # The other backend could not run the program again.
    run = once(code, entry(first.calls[0], 1), waiting=waiting, backend=other, limits=replace(PATIENT, total=0.3))
    assert run.result.status is Status.TIMEOUT


@pytest.mark.slow
def test_an_answer_for_which_a_process_has_no_memory_goes_to_a_new_one() -> None:
    text = "x" * (70 << 20)
    host = Host({"get": lambda n: text if n == 2 else n}, waiting=WaitingPrograms())
    run = host.play("a = get(n=1)\nprint(len(get(n=2)), a)", limits=Limits(wall=60, cpu=60, data=100 << 20))
    assert run.result.output == f"{len(text)} 1\n"


FULL = """
a = get(n=1)
full = []
try:
    while True:
        full.append(bytearray(1 << 20))
except MemoryError:
    del full[-3:]
try:
    text = get(n=2)
except Exception as error:
    text = type(error).__name__
del full
print(text, get(n=a))
"""
"""A program that has no memory for the answer to its second call."""


@pytest.mark.slow
def test_a_program_that_has_no_memory_for_an_answer_has_the_error_of_a_program_that_is_run_again() -> None:
    answers = {"get": lambda n: "x" * (6 << 20) if n == 2 else 3}
    one, other = Host(answers).play(FULL), Host(answers, waiting=WaitingPrograms()).play(FULL)
    assert told(one) == told(other)
    assert one.kind == "finished"


def test_an_answer_to_another_call_than_the_one_that_waits_makes_the_program_run_again() -> None:
    waiting = WaitingPrograms()
    first = once("print(get(n=1), get(n=2))", waiting=waiting)
    other = Entry("5", "other", "digest", "answer", 200, {}, "json", b"5")
    second = once("print(get(n=1), get(n=2))", other, waiting=waiting)
    assert [call.position for call in second.calls] == [first.calls[0].position]


def test_a_program_whose_answer_was_replaced_runs_again() -> None:
    waiting = WaitingPrograms()
    code = "print(get(n=1), get(n=2))"
    first = once(code, waiting=waiting)
    once(code, entry(first.calls[0], 7), waiting=waiting)
    changed = once(code, entry(first.calls[0], 9, key="other"), waiting=waiting)
    assert [call.position for call in changed.calls] == ["1"]


@pytest.mark.parametrize("change", [{"given": "rejected", "body": b""}, {"given": "held"}, {"body": b"2"}])
def test_an_answer_that_the_same_request_got_in_another_branch_of_a_thread_is_not_used(change: dict[str, Any]) -> None:
    waiting = WaitingPrograms()
    code = "try:\n    first = get(n=1)\nexcept Rejected:\n    first = 'no'\nput(n=2)\nprint(first)"
    first = once(code, waiting=waiting).calls[0]
    here, there = entry(first, 1), replace(entry(first, 1), **change)
    second = once(code, here, waiting=waiting).calls[0]
    once(code, there, waiting=waiting)
    assert once(code, here, entry(second, 3), waiting=waiting).result.output == "1\n"


def test_an_answer_of_an_earlier_program_is_taken_once() -> None:
    waiting = WaitingPrograms()
    first = once("get(n=1)").calls[0]
    free = entry(first, 5, key="earlier", position="")
    code = "a = get(n=1)\nb = put(n=a)\nprint(b, get(n=1))"
    taking = once(code, free, waiting=waiting)
    assert taking.taken == {"0": "earlier"}
    placed = entry(first, 5, key="earlier", position="0")
    second = once(code, placed, entry(taking.calls[0], 6), waiting=waiting)
    assert (second.kind, second.taken, second.calls[0].position) == ("calls", {}, "2")


def test_the_budget_of_requests_is_that_of_the_latest_answers() -> None:
    waiting = WaitingPrograms()
    code = "a = get(n=1)\nprint(get(n=2))"
    first = once(code, waiting=waiting, most=2)
    run = once(code, entry(first.calls[0], 7), waiting=waiting, most=0)
    assert (run.kind, run.result.pause) == ("failed", "many")


def test_a_program_has_no_standard_input_while_its_process_waits() -> None:
    run = Host({"get": lambda n: n}, waiting=WaitingPrograms()).play("get(n=1)\ninput()")
    assert run.result.error is not None
    assert run.result.error.type == "EOFError"


def test_two_programs_of_one_code_do_not_share_a_process() -> None:
    waiting, code = WaitingPrograms(), "print(get(n=1), get(n=2))"
    runs = {seed: once(code, waiting=waiting, seed=seed) for seed in ("one", "two")}
    for seed, value in (("one", 1), ("two", 2)):
        given = [entry(runs[seed].calls[0], value, key=f"{seed} first")]
        second = once(code, *given, waiting=waiting, seed=seed)
        assert pid_of(second) == pid_of(runs[seed])
        last = once(code, *given, entry(second.calls[0], value, key=f"{seed} second"), waiting=waiting, seed=seed)
        assert last.result.output == f"{value} {value}\n"


def test_a_program_cannot_claim_to_wait_where_no_program_may() -> None:
    code = f"{FORGE}\nos._exit = lambda code: None\nforge(b'waits', {{'calls': [call()]}})\nwhile True:\n    pass"
    run = once(code, limits=Limits(wall=0.5, cpu=0.5))
    assert run.result.process is None
    assert run.result.status is Status.TIMEOUT


@pytest.mark.parametrize(
    ("record", "waits"),
    [
        (b"5:waits," + b"0:," * 6, True),
        (b"5:calls," + b"0:," * 6, False),
        (b"1:x,5:waits,", False),
    ],
)
def test_a_program_waits_as_soon_as_its_record_is_whole_and_alone(record: bytes, waits: bool) -> None:
    told = LOCKED + b"%d:%b," % (len(record), record)
    assert is_waiting(told) is waits
    assert not any(is_waiting(told[:size]) for size in range(len(told)))
    assert not is_waiting(told + told)


def test_a_run_with_two_records_at_once_has_crashed() -> None:
    code = f"{FORGE}\nos._exit = lambda code: None\nfor _ in range(2):\n    forge(b'calls', {{'calls': [call()]}})"
    run = once(code, waiting=WaitingPrograms())
    assert run.result.status is Status.CRASHED
