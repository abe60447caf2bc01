"""The flow of values between APIs: what a call may send of the answers that other APIs gave in the thread.

A value that a program computed, or that a model wrote after it had read an answer, may hold that answer in any
encoding. So only whole values of these origins pass as the call's own: the user's words, values of the document of
the API and of its own answers, and literals of a program that was written before any other API had answered. They are
choices among values that the API may know; because many choices can spell a secret, they are counted.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from itertools import islice
from typing import Any

from restgpt.calling.idempotency import key_header
from restgpt.calling.origin.provenance import MOST_SEARCHED, MOST_TRACED, documented, is_literal, literals
from restgpt.calling.record import ApiRecord, FlowRecord
from restgpt.specs import Api, Operation, SpecError
from restgpt.specs.api import entry_identity
from restgpt.specs.reading.tree import values_in
from restgpt.tools.evidence import Evidence, text_of
from restgpt.tools.request.arguments import pointer_part

MOST_DOCUMENTED = 20_000
"""How many nodes of the schemas of an operation are searched for values and names."""

NEGOTIATED = ("*/*", "application/json")
"""Media types that a request may name, beside those of the document."""

FILE_NAMES = frozenset({"@file", "@bytes", "filename", "content_type"})
"""The names in a file argument; the request does not hold them."""


def api_record(api: Api) -> ApiRecord:
    """The record of an API, with an id made from its entry in `apis.yaml`, else from its source and address."""
    if api.entry is not None:
        return {"id": entry_id(api.entry), "name": api.name}
    # One document may be used with two servers.
    servers = [api.base_url] if api.base_url else [server.url for server in api.servers]
    return {"id": _digest(api.identity, *servers), "name": api.name}


def entry_id(entry: str) -> str:
    """The id of the API of an entry in `apis.yaml`."""
    return _digest(entry_identity(entry))


def _digest(*parts: str) -> str:
    return sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:24]


@dataclass(frozen=True)
class Answered:
    """The APIs that have answered in a thread, and their answers.

    `names` maps their ids to their names, `holders` the handles of kept responses to the ids of those that gave them,
    `headers` the ids to the values of the headers of their answers. `bodies` gives the kept responses by handle. `seen`
    are the ids whose answers the writer of the code had seen; None is all of them.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    holders: Mapping[str, frozenset[str]] = field(default_factory=dict)
    headers: Mapping[str, frozenset[str]] = field(default_factory=dict)
    bodies: Callable[[], Iterable[tuple[str, Any]]] = tuple
    seen: frozenset[str] | None = None

    def others(self, api: str) -> dict[str, str]:
        """The ids and names of all APIs but one."""
        return {key: name for key, name in self.names.items() if key != api}

    @property
    def by_handle(self) -> dict[str, str]:
        """The name of the API that gave each kept response."""
        return {handle: self.names[min(apis)] for handle, apis in self.holders.items()}

    def has(self, api: str, text: str) -> bool:
        """Whether an answer of an API holds a text as a whole value, a name, or a header."""
        return text in self._texts.get(api, ()) or text in self.headers.get(api, ())

    @cached_property
    def _texts(self) -> dict[str, set[str]]:
        """The whole values and names in the answers of each API, collected at the first question."""
        found: dict[str, set[str]] = {}
        for handle, body in self.bodies():
            texts = set(_texts_of(body))
            for api in self.holders.get(handle, ()):
                found.setdefault(api, set()).update(texts)
        return found


def _texts_of(body: Any) -> Iterator[str]:
    """The values and names of JSON; of other text, the parts between white space, quotes and separators."""
    if isinstance(body, str):
        yield from body.translate(_SEPARATORS).split()
        return
    for node in islice(values_in(body), MOST_SEARCHED):
        if isinstance(node, Mapping):
            yield from map(str, node)
        elif node is not None and not isinstance(node, list):
            yield text_of(node)


_SEPARATORS = str.maketrans(dict.fromkeys(",;|\t\"'<>", " "))


@dataclass(slots=True)
class _Leaves:
    """The arguments of one call, sorted by what they may send."""

    carried: set[str] = field(default_factory=set)
    worded: set[str] = field(default_factory=set)
    choices: list[str] = field(default_factory=list)


def flow_of(
    operation: Operation,
    arguments: Mapping[str, Any],
    answered: Answered,
    *,
    said: str,
    code: str | None = None,
    pages: int = 1,
) -> FlowRecord | None:
    """The flow of a call with settled `arguments`; None if no other API has answered yet.

    `said` is what the user said, `code` the program that makes the call, `pages` the
    pages of a list that it reads at most. An argument of a program that it does not hold as a literal may be computed
    from any answer; one that a model wrote may hold any answer that the model had seen.
    """
    own = api_record(operation.api)["id"]
    others = answered.others(own)
    if not others:
        return None
    seen = others.keys() if answered.seen is None else others.keys() & answered.seen
    written = literals(code or "")
    known = _Known(operation, Evidence(said), written if code is not None and not seen else Evidence(""), answered, own)
    found = _Leaves()
    for number, (pointer, value) in enumerate(_leaves(operation, arguments)):
        if number == MOST_TRACED:
            found.carried.update(others)
            break
        if not known.holds(pointer, value):
            if holders := {api for api in others if answered.has(api, text_of(value))}:
                found.carried |= holders
            elif code is None:
                found.worded |= seen
                continue
            elif is_literal(value, written):
                found.worded |= seen
            else:
                found.carried.update(others)
                continue
        # Which one is sent of the values of one API, or of a program, may tell what another API answered.
        found.choices.append(_digest(operation.name, pointer, text_of(value))[:12])
    if pages > 1:
        found.choices.append(_digest(operation.name, "pages", str(pages))[:12])
    return {"read": others, "carried": sorted(found.carried), "worded": sorted(found.worded), "choices": found.choices}


@dataclass(frozen=True)
class _Known:
    """The values that a call may send as its own; a spelling that differs in case or space is not one of them."""

    operation: Operation
    said: Evidence
    code: Evidence
    answered: Answered
    own: str

    def holds(self, pointer: str, value: Any) -> bool:
        """Whether a value is a structural one, the user's, the document's, of an own answer, or a literal."""
        if value is None or isinstance(value, bool | Mapping | list):
            return True
        text = text_of(value)
        return bool(text) and (
            self._is_said(value, text)
            or text in self.documented
            or self.answered.has(self.own, text)
            or is_literal(value, self.code)
            or (pointer.casefold() in ("/header/accept", "/header/content-type") and text in NEGOTIATED)
        )

    def _is_said(self, value: Any, text: str) -> bool:
        """Whether the user said a value: a number in any spelling, any other value exactly as it is sent."""
        return self.said.says(value) and (isinstance(value, int | float) or self.said.has_word(text))

    @cached_property
    def documented(self) -> set[str]:
        """The constants, defaults and names that the document has for the arguments of the operation."""
        return set(_documented(self.operation))


def _leaves(operation: Operation, arguments: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Every value and every name below a place of the arguments with its pointer, except documented names.

    Nulls and empty objects and lists count too, since their number and order can spell something. The idempotency key
    does not: the program makes it.
    """
    own = f"/header/{key_header(operation)}"
    names: set[str] | None = None
    stack: list[tuple[str, Any]] = [(f"/{place}", group) for place, group in reversed(list(arguments.items()))]
    while stack:
        here, node = stack.pop()
        is_place = here.count("/") == 1 and here != "/body"
        if not isinstance(node, Mapping | list) or (not node and not is_place):
            if here != own:
                yield here, node
        elif isinstance(node, list):
            stack += [(f"{here}/{number}", inner) for number, inner in reversed(list(enumerate(node)))]
        else:
            if not is_place:
                names = _names(operation) if names is None else names
                yield from ((f"{here}/{pointer_part(str(key))}#", str(key)) for key in node if str(key) not in names)
            stack += [(f"{here}/{pointer_part(str(key))}", inner) for key, inner in reversed(list(node.items()))]


def _names(operation: Operation) -> set[str]:
    """The names of fields in the schemas of an operation's arguments, and those of a file argument."""
    return {str(name) for node in _nodes(operation) for name in _named(node)} | FILE_NAMES


def _named(node: Mapping[str, Any]) -> Iterable[Any]:
    properties = node.get("properties")
    return properties if isinstance(properties, Mapping) else ()


def _documented(operation: Operation) -> Iterator[str]:
    for node in _nodes(operation):
        for value in documented(node):
            if value is not None and not isinstance(value, Mapping | list):
                yield text_of(value)
    yield from operation.body.content if operation.body else ()
    for response in operation.responses.values():
        yield from response.content


def _nodes(operation: Operation) -> Iterator[Mapping[str, Any]]:
    """The objects of the schemas of an operation's arguments, at any depth."""
    schemas: list[Any] = [item.schema for item in operation.parameters]
    schemas += [media.schema for media in operation.body.content.values()] if operation.body else []
    whole: list[Any] = []
    for schema in schemas:
        try:
            whole.append(operation.json_schema(schema, request=True))
        except SpecError:
            continue
    yield from (node for node in islice(values_in(whole), MOST_DOCUMENTED) if isinstance(node, Mapping))
