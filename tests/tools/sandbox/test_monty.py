"""Guards programs in Monty where they differ from those of CPython: words, lines, bounds."""

import contextlib
import os
import subprocess
import sys
from queue import Queue
from threading import Thread
from typing import Any

import pytest
from programrun import PATIENT, Failure, Host, once

from restgpt.tools.sandbox.result import Entry, Limits, ProgramRun, Status
from restgpt.tools.sandbox.runner import run_python

pytest.importorskip("pydantic_monty")

SHORT = Limits(wall=0.3)


def told(code: str, **options: Any) -> str:
    return once(code, **options).problem


@pytest.mark.parametrize(
    ("code", "way"),
    [
        ("l = [1]\ndel l[:1]", "Line 2: del is not here: d.pop(k) takes a key away"),
        ("class A:\n    def __bool__(self): return False", "Line 2: __bool__ is not here: write an ordinary method"),
        ("class A(Exception): pass", "Line 1: a class cannot inherit here: write it without a base"),
        ("class A:\n    @property\n    def x(self): pass", "@property is not here: write an ordinary method"),
        ("import enum", "enum is not here: use plain texts"),
        ("from urllib.parse import unwrap", "urllib.parse.unwrap is not here: urllib.parse has parse_qs, "),
        ("import heapq as h\nh.heapify([1])", "Line 2: heapq.heapify is not here: heapq has nlargest, nsmallest"),
        ("import re\np = 'a b'\nre.compile(p, re.X)", "re.VERBOSE is here only in a call with its pattern"),
        ("import re\nre.compile('a{1, 2}', re.X)", "re.VERBOSE is here only in a call with its pattern"),
        ("import html\ndef f(html): return html\nhtml.escape('a')", "Line 1: html is a module here: give your other"),
        ("import zoneinfo", "zoneinfo is not here: a moment has a fixed offset here"),
        ("from collections import OrderedDict", "OrderedDict is not here: use dict"),
        ("for i, x in enumerate(get(n=n) for n in [1, 2]): break", "a generator makes all its calls at once here"),
        ("from string import Template", "string.Template is not here: string has ascii_letters, "),
        ("import string\nprint(string.__file__)", "string.__file__ is not here: string has ascii_letters, "),
        ("from pprint import pprint", "pprint is not here: print json.dumps(value, indent=1)"),
        ("print(any((m := get(n=n)) for n in [1, 2]), m)", "a generator makes all its calls at once here"),
        ("l = map(get, [1, 2])\nprint(next(l))", "a generator makes all its calls at once here"),
        ("for x in (get(n=n) for n in [1, 2]): break", "a generator makes all its calls at once here"),
        ("def f(n): return get(n=n)\nl = (f(n) for n in [1])\nprint(next(l))", "makes all its calls at once"),
    ],
)
@pytest.mark.parametrize("check", ["", "names"])
def test_what_monty_lacks_is_told_before_the_first_request_with_a_way_round_it(code: str, way: str, check: str) -> None:
    run = once(f"{code}\nget(n=1)", check=check, names=["get"])
    assert run.kind == "refused"
    assert way in run.problem


@pytest.mark.parametrize(
    ("code", "way"),
    [
        ("print(sorted([1], key=lambda n: get(n=n)))", "the API cannot be called here: call it in a loop first"),
        ("l = []\nf = l.append\nf(1)", "a method is no value here: write a lambda that calls it"),
        ("raise ValueError('a', 1)", "an error takes one text here"),
    ],
)
def test_what_monty_cannot_run_is_told_with_a_way_round_it(code: str, way: str) -> None:
    assert way in told(code)


def test_generators_that_are_used_up_or_call_nothing_are_as_in_python() -> None:
    code = (
        "def even(n): return n % 2 == 0\nprint(next((n for n in [1, 2] if even(n)), None), all(map(even, [2])))\n"
        "print(sum(get(n=n) for n in [1, 2]), [*map(get, [3])], ', '.join(str(get(n=n)) for n in [4, 5]))\n"
        "print(dict(zip('ab', (get(n=n) for n in [1, 2]))))"
    )
    assert Host({"get": lambda n: n}).play(code).result.output == "2 True\n3 [3] 4, 5\n{'a': 1, 'b': 2}\n"


@pytest.mark.parametrize(
    ("code", "printed", "asked"),
    [
        ("next(n for n in get(n=[1, 2]) if n > 1)", "2", [[1, 2]]),
        ("next(get(n=n) for n in [1, 2])", "1", [1]),
        ("next((n for n in itertools.count() if get(n=n) > 1), None)", "2", [0, 1, 2]),
        ("next((get(n=n) for n in []), 5)", "5", []),
        ("any(get(n=n) > 1 for n in [1, 2, 3])", "True", [1, 2]),
        ("all(get(n=n) < 2 for n in [1, 2, 3] if n)", "False", [1, 2]),
        ("any(map(get, [0, 1, 2])), all(map(get, [1])), any(get(n=n) for n in [])", "True True False", [0, 1, 1]),
    ],
)
def test_next_any_and_all_make_the_calls_that_python_makes(code: str, printed: str, asked: list[Any]) -> None:
    made: list[Any] = []
    host = Host({"get": lambda n: made.append(n) or n})
    assert host.play(f"import itertools\nprint({code})").result.output == f"{printed}\n"
    assert made == asked
    assert "StopIteration" in told("next(n for n in [])")


def test_errors_have_the_lines_and_the_text_of_the_code_as_it_was_written() -> None:
    code = "x = {\n    'a': next(n for n in [1]),  # a\n    'b': [\n        {}['c'],\n    ],\n}"
    run = once(code)
    assert (run.line, run.source) == (4, "{}['c'],")
    [call] = once("x = [\n    1,\n    get(n=2),\n]").calls
    assert (call.line, call.source) == (3, "get(n=2),")
    assert "_host" not in told("del {}['a']")


def test_the_object_that_an_error_is_about_is_described() -> None:
    wrong = told("for task in [{'title': 1}]:\n    print(task['titel'])")
    assert "Hint: `task` is a dict with the keys 'title'." in wrong
    assert "Hint" not in told("def f(): return {'a': get}\nf()['b']")


def test_names_of_a_program_are_its_own_and_a_function_of_the_api_hides_one_of_python() -> None:
    host = Host({"filter": lambda n: n, "list": lambda: [5]})
    assert host.play("print(filter(n=3), list(), [*map(str, [1])])").result.output == "3 [5] ['1']\n"
    code = (
        "plain = short = listed = ratio = None\nlist = max = str = type = sorted = 5\n"
        "found = one(get()['items'], 'ann')\nrows = rows([found])\nprint(field(rows[0], 'Name'))"
    )
    assert Host({"get": lambda: {"items": [{"name": "Ann"}]}}).play(code).result.output == "Ann\n"


def test_half_of_a_surrogate_pair_in_an_answer_is_kept_and_sent_as_it_is() -> None:
    def fail() -> None:
        raise Failure(500, {"a": "\ud83d"})

    host = Host({"get": lambda: ["\ud83d"], "put": fail})
    assert host.play("print(get())\ntry:\n    put()\nexcept ApiError as e:\n    print(e.body)").kind == "finished"
    assert run_python("print(data)", '["\\ud83d"]').output == "['\\ud83d']\n"
    host = Host({"get": lambda: ["a\ud83d"], "put": lambda text: text})
    assert host.play("text = get()[0]\nprint(put(text=text) == text, len(text))").result.output == "True 2\n"
    assert host.log[-1][2] == [{"text": "a\ud83d"}]


def test_code_over_data_has_it_whatever_it_is() -> None:
    assert run_python("print(data)", "null").output == "None\n"
    assert run_python("print(data)", "a\nb", media="text").output == "a\nb\n"
    assert run_python("print(next(x for x in data if x > 1))", [1, 2]).output == "2\n"
    assert run_python("print(data)", "[" * 10**5).status is Status.INPUT_TOO_DEEP
    lacking = run_python("import enum", "[]")
    assert (lacking.status, lacking.error and lacking.error.line) == (Status.UNSUPPORTED, 1)


def test_parts_of_other_modules_are_there() -> None:
    code = (
        "import statistics, string, urllib.parse, csv, io, heapq\nfrom operator import itemgetter as by\n"
        "from datetime import datetime, date, timezone\nfrom html import unescape\n"
        "print(statistics.median([1, 2, 9]), string.digits[:3], urllib.parse.quote('a b'), unescape('&amp;'))\n"
        "print(list(csv.reader(io.StringIO('a,\"b\\nc\"'))), sorted([{'n': 2}, {'n': 1}], key=by('n')))\n"
        "print(heapq.nlargest(2, [1, 3, 2]), date.fromtimestamp(0), datetime.fromtimestamp(1.5, tz=timezone.utc))"
    )
    assert once(code, check="names").result.output == (
        "2 012 a%20b &\n[['a', 'b\\nc']] [{'n': 1}, {'n': 2}]\n[3, 2] 1970-01-01 1970-01-01 00:00:01.500000+00:00\n"
    )
    code = (
        "import ipaddress, difflib\nnet = ipaddress.ip_network('10.4.0.0/16')\n"
        "print([ipaddress.ip_address(text) in net for text in ('10.4.7.1', '10.5.0.1')], str(net))\n"
        "for text in ('10.4.0', '::g', '300.1.1.1'):\n    try: ipaddress.ip_address(text)\n"
        "    except ValueError: print('no address')\n"
        "print(difflib.get_close_matches('exmplae', ['example', 'other'], n=1, cutoff=0.75))"
    )
    ends = "no address\n" * 3 + "['example']\n"
    assert once(code, check="names").result.output == f"[True, False] 10.4.0.0/16\n{ends}"
    assert "at most 2000 texts" in told("import difflib\ndifflib.get_close_matches('a', ['b'] * 3000)")
    assert "too large together" in told("import statistics\nstatistics.mean([1] * 300_000)")


def test_a_dry_run_goes_on_after_changes_whose_answers_are_not_used() -> None:
    code = "put(n=1)\nmade = put(n=2)\ngather(put(n=3), put(n=4))\nprint('held')\nx = put(n=5)\nprint(x['id'])"
    entries: list[Entry] = []
    run: ProgramRun = once(code)
    while run.kind == "calls":
        entries += [Entry(call.position, call.position, call.digest, "held") for call in run.calls]
        run = once(code, *entries)
    assert (run.kind, run.function, run.line, run.result.output) == ("unknown", "put", 6, "held\n")


def test_a_dry_run_ends_at_a_change_whose_answer_stands_in_a_value() -> None:
    for code in ("x = [put(n=1)]", "x = put(n=1)\nx += 1", "x = gather(put(n=1))\nx[0]", "x = y = put(n=1)\ny"):
        [call] = once(code).calls
        run = once(code, Entry(call.position, "k", call.digest, "held"))
        assert (run.kind, run.function) == ("unknown", "put"), code


BOMB = "x = [0]\nfor _ in range(40): x = [x, x]\n"


ENDS: dict[Status, list[str]] = {
    Status.TIMEOUT: ["while True: pass", "while True: status()", "10**10**8", f"{BOMB}x", f"{BOMB}get(n=x)"],
    Status.MEMORY_LIMIT: [f"{BOMB}f = get\nf(n=x)", "x = 'a'\nwhile True: x += x"],
    Status.UNSUPPORTED: [
        *("def _host_shown(value): return value", "_host_begin()", "_host_error('a', 'b')"),
        "_host_likest('a', ['b'] * 10**6)",
    ],
    Status.NO_OUTPUT: ["eval('_host_held(5)')"],
    Status.RUNTIME_ERROR: [
        *("eval('_host_headers(10**30)')", f"{BOMB}stop('a', x)", "get(n='x' * 3_000_000)", "def f(): f()\nf()"),
        *("print(open('/etc/passwd').read())", "import os\nprint(os.environ)", "import os\nprint(os.listdir('/'))"),
    ],
    Status.OUTPUT_LIMIT: ["while True: print('x' * 1000)"],
    Status.IMPORT_ERROR: ["import socket", "import subprocess"],
    Status.SYNTAX_ERROR: ["-" * 20_000 + "1", "x" + ".a" * 20_000, "1" + "+1" * 30_000],
}


@pytest.mark.parametrize(("status", "code"), [(status, code) for status, codes in ENDS.items() for code in codes])
def test_a_hostile_program_is_bounded_and_reaches_nothing(status: Status, code: str) -> None:
    # Only what runs for ever waits for its limit; on a busy machine everything else has time to end.
    run = once(code, limits=SHORT if status is Status.TIMEOUT else PATIENT)
    assert run.result.status is status
    assert "root:" not in run.result.output


def children() -> set[int]:
    command = ["ps", "--ppid", str(os.getpid()), "-o", "pid="]
    listed = subprocess.run(command, capture_output=True, check=True, text=True)
    return {int(line) for line in listed.stdout.split()}


@pytest.mark.skipif(sys.platform != "linux", reason="lists processes as Linux does")
def test_a_worker_that_is_killed_has_crashed_and_the_next_run_works() -> None:
    assert once("print(1)").kind == "finished"
    results = Queue[ProgramRun]()
    run = Thread(target=lambda: results.put(once("while True: pass", limits=Limits(wall=60.0))), daemon=True)
    run.start()
    while run.is_alive():
        for pid in children():  # those that wait for a run too
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, 9)
    assert results.get(timeout=60).result.status is Status.CRASHED
    assert once("print(1)").kind == "finished"


ELSEWHERE = """
import os, selectors, signal, sys
import pydantic, pydantic_monty, restgpt.tools.settings.environment
for name in ("fcntl", "resource", "pwd", "grp", "termios"):
    sys.modules[name] = None
del selectors.PollSelector, os.fork, os.register_at_fork, signal.SIGKILL
sys.platform = sys.argv[1]
from restgpt.tools.sandbox.runner import run_program
run = run_program("print(get(n=1))", functions=["get"], entries=[], clock=1.0, seed="x", most=3)
print(run.kind, run.calls[0].keywords)
"""


@pytest.mark.parametrize("platform", ["darwin", "win32"])
def test_other_systems_run_programs_without_the_modules_of_linux(platform: str) -> None:
    command = [sys.executable, "-c", ELSEWHERE, platform]
    done = subprocess.run(command, capture_output=True, check=False, text=True)
    assert (done.stdout, done.stderr[-500:]) == ("calls {'n': 1}\n", "")
