"""Guards the live trace: each progress event has its lines, and data cannot control a terminal."""

import io
from typing import Any

import pytest
from rich.console import Console

from restgpt.nodes.run.events import call_events, events_of, events_of_step
from restgpt.trace import SHOWN, Line, Trace, lines_of, size_text, usage_text

PLANNED: dict[str, Any] = {
    **{"turn": 1, "task": 1, "round": 1, "kind": "plan", "said": "Find it.", "plan": "Find it.", "result": "7"},
    "api_plan": {"calls": [{"operation": "list", "purpose": "ids", "needs": []}], "reason": ""},
}
PROGRAM: dict[str, Any] = {"code": "print(f())", "writer": "caller", "number": 1, "status": "running", "feedback": ""}


def request(**changed: Any) -> dict[str, Any]:
    plain = {"id": "r.0", "operation": "list", "status": "sent", "note": "", "result": "", "code": "", "response": {}}
    return {**plain, "request": {"method": "GET", "url": "/list"}, **changed}


def placed(line: int, **changed: Any) -> dict[str, Any]:
    place = {"position": "0", "line": line, "source": "x = f()", "program": 1, "digest": ""}
    return request(place=place, **changed)


def told(before: dict[str, Any] | None = None, **update: Any) -> list[Line]:
    return [line for event in events_of(before or {}, update) for line in lines_of(event)]


def told_call(item: Any) -> list[Line]:
    return [line for event in call_events(item) for line in lines_of(event)]


def told_step(step: Any) -> list[tuple[str, str]]:
    return [(line.label, line.text) for event in events_of_step(step) for line in lines_of(event)]


def printed(*events: Any, width: int = 60, answer: str = "") -> str:
    output = io.StringIO()
    trace = Trace(Console(file=output, width=width, highlight=False, markup=False))
    for event in events:
        trace.show(event)
    trace.end(answer)
    return output.getvalue()


def task(text: str, kind: str = "plan") -> dict[str, Any]:
    return {"type": "task_started", "turn": 1, "task": 1, "kind": kind, "text": text}


def test_control_and_hidden_characters_are_shown_as_escapes_and_markup_is_text() -> None:
    assert "\\x1b[2Jgone\\u202etxt.exe" in printed(task("\x1b[2Jgone\u202etxt.exe"))
    assert "[red]x[/red]" in printed(task("[red]x[/red]"))


def test_a_plan_and_a_continuation_are_told_with_their_words() -> None:
    assert told(decision={"kind": "plan", "text": "Find it."}) == [Line("plan", "Find it.")]
    assert told(decision={"kind": "continue", "text": "More."}) == [Line("continue", "More.")]
    assert told(decision={"kind": "end", "text": "42"}) == []


def test_an_api_plan_has_a_line_per_call_and_a_round_without_calls_says_why() -> None:
    calls = [{"operation": "list", "purpose": "all ids", "needs": []}]
    assert told(round=1, api_plan={"calls": calls, "reason": ""}) == [Line("api plan", "list: all ids")]
    none = {**PLANNED, "api_plan": {"calls": [], "reason": "known already"}, "requests": [], "result": "known already"}
    assert told(round=1, api_plan=none["api_plan"], steps=[none]) == [Line("missing", "known already")]


def test_a_call_is_told_with_status_time_and_size() -> None:
    sent = request(response={"status": 200, "elapsed_ms": 12, "size": 1234})
    assert told(requests=[sent]) == [Line("request", "GET /list → 200, 12 ms, 1.2 kB")]
    pages = request(response={"status": 200, "pages": 3})
    assert told(requests=[pages]) == [Line("request", "GET /list → 200, 3 pages")]
    unknown = request(response={"status": 502}, outcome_unknown=True)
    assert told(requests=[unknown]) == [Line("request", "GET /list → 502, may have been carried out")]


def test_what_was_not_sent_says_why() -> None:
    failed = request(status="failed", note="connection refused")
    assert told(requests=[failed]) == [Line("failed", "GET /list → connection refused")]
    rejected = request(status="rejected", note="The user rejected it.")
    assert told(requests=[rejected]) == [Line("not sent", "GET /list (The user rejected it.)")]
    assert told(requests=[request(status="held")]) == [Line("not sent", "GET /list (dry run)")]
    assert told(requests=[request(status="approved")]) == []


def test_code_and_result_are_told_when_a_response_was_read() -> None:
    parsed = request(status="parsed", code="```python\nprint(1)\n```", result="1")
    assert told({"requests": [request()]}, requests=[parsed]) == [Line("code", "print(1)"), Line("result", "1")]


def test_an_unknown_value_is_told() -> None:
    assert told(hint="No id is known.") == [Line("missing", "No id is known.")]


def test_nothing_is_told_twice_though_updates_repeat_the_round() -> None:
    parsed, other = request(status="parsed", result="the result"), request(id="s.0", status="parsed", result="another")
    assert told({"requests": [parsed]}, requests=[parsed, other])[1:] == [Line("result", "another")]
    assert told({"requests": [parsed]}, requests=[parsed]) == []


def test_a_long_text_is_cut() -> None:
    text = "".join(printed(task("x" * (SHOWN + 7))).split())
    assert text == f"plan{'x' * SHOWN}…"


def test_lines_are_indented_past_their_label_and_a_terminal_may_be_narrower() -> None:
    first, *lines = printed(task("word " * 30)).splitlines()
    assert first.startswith("plan ")
    assert lines
    assert all(line.startswith(" " * 10) for line in lines)
    assert printed(task("word " * 9), width=5).split() == ["plan", *["word"] * 9]


def test_updates_without_news_are_no_lines() -> None:
    assert told(turn=1) == []
    assert told(decision={"kind": "program", "text": "Call f"}, plan="Call f", task=1) == []


def test_a_recipe_is_told_with_its_instruction() -> None:
    text = printed(task("Greet Ada", "program"), {**PROGRAM, "type": "program_written", "writer": "recipe"})
    assert [line.split() for line in text.splitlines()] == [["recipe", "Greet", "Ada"], ["program", "print(f())"]]


def test_a_finished_step_is_told_again_in_full() -> None:
    parsed = request(status="parsed", result="7", response={"status": 200})
    requests = [parsed, request(id="s.0", status="failed", note="no answer")]
    assert told_step({**PLANNED, "requests": requests}) == [
        ("plan", "Find it."),
        ("api plan", "list: ids"),
        ("request", "GET /list → 200"),
        ("result", "7"),
        ("failed", "GET /list → no answer"),
    ]


def test_costs_are_told_by_role() -> None:
    roles = {"planner": {"calls": 1, "input_tokens": 1200, "output_tokens": 30}}
    usage: Any = {"roles": roles, "requests": 2, "seconds": 1.25}
    assert usage_text(usage) == "1 model call · 1,200 in + 30 out tokens · 2 requests · 1.2 s"


@pytest.mark.parametrize(("size", "text"), [(0, "0 B"), (999, "999 B"), (1500, "1.5 kB"), (2_500_000, "2.5 MB")])
def test_sizes_are_told_in_decimal_units(size: int, text: str) -> None:
    assert size_text(size) == text


def test_a_program_is_told_when_it_is_written_and_a_corrected_one_with_its_number() -> None:
    chosen = {"operations": ["f", "g"], "others": [], "reason": "All fit.", "looks": []}
    assert told(selection=chosen) == [Line("functions", "f, g")]
    more = {**chosen, "looks": [{"words": "dates", "operations": ["h"]}]}
    assert told({"selection": chosen}, selection=more) == [Line("functions", "dates: h")]
    assert told(program=PROGRAM) == [Line("program", "print(f())")]
    second = {**PROGRAM, "number": 2}
    assert told({"program": {**PROGRAM, "status": "failed"}}, program=second) == [Line("program 2", "print(f())")]


def test_the_calls_of_a_program_are_told_once_and_name_their_line() -> None:
    assert told(requests=[placed(3, id=f"{number}.0", status="planned") for number in range(2)]) == []
    assert told_call(placed(3, response={"status": 200})) == [Line("request", "GET /list (line 3) → 200")]
    assert told_call(placed(3, status="asked")) == []


def test_a_call_that_the_thread_had_before_is_shown_once_when_it_is_over() -> None:
    asked = placed(3, status="asked", question={"request": {}})
    sent = placed(3, response={"status": 200})
    assert told({"requests": [asked]}, requests=[{**asked, "status": "approved"}]) == []
    assert told({"requests": [asked]}, requests=[sent]) == [Line("request", "GET /list (line 3) → 200")]
    assert told({"requests": [sent]}, requests=[{**sent, "status": "parsed"}]) == []


def test_the_end_of_a_program_is_told_as_report_or_as_failure() -> None:
    failed = {**PROGRAM, "status": "failed", "feedback": "The program failed.\nLine 2: no"}
    assert told({"program": PROGRAM}, program=failed) == [Line("failed", "The program failed.\nLine 2: no")]
    for end, label in [("report", "report"), ("stopped", "report"), ("failed", "failed"), ("budget", "failed")]:
        step = {**PLANNED, "requests": [], "program": {**PROGRAM, "status": "over", "end": end}}
        assert told(steps=[step]) == [Line(label, "7")]
    answered = {**step, "result": "There are 7.\nRead: list"}
    assert told(steps=[answered], answer="There are 7.")[0].text == "There are 7."
    assert told(steps=[answered], proposal={"kind": "end", "text": "7."})[0].text == "7."


def test_a_finished_step_of_a_program_is_told_with_its_code_calls_and_report() -> None:
    over = {**PROGRAM, "status": "over", "end": "report"}
    step = {**PLANNED, "requests": [placed(1, status="parsed", response={"status": 200})], "program": over}
    assert told_step(step) == [
        ("plan", "Find it."),
        ("api plan", "list: ids"),
        ("program", "print(f())"),
        ("request", "GET /list (line 1) → 200"),
        ("report", "7"),
    ]
    own = {**step, "kind": "program", "said": "```python\nprint(f())\n```"}
    del own["program"]
    assert told_step(own) == told_step(step)[2:]


def test_a_program_of_any_number_has_a_style() -> None:
    assert printed({**PROGRAM, "type": "program_written", "number": 9}).startswith("program ")


@pytest.mark.parametrize("length", range(30, 66))
def test_neither_an_address_nor_a_number_and_its_unit_break(length: int) -> None:
    url = f"http://a-b.test/{'x' * (length - 16)}"
    sent = {"request": {"method": "GET", "url": url}, "response": {"status": 200, "elapsed_ms": 8}}
    [event] = call_events(request(**sent))  # type: ignore[arg-type]
    lines = printed(event).splitlines()
    assert [line for line in lines if url in line and (len(line) <= 60 or line == url)]
    assert lines[-1].endswith("→ 200, 8 ms")


def test_the_end_of_a_program_that_is_the_answer_is_left_to_the_command_and_any_other_is_told() -> None:
    report = {"type": "step_finished", "operations": [], "end": "report", "report": "Seven.", "result": ""}
    usage = {"type": "usage", "model_calls": 1}
    over = {"type": "turn_finished", "turn": 1, "fulfilled": True}
    assert printed(report, usage, over, answer="Seven.") == ""
    assert printed({**report, "end": "failed"}, over, answer="It stopped. Seven.") == ""
    assert "Seven." in printed({**report, "end": "failed"}, usage, over, answer="No.")
    assert "Seven." in printed(report, task("Go on."), answer="Seven.").partition("Go on.")[0]
