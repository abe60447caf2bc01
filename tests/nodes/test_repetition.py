"""Guards the count of equal rounds, which tells the planner that it repeats itself and in the end stops it."""

from typing import Any

from restgpt.nodes.programs.program_reply import remarks, repeated, times


def request(operation: str = "find_tasks", *, handle: str = "h1", status: int = 200, **more: Any) -> dict[str, Any]:
    response = {"status": status, "handle": handle}
    made = {"operation": operation, "arguments": {"query": {"page": 1}}, "safe": True, "status": "parsed", "note": ""}
    return {**made, "response": response, "result": "", **more}


def step(said: str = "Count the tasks", *requests: dict[str, Any], **more: Any) -> Any:
    return {"said": said, "requests": list(requests), "result": "24", **more}


def ran(code: str, result: str, end: str = "failed") -> Any:
    return {**step(code, result=result, program={"code": code, "writer": "caller", "end": end}), "kind": "program"}


def test_equal_rounds_are_counted_whatever_the_parser_said_and_whatever_lies_between() -> None:
    same = [step("Count", request(result=word)) for word in ("24", "There are 24.")]
    assert times([same[0], step("Look", request("get_task")), same[1], step(" count ", request())]) == [1, 1, 2, 3]


def test_another_answer_argument_or_sub_task_is_another_round() -> None:
    steps = [
        step("Count", request()),
        step("Count", request(handle="h2")),
        step("Count", request(status=404)),
        step("Count", request(arguments={"query": {"page": 2}})),
        step("List", request()),
        step("Count"),
    ]
    assert times(steps) == [1] * 6


def test_rounds_without_a_call_are_compared_by_their_results() -> None:
    assert times([step(), step(), step(result="No operation")]) == [1, 2, 1]


def test_a_change_that_succeeded_is_no_repetition_and_begins_anew() -> None:
    skip = step("Skip a track", request("skip", safe=False, status="parsed", response={"status": 204}))
    assert times([skip, skip, skip, skip]) == [1, 1, 1, 1]
    assert times([step(), step(), skip, step()]) == [1, 2, 1, 1]
    held = step("Skip a track", {**request("skip", safe=False, response={}), "status": "held"})
    assert times([held, held, held]) == [1, 1, 1]


def test_a_change_that_failed_is_a_repetition() -> None:
    failed = step("Skip a track", request("skip", safe=False, response={"status": 409}))
    assert times([failed, failed]) == [1, 2]


def test_programs_are_compared_by_their_code_and_how_they_ended() -> None:
    first = ran("print(f())", "The program failed.\nKeyError: 'x'\nShapes of the responses:\nf (status 200): {…}")
    again = ran("print(f()) ", "The program failed.\nKeyError: 'x'\nRead: f")
    other = ran("print(f())", "The program failed.\nValueError: y")
    assert times([first, again, other, ran("print(g())", "The program failed.\nKeyError: 'x'")]) == [1, 2, 1, 1]


def test_the_second_round_is_remarked_and_the_third_ends() -> None:
    steps = [step(), step(), step()]
    assert [bool(text) for text in remarks(steps)] == [False, True, False]
    assert repeated(steps) == "3 rounds with the same calls and results"
    assert repeated(steps[:2]) == repeated([]) == repeated([*steps, step("Else")]) == ""
