"""Calls of operations as `requests.<method>(url=…, params=…, headers=…, json=…)`, and as prepared requests.

The call string is what the `requests` library would take: texts and numbers where they are sent as such, each value in
its place. Both forms come from the agent's request builder, so they cannot differ.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qs, unquote

from restgpt.specs.operation import Operation
from restgpt.tools.errors import ArgumentError
from restgpt.tools.request.body import kind_of
from restgpt.tools.request.prepared_request import PreparedRequest, build_request
from restgpt.tools.request.serialization import scalar
from restgpt_functions.calls.call import Call, to_plain
from restgpt_functions.docs.function import Function

_IMPLIED = ("application/json", "application/x-www-form-urlencoded")
"""The content types that the `requests` library writes by itself, beside those of files."""


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
        written["params"] = _params(query, arguments.get("query") or {})
    if headers := _headers(request, arguments.get("header") or {}):
        written["headers"] = headers
    if cookies := request.headers.get("Cookie"):
        pairs = (pair.partition("=") for pair in cookies.split("; "))
        written["cookies"] = {name: unquote(value) for name, _, value in pairs}
    if arguments.get("body") is not None:
        written |= _body(request, arguments["body"])
    return Call(f"requests.{request.method.lower()}", written)


def _params(query: str, given: Mapping[str, Any]) -> Any:
    """The query as decoded names and values; numbers stay numbers where they are sent as the same text."""
    texts = parse_qs(query, keep_blank_values=True)
    return {name: _param(given.get(name), found) for name, found in texts.items()} or unquote(query)


def _param(value: Any, texts: list[str]) -> Any:
    """The value if the `requests` library would send it as exactly these texts, else the texts."""
    parts = value if isinstance(value, list) else [value]
    is_plain = all(isinstance(part, str | int | float) and not isinstance(part, bool) for part in parts)
    if is_plain and [scalar(part) for part in parts] == texts:
        return value
    return texts[0] if len(texts) == 1 else texts


def _content_type(request: PreparedRequest) -> str:
    return next((text for name, text in request.headers.items() if name.lower() == "content-type"), "")


def _headers(request: PreparedRequest, given: Mapping[str, Any]) -> dict[str, str]:
    """The headers of parameters, and Accept and Content-Type only if the arguments or the body need them."""
    media = _content_type(request)
    is_implied = media in _IMPLIED or media.startswith("multipart/")
    negotiated = {"accept", *(["content-type"] if is_implied else [])} - {name.lower() for name in given}
    return {name: text for name, text in request.headers.items() if name.lower() not in {"cookie", *negotiated}}


def _body(request: PreparedRequest, body: Any) -> dict[str, Any]:
    content_type = _content_type(request)
    kind = kind_of(content_type) if content_type else "json"
    if kind == "multipart" and isinstance(body, Mapping):
        return {"files": {name: (None, value) for name, value in body.items()}}
    return {"json" if kind == "json" else "data": body}
