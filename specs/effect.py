"""The effect of an operation: whether its requests read or change something.

The method decides (RFC 9110, section 9.2.1), unless the document marks the operation with `x-restgpt-effect: change`.
Many APIs read by POST, so a POST whose names and summary describe a read gets the proposal `read`, with the reason. A
proposal is a guess from words of somebody else: nothing may be sent unasked because of it. Signs that disagree make no
proposal.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal
from unicodedata import normalize
from weakref import WeakKeyDictionary

from restgpt.specs.effort import within
from restgpt.specs.operation import Operation
from restgpt.specs.reading.references import follow_safely
from restgpt.specs.schemas.all_of import merge_all_of
from restgpt.specs.schemas.types import schema_types
from restgpt.specs.verbs import CHANGES, COMPUTES, LANGUAGES, NOUNS_TOO, READS, read_verb, says_change, tells_change
from restgpt.specs.verbs import tokens as words

EXTENSION = "x-restgpt-effect"
"""An operation of a document may say `change`, which holds also for a GET, or `read`, which is only a proposal."""

# How much of a description is read.
DESCRIPTION_MOST = 1500
# A POST with a longer name or summary gets no proposal.
TEXT_MOST = 1000
# A letter of another script, or an invisible sign, beside a Latin letter may make another word of it.
ODD = re.compile("[A-Za-z][^\\x00-\\x7f‘’“”–—…]|[^\\x00-\\x7f‘’“”–—…][A-Za-z]")
NOT_ASCII = re.compile("[^\\x00-\\x7f]+")
LETTER = re.compile("[A-Za-z]")
# An invisible sign inside a word, or a letter of the Greek or Cyrillic script in a Latin one.
HIDDEN = re.compile("[A-Za-z][\u00ad\u0370-\u052f\u200b-\u200f\u2060-\u2064\ufeff]+[A-Za-z]")
# How many steps the search of the schemas of one operation may take.
STEPS_MOST = 5000
# How many fields of a body are looked at.
FIELDS_MOST = 200
ALTERNATIVES_MOST = 50
# Last words of a path segment that make it a search whatever words precede them, as in `advanced-search`.
SEARCHES = frozenset({"search", "lookup"})
# Last segments that are as often a noun, so that `POST /lists/list` may make one.
NOUNS = frozenset({"list", "filter"})
# Fields of a body that ask for more than an answer.
ASKING = frozenset(
    {"password", "recipient", "recipients", "subject", "attachments", "file", "files", "dryrun", "validateonly"}
    | {"callbackurl"}
)
SWITCHES = (["action"], ["operation"], ["op"], ["command"], ["mode"], ["method"], ["verb"], ["task"])
KEY_HEADERS = ("idempotency-key", "x-idempotency-key", "x-http-method-override")

# Prompts ask for the effects of all operations again and again, and a document does not change while it is loaded.
_EFFECTS: "WeakKeyDictionary[Operation, Effect]" = WeakKeyDictionary()

Kind = Literal["read", "change"]
Origin = Literal["method", "document", "proposed", "confirmed", "settings"]


@dataclass(frozen=True, slots=True)
class Effect:
    """Whether a request reads or changes something, who decided that, and the reason in plain words.

    `proposed` is a guess of this program, `confirmed` one that a person confirmed, `settings` is `apis.yaml`.
    """

    kind: Kind
    origin: Origin
    reason: str

    @property
    def is_read(self) -> bool:
        """Whether the request certainly only reads, so that it is sent like a GET."""
        return self.kind == "read" and self.origin != "proposed"

    @property
    def is_proposed(self) -> bool:
        """Whether the request seems only to read, but nobody has confirmed it."""
        return self.kind == "read" and self.origin == "proposed"


def effect_of(operation: Operation) -> Effect:
    """Return the effect of an operation by its method and its document."""
    if operation.acts_as != operation.method:
        reason = f"it is a {operation.method} that names {operation.acts_as} as its method"
        return Effect("change", "method", reason)
    known = _EFFECTS.get(operation)
    if known is None:
        # The effect of every operation may be asked for, and none is to be or to stay decoded for that.
        known = _EFFECTS[operation] = _derived(operation if operation.is_decoded else operation.fresh())
    return known


def seems_to_read(operation: Operation) -> bool:
    """Return whether an operation reads by its method and its document; proposals count."""
    return effect_of(operation).kind == "read"


def _derived(operation: Operation) -> Effect:
    mark = _mark(operation)
    if mark == "change":
        return Effect("change", "document", f"the document marks it with {EXTENSION}: change")
    if operation.is_safe:
        return Effect("read", "method", f"{operation.method} only reads (RFC 9110, section 9.2.1)")
    if operation.method == "POST" and (signs := _signs_within_limits(operation, mark)):
        return Effect("read", "proposed", f"it is a POST, but {' and '.join(signs)}")
    return Effect("change", "method", f"{operation.method} may change something (RFC 9110, section 9.2.1)")


def _mark(operation: Operation) -> str:
    """Return the effect that the document marks the operation with, in lower case; empty if there is no such mark."""
    if not operation.may_contain(EXTENSION):
        return ""
    value = operation.extensions.get(EXTENSION)
    return value.strip().lower() if isinstance(value, str) else ""


def _signs_within_limits(operation: Operation, mark: str) -> list[str]:
    """Return the signs that a POST only reads; none if its schemas are too complex to be searched for other signs."""
    allowance = operation.document.allowance
    with within(min(STEPS_MOST, allowance.left), allowance) as effort:
        found = _signs(operation, mark)
    allowance.left -= effort.granted - effort.left
    return [] if effort.is_spent else found


def _signs(operation: Operation, mark: str) -> list[str]:
    """Return the signs that a POST only reads; none if there is a sign of a change."""
    segments = [part for part in operation.path.partition("#")[0].split("/") if part]
    texts = (operation.path, operation.operation_id, operation.summary)
    if not segments or not all(map(_is_readable, texts)) or _path_speaks_against(segments):
        return []
    name, summary = _verb_first(words(operation.operation_id)), words(operation.summary)
    if any(says_change(found) or not LANGUAGES.isdisjoint(found) for found in (name, summary)):
        return []
    is_marked = mark == "read"
    found = {
        f'the document marks it with "{EXTENSION}: read"': "read" if is_marked else "",
        "its path ends in {verb!r}": _path_verb(segments[-1]),
        "its operationId begins with {verb!r}": read_verb(name),
        "its summary begins with {verb!r}": read_verb(summary),
    }
    found = {sign: verb for sign, verb in found.items() if verb}
    if not found or not (is_marked or _agree(found.values(), segments)):
        return []
    description = operation.description[:DESCRIPTION_MOST]
    if HIDDEN.search(description) or tells_change(description) or not _only_answers(operation):
        return []
    if _asks_for_more(operation, is_query="query" in found.values()):
        return []
    return [sign.replace("{verb!r}", f'"{verb}"') for sign, verb in found.items()]


def _is_readable(text: str) -> bool:
    """Return whether the words of a text can be recognised: it is not too long, and no foreign sign hides in a word."""
    if len(text) > TEXT_MOST or ODD.search(text):
        return False
    # Wide and mathematical letters become Latin ones.
    return not LETTER.search(normalize("NFKC", "".join(NOT_ASCII.findall(text))))


def _verb_first(found: list[str]) -> list[str]:
    """Leave out the method at the start of an operationId, and FastAPI's copy of path and method at its end."""
    found = found[:-1] if found[-1:] == ["post"] else found
    return found[1:] if found[:1] == ["post"] and len(found) > 1 else found


def _path_speaks_against(segments: list[str]) -> bool:
    """Return whether a segment begins with a verb of change, or the last one has such a verb, a language, or `read`."""
    static = [words(part) for part in segments if "{" not in part]
    if any(found and found[0] in CHANGES for found in static):
        return True
    last = words(segments[-1].rpartition("}")[2].rpartition(":")[2])
    is_change = says_change(last) or not LANGUAGES.isdisjoint(last) or "saved" in last
    # In a path, `read` marks something as read.
    return is_change or last[-1:] == ["read"] or last[:1] == ["read"] or last[:1] == ["mark"]


def _path_verb(segment: str) -> str:
    """Return the verb of reading in the last segment of a path; for a custom method, `documents:search`, its name."""
    if "{" in segment and ":" not in segment.rpartition("}")[2]:
        return ""
    found = words(segment.rpartition("}")[2].rpartition(":")[2])
    if found and found[-1] in SEARCHES:
        return found[-1]
    verb = found[0] if found else ""
    is_known = verb in READS | COMPUTES and "count" not in found[1:]
    return verb if is_known and (len(found) == 1 or read_verb(found)) else ""


def _agree(verbs: Iterable[str], segments: list[str]) -> bool:
    """Return whether the signs suffice: some verbs need a second sign, and none may act on one resource."""
    given = list(verbs)
    if not any(verb in COMPUTES for verb in given):
        return len(given) > 1 or given[0] not in NOUNS
    acts_on_one = len(segments) > 1 and "{" in segments[-2]
    return len(given) > 1 and not acts_on_one


def _only_answers(operation: Operation) -> bool:
    """Return whether success is documented as 200 with a body, and not as something made, accepted or without body."""
    good = [status for status in operation.responses if status.startswith("2")]
    response = operation.response()
    return set(good) <= {"200", "206", "2XX"} and response is not None and bool(response.content)


def _asks_for_more(operation: Operation, *, is_query: bool) -> bool:
    """Return whether parameters or body ask for more than an answer: a file, a message, a switch such as `delete`."""
    if any(item.location == "header" and item.name.lower() in KEY_HEADERS for item in operation.parameters):
        return True
    named = [(item.name, item.schema) for item in operation.parameters if item.location == "query"]
    body = operation.body
    if body is not None:
        media = body.preferred
        if not any(kind in media.media_type.lower() for kind in ("json", "urlencoded", "*")):
            return True
        named += _fields(operation, media.schema)
    return any(_is_asking(operation, name, schema, is_query=is_query) for name, schema in named)


def _fields(operation: Operation, schema: Any) -> Iterator[tuple[str, Any]]:
    """Yield the fields of a body, of its alternatives and of the items of a list, with their schemas."""
    for node in _alternatives(operation, schema):
        items = _alternatives(operation, node["items"]) if isinstance(node.get("items"), dict) else []
        for part in (node, *items):
            fields = part.get("properties")
            yield from list(fields.items() if isinstance(fields, dict) else ())[:FIELDS_MOST]


def _alternatives(operation: Operation, schema: Any) -> list[dict[str, Any]]:
    """Return a schema with the members of its `allOf` merged, and the schemas of its `anyOf` and `oneOf`."""
    node = follow_safely(operation.document, schema)
    if not isinstance(node, dict):
        return []
    merged = merge_all_of(operation.document, node)
    lists = [merged.get(key) for key in ("anyOf", "oneOf")]
    members = [member for listed in lists if isinstance(listed, list) for member in listed[:ALTERNATIVES_MOST]]
    found = [follow_safely(operation.document, member) for member in members]
    return [merged, *(merge_all_of(operation.document, member) for member in found if isinstance(member, dict))]


def _is_asking(operation: Operation, name: str, schema: Any, *, is_query: bool) -> bool:
    found = words(str(name))
    if "".join(found) in ASKING or found[:1] in (["sql"], ["script"], ["statement"], ["mutation"]):
        return True
    if len(found) == 1 and found[0] in CHANGES:
        return True
    flats = _alternatives(operation, schema)
    kinds = {kind for flat in flats for kind in schema_types(flat)}
    if found[:1] in SWITCHES:
        # One operation that does several things, one of them a change.
        return found == ["method"] or any(not CHANGES.isdisjoint(words(str(value))) for value in _values(flats))
    if "boolean" in kinds:
        return bool(found) and found[0] in CHANGES | NOUNS_TOO
    # The text of a query may be in a language that changes data too.
    return is_query and "string" in kinds and found in (["query"], ["q"], ["expression"], ["expr"])


def _values(flats: Iterable[dict[str, Any]]) -> Iterator[Any]:
    """Yield the values that schemas allow by name."""
    for flat in flats:
        values = flat.get("enum")
        yield from values if isinstance(values, list) else ()
        yield flat.get("const", "")
