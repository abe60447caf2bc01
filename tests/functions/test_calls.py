"""Guards the reading and writing of function calls: every form a model writes, and nothing is ever evaluated."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from restgpt_functions.calls.call import Call, CallSyntaxError, Variable
from restgpt_functions.calls.parsing import parse_calls
from restgpt_functions.calls.rendering import render_calls
from restgpt_functions.docs.dialects import read_function
from restgpt_functions.docs.function import Function, FunctionParameter

F1 = [Call("f", {"a": 1})]
F1_G2 = [Call("f", {"a": 1}), Call("g", {"b": "x"})]

ONE = [
    "f(a=1)",
    "  f( a = 1 , )\n",
    "[f(a=1)]",
    "`f(a=1)`",
    "```python\nf(a=1)\n```",
    "```\n[f(a=1)]\n```",
    "Sure, here is the call:\n\n```python\n# the call\nresult = f(a=1)\nprint(result)\n```\nIt does it.",
    "print(f(a=1))",
    "result = f(a=1)",
    "return f(a=1)",
    "await f(a=1);",
    "<<function>>f(a=1)",
    "<TOOLCALL>[f(a=1)]</TOOLCALL>",
    "<think>maybe g(b=2)?</think>f(a=1)",
    "I will call f(a=1) for you.",
    "The get() function(s) fit; so f(a=1).",
    "USER: <<question>> q <<function>> [{}]\nASSISTANT: f(a=1)",
    "f(\n  a=1,  # one\n)",
    "f(**{'a': 1})",
    '{"name": "f", "arguments": {"a": 1}}',
    '{"name": "f", "arguments": "{\\"a\\": 1}"}',
    '{"name": "f", "parameters": {"a": 1}}',
    '{"function": "f", "parameters": {"a": 1}}',
    '[{"function": {"name": "f", "arguments": "{\\"a\\": 1}"}, "id": "c1", "type": "function"}]',
    '{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "{\\"a\\": 1}"}}]}',
    '{"function_call": {"name": "f", "arguments": "{\\"a\\": 1}"}}',
    '[{"f": {"a": 1}}]',
    '[{"f": "{\\"a\\": 1}"}]',
    'Sure: {"name": "f", "arguments": {"a": 1}}',
    '```json\n[{"name": "f", "arguments": {"a": 1}}]\n```',
    '<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>',
    '<functions><function name="f"><params><param name="a" value="1" type="integer"/></params></function></functions>',
    '<functions><function name="f"><param name="a" type="integer">1</param></function></functions>',
    '<function_calls><invoke name="f"><parameter name="a">1</parameter></invoke></function_calls>',
]
TWO = [
    'f(a=1), g(b="x")',
    "[f(a=1), g(b='x')]",
    'f(a=1)\ng(b="x")',
    'f(a=1); g(b="x")',
    'f(a=1) g(b="x")',
    '<<function>>f(a=1)<<function>>g(b="x")',
    'f(a=1)<<function>> g(b="x")',
    '1. f(a=1)\n2. g(b="x")',
    '- f(a=1)\n- g(b="x")',
    'First:\n```python\nf(a=1)\n```\nthen:\n```python\ng(b="x")\n```',
    '[{"name": "f", "arguments": {"a": 1}}, {"name": "g", "arguments": {"b": "x"}}]',
    '{"name": "f", "arguments": {"a": 1}}\n{"name": "g", "arguments": {"b": "x"}}',
    '[{"f": {"a": 1}}, {"g": {"b": "x"}}]',
    '<tool_call>{"name":"f","arguments":{"a":1}}</tool_call><tool_call>{"name":"g","arguments":{"b":"x"}}</tool_call>',
    '<functions><function name="f"><param name="a" type="integer">1</param></function>'
    '<function name="g"><param name="b" type="string">x</param></function></functions>',
]


NONE = [
    "",
    "[]",
    "I need the city (for example Paris) first.",
    "None of the function(s) fit.",
    "The get_time() function cannot do that.",
    "Which item(s)? Which date (YYYY-MM-DD)?",
    "Use f (see above).",
    '{"city": "Paris", "answer": 3}',
    "a = 3",
]


@pytest.mark.parametrize(
    ("text", "calls"), [*((text, F1) for text in ONE), *((text, F1_G2) for text in TWO), *((text, []) for text in NONE)]
)
def test_calls_are_read_in_every_form_and_other_text_is_an_abstention(text: str, calls: list[Call]) -> None:
    assert parse_calls(text) == calls


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("f(a=1", "never closed"),
        ("f(a=1), g(b=", "never closed"),
        ('f(a="x', "string is never closed"),
        ("f(a=[1)", "another kind"),
        ("f(a=)", "no value"),
        ("f(a=1, a=2)", "given twice"),
        ("f(a=1,,b=2)", "between two commas"),
        ("f(a=1 2)", "cannot be read"),
        ("f(*[1])", "cannot be unpacked"),
        ("f(**x)", "literal object"),
        ("I will call f(a=1", "never closed"),
        ("f(a=" + "[" * 300 + "]" * 300 + ")", "deeper"),
        ('{"name": "f", "arguments": 3}', "must be an object"),
        ('{"name": "f", "arguments": "{broken"}', "must be an object"),
        ('<functions><function name="f"></functions>', "well-formed"),
        ('<functions><!DOCTYPE x><function name="f"/></functions>', "not allowed"),
        ("<functions><function/></functions>", "no name"),
    ],
)
def test_a_broken_call_is_an_error_and_no_abstention(text: str, reason: str) -> None:
    with pytest.raises(CallSyntaxError, match=reason):
        parse_calls(text)


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("true", True),
        ("False", False),
        ("null", None),
        ("None", None),
        ("-5", -5),
        ("3 * 1024", 3072),
        ("1_000", 1000),
        ("0x10", 16),
        ("2.5e3", 2500.0),
        ("(1, 'a')", (1, "a")),
        ("(1,)", (1,)),
        ("{'k': [1, {'n': null}]}", {"k": [1, {"n": None}]}),
        ("'it''s'", "its"),
        ('"it\'s (fine), really"', "it's (fine), really"),
        (r'"C:\data"', "C:\\data"),
        (r'r"\d+"', "\\d+"),
        ('"two\nlines"', "two\nlines"),
        ('"""long "quoted" text"""', 'long "quoted" text'),
        ("Berkeley", Variable("Berkeley")),
        ("df.head", Variable("df.head")),
        ("g(b=1)", Variable("g(b=1)")),
        ("1e999", Variable("1e309")),
        ("10 ** 100000000", Variable("10 ** 100000000")),
        ("[x, 1]", [Variable("x"), 1]),
        ("f'{x}'", Variable("f'{x}'")),
        ("lambda: 1", Variable("lambda: 1")),
    ],
)
def test_values_are_literals_or_marked_as_variables(source: str, value: Any) -> None:
    (call,) = parse_calls(f"f(a={source})")
    assert call.arguments["a"] == value
    assert type(call.arguments["a"]) is type(value)


@pytest.mark.parametrize("name", ["uber.eat.order", "a", "get-weather", "requests.get", "$http.get", "größe.messen"])
def test_names_are_dotted_and_free(name: str) -> None:
    assert parse_calls(f"{name}(a=1)") == [Call(name, {"a": 1})]


@pytest.mark.parametrize("key", ["from", "class", "X-Api-Key", "lambda", "filter[name]", "a.b"])
def test_argument_names_that_python_forbids_are_read(key: str) -> None:
    call = Call("f", {key: 1})
    assert parse_calls(f"f({key}=1)") == [call]
    assert parse_calls(render_calls([call])) == [call]


TRIP = {"type": "object", "properties": {"to": {"type": "string"}, "days": {"type": "integer"}}}
FUNCTIONS = [
    read_function({"name": "Trip", "api_call": "trip.plan", "parameters": {**TRIP, "required": ["to"]}}),
    Function("store", parameters=(FunctionParameter("item", {"type": "object"}),)),
    Function("GET /items", parameters=(FunctionParameter("q"),)),
]


@pytest.mark.parametrize(
    "text",
    [
        'trip.plan("Rome", 3)',
        'trip.plan("Rome", days=3)',
        'trip_plan(to="Rome", days=3)',
        'trip.plan({"to": "Rome", "days": 3})',
        '{"name": "trip_plan", "arguments": {"to": "Rome", "days": 3}}',
    ],
)
def test_documentation_names_positional_values_and_maps_tool_names_back(text: str) -> None:
    assert parse_calls(text, FUNCTIONS) == [Call("trip.plan", {"to": "Rome", "days": 3})]


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ('store({"item": 1})', Call("store", {"item": {"item": 1}})),
        ('trip.plan("Rome", 3, 4)', Call("trip.plan", {"to": "Rome", "days": 3}, (4,))),
        # Documented names need not be identifiers.
        ('GET /items(q="x")', Call("GET /items", {"q": "x"})),
    ],
)
def test_values_by_position_are_placed_and_too_many_stay_visible(text: str, call: Call) -> None:
    assert parse_calls(text, FUNCTIONS) == [call]


def test_without_documentation_positional_values_stay_positional() -> None:
    assert parse_calls('trip.plan("Rome", 3)') == [Call("trip.plan", {}, ("Rome", 3))]


def test_a_value_by_position_and_by_name_is_an_error() -> None:
    with pytest.raises(CallSyntaxError, match="by position and by name"):
        parse_calls('trip.plan("Rome", to="Oslo")', FUNCTIONS)


def test_json_inside_an_argument_is_an_argument() -> None:
    text = 'I suggest create(spec={"name": "x", "arguments": {}})'
    assert parse_calls(text) == [Call("create", {"spec": {"name": "x", "arguments": {}}})]


def test_a_long_text_is_refused() -> None:
    with pytest.raises(CallSyntaxError, match="at most"):
        parse_calls("x" * 1_000_001)


@pytest.mark.parametrize("piece", ["a(", "a('", "a(b=", "`a(", "f(a=[{"])
def test_a_hostile_repetition_is_refused_at_once(piece: str) -> None:
    with pytest.raises(CallSyntaxError):
        parse_calls(piece * 20_000)


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    "piece",
    [
        *("`", "a-", "a.", "[", "{", "a ", "- ", "1. ", "x = ", "f(x) ", "```", "#\n"),
        *("<functions ", "<tool_call>", "<think>"),
    ],
)
def test_a_hostile_repetition_without_a_call_is_read_in_one_pass(piece: str) -> None:
    assert parse_calls(piece * 50_000 + "x") == []


HOSTILE = [
    "__import__('os').environ.__setitem__('RESTGPT_EXPLODED', '1')",
    "exec(\"import os; os.environ['RESTGPT_EXPLODED']='1'\")",
    "[x for x in [__import__('os').environ.__setitem__('RESTGPT_EXPLODED', '1')]]",
    "(lambda: __import__('os').environ.__setitem__('RESTGPT_EXPLODED', '1'))()",
    "{'k': __import__('os').environ.__setitem__('RESTGPT_EXPLODED', '1')}",
    'f\'{__import__("os").environ.__setitem__("RESTGPT_EXPLODED", "1")}\'',
]


def _published(data_folder: Path) -> list[dict[str, Any]]:
    file = data_folder / "openfunctions" / "gorilla_openfunctions_v1_test.json"
    entries: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))
    return entries


def test_all_published_answers_parse_and_render_again(data_folder: Path) -> None:
    entries = _published(data_folder)
    assert len(entries) == 112
    for entry in entries:
        function = read_function(entry["function"])
        calls = parse_calls(entry["model_answer"], [function])
        assert [call.name for call in calls] == [function.name]
        assert set(calls[0].arguments) <= {parameter.name for parameter in function.parameters}
        text = render_calls(calls)
        assert parse_calls(text, [function]) == calls
        assert render_calls(parse_calls(text)) == text


def test_no_published_answer_made_hostile_is_evaluated(data_folder: Path) -> None:
    for number, entry in enumerate(_published(data_folder)):
        function = read_function(entry["function"])
        bomb = HOSTILE[number % len(HOSTILE)]
        answer = entry["model_answer"]
        head, _, tail = answer.partition("(")
        for text in (f"{head}(planted={bomb}, {tail}", f"{bomb}, {answer}", answer.replace(")", f", {bomb})")):
            try:
                calls = parse_calls(text, [function])
            except CallSyntaxError:
                continue
            assert render_calls(calls)
    assert "RESTGPT_EXPLODED" not in os.environ


NAMES = st.from_regex(r"[a-z_][a-z0-9_]{0,8}(\.[a-z][a-z0-9_]{0,8}){0,2}", fullmatch=True).filter(
    lambda name: name not in ("print", "r", "b", "f", "u", "rb", "br", "fr", "rf")
)
TEXTS = st.text(max_size=20) | st.sampled_from(['"', "'", "\\", "f(a=1)", "```", "<<function>>", "a, b=2)", "\n", "#"])
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(TEXTS, inner, max_size=3)
        | st.tuples(inner)
        | st.tuples(inner, inner)
    ),
    max_leaves=6,
)
CALLS = st.builds(
    Call,
    NAMES,
    st.dictionaries(st.from_regex(r"[a-z_][a-z0-9_]{0,8}", fullmatch=True) | TEXTS, VALUES, max_size=4),
    st.lists(VALUES, max_size=2).map(tuple),
)


def _exactly(calls: list[Call]) -> str:
    return repr([(call.name, dict(call.arguments), call.positional) for call in calls])


@pytest.mark.slow
@settings(max_examples=200)
@given(st.lists(CALLS, min_size=1, max_size=3))
def test_a_call_string_reads_back_as_the_same_calls(calls: list[Call]) -> None:
    assert _exactly(parse_calls(render_calls(calls))) == _exactly(calls)


NAMED_CALLS = st.builds(
    Call, NAMES, st.dictionaries(st.from_regex(r"[a-z_][a-z0-9_.-]{0,8}", fullmatch=True), VALUES, max_size=4)
)


@pytest.mark.slow
@settings(max_examples=200)
@given(st.lists(NAMED_CALLS, min_size=1, max_size=3), st.sampled_from(["json", "tools"]))
def test_data_styles_are_stable_after_one_round(calls: list[Call], style: Any) -> None:
    once = parse_calls(render_calls(calls, style))
    assert [list(call.arguments) for call in once] == [list(call.arguments) for call in calls]
    assert _exactly(parse_calls(render_calls(once, style))) == _exactly(once)


@settings(max_examples=200)
@given(st.text(alphabet="fg(a=1,b\"'[]{}:)\n #<>`*.x", max_size=40))
def test_rendering_what_was_read_from_any_text_is_stable(text: str) -> None:
    try:
        calls = parse_calls(text)
    except CallSyntaxError:
        return
    written = render_calls(calls)
    assert render_calls(parse_calls(written)) == written


@settings(max_examples=200)
@given(st.text(max_size=200))
def test_any_text_is_read_or_refused_with_a_reason(text: str) -> None:
    try:
        calls = parse_calls(text)
    except CallSyntaxError:
        return
    assert all(call.name for call in calls)


def test_styles_are_written_as_their_readers_expect() -> None:
    calls = [Call("uber.eat.order", {"items": ["a"], "at": Variable("now")})]
    assert render_calls(calls) == 'uber.eat.order(items=["a"], at=now)'
    assert json.loads(render_calls(calls, "json")) == [
        {"name": "uber.eat.order", "arguments": {"items": ["a"], "at": "now"}}
    ]
    (tool,) = json.loads(render_calls(calls, "tools"))
    assert tool["function"]["name"] == "uber_eat_order"
    assert json.loads(tool["function"]["arguments"]) == {"items": ["a"], "at": "now"}
    assert render_calls([Call("f", {"from": 1, "a": None})]) == 'f(**{"from": 1}, a=None)'
