"""Guards the matcher: each rule of the leaderboard both ways, its known faults as switches, and that changes show."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from restgpt_bench.functions.literals import read_java, read_javascript
from restgpt_bench.functions.matcher import LEADERBOARD, MatchRules, decode_calls, fold_text, match_calls
from restgpt_functions.calls.call import Call, CallSyntaxError
from restgpt_functions.calls.parsing import parse_calls
from restgpt_functions.docs.dialects import read_function
from restgpt_functions.docs.function import Function

STRICT = MatchRules()
BOTH = (STRICT, LEADERBOARD)


def documented(name: str, required: list[str], **properties: Any) -> Function:
    """A function in the leaderboard's dialect; a plain word is a type."""
    shaped = {key: {"type": value} if isinstance(value, str) else value for key, value in properties.items()}
    return read_function(
        {"name": name, "description": "", "parameters": {"type": "dict", "properties": shaped, "required": required}}
    )


LIST_OF_TEXT = {"type": "array", "items": {"type": "string"}}
LIST_OF_NUMBERS = {"type": "array", "items": {"type": "integer"}}
TUPLE = {"type": "tuple", "items": {"type": "float"}}
OBJECTS = {"type": "array", "items": {"type": "dict"}}
FIELDS = {
    "city": "string",
    "days": "integer",
    "ratio": "float",
    "flag": "boolean",
    "options": "dict",
    "anything": "any",
}
F = documented("geo.find", ["city"], **FIELDS, tags=LIST_OF_TEXT, ids=LIST_OF_NUMBERS, point=TUPLE, rows=OBJECTS)
CITY = {"city": ["San Francisco", "SF"]}

# what it shows, the answer key, the call, valid by our rules, valid by the leaderboard's
CASES: list[tuple[str, dict[str, list[Any]], str, bool, bool]] = [
    ("the first alternative", CITY, 'geo.find(city="San Francisco")', True, True),
    ("the second alternative", CITY, 'geo.find(city="SF")', True, True),
    ("another value", CITY, 'geo.find(city="Oakland")', False, False),
    ("case is ignored", CITY, 'geo.find(city="san francisco")', True, True),
    ("spaces, commas, dots, slashes are ignored", CITY, 'geo.find(city="San-Fran/cis,co.")', True, True),
    ("underscores, stars, carets are ignored", CITY, 'geo.find(city="San_Fran*cis^co")', True, True),
    ("parentheses are not ignored", CITY, 'geo.find(city="San Francisco (CA)")', False, False),
    ("colons are not ignored", CITY, 'geo.find(city="San: Francisco")', False, False),
    ("single quotes count as double", {"city": ['"SF"']}, "geo.find(city=\"'SF'\")", True, True),
    ("a missing required value", CITY, "geo.find()", False, False),
    ("an undocumented parameter", CITY, 'geo.find(city="SF", zoom=1)', False, False),
    ("a documented parameter that the key lacks", CITY, 'geo.find(city="SF", days=1)', False, False),
    ("another function", CITY, 'geo.search(city="SF")', False, False),
    ("a name with an underscore for the dot", CITY, 'geo_find(city="SF")', True, False),
    ("an optional value that the key wants", {**CITY, "days": [3]}, 'geo.find(city="SF")', False, False),
    ("an optional value that may be left out", {**CITY, "days": [3, ""]}, 'geo.find(city="SF")', True, True),
    ("a bare word for a text", CITY, "geo.find(city=SF)", True, True),
    ("too many calls", CITY, 'geo.find(city="SF"), geo.find(city="SF")', False, False),
    ("brackets around the call", CITY, '[geo.find(city="SF")]', True, True),
    ("backticks around the call", CITY, '`geo.find(city="SF")`', True, True),
    ("prose before the call", CITY, 'Here it is: geo.find(city="SF")', True, False),
    ("a fence with a language", CITY, '```python\ngeo.find(city="SF")\n```', True, False),
    ("a positional value", CITY, 'geo.find("SF")', True, False),
]
# what it shows of a second argument, its name, its answer key, its value in the call, and the two verdicts
SECOND: list[tuple[str, str, list[Any], str, bool, bool]] = [
    ("an empty text for an optional number", "days", [3, ""], '""', False, False),
    ("an empty text for an optional text", "anything", ["x", ""], '""', True, True),
    ("an integer", "days", [3], "3", True, True),
    ("another integer", "days", [3], "4", False, False),
    ("a float for an integer", "days", [3], "3.0", False, False),
    ("a text for an integer", "days", [3], '"3"', False, False),
    ("true for an integer", "days", [1], "True", False, False),
    ("an integer for a float", "ratio", [2.0], "2", True, True),
    ("an integer for a float whose key is an integer", "ratio", [2], "2", True, True),
    ("a float whose key is an integer", "ratio", [2], "2.0", True, True),
    ("another float", "ratio", [2.0], "2.5", False, False),
    ("a text for a float", "ratio", [2.0], '"2.0"', False, False),
    ("true", "flag", [True], "True", True, True),
    ("false for true", "flag", [True], "False", False, False),
    ("1 for true", "flag", [True], "1", False, False),
    ("the text true", "flag", [True], '"true"', False, False),
    ("the bare word true", "flag", [True], "true", True, False),
    ("a bare word for a number", "days", [3], "three", False, False),
    ("a variable that the key has as text", "days", ["n_days"], "n_days", True, True),
    ("variables keep their case", "days", ["n_days"], "N_DAYS", False, False),
    ("a list", "tags", [["a", "b"]], '["a", "b"]', True, True),
    ("a list in another order", "tags", [["a", "b"]], '["b", "a"]', False, False),
    ("a shorter list", "tags", [["a", "b"]], '["a"]', False, False),
    ("a list folded like text", "tags", [["New York"]], '["new-york"]', True, True),
    ("a second list", "tags", [["a"], ["b"]], '["b"]', True, True),
    ("a text for a list", "tags", [["a"]], '"a"', False, False),
    ("numbers in a list of texts", "tags", [["1"]], "[1]", False, False),
    ("floats in a list of integers", "ids", [[1, 2]], "[1.0, 2.0]", False, False),
    ("an empty list where it may be left out", "ids", [[1], ""], "[]", True, True),
    ("a tuple", "point", [[1.0, 2.0]], "(1.0, 2.0)", True, True),
    ("a list for a tuple", "point", [[1.0, 2.0]], "[1.0, 2.0]", True, True),
    ("integers in a tuple of floats", "point", [[1.5, 2.0]], "(1, 2)", False, False),
    ("a tuple for a list", "ids", [[1, 2]], "(1, 2)", False, False),
    ("an object", "options", [{"a": [1, 2]}], '{"a": 2}', True, True),
    ("an object in another order", "options", [{"a": [1], "b": [2]}], '{"b": 2, "a": 1}', True, True),
    ("an object with another value", "options", [{"a": [1]}], '{"a": 3}', False, False),
    ("an object with a further key", "options", [{"a": [1]}], '{"a": 1, "b": 2}', False, False),
    ("an object without a key", "options", [{"a": [1], "b": [2]}], '{"a": 1}', False, False),
    ("an object without an optional key", "options", [{"a": [1], "b": [2, ""]}], '{"a": 1}', True, True),
    ("texts in an object are folded", "options", [{"a": ["X y"]}], '{"a": "x-Y"}', True, True),
    ("a nested object is literal", "options", [{"a": [{"b": 1}]}], '{"a": {"b": 1}}', True, True),
    ("a nested object has no alternatives", "options", [{"a": [{"b": [1]}]}], '{"a": {"b": 1}}', False, False),
    ("true for 1 in an object", "options", [{"a": [1]}], '{"a": True}', False, True),
    ("objects in a list", "rows", [[{"a": [1]}, {"a": [2]}]], '[{"a": 1}, {"a": 2}]', True, True),
    ("objects in another order", "rows", [[{"a": [1]}, {"a": [2]}]], '[{"a": 2}, {"a": 1}]', False, False),
    ("fewer objects", "rows", [[{"a": [1]}, {"a": [2]}]], '[{"a": 1}]', False, False),
    ("any is text", "anything", ["x"], '"X"', True, True),
    ("any is a number where the key is one", "anything", [5], "5", True, True),
    ("any is another number", "anything", [5], "6", False, False),
    ("any of another type", "anything", ["5"], "5", False, False),
    ("null", "days", [3, ""], "None", False, False),
    ("arithmetic is read", "days", [15], "3 * 5", True, True),
    ("a negative number", "days", [-3], "-3", True, True),
]
CASES += [
    (what, {**CITY, name: key}, f'geo.find(city="SF", {name}={value})', ours, theirs)
    for what, name, key, value, ours, theirs in SECOND
]


def verdict_of(text: str, key: dict[str, list[Any]], rules: MatchRules) -> bool:
    try:
        calls = decode_calls(text, [F], rules=rules)
    except CallSyntaxError:
        return False
    return match_calls(calls, [{"geo.find": key}], [F], rules=rules).valid


@pytest.mark.parametrize(("what", "key", "text", "ours", "theirs"), CASES, ids=[case[0] for case in CASES])
def test_verdicts_by_our_rules_and_those_of_the_leaderboard(
    what: str, key: dict[str, list[Any]], text: str, ours: bool, theirs: bool
) -> None:
    assert (verdict_of(text, key, STRICT), verdict_of(text, key, LEADERBOARD)) == (ours, theirs), what


def test_underscores_may_stand_for_dots_where_a_model_cannot_write_them() -> None:
    calls = [Call("geo_find", {"city": "SF"})]
    assert not match_calls(calls, [{"geo.find": CITY}], [F]).valid
    assert match_calls(calls, [{"geo.find": CITY}], [F], rules=MatchRules(underscores=True)).valid


@pytest.mark.parametrize("rules", BOTH)
def test_parallel_calls_match_in_any_order(rules: MatchRules) -> None:
    calls = [Call("geo.find", {"city": "B"}), Call("geo.find", {"city": "A"})]
    answers = [{"geo.find": {"city": ["A"]}}, {"geo.find": {"city": ["B"]}}]
    assert match_calls(calls, answers, [F], rules=rules).valid
    assert not match_calls(calls, [answers[0], answers[0]], [F], rules=rules).valid
    assert not match_calls(calls[:1], answers, [F], rules=rules).valid


def test_greedy_pairing_fails_where_bipartite_pairing_succeeds() -> None:
    calls = [Call("geo.find", {"city": "x"}), Call("geo.find", {"city": "y"})]
    answers = [{"geo.find": {"city": ["x", "y"]}}, {"geo.find": {"city": ["x"]}}]
    assert match_calls(calls, answers, [F]).valid
    verdict = match_calls(calls, answers, [F], rules=LEADERBOARD)
    assert (verdict.valid, verdict.kind) == (False, "cannot_find_match")


@pytest.mark.parametrize("rules", BOTH)
def test_several_functions_are_matched_by_name(rules: MatchRules) -> None:
    other = documented("geo.name", [], id="integer")
    calls = [Call("geo.name", {"id": 1}), Call("geo.find", {"city": "SF"})]
    assert match_calls(calls, [{"geo.find": CITY}, {"geo.name": {"id": [1]}}], [F, other], rules=rules).valid
    assert not match_calls(calls[:1], [{"geo.find": CITY}], [F, other], rules=rules).valid


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        ("geo.search(city='SF')", "wrong_func_name"),
        ("geo.find()", "missing_required"),
        ("geo.find(city='SF', zoom=1)", "unexpected_param"),
        ("geo.find(city=3)", "type_error:simple"),
        ("geo.find(city='SF', ids=['a'])", "type_error:nested"),
        ("geo.find(city='X')", "value_error:string"),
        ("geo.find(city='SF', ids=[2])", "value_error:list/tuple"),
        ("geo.find(city='SF')", "missing_optional"),
    ],
)
def test_differences_are_named_as_on_the_leaderboard(call: str, kind: str) -> None:
    verdict = match_calls(parse_calls(call), [{"geo.find": {**CITY, "ids": [[1]]}}], [F])
    assert (verdict.valid, verdict.kind) == (False, kind)
    assert verdict.message


JAVA: list[tuple[str, str, str, Any]] = [
    ("5", "integer", "", 5),
    ("5L", "long", "", 5),
    ("5", "long", "", "5"),
    ("5.5f", "float", "", 5.5),
    ("5.5", "float", "", "5.5"),
    ("5.5", "double", "", 5.5),
    ("true", "boolean", "", True),
    ("True", "boolean", "", "True"),
    ("name", "String", "", "name"),
    ("new int[]{1, 2}", "Array", "integer", [1, 2]),
    ("new String[]{}", "Array", "String", []),
    ('new ArrayList<String>(Arrays.asList("a, b", "c"))', "ArrayList", "String", ["a, b", "c"]),
    ("new ArrayList<Integer>() {{ add(1); add(2); }}", "ArrayList", "integer", [1, 2]),
    ("new ArrayList<>()", "ArrayList", "", []),
    ('new HashMap<String, Object>() {{ put("k", 1); put("b", true); }}', "HashMap", "", {"k": 1, "b": True}),
    ("new HashMap<>()", "HashMap", "", {}),
    ("configMap", "HashMap", "", "configMap"),
    ('new Object[]{1, "a", true}', "Array", "", [1, "a", True]),
]
JAVASCRIPT: list[tuple[str, str, str, Any]] = [
    ("'a'", "String", "", "a"),
    ("a", "String", "", "a"),
    ("5", "integer", "", 5),
    ("5n", "Bigint", "", 5),
    ("5.5", "float", "", 5.5),
    ("true", "Boolean", "", True),
    ("[1, 2]", "array", "integer", [1, 2]),
    ("new Array('a', 'b')", "array", "String", ["a", "b"]),
    ("[[1, 2], [3]]", "array", "array", [[1, 2], [3]]),
    ("{'k': 1, b: [true]}", "dict", "", {"k": 1, "b": [True]}),
    ("{}", "dict", "", {}),
    ("store", "dict", "", "store"),
    ("anything()", "any", "", "anything()"),
]


@pytest.mark.parametrize(
    ("read", "text", "word", "items", "value"),
    [*((read_java, *row) for row in JAVA), *((read_javascript, *row) for row in JAVASCRIPT)],
)
def test_literals_of_java_and_javascript_are_read_by_their_type(
    read: Any, text: str, word: str, items: str, value: Any
) -> None:
    found = read(text, word, items)
    assert found == value
    assert type(found) is type(value)


def test_java_calls_are_compared_by_converted_value() -> None:
    listed = {"type": "ArrayList", "items": {"type": "String"}}
    function = documented("Cache.put", ["size", "keys"], size="long", keys=listed)
    key = [{"Cache.put": {"size": [5], "keys": [["a", "b"]]}}]
    good = 'Cache.put(size=5L, keys=new ArrayList<String>(Arrays.asList("a", "b")))'
    calls = decode_calls(good, [function], language="java")
    assert match_calls(calls, key, [function], language="java").valid
    bad = decode_calls(good.replace("5L", "5"), [function], language="java")
    assert match_calls(bad, key, [function], language="java").kind == "type_error:simple"
    typed = [Call("Cache.put", {"size": 5, "keys": ["a", "b"]})]
    assert match_calls(typed, key, [function], language="java").kind == "type_error:java"


def test_generic_types_with_commas_are_one_argument_and_texts_are_folded_as_documented() -> None:
    calls = decode_calls('f(m=new HashMap<String, Integer>() {{ put("a", 1); }}, n=2)', [], language="java")
    assert calls[0].arguments == {"m": 'new HashMap<String, Integer>() {{ put("a", 1); }}', "n": "2"}
    assert fold_text("April 1, 2024") == fold_text("april-1.2024") == "april12024"


def mutations(call: Call) -> Iterator[tuple[str, Call]]:
    """Every way to drop, add, retype or change one argument, inside lists and objects too."""
    yield "renamed", Call(f"{call.name}_x", call.arguments)
    yield "added", Call(call.name, {**call.arguments, "planted": 1})
    yield "positional", Call(call.name, call.arguments, (1,))
    for name, value in call.arguments.items():
        rest = {key: one for key, one in call.arguments.items() if key != name}
        yield f"dropped {name}", Call(call.name, rest)
        for how, changed in changes(value):
            yield f"{how} {name}", Call(call.name, {**rest, name: changed})


def changes(value: Any) -> Iterator[tuple[str, Any]]:
    yield "nulled", None
    if isinstance(value, bool):
        yield from (("changed", not value), ("retyped", int(value)), ("retyped", str(value)))
    elif isinstance(value, int | float):
        yield from (("changed", value + 1), ("retyped", str(value)), ("retyped", [value]), ("negated", -value - 1))
        yield from [("retyped", float(value))] if isinstance(value, int) else []
    elif isinstance(value, str):
        yield from (("changed", f"{value}x"), ("retyped", [value]), ("retyped", 7), ("emptied", ""))
    elif isinstance(value, list):
        yield from (("longer", [*value, *value[:1], "z"]), ("shorter", value[1:]), ("retyped", {"a": value}))
        for index, part in enumerate(value):
            for how, changed in changes(part):
                yield f"{how} inside", [*value[:index], changed, *value[index + 1 :]]
    elif isinstance(value, dict):
        yield "key added", {**value, "planted": 1}
        for key, part in value.items():
            rest = {other: one for other, one in value.items() if other != key}
            yield f"key {key} dropped", rest
            for how, changed in changes(part):
                if not (how == "retyped" and isinstance(part, int) and isinstance(changed, float)):
                    yield f"{how} inside", {**rest, key: changed}


RICH_VALUES = {
    **{"city": "SF", "days": 3, "flag": True, "tags": ["a", "b"], "ids": [1, 2], "rows": [{"a": 1}, {"a": 2}]},
    "options": {"a": 1, "b": "x", "c": True},
}
RICH = Call("geo.find", RICH_VALUES)
RICH_KEY = {
    **{name: [value] for name, value in RICH_VALUES.items()},
    "options": [{"a": [1], "b": ["x"], "c": [True]}],
    "rows": [[{"a": [1]}, {"a": [2]}]],
}


def test_any_change_of_an_argument_flips_the_verdict() -> None:
    assert match_calls([RICH], [{"geo.find": RICH_KEY}], [F]).valid
    found = list(mutations(RICH))
    assert len(found) > 70
    survivors = [how for how, call in found if match_calls([call], [{"geo.find": RICH_KEY}], [F]).valid]
    assert survivors == []


def test_any_change_of_a_published_answer_flips_the_verdict(data_folder: Path) -> None:
    file = data_folder / "openfunctions" / "gorilla_openfunctions_v1_test.json"
    tried = 0
    for entry in json.loads(file.read_text(encoding="utf-8")):
        function = read_function(entry["function"])
        (gold,) = parse_calls(entry["model_answer"], [function])
        key = [{function.name: {name: [copy.deepcopy(value)] for name, value in gold.arguments.items()}}]
        if not match_calls([gold], key, [function]).valid:
            continue
        for how, call in mutations(gold):
            is_widened = call.arguments == gold.arguments and True not in gold.arguments.values()
            tried += 1
            is_same = is_widened and not call.positional and call.name == gold.name
            assert is_same or not match_calls([call], key, [function]).valid, (how, call)
    assert tried > 1500
