"""From a request back to its operation: addresses matched to path templates, texts read by parameter style."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from restgpt.specs.operation import Operation
from restgpt.specs.parameter import Parameter
from restgpt.specs.problem import SpecError
from restgpt.tools.request.arguments import coerce, properties_of, types_of

_VARIABLE = re.compile(r"\{([^{}]+)\}")
_SEPARATORS = {"form": ",", "spaceDelimited": " ", "pipeDelimited": "|", "tabDelimited": "\t"}

Pairs = Mapping[str, Sequence[Any]]


@dataclass(frozen=True, slots=True)
class Route:
    """An operation and the still encoded texts of its path variables."""

    operation: Operation
    variables: Mapping[str, str]


def find_route(method: str, url: str, operations: Iterable[Operation]) -> Route | None:
    """The operation that a method and an address belong to; literal paths win over variables.

    Where a document has several at one address, the fragment of the address, which is never sent, names the one.
    """
    named = url.partition("#")[2]
    best: tuple[tuple[int, ...], Route] | None = None
    for operation in operations:
        if operation.method != method.upper():
            continue
        variables = _match(operation, url)
        if variables is None:
            continue
        rank = (int(named not in operation.ids), *_rank(operation.path))
        if best is None or rank < best[0]:
            best = (rank, Route(operation, variables))
    return best[1] if best else None


def _match(operation: Operation, url: str) -> dict[str, str] | None:
    template = operation.path.partition("#")[0].partition("?")[0]
    address = url.partition("#")[0].partition("?")[0]
    # This test sorts out most operations before their servers are read and a pattern is compiled.
    if template.partition("{")[0] not in unquote(address):
        return None
    try:
        base = operation.base_url.rstrip("/")
    except SpecError:
        return None
    if not address.startswith(base):
        return None
    rest = address[len(base) :]
    # A value never spans segments: an escaped slash stays escaped in the address.
    if rest.count("/") != template.count("/"):
        return None
    names = [match[1] for match in _VARIABLE.finditer(template)]
    pattern = "(.*?)".join(re.escape(part) for part in _VARIABLE.split(template)[::2])
    found = re.fullmatch(pattern, rest) or re.fullmatch(pattern, unquote(rest, errors="surrogateescape"))
    return dict(zip(names, found.groups(), strict=True)) if found else None


def _rank(path: str) -> tuple[int, ...]:
    """The rank of a path: segments with variables come after literal ones, by OpenAPI's rule for path templating."""
    return tuple(len(_VARIABLE.findall(segment)) for segment in path.split("/"))


def read_path(route: Route) -> dict[str, Any]:
    """The values of the path variables, in the types of their schemas."""
    declared = {one.name: one for one in route.operation.parameters if one.location == "path"}
    return {
        name: _read_delimited(route.operation, declared[name], text) if name in declared else unquote(text)
        for name, text in route.variables.items()
    }


def _read_delimited(operation: Operation, parameter: Parameter, text: str) -> Any:
    """An encoded path value: split at the delimiters of its style first, unescaped then."""
    schema = operation.json_schema(parameter.schema, request=True)
    if parameter.content_type is not None:
        return _typed(unquote(text), schema)
    kinds = types_of(schema, schema) or frozenset()
    prefix, joiner = {"label": (".", "."), "matrix": (";", ";")}.get(parameter.style, ("", ","))
    bare = text.removeprefix(prefix)
    if parameter.style == "matrix" and not (parameter.explode and "object" in kinds):
        names = re.compile(rf"(?:^|;){re.escape(parameter.name)}=")
        bare, joiner = names.sub(";" if parameter.explode else "", bare).lstrip(";"), ";" if parameter.explode else ","
    elif parameter.style == "label" and not parameter.explode:
        joiner = ","
    if "array" in kinds and "string" not in kinds:
        return _typed([unquote(part) for part in bare.split(joiner)], schema)
    if "object" in kinds and "string" not in kinds:
        return _typed(_read_pairs(bare, joiner if parameter.explode else ",", parameter.explode), schema)
    return _typed(unquote(bare), schema)


def _read_pairs(text: str, joiner: str, exploded: bool) -> dict[str, Any]:
    parts = text.split(joiner)
    if exploded:
        pairs = [part.partition("=") for part in parts]
        return {unquote(name): unquote(value) for name, _, value in pairs}
    return {unquote(name): unquote(value) for name, value in zip(parts[::2], parts[1::2], strict=False)}


def read_query(operation: Operation, given: Pairs) -> dict[str, Any]:
    """The values of the query parameters out of decoded names and values; what no parameter explains stays as it is."""
    left = dict(given)
    found: dict[str, Any] = {}
    listed = [one for one in operation.parameters if one.location == "query"]
    for parameter in sorted(listed, key=lambda one: one.name not in left):
        value = _take_query(operation, parameter, left)
        if value is not None:
            found[parameter.name] = value
    for parameter in (one for one in operation.parameters if one.location == "querystring"):
        if left:
            found[parameter.name] = {
                name: values[0] if len(values) == 1 else list(values) for name, values in left.items()
            }
            left = {}
    extra = {name: values[0] if len(values) == 1 else list(values) for name, values in left.items()}
    order = [parameter.name for parameter in listed]
    return dict(sorted(found.items(), key=lambda item: order.index(item[0]) if item[0] in order else 0)) | extra


def _take_query(operation: Operation, parameter: Parameter, left: dict[str, Sequence[Any]]) -> Any:
    schema = operation.json_schema(parameter.schema, request=True)
    kinds = types_of(schema, schema) or frozenset()
    name = parameter.name
    if name in left:
        return _read_values(parameter, left.pop(name), schema, kinds)
    if f"{name}[]" in left:
        return _typed(list(left.pop(f"{name}[]")), schema)
    nested = {key: values for key, values in left.items() if key.startswith(f"{name}[")}
    if nested:
        for key in nested:
            del left[key]
        return _typed(_unnested(name, nested), schema)
    exploded = _take_exploded(operation, parameter, {key: _one(values) for key, values in left.items()})
    for key in exploded or {}:
        left.pop(key, None)
    return exploded


def _one(values: Sequence[Any]) -> Any:
    return values[0] if len(values) == 1 else list(values)


def _take_exploded(operation: Operation, parameter: Parameter, left: dict[str, Any]) -> Any:
    """The object whose properties were written as names of their own, or None; they are taken out of `left`."""
    schema = operation.json_schema(parameter.schema, request=True)
    kinds = types_of(schema, schema) or frozenset()
    if not (parameter.explode and parameter.style == "form" and kinds and kinds <= {"object", "null"}):
        return None
    known = [key for key in properties_of(schema, schema) if key in left]
    return _typed({key: left.pop(key) for key in known}, schema) if known else None


def _read_values(parameter: Parameter, values: Sequence[Any], schema: Any, kinds: frozenset[str]) -> Any:
    if len(values) == 1 and not isinstance(values[0], str):
        is_list = "array" in kinds and not isinstance(values[0], list)
        return list(values) if is_list else values[0]
    if parameter.content_type is not None:
        return _typed(values[0], schema)
    if "array" in kinds and "string" not in kinds:
        is_joined = len(values) == 1 and not parameter.explode
        separator = _SEPARATORS.get(parameter.style, ",")
        return _typed(values[0].split(separator) if is_joined else list(values), schema)
    if "object" in kinds and "string" not in kinds and len(values) == 1 and not parameter.explode:
        parts = str(values[0]).split(_SEPARATORS.get(parameter.style, ","))
        return _typed(dict(zip(parts[::2], parts[1::2], strict=False)), schema)
    return _typed(values[0] if len(values) == 1 else list(values), schema)


def _unnested(name: str, given: Mapping[str, Sequence[Any]]) -> Any:
    """The object that `name[a][b]=…` pairs denote; numbers as all keys of a level make a list."""
    root: dict[str, Any] = {}
    for key, values in given.items():
        steps = re.findall(r"\[([^\]]*)\]", key[len(name) :])
        is_list = bool(steps) and steps[-1] == ""
        steps = steps[:-1] if is_list else steps
        node = root
        for step in steps[:-1]:
            node = node.setdefault(step, {})
        value = list(values) if is_list or len(values) > 1 else values[0]
        if not steps:
            return value
        node[steps[-1]] = value
    return _listed(root)


def _listed(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    shaped = {key: _listed(part) for key, part in value.items()}
    if shaped and set(shaped) == {str(number) for number in range(len(shaped))}:
        return [shaped[str(number)] for number in range(len(shaped))]
    return shaped


def read_texts(operation: Operation, place: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The values of header or cookie parameters out of their texts; names of headers are the same in any case."""
    declared = {one.name.lower(): one for one in operation.parameters if one.location == place}
    found: dict[str, Any] = {}
    left = dict(given)
    if place == "cookie":
        for cookie in declared.values():
            value = _take_exploded(operation, cookie, left)
            if value is not None:
                found[cookie.name] = value
    for name, text in left.items():
        parameter = declared.get(name.lower())
        if parameter is None:
            found[name] = text
            continue
        schema = operation.json_schema(parameter.schema, request=True)
        found[parameter.name] = _read_text(parameter, text, schema)
    return found


def _read_text(parameter: Parameter, text: Any, schema: Any) -> Any:
    if not isinstance(text, str) or parameter.content_type is not None:
        return _typed(text, schema)
    kinds = types_of(schema, schema) or frozenset()
    if "string" in kinds:
        return text
    if "array" in kinds:
        return _typed([part.strip() for part in text.split(",")], schema)
    if "object" in kinds:
        return _typed(_read_pairs(text, ",", parameter.explode), schema)
    return _typed(text, schema)


def _typed(value: Any, schema: Any) -> Any:
    """A text in the type that its schema asks for; JSON text of a `content` parameter is decoded."""
    shaped = coerce(value, schema, schema)
    if isinstance(shaped, str) and types_of(schema, schema) is None and shaped[:1] in "{[":
        try:
            return json.loads(shaped)
        except ValueError:
            return shaped
    return shaped
