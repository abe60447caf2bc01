"""Calls of operations as `requests.<method>(url=…, params=…, headers=…, json=…)`, and as prepared requests.

The call string is what the `requests` library would take: texts and numbers where they are sent as such, each value in
its place. Both forms come from the agent's request builder, so they cannot differ.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl, unquote

from restgpt.specs.operation import Operation
from restgpt.tools.errors import ArgumentError
from restgpt.tools.request.body import kind_of
from restgpt.tools.request.build import PreparedRequest, build_request
from restgpt.tools.request.serialization import scalar
from restgpt_functions.calls.call import Call, to_plain
from restgpt_functions.docs.function import Function

_NEGOTIATED = ("accept", "content-type")


def operation_of(call: Call, functions: Sequence[Function]) -> Operation | None:
    """The operation that a call names; None if its function is no operation of an API."""
    return next((one.operation for one in functions if one.name == call.name and one.operation is not None), None)


def shown_requests(calls: Iterable[Call], functions: Sequence[Function]) -> list[dict[str, Any]]:
    """The redacted requests of the calls of operations, or the reason why a placeholder does not fit into one."""
    found = []
    for call in calls:
        operation = operation_of(call, functions)
        if operation is None:
            continue
        try:
            found.append(build_request(operation, to_plain(dict(call.arguments))).shown())
        except ArgumentError as error:
            found.append({"operation": call.name, "error": str(error)})
    return found


def to_requests_call(call: Call, functions: Sequence[Function]) -> Call:
    """A call of an operation as a `requests.<method>(…)` call, and any other call as it is."""
    operation = operation_of(call, functions)
    return call if operation is None else requests_call(operation, to_plain(dict(call.arguments)))


def requests_call(operation: Operation, arguments: Mapping[str, Any]) -> Call:
    """An operation with its arguments as a `requests.<method>(…)` call; raises `ArgumentError` as the builder does."""
    request = build_request(operation, arguments)
    url, _, query = request.url.partition("?")
    written: dict[str, Any] = {"url": url}
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
        written |= _body(request, arguments["body"])
    return Call(f"requests.{request.method.lower()}", written)


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


def _body(request: PreparedRequest, body: Any) -> dict[str, Any]:
    content_type = next((text for name, text in request.headers.items() if name.lower() == "content-type"), "")
    kind = kind_of(content_type) if content_type else "json"
    if kind == "multipart" and isinstance(body, Mapping):
        return {"files": {name: (None, value) for name, value in body.items()}}
    return {"json" if kind == "json" else "data": body}
