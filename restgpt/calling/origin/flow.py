"""The flow of values between APIs: what a call may send of the answers that other APIs gave in the thread.

A value that a program computed, or that a model wrote after it had read an answer, may hold that answer in any
encoding. So only whole values of these origins pass as the call's own: the user's words, values of the document of
the API and of its own answers, and literals of a program that was written before any other API had answered. Whatever
else a call sends, a person is asked about once for each pair of APIs.

The item of an answer that holds a value, in the fields by which a person knows it: the trip behind its id.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from itertools import islice
from typing import Any

from restgpt.calling.idempotency import key_header
from restgpt.calling.origin.evidence import Evidence, text_of
from restgpt.calling.origin.provenance import MOST_SEARCHED, MOST_TRACED, documented, is_literal, literals
from restgpt.calling.record import ApiRecord, FlowRecord
from restgpt.specs import Api, Operation, SpecError
from restgpt.specs.api import entry_identity
from restgpt.specs.reading.tree import format_pointer, parse_pointer, places_in, values_in
from restgpt.specs.search.query import words
from restgpt.tools.request.files import FILE_KEYS
from restgpt.tools.text.quotation import named, quoted

MOST_DOCUMENTED = 20_000
"""How many nodes of the schemas of an operation are searched for values and names."""


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
class AnsweredApis:
    """The APIs that have answered in a thread, and their answers.

    `run` is the id of the run, for which a person may let values of one API go to another. `names` maps the ids of the
    APIs to their names, `holders` the handles of kept responses to the ids of those that gave them, `headers` the ids
    to the values of the headers of their answers. `bodies` gives the kept responses by handle. `seen` are the ids whose
    answers the writer of the code had seen; None is all of them.
    """

    run: str = ""
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


def flow_of(
    operation: Operation,
    arguments: Mapping[str, Any],
    answered: AnsweredApis,
    *,
    said: str,
    code: str | None = None,
) -> FlowRecord | None:
    """The flow of a call with settled `arguments`; None if it sends nothing that another API may have answered.

    `said` is what the user said, `code` the program that makes the call. An argument of a program that it does not hold
    as a literal may be computed from any answer; one that a model wrote may hold any answer that the model had seen.
    """
    own = api_record(operation.api)["id"]
    others = answered.others(own)
    if not others:
        return None
    seen = others.keys() if answered.seen is None else others.keys() & answered.seen
    written = literals(code or "")
    known = _Known(operation, Evidence(said), written if code is not None and not seen else Evidence(""), answered, own)
    carried: set[str] = set()
    worded: set[str] = set()
    for number, value in enumerate(_leaves(known, arguments)):
        if number == MOST_TRACED:
            carried |= others.keys()
            break
        if known.holds(value):
            continue
        if holders := {api for api in others if answered.has(api, text_of(value))}:
            carried |= holders
        elif code is None or is_literal(value, written):
            worded |= seen
        else:
            carried |= others.keys()
    if not carried and not worded:
        return None
    return {"run": answered.run, "carried": _named(others, carried), "worded": _named(others, worded)}


def _named(names: Mapping[str, str], chosen: Collection[str]) -> dict[str, str]:
    return {key: name for key, name in names.items() if key in chosen}


@dataclass(frozen=True)
class _Known:
    """The values that a call may send as its own; a spelling that differs in case or space is not one of them."""

    operation: Operation
    said: Evidence
    code: Evidence
    answered: AnsweredApis
    own: str

    def holds(self, value: Any) -> bool:
        """Whether a value is the user's, the document's, one of an own answer, or a literal."""
        text = text_of(value)
        return bool(text) and (
            self._is_said(value, text)
            or text in self.documented
            or self.answered.has(self.own, text)
            or is_literal(value, self.code)
        )

    def _is_said(self, value: Any, text: str) -> bool:
        """Whether the user said a value: a number in any spelling, any other value exactly as it is sent."""
        return self.said.says(value) and (isinstance(value, int | float) or self.said.has_word(text))

    @cached_property
    def documented(self) -> set[str]:
        """The constants, defaults, names and media types that the document has for the operation."""
        return set(_documented(self.operation))


def _leaves(known: _Known, arguments: Mapping[str, Any]) -> Iterator[Any]:
    """Every text and number of the arguments, and every name that the document lacks.

    The idempotency key is left out, because the program makes it.
    """
    own = f"/header/{key_header(known.operation)}"
    for path, node in places_in(arguments):
        pointer = format_pointer(map(str, path))
        is_data = len(path) > (1 if path[:1] == ["body"] else 2) and isinstance(path[-1], str)
        if is_data and path[-1] not in FILE_KEYS and path[-1] not in known.documented:
            yield path[-1]
        if not (node is None or isinstance(node, bool | Mapping | list) or pointer == own):
            yield node


def _documented(operation: Operation) -> Iterator[str]:
    for node in _nodes(operation):
        properties = node.get("properties")
        yield from map(str, properties if isinstance(properties, Mapping) else ())
        yield from (text_of(value) for value in documented(node) if not isinstance(value, Mapping | list))
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


TOLD = 4
"""How many fields of an item are told."""

TEXT_MOST = 60
"""How many characters of a text are told; longer ones come after all others."""

TELLING: Sequence[frozenset[str]] = (
    frozenset(words("name title label subject summary headline login username")),
    frozenset(words("date day time start end starts ends departs arrives due from to origin destination email")),
    frozenset(words("price amount total status state number code city description")),
)
"""Words in the names of fields by which a person knows a thing, the best ones first."""

OPAQUE = frozenset(words("id ids uuid guid key keys code number ref reference uri uris"))
"""Words in the names of values that stand for a thing and tell a person nothing of it."""

UNTOLD = frozenset(
    words(
        "id ids uuid guid key keys token url uri href link links hash etag digest self image avatar type kind precision"
    )
)
"""Words in the names of fields that tell a person nothing."""


def item_at(value: Any, pointer: str) -> tuple[str, Mapping[str, Any]] | None:
    """Return the innermost object around the value at a JSON pointer, with its own pointer; None outside of any."""
    found, path = None, ""
    for part in parse_pointer(pointer):
        if isinstance(value, Mapping):
            found, value = (path, value), value.get(part)
        elif isinstance(value, list) and part.isdigit() and int(part) < len(value):
            value = value[int(part)]
        else:
            return None
        path = f"{path}/{part}"
    return found


def is_opaque(*pointers: str) -> bool:
    """Whether the name at the end of one of some JSON pointers is that of an id."""
    names = (next((part for part in reversed(parse_pointer(one)) if not part.isdigit()), "") for one in pointers)
    return any(OPAQUE.intersection(words(name)) for name in names)


def telling(item: Mapping[str, Any], most: int = TOLD) -> str:
    """Return the fields by which a person knows an item, such as `name "Ada", status "open"`; empty without any.

    Those of an object inside of it have its name before theirs: `customer.name "Noor"`.
    """
    ranked = sorted(_fields(item), key=lambda field: field[0])[:most]
    return ", ".join(f"{named(name)} {_text(value)}" for _, name, value in ranked)


def _fields(item: Mapping[str, Any], within: str = "") -> Iterator[tuple[int, str, Any]]:
    for name, value in item.items():
        if isinstance(value, Mapping) and not within:
            yield from _fields(value, f"{name}.")
        parts = frozenset(words(str(name)))
        if isinstance(value, bool) or not isinstance(value, str | int | float) or value == "" or parts & UNTOLD:
            continue
        rank = next((rank for rank, known in enumerate(TELLING) if parts & known), len(TELLING))
        yield rank + (10 if len(str(value)) > TEXT_MOST else 0) + (5 if within else 0), f"{within}{name}", value


def _text(value: Any) -> str:
    return quoted(value, TEXT_MOST) if isinstance(value, str) else str(value)
