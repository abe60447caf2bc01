"""Guards the live trace: each kind of event has a line, no line is repeated, and data cannot control a terminal."""

import io
from typing import Any

import pytest
from rich.console import Console

from restgpt.trace import SHOWN, Line, Trace, lines_of, size_text, step_lines, usage_text

PLANNED: dict[str, Any] = {
    "kind": "plan",
    "said": "Find it.",
    "plan": "Find it.",
    "api_plan": {"calls": [{"operation": "list", "purpose": "ids", "needs": []}], "reason": ""},
}


def described(request: Any) -> str:
    return f"GET /{request['operation']}"


def request(**changed: Any) -> dict[str, Any]:
    plain = {"id": "r.0", "operation": "list", "status": "sent", "note": "", "result": "", "code": "", "response": {}}
    return {**plain, **changed}


def told(node: str, **update: Any) -> list[Line]:
    return list(lines_of(node, update, described))


def printed(*chunks: dict[str, Any], width: int = 60) -> str:
    output = io.StringIO()
    trace = Trace(Console(file=output, width=width, highlight=False, markup=False), described)
    for chunk in chunks:
        trace.show(chunk)
    return output.getvalue()


def test_control_and_hidden_characters_are_shown_as_escapes() -> None:
    shown = printed({"planner": {"decision": {"kind": "plan", "text": "\x1b[2Jgone\u202etxt.exe"}}})
    assert "\\x1b[2Jgone\\u202etxt.exe" in shown


def test_a_plan_and_a_continuation_are_told_with_their_words() -> None:
    assert told("planner", decision={"kind": "plan", "text": "Find it."}) == [Line("plan", "Find it.")]
    assert told("planner", decision={"kind": "continue", "text": "More."}) == [Line("continue", "More.")]
    assert told("planner", decision={"kind": "end", "text": "42"}) == [Line("end", "")]


def test_an_api_plan_has_a_line_per_call_or_the_reason_for_none() -> None:
    calls = [{"operation": "list", "purpose": "all ids", "needs": []}]
    assert told("selector", api_plan={"calls": calls, "reason": ""}) == [Line("api plan", "list: all ids")]
    none = told("selector", api_plan={"calls": [], "reason": "known already"})
    assert none == [Line("api plan", "no call needed: known already")]


def test_a_request_is_told_with_status_time_and_size() -> None:
    sent = request(response={"status": 200, "elapsed_ms": 12, "size": 1234})
    assert told("sender", requests=[sent]) == [Line("request", "GET /list → 200, 12 ms, 1.2 kB")]


def test_what_was_not_sent_says_why() -> None:
    failed = request(status="failed", note="connection refused")
    assert told("sender", requests=[failed]) == [Line("failed", "GET /list → connection refused")]
    rejected = request(status="rejected", note="The user rejected it.")
    assert told("approval", requests=[rejected]) == [Line("not sent", "GET /list (The user rejected it.)")]
    assert told("approval", requests=[request(status="held")]) == [Line("not sent", "GET /list (dry run)")]
    assert told("approval", requests=[request(status="approved")]) == []


def test_code_and_result_are_told_when_a_response_was_read() -> None:
    parsed = request(status="parsed", code="```python\nprint(1)\n```", result="1")
    assert told("parser", requests=[parsed]) == [Line("code", "print(1)"), Line("result", "1")]


def test_an_unknown_value_is_told() -> None:
    assert told("caller", hint="No id is known.") == [Line("missing", "No id is known.")]


def test_nothing_is_told_twice_though_updates_repeat_the_round() -> None:
    parsed = request(status="parsed", result="the result")
    other = request(id="s.0", status="parsed", result="another")
    text = printed({"parser": {"requests": [parsed]}}, {"parser": {"requests": [parsed, other]}})
    assert text.count("the result") == 1
    assert "another" in text


def test_a_long_text_is_cut_and_says_by_how_much() -> None:
    text = printed({"parser": {"requests": [request(status="parsed", result="x" * (SHOWN + 7))]}})
    assert "(7 more characters)" in " ".join(text.split())


def test_lines_are_indented_past_their_label() -> None:
    lines = printed({"planner": {"decision": {"kind": "plan", "text": "word " * 30}}}).splitlines()
    assert lines[0].startswith("plan ")
    assert len(lines) > 1
    assert all(line.startswith(" " * 10) for line in lines[1:])


def test_markup_in_data_is_text() -> None:
    assert "[red]x[/red]" in printed({"planner": {"decision": {"kind": "plan", "text": "[red]x[/red]"}}})


def test_interrupts_and_empty_updates_are_no_lines() -> None:
    assert printed({"__interrupt__": ()}, {"intake": {"turn": 1}}, {"sender": None}) == ""


def test_a_finished_step_is_told_again_in_full() -> None:
    step: Any = {
        **PLANNED,
        "requests": [
            request(status="parsed", result="7", response={"status": 200}),
            request(id="s.0", status="failed", note="no answer"),
        ],
    }
    lines = [(line.label, line.text) for line in step_lines(step, described)]
    assert lines == [
        ("plan", "Find it."),
        ("api plan", "list: ids"),
        ("request", "GET /list → 200"),
        ("result", "7"),
        ("failed", "GET /list → no answer"),
    ]


def test_costs_are_told_by_role() -> None:
    usage: Any = {
        "roles": {"planner": {"calls": 1, "input_tokens": 1200, "output_tokens": 30}},
        "requests": 2,
        "seconds": 1.25,
    }
    assert usage_text(usage) == "planner 1 call 1,200+30 tokens, 2 requests, 1.2 s"


@pytest.mark.parametrize(("size", "text"), [(0, "0 B"), (999, "999 B"), (1500, "1.5 kB"), (2_500_000, "2.5 MB")])
def test_sizes_are_told_in_decimal_units(size: int, text: str) -> None:
    assert size_text(size) == text


PROGRAM: dict[str, Any] = {"code": "print(f())", "writer": "planner", "number": 1, "status": "running", "feedback": ""}


def placed(line: int, **changed: Any) -> dict[str, Any]:
    place = {"position": "0", "line": line, "source": "x = f()", "program": 1, "digest": ""}
    return request(place=place, **changed)


def test_a_program_is_told_when_it_is_written_and_a_corrected_one_with_its_number() -> None:
    chosen = {"operations": ["f", "g"], "others": [], "reason": "All fit.", "looks": []}
    assert told("planner", decision={"kind": "program", "text": "Call f"}) == []
    assert told("selector", selection=chosen, api_plan={"calls": [], "reason": "All fit."}) == [
        Line("functions", "f, g")
    ]
    assert told("caller", program=PROGRAM) == [Line("program", "print(f())")]
    assert told("caller", program={**PROGRAM, "number": 2}, hint="") == [Line("program 2", "print(f())")]


def test_the_calls_of_a_program_are_told_by_line_and_the_requests_name_their_line() -> None:
    waiting = [placed(3, id=f"{number}.0", status="planned") for number in range(2)]
    assert told("parser", requests=waiting, program=PROGRAM) == [Line("calls", "line 3 ×2: x = f()")]
    sent = placed(3, response={"status": 200})
    assert told("sender", requests=[sent]) == [Line("request", "GET /list (line 3) → 200")]
    unplaced = placed(0, status="planned")
    unplaced["place"]["source"] = ""
    assert told("parser", requests=[unplaced], program=PROGRAM) == [Line("calls", "no line of the program")]


def test_reads_that_the_parser_sent_itself_are_shown_in_order_before_the_next_calls() -> None:
    first = placed(3, id="a.0", status="parsed", response={"status": 200, "elapsed_ms": 12, "size": 1234})
    again = [placed(4, id=f"{name}.0", status="parsed", response={"status": 200}) for name in "bc"]
    failed = placed(5, id="d.0", status="failed", note="no answer")
    refused = placed(5, id="e.0", status="rejected", note="A rule")
    coming = placed(6, id="f.0", status="planned")
    lines = told("parser", requests=[first, *again, failed, refused, coming], program=PROGRAM)
    assert [(line.label, line.text) for line in lines] == [
        ("calls", "line 3: x = f()"),
        ("request", "GET /list (line 3) → 200, 12 ms, 1.2 kB"),
        ("calls", "line 4 ×2: x = f()"),
        ("request", "GET /list (line 4) → 200"),
        ("request", "GET /list (line 4) → 200"),
        ("calls", "line 5 ×2: x = f()"),
        ("failed", "GET /list (line 5) → no answer"),
        ("not sent", "GET /list (line 5) (A rule)"),
        ("calls", "line 6: x = f()"),
    ]


def test_a_call_that_the_parser_decided_and_left_to_the_other_nodes_is_shown_once() -> None:
    asked, sent = placed(3, status="asked"), placed(3, response={"status": 200})
    chunks = [("parser", asked), ("approval", {**asked, "status": "approved"}), ("sender", sent)]
    text = printed(
        *({node: {"requests": [item], "program": PROGRAM}} for node, item in chunks),
        {"parser": {"requests": [placed(3, status="parsed", response={"status": 200})], "program": PROGRAM}},
        width=90,
    )
    assert [line.split()[0] for line in text.splitlines()] == ["calls", "request"]


def test_requests_that_the_thread_had_before_are_not_shown_again() -> None:
    output = io.StringIO()
    known, new = placed(3, id="a.0", status="parsed"), placed(4, id="b.0", status="parsed", response={"status": 200})
    trace = Trace(Console(file=output, width=90), described, [known])  # type: ignore[list-item]
    trace.show({"parser": {"requests": [known, new], "program": PROGRAM}})
    assert [line.split()[0] for line in output.getvalue().splitlines()] == ["calls", "request"]


def test_the_end_of_a_program_is_told_as_report_or_as_failure() -> None:
    failed = {**PROGRAM, "writer": "caller", "status": "failed", "feedback": "The program failed.\nLine 2: no"}
    assert told("parser", requests=[], program=failed) == [Line("failed", "The program failed.\nLine 2: no")]
    for end, label in [("report", "report"), ("stopped", "report"), ("failed", "failed"), ("budget", "failed")]:
        over = {**PROGRAM, "status": "over", "end": end}
        step = {"kind": "program", "result": "7", "program": over}
        assert told("parser", requests=[], program=over, steps=[step]) == [Line(label, "7")]
    answered = {"kind": "program", "result": "There are 7.\nRead: list", "program": over}
    told_once = told("parser", requests=[], program=over, steps=[answered], answer="There are 7.")
    assert told_once == [Line("report", "There are 7.")]


def test_a_finished_step_of_a_program_is_told_with_its_code_requests_and_report() -> None:
    over = {**PROGRAM, "status": "over", "end": "report"}
    read = placed(1, status="parsed", response={"status": 200})
    step: Any = {**PLANNED, "requests": [read], "result": "7", "program": over}
    lines = [(line.label, line.text) for line in step_lines(step, described)]
    assert lines == [
        ("plan", "Find it."),
        ("api plan", "list: ids"),
        ("program", "print(f())"),
        ("request", "GET /list (line 1) → 200"),
        ("report", "7"),
    ]
    own: Any = {**step, "kind": "program", "said": "```python\nprint(f())\n```"}
    del own["program"]
    assert [line.label for line in step_lines(own, described)] == ["program", "request", "report"]
    assert next(step_lines(own, described)).text == "print(f())"


def test_every_label_of_a_program_has_a_style() -> None:
    text = printed({"caller": {"program": {**PROGRAM, "number": 9}, "hint": ""}}, {"parser": {"program": PROGRAM}})
    assert text.startswith("program ")
