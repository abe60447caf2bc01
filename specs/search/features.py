"""Search features of one operation: its stems by field, the identifiers that it needs, and the entities it yields."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from restgpt.specs.effect import seems_to_read
from restgpt.specs.effort import can_spend
from restgpt.specs.operation import Operation
from restgpt.specs.parameter import Parameter
from restgpt.specs.problem import BrokenReference
from restgpt.specs.reading.document import Document, follow_safely, resolve
from restgpt.specs.schemas.shape import merge_all_of
from restgpt.specs.schemas.validation import is_true, schema_types
from restgpt.specs.search.query import STOP_STEMS, opposites, phrases_in, stems

# How much one occurrence of a stem counts, by its field.
WEIGHTS = {
    "path": 4.0,
    "summary": 3.0,
    "description": 1.5,
    "identifier": 1.0,
    "tags": 1.0,
    "parameters": 0.7,
    "body": 1.0,
    "response": 0.6,
    "types": 0.5,
    "values": 0.5,
    "notes": 0.5,
    "switches": 0.5,
}
VARIABLE = re.compile(r"\{[^{}]*\}")
IDENTIFIER = re.compile(
    r"(?:^|[_.-])(?:ids?|uris?|key|uuid|guid|slug|number)\Z|(?<=[a-z])(?:I[dD]s?|Uris?|Key|Uu?id|Number)\Z"
)
CURRENT = frozenset({"me", "self", "current", "whoami", "profile"})
# How many levels of fields below a schema count.
DEPTH = 4
# How many references and alternatives may nest.
CHAIN = 100
# How many names are collected in one step.
STEP_NAMES = 50
# How many names of a body or response count.
LIMIT = 250
NONE: Counter[str] = Counter()
# How many stems of a title count.
TITLE = 12
# How many identifiers of a request count, those of the path first.
NEEDS = 40
# How many steps it takes to read a parameter and to find what yields it.
PARAMETER_STEPS = 40
SENTENCE_END = re.compile(r"[.\n](?=\s|$)")


# How many characters of the description of an operation, and of that of a field, count.
DESCRIPTION, NOTE = 300, 80
# How many fields of a body, and how many descriptions, count, and how many steps it takes to read a body.
SENT, NOTED, BODY_STEPS = 60, 60, 60
Schema = dict[str, Any]


class Need(msgspec.Struct, array_like=True, frozen=True):
    """One identifier that a request takes: parameter, stem of the entity that it identifies, weight (0 to 1)."""

    name: str
    entity: str
    weight: float


@dataclass(slots=True)
class Features:
    """The stems of one operation by field, and its properties in the producer graph."""

    fields: dict[str, Counter[str]]
    path_stems: tuple[str, ...]
    needs: tuple[Need, ...]
    variables: tuple[str, ...]
    last_stems: tuple[str, ...]
    title_stems: tuple[str, ...]
    choices: frozenset[str]
    summary: frozenset[str]
    is_read: bool
    is_search: bool
    is_current: bool
    ends_in_variable: bool
    has_content: bool
    has_required: bool


@dataclass(frozen=True, slots=True)
class ResponseStems:
    """The stems of the field names and of the schema names of a response."""

    fields: Counter[str]
    types: Counter[str]


class FieldNames:
    """Collects the property names and schema names below a schema; walks each reference once per depth."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._known: dict[tuple[str, int], frozenset[str]] = {}
        self._counts: dict[frozenset[str], ResponseStems] = {}

    def stems_of(self, schema: Any) -> ResponseStems:
        """Count the stems of a response schema; operations with the same response share the count."""
        found = self.of(schema)
        if found not in self._counts:
            some = sorted(found)[:LIMIT]
            self._counts[found] = ResponseStems(
                Counter(stem for name in some if not name.startswith("!") for stem in stems(name)),
                Counter(stem for name in some if name.startswith("!") for stem in stems(name)),
            )
        return self._counts[found]

    def of(self, schema: Any, depth: int = DEPTH, seen: tuple[str, ...] = ()) -> frozenset[str]:
        """Return the names below a schema; schema names start with an exclamation mark."""
        if not isinstance(schema, dict) or depth < 0 or len(seen) > CHAIN or not can_spend():
            return frozenset()
        if isinstance(schema.get("$ref"), str):
            return self._referred(schema["$ref"], depth, seen)
        found: set[str] = set()
        properties = schema.get("properties")
        if isinstance(properties, dict):
            found.update(properties)
            for item in properties.values():
                self._add(found, item, depth - 1, seen)
        for key in ("items", "additionalProperties"):
            self._add(found, schema.get(key), depth - 1, seen)
        for key in ("allOf", "oneOf", "anyOf"):
            members = schema.get(key)
            for member in members if isinstance(members, list) else ():
                self._add(found, member, depth, (*seen, ""))
        return frozenset(found)

    def _add(self, found: set[str], schema: Any, depth: int, seen: tuple[str, ...]) -> None:
        names = self.of(schema, depth, seen)
        if can_spend(len(names) // STEP_NAMES):
            found |= names

    def _referred(self, reference: str, depth: int, seen: tuple[str, ...]) -> frozenset[str]:
        if reference in seen:
            return frozenset()
        key = (reference, depth)
        if key not in self._known:
            try:
                node = resolve(self._document, reference)
            except BrokenReference:
                node = None
            name = "!" + reference.rsplit("/", 1)[-1]
            self._known[key] = self.of(node, depth, (*seen, reference)) | {name}
        return self._known[key]


def read_features(operation: Operation, names: FieldNames) -> Features:
    """Return the features of an operation, which is decoded for this."""
    parameters = _parameters(operation)
    body = _body_names(operation, names)
    response = operation.response()
    media = next(iter(response.content.values()), None) if response is not None else None
    yielded = names.stems_of(media.schema if media is not None else None)
    sent = _sent(operation)
    enums = [str(value) for parameter in parameters for value in _choices(parameter.schema)]
    enums += [str(value) for schema in sent.values() for value in _choices(schema)]
    fields = {
        "path": _counted([operation.path]),
        "summary": _counted([operation.summary]),
        "description": _counted([operation.description[:DESCRIPTION]]),
        "identifier": _counted([operation.operation_id]),
        "tags": _counted(operation.tags),
        "parameters": _counted([parameter.name for parameter in parameters]),
        "body": _counted(body),
        "response": yielded.fields,
        "types": yielded.types,
        "values": _counted(enums[:100]),
        "notes": _counted(_notes(parameters, sent)),
        "switches": _counted(_switches(operation, sent)),
    }
    segments = [part for part in operation.path.partition("#")[0].split("/") if part and "{" not in part]
    last_stems = stems(segments[-1]) if segments else ()
    # Only the ranking takes it for a read: it is asked about like any change.
    is_post_search = operation.method == "POST" and "search" in last_stems
    path_stems = tuple(dict.fromkeys(stems(VARIABLE.sub(" ", operation.path))))
    return Features(
        fields=fields,
        path_stems=path_stems,
        needs=_needs(operation, parameters, body),
        variables=tuple(p.name for p in parameters if p.location == "path"),
        last_stems=tuple(dict.fromkeys(last_stems)),
        title_stems=_title_stems(operation),
        choices=frozenset(fields["values"]),
        summary=frozenset(fields["summary"]),
        is_read=operation.method != "HEAD" and (seems_to_read(operation) or is_post_search),
        is_search="search" in path_stems,
        is_current=not CURRENT.isdisjoint(last_stems[-1:]),
        ends_in_variable=operation.path.rstrip("/").endswith("}"),
        has_content=media is not None,
        has_required=any(parameter.required for parameter in parameters),
    )


def _counted(texts: Iterable[str]) -> Counter[str]:
    found = [stem for text in texts for stem in (*stems(text), *(phrase for phrase, *_ in phrases_in(stems(text))))]
    # Most operations lack some fields, and an empty count takes as long as a short one.
    return Counter(found) if found else NONE


def _parameters(operation: Operation) -> Sequence[Parameter]:
    """Return the parameters of an operation, none if those of the operations before it took all steps."""
    found = operation.parameters if can_spend() else ()
    return found if can_spend(PARAMETER_STEPS * len(found)) else ()


def _title_stems(operation: Operation) -> tuple[str, ...]:
    """Return the first stems of the summary, else of the description's first sentence, else of the operationId."""
    title = operation.summary or SENTENCE_END.split(operation.description[:200], 1)[0] or operation.operation_id
    return tuple(dict.fromkeys(one for one in stems(title) if one not in STOP_STEMS))[:TITLE]


def switched(name: str) -> list[str]:
    """Return the words for setting and unsetting a truth value by its name: `is_disabled` is disabled and enabled."""
    return ["switch turn", name, *(words for one in stems(name) if (words := opposites().get(one)))]


def _body_names(operation: Operation, names: FieldNames) -> list[str]:
    if operation.body is None:
        return []
    found = names.of(operation.body.preferred.schema, 1)
    return sorted(name for name in found if not name.startswith("!"))[:LIMIT]


def _sent(operation: Operation) -> dict[str, Schema]:
    """Return the fields of the request body by name, references followed."""
    if operation.body is None or not can_spend(BODY_STEPS):
        return {}
    document = operation.document
    flat = _flat(document, operation.body.preferred.schema)
    fields = _properties(flat)
    if "items" in flat or len(fields) == 1:
        # A list of objects, or an envelope such as `{"data": {…}}`.
        fields = _properties(_flat(document, flat.get("items") or next(iter(fields.values()), None))) or fields
    listed = list(fields.items())[:SENT]
    nodes = ((str(name), follow_safely(document, item)) for name, item in listed if can_spend())
    return {name: node for name, node in nodes if isinstance(node, dict) and not is_true(node.get("readOnly"))}


def _properties(schema: Schema) -> Schema:
    properties = schema.get("properties")
    return properties if isinstance(properties, dict) else {}


def _flat(document: Document, schema: Any) -> Schema:
    """Return a schema with its reference followed and `allOf` merged."""
    node = follow_safely(document, schema)
    return merge_all_of(document, node) if isinstance(node, dict) else {}


def _notes(parameters: Sequence[Parameter], sent: Mapping[str, Schema]) -> list[str]:
    """Return the beginnings of the descriptions of parameters and of fields of the body."""
    texts = [parameter.description or parameter.schema.get("description") for parameter in parameters]
    texts += [node.get("description") for node in sent.values()]
    return [text[:NOTE] for text in texts[:NOTED] if isinstance(text, str)]


def _switches(operation: Operation, sent: Mapping[str, Schema]) -> list[str]:
    """Return what people say for setting the truth values of a change: its words, and those of the opposite."""
    if operation.method not in ("PUT", "PATCH", "POST"):
        return []
    names = [name for name, node in sent.items() if "boolean" in schema_types(node)]
    return [word for name in names for word in switched(name)]


def _choices(schema: Mapping[str, Any]) -> list[Any]:
    items = schema.get("items")
    for node in (schema, items):
        values = node.get("enum") if isinstance(node, dict) else None
        if isinstance(values, list):
            return values
    return []


def _needs(operation: Operation, parameters: Sequence[Parameter], body: list[str]) -> tuple[Need, ...]:
    """List the identifiers of a request: weight 1 for path variables, 0.8 for required and 0.5 for other parameters."""
    needs = []
    for parameter in parameters:
        if _choices(parameter.schema):
            continue
        if parameter.location == "path":
            needs.append(Need(parameter.name, entity_of(operation.path, parameter.name), 1.0))
        elif parameter.location == "query" and IDENTIFIER.search(parameter.name):
            weight = 0.8 if parameter.required else 0.5
            needs.append(Need(parameter.name, entity_of(operation.path, parameter.name), weight))
    needs += [Need(name, entity_of(operation.path, name), 0.5) for name in body if IDENTIFIER.search(name)]
    return tuple(needs if len(needs) <= NEEDS else sorted(needs, key=lambda need: -need.weight)[:NEEDS])


def entity_of(path: str, name: str) -> str:
    """Return the stem of the entity that a parameter identifies: `person_id` a person, `/albums/{id}` an album."""
    base = stems(IDENTIFIER.sub("", name))
    if base:
        return base[-1]
    before = path.partition("{" + name + "}")[0]
    segments = [part for part in before.split("/") if part and "{" not in part]
    return (stems(segments[-1]) or ("",))[-1] if segments else ""


def has_no_entity(name: str) -> bool:
    """Tell whether the name of a parameter, such as `ids` or `uris`, names no entity."""
    return not IDENTIFIER.sub("", name)
