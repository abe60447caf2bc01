"""Finds the operation of the document that a request addresses, and decodes its arguments."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, unquote

from restgpt.specs import Operation
from restgpt_bench.worlds.exchange import Call, Json, RefusalError, Reply

Handler = Callable[[Any, Call], "Reply | Json"]


class Routes(dict[str, Handler]):
    """Handlers by "METHOD /template"; a handler takes the world's state and the call, and returns JSON or a Reply."""

    def on(self, operation: str) -> Callable[[Handler], Handler]:
        """Register the decorated function for `operation`; raises ValueError if that is taken."""

        def register(handler: Handler) -> Handler:
            if operation in self:
                raise ValueError(f"{operation} has two handlers")
            self[operation] = handler
            return handler

        return register


@dataclass(frozen=True, slots=True)
class Route:
    """An operation of the document, cut into path segments."""

    operation: Operation
    segments: tuple[str, ...]

    @property
    def key(self) -> str:
        """The operation as "METHOD /template"."""
        return f"{self.operation.method} {self.operation.path}"

    def match(self, segments: tuple[str, ...]) -> dict[str, str] | None:
        """The path arguments if `segments` fit, else None."""
        found: dict[str, str] = {}
        for expected, given in zip(self.segments, segments, strict=True):
            if _is_parameter(expected):
                found[expected[1:-1]] = given
            elif expected != given:
                return None
        return found


class Router:
    """All routes of a document; literal paths win over templates."""

    def __init__(self, operations: Iterable[Operation]) -> None:
        self._routes: dict[int, list[Route]] = {}
        for operation in operations:
            route = Route(operation, _segments(operation.path))
            self._routes.setdefault(len(route.segments), []).append(route)
        for routes in self._routes.values():
            routes.sort(key=lambda route: [_is_parameter(segment) for segment in route.segments])

    def find(self, method: str, path: str) -> tuple[Route, dict[str, str]]:
        """The route and raw path arguments of a percent-encoded path; RefusalError 404 or 405 if none matches."""
        segments = tuple(unquote(segment) for segment in _segments(path))
        matches = [
            (route, arguments)
            for route in self._routes.get(len(segments), [])
            if (arguments := route.match(segments)) is not None
        ]
        for route, arguments in matches:
            if route.operation.method == method:
                return route, arguments
        if matches:
            allowed = ", ".join(sorted({route.operation.method for route, _ in matches}))
            raise RefusalError(405, f"The method {method} is not allowed here.", headers={"Allow": allowed})
        raise RefusalError(404, "The resource you requested could not be found.")


def decode_path(route: Route, raw: Mapping[str, str]) -> dict[str, Any]:
    """Path arguments by their schemas; RefusalError 404 where a value cannot be one."""
    schemas = {item.name: item.schema for item in route.operation.parameters if item.location == "path"}
    try:
        return {name: _decode(value, schemas.get(name, {})) for name, value in raw.items()}
    except ValueError as error:
        raise RefusalError(404, "The resource you requested could not be found.") from error


def decode_query(route: Route, query: str, *, invalid_status: int) -> dict[str, Any]:
    """Query arguments by their schemas, defaults filled in; RefusalError `invalid_status` names each bad one."""
    raw = parse_query(query)
    found: dict[str, Any] = {}
    problems: list[str] = []
    for parameter in route.operation.parameters:
        if parameter.location != "query":
            continue
        if parameter.name not in raw:
            if parameter.required:
                problems.append(f"{parameter.name} must be provided")
            elif "default" in parameter.schema:
                found[parameter.name] = parameter.schema["default"]
            continue
        try:
            found[parameter.name] = _decode(raw.pop(parameter.name), parameter.schema)
        except ValueError as error:
            problems.append(f"{parameter.name} {error}")
    if problems:
        raise RefusalError(invalid_status, problems[0], details=tuple(problems))
    return {**raw, **found}


def parse_query(query: str) -> dict[str, Any]:
    """A query string as a mapping; a name that comes more than once gets the list of its values."""
    found: dict[str, Any] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        if name not in found:
            found[name] = value
        elif isinstance(found[name], list):
            found[name].append(value)
        else:
            found[name] = [found[name], value]
    return found


def _decode(value: Any, schema: Mapping[str, Any]) -> Any:
    kind = schema.get("type", "string")
    if kind == "array":
        items = value if isinstance(value, list) else value.split(",")
        return [_decode(item, schema.get("items", {})) for item in items]
    text = value[-1] if isinstance(value, list) else value
    return _within(_scalar(text, kind), schema)


def _scalar(text: str, kind: Any) -> Any:
    match kind:
        case "integer":
            if not text.removeprefix("-").isdecimal():
                raise ValueError("must be an integer")
            return int(text)
        case "number":
            try:
                return float(text)
            except ValueError:
                raise ValueError("must be a number") from None
        case "boolean":
            if text.lower() not in ("true", "false"):
                raise ValueError("must be true or false")
            return text.lower() == "true"
    return text


def _within(value: Any, schema: Mapping[str, Any]) -> Any:
    if "enum" in schema and value not in schema["enum"]:
        raise ValueError(f"must be one of {', '.join(map(str, schema['enum']))}")
    if "minimum" in schema and value < schema["minimum"]:
        raise ValueError(f"must be at least {schema['minimum']}")
    if "maximum" in schema and value > schema["maximum"]:
        raise ValueError(f"must be at most {schema['maximum']}")
    if schema.get("minLength", 0) > (len(value) if isinstance(value, str) else 0):
        raise ValueError("must not be empty")
    return value


def _segments(path: str) -> tuple[str, ...]:
    return tuple(path.strip("/").split("/"))


def _is_parameter(segment: str) -> bool:
    return segment.startswith("{") and segment.endswith("}")
