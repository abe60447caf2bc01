"""Guards `run_python` and its tool: all forms of data, every status, and no exception in the graph."""

import asyncio
import json
from queue import Queue
from threading import Thread

import pytest

from restgpt.tools.sandbox.result import Limits, SandboxResult, Status
from restgpt.tools.sandbox.runner import python_tool, run_python

PATIENT = Limits(wall=30.0)


def run(code: str, data: object = None, *, limits: Limits = PATIENT) -> SandboxResult:
    return run_python(code, data, limits=limits)


@pytest.mark.parametrize(
    ("data", "seen"),
    [
        (b'{"a": [1]}', {"a": [1]}),
        ('{"a": [1]}', {"a": [1]}),
        (bytearray(b"[1]"), [1]),
        (memoryview(b"[1]"), [1]),
        ({"a": (1, None)}, {"a": [1, None]}),
        ([1, "é"], [1, "é"]),
        (None, None),
        (b"\xef\xbb\xbf[1]", [1]),
        ("[1]".encode("utf-16"), [1]),
        ("[1, 2]".encode("utf-16-be"), [1, 2]),
        ("[1]".encode("utf-32-le"), [1]),
        (b"123456789012345678901234567890", 123456789012345678901234567890),
        (b'"\\ud83d"', "\ud83d"),
        ('"\ud83d"', "\ud83d"),
    ],
)
def test_data_arrives_as_json_whatever_its_form(data: object, seen: object) -> None:
    result = run("import json\nprint(json.dumps(data))", data)
    assert result.status is Status.OK
    assert json.loads(result.output) == seen


@pytest.mark.parametrize("end", ["print(total)", "total", "total / 0"])
def test_a_result_has_the_time_that_its_code_ran(end: str) -> None:
    assert run(f"total = 0\nfor number in range(10**5):\n    total += number\n{end}").elapsed_ms > 0


def test_code_that_took_too_long_ran_for_its_time_even_if_that_was_over_at_once() -> None:
    result = run("while True: pass", limits=Limits(wall=0.2))
    assert (result.status, result.elapsed_ms >= 200) == (Status.TIMEOUT, True)
    assert run("print(1)", limits=Limits(wall=0.000001)).status is Status.TIMEOUT


def test_text_and_numbers_that_json_does_not_know_are_handed_over_as_they_are() -> None:
    result = run_python("print(type(data).__name__, data)", b"a: \xff1", media="text", limits=PATIENT)
    assert result.output == "str a: \ufffd1\n"
    assert run("print(data)", b"[NaN, Infinity, -Infinity, 1e999]").output == "[nan, inf, -inf, inf]\n"


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"", Status.INPUT_INVALID),
        (b"<html>", Status.INPUT_INVALID),
        (b'{"a": ', Status.INPUT_INVALID),
        (b'"\xff"', Status.INPUT_INVALID),
        (b"1" * 5000, Status.INPUT_INVALID),
        (b"[" * 100_000, Status.INPUT_TOO_DEEP),
        (b"[" * 90_000 + b"]" * 90_000, Status.INPUT_TOO_DEEP),
        (object(), Status.INPUT_INVALID),
    ],
)
def test_data_that_is_no_json_is_told_apart_from_a_crash(data: object, status: Status) -> None:
    result = run("print(data)", data)
    assert result.status is status
    assert "JSON" in result.feedback()


def test_the_caller_s_object_is_never_changed() -> None:
    data = {"a": [1, 2]}
    assert run("data['a'].clear()\nprint(data)", data).output == "{'a': []}\n"
    assert data == {"a": [1, 2]}


def test_empty_code_and_too_much_code_or_data_are_refused() -> None:
    for code in ("", "   \n", "```python\n```"):
        assert run(code).status is Status.SYNTAX_ERROR
    result = run("x = 1\n" * 20_000)
    assert (result.status, "119999 bytes" in result.feedback()) == (Status.SYNTAX_ERROR, True)
    result = run("print(data)", b"[" + b"1," * 100 + b"1]", limits=Limits(data=100))
    assert (result.status, "203 bytes" in result.feedback()) == (Status.INPUT_TOO_LARGE, True)


@pytest.mark.parametrize(
    ("code", "status", "kind", "line", "source"),
    [
        ("a = 1\nprint(data['b'])", Status.RUNTIME_ERROR, "KeyError", 2, "print(data['b'])"),
        ("def f():\n    return 1 / 0\n\nf()", Status.RUNTIME_ERROR, "ZeroDivisionError", 2, "return 1 / 0"),
        ("import json\njson.loads('{')", Status.RUNTIME_ERROR, "JSONDecodeError", 2, "json.loads('{')"),
        ("print('a'\nprint('b')", Status.SYNTAX_ERROR, "SyntaxError", 1, "print('a'"),
        ("print(f'{data['a']')", Status.SYNTAX_ERROR, "SyntaxError", 1, "print(f'{data['a']')"),
        ("if True:\nprint(1)", Status.SYNTAX_ERROR, "IndentationError", 2, "print(1)"),
        ("\nimport numpy as np", Status.IMPORT_ERROR, "ModuleNotFoundError", 2, "import numpy as np"),
        ("from json import lods", Status.IMPORT_ERROR, "ImportError", 1, "from json import lods"),
        ("open('/etc/hostname')", Status.RUNTIME_ERROR, "PermissionError", 1, "open('/etc/hostname')"),
        ("input('> ')", Status.UNSUPPORTED, "NotImplementedError", 1, "input('> ')"),
        ("x = [0] * 10**11", Status.MEMORY_LIMIT, "MemoryError", 1, "x = [0] * 10**11"),
        ("raise MemoryError('mine')", Status.MEMORY_LIMIT, "MemoryError", 1, "raise MemoryError('mine')"),
        ("def f(): f()\nf()", Status.RUNTIME_ERROR, "RecursionError", 1, "def f(): f()"),
        ("import sys\nsys.exit('none')", Status.RUNTIME_ERROR, "SystemExit", 2, "sys.exit('none')"),
        ("x = 1\x00", Status.SYNTAX_ERROR, None, None, None),
        ("print('\ud800')", Status.SYNTAX_ERROR, "UnicodeEncodeError", None, None),
    ],
)
def test_an_error_is_told_with_its_line(
    code: str, status: Status, kind: str | None, line: int | None, source: str | None
) -> None:
    result = run(code, {"a": 1})
    assert result.status is status
    assert result.error is not None
    if kind:
        assert result.error.type == kind
    if line:
        assert (result.error.line, result.error.source_line) == (line, source)
    assert "Hint" in result.feedback()


def test_memory_that_ran_out_inside_many_objects_is_still_reported() -> None:
    code = "print('start')\nkept = []\nwhile True:\n    kept.append({'n': len(kept)})"
    result = run(code, limits=Limits(wall=30.0, memory=128 << 20))
    assert (result.status, result.output) == (Status.MEMORY_LIMIT, "start\n")
    assert run("''.join(['x' * 10**5] * 10**4)").status is Status.MEMORY_LIMIT  # at once, by which Monty ends


def test_output_before_a_kill_is_kept() -> None:
    for wall in (0.3, 3.0, 30.0):  # on a busy machine the code may not start within the shortest limit
        result = run("print('before')\nwhile True: pass", limits=Limits(wall=wall))
        if result.output:
            break
    assert (result.status, result.output) == (Status.TIMEOUT, "before\n")
    assert "before" in result.feedback()


def test_a_wrong_field_is_told_with_the_shape_of_the_data() -> None:
    assert "`data` is a dict with the keys 'id'" in run("print(data['name'])", {"id": 1}).feedback()
    rows = run("1 / 0", [{"id": 1, "name": "x"}]).shape
    assert rows == "a list of 1; its first item is a dict with the keys 'id', 'name'"
    assert run("1 / 0", {str(n): n for n in range(50)}).shape.endswith("'39', ...")
    assert (run("1 / 0", {}).shape, run("1 / 0", "3").shape) == ("an empty dict", "of type int")
    assert len(run("1 / 0", {"k" * 500: 1}).shape) < 80


def test_the_tool_shows_the_model_nothing_but_code_and_tells_errors_as_text() -> None:
    tool = python_tool({"a": 41}, limits=PATIENT)
    assert list(tool.args) == ["code"]
    call = {"type": "tool_call", "id": "1", "name": tool.name, "args": {"code": "print(data['a'] + 1)"}}
    message = tool.invoke(call)
    assert (message.content, message.artifact.status) == ("42\n", Status.OK)
    assert "KeyError" in tool.invoke({"code": "data['b']"})


def test_the_tool_serves_many_at_once_on_one_event_loop() -> None:
    tool = python_tool(b"[1, 2, 3]", limits=PATIENT)

    async def gather() -> list[str]:
        return await asyncio.gather(*(tool.ainvoke({"code": f"print(sum(data) * {n})"}) for n in range(8)))

    assert asyncio.run(gather()) == [f"{6 * n}\n" for n in range(8)]


def test_a_large_response_is_read() -> None:
    rows = b"[" + b",".join(b'{"id": %d, "name": "%b"}' % (n, b"x" * 90) for n in range(40_000)) + b"]"
    assert run("print(len(data), data[-1]['id'])", rows).output == "40000 39999\n"


CATCHING = "while True:\n    try:\n        print(1)\n    except BaseException:\n        pass"


@pytest.mark.parametrize("code", ["while True: print(1)", CATCHING, "print('x' * 2000)\nwhile True: pass"])
def test_monty_is_stopped_by_its_output_and_not_by_its_time(code: str) -> None:
    results: Queue[SandboxResult] = Queue()
    limits = Limits(wall=3600, output=1000)
    run = Thread(target=lambda: results.put(run_python(code, {}, limits=limits)), daemon=True)
    run.start()
    # Only a run that goes on for its hour is not over by then.
    result = results.get(timeout=120)
    assert (result.status, result.truncated, len(result.output)) == (Status.OUTPUT_LIMIT, True, 1000)
