"""Build the request of an operation from grouped arguments: pure, deterministic, and safe against injection.

`build_request` coerces and validates the arguments, serializes each parameter in its style, and returns a
PreparedRequest without credentials. It reads only files that a FilePolicy allows.
"""

import hashlib
import json
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Never
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from restgpt.specs.docs.example import example_faults, minimal_arguments
from restgpt.specs.effort import within
from restgpt.specs.media_type import MediaType
from restgpt.specs.operation import SAFE, Operation
from restgpt.specs.parameter import RESERVED_HEADERS, Parameter
from restgpt.specs.reading.index import ONE, VARIABLE, variable, variables
from restgpt.specs.reading.json_text import is_too_deep
from restgpt.specs.reading.tree import parse_pointer
from restgpt.specs.schemas.validation import allowed_steps, only_value
from restgpt.tools.errors import ArgumentError, ArgumentProblem
from restgpt.tools.request.arguments import (
    claim_of,
    coerce,
    deep_arguments,
    follow,
    nearest,
    pointer_part,
    properties_of,
    too_deep,
    types_of,
    unencodable,
    validate,
    without_nulls,
)
from restgpt.tools.request.body import (
    BodyEncodingError,
    EncodedBody,
    choose_media,
    encode_body,
    encoding_of,
    essence,
    flat_keys,
    json_text,
    kind_of,
    unknown_fields,
)
from restgpt.tools.request.files import Blob, FilePolicy, read_files, with_contents
from restgpt.tools.request.serialization import (
    Style,
    breaks_cookie,
    breaks_header,
    cookie_pairs,
    header_text,
    joined,
    path_text,
    query_pairs,
    scalar,
)
from restgpt.tools.text.redaction import Redactor

GROUPS = ("path", "query", "header", "cookie", "body")
PAGE = "@page"
STEPS_MOST = 200_000
"""How many steps the schemas of one request may take, besides those for its values; then values are not validated."""

MOST_SHOWN = 20_000
Claims = Collection[str]
LONGEST_URL = 8_000
"""The most characters of a URL: RFC 9110 asks servers to take 8,000, and several common ones refuse little more."""
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_OVERRIDES = frozenset({"x_http_method_override", "x_method_override", "x_http_method", "_method"})
_METHOD_PART = re.compile(r'name="([^"\r]*method[^"\r]*)"[^\r]*\r\n(?:[^\r]+\r\n)*\r\n([^\r]*)', re.IGNORECASE)
_BRACKETS = re.compile(r"\[[^\]]*\]")
_TARGETS = frozenset({"x_original_url", "x_rewrite_url"})
"""The headers with which some servers are told another path than that of the request, folded like `_OVERRIDES`."""
_IDENTITY = frozenset({"authorization", "proxy-authorization", "cookie"})
_NEGOTIATION = frozenset({"accept", "content-type"})


class ServerPage(dict[str, Any]):
    """Undeclared query values from the next URL of a server; only `restgpt.tools.http.pagination` creates them.

    It is a separate type so that no JSON from models, users or files can be mistaken for it.
    """


@dataclass(frozen=True, slots=True)
class PreparedRequest:
    """A request ready for approval and sending; the HTTP client adds credentials to a copy of it."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes | None
    api: str
    operation: str
    security: tuple[Mapping[str, tuple[str, ...]], ...] = field(default=())

    @property
    def acts_as(self) -> str:
        """The method that the request counts as: the one that servers are told to take in place of its own.

        A header such as `X-HTTP-Method-Override` or a field `_method` names it; it never makes a change a read.
        """
        kind = kind_of(next((text for name, text in self.headers.items() if name.lower() == "content-type"), ""))
        text = (self.body or b"").decode("utf-8", "replace")
        fields = json_or_text(text, "json") if kind == "json" and "method" in text.lower() else {}
        pairs = [*self.headers.items(), *(fields.items() if isinstance(fields, dict) else ())]
        for form in (urlsplit(self.url).query, text if kind == "form" else ""):
            pairs += parse_qsl(form, max_num_fields=None) if "method" in unquote(form).lower() else []
        pairs += _METHOD_PART.findall(text if kind == "multipart" else "")
        named = [
            str(item).strip().upper()
            for name, value in pairs
            if _folded(name) in _OVERRIDES
            for item in (value if isinstance(value, list) else [value])
        ]
        return next((method for method in named if method not in SAFE | {""}), self.method)

    @property
    def fingerprint(self) -> str:
        """The SHA-256 of the request in hexadecimal; equal requests have equal fingerprints."""
        parts = [self.api, self.operation, self.method, self.url, sorted(self.headers.items())]
        body = hashlib.sha256(self.body).hexdigest() if self.body is not None else None
        return hashlib.sha256(json.dumps([*parts, body]).encode()).hexdigest()

    def shown(self, redactor: Redactor | None = None) -> dict[str, Any]:
        """The request as JSON for users and traces: secrets are redacted, a long or binary body is only described."""
        hide = redactor or Redactor()
        return {
            "method": self.method,
            "url": hide.url(self.url),
            "headers": hide.headers(self.headers),
            "body": _shown_body(self, hide),
            "api": self.api,
            "operation": self.operation,
        }


def build_request(
    operation: Operation, arguments: Mapping[str, Any], *, files: FilePolicy | None = None
) -> PreparedRequest:
    """Build the request of an operation from `{"path", "query", "header", "cookie", "body"}` groups.

    Raises ArgumentError with every problem, by JSON pointer, and a minimal valid example; SpecError if the document has
    no server. Defaults are filled in for required parameters only.
    """
    return settle(operation, arguments, files=files).request


class Settled(NamedTuple):
    """A request and its arguments, coerced to the types of the document, with the names of the document.

    The arguments contain no defaults, and files as `{"@bytes": …}`, so they give the same request again. `against` are
    the values that do not fit the document, by claim, with what it says of them.
    """

    request: PreparedRequest
    arguments: dict[str, Any]
    against: dict[str, ArgumentProblem]


def settle(
    operation: Operation, arguments: Mapping[str, Any], *, files: FilePolicy | None = None, insisted: Claims = ()
) -> Settled:
    """Coerce and validate the arguments and build the request; raises the errors of `build_request`.

    `insisted` are claims of earlier errors: these values of the query and the body are sent against the document.
    """
    builder = _Builder(operation, files, insisted)
    with within(STEPS_MOST + allowed_steps(arguments), operation.document.allowance):
        builder.settle(arguments)
    return Settled(builder.finish(), builder.settled, builder.against)


class _Builder:
    """Collects the parts of one request and the problems of its arguments."""

    def __init__(self, operation: Operation, files: FilePolicy | None, insisted: Claims) -> None:
        self.against: dict[str, ArgumentProblem] = {}
        self._insisted = insisted
        self._claims: list[str] = []
        self._operation = operation
        self._files = files
        self._problems: list[ArgumentProblem] = []
        self._values: dict[tuple[str, str], Any] = {}
        self._negotiated: dict[str, str] = {}
        self._page: Mapping[str, Any] = {}
        self._body: EncodedBody | None = None
        self._given: dict[str, Any] = {}

    def settle(self, arguments: Mapping[str, Any]) -> None:
        """Coerce and validate all arguments and encode the body; problems are collected, not raised."""
        self._problems += deep_arguments(arguments) or unencodable(arguments)
        if self._problems:
            return
        groups = self._groups(arguments)
        for parameter in self._operation.parameters:
            self._settle_parameter(parameter, groups)
        self._settle_body(groups)

    def _groups(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        if not isinstance(arguments, Mapping):
            self._add("", f"arguments are an object with the groups {', '.join(GROUPS)}")
            return {}
        groups: dict[str, Any] = {}
        for name, value in arguments.items():
            if name == PAGE and isinstance(value, ServerPage):
                self._page = value
            elif name not in GROUPS:
                self._add(f"/{pointer_part(str(name))}", f"is no group{self._home_of(str(name))}")
            elif name == "body":
                groups[name] = value
            elif isinstance(value, Mapping):
                groups[name] = {str(key): item for key, item in value.items()}
            elif value is not None:
                self._add(f"/{name}", "must be an object of named values")
        for name in ("path", "query", "header", "cookie"):
            known = [item.name for item in self._operation.parameters if _group(item) == name]
            for key in groups.get(name, ()):
                self._refuse_unknown(name, key, groups, known)
        return groups

    def _home_of(self, name: str) -> str:
        """The end of a sentence with the group of a misplaced name, or with all groups."""
        homes = [_group(item) for item in self._operation.parameters if item.name == name]
        if not homes and name in self._body_names():
            homes = ["body"]
        return f"; it belongs in {' or '.join(homes)}" if homes else f"; the groups are {', '.join(GROUPS)}"

    def _body_names(self) -> set[str]:
        names: set[str] = set()
        for media in self._operation.body.content.values() if self._operation.body else ():
            schema = self._operation.json_schema(media.schema, request=True)
            names |= properties_of(schema, schema).keys()
        return names

    def _refuse_unknown(self, group: str, key: str, groups: dict[str, Any], known: list[str]) -> None:
        if key in known or groups[group][key] is None:
            return
        folded = key.lower()
        if group == "header" and folded in {name.lower() for name in known}:
            return
        if group == "header" and folded in _NEGOTIATION and isinstance(groups[group][key], str):
            self._negotiated[folded] = groups[group][key]
            self._given.setdefault(group, {})[key] = groups[group][key]
            return
        is_key = self._operation.is_key(group, key)
        if is_key or (group == "header" and folded in RESERVED_HEADERS):
            self._add(f"/{group}/{pointer_part(key)}", "is set by the program; leave it out")
            return
        home = self._home_of(key)
        hint = home if "belongs" in home else nearest(key, known)
        self._add(f"/{group}/{pointer_part(key)}", f"is unknown{hint}")

    def _settle_parameter(self, parameter: Parameter, groups: Mapping[str, Any]) -> None:
        group = _group(parameter)
        pointer = f"/{group}/{pointer_part(parameter.name)}"
        given = groups.get(group, {})
        value = _lookup(given, parameter)
        schema = self._operation.json_schema(parameter.schema, request=True)
        if value is None:
            value = self._absent(parameter, given, schema, pointer)
            if value is None:
                return
        if parameter.location == "header" and parameter.name.lower() in RESERVED_HEADERS:
            # A document may require Content-Length and similar headers; the HTTP client sends them anyway.
            if parameter.name.lower() in _IDENTITY:
                self._add(pointer, "is set by the program; leave it out")
            return
        if value in ("", []) and parameter.allow_empty:
            self._given.setdefault(group, {})[parameter.name] = self._values[(parameter.location, parameter.name)] = ""
            return
        value = coerce(value, schema, schema)
        but = self._lift(value, pointer) if group == "query" else lambda _: False
        found = too_deep(value, pointer) or [*unencodable(value, pointer), *validate(value, schema, pointer, but=but)]
        self._problems += found
        if not found and _lookup(given, parameter) is not None:
            self._given.setdefault(group, {})[parameter.name] = value
        if not found:
            is_swagger2 = self._operation.document.is_swagger2
            written = joined(value, parameter.schema) if is_swagger2 else value
            self._values[(parameter.location, parameter.name)] = written

    def _absent(self, parameter: Parameter, given: Mapping[str, Any], schema: Mapping[str, Any], pointer: str) -> Any:
        """The default of a required parameter, or its only value; without either it is a problem."""
        if not parameter.required or (parameter.location == "header" and parameter.name.lower() in RESERVED_HEADERS):
            return None
        node = follow(schema, schema)
        default = schema.get("default", node.get("default") if isinstance(node, Mapping) else None)
        if default is None or validate(coerce(default, schema, schema), schema, pointer):
            # A default that is wrong is the document's fault, not the caller's.
            default = only_value(node)
        if default is None and parameter.name in given and "null" in (types_of(schema, schema) or ()):
            self._values[(parameter.location, parameter.name)] = None
            self._given.setdefault(_group(parameter), {})[parameter.name] = None
        elif default is None:
            problem = ArgumentProblem(pointer, "is required", may_insist=True)
            if parameter.location != "query" or not self._lift(None, pointer)(problem):
                self._problems.append(problem)
        return default

    def _lift(self, value: Any, pointer: str) -> Callable[[ArgumentProblem], bool]:
        """Return a function that tells whether the caller insists on a value, against what the document says of it."""

        def is_lifted(problem: ArgumentProblem) -> bool:
            tokens = parse_pointer(problem.pointer.removeprefix(pointer))
            if not problem.may_insist or any(_folded(token) in _OVERRIDES for token in tokens):
                return False
            found = value
            for token in tokens:
                if isinstance(found, list):
                    found = dict(zip(map(str, range(len(found))), found, strict=True))
                found = found.get(token) if isinstance(found, Mapping) else None
            claim = claim_of(self._operation, problem.pointer, found)
            if claim in self._insisted:
                self.against[claim] = problem
            else:
                self._claims.append(claim)
            return claim in self._insisted

        return is_lifted

    def _settle_body(self, groups: Mapping[str, Any]) -> None:
        body = self._operation.body
        value = groups.get("body")
        if body is None:
            if value not in (None, {}, ""):
                self._add("/body", f"this operation takes no body{self._body_home(value)}")
            return
        schemas = (self._operation.json_schema(media.schema, request=True) for media in body.content.values())
        takes_null = body.required or any("null" in (types_of(schema, schema) or ()) for schema in schemas)
        if value is None and not ("body" in groups and takes_null):
            if body.required:
                self._add("/body", "is required")
            return
        self._encode(value)

    def _body_home(self, value: Any) -> str:
        names = value.keys() if isinstance(value, Mapping) else ()
        homes = {_group(item) for item in self._operation.parameters if item.name in names}
        return f"; its fields belong in {' or '.join(sorted(homes))}" if homes else ""

    def _encode(self, value: Any) -> None:
        assert self._operation.body is not None
        count = len(self._problems)
        value = read_files(value, self._files, "/body", self._problems)
        raw = with_contents(value)
        try:
            media = choose_media(self._operation, self._operation.body, value, self._negotiated.get("content-type"))
            schema = self._operation.json_schema(media.schema, request=True)
            if kind_of(media.media_type) in ("form", "multipart"):
                value, raw = without_nulls(value, schema), without_nulls(raw, schema)
            is_whole = kind_of(media.media_type) == "lines" and "array" in (types_of(schema, schema) or ())
            is_structured = _is_structured(media.media_type) or (is_whole and isinstance(value, list))
            value = coerce(value, schema, schema) if is_structured else value
            # JSON text adds to the depth, and may hold in its escapes what no text can.
            if deep := too_deep(value, "/body"):
                self._problems += deep
                return
            self._problems += unencodable(value, "/body")
            self._given["body"] = coerce(raw, schema, schema) if is_structured else raw
            is_lifted = self._lift(value, "/body")
            found = [item for item in unknown_fields(self._operation, media, value) if not is_lifted(item)]
            if _is_validated(media.media_type, value) or (is_whole and isinstance(value, list)):
                empty = {f"/body/{pointer_part(name)}" for name in _empty_fields(media, value)}
                found += validate(value, schema, "/body", but=lambda item: item.pointer in empty or is_lifted(item))
            self._problems += flat_keys(found, value, schema)
            if len(self._problems) == count:
                self._body = encode_body(self._operation, media, value)
        except BodyEncodingError as error:
            self._add("/body", str(error))

    def _add(self, pointer: str, message: str) -> None:
        self._problems.append(ArgumentProblem(pointer, message))

    @property
    def settled(self) -> dict[str, Any]:
        """The given arguments after coercion."""
        return self._given

    def finish(self) -> PreparedRequest:
        """Serialize the values into a request; raises ArgumentError."""
        if self._problems:
            self._refuse()
        url = f"{self._operation.base_url}{self._path()}"
        query = self._query()
        headers = self._headers()
        url = f"{url}?{query}" if query else url
        for name in [name for name in headers if _folded(name) in _TARGETS]:
            if not url.endswith(headers[name]) or not headers[name].startswith(urlsplit(url).path):
                self._add(f"/header/{pointer_part(name)}", "it names another path than that of the request")
        if len(url) > LONGEST_URL:
            advice = "send shorter values, or fewer of them in several requests"
            self._add(
                "/query" if query else "/path", f"the URL has {len(url):,} characters of {LONGEST_URL:,}: {advice}"
            )
        if self._problems:
            self._refuse()
        return PreparedRequest(
            self._operation.method,
            url,
            headers,
            None if self._body is None else self._body.content,
            self._operation.api.name,
            self._operation.name,
            tuple(self._operation.security),
        )

    def _refuse(self) -> Never:
        example = minimal_arguments(self._operation)
        faults = example_faults(self._operation, example)
        sure = (fault.problem for fault in faults if fault.is_sure)
        at_fault = [ArgumentProblem("", f"the document itself is at fault at {problem}") for problem in sure]
        problems = list(dict.fromkeys([*self._problems, *at_fault]))
        given = None if faults else example
        raise ArgumentError(problems, given, operation=self._operation.name, claims=self._claims)

    def _path(self) -> str:
        template = self._operation.path.partition("#")[0].partition("?")[0]
        path = self._filled(template, "/%:@!$&'()*+,;=~")
        # Percent-encoded dots are a dot segment too, and `allowReserved` keeps the percent-encoding of a value.
        if any(unquote(segment) in (".", "..") for segment in path.split("/")):
            self._add("/path", "a value may not make '.' or '..' out of a part of the path")
        return path if path.startswith("/") or not path else f"/{path}"

    def _filled(self, template: str, safe: str) -> str:
        """Fill in the variables of a template; `safe` are the characters around them that are not percent-encoded."""
        declared = {item.name: item for item in self._operation.parameters if item.location == "path"}
        parts, end = [], 0
        if any(brace in VARIABLE.sub("", template) for brace in "{}"):
            self._add("/path", f"the document's path {template} has a brace that belongs to no variable")
        for match in VARIABLE.finditer(template):
            parts.append(quote(template[end : match.start()], safe=safe))
            parts.append(self._path_value(match.group(1), declared))
            end = match.end()
        return "".join([*parts, quote(template[end:], safe=safe)])

    def _path_value(self, spelling: str, declared: Mapping[str, Parameter]) -> str:
        found = variable(spelling)
        parameter, value = declared.get(found.name), self._values.get(("path", found.name))
        pointer, text = f"/path/{pointer_part(found.name)}", ""
        if parameter is not None and value is not None:
            text = self._guarded(pointer, lambda: _write_path(parameter, value))
            if found.pattern != ONE:
                text = quote(scalar(value), safe="/")
                if text and not found.fits(scalar(value)):
                    self._add(pointer, f"must be of the form {found.pattern}, where * is one part of a path")
        if not text and (parameter is None or parameter.style != "matrix" or value is None):
            self._add(pointer, "must not be empty")
        return text

    def _query(self) -> str:
        template = self._operation.path.partition("#")[0].partition("?")[2]
        own = {item.name for item in self._operation.parameters if item.location == "query"}
        # A pair whose variable is a query parameter is written by that one.
        pairs = [self._filled(pair, "=%") for pair in template.split("&") if not own & variables(pair).keys()]
        for parameter in self._operation.parameters:
            key = (parameter.location, parameter.name)
            if key not in self._values or parameter.location not in ("query", "querystring"):
                continue
            pointer, value = f"/query/{pointer_part(parameter.name)}", self._values[key]
            text = self._guarded(pointer, lambda p=parameter, v=value: "&".join(_write_query(p, v)))
            if isinstance(value, Mapping):
                self._refuse_others(parameter, pointer, [unquote(pair.partition("=")[0]) for pair in text.split("&")])
            pairs.append(text)
        for name, value in self._page.items():
            texts = map(scalar, value if isinstance(value, list) else [value])
            pairs += [f"{quote(str(name), safe='$')}={quote(text, safe='')}" for text in texts]
        return "&".join(pair for pair in pairs if pair)

    def _refuse_others(self, parameter: Parameter, pointer: str, names: list[str]) -> None:
        """An object whose members are sent as parameters must not give the value of another parameter."""
        others = {item.name for item in self._operation.parameters if item.location == parameter.location}
        for name in dict.fromkeys(names):
            if name in others - {parameter.name}:
                self._add(f"{pointer}/{pointer_part(name)}", "is another parameter; give it under its own name")

    def _headers(self) -> dict[str, str]:
        headers = {"Accept": self._negotiated.get("accept") or _accept(self._operation)}
        cookies: list[str] = []
        for parameter in self._operation.parameters:
            key = (parameter.location, parameter.name)
            if key not in self._values:
                continue
            if parameter.location == "header":
                self._header(parameter, self._values[key], headers)
            elif parameter.location == "cookie":
                cookies += self._cookies(parameter, self._values[key])
        if cookies:
            headers["Cookie"] = "; ".join(cookies)
        if self._body is not None:
            headers["Content-Type"] = self._body.content_type
        for name in [name for name, text in headers.items() if breaks_header(text)]:
            self._add(f"/header/{pointer_part(name)}", "a header holds no line breaks or other control characters")
        return headers

    def _header(self, parameter: Parameter, value: Any, headers: dict[str, str]) -> None:
        pointer = f"/header/{pointer_part(parameter.name)}"
        text = self._guarded(pointer, lambda: _write_header(parameter, value))
        if _HEADER_NAME.fullmatch(parameter.name):
            headers[parameter.name] = text
        else:
            self._add(pointer, "the document names a header that no request can have")

    def _cookies(self, parameter: Parameter, value: Any) -> list[str]:
        pointer = f"/cookie/{pointer_part(parameter.name)}"
        style = Style(parameter.style, parameter.explode)
        text = json_text(value) if parameter.content_type else None
        pairs = [f"{parameter.name}={quote(text, safe='')}"] if text else cookie_pairs(parameter.name, value, style)
        if isinstance(value, Mapping):
            self._refuse_others(parameter, pointer, [unquote(pair.partition("=")[0]) for pair in pairs])
        if any(breaks_cookie(pair.replace(",", "")) for pair in pairs):
            self._add(pointer, "a cookie holds no spaces, quotes, semicolons or control characters")
        return pairs

    def _guarded(self, pointer: str, write: Any) -> str:
        """Run a serializer; its BodyEncodingError becomes a problem."""
        try:
            return str(write())
        except BodyEncodingError as error:
            self._add(pointer, str(error))
        return "-"


def _folded(name: str) -> str:
    """The name of a header or a field as servers compare it, which take `-` for `_`, and `a[]` for a list `a`."""
    return _BRACKETS.sub("", name.lower().replace("-", "_"))


def _group(parameter: Parameter) -> str:
    return "query" if parameter.location == "querystring" else parameter.location


def _lookup(given: Mapping[str, Any], parameter: Parameter) -> Any:
    """The value of a parameter; names of headers are case-insensitive."""
    if parameter.name in given or parameter.location != "header":
        return given.get(parameter.name)
    folded = {str(name).lower(): value for name, value in given.items()}
    return folded.get(parameter.name.lower())


def _is_structured(media_type: str) -> bool:
    return kind_of(media_type) in ("json", "form", "multipart", "xml", "any")


def _is_validated(media_type: str, value: Any) -> bool:
    """Whether a body is validated by its schema: text, bytes, and XML given as text are not."""
    kind = kind_of(media_type)
    if isinstance(value, Blob):
        return False
    return kind in ("json", "form", "multipart") or (kind in ("xml", "any") and not isinstance(value, str))


def _content_text(parameter: Parameter, value: Any) -> str:
    """Serialize the value of a `content` parameter in its media type."""
    kind = kind_of(parameter.content_type or "")
    if kind == "form" and isinstance(value, Mapping):
        return "&".join(_form_pairs(value))
    if kind == "json" or isinstance(value, Mapping | list):
        return json_text(value)
    return scalar(value)


def _write_path(parameter: Parameter, value: Any) -> str:
    if parameter.content_type is not None:
        return quote(_content_text(parameter, value), safe="")
    return path_text(parameter.name, value, Style(parameter.style, parameter.explode, parameter.allow_reserved))


def _write_query(parameter: Parameter, value: Any) -> list[str]:
    if parameter.location == "querystring":
        return _write_querystring(parameter, value)
    if parameter.content_type is not None:
        return query_pairs(parameter.name, _content_text(parameter, value), Style())
    return query_pairs(parameter.name, value, Style(parameter.style, parameter.explode, parameter.allow_reserved))


def _write_querystring(parameter: Parameter, value: Any) -> list[str]:
    """Serialize a parameter that is the whole query (OpenAPI 3.2 `in: querystring`)."""
    if kind_of(parameter.content_type or "") == "form" and isinstance(value, Mapping):
        return _form_pairs(value)
    return [quote(_content_text(parameter, value), safe="")]


def _empty_fields(media: MediaType, value: Any) -> list[str]:
    """The fields of a form that are empty, and may be by the `allowEmptyValue` of Swagger 2.0."""
    fields = value.items() if isinstance(value, Mapping) else ()
    return [
        str(name) for name, item in fields if item == "" and encoding_of(media, name).get("allowEmptyValue") is True
    ]


def _form_pairs(value: Mapping[str, Any]) -> list[str]:
    return [pair for name, item in value.items() if item is not None for pair in query_pairs(name, item, Style())]


def _write_header(parameter: Parameter, value: Any) -> str:
    if parameter.content_type is not None:
        if kind_of(parameter.content_type) == "json":
            return json.dumps(value, separators=(",", ":"))
        return _content_text(parameter, value)
    return header_text(value, Style(parameter.style, parameter.explode))


def _accept(operation: Operation) -> str:
    """The Accept header: the media types of the first documented 2xx response, JSON first, then any type."""
    response = next((item for key, item in operation.responses.items() if key.startswith("2") and item.content), None)
    names = [name for name in (response.content if response else ()) if "/" in name and not breaks_header(name)]
    ordered = sorted(names, key=lambda name: kind_of(name) != "json")[:4]
    ordered = [name for name in ordered if _HEADER_NAME.fullmatch(essence(name).replace("/", "")) and name != "*/*"]
    return ", ".join([*ordered, "*/*;q=0.1"]) if ordered else "*/*"


def _shown_body(request: PreparedRequest, hide: Redactor) -> Any:
    if request.body is None:
        return None
    content_type = next((value for name, value in request.headers.items() if name.lower() == "content-type"), "")
    kind = kind_of(content_type)
    try:
        text = request.body.decode()
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text or len(text) > MOST_SHOWN:
        digest = hashlib.sha256(request.body).hexdigest()
        return {"bytes": len(request.body), "sha256": digest, "media_type": essence(content_type)}
    if kind == "form":
        return hide.message(f"?{text}")[1:]
    return hide.json(json_or_text(text, kind), by_name=True)


def json_or_text(text: str, kind: str) -> Any:
    """A body of the kind `json` as a value; what cannot be read, such as a file that is no JSON, stays text.

    So does a JSON text or null, whose quotes a person has to see.
    """
    if kind != "json" or is_too_deep(text):
        return text
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return text if value is None or isinstance(value, str) else value
