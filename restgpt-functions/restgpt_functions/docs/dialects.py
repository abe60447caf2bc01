"""Readers for the dialects in which functions are documented, each to the canonical `Function`.

Title with `api_call` or `api_name` and a parameter list; JSON-Schema-like `parameters` with the type words of the
function-calling leaderboard; OpenAI, Anthropic and MCP tools; API-zoo entries; `requests.get` documentation.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from restgpt.tools.request.arguments import pointer_part
from restgpt_functions.docs.function import Function, FunctionError, FunctionParameter
from restgpt_functions.docs.type_names import read_schema, read_type

Parameters = tuple[FunctionParameter, ...]

SCHEMAS = ("parameters", "input_schema", "inputSchema")
"""The keys under which tools have their parameters."""

_ROUTE = re.compile(r"^\s*(?:get|post|put|patch|delete|head|options)\s+(\S+)\s*$", re.IGNORECASE)
_OPTIONAL = re.compile(r"\boptional\b", re.IGNORECASE)
_REQUIRED = re.compile(r"\brequired\b", re.IGNORECASE)


def read_function(raw: object, *, pointer: str = "") -> Function:
    """Read one documented function in whichever dialect it is written.

    Raises `FunctionError` naming the field when it cannot be read.
    """
    if not isinstance(raw, Mapping):
        raise FunctionError(pointer, f"a function must be documented by an object, not {type(raw).__name__}")
    if isinstance(raw.get("function"), Mapping):
        return read_function(raw["function"], pointer=f"{pointer}/function")
    if "api_arguments" in raw or "functionality" in raw:
        return _read_zoo(raw, pointer)
    called = _text(raw, "api_call", pointer) or _text(raw, "api_name", pointer)
    title = _text(raw, "name", pointer)
    name = called.partition("(")[0].strip() or title
    if not name:
        raise FunctionError(f"{pointer}/name", "missing: say what the function is called")
    if re.search(r"[\s(),=\"']", name):
        key = "api_call" if called else "name"
        raise FunctionError(f"{pointer}/{key}", f"{name!r} cannot be called; write a dotted name")
    key = next((key for key in SCHEMAS if key in raw), "parameters")
    schema = raw[key] if isinstance(raw.get(key), Mapping) else {}
    parameters = _read_parameters(raw.get(key), _names(raw.get("required"), f"{pointer}/required"), f"{pointer}/{key}")
    return Function(
        name=name,
        title=title if title != name else "",
        description=_text(raw, "description", pointer),
        parameters=parameters,
        closed=schema.get("additionalProperties") is not True,
        definitions=read_schema({"$defs": {**_mapping(schema, "definitions"), **_mapping(schema, "$defs")}})["$defs"],
        url=_documented_url(name, parameters),
    )


def _text(raw: Mapping[str, Any], key: str, pointer: str) -> str:
    value = raw.get(key)
    if value is not None and not isinstance(value, str):
        raise FunctionError(f"{pointer}/{key}", f"must be text, not {type(value).__name__}")
    return (value or "").strip()


def _mapping(schema: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = schema.get(key)
    return found if isinstance(found, Mapping) else {}


def _names(required: object, pointer: str) -> tuple[str, ...]:
    if required is None or isinstance(required, bool):
        return ()
    if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
        raise FunctionError(pointer, "must be a list of parameter names")
    return tuple(required)


def _documented_url(name: str, parameters: Parameters) -> str:
    """The documented default of the URL in documentation of `requests.get`; empty without one."""
    if name.rpartition(".")[0] not in ("requests", "httpx"):
        return ""
    found = next((one.schema.get("default") for one in parameters if one.name == "url"), None)
    return found if isinstance(found, str) else ""


def _read_parameters(found: object, required: tuple[str, ...], pointer: str) -> Parameters:
    """Parameters as a list, as two lists, as a schema or as a mapping; `required` are names listed beside them."""
    if not found:
        return ()
    if isinstance(found, Sequence) and not isinstance(found, str):
        return _read_list(found, pointer)
    if not isinstance(found, Mapping):
        raise FunctionError(pointer, f"must be a list or an object, not {type(found).__name__}")
    if found.keys() <= {"required", "optional"} and all(_has_objects(part) for part in found.values()):
        needed, others = (_read_list(found.get(key, []), f"{pointer}/{key}") for key in ("required", "optional"))
        return (*(replace(one, required=True) for one in needed), *(replace(one, required=False) for one in others))
    if "properties" in found or isinstance(found.get("type"), str):
        return _read_object(found, required, pointer)
    return tuple(_one(str(name), entry, f"{pointer}/{pointer_part(str(name))}") for name, entry in found.items())


def _has_objects(part: object) -> bool:
    return isinstance(part, list) and all(isinstance(entry, Mapping) for entry in part)


def _read_list(found: Iterable[Any], pointer: str) -> Parameters:
    """A list of parameters; one without a flag is required unless it has a default or its text says optional."""
    parameters = []
    for index, entry in enumerate(found):
        here = f"{pointer}/{index}"
        entry = {"name": entry} if isinstance(entry, str) else entry
        if not isinstance(entry, Mapping):
            raise FunctionError(here, f"a parameter must be an object, not {type(entry).__name__}")
        name = entry.get("name")
        if not isinstance(name, str) or not name.strip():
            raise FunctionError(f"{here}/name", "missing: a parameter needs a name")
        parameters.append(_one(name.strip(), {key: entry[key] for key in entry if key != "name"}, here))
        if parameters[-1].name in [one.name for one in parameters[:-1]]:
            raise FunctionError(f"{here}/name", f"{name!r} is listed twice")
    return tuple(parameters)


def _one(name: str, entry: object, pointer: str) -> FunctionParameter:
    """A parameter documented on its own, with its flag beside its type."""
    if isinstance(entry, str):
        entry = _worded(entry)
    if not isinstance(entry, Mapping):
        raise FunctionError(pointer, f"a parameter must be an object or text, not {type(entry).__name__}")
    schema = read_schema({**_mapping(entry, "schema"), **entry})
    flags = [str(entry.get(key)).lower() for key in ("required", "optional")]
    if "true" in flags or "false" in flags:
        return FunctionParameter(name, schema, flags[0] == "true" or (flags[0] != "false" and flags[1] == "false"))
    is_optional = "default" in entry or _OPTIONAL.search(f"{schema.get('description')} {entry.get('type')}")
    return FunctionParameter(name, schema, not is_optional)


def _worded(text: str) -> dict[str, Any]:
    """The form `type: description` or `type, optional: description`; text without a type word is a description."""
    word, colon, rest = text.partition(":")
    if read_type(word) is None or not (colon or word.strip()):
        return {"description": text.strip()}
    return {"type": word.strip(), "description": rest.strip(), **({"optional": True} if _OPTIONAL.search(word) else {})}


def _read_object(found: Mapping[str, Any], outer: tuple[str, ...], pointer: str) -> Parameters:
    """A JSON-Schema-like object; `required` beside it counts as well as inside it."""
    properties = found.get("properties", {})
    if not isinstance(properties, Mapping):
        raise FunctionError(f"{pointer}/properties", f"must be an object, not {type(properties).__name__}")
    required = (*_names(found.get("required"), f"{pointer}/required"), *outer)
    flagged = [name for name in properties if _mapping(properties, name).get("required") is True]
    return tuple(
        FunctionParameter(str(name), read_schema(entry), name in required or name in flagged)
        for name, entry in properties.items()
    )


def _read_zoo(raw: Mapping[str, Any], pointer: str) -> Function:
    """An API-zoo entry: `api_call` is a call or `METHOD /path`, `api_arguments` names with `type: description`.

    It has no flags: an argument is required if its text says so, or if the path has a variable `{name}` or `:name`.
    """
    call, named = _text(raw, "api_call", pointer), _text(raw, "api_name", pointer)
    route = _ROUTE.match(call)
    # A route has a name for people or none, of which a callable is made.
    name = re.sub(r"[^\w.-]+", "_", named or call).strip("_") if route else call.partition("(")[0].strip() or named
    if not name or re.search(r"\s", name):
        raise FunctionError(f"{pointer}/api_call", "missing: say how the API is called")
    path = route[1] if route else ""
    return Function(
        name=name,
        title=_text(raw, "user_name", pointer) or (named if named != name else ""),
        description=_text(raw, "functionality", pointer) or _text(raw, "description", pointer),
        parameters=tuple(
            replace(
                one,
                required=bool(re.search(rf"[{{:]{re.escape(one.name)}\b", path) or _REQUIRED.search(one.description)),
            )
            for one in _read_zoo_arguments(raw.get("api_arguments") or {}, f"{pointer}/api_arguments")
        ),
    )


def _read_zoo_arguments(found: object, pointer: str) -> Parameters:
    """The arguments as a list or a mapping; some entries give an example value instead of a description."""
    if isinstance(found, list):
        return _read_list(found, pointer)
    if not isinstance(found, Mapping):
        raise FunctionError(pointer, f"must be an object or a list, not {type(found).__name__}")
    return tuple(
        _one(str(name), entry if isinstance(entry, str | Mapping) else {"example": entry}, pointer)
        for name, entry in found.items()
    )
