"""REST calls as `requests.<method>(url=…, params=…, headers=…, json=…)`, as prepared requests, and back.

The call string is what the `requests` library would take: texts and numbers where they are sent as such, each value in
its place. Both forms come from the agent's request builder, so they cannot differ.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, unquote

from restgpt.functions.calls.call import Call, CallSyntaxError, Variable, to_plain
from restgpt.functions.calls.operations import BODIES, grouped, operation_of
from restgpt.functions.calls.routes import Route, find_route, read_path, read_query, read_texts
from restgpt.functions.docs.function import Function
from restgpt.specs.docs.example import minimal_arguments
from restgpt.specs.operation import Operation
from restgpt.tools.errors import ArgumentError
from restgpt.tools.request.body import kind_of
from restgpt.tools.request.build import PreparedRequest, build_request
from restgpt.tools.request.files import FilePolicy
from restgpt.tools.request.serialization import scalar

_FILE = re.compile(r"open\((['\"])(.*)\1(?:, *(['\"])rb\3)?\)", re.DOTALL)
_NEGOTIATED = ("accept", "content-type")
_LIBRARIES = ("requests", "httpx")


@dataclass(frozen=True, slots=True)
class RestCall:
    """An operation and its arguments, grouped by place."""

    operation: Operation
    arguments: Mapping[str, Any]


def rest_call(call: Call, functions: Sequence[Function], *, base_url: str | None = None) -> RestCall:
    """Resolve a call of a REST function, or a `requests.<method>(…)` call, to its operation and grouped arguments.

    Raises `ValueError` for a call that fits no REST function, `FunctionError` for documentation without a URL.
    """
    if _is_library(call.name):
        return from_requests_call(call, _operations(call, functions, base_url))
    function = next((one for one in functions if one.name == call.name and one.is_rest), None)
    if function is None:
        raise ValueError(f"{call.name} is not a documented HTTP call")
    operation = operation_of(function, base_url=base_url)
    return RestCall(operation, grouped(function, to_plain(dict(call.arguments)), operation))


def _is_library(name: str) -> bool:
    return name.rpartition(".")[0] in _LIBRARIES


def _operations(call: Call, functions: Sequence[Function], base_url: str | None) -> list[Operation]:
    """The operations that a `requests` call may mean; documentation without a URL gets the URL of the call."""
    url = call.arguments.get("url")
    found = []
    for function in functions:
        if function.is_rest and (function.dialect != "requests" or function.name == call.name):
            found.append(operation_of(function, url=url if isinstance(url, str) else "", base_url=base_url))
    return found


def prepare_call(
    call: Call, functions: Sequence[Function], *, base_url: str | None = None, files: FilePolicy | None = None
) -> PreparedRequest:
    """The request that a call denotes; raises as `rest_call` and `build_request` do."""
    resolved = rest_call(call, functions, base_url=base_url)
    return build_request(resolved.operation, resolved.arguments, files=files)


def to_requests_call(call: Call, functions: Sequence[Function], *, base_url: str | None = None) -> Call:
    """A call of a REST function as a `requests.<method>(…)` call."""
    resolved = rest_call(call, functions, base_url=base_url)
    return requests_call(resolved.operation, resolved.arguments)


def requests_call(operation: Operation, arguments: Mapping[str, Any], *, files: FilePolicy | None = None) -> Call:
    """An operation with its arguments as a `requests.<method>(…)` call; raises `ArgumentError` as the builder does."""
    with_files = _has_files(arguments.get("body"))
    # Files are named in the call, not read for it: their content is no part of the call string.
    shape = {key: value for key, value in arguments.items() if key != "body"} if with_files else dict(arguments)
    request = _build(operation, shape, files, with_files)
    url, _, query = request.url.partition("?")
    written: dict[str, Any] = {"url": _named(url, operation)}
    if query:
        written["params"] = _params(operation, query, arguments.get("query") or {})
    headers = _headers(request, arguments.get("header") or {})
    if headers:
        written["headers"] = headers
    cookies = next((text for name, text in request.headers.items() if name == "Cookie"), "")
    if cookies:
        pairs = (pair.partition("=") for pair in cookies.split("; "))
        written["cookies"] = {name: unquote(value) for name, _, value in pairs}
    if arguments.get("body") is not None:
        written |= _body(request, arguments["body"], with_files)
    return Call(f"requests.{request.method.lower()}", written)


def _named(url: str, operation: Operation) -> str:
    """The address, with the operation in its fragment where the document has another at the same address."""
    route = find_route(operation.method, url, operation.api.operations)
    return url if route is not None and route.operation is operation else f"{url}#{operation.name}"


def _build(
    operation: Operation, arguments: Mapping[str, Any], files: FilePolicy | None, with_files: bool
) -> PreparedRequest:
    """Build the request; a body that names files is checked by the builder when the request itself is built."""
    try:
        return build_request(operation, arguments, files=files)
    except ArgumentError as error:
        if not with_files or any(problem.pointer != "/body" for problem in error.problems):
            raise
    example = minimal_arguments(operation).get("body")
    return build_request(operation, {**arguments, "body": example}, files=files)


def _has_files(body: Any) -> bool:
    if isinstance(body, Mapping):
        return "@file" in body or any(_has_files(part) for part in body.values())
    return isinstance(body, list) and any(_has_files(part) for part in body)


def _params(operation: Operation, query: str, given: Mapping[str, Any]) -> Any:
    """The query as decoded names and values; numbers stay numbers where they are sent as the same text."""
    pairs = parse_qsl(query, keep_blank_values=True)
    texts: dict[str, list[str]] = {}
    for name, text in pairs:
        texts.setdefault(name, []).append(text)
    if not pairs:
        return unquote(query)
    shaped: dict[str, Any] = {}
    for name, found in texts.items():
        value = given.get(name)
        if _is_sent_as(value, found):
            shaped[name] = value
        else:
            shaped[name] = found[0] if len(found) == 1 else found
    return shaped


def _is_sent_as(value: Any, texts: Sequence[str]) -> bool:
    """Whether the `requests` library would send a value as exactly these texts."""
    if isinstance(value, list):
        return bool(value) and [_plain(part) for part in value] == list(texts)
    return len(texts) == 1 and _plain(value) == texts[0]


def _plain(value: Any) -> str | None:
    return scalar(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else None


def _headers(request: PreparedRequest, given: Mapping[str, Any]) -> dict[str, str]:
    """The headers of parameters, and Accept and Content-Type only if the arguments or the body need them."""
    asked = {name.lower() for name in given}
    content_type = next((text for name, text in request.headers.items() if name.lower() == "content-type"), "")
    implied = ("application/json", "application/x-www-form-urlencoded")
    needed = bool(content_type) and content_type not in implied and not content_type.startswith("multipart/")
    return {
        name: text
        for name, text in request.headers.items()
        if name != "Cookie"
        and (name.lower() not in _NEGOTIATED or name.lower() in asked or (needed and name.lower() == "content-type"))
    }


def _body(request: PreparedRequest, body: Any, with_files: bool) -> dict[str, Any]:
    content_type = next((text for name, text in request.headers.items() if name.lower() == "content-type"), "")
    is_fields = isinstance(body, Mapping) and "@file" not in body
    kind = "multipart" if with_files else kind_of(content_type) if content_type else "json"
    if kind == "json":
        return {"json": body}
    if kind == "multipart" and is_fields:
        return {"files": {name: _part(value) for name, value in body.items()}}
    return {"data": _file(body) if isinstance(body, Mapping) and "@file" in body else body}


def _part(value: Any) -> Any:
    """A field of a multipart body: a file that is opened, or a value without a file name."""
    if isinstance(value, Mapping) and "@file" in value:
        return _file(value)
    return (None, value)


def _file(value: Mapping[str, Any]) -> Variable:
    return Variable(f"open({str(value['@file'])!r}, 'rb')")


def from_requests_call(call: Call, operations: Iterable[Operation]) -> RestCall:
    """The operation and grouped arguments that a `requests.<method>(…)` call means.

    Raises `CallSyntaxError` when it is no such call, or when no operation has its method and address.
    """
    library, _, method = call.name.rpartition(".")
    url = call.arguments.get("url", call.positional[0] if call.positional else None)
    if library not in _LIBRARIES or not isinstance(url, str):
        raise CallSyntaxError(f"{call.name} is not requests.<method>(url=…)")
    route = find_route(method, url, operations)
    if route is None:
        raise CallSyntaxError(f"no operation answers {method.upper()} {url.partition('?')[0]}")
    return RestCall(route.operation, _arguments(route, url, call.arguments))


def _arguments(route: Route, url: str, given: Mapping[str, Any]) -> dict[str, Any]:
    operation = route.operation
    found: dict[str, Any] = {}
    query = read_query(operation, _pairs(url, given.get("params")))
    groups = {
        "path": read_path(route),
        "query": query,
        "header": read_texts(operation, "header", given.get("headers") or {}),
        "cookie": read_texts(operation, "cookie", given.get("cookies") or {}),
    }
    for place, values in groups.items():
        if values:
            found[place] = values
    for keyword in BODIES:
        if given.get(keyword) is not None:
            found["body"] = _read_body(given[keyword], found.get("body"))
    return _without_implied(operation, found)


def _pairs(url: str, params: Any) -> dict[str, list[Any]]:
    """The query of the address and the `params` together, as values by name."""
    pairs: dict[str, list[Any]] = {}
    for name, text in parse_qsl(url.partition("?")[2].partition("#")[0], keep_blank_values=True):
        pairs.setdefault(name, []).append(text)
    if isinstance(params, str):
        params = dict(parse_qsl(params, keep_blank_values=True)) or {params: ""}
    for name, value in (params or {}).items():
        if value is not None:
            pairs.setdefault(str(name), []).extend(value if isinstance(value, list | tuple) else [value])
    return pairs


def _read_body(value: Any, other: Any) -> Any:
    if isinstance(value, Mapping):
        shaped = {name: _read_part(part) for name, part in value.items()}
        return {**other, **shaped} if isinstance(other, Mapping) else shaped
    return _read_part(value)


def _read_part(value: Any) -> Any:
    if isinstance(value, Variable) and (match := _FILE.fullmatch(value.text)):
        return {"@file": match[2].encode().decode("unicode_escape") if "\\" in match[2] else match[2]}
    if isinstance(value, tuple) and len(value) == 2 and value[0] is None:
        return value[1]
    return value


def _without_implied(operation: Operation, arguments: dict[str, Any]) -> dict[str, Any]:
    """Drop a Content-Type that the builder would choose by itself."""
    header = arguments.get("header", {})
    name = next((one for one in header if one.lower() == "content-type"), None)
    if name is None:
        return arguments
    rest = {key: value for key, value in header.items() if key != name}
    without = {key: value for key, value in arguments.items() if key != "header"} | ({"header": rest} if rest else {})
    try:
        request = build_request(operation, without)
    except ArgumentError:
        return arguments
    chosen = next((text for key, text in request.headers.items() if key.lower() == "content-type"), "")
    return without if chosen == header[name] else arguments
