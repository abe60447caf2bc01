"""Readers for the dialects in which functions are documented, each to the canonical `Function`.

Title with `api_call` or `api_name` and a parameter list; JSON-Schema-like `parameters` with the type words of the
function-calling leaderboard; OpenAI, Anthropic and MCP tools; API-zoo entries; `requests.get` documentation.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from restgpt.specs.problem import Problem
from restgpt.specs.reading.tree import format_pointer
from restgpt_functions.docs.function import Function, FunctionError, FunctionParameter
from restgpt_functions.docs.type_names import read_schema, read_type

Tokens = tuple[str, ...]

_ROUTE = re.compile(r"^\s*(get|post|put|patch|delete|head|options)\s+(\S+)\s*$", re.IGNORECASE)
_OPTIONAL = re.compile(r"\boptional\b", re.IGNORECASE)
_REQUIRED = re.compile(r"\brequired\b", re.IGNORECASE)


def read_function(raw: object, *, pointer: str = "") -> Function:
    """Read one documented function in whichever dialect it is written.

    Raises `FunctionError` naming the field when it cannot be read; readable oddities are in `problems`.
    """
    tokens: Tokens = tuple(part for part in pointer.split("/") if part)
    if not isinstance(raw, Mapping):
        raise FunctionError(pointer, f"a function must be documented by an object, not {type(raw).__name__}")
    inner = raw.get("function")
    if isinstance(inner, Mapping):
        function = read_function(inner, pointer=format_pointer((*tokens, "function")))
        return replace(function, dialect="openai") if raw.get("type") == "function" else function
    if "api_arguments" in raw or "functionality" in raw:
        return _read_zoo(raw, tokens)
    name, title = _read_name(raw, tokens)
    problems: list[Problem] = []
    parameters, dialect = _read_parameters(raw, tokens, problems)
    schema = _schema_part(raw)
    return Function(
        name=name,
        title=title,
        description=_text(raw, "description", tokens),
        parameters=parameters,
        dialect=dialect,
        closed=not (isinstance(schema, Mapping) and schema.get("additionalProperties") is True),
        definitions=_definitions(schema, tokens, problems),
        url=_documented_url(name, parameters),
        problems=tuple(problems),
    )


def _text(raw: Mapping[str, Any], key: str, tokens: Tokens) -> str:
    value = raw.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise FunctionError(format_pointer((*tokens, key)), f"must be text, not {type(value).__name__}")
    return value.strip()


def _read_name(raw: Mapping[str, Any], tokens: Tokens) -> tuple[str, str]:
    """The callable and the human title."""
    called = _text(raw, "api_call", tokens) or _text(raw, "api_name", tokens)
    title = _text(raw, "name", tokens)
    name = called.partition("(")[0].strip() or title
    if not name:
        raise FunctionError(format_pointer((*tokens, "name")), "missing: say what the function is called")
    if re.search(r"[\s(),=\"']", name):
        key = "api_call" if called else "name"
        raise FunctionError(format_pointer((*tokens, key)), f"{name!r} cannot be called; write a dotted name")
    return name, title if title != name else ""


def _schema_part(raw: Mapping[str, Any]) -> object:
    for key in ("parameters", "input_schema", "inputSchema"):
        if key in raw:
            return raw[key]
    return None


def _definitions(schema: object, tokens: Tokens, problems: list[Problem]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key in ("definitions", "$defs"):
        listed = schema.get(key) if isinstance(schema, Mapping) else None
        for name, part in listed.items() if isinstance(listed, Mapping) else ():
            found[str(name)] = read_schema(part, (*tokens, "parameters", key, str(name)), problems)
    return found


def _read_parameters(
    raw: Mapping[str, Any], tokens: Tokens, problems: list[Problem]
) -> tuple[tuple[FunctionParameter, ...], str]:
    key = next((key for key in ("parameters", "input_schema", "inputSchema") if key in raw), "parameters")
    found, place = raw.get(key), (*tokens, key)
    titled = "api_call" in raw or "api_name" in raw
    if found is None or found == {} or found == []:
        _check_required(_names(raw.get("required"), (*tokens, "required")), (), (*tokens, "required"), problems)
        return (), "gorilla-v1" if titled else "schema"
    if isinstance(found, Sequence) and not isinstance(found, str):
        return _read_list(found, place, problems), "gorilla-v0"
    if not isinstance(found, Mapping):
        raise FunctionError(format_pointer(place), f"must be a list or an object, not {type(found).__name__}")
    if _is_split(found):
        return _read_split(found, place, problems), "gorilla-train"
    if "properties" in found or isinstance(found.get("type"), str):
        outer = _names(raw.get("required"), (*tokens, "required"))
        dialect = "gorilla-v1" if titled else {"input_schema": "anthropic", "inputSchema": "mcp"}.get(key, "schema")
        return _read_object(found, outer, place, problems), dialect
    return _read_mapping(found, place, problems), "gorilla-train"


def _is_split(found: Mapping[str, Any]) -> bool:
    parts = [found.get(key) for key in ("required", "optional") if key in found]
    if not parts or set(found) - {"required", "optional"}:
        return False
    return all(isinstance(part, list) and all(isinstance(entry, Mapping) for entry in part) for part in parts)


def _read_split(found: Mapping[str, Any], place: Tokens, problems: list[Problem]) -> tuple[FunctionParameter, ...]:
    needed = _read_list(found.get("required", []), (*place, "required"), problems)
    optional = _read_list(found.get("optional", []), (*place, "optional"), problems)
    return _distinct(
        (*(replace(one, required=True) for one in needed), *(replace(one, required=False) for one in optional)), place
    )


def _read_list(found: Sequence[Any], place: Tokens, problems: list[Problem]) -> tuple[FunctionParameter, ...]:
    """A list of parameters; one without a flag is required unless it has a default or its text says optional."""
    parameters = []
    for index, entry in enumerate(found):
        here = (*place, str(index))
        if isinstance(entry, str):
            entry = {"name": entry}
        if not isinstance(entry, Mapping):
            raise FunctionError(format_pointer(here), f"a parameter must be an object, not {type(entry).__name__}")
        name = entry.get("name")
        if not isinstance(name, str) or not name.strip():
            raise FunctionError(format_pointer((*here, "name")), "missing: a parameter needs a name")
        parameters.append(_one(name.strip(), {key: entry[key] for key in entry if key != "name"}, here, problems))
    return _distinct(tuple(parameters), place)


def _read_mapping(found: Mapping[str, Any], place: Tokens, problems: list[Problem]) -> tuple[FunctionParameter, ...]:
    return tuple(_one(str(name), entry, (*place, str(name)), problems) for name, entry in found.items())


def _one(name: str, entry: object, place: Tokens, problems: list[Problem]) -> FunctionParameter:
    """A parameter documented on its own, with its flag beside its type."""
    if isinstance(entry, str):
        entry = _worded(entry)
    if not isinstance(entry, Mapping):
        raise FunctionError(format_pointer(place), f"a parameter must be an object or text, not {type(entry).__name__}")
    nested = entry.get("schema")
    schema = read_schema({**nested, **entry} if isinstance(nested, Mapping) else entry, place, problems)
    description = str(schema.get("description", ""))
    return FunctionParameter(name, schema, _is_needed(entry, description), description)


def _is_needed(entry: Mapping[str, Any], description: str) -> bool:
    for key, meaning in (("required", True), ("optional", False)):
        flag = entry.get(key)
        if isinstance(flag, str) and flag.lower() in ("true", "false"):
            flag = flag.lower() == "true"
        if isinstance(flag, bool):
            return flag is meaning
    written = entry.get("type")
    said = f"{description} {written}" if isinstance(written, str) else description
    return "default" not in entry and not _OPTIONAL.search(said)


def _worded(text: str) -> dict[str, Any]:
    """The form `type: description` or `type, optional: description`; text without a type word is a description."""
    word, colon, rest = text.partition(":")
    if read_type(word) is not None and (colon or word.strip()):
        schema = {"type": word.strip(), "description": rest.strip()}
        return {**schema, "optional": True} if _OPTIONAL.search(word) else schema
    return {"description": text.strip()}


def _distinct(parameters: tuple[FunctionParameter, ...], place: Tokens) -> tuple[FunctionParameter, ...]:
    seen: set[str] = set()
    for index, parameter in enumerate(parameters):
        if parameter.name in seen:
            raise FunctionError(format_pointer((*place, str(index), "name")), f"{parameter.name!r} is listed twice")
        seen.add(parameter.name)
    return parameters


def _names(required: object, place: Tokens) -> tuple[str, ...]:
    if required is None or isinstance(required, bool):
        return ()
    if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
        raise FunctionError(format_pointer(place), "must be a list of parameter names")
    return tuple(required)


def _read_object(
    found: Mapping[str, Any], outer: tuple[str, ...], place: Tokens, problems: list[Problem]
) -> tuple[FunctionParameter, ...]:
    """A JSON-Schema-like object; `required` beside it counts as well as inside it."""
    properties = found.get("properties", {})
    if not isinstance(properties, Mapping):
        raise FunctionError(
            format_pointer((*place, "properties")), f"must be an object, not {type(properties).__name__}"
        )
    inner = _names(found.get("required"), (*place, "required"))
    required = (*inner, *outer)
    _check_required(required, tuple(map(str, properties)), (*place, "required"), problems)
    parameters = []
    for name, entry in properties.items():
        here = (*place, "properties", str(name))
        schema = read_schema(entry, here, problems)
        flagged = isinstance(entry, Mapping) and entry.get("required") is True
        parameters.append(
            FunctionParameter(str(name), schema, name in required or flagged, str(schema.get("description", "")))
        )
    return tuple(parameters)


def _check_required(required: tuple[str, ...], known: tuple[str, ...], place: Tokens, problems: list[Problem]) -> None:
    for name in required:
        if name not in known:
            problems.append(Problem(format_pointer(place), f"{name!r} is required but not documented"))


def _documented_url(name: str, parameters: tuple[FunctionParameter, ...]) -> str:
    """The documented default of the URL in documentation of `requests.get`; empty without one."""
    if name.rpartition(".")[0] not in ("requests", "httpx"):
        return ""
    return next((one.default for one in parameters if one.name == "url" and isinstance(one.default, str)), "")


def _read_zoo(raw: Mapping[str, Any], tokens: Tokens) -> Function:
    """An API-zoo entry: `api_call` is a call or `METHOD /path`, `api_arguments` names with `type: description`."""
    call = _text(raw, "api_call", tokens)
    named = _text(raw, "api_name", tokens)
    route = _ROUTE.match(call)
    # A route has a name for people or none, of which a callable is made.
    name = re.sub(r"[^\w.-]+", "_", named or call).strip("_") if route else call.partition("(")[0].strip() or named
    if not name or re.search(r"\s", name):
        raise FunctionError(format_pointer((*tokens, "api_call")), "missing: say how the API is called")
    problems: list[Problem] = []
    path = route[2] if route else ""
    parameters = _read_zoo_arguments(raw.get("api_arguments"), (*tokens, "api_arguments"), problems)
    return Function(
        name=name,
        title=_text(raw, "user_name", tokens) or (named if named != name else ""),
        description=_text(raw, "functionality", tokens) or _text(raw, "description", tokens),
        parameters=tuple(replace(one, required=True) if _is_in(one.name, path) else one for one in parameters),
        dialect="zoo",
        problems=tuple(problems),
    )


def _is_in(name: str, path: str) -> bool:
    """Whether a path template has a variable of this name, written `{name}` or `:name`."""
    return bool(re.search(rf"[{{:]{re.escape(name)}\b", path))


def _read_zoo_arguments(found: object, place: Tokens, problems: list[Problem]) -> tuple[FunctionParameter, ...]:
    readers: dict[type, Callable[[Any, Tokens, list[Problem]], tuple[FunctionParameter, ...]]] = {
        dict: _read_mapping_of_anything,
        list: _read_list,
    }
    if found is None or found == "":
        return ()
    reader = readers.get(type(found))
    if reader is None:
        raise FunctionError(format_pointer(place), f"must be an object or a list, not {type(found).__name__}")
    parameters = reader(found, place, problems)
    # API-zoo entries have no flag: an argument is required if its text says so, or if the path has a variable for it.
    return tuple(replace(one, required=bool(_REQUIRED.search(one.description))) for one in parameters)


def _read_mapping_of_anything(
    found: Mapping[str, Any], place: Tokens, problems: list[Problem]
) -> tuple[FunctionParameter, ...]:
    """Some entries give an example value instead of a description; it is kept as the example."""
    shaped = {name: entry if isinstance(entry, str | Mapping) else {"example": entry} for name, entry in found.items()}
    return _read_mapping(shaped, place, problems)
