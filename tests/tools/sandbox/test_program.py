"""Guards programs: their positions and answers, their ends, and what a report of a hostile program can claim."""

import json
import random
from typing import Any

import pytest
from programrun import CLOCK, FORGE, Failure, Host, entry, once

from restgpt.tools.sandbox.guest.digest import call_text, digest_of
from restgpt.tools.sandbox.program import Entry
from restgpt.tools.sandbox.result import Limits, Status

pytestmark = pytest.mark.usefixtures("sandbox")


def forged(payload: str, *entries: Entry, kind: str = "calls", **options: Any) -> Any:
    return once(f"{FORGE}\nforge({kind.encode()!r}, {payload})", *entries, **options)


# Positions and answers


def test_calls_in_a_row_have_the_positions_of_their_order() -> None:
    host = Host({"get": lambda n: n * 2})
    run = host.play("a = get(n=1)\nb = get(n=a)\nprint(get(n=b))")
    assert run.result.output == "8\n"
    assert [position for position, *_ in host.log] == ["0", "1", "2"]


def test_positions_in_gather_are_those_of_its_branches() -> None:
    host = Host({"get": lambda n: n})
    run = host.play(
        "def both(n):\n    first = get(n=n)\n    return gather(get(n=first + 1), get(n=first + 2))\n"
        "get(n=0)\nprint(gather(both(10), get(n=5), both(20)), get(n=7))"
    )
    assert run.result.output == "[[11, 12], 5, [21, 22]] 7\n"
    assert sorted(position for position, *_ in host.log) == [
        *("0", "1.0.0", "1.0.1.0.0", "1.0.1.1.0", "1.1.0", "1.2.0", "1.2.1.0.0", "1.2.1.1.0", "2"),
    ]
    assert host.batches == [1, 3, 4, 1]


NESTED = """
def chain(start, length):
    found = [get(n=start)]
    for _ in range(length):
        found.append(get(n=found[-1] + 1))
    return found
def pair(a):
    left, right = gather(chain(a, 2), chain(a + 50, 1))
    return left + right + [put(n=sum(left), body={"right": right})]
total = gather(*[pair(100 * i) for i in range(3)], chain(1000, 3), return_exceptions=True)
print(total, get(n=0))
"""


@pytest.mark.sampled(2)
@pytest.mark.parametrize("orders", [2, 6])
def test_partial_answers_in_any_order_give_one_log_and_one_end(orders: int) -> None:
    ends = set()
    for seed in range(orders):
        host = Host({"get": lambda n: n + 1, "put": lambda n, body: n + len(body)}, random.Random(seed))
        run = host.play(NESTED)
        ends.add((run.kind, run.result.output, json.dumps(sorted(host.log))))
    assert len(ends) == 1
    assert ends.pop()[0] == "finished"


def failing(n: int) -> int:
    if n % 2:
        raise Failure(404, {"error": f"no {n}"})
    return n


def test_an_error_in_gather_is_raised_after_all_branches_were_made() -> None:
    host = Host({"get": failing})
    run = host.play(
        "try:\n    gather(get(n=1), get(n=2), get(n=3))\nexcept ApiError as e:\n    print(e, e.status, e.body)"
    )
    assert run.result.output == "get answered 404: {\"error\": \"no 1\"} 404 {'error': 'no 1'}\n"
    assert host.batches == [3]


def test_gather_can_return_errors_among_the_results() -> None:
    run = Host({"get": failing}).play(
        "for x in gather(get(n=1), get(n=2), return_exceptions=True):\n    print(type(x).__name__, x)"
    )
    assert run.result.output == 'ApiError get answered 404: {"error": "no 1"}\nint 2\n'


@pytest.mark.parametrize("body", [None, ""])
def test_an_error_without_body_says_its_status_only(body: Any) -> None:
    def fail() -> None:
        raise Failure(500, body)

    assert Host({"get": fail}).play("get()").result.error.message in ("get answered 500", 'get answered 500: ""')  # type: ignore[union-attr]


def test_an_error_with_a_binary_body_is_an_api_error() -> None:
    [call] = once("get()").calls
    given = Entry(call.position, "k", call.digest, "error", 500, {}, "binary", b"\x00\xff")
    assert once("try:\n    get()\nexcept ApiError as e:\n    print(e, e.body)", given).result.output == (
        "get answered 500 b'\\x00\\xff'\n"
    )


def test_a_body_that_is_no_json_though_it_says_so_is_a_text() -> None:
    [call] = once("get()").calls
    given = Entry(call.position, "k", call.digest, "answer", 200, {}, "json", b'{"cut": ')
    assert once("print(repr(get()))", given).result.output == "'{\"cut\": '\n"


def test_headers_are_those_of_the_answer_or_of_the_last_call() -> None:
    run = Host({"get": lambda n: [n]}).play(
        "a, b = get(n=1), get(n=2)\nprint(headers(a)['x-position'], headers(b)['x-position'], headers()['x-position'])"
    )
    assert run.result.output == "0 1 1\n"


def test_the_status_is_that_of_the_last_answer() -> None:
    [call] = once("get()").calls
    given = Entry(call.position, "k", call.digest, "error", 404, {}, "empty")
    code = "print(status())\ntry:\n    get()\nexcept ApiError:\n    print(status())"
    assert once(code, given).result.output == "0\n404\n"
    assert once(code, given, check="names", names=["get"]).result.output == "0\n404\n"
    assert once("print(status())", functions=["status"]).kind == "calls"


def test_headers_of_megabytes_are_cut() -> None:
    [call] = once("get()").calls
    given = Entry(call.position, "k", call.digest, "answer", 200, {"small": "1", "big": "x" * 10**6}, "empty")
    assert once("get()\nprint(headers())", given).result.output == "{'small': '1'}\n"


def test_a_rejected_call_is_an_exception_that_the_program_can_catch() -> None:
    [call] = once("put(n=1)").calls
    given = Entry(call.position, "k", call.digest, "rejected", note="not on Sundays")
    run = once("try:\n    put(n=1)\nexcept Rejected as error:\n    print(error)", given)
    assert run.result.output == "put was not sent: not on Sundays\n"


# Answers of earlier programs


def test_the_kth_call_takes_the_kth_earlier_answer_of_the_same_call() -> None:
    [call] = once("get(n=1)").calls
    free = [entry(call, value, key=f"k{value}", position="") for value in (10, 20)]
    run = once("print(get(n=1), get(n=1), get(n=1))", *free)
    assert run.kind == "calls"
    assert run.taken == {"0": "k10", "1": "k20"}
    assert [call.position for call in run.calls] == ["2"]


def test_an_answer_that_was_taken_stays_at_its_place() -> None:
    [call] = once("get(n=1)").calls
    placed, free = entry(call, "second", key="b", position="1"), entry(call, "first", key="a", position="")
    assert once("print(get(n=1), get(n=1))", free, placed).result.output == "first second\n"


def test_another_call_does_not_take_an_earlier_answer() -> None:
    [call] = once("get(n=1)").calls
    run = once("get(n=2)", entry(call, 1, position=""))
    assert (run.kind, dict(run.taken)) == ("calls", {})


def test_other_arguments_at_an_answered_position_are_a_divergence() -> None:
    [call] = once("get(n=1)").calls
    run = once("x = 2\nget(n=x)", entry(call, 1))
    assert run.kind == "failed"
    assert run.problem.startswith("Line 2: get(n=x)\nThe call of get has other arguments than when the program ran")


# Arguments


@pytest.mark.cpython
@pytest.mark.parametrize(
    ("argument", "sent"),
    [
        ("b'\\x00\\x01'", {"@bytes": "AAE="}),
        ("__import__('datetime').date(2026, 1, 2)", "2026-01-02"),
        ("__import__('datetime').datetime(2026, 1, 2, 3)", "2026-01-02T03:00:00"),
        ("__import__('decimal').Decimal('1.50')", 1.5),
        ("__import__('decimal').Decimal(7)", 7),
        ("__import__('uuid').UUID(int=1)", "00000000-0000-0000-0000-000000000001"),
        ("{'b', 'a'}", ["a", "b"]),
        ("(1, 2)", [1, 2]),
        ("(x for x in 'ab')", ["a", "b"]),
        ("{10: 1, 9: 2}", {"10": 1, "9": 2}),
        ("{'é': 'ü'}", {"é": "ü"}),
        ("'\\ud83d\\ude00'", "\U0001f600"),
        ("'\\ud800'", "\ud800"),
        ("-0.0", 0.0),
        ("10**30", 10**30),
        ("{'a': None, 'b': [True, {}]}", {"a": None, "b": [True, {}]}),
    ],
)
def test_an_argument_arrives_as_json_and_its_answer_is_found_again(argument: str, sent: Any) -> None:
    code = f"import datetime, decimal\nprint(get(n={argument}))"
    [call] = once(code).calls
    assert call.keywords == {"n": sent}
    assert once(code, entry(call, "found")).result.output == "found\n"


@pytest.mark.cpython
@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("float('nan')", "get: an argument is no JSON value: Out of range float values"),
        ("[1e999]", "get: an argument is no JSON value: Out of range float values"),
        ("object()", "get: an argument is no JSON value: object cannot be sent"),
        ("10**5000", "get: an argument is no JSON value: Exceeds the limit"),
        ("deep(80)", "get: an argument is nested more than 60 levels deep"),
        ("deep(10**5)", "get: an argument is no JSON value"),
        ("'x' * 600_000", "get: the arguments have 6000"),
        ("decimal.Decimal('Infinity')", "get: an argument is no JSON value"),
        ("itself", "get: an argument is no JSON value: Circular reference"),
    ],
)
def test_an_argument_that_cannot_be_sent_is_an_error_in_the_program(argument: str, message: str) -> None:
    code = (
        "import decimal\ndef deep(levels):\n    value = []\n    for _ in range(levels):\n        value = [value]\n"
        f"    return value\nitself = []\nitself.append(itself)\nget(n={argument})"
    )
    run = once(code)
    assert run.kind == "failed"
    assert run.result.error is not None
    assert run.result.error.type == "TypeError"
    assert run.result.error.message.startswith(message)
    assert (run.line, run.result.error.line) == (9, 9)


@pytest.mark.cpython
def test_a_subclass_with_hostile_methods_is_sent_as_what_it_holds() -> None:
    run = once(
        "class Text(str):\n    def __str__(self): return 'lie'\n    __repr__ = __format__ = __str__\n"
        "class Number(int):\n    def __repr__(self): return '99'\n    __str__ = __repr__\n"
        "get(a=Text('true'), b=Number(7))"
    )
    assert [dict(call.keywords) for call in run.calls] == [{"a": "true", "b": 7}]


@pytest.mark.cpython
def test_a_dict_with_hostile_items_is_looked_at_once() -> None:
    code = "n = 0\nclass D(dict):\n    def items(self):\n        global n\n        n += 1\n        return [('k', n)]\n"
    [call] = once(code + "get(n=D(k=0))").calls
    assert call.keywords == {"n": {"k": 1}}
    assert once(code + "print(get(n=D(k=0)))", entry(call, "found")).result.output == "found\n"


# Ends of a program


def test_a_program_may_end_with_exit() -> None:
    assert once("print('done')\nexit()").kind == "finished"


def test_exit_in_a_branch_comes_after_the_calls_of_the_branches_before_it() -> None:
    host = Host({"put": lambda n: n})
    run = host.play("def leave():\n    print('bye')\n    exit()\ngather(put(n=1), leave(), put(n=2))")
    assert (run.kind, run.result.output) == ("finished", "bye\n")
    assert [position for position, *_ in host.log] == ["0.0.0"]


def test_stop_in_a_branch_comes_after_the_calls_of_the_branches_before_it() -> None:
    host = Host({"put": lambda n: n})
    run = host.play("gather(put(n=1), stop('enough', [1]))")
    assert (run.kind, run.text, run.value) == ("stopped", "enough", "[1]")
    assert len(host.log) == 1


def test_stop_ends_the_program_with_a_sentence_and_a_value() -> None:
    run = once("print('before')\nstop('which one?', {'a': 'x' * 9999})\nprint('never')")
    assert (run.kind, run.text, run.line) == ("stopped", "which one?", 2)
    assert run.value.endswith("x… (8068 characters more: show a part of it)")
    assert run.result.output == "before\n"


def test_a_sentence_of_stop_can_be_stored_and_printed() -> None:
    run = once("stop('a\\x1b[2J\\ud800b', '\\x07')")
    assert "\x1b" not in run.text
    run.text.encode()


def test_a_program_that_prints_nothing_is_told_to_print() -> None:
    run = once("x = 1")
    assert (run.kind, run.result.status) == ("failed", Status.NO_OUTPUT)
    assert "printed nothing" in run.problem


def test_a_program_that_does_not_parse_fails_with_its_line() -> None:
    for check in ("", "fields"):
        run = once("x = 1\nif x\n    y", check=check)
        assert (run.kind, run.result.status, run.line) == ("failed", Status.SYNTAX_ERROR, 2)


@pytest.mark.parametrize("code", ["open('/etc/hostname')", "input()", "missing_name"])
def test_the_hints_for_a_program_do_not_mention_data(code: str) -> None:
    assert "data" not in once(code).problem


def test_an_error_names_the_line_of_the_program() -> None:
    run = once("def inner(x):\n    return x['missing']\ninner({})")
    assert (run.kind, run.line, run.source) == ("failed", 2, "return x['missing']")


def test_the_check_runs_in_the_first_run_only() -> None:
    stubs = [{"name": "get", "keywords": {}, "others": [], "needs_body": False, "result": None, "truths": []}]
    wrong = "get(n=1)"
    assert once(wrong, check="fields", stubs=stubs, names=["get"]).kind == "refused"
    assert once(wrong, stubs=stubs, names=["get"]).kind == "calls"


def test_the_library_is_there() -> None:
    code = (
        "a = get()\nprint(len(rows(a)), field(a, 'Total', 'total'), one(a, 'beta')['id'], number('1.5k'), "
        "table('x,y\\n1,2'))"
    )
    answer = {"total": 2, "items": [{"id": 1, "name": "alpha"}, {"id": 2, "name": "beta"}]}
    assert Host({"get": lambda: answer}).play(code).result.output == "2 2 2 1500 [{'x': '1', 'y': '2'}]\n"


def test_one_stops_the_program_with_the_candidates() -> None:
    run = Host({"get": lambda: [{"id": 1, "name": "alpha"}, {"id": 2, "name": "beta"}]}).play("one(get(), 'gamma')")
    assert run.kind == "stopped"
    assert "alpha (id 1), beta (id 2)" in run.text


# Runs that are alike

CLOCKED = {
    "time": "import time",
    "time.monotonic": "import time",
    "time.thread_time": "import time",
    "time.process_time_ns": "import time",
    "timeit.default_timer": "import timeit",
    "os.getpid": "import os",
    "os.getppid": "import os",
    "os.times": "import os",
    "random.random": "import random",
    "random.Random().random": "import random",
    "random.SystemRandom().random": "import random",
    "secrets.token_hex": "import secrets",
    "uuid.uuid1": "import uuid",
    "uuid.uuid4": "import uuid",
    "uuid.getnode": "import uuid",
    "email.utils.localtime": "import email.utils",
    "datetime.datetime.now": "import datetime",
    "datetime.date.today": "import datetime",
    "time.ctime": "import time",
    "time.localtime": "import time",
}
VALUES = {
    **{name: f"{imports}\nget(n=str({name if '.' in name else 'time.time'}()))" for name, imports in CLOCKED.items()},
    "an aware now": "from datetime import *\nget(n=str(datetime.now(timezone.utc)))",
    "a time zone": "import zoneinfo, datetime\nget(n=str(datetime.datetime.now(zoneinfo.ZoneInfo('Asia/Tokyo'))))",
    "os.urandom": "import os\nget(n=os.urandom(8))",
    "the hash of a text": "get(n=hash('x'))",
    "the order of a set": "get(n=list({'a', 'b', 'c', 'd'}))",
    "the locale": "import locale\nget(n=str(locale.getlocale()))",
    "a clock by its number": "import time\nget(n=time.clock_gettime(time.CLOCK_REALTIME))",
    "garbage": "import gc\nget(n=gc.collect() * 0)",
    "strftime": "import time\nget(n=time.strftime('%Y-%m-%d %H:%M:%S'))",
}


@pytest.mark.cpython
@pytest.mark.parametrize("name", VALUES)
def test_a_value_is_the_same_in_every_run(name: str) -> None:
    first, second = once(VALUES[name]), once(VALUES[name])
    assert (first.kind, second.kind) == ("calls", "calls"), first.problem
    assert first.calls[0].digest == second.calls[0].digest


@pytest.mark.cpython
@pytest.mark.parametrize(
    "expression",
    [
        "id(object())",
        "repr(object())",
        "hash(object())",
        "__import__('_random').Random().random()",
        "__import__('threading').get_native_id()",
        "__import__('threading').get_ident()",
    ],
)
def test_what_differs_from_run_to_run_is_detected(expression: str) -> None:
    code = f"import threading\nprint(get(n=str({expression})))"
    [call] = once(code).calls
    for _ in range(4):  # an address may be the same by chance
        run = once(code, entry(call, 1))
        if "other arguments" in run.problem:
            break
        assert run.kind == "finished"
    else:
        assert once(code).calls[0].digest == call.digest


@pytest.mark.cpython
def test_sleep_moves_the_clock_without_waiting() -> None:
    run = once("import time, datetime\ntime.sleep(3600)\nprint(time.time(), datetime.datetime.now())")
    assert run.result.output == f"{CLOCK + 3600} 2023-11-14 23:13:20\n"
    assert run.result.elapsed_ms < 20_000


# Dry runs

USES = [
    "print(x)",
    "x['id']",
    "x.id",
    "x == 1",
    "x or {}",
    "not x",
    "isinstance(x, dict)",
    "x.__class__",
    "len(x)",
    "list(x)",
    "x + 1",
    "1 + x",
    "x // 2",
    "x ** 2",
    "-x",
    "f'{x}'",
    "{x: 1}",
    "1 in x",
    "del x['id']",
    "x[0] = 1",
    "x.id = 1",
    "with x: pass",
    "get(n=x)",
    "get(n=[{'a': (x,)}])",
    "import json; json.dumps({'a': x})",
    "import copy; copy.deepcopy(x)",
    "round(x)",
    "match x:\n    case dict(): pass",
    "rows(x)",
]


@pytest.mark.parametrize("use", USES)
def test_any_use_of_an_answer_that_a_dry_run_lacks_ends_it(use: str) -> None:
    [call] = once("x = put(n=1)").calls
    run = once(f"x = put(n=1)\n{use}", Entry(call.position, "k", call.digest, "held"))
    assert (run.kind, run.function) == ("unknown", "put"), run.problem
    assert run.line in (2, 3)


@pytest.mark.cpython
def test_a_dry_run_goes_on_with_what_needs_no_answer() -> None:
    code = "x = put(n=1)\ny = put(n=2)\ngather(x, lambda: y)\nprint('held')"
    calls = [once("put(n=1)").calls[0], once("put(n=2)").calls[0]]
    held = [Entry(str(index), f"k{index}", call.digest, "held") for index, call in enumerate(calls)]
    assert once(code, *held).result.output == "held\n"


def test_reads_of_other_branches_are_made_before_a_dry_run_ends() -> None:
    [call] = once("put(n=1)").calls
    held = Entry("0", "k", call.digest, "held")
    run = once("x = put(n=1)\ngather(lambda: x['id'], get(n=2))", held)
    assert [call.function for call in run.calls] == ["get"]


# Hostile programs


@pytest.mark.cpython
@pytest.mark.parametrize(
    "catching",
    [
        "try:\n        put(n=n)\n    except BaseException:\n        pass",
        "try:\n        put(n=n)\n    except:\n        return 1",
        "try:\n        put(n=n)\n    except BaseException:\n        raise ValueError('other') from None",
        "try:\n        put(n=n)\n    finally:\n        return 1",
        "import contextlib\n    with contextlib.suppress(BaseException):\n        put(n=n)",
        "class C:\n        def __del__(self): put(n=n)\n    C()",
        "class C: pass\n    import weakref\n    c = C()\n    weakref.finalize(c, put, n=n)\n    del c",
    ],
)
def test_a_branch_that_swallows_the_signal_is_an_error_with_its_line(catching: str) -> None:
    run = once(f"def branch(n):\n    {catching}\nprint(gather(branch(1), branch(2)))")
    assert run.kind == "failed"
    assert "the signal that a call waits" in run.problem
    assert run.problem.startswith("Line ")


def test_a_finally_clause_asks_for_nothing_while_its_branch_waits() -> None:
    host = Host({"get": lambda n: n})
    run = host.play(
        "def branch(n):\n    try:\n        return get(n=n)\n    finally:\n        get(n=n + 10)\n"
        "print(gather(branch(1), branch(2)))"
    )
    assert run.result.output == "[1, 2]\n"
    assert host.batches == [2, 2]


def test_catching_everything_outside_of_gather_does_not_keep_a_program_going() -> None:
    run = once("try:\n    get(n=1)\nexcept BaseException:\n    pass\nfinally:\n    get(n=2)\nprint('went on')")
    assert [call.keywords for call in run.calls] == [{"n": 1}]
    assert run.result.output == ""


@pytest.mark.cpython
@pytest.mark.parametrize(
    "code",
    [
        "import sys\nsys.settrace(lambda *_: get(n=1))\ndef f(): pass\nf()",
        "import sys\nsys.setprofile(lambda *_: get(n=1))\nlen('')",
        "class C:\n    def __del__(self): get(n=1)\nC()",
        "exec('get(n=1)')",
        "eval('get(n=1)')",
        "exec(compile('get(n=1)', 'elsewhere', 'exec'))",
        "exec(compile('\\n' * 10**6 + 'get(n=1)', '<code>', 'exec'))",
        "def g():\n    yield get(n=1)\nlist(g())",
        "def f(d):\n    return get(n=1) if not d else f(d - 1)\nf(500)",
        "class M(type):\n    def __call__(cls): return get(n=1)\nclass C(metaclass=M): pass\nC()",
        "async def f(): return get(n=1)\ntry:\n    f().send(None)\nexcept StopIteration:\n    pass",
        "sorted([2, 1], key=lambda n: get(n=1))",
        "import json\njson.dumps = json.loads = None\nget(n=1)",
        "import os\nos._exit = lambda code: None\nget(n=1)",
        "real = get\nget = lambda **k: real(n=1)\nget(n=2)",
    ],
)
def test_a_call_from_an_odd_place_is_a_call_like_any(code: str) -> None:
    run = once(code)
    assert run.kind == "calls", run.problem
    assert [(call.position, call.function, dict(call.keywords)) for call in run.calls] == [("0", "get", {"n": 1})]
    assert run.calls[0].line <= code.count("\n") + 1


@pytest.mark.cpython
@pytest.mark.parametrize(
    "code",
    [
        "import atexit\natexit.register(lambda: get(n=1))\nprint('end')",
        "import threading as t\ntry:\n    t.Thread(target=get).start()\nexcept RuntimeError:\n    print('end')",
    ],
)
def test_a_call_after_the_end_or_in_a_thread_is_never_made(code: str) -> None:
    run = once(code)
    assert (run.kind, run.result.output) == ("finished", "end\n")


@pytest.mark.cpython
def test_a_program_that_ends_its_process_has_crashed() -> None:
    for code in (
        "import builtins\nbuiltins.len = builtins.isinstance = None\nget(n=1)",
        "import os\nos._exit(0)",
        "get(n=1) if 0 else __import__('os')._exit(3)",
        "import os\nos.close(1); os._exit(0)",
    ):
        run = once(code)
        assert (run.kind, run.result.status) == ("failed", Status.CRASHED)


def test_an_endless_loop_of_calls_ends_at_the_budget() -> None:
    run = once("gather(*[lambda: get(n=1) for _ in range(10_000)])", most=20)
    assert run.kind == "failed"
    assert "Line 1: " in run.problem
    assert "more requests at once than the budget of this instruction leaves: 20" in run.problem


@pytest.mark.parametrize(
    ("code", "wall", "status"),
    [
        ("while True:\n    pass", 0.5, Status.TIMEOUT),
        ("while True:\n    print('x' * 10**6)", 30.0, Status.OUTPUT_LIMIT),
        ("x = [0] * 10**11", 30.0, Status.MEMORY_LIMIT),
    ],
)
def test_time_output_and_memory_are_limited(code: str, wall: float, status: Status) -> None:
    run = once(code, limits=Limits(wall=wall, cpu=30.0))
    assert (run.kind, run.result.status) == ("failed", status)


def test_arguments_that_are_too_large_together_are_refused_with_the_line() -> None:
    run = once("x = 'x' * 450_000\ngather(get(n=x), get(n=x))")
    assert run.kind == "failed"
    assert run.problem.startswith("Line 2: ")
    assert "too large together" in run.problem


def test_gather_that_is_nested_too_deeply_is_an_error() -> None:
    run = once("def deeper():\n    return gather(lambda: deeper())\ndeeper()")
    assert run.result.error is not None
    assert run.result.error.message == "gather is nested too deeply"


def test_answers_that_are_too_large_together_say_how_large() -> None:
    [call] = once("get(n=1)").calls
    given = Entry(call.position, "k", call.digest, "answer", 200, {}, "text", b"x" * 2_000_000)
    run = once("get(n=1)", given, limits=Limits(wall=10, cpu=10, data=1_000_000))
    assert run.kind == "failed"
    assert run.problem.startswith("The answers of the program's calls have 2 MB together, and a program can hold")


@pytest.mark.cpython
def test_an_exception_with_hostile_methods_ends_the_program_like_any() -> None:
    run = once(
        "class E(Exception):\n    __str__ = lambda s: exit()\n    __class__ = property(lambda s: 1 / 0)\nraise E"
    )
    assert (run.kind, run.result.status, run.line) == ("failed", Status.RUNTIME_ERROR, 4)


@pytest.mark.cpython
def test_a_generator_that_waits_in_one_branch_and_goes_on_in_another_gives_no_stale_answer() -> None:
    host = Host({"get": lambda n: n})
    run = host.play(
        "def g():\n    for n in range(4):\n        yield get(n=n)\nrunning = g()\n"
        "print(gather(lambda: next(running), lambda: next(running, 'none')))"
    )
    assert run.result.output == "[0, 1]\n"
    assert sorted(host.log) == [("0.0.0", "get", [{"n": 0}]), ("0.1.0", "get", [{"n": 1}])]


# Forged reports


@pytest.mark.cpython
@pytest.mark.parametrize(
    "payload",
    [
        "b'no json'",
        "b'[1, 2]'",
        "b'[' * 100_000",
        "{}",
        "{'calls': []}",
        "{'calls': {}}",
        "{'calls': [1]}",
        "{'calls': [call(position='')]}",
        "{'calls': [call(position='x')]}",
        "{'calls': [call(position=5)]}",
        "{'calls': [call(position='1.2')]}",
        "{'calls': [call(position='-1')]}",
        "{'calls': [call(position='٣')]}",
        "{'calls': [call(position='0\\n')]}",
        "{'calls': [call(position='0' + '.0.0' * 100)]}",
        "{'calls': [call(), call()]}",
        "{'calls': [call(function='nothing')]}",
        "{'calls': [call(function='__class__')]}",
        "{'calls': [call(function=['get'])]}",
        "{'calls': [call(arguments=None)]}",
        "{'calls': [call(arguments=[{}, []])]}",
        "{'calls': [call(arguments=[[], {}, 1])]}",
        "{'calls': [call(arguments=[[float('nan')], {}])]}",
        "{'calls': [call(arguments=[[float('inf')], {}])]}",
        "raw(b'1e999')",
        "raw(b'9' * 5000)",
        "raw(b'[' * 200 + b']' * 200)",
        "{'calls': [call(arguments=[['x' * 600_000], {}])]}",
        "{'calls': [call(arguments=[[1] * 600, {}])]}",
        "{'calls': [call()], 'taken': []}",
        "{'calls': [call()], 'taken': {'1': 5}}",
        "{'calls': [call()], 'taken': {'1': 'a key that was not offered'}}",
    ],
)
def test_a_report_that_no_driver_writes_ends_the_program(payload: str) -> None:
    run = forged(payload)
    assert (run.kind, run.calls) == ("failed", ())
    assert run.problem.startswith("The program ended in a way that cannot be read: ")


@pytest.mark.cpython
def test_a_forged_report_can_only_ask_for_calls() -> None:
    run = forged("{'calls': [call(position='7', line=3, source='approve me', digest='0' * 64, extra=1)]}")
    [call] = run.calls
    assert call.digest == digest_of(call_text("get", [], {"n": 1}))
    assert "approve" not in call.source
    assert call.source == FORGE.split("\n")[2]


@pytest.mark.cpython
@pytest.mark.parametrize("line", ["-1", "10**9", "10**30", "True", "'1'", "None", "1.5", "[1]"])
def test_a_forged_line_is_no_line(line: str) -> None:
    [call] = forged(f"{{'calls': [call(line={line})]}}").calls
    assert (call.line, call.source) == (0, "")


def test_a_source_line_shows_what_is_invisible() -> None:
    run = once("x = 1\nget(n='\u202e\u2066\u200b \x0c')  # \u2028 \ue000")
    assert run.calls[0].source == "get(n='\\u202e\\u2066\\u200b \\x0c')  # \\u2028 \\ue000"


def test_the_source_line_is_that_of_the_code_without_markdown() -> None:
    run = once("```python\nx = 1\nget(n=x)\n```")
    assert (run.calls[0].line, run.calls[0].source) == (2, "get(n=x)")


@pytest.mark.cpython
def test_a_report_cannot_ask_for_more_calls_than_the_budget_leaves() -> None:
    run = forged("{'calls': [call(position=str(n)) for n in range(5000)]}", most=10)
    assert (run.kind, run.calls) == ("failed", ())
    assert "more requests at once than the budget of this instruction leaves: 10" in run.problem


def test_a_report_cannot_ask_again_at_an_answered_position() -> None:
    [call] = once("get(n=1)").calls
    run = forged("{'calls': [call(position='0', arguments=[[], {'n': 2}])]}", entry(call, 1))
    assert (run.kind, run.calls) == ("failed", ())


@pytest.mark.parametrize(
    "taken",
    [
        "{'5': 'own'}",
        "{'5': 'free', '6': 'free'}",
        "{'0': 'free'}",
        "{'not a position': 'free'}",
        "{'9': 'free'}",
    ],
)
def test_a_report_cannot_take_what_was_not_offered_or_move_an_answer(taken: str) -> None:
    [call] = once("get(n=1)").calls
    entries = [entry(call, 1, key="own"), entry(call, 2, key="free", position="")]
    run = forged(f"{{'calls': [call(position='9')], 'taken': {taken}}}", *entries)
    assert (run.kind, dict(run.taken)) == ("failed", {})


@pytest.mark.parametrize("kind", ["stopped", "unknown", "refused", "diverged", "caught", "many", "large", "done"])
@pytest.mark.parametrize(
    "payload", ["{}", "[]", "b'x'", "{'taken': {'0': 'x'}}", "{'text': 5, 'problems': 7, 'line': {}}"]
)
def test_forged_ends_are_ends(kind: str, payload: str) -> None:
    run = forged(payload, kind=kind)
    assert (run.calls, dict(run.taken)) == ((), {})
    assert run.kind in ("failed", "stopped", "unknown")


@pytest.mark.cpython
def test_a_second_record_is_a_crash() -> None:
    run = once(FORGE.replace("    os._exit(0)\n", "") + "forge(b'calls', {'calls': [call()]})\nprint(1)")
    assert (run.kind, run.result.status) == ("failed", Status.CRASHED)


@pytest.mark.parametrize(
    "change",
    [
        "driver._log._placed['0']['digest'] = '0' * 64",
        "driver._most = 10**9",
        "driver._branch.prefix = 'x'",
        "driver._branch.count = -5",
        "driver._branch = driver._top = None",
        "driver._waiting = [1]",
        "driver._leave = print",
        "driver.__class__ = dict",
        "get.__closure__[0].cell_contents.__dict__.clear()",
        "sys.modules['restgpt.tools.sandbox.guest.replay'].call_text = lambda *a: '[0, [], {\"n\": 0}]'",
        "sys.modules['restgpt.tools.sandbox.guest.replay'].digest_of = lambda text: '0' * 64",
    ],
)
def test_a_program_that_changes_its_driver_deceives_only_itself(change: str) -> None:
    [call] = once("get(n=1)").calls
    code = f"""import sys
driver = gather.__self__
try:
    {change}
except TypeError:
    pass
print(get(n=1), get(n=2))"""
    run = once(code, entry(call, 1))
    for asked in run.calls:
        assert asked.digest == digest_of(call_text(asked.function, asked.positional, asked.keywords))
        assert asked.position != "0"
    assert run.kind in ("calls", "failed", "finished")
