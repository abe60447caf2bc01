"""Functions that are documented by running code or by an API: Python callables, `argparse` parsers, operations."""

import argparse
import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pydantic import TypeAdapter
from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError

from restgpt.functions.docs.function import GROUPS, Function, FunctionError, FunctionParameter
from restgpt.functions.docs.type_names import Schema, read_type
from restgpt.specs.docs.overview.summary import summary_line
from restgpt.specs.docs.words.docstring import Argument, docstring_arguments
from restgpt.specs.operation import Operation

_PLAIN = (str, int, float, bool, list, dict, type(None))
_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def from_callable(target: Callable[..., Any], *, name: str = "") -> Function:
    """Document a Python callable by its signature, annotations and docstring (Google, NumPy or Sphinx style).

    Raises `FunctionError` for a callable without a readable signature.
    """
    called = name or _qualified(target)
    try:
        signature = inspect.signature(target)
    except (ValueError, TypeError):
        raise FunctionError("/signature", f"{called} has no readable signature") from None
    text = inspect.getdoc(target) or ""
    described = docstring_arguments(text)
    definitions: dict[str, Any] = {}
    parameters = [
        _from_parameter(one, described.get(one.name, Argument("", "")), definitions)
        for one in signature.parameters.values()
        if one.kind not in _VARIADIC and one.name not in ("self", "cls")
    ]
    return Function(
        name=called,
        description=re.split(r"\n\s*\n", text, maxsplit=1)[0].replace("\n", " ").strip(),
        parameters=tuple(parameters),
        dialect="python",
        closed=all(one.kind is not inspect.Parameter.VAR_KEYWORD for one in signature.parameters.values()),
        definitions=definitions,
    )


def _qualified(target: Callable[..., Any]) -> str:
    name = getattr(target, "__qualname__", None) or type(target).__qualname__
    module = getattr(target, "__module__", None) or ""
    short = name.rpartition("<locals>.")[2]
    return short if module in ("", "builtins", "__main__") else f"{module}.{short}"


def _from_parameter(
    parameter: inspect.Parameter, described: Argument, definitions: dict[str, Any]
) -> FunctionParameter:
    word, description = described
    schema = _hoisted(_annotated(parameter.annotation), definitions) or read_type(word.split(", default")[0]) or {}
    if description:
        schema["description"] = description
    has_default = parameter.default is not inspect.Parameter.empty
    if has_default and isinstance(parameter.default, _PLAIN):
        schema["default"] = parameter.default
    return FunctionParameter(parameter.name, schema, not has_default, description)


def _annotated(annotation: Any) -> Schema:
    """The schema of an annotation; one written as text is read as a type word and never evaluated."""
    if annotation is inspect.Parameter.empty or annotation is Any:
        return {}
    if isinstance(annotation, str):
        return read_type(annotation) or {}
    if annotation in (tuple, set, frozenset):
        return {"type": "array", "items": {}, "x-type": annotation.__name__}
    try:
        schema = TypeAdapter(annotation).json_schema()
    except (PydanticSchemaGenerationError, PydanticUserError):
        return {}
    return {key: value for key, value in schema.items() if key != "title"}


def from_parser(parser: argparse.ArgumentParser, *, prefix: str = "") -> list[Function]:
    """Document a command line: one function per command, `prog.command.subcommand(option=value)`."""
    name = prefix or re.sub(r"[^\w.-]", "_", parser.prog.split("/")[-1])
    commands = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if not commands:
        return [_from_command(parser, name)]
    return [
        function
        for action in commands
        for word, sub in action.choices.items()
        for function in from_parser(sub, prefix=f"{name}.{word}")
    ]


def _from_command(parser: argparse.ArgumentParser, name: str) -> Function:
    hidden = (argparse._HelpAction, argparse._VersionAction)
    actions = [action for action in parser._actions if not isinstance(action, hidden)]
    return Function(
        name=name,
        description=(parser.description or parser.format_usage()).strip(),
        parameters=tuple(_from_action(action) for action in actions),
        dialect="argparse",
    )


def _from_action(action: argparse.Action) -> FunctionParameter:
    schema: Schema = {}
    if action.nargs == 0:
        schema["type"] = "boolean"
    elif action.type in (int, float):
        schema["type"] = "integer" if action.type is int else "number"
    elif action.choices is None or all(isinstance(choice, str) for choice in action.choices):
        schema["type"] = "string"
    if action.choices is not None:
        schema["enum"] = list(action.choices)
    if (isinstance(action.nargs, int) and action.nargs > 0) or action.nargs in ("*", "+"):
        schema = {"type": "array", "items": schema}
    description = "" if action.help in (None, argparse.SUPPRESS) else str(action.help)
    if description:
        schema["description"] = description
    if action.default is not None and action.default != argparse.SUPPRESS and isinstance(action.default, _PLAIN):
        schema["default"] = action.default
    needed = action.required if action.option_strings else action.nargs not in ("?", "*")
    return FunctionParameter(action.dest, schema, needed, description)


def from_operations(operations: Iterable[Operation]) -> list[Function]:
    """Document each operation of an API as a function."""
    return [from_operation(operation) for operation in operations]


def from_operation(operation: Operation) -> Function:
    """Document an operation: its parameters are the places of the request, each an object of its values, and the body.

    Values stay grouped by place, so that two of the same name never collide.
    """
    definitions: dict[str, Any] = {}
    groups = [_group(operation, place, definitions) for place in GROUPS[:-1]]
    body = _body(operation, definitions)
    return Function(
        name=operation.name,
        title=summary_line(operation),
        description=operation.summary or operation.description,
        parameters=tuple(part for part in (*groups, body) if part is not None),
        dialect="openapi",
        method=operation.method,
        url=operation.path,
        definitions=definitions,
        problems=tuple(getattr(operation, "problems", ())),
        operation=operation,
    )


def _group(operation: Operation, place: str, definitions: dict[str, Any]) -> FunctionParameter | None:
    places = (place, "querystring") if place == "query" else (place,)
    found = [parameter for parameter in operation.parameters if parameter.location in places]
    if not found:
        return None
    properties = {}
    for parameter in found:
        schema = _hoisted(operation.json_schema(parameter.schema, request=True), definitions)
        properties[parameter.name] = schema | ({"description": parameter.description} if parameter.description else {})
    required = [parameter.name for parameter in found if parameter.required]
    schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return FunctionParameter(place, schema, bool(required))


def _body(operation: Operation, definitions: dict[str, Any]) -> FunctionParameter | None:
    body = operation.body
    if body is None:
        return None
    media = body.preferred
    schema = _hoisted(operation.json_schema(media.schema, request=True), definitions) if media.schema else {}
    return FunctionParameter("body", schema, body.required, body.description)


def _hoisted(schema: Mapping[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """The schema without its `$defs`, which move to the function, where `#/$defs/…` points from everywhere."""
    definitions.update(schema.get("$defs", {}))
    return {key: value for key, value in schema.items() if key not in ("$defs", "$schema")}
