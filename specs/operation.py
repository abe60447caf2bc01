"""Keywords: the parameters of an operation as the keyword arguments of a Python function.

One operation of an API: its parameters, body, responses, security and servers, decoded on first use.
"""

import json
import keyword
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from restgpt.specs.media_type import RequestBody, Response, read_body, read_responses
from restgpt.specs.parameter import RESERVED_HEADERS, Parameter, read_parameters
from restgpt.specs.problem import BarredOperationError, BrokenReference, Problem, SpecError, is_success
from restgpt.specs.reading.document import Document, follow_safely
from restgpt.specs.reading.format import convert_operation, type_problems
from restgpt.specs.reading.index import Entry, UniqueNames, owner_of
from restgpt.specs.reading.tree import format_pointer, parse_pointer
from restgpt.specs.schemas.json_schema import TOO_COMPLEX, json_schema
from restgpt.specs.schemas.shape import Shape
from restgpt.specs.schemas.validation import only_value
from restgpt.specs.security import Requirement, SecurityScheme, read_requirements, requirement_problems
from restgpt.specs.servers import Server, absolute_url, no_host, read_servers, server_problems

if TYPE_CHECKING:
    from restgpt.specs.api import Api

# Arguments that every function has or may have: the request body, and how many pages to read.
BODY, PAGES, CONTENT_TYPE = "body", "pages", "content_type"
# Headers that let a change meet only the version that was read, in lower case.
VERSIONS = frozenset({"if-match", "if-unmodified-since"})
GROUPS = {"path": "path", "query": "query", "querystring": "query", "header": "header", "cookie": "cookie"}


@dataclass(frozen=True, slots=True)
class Keyword:
    """One parameter as a keyword argument; `field` is its name in the API, `location` its group in the arguments.

    A parameter is not `required` if it has a default, or one value only, which the request is filled in with. One that
    the document requires and that has one value only is `settled`: nobody has to give or to see it. One is `idle` that
    repeats the sign-in, or is a condition on the version of what is only read: it is taken, and not shown.
    """

    name: str
    location: str
    field: str
    required: bool
    settled: bool
    idle: bool
    parameter: Parameter
    document: Document

    @property
    def shape(self) -> Shape:
        """The schema of its value, as a request has it; new each time, since each reading has its own limits."""
        return Shape(self.document, self.parameter.described, request=True)


def identifier(text: str, *, taken: Collection[str] = (), fallback: str = "value") -> str:
    """Return a text as a Python identifier that is no keyword and not in `taken`; an underscore is appended then."""
    name = re.sub(r"\W+", "_", unicodedata.normalize("NFKC", text)).strip("_") or fallback
    if not name.isidentifier():
        # It starts with a digit or with a sign that may only follow a letter.
        name = f"{fallback}_{name}"
    return f"{name}_" if keyword.iskeyword(name) or name in taken else name


def keywords_of(document: Document, parameters: Iterable[Parameter], *, is_safe: bool) -> tuple[Keyword, ...]:
    """Return parameters as keyword arguments, required ones first, then in document order.

    Of two parameters with the same name the later one has its location appended. Headers that the program sets itself
    are left out. `is_safe` says that the operation only reads.
    """
    free = [item for item in parameters if item.location in GROUPS and not _is_reserved(item)]
    fixed = {id(item): _fixed(document, item) for item in free}
    needed = {id(item): item.required and fixed[id(item)] == (None, None) for item in free}
    found: list[Keyword] = []
    names = UniqueNames()
    for item in sorted(free, key=lambda item: (item.repeats_sign_in, not needed[id(item)])):
        location = GROUPS[item.location]
        name = identifier(item.name, fallback=location)
        name = names.claim(f"{name}_{location}" if name in names or name in (BODY, PAGES) else name)
        settled = item.required and fixed[id(item)][1] is not None
        is_version = location == "header" and item.name.lower() in VERSIONS
        idle = item.repeats_sign_in or (is_safe and is_version and not item.required)
        found.append(Keyword(name, location, item.name, needed[id(item)], settled, idle, item, document))
    return tuple(found)


def _is_reserved(parameter: Parameter) -> bool:
    return parameter.location == "header" and parameter.name.lower() in RESERVED_HEADERS


def _fixed(document: Document, parameter: Parameter) -> tuple[Any, Any]:
    """Return the default of a parameter, and the only value that it may have."""
    node = follow_safely(document, parameter.schema)
    return node.get("default") if isinstance(node, dict) else None, only_value(node)


SAFE = frozenset({"GET", "HEAD", "OPTIONS", "QUERY"})
IDEMPOTENT = SAFE | {"PUT", "DELETE", "TRACE"}
# Names of parameters for a credential, in lower case; what is said of one that signs in, and of one that is acted on.
CREDENTIALS = frozenset({"token", "access_token", "api_key", "apikey", "authorization"})
AUTHENTICATION = re.compile(r"\bauth(?:entication)?\b|\bapi[ _-]?key\b", re.IGNORECASE)
HANDLED = re.compile(r"\b(?:revok|invalidat|introspect|verif|exchang|refresh|delete|rotate)", re.IGNORECASE)


class Operation:
    """One operation as the document describes it; safe to use from several threads.

    `specs/docs` writes its documentation and builds example arguments, `specs/search` finds it by words.
    """

    def __init__(self, api: "Api", entry: Entry) -> None:
        self.api = api
        self._entry = entry
        self._acts_as = ""

    def acting_as(self, method: str) -> "Operation":
        """Return the operation as requests of it act that name another method; raises BarredOperationError."""
        if method == self.acts_as:
            return self
        found = copy(self)
        found._acts_as = method
        if rule := self.api.bars(found):
            raise BarredOperationError(f"{self.name} as {method}", rule)
        return found

    def __repr__(self) -> str:
        return f"Operation({self.name}: {self.method} {self.path})"

    def may_contain(self, key: str) -> bool:
        """Return whether the operation may have a key; unless it is decoded, its JSON text is searched for it."""
        return self.is_decoded or self.document.may_contain(parse_pointer(self.pointer), key)

    @property
    def is_decoded(self) -> bool:
        """Whether the operation's part of the document is in memory."""
        return "_raw" in vars(self)

    def fresh(self) -> "Operation":
        """Return the same operation with nothing decoded yet, for passes over a whole document."""
        return Operation(self.api, self._entry)

    @property
    def document(self) -> Document:
        """The document that describes the operation."""
        return self.api.document

    @property
    def name(self) -> str:
        """The unique name within its API, legal as the name of a tool."""
        return self._entry.name

    @property
    def long_name(self) -> str:
        """The unique name made of the whole operationId, which also finds the operation."""
        return self._entry.long_name

    @property
    def operation_id(self) -> str:
        """The operationId as the document writes it, or an empty string."""
        return self._entry.operation_id

    @property
    def ids(self) -> frozenset[str]:
        """The names by which a rule or a recipe may know the operation."""
        return frozenset(filter(None, (self.name, self.long_name, self.operation_id)))

    @property
    def method(self) -> str:
        """The HTTP method in upper case."""
        return self._entry.method

    @property
    def acts_as(self) -> str:
        """The method that counts for what a request does, in upper case."""
        return self._acts_as or self.method

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
        """Whether the document advises against using the operation."""
        return self._entry.deprecated

    @property
    def is_safe(self) -> bool:
        """Whether the method promises to change nothing (RFC 9110 section 9.2.1)."""
        return {self.method, self.acts_as} <= SAFE

    @property
    def is_idempotent(self) -> bool:
        """Whether repeating the request has the effect of sending it once (RFC 9110 section 9.2.2)."""
        return {self.method, self.acts_as} <= IDEMPOTENT

    @cached_property
    def problems(self) -> tuple[Problem, ...]:
        """The parts of the operation that could not be read."""
        found: list[Problem] = []
        self._read_parameters(found)
        self._read_body(found)
        self._read_responses(found)
        if self.document.is_swagger2:
            found += type_problems(self._find(), self.pointer)
        found += requirement_problems(self._raw.get("security"), f"{self.pointer}/security")
        return (*found, *self._server_problems(), *self._schema_problems())

    def _schema_problems(self) -> Iterator[Problem]:
        """Yield a problem for each schema that is too complex to be read, so that values are not compared with it."""
        named = [(f"parameters ({item.name})", item.schema) for item in self.parameters]
        media = {"requestBody": self.body.preferred} if self.body is not None else {}
        media |= {f"responses/{status}": item.preferred for status, item in self.responses.items() if item.preferred}
        for place, schema in [*named, *((place, item.schema) for place, item in media.items())]:
            if self.json_schema(schema) == TOO_COMPLEX:
                yield Problem(f"{self.pointer}/{place}", "the schema is too complex: values are not compared with it")

    def _server_problems(self) -> list[Problem]:
        """List the problems of servers that the operation declares itself; the API lists those of the document."""
        is_own = self.api.base_url is None and self.servers != self.api.servers
        return server_problems(self.servers, f"{self.pointer}/servers") if is_own else []

    @cached_property
    def _raw(self) -> dict[str, Any]:
        """The operation in the shape of OpenAPI 3, references unresolved."""
        document, node = self.document, self._find()
        if not document.is_swagger2:
            return node
        shared, consumes, produces = (
            self._item.get("parameters"),
            document.get(("consumes",)),
            document.get(("produces",)),
        )
        return convert_operation(node, shared, consumes, produces, self._follow)

    def _find(self) -> dict[str, Any]:
        try:
            node = self.document.fetch(parse_pointer(self.pointer))
        except BrokenReference:
            node = self._item.get(self.method.lower())
        found = self._follow(node)
        return found if isinstance(found, dict) else {}

    @cached_property
    def _owner(self) -> tuple[str, ...]:
        return owner_of(self.pointer)

    @cached_property
    def _item(self) -> dict[str, Any]:
        """The path item that owns the operation, without its other operations."""
        owner = self._owner
        present = self.document.names(*owner)
        item: dict[str, Any] = {k: self.document.get((*owner, k)) for k in ("parameters", "servers") if k in present}
        reference = self.document.get((*owner, "$ref")) if "$ref" in present else None
        if isinstance(reference, str):
            referred = self._follow({"$ref": reference})
            if isinstance(referred, dict):
                return {**referred, **{key: value for key, value in item.items() if value is not None}}
        return item

    def _follow(self, node: Any) -> Any:
        return follow_safely(self.document, node)

    @property
    def digest(self) -> str:
        """The SHA-256 of the operation's own part of the document, with references as they are written."""
        return sha256(json.dumps(self._raw, sort_keys=True, default=str).encode()).hexdigest()

    @cached_property
    def extensions(self) -> dict[str, Any]:
        """The vendor keys of the operation, which start with `x-`."""
        return {key: value for key, value in self._raw.items() if key.startswith("x-")}

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters of the operation and of its path; undeclared variables of the path are required strings.

        A parameter that repeats an API key of the operation is left out: the program sets it. One in another place
        that repeats the sign-in is sent only if it is given.
        """
        found = (item for item in self._read_parameters([]) if not self.is_key(item.location, item.name))
        return tuple(self._without_sign_in(item) for item in found)

    @cached_property
    def accepted(self) -> tuple[Keyword, ...]:
        """The parameters that a caller may give, as keyword arguments of a function, required ones first."""
        return keywords_of(self.document, self.parameters, is_safe=self.is_safe)

    @cached_property
    def keywords(self) -> tuple[Keyword, ...]:
        """Those of them that a caller is shown."""
        return tuple(item for item in self.accepted if not item.idle)

    @property
    def takes_type(self) -> bool:
        """Whether a caller may choose the media type of the body."""
        return self.body is not None and (len(self.body.content) > 1 or "*" in self.body.preferred.media_type)

    def is_key(self, location: str, name: str) -> bool:
        """Return whether the user's settings or an API key that the operation needs are sent here under this name."""
        if (location, name.lower() if location == "header" else name) in self.api.given:
            return True
        return any(scheme.is_sent_as(location, name) for scheme in self._schemes)

    @cached_property
    def _schemes(self) -> list[SecurityScheme]:
        """The security schemes that its requirements name and the document has."""
        keys = [key for requirement in self.security for key in requirement]
        return [self.api.security_schemes[key] for key in keys if key in self.api.security_schemes]

    def _without_sign_in(self, item: Parameter) -> Parameter:
        """Return a parameter, not required if it has the name of an API key, or is said to hold the sign-in."""
        text, name = item.description, item.name.lower()
        holds = name in CREDENTIALS and bool(AUTHENTICATION.search(text)) and not HANDLED.search(text)
        is_key = any(one.type == "apiKey" and one.name.lower() == name for one in self._schemes)
        repeats = bool(self._schemes) and item.required and item.location != "path" and (holds or is_key)
        return replace(item, required=False, repeats_sign_in=True) if repeats else item

    def _read_parameters(self, problems: list[Problem]) -> tuple[Parameter, ...]:
        inherited = [] if self.document.is_swagger2 else self._item.get("parameters")
        owner = format_pointer(self._owner)
        lists = ((owner, inherited), (self.pointer, self._raw.get("parameters")))
        return read_parameters(self.document, self.path, self.pointer, lists, problems)

    @cached_property
    def body(self) -> RequestBody | None:
        """The request body, or None."""
        return self._read_body([])

    @property
    def sent(self) -> Shape | None:
        """The schema of the request body in its preferred media type; None if the operation has no body."""
        return None if self.body is None else Shape(self.document, self.body.preferred.schema, request=True)

    @property
    def received(self) -> Shape | None:
        """The schema of the body of the first success in its preferred media type; None if it has none."""
        response = self.response()
        media = response.preferred if response is not None else None
        return None if media is None else Shape(self.document, media.schema)

    def _read_body(self, problems: list[Problem]) -> RequestBody | None:
        return read_body(self.document, self._raw.get("requestBody"), self.pointer, problems)

    @cached_property
    def responses(self) -> Mapping[str, Response]:
        """The responses by status key, in document order; `2xx` becomes 2XX."""
        return self._read_responses([])

    def _read_responses(self, problems: list[Problem]) -> dict[str, Response]:
        return read_responses(self.document, self._raw.get("responses"), self.pointer, problems)

    def response(self, status: int | None = None) -> Response | None:
        """Return the documented response of a status, else of its class, else the default; None: the first success.

        A 2xx that the document lacks is read as the success that it has: a server may answer 201 for a documented 200.
        """
        for key in () if status is None else (str(status), f"{str(status)[:1]}XX"):
            if key in self.responses:
                return self.responses[key]
        if status is not None and not is_success(status):
            return self.responses.get("default")
        good = [item for key, item in self.responses.items() if key.startswith("2")]
        with_body = [item for item in good if item.content]
        return next(iter(with_body or good), self.responses.get("default"))

    @cached_property
    def security(self) -> tuple[Requirement, ...]:
        """The alternative security requirements; empty if the operation needs no credential."""
        own = self._raw.get("security")
        requirements = read_requirements(own) if own is not None else self.api.security
        return () if all(not requirement for requirement in requirements) else requirements

    @cached_property
    def servers(self) -> tuple[Server, ...]:
        """The servers of the operation, else of its path, else of the document."""
        return read_servers(self._raw.get("servers")) or read_servers(self._item.get("servers")) or self.api.servers

    @cached_property
    def base_url(self) -> str:
        """The absolute URL that the path is appended to; raises SpecError if the document names no host."""
        if self.api.base_url is not None:
            return self.api.base_url
        for server in self.servers:
            url = absolute_url(server, self.api.location)
            if url is not None:
                return url
        raise SpecError(f"{self.api.title}: {no_host(self.servers)}; give one with --base-url or base_url=")

    def json_schema(
        self, schema: Mapping[str, Any] | None, *, request: bool = False, patterns: bool = True
    ) -> dict[str, Any]:
        """Convert a raw schema of the operation to JSON Schema 2020-12, with the definitions that it refers to.

        With `request`, read-only properties are left out. Without `patterns`, regular expressions are left out.
        """
        return json_schema(self.document, schema, request=request, patterns=patterns)
