"""One operation of an API, read when it is asked: parameters, body, responses, security, servers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from restgpt.specs.problem import BrokenReference, Problem, SpecError
from restgpt.specs.reading import swagger2
from restgpt.specs.reading.index import VARIABLE, Entry, owner_of
from restgpt.specs.reading.pointer import format_pointer, parse_pointer
from restgpt.specs.security import Requirement, read_requirements
from restgpt.specs.server import Server, absolute_url, read_servers, server_problems

if TYPE_CHECKING:
    from restgpt.specs.api import Api

LOCATIONS = ("path", "query", "header", "cookie", "querystring")
STYLES = {"query": "form", "cookie": "form", "path": "simple", "header": "simple", "querystring": "form"}
SAFE = frozenset({"GET", "HEAD", "OPTIONS", "QUERY"})
IDEMPOTENT = SAFE | {"PUT", "DELETE", "TRACE"}
# RFC 9110 and OpenAPI: these header parameters are described elsewhere and ignored here.
IGNORED_HEADERS = frozenset({"accept", "content-type", "authorization"})


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter with its serialisation settled; `schema` is raw and may be a reference."""

    name: str
    location: str
    required: bool
    schema: dict[str, Any]
    style: str
    explode: bool
    allow_reserved: bool = False
    content_type: str | None = None
    description: str = ""
    deprecated: bool = False
    example: Any = None


@dataclass(frozen=True, slots=True)
class MediaType:
    """One representation of a body; `schema` is raw, `encoding` maps properties to OpenAPI Encoding Objects."""

    media_type: str
    schema: dict[str, Any] | None = None
    encoding: Mapping[str, Any] = field(default_factory=dict)
    example: Any = None


@dataclass(frozen=True, slots=True)
class RequestBody:
    """What a request carries, by media type in document order."""

    required: bool
    description: str
    content: Mapping[str, MediaType]

    @property
    def preferred(self) -> MediaType:
        """The representation to send where nothing else is asked for: JSON, else a form, else the first."""
        return min(self.content.values(), key=lambda media: _rank(media.media_type))


@dataclass(frozen=True, slots=True)
class Response:
    """What comes back under one status key (200, 4XX, default)."""

    status: str
    description: str
    content: Mapping[str, MediaType]
    headers: Mapping[str, Any] = field(default_factory=dict)


class Operation:
    """One operation, safe to use from several threads; everything past the index is decoded on first use."""

    def __init__(self, api: "Api", entry: Entry) -> None:
        self.api = api
        self._entry = entry

    def __repr__(self) -> str:
        return f"Operation({self.name}: {self.method} {self.path})"

    def fresh(self) -> "Operation":
        """Return the same operation with nothing decoded yet, for passes over a whole document."""
        return Operation(self.api, self._entry)

    @property
    def name(self) -> str:
        """The unique name within its API, legal as the name of a tool."""
        return self._entry.name

    @property
    def operation_id(self) -> str:
        """The operationId as the document writes it, or an empty string."""
        return self._entry.operation_id

    @property
    def method(self) -> str:
        """The HTTP method in upper case."""
        return self._entry.method

    @property
    def path(self) -> str:
        """The path template as the document writes it."""
        return self._entry.path

    @property
    def pointer(self) -> str:
        """The JSON pointer of the operation in its document."""
        return self._entry.pointer

    @property
    def summary(self) -> str:
        """The summary, or an empty string."""
        return self._entry.summary

    @property
    def description(self) -> str:
        """The description, or an empty string."""
        return self._entry.description

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags in document order."""
        return self._entry.tags

    @property
    def deprecated(self) -> bool:
        """Whether the document advises against it."""
        return self._entry.deprecated

    @property
    def is_safe(self) -> bool:
        """Whether the method promises to change nothing (RFC 9110 section 9.2.1)."""
        return self.method in SAFE

    @property
    def is_idempotent(self) -> bool:
        """Whether repeating the request has the effect of sending it once (RFC 9110 section 9.2.2)."""
        return self.method in IDEMPOTENT

    @cached_property
    def problems(self) -> tuple[Problem, ...]:
        """What could not be read of this operation."""
        found: list[Problem] = []
        self._read_parameters(found)
        self._read_body(found)
        self._read_responses(found)
        return (*found, *self._server_problems(), *self._example_problems())

    def _server_problems(self) -> list[Problem]:
        """Name what is left out of servers of its own; those of the document are problems of the API."""
        is_own = self.api.base_url is None and self.servers != self.api.servers
        return server_problems(self.servers, f"{self.pointer}/servers") if is_own else []

    def _example_problems(self) -> list[Problem]:
        from restgpt.specs.docs.example import example_problems

        return example_problems(self, self.example())

    @cached_property
    def _raw(self) -> dict[str, Any]:
        """The operation in the shape of OpenAPI 3, references unresolved."""
        node = self._find()
        if not self.api.document.is_swagger2:
            return node
        root = self.api.document
        return swagger2.convert_operation(
            node, self._item.get("parameters"), root.get(("consumes",)), root.get(("produces",)), self._follow
        )

    def _find(self) -> dict[str, Any]:
        try:
            node = self.api.document.fetch(parse_pointer(self.pointer))
        except BrokenReference:
            node = self._item.get(self.method.lower())
        return node if isinstance(node, dict) else {}

    @cached_property
    def _item(self) -> dict[str, Any]:
        """The path item that owns the operation, without its other operations."""
        document = self.api.document
        owner = owner_of(self.pointer)
        present = document.names(*owner)
        item: dict[str, Any] = {k: document.get((*owner, k)) for k in ("parameters", "servers") if k in present}
        reference = document.get((*owner, "$ref")) if "$ref" in present else None
        if isinstance(reference, str):
            referred = self._follow({"$ref": reference})
            if isinstance(referred, dict):
                return {**referred, **{key: value for key, value in item.items() if value is not None}}
        return item

    def _follow(self, node: Any) -> Any:
        return self.api.document.follow_safely(node)

    @cached_property
    def extensions(self) -> dict[str, Any]:
        """The vendor keys of the operation, which start with `x-`."""
        return {key: value for key, value in self._raw.items() if key.startswith("x-")}

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters, those of the path merged in; variables that nothing declares are required strings."""
        return self._read_parameters([])

    def _read_parameters(self, problems: list[Problem]) -> tuple[Parameter, ...]:
        found: dict[tuple[str, str], Parameter] = {}
        inherited = [] if self.api.document.is_swagger2 else self._item.get("parameters")
        owner = format_pointer(owner_of(self.pointer))
        for place, items in ((owner, inherited), (self.pointer, self._raw.get("parameters"))):
            if items is not None and not isinstance(items, list):
                problems.append(Problem(f"{place}/parameters", "the parameters are not a list"))
                continue
            for number, raw in enumerate(items or ()):
                try:
                    node = self.api.document.follow(raw)
                    fault = self._misfit(node)
                except BrokenReference as error:
                    fault = str(error)
                if fault:
                    problems.append(Problem(f"{place}/parameters/{number}", fault))
                elif node["name"].lower() not in IGNORED_HEADERS or node["in"] != "header":
                    found[(node["name"], node["in"])] = self._read_parameter(node)
        declared = {parameter.name for parameter in found.values() if parameter.location == "path"}
        for name in VARIABLE.findall(self.path.partition("#")[0]):
            if name not in declared:
                problems.append(Problem(self.pointer, f"nothing declares the path variable {name}"))
                found[(name, "path")] = Parameter(name, "path", True, {"type": "string"}, "simple", False)
        return tuple(found.values())

    def _misfit(self, raw: Any) -> str:
        """Return why a parameter cannot be sent, or an empty string."""
        if not isinstance(raw, dict) or not isinstance(raw.get("name"), str):
            return "the parameter has no name"
        if raw.get("in") not in LOCATIONS:
            return f"the parameter {raw['name']} has no place in a request that is known (in: {raw.get('in')!r})"
        if raw["in"] == "path" and "{" + raw["name"] + "}" not in self.path:
            return f"the path has no variable {raw['name']}"
        return ""

    def _read_parameter(self, raw: dict[str, Any]) -> Parameter:
        name, location = raw["name"], raw["in"]
        schema, content_type = raw.get("schema"), None
        content = raw.get("content")
        if isinstance(content, dict) and content:
            content_type, media = next(iter(content.items()))
            schema = media.get("schema") if isinstance(media, dict) else None
        default_style = STYLES[location]
        style = raw["style"] if isinstance(raw.get("style"), str) else default_style
        explode = raw["explode"] if isinstance(raw.get("explode"), bool) else style in ("form", "deepObject", "cookie")
        return Parameter(
            name=name,
            location=location,
            required=location == "path" or raw.get("required") is True,
            schema=schema if isinstance(schema, dict) else {},
            style=style,
            explode=explode,
            allow_reserved=raw.get("allowReserved") is True,
            content_type=content_type,
            description=_text(raw.get("description")),
            deprecated=raw.get("deprecated") is True,
            example=self._example(raw),
        )

    def _example(self, raw: dict[str, Any]) -> Any:
        """Take the `example`, else the first of `examples`."""
        if raw.get("example") is not None:
            return raw["example"]
        examples = raw.get("examples")
        if isinstance(examples, dict) and examples:
            first = self._follow(next(iter(examples.values())))
            return first.get("value", first.get("dataValue")) if isinstance(first, dict) else first
        return None

    @cached_property
    def body(self) -> RequestBody | None:
        """The request body, or None."""
        return self._read_body([])

    def _read_body(self, problems: list[Problem]) -> RequestBody | None:
        try:
            raw = self.api.document.follow(self._raw.get("requestBody"))
        except BrokenReference as error:
            problems.append(Problem(f"{self.pointer}/requestBody", str(error)))
            return None
        if not isinstance(raw, dict):
            return None
        content = self._content(raw.get("content"))
        return RequestBody(raw.get("required") is True, _text(raw.get("description")), content) if content else None

    def _content(self, raw: Any) -> dict[str, MediaType]:
        if not isinstance(raw, dict):
            return {}
        content = {}
        for kind, item in raw.items():
            media = self._follow(item)
            if not isinstance(media, dict):
                media = {}
            schema = media.get("schema")
            if schema is None and isinstance(media.get("itemSchema"), dict):
                schema = {"type": "array", "items": media["itemSchema"]}
            encoding = media.get("encoding")
            content[kind] = MediaType(
                kind,
                schema if isinstance(schema, dict) else None,
                encoding if isinstance(encoding, dict) else {},
                self._example(media),
            )
        return content

    @cached_property
    def responses(self) -> Mapping[str, Response]:
        """The responses by status key, in document order; `2xx` is written 2XX."""
        return self._read_responses([])

    def _read_responses(self, problems: list[Problem]) -> dict[str, Response]:
        raw = self._raw.get("responses")
        found = {}
        for key, item in raw.items() if isinstance(raw, dict) else ():
            if key.startswith("x-"):
                continue
            status = key.upper() if key.lower() != "default" else "default"
            try:
                node = self.api.document.follow(item)
            except BrokenReference as error:
                problems.append(Problem(f"{self.pointer}/responses/{key}", str(error)))
                continue
            if isinstance(node, dict):
                headers = node.get("headers")
                found[status] = Response(
                    status,
                    _text(node.get("description")),
                    self._content(node.get("content")),
                    headers if isinstance(headers, dict) else {},
                )
        return found

    @cached_property
    def security(self) -> tuple[Requirement, ...]:
        """The alternatives of schemes that the operation accepts; empty means that it needs none."""
        own = self._raw.get("security")
        requirements = read_requirements(own) if own is not None else self.api.security
        return () if all(not requirement for requirement in requirements) else requirements

    @cached_property
    def servers(self) -> tuple[Server, ...]:
        """The servers of the operation, else of its path, else of the document."""
        return read_servers(self._raw.get("servers")) or read_servers(self._item.get("servers")) or self.api.servers

    @cached_property
    def base_url(self) -> str:
        """The absolute URL that the path is appended to; raises SpecError where the document names no host."""
        if self.api.base_url is not None:
            return self.api.base_url
        for server in self.servers:
            url = absolute_url(server, self.api.location)
            if url is not None:
                return url
        named = f" (it says {self.servers[0].url!r})" if self.servers else ""
        raise SpecError(f"{self.api.title}: the document names no host{named}; give one with --base-url or base_url=")

    def line(self) -> str:
        """One line for a list of operations: method, path and what it does."""
        text = " ".join((self.summary or first_sentence(self.description)).split())
        return f"{self.method} {self.path}  {text[:120]}".rstrip()

    def docs(self, budget: int = 1500, focus: str = "") -> str:
        """Describe the operation to the model that calls it, in at most about `budget` tokens of four characters.

        What it answers is told in a part of them, cut to the words of `focus` where it is long.
        """
        from restgpt.specs.docs.documentation import describe_operation

        return describe_operation(self, budget, focus)

    def response_docs(self, status: int | None = None, focus: str = "", budget: int = 800, received: Any = None) -> str:
        """Describe the response of a status (None: success), cut to the words of `focus`, in about `budget` tokens.

        With `received`, a received body, fields that do not occur in it are left out.
        """
        from restgpt.specs.docs.documentation import describe_response

        return describe_response(self, status, focus, budget, received)

    def response(self, status: int | None = None) -> Response | None:
        """Return the documented response of a status, else of its class, else the default; None: the first success."""
        if status is None:
            good = [item for key, item in self.responses.items() if key.startswith("2")]
            with_body = [item for item in good if item.content]
            return next(iter(with_body or good), self.responses.get("default"))
        for key in (str(status), f"{str(status)[:1]}XX", "default"):
            if key in self.responses:
                return self.responses[key]
        return None

    def json_schema(
        self, schema: Mapping[str, Any] | None, *, request: bool = False, patterns: bool = True
    ) -> dict[str, Any]:
        """Turn a raw schema into a self-contained JSON Schema 2020-12, with the definitions it reaches.

        With `request`, read-only properties are neither required nor described. Without `patterns`, no regular
        expression is in it.
        """
        from restgpt.specs.docs.schema import json_schema

        return json_schema(self.api.document, schema, request=request, patterns=patterns)

    def example(self) -> dict[str, Any]:
        """Build the smallest valid arguments, grouped by their place in the request."""
        from restgpt.specs.docs.example import example_arguments

        return example_arguments(self)


def _rank(media_type: str) -> int:
    kind = media_type.partition(";")[0].strip().lower()
    if kind == "application/json":
        return 0
    if kind.endswith("+json") or kind in ("*/*", "application/*", "text/json"):
        return 1
    order = ("application/x-www-form-urlencoded", "multipart/form-data", "text/plain", "application/xml", "text/xml")
    return 2 + order.index(kind) if kind in order else 9


def first_sentence(text: str) -> str:
    """Return the first sentence or line of a description."""
    line = text.strip().split("\n", 1)[0]
    return line.split(". ", 1)[0]


def _text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""
