"""Guards the checks of a call by its documentation: faults are named with their place, and lossless values settle."""

import json
from pathlib import Path

import yaml
from paths import openapi

from restgpt_functions.calls.call import Call, Variable
from restgpt_functions.calls.parsing import parse_calls
from restgpt_functions.calls.validation import REQUIRED, check_call, settle_call
from restgpt_functions.docs.dialects import read_function
from restgpt_functions.docs.function import Function, FunctionParameter
from restgpt_functions.docs.loading import load_functions


def _published(data_folder: Path) -> list[tuple[Function, Call]]:
    file = data_folder / "openfunctions" / "gorilla_openfunctions_v1_test.json"
    found = []
    for entry in json.loads(file.read_text(encoding="utf-8")):
        function = read_function(entry["function"])
        found.append((function, parse_calls(entry["model_answer"], [function])[0]))
    return found


PUT_USER = """
operationId: putUser
parameters:
- {name: id, in: path, required: true, schema: {type: integer}}
- {name: page, in: query, schema: {type: integer, default: 1}}
requestBody:
  required: true
  content:
    application/json:
      schema: {type: object, required: [name], properties: {name: {type: string}, nick: {type: string}}}
"""


def test_checks_name_the_place_and_tell_what_only_the_user_knows() -> None:
    functions = load_functions(openapi({"/users/{id}": {"put": yaml.safe_load(PUT_USER)}}))
    problems = check_call(Call("putUser", {"path": {}, "body": {"nick": 3}}), functions)
    assert {problem.pointer for problem in problems if problem.message == REQUIRED} == {"/path/id", "/body/name"}
    properties = {"n": {"type": "integer"}, "level": {"type": "string", "enum": ["low", "high"]}}
    function = read_function({"name": "f", "parameters": {"type": "dict", "properties": properties, "required": ["n"]}})
    assert check_call(Call("f", {"n": 1, "level": "low"}), [function]) == []
    assert [(one.pointer, one.message) for one in check_call(Call("f", {}), [function])] == [("/n", REQUIRED)]
    (problem,) = check_call(Call("f", {"n": 1, "level": "mid"}), [function])
    assert problem.pointer == "/level"
    assert "low" in problem.message
    (problem,) = check_call(Call("f", {"n": 1, "levle": "low"}), [function])
    assert "level" in problem.message
    (problem,) = check_call(Call("f", {"n": Variable("count")}), [function])
    assert "bare name" in problem.message
    (problem,) = check_call(Call("g", {}), [function])
    assert "not one of the functions" in problem.message
    (problem,) = check_call(Call("f", {"n": 1}, (2,)), [function])
    assert "no parameter name" in problem.message


def test_lossless_conversions_settle_a_call() -> None:
    properties = {"n": {"type": "integer"}, "l": {"type": "array", "items": {"type": "string"}}}
    function = read_function({"name": "f", "parameters": {"type": "dict", "properties": properties}})
    assert settle_call(Call("f", {"n": "5", "l": "a", "x": "5"}), function).arguments == {"n": 5, "l": ["a"], "x": "5"}
    named = Function("f", parameters=(FunctionParameter("city", {"type": "string"}),))
    assert settle_call(Call("f", {"city": Variable("Berkeley")}), named).arguments == {"city": "Berkeley"}
    kept = Variable("os.getcwd()")
    assert settle_call(Call("f", {"city": kept}), named).arguments == {"city": kept}


def test_published_answers_are_checked_and_one_defect_remains(data_folder: Path) -> None:
    defects = {
        number: [problem.pointer for problem in problems]
        for number, (function, call) in enumerate(_published(data_folder))
        if (problems := check_call(settle_call(call, function), [function]))
    }
    assert defects == {6: ["/level"]}
    raw = {number: check_call(call, [function]) for number, (function, call) in enumerate(_published(data_folder))}
    as_written = {number: [problem.pointer for problem in problems] for number, problems in raw.items() if problems}
    assert as_written == {0: ["/amenities"], 5: ["/loc"], 6: ["/level"]}
