"""Validation of a call by its documentation: types, required and unknown names, enums, values that are no literals."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from restgpt.tools.errors import ArgumentError, ArgumentProblem
from restgpt.tools.request.arguments import coerce, nearest, pointer_part, validate
from restgpt.tools.request.prepared_request import build_request
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
    known = [name for name in schema["properties"] if name in call.arguments]
    settled = {name: _settled(call.arguments[name], schema["properties"][name], schema) for name in known}
    return replace(
        call, arguments={**settled, **{name: given for name, given in call.arguments.items() if name not in settled}}
    )


def _settled(value: Any, schema: dict[str, Any], root: dict[str, Any]) -> Any:
    if isinstance(value, Variable) and schema.get("type") == "string" and value.text.isidentifier():
        # `city=Berkeley` where a text is documented: the quotes were forgotten.
        return value.text
    is_open = isinstance(value, tuple) or any(_variables(value, ""))
    return value if is_open else coerce(value, schema, root)


def check_call(call: Call, functions: Sequence[Function]) -> list[ArgumentProblem]:
    """The problems of a call, each with a JSON pointer into its arguments; an empty list if the call is valid."""
    function = find_function(call.name, functions, call.arguments)
    if function is None or function.name != call.name:
        known = nearest(call.name, [one.name for one in functions])
        return [ArgumentProblem("", f"{call.name} is not one of the functions{known}")]
    problems = [ArgumentProblem("", "a value has no parameter name")] if call.positional else []
    for pointer, variable in _variables(dict(call.arguments), ""):
        problems.append(ArgumentProblem(pointer, f"{variable.text} is a bare name; write its value, a text in quotes"))
    if problems:
        return problems
    arguments = to_plain(dict(call.arguments))
    if function.operation is None:
        return validate(arguments, function.json_schema(), "")
    try:
        build_request(function.operation, arguments)
    except ArgumentError as error:
        return list(error.problems)
    return []


def _variables(value: Any, pointer: str) -> Iterator[tuple[str, Variable]]:
    if isinstance(value, Variable):
        yield pointer, value
    elif isinstance(value, Mapping):
        for name, part in value.items():
            yield from _variables(part, f"{pointer}/{pointer_part(str(name))}")
    elif isinstance(value, list | tuple):
        for index, part in enumerate(value):
            yield from _variables(part, f"{pointer}/{index}")
