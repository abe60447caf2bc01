"""Validation of a call by its documentation: types, required and unknown names, enums, values that are no literals."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from restgpt.tools.errors import ArgumentError, ArgumentProblem
from restgpt.tools.request.arguments import coerce, nearest, pointer_part, validate
from restgpt.tools.request.build import build_request
from restgpt_functions.calls.call import Call, Variable, to_plain
from restgpt_functions.calls.parsing import find_function
from restgpt_functions.docs.function import Function

REQUIRED = "is required"
"""The message of a problem that only the user can solve: a value is missing."""


def settle_call(call: Call, function: Function) -> Call:
    """Convert values to their documented types if nothing is lost (`"5"` for an integer, one value for a list).

    The arguments come out in the order of the documentation.
    """
    schema = function.json_schema()
    order = {parameter.name: place for place, parameter in enumerate(function.parameters)}
    settled = {}
    for name, value in sorted(call.arguments.items(), key=lambda item: order.get(item[0], len(order))):
        parameter = function.parameter(name)
        if isinstance(value, Variable) and parameter is not None and parameter.schema.get("type") == "string":
            # `city=Berkeley` where a text is documented: the quotes were forgotten.
            value = value.text if value.text.isidentifier() else value
        is_open = parameter is None or _variables(value) or isinstance(value, tuple)
        settled[name] = value if is_open or parameter is None else coerce(value, dict(parameter.schema), schema)
    return replace(call, arguments=settled)


def check_call(call: Call, functions: Sequence[Function]) -> list[ArgumentProblem]:
    """The problems of a call, each with a JSON pointer into its arguments; an empty list if the call is valid."""
    function = find_function(call.name, functions, call.arguments)
    if function is None or function.name != call.name:
        known = nearest(call.name, [one.name for one in functions])
        return [ArgumentProblem("", f"{call.name} is not one of the functions{known}")]
    problems = [ArgumentProblem("", "a value has no parameter name")] if call.positional else []
    for pointer, variable in _variables(dict(call.arguments)):
        problems.append(ArgumentProblem(pointer, f"{variable.text} is a bare name; write its value, a text in quotes"))
    if problems:
        return problems
    arguments = to_plain(dict(call.arguments))
    if function.operation is not None:
        return _check_request(function, arguments)
    return validate(arguments, function.json_schema(), "")


def _check_request(function: Function, arguments: Mapping[str, Any]) -> list[ArgumentProblem]:
    """The problems that the request builder finds in the arguments of an operation; it sends no request."""
    assert function.operation is not None
    try:
        build_request(function.operation, arguments)
    except ArgumentError as error:
        return list(error.problems)
    return []


def _variables(value: Any, pointer: str = "") -> list[tuple[str, Variable]]:
    return list(_find_variables(value, pointer))


def _find_variables(value: Any, pointer: str) -> Iterator[tuple[str, Variable]]:
    if isinstance(value, Variable):
        yield pointer, value
    elif isinstance(value, Mapping):
        for name, part in value.items():
            yield from _find_variables(part, f"{pointer}/{pointer_part(str(name))}")
    elif isinstance(value, list | tuple):
        for index, part in enumerate(value):
            yield from _find_variables(part, f"{pointer}/{index}")
