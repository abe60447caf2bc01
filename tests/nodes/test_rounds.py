"""Guards rounds: which calls are sent together, which are repaired, when it is over, what is told, and repetitions."""

from typing import Any

import pytest
from paths import api_of

from restgpt.calling.execution import FIRST_PAGE
from restgpt.calling.record import Request
from restgpt.nodes.programs.program_reply import remarks, repeated, times
from restgpt.nodes.state.records import ApiPlan, add_usage, merge_requests, no_usage, spent_since
from restgpt.nodes.state.results import is_over, latest, next_calls, notices_of, to_repair
from restgpt.specs import Catalogue

OK: dict[str, Any] = {"responses": {}}
PATHS = {"/things": {"get": {"operationId": "read", **OK}, "post": {"operationId": "write", **OK}}}
CATALOGUE = Catalogue([api_of(PATHS, base_url="https://things.example")])


def plan(*calls: tuple[str, list[int]]) -> ApiPlan:
    return {"calls": [{"operation": name, "purpose": "", "needs": needs} for name, needs in calls], "reason": ""}


def request(call: int, status: str = "parsed", code: int = 200, **other: Any) -> Request:
    made: dict[str, Any] = {"id": f"r{call}.{other.get('attempt', 0)}", "round": 1, "call": call, "attempt": 0}
    return {**made, "status": status, "response": {"status": code}, **other}  # type: ignore[typeddict-item,return-value]


def test_independent_safe_calls_go_out_together() -> None:
    assert next_calls(CATALOGUE, plan(("read", []), ("read", [])), []) == [1, 2]


def test_a_call_waits_for_what_it_needs() -> None:
    steps = plan(("read", []), ("read", [1]))
    assert next_calls(CATALOGUE, steps, []) == [1]
    assert next_calls(CATALOGUE, steps, [request(1)]) == [2]


def test_a_change_does_not_overtake_a_read_before_it_nor_a_read_a_change() -> None:
    steps = plan(("read", []), ("write", []), ("write", []), ("read", []))
    assert next_calls(CATALOGUE, steps, []) == [1]
    assert next_calls(CATALOGUE, steps, [request(1)]) == [2, 3]
    assert next_calls(CATALOGUE, steps, [request(1), request(2, code=201), request(3, code=201)]) == [4]


def test_nothing_is_built_on_a_call_that_brought_nothing() -> None:
    steps = plan(("write", []), ("write", [1]))
    assert next_calls(CATALOGUE, steps, [request(1, "held")]) == []


@pytest.mark.parametrize(("code", "again"), [(400, True), (422, True), (404, False), (500, False), (200, False)])
def test_only_malformed_requests_are_made_again(code: int, again: bool) -> None:
    assert bool(to_repair([request(1, code=code)])) is again
    assert is_over(CATALOGUE, plan(("read", [])), [request(1, code=code)]) is not again


def test_repairs_are_bounded_and_count_as_one_request() -> None:
    attempts = [request(1, code=400, attempt=attempt) for attempt in range(3)]
    assert to_repair(attempts) == []
    assert latest(attempts) == attempts[-1:]
    assert is_over(CATALOGUE, plan(("read", [])), attempts)


@pytest.mark.parametrize("status", ["failed", "rejected"])
def test_a_request_without_success_ends_the_round(status: str) -> None:
    assert is_over(CATALOGUE, plan(("write", []), ("write", [])), [request(1, status)])


def test_a_held_request_lets_independent_ones_be_shown_too() -> None:
    assert not is_over(CATALOGUE, plan(("write", []), ("write", [])), [request(1, "held")])


def test_requests_of_an_older_round_are_dropped_and_newer_records_win() -> None:
    old, sent, parsed = request(1, round=1), request(1, "sent", round=2), request(1, round=2)
    assert merge_requests([old], [sent]) == [sent]
    assert merge_requests([old, sent], [parsed]) == [parsed]


def test_usage_adds_up_by_role_and_can_be_read_between_two_points() -> None:
    one = {"roles": {"planner": {"calls": 1, "input_tokens": 2, "output_tokens": 3}}, "requests": 4, "seconds": 0.5}
    two = add_usage(add_usage(no_usage(), one), one)  # type: ignore[arg-type]
    assert two["roles"]["planner"] == {"calls": 2, "input_tokens": 4, "output_tokens": 6}
    assert (two["requests"], two["seconds"]) == (8, 1.0)
    assert spent_since(one, two) == one  # type: ignore[arg-type]


OTHER = "the response differs from its documented schema at /items"


def answered(wanted: str, pages: int = 1, result: str = "", **query: Any) -> Request:
    made: Any = {"arguments": {"query": query}, "pages": pages, "output_instruction": wanted, "result": result}
    return {**made, "response": {"notices": [OTHER, FIRST_PAGE]}}


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (answered("the id of the movie Dune", query="Dune"), [OTHER]),
        (answered("the newest films", per_page=5), [OTHER]),
        (answered("the id of the first task"), [OTHER]),
        (answered("the id of the list 'Friday films'", result="The list Friday films has id 7."), [OTHER]),
        (answered("the ids of the tasks"), [OTHER, FIRST_PAGE]),
        (answered("all movies named Dune", query="Dune"), [OTHER, FIRST_PAGE]),
        (answered("how many films there are", limit=5), [OTHER, FIRST_PAGE]),
        (answered("the ids of the films", limit=100), [OTHER, FIRST_PAGE]),
        (answered("the id of the list 'Friday films'", result="There is no such list."), [OTHER, FIRST_PAGE]),
        (answered("the id of the first task", pages=2), [OTHER, FIRST_PAGE]),
    ],
)
def test_a_call_is_told_that_the_list_goes_on_unless_it_wanted_few_items(found: Request, told: list[str]) -> None:
    assert notices_of(found) == told


def called(operation: str = "find_tasks", *, handle: str = "h1", status: int = 200, **more: Any) -> dict[str, Any]:
    response = {"status": status, "handle": handle}
    made = {"operation": operation, "arguments": {"query": {"page": 1}}, "safe": True, "status": "parsed", "note": ""}
    return {**made, "response": response, "result": "", **more}


def step(said: str = "Count the tasks", *requests: dict[str, Any], **more: Any) -> Any:
    return {"said": said, "requests": list(requests), "result": "24", **more}


def ran(code: str, result: str, end: str = "failed") -> Any:
    return {**step(code, result=result, program={"code": code, "writer": "caller", "end": end}), "kind": "program"}


def test_equal_rounds_are_counted_whatever_the_parser_said_and_whatever_lies_between() -> None:
    same = [step("Count", called(result=word)) for word in ("24", "There are 24.")]
    assert times([same[0], step("Look", called("get_task")), same[1], step(" count ", called())]) == [1, 1, 2, 3]


def test_another_answer_argument_or_sub_task_is_another_round() -> None:
    others = [called(), called(handle="h2"), called(status=404), called(arguments={"query": {"page": 2}})]
    steps = [*(step("Count", other) for other in others), step("List", called()), step("Count")]
    assert times(steps) == [1] * 6


def test_rounds_without_a_call_are_compared_by_their_results() -> None:
    assert times([step(), step(), step(result="No operation")]) == [1, 2, 1]


def test_a_change_that_succeeded_is_no_repetition_and_begins_anew() -> None:
    skip = step("Skip a track", called("skip", safe=False, status="parsed", response={"status": 204}))
    assert times([skip, skip, skip, skip]) == [1, 1, 1, 1]
    assert times([step(), step(), skip, step()]) == [1, 2, 1, 1]
    held = step("Skip a track", {**called("skip", safe=False, response={}), "status": "held"})
    assert times([held, held, held]) == [1, 1, 1]


def test_a_change_that_failed_is_a_repetition() -> None:
    failed = step("Skip a track", called("skip", safe=False, response={"status": 409}))
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
