"""Guards programs: their positions and answers, their ends, and what a report of a hostile program can claim."""

import ast
import json
import random
from typing import Any

import pytest
from programrun import Failure, Host, entry, once

from restgpt.tools.sandbox.result import Entry, Limits, Status

# Positions and answers


def test_calls_in_a_row_have_the_positions_of_their_order() -> None:
    host = Host({"get": lambda n: n * 2})
    assert host.play("a = get(n=1)\nb = get(n=a)\nprint(get(n=b))").result.output == "8\n"
    assert [position for position, *_ in host.log] == ["0", "1", "2"]


def test_calls_in_gather_have_the_numbers_of_their_order() -> None:
    host = Host({"get": lambda n: n})
    run = host.play(
        "def both(n):\n    first = get(n=n)\n    return gather(get(n=first + 1), get(n=first + 2))\n"
        "get(n=0)\nprint(gather(both(10), get(n=5), both(20)), get(n=7))"
    )
    assert run.result.output == "[[11, 12], 5, [21, 22]] 7\n"
    assert [position for position, *_ in host.log] == list("012345678")
    assert [arguments[0]["n"] for *_, arguments in host.log] == [0, 10, 5, 20, 11, 12, 21, 22, 7]
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


def test_an_error_in_gather_is_raised_after_all_branches_were_made_or_returned_among_the_results() -> None:
    host = Host({"get": failing})
    caught = "try:\n    gather(get(n=1), get(n=2), get(n=3))\nexcept ApiError as e:\n    print(e, e.status, e.body)"
    run = host.play(caught)
    assert run.result.output == "get answered 404: {\"error\": \"no 1\"} 404 {'error': 'no 1'}\n"
    assert host.batches == [3]
    returned = "for x in gather(get(n=1), get(n=2), return_exceptions=True):\n    print(type(x).__name__, x)"
    assert host.play(returned).result.output == 'ApiError get answered 404: {"error": "no 1"}\nint 2\n'


@pytest.mark.parametrize("body", [None, ""])
def test_an_error_without_body_says_its_status_only(body: Any) -> None:
    def fail() -> None:
        raise Failure(500, body)

    error = Host({"get": fail}).play("get()").result.error
    assert error is not None
    assert error.message == "get answered 500"


CAUGHT = "try:\n    get()\nexcept {} as e:\n    print({})"
DEPTH = "value, n = get(), 0\nwhile isinstance(value, list):\n    value, n = value[0], n + 1\nprint(n, value)"
STATUS = "print(status())\ntry:\n    get()\nexcept ApiError:\n    print(status())"


@pytest.mark.parametrize(
    ("answer", "code", "printed"),
    [
        (("error", 500, {}, "binary", b"\0\xff"), CAUGHT.format("ApiError", "e.body"), "b'\\x00\\xff'"),
        (("answer", 200, {}, "json", b'{"cut": '), "print(repr(get()))", "'{\"cut\": '"),
        *((("answer", 200, {}, "json", b"[" * n + b"1.5" + b"]" * n), DEPTH, f"{n} 1.5") for n in (50, 150, 220)),
        (("error", 404, {}, "empty"), STATUS, "0\n404"),
        (("answer", 200, {"small": "1", "big": "x" * 10**6}, "empty"), "get()\nprint(headers())", "{'small': '1'}"),
        (("rejected",), CAUGHT.format("Rejected", "e"), "get was not sent: not on Sundays"),
    ],
    ids=["binary", "no JSON", "deep", "deeper", "deepest", "status", "headers of megabytes", "rejected"],
)
def test_an_answer_is_what_its_entry_says(answer: tuple[Any, ...], code: str, printed: str) -> None:
    [call] = once("get()").calls
    given = Entry(call.position, "k", call.digest, *answer, note="not on Sundays" if answer == ("rejected",) else "")
    assert once(code, given).result.output == f"{printed}\n"
    assert once(code, given, check="names", names=["get"]).result.output == f"{printed}\n"


def test_a_function_of_the_api_named_status_is_called() -> None:
    assert once("print(status())", functions=["status"]).kind == "calls"


@pytest.mark.parametrize("answer", ["{}", "[1]", "'text'", "[n]"])
def test_equal_answers_have_their_own_headers(answer: str) -> None:
    host = Host({"get": lambda n: [n] if answer == "[n]" else ast.literal_eval(answer)})
    run = host.play("a, b = get(n=1), get(n=2)\nprint(*[headers(*x)['x-position'] for x in ([a], [b], [])])")
    assert run.result.output == "0 1 1\n"


def test_where_two_calls_gave_one_value_its_headers_are_not_guessed() -> None:
    host = Host({"get": lambda n: None})
    run = host.play("a = get(n=1)\nprint(headers(a)['x-position'], headers()['x-position'])\nb = get(n=2)\nheaders(a)")
    assert run.result.output == "0 0\n"
    assert "the calls on lines 1, 3 gave one value: ask for headers() right after each of them" in run.problem
    part = Host({"get": lambda: {"a": {}}}).play("headers(get()['a'])")
    assert "takes the response to a call as it came" in part.problem


def test_errors_with_one_message_have_their_own_status_and_body() -> None:
    def fail(n: int) -> None:
        raise Failure(410, {"message": "moved " * 100, "to": n})

    code = "found = []\nfor n in (1, 2):\n    try: get(n=n)\n    except ApiError as e: found.append(e)\n"
    run = Host({"get": fail}).play(f"{code}print([e.body['to'] for e in found], str(found[1])[-8:])")
    assert run.result.output == "[1, 2] (call 2)\n"


@pytest.mark.parametrize("name", ["json", "re", "list"])
def test_a_function_and_a_module_of_one_name_do_not_hide_each_other(name: str) -> None:
    host = Host({name: lambda: [5]})
    assert host.play(f"found = {name}()\nprint(found)").result.output == "[5]\n"
    assert Host({name: lambda: 1}).play("import json, re\nprint(json.dumps(re.findall('a', 'a')))").kind == "finished"


def test_an_error_of_python_is_no_rejection() -> None:
    code = "import re\ntry:\n    re.compile('(')\nexcept Rejected:\n    print('rejected')\n"
    assert once(f"{code}except re.error:\n    print('wrong')").result.output == "wrong\n"


# Answers of earlier programs


def test_the_kth_call_takes_the_kth_earlier_answer_of_the_same_call_and_of_no_other() -> None:
    [call] = once("get(n=1)").calls
    free = [entry(call, value, key=f"k{value}", position="") for value in (10, 20)]
    run = once("print(get(n=1), get(n=1), get(n=1))", *free)
    assert (run.kind, run.taken, [call.position for call in run.calls]) == ("calls", {"0": "k10", "1": "k20"}, ["2"])
    run = once("get(n=2)", *free)
    assert (run.kind, dict(run.taken)) == ("calls", {})


def test_an_answer_that_was_taken_stays_at_its_place() -> None:
    [call] = once("get(n=1)").calls
    placed, free = entry(call, "second", key="b", position="1"), entry(call, "first", key="a", position="")
    assert once("print(get(n=1), get(n=1))", free, placed).result.output == "first second\n"


def test_other_arguments_at_an_answered_position_are_a_divergence() -> None:
    [call] = once("get(n=1)").calls
    run = once("x = 2\nget(n=x)", entry(call, 1))
    assert run.kind == "failed"
    assert run.problem.startswith("Line 2: get(n=x)\nThe call of get has other arguments than when the program ran")


# Arguments


@pytest.mark.parametrize(
    ("argument", "sent"),
    [
        ("b'\\x00\\x01'", {"@bytes": "AAE="}),
        ("datetime.date(2026, 1, 2)", "2026-01-02"),
        ("datetime.datetime(2026, 1, 2, 3)", "2026-01-02T03:00:00"),
        ("decimal.Decimal('1.50')", 1.5),
        ("decimal.Decimal(7)", 7),
        ("{'b', 'a'}", ["a", "b"]),
        ("(1, 2)", [1, 2]),
        ("[(x for x in 'ab'), b'x']", [["a", "b"], {"@bytes": "eA=="}]),
        ("[range(2), {'a': 1}.keys(), map(str, [1])]", [[0, 1], ["a"], ["1"]]),
        ("{10: 1, 9: 2}", {"10": 1, "9": 2}),
        ("{'é': 'ü'}", {"é": "ü"}),
        ("'\\ud83d\\ude00'", "\U0001f600"),
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


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("float('nan')", "get: an argument is no JSON value: Out of range float values"),
        ("[1e999]", "get: an argument is no JSON value: Out of range float values"),
        ("{1: 3, '1': 4}", "get: an argument is no JSON value: two keys of an object are one text"),
        ("decimal.Decimal('0.12345678901234567890')", "get: an argument is no JSON value: 0.12345678901234567890 has"),
        ("10**5000", "get: an argument is no JSON value: Exceeds the limit"),
        ("lambda: 1", "an argument is no JSON value: function cannot be sent"),
        ("deep(80)", "get: an argument is nested more than 60 levels deep"),
        ("'x' * 600_000", "get: the arguments have 6000"),
        ("decimal.Decimal('Infinity')", "get: an argument is no JSON value"),
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


# Ends of a program


def test_an_end_in_a_branch_comes_after_the_calls_of_the_branches_before_it() -> None:
    host = Host({"put": lambda n: n})
    run = host.play("gather(put(n=1), stop('enough', [1]), put(n=2))")
    assert (run.kind, run.text, run.value) == ("stopped", "enough", "[1]")
    assert [position for position, *_ in host.log] == ["0"]
    run = host.play("def leave():\n    print('bye')\n    exit()\ngather(put(n=1), leave(), put(n=2))")
    assert (run.kind, run.result.output) == ("finished", "bye\n")
    assert [position for position, *_ in host.log] == ["0", "0"]


def test_stop_ends_the_program_with_a_sentence_and_a_value() -> None:
    run = once("print('before')\nstop('which one?', {'a': 'x' * 9999})\nprint('never')")
    assert (run.kind, run.text, run.line) == ("stopped", "which one?", 2)
    assert run.value.endswith("x… (2216 characters more: `repr({'a': 'x' * 9999})[7792:]` is the rest)")
    assert run.result.output == "before\n"


def test_a_sentence_of_stop_can_be_stored_and_printed() -> None:
    run = once("stop('a\\x1b[2J\\ud800b', '\\x07')")
    assert "\x1b" not in run.text
    run.text.encode()


def test_a_program_that_prints_nothing_is_told_to_print_unless_it_ends_with_exit() -> None:
    run = once("x = 1")
    assert (run.kind, run.result.status) == ("failed", Status.NO_OUTPUT)
    assert "printed nothing" in run.problem
    assert once("print('done')\nexit()").kind == "finished"


def test_an_error_names_the_line_of_the_program() -> None:
    for check in ("", "fields"):
        run = once("x = 1\nif x\n    y", check=check)
        assert (run.kind, run.result.status, run.line) == ("failed", Status.SYNTAX_ERROR, 2)
    run = once("def inner(x):\n    return x['missing']\ninner({})")
    assert (run.kind, run.line, run.source) == ("failed", 2, "return x['missing']")


@pytest.mark.parametrize("code", ["open('/etc/hostname')", "input()", "missing_name"])
def test_the_hints_for_a_program_do_not_mention_data(code: str) -> None:
    assert "data" not in once(code).problem


def test_the_check_runs_in_the_first_run_only() -> None:
    stubs = [{"name": "get", "keywords": {}, "others": [], "needs_body": False, "result": None, "truths": []}]
    wrong = "get(n=1)"
    assert once(wrong, check="fields", stubs=stubs, names=["get"]).kind == "refused"
    assert once(wrong, stubs=stubs, names=["get"]).kind == "calls"


def test_the_library_is_there() -> None:
    answer = {"total": 2, "items": [{"id": 1, "name": "alpha"}, {"id": 2, "name": "beta"}]}
    code = "len(rows(a)), field(a, 'Total', 'total'), one(a, 'beta')['id'], number('1.5k'), table('x,y\\n1,2')"
    run = Host({"get": lambda: answer}).play(f"a = get()\nprint({code})\none(a, 'gamma')")
    assert run.result.output == "2 2 2 1500 [{'x': '1', 'y': '2'}]\n"
    assert run.kind == "stopped"
    assert "alpha (id 1), beta (id 2)" in run.text


# Runs that are alike

VALUES = {
    "time.time": "import time\nget(n=time.time())",
    "time.monotonic": "import time\nget(n=time.monotonic())",
    "random.random": "import random\nget(n=random.random())",
    "random.Random": "import random\nget(n=random.Random().random())",
    "datetime.now": "import datetime\nget(n=str(datetime.datetime.now()))",
    "an aware now": "import datetime\nget(n=str(datetime.datetime.now(datetime.timezone.utc)))",
    "date.today": "import datetime\nget(n=str(datetime.date.today()))",
    "the hash of a text": "get(n=hash('x'))",
    "the order of a set": "get(n=list({'a', 'b', 'c', 'd'}))",
    "strftime": "import time\nget(n=time.strftime('%Y-%m-%d %H:%M:%S'))",
}


@pytest.mark.parametrize("name", VALUES)
def test_a_value_is_the_same_in_every_run(name: str) -> None:
    first, second = once(VALUES[name]), once(VALUES[name])
    assert (first.kind, second.kind) == ("calls", "calls"), first.problem
    assert first.calls[0].digest == second.calls[0].digest


# Dry runs

USES = [
    *("print(x)", "x['id']", "x.id", "x == 1", "x or {}", "not x", "isinstance(x, dict)", "x.__class__", "len(x)"),
    *("list(x)", "x + 1", "1 + x", "x // 2", "x ** 2", "-x", "f'{x}'", "{x: 1}", "1 in x", "del x['id']", "round(x)"),
    *("x[0] = 1", "x.id = 1", "with x: pass", "get(n=x)", "get(n=[{'a': (x,)}])", "import json; json.dumps({'a': x})"),
    *("import copy; copy.deepcopy(x)", "match x:\n    case dict(): pass", "rows(x)"),
]


@pytest.mark.parametrize("use", USES)
def test_any_use_of_an_answer_that_a_dry_run_lacks_ends_it(use: str) -> None:
    [call] = once("x = put(n=1)").calls
    run = once(f"x = put(n=1)\n{use}", Entry(call.position, "k", call.digest, "held"))
    assert (run.kind, run.function) == ("unknown", "put"), run.problem
    assert run.line in (2, 3)


def test_reads_of_other_branches_are_made_before_a_dry_run_ends() -> None:
    [call] = once("put(n=1)").calls
    held = Entry("0", "k", call.digest, "held")
    run = once("x = put(n=1)\ngather(lambda: x['id'], get(n=2))", held)
    assert [call.function for call in run.calls] == ["get"]


# Hostile programs


def test_a_finally_clause_asks_for_nothing_while_its_branch_waits() -> None:
    host = Host({"get": lambda n: n})
    branch = "def branch(n):\n    try:\n        return get(n=n)\n    finally:\n        get(n=n + 10)\n"
    assert host.play(f"{branch}print(gather(branch(1), branch(2)))").result.output == "[1, 2]\n"
    assert host.batches == [2, 2]


def test_catching_everything_outside_of_gather_does_not_keep_a_program_going() -> None:
    run = once("try:\n    get(n=1)\nexcept BaseException:\n    pass\nfinally:\n    get(n=2)\nprint('went on')")
    assert [call.keywords for call in run.calls] == [{"n": 1}]
    assert run.result.output == ""


@pytest.mark.parametrize(
    ("code", "asks", "most"),
    [
        ("gather(*[lambda: get(n=1) for _ in range(10_000)])", 10_000, 20),
        ("gather(*[get(n=n) for n in range(3)], lambda: stop('enough'))", 3, 2),
    ],
)
def test_a_program_does_not_send_calls_beyond_the_budget(code: str, asks: int, most: int) -> None:
    run = once(code, most=most)
    assert run.kind == "budget"
    assert "Line 1: " in run.problem
    assert f"asks for {asks} requests at once, but the budget of this instruction leaves {most}." in run.problem


def test_calls_with_answers_do_not_count_among_those_that_a_gather_asks_for() -> None:
    code = "get(n=0)\nprint(gather(*[get(n=n) for n in range(3)], lambda: get(n=9), get(n=get(n=8))))"
    host = Host({"get": lambda n: n})
    told = host.play(code, most=4).problem
    assert "asks for 5 requests at once, but the budget of this instruction leaves 4." in told
    assert host.batches == [1]
    assert Host({"get": lambda n: n}).play(code, most=5).result.output == "[0, 1, 2, 9, 8]\n"


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
    run = once("get(n=1)", given, limits=Limits(wall=10, data=1_000_000))
    assert run.kind == "failed"
    assert run.problem.startswith("The responses to the program's calls have 2 MB together, and a program can hold")


# Forged reports


@pytest.mark.parametrize(
    ("code", "line", "source"),
    [
        (
            "x = 1\nget(n='\u202e\u2066\u200b \x0c')  # \u2028 \ue000",
            2,
            "get(n='\\u202e\\u2066\\u200b \\x0c')  # \\u2028 \\ue000",
        ),
        ("```python\nx = 1\nget(n=x)\n```", 2, "get(n=x)"),
    ],
)
def test_a_source_line_shows_what_is_invisible(code: str, line: int, source: str) -> None:
    [call] = once(code).calls
    assert (call.line, call.source) == (line, source)
