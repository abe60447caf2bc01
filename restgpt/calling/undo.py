"""The remedy of a change: the call that reverses it, found by rules in the document and assumed nowhere else.

A PUT or PATCH is reversed by itself with the earlier values, a DELETE by the POST (or PUT) that makes such a thing, a
POST by the DELETE of the new id, and a PUT or POST that puts ids into a collection by the DELETE that takes the same
ids. What is needed and not known makes a change irreversible, with the reason in words.

The reversal of a thread's changes: drafts of the reversing calls that its journal holds.
"""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import unquote, urlsplit

from restgpt.calling.call import Call, Problems, draft
from restgpt.calling.journal import Journal
from restgpt.calling.record import UNDO, CallRecord, succeeded
from restgpt.calling.target import Target, TargetState, chosen, given, is_version, reader_of, shared
from restgpt.specs import Catalogue, Operation, Parameter
from restgpt.specs.reading.index import VARIABLE, path_pattern, variables
from restgpt.tools.errors import ArgumentError
from restgpt.tools.request.arguments import properties_of
from restgpt.tools.request.prepared_request import build_request, settle
from restgpt.tools.text.quotation import named, quoted
from restgpt.tools.text.redaction import MARK
from restgpt.tools.text.storable import storable_value

_ENVELOPES = ("data", "result")
_IDS = ("id", "uuid", "_id")

VALIDATORS = {"if-match": "etag", "if-unmodified-since": "last-modified"}
"""The header of an answer that gives the value of a precondition (RFC 9110, section 13.1)."""

NOT_READ = "the version that it has to name could not be read, so it was not sent"

NAMED = 10
"""How many fields a reason names."""

PROBLEM_SHOWN = 200
"""How many characters of a problem with arguments a reason quotes."""


@dataclass(frozen=True, slots=True)
class Remedy:
    """A call that reverses a change; `caution` says what it does not restore.

    `locks` are the places of arguments that tell the version of the target, which is read when the call is asked about.
    """

    operation: Operation
    arguments: dict[str, Any]
    caution: str = ""
    locks: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Irreversible:
    """A change that cannot be undone, with the reason."""

    reason: str


@dataclass(frozen=True, slots=True)
class Made:
    """The answer to a POST that made something: its JSON body, and its headers Location and ETag."""

    body: Any = None
    location: str = ""
    etag: str = ""


def outlook(operation: Operation, arguments: Mapping[str, Any], earlier: TargetState) -> str:
    """The way back from a change, for the person who approves it: by which request, or why there is none."""
    if operation.method == "POST" and _mirror(operation, arguments) is None and (deleter := _deleter(operation)):
        if unread := _unread(deleter):
            return f"not possible: {unread}"
        return f"{deleter.method} {deleter.path} deletes what it makes"
    found = remedy(operation, arguments, earlier, Made())
    if isinstance(found, Irreversible):
        return f"not possible: {found.reason}"
    caution = f". {found.caution}" if found.caution else ""
    return f"{found.operation.method} {_filled(found)}{caution}"


def _filled(found: Remedy) -> str:
    """The path of a reversing call with the values of its variables."""
    path = found.operation.path
    for name, value in (found.arguments.get("path") or {}).items():
        path = path.replace(f"{{{name}}}", str(value))
    return path


def remedy(
    operation: Operation, arguments: Mapping[str, Any], earlier: TargetState, made: Made
) -> Remedy | Irreversible:
    """The call that reverses a change which was carried out, or the reason why there is none."""
    if (mirrored := _mirror(operation, arguments)) is not None:
        return _locked(mirrored)
    if operation.method == "POST":
        return _unmake(operation, arguments, made)
    if operation.method not in ("PUT", "PATCH", "DELETE"):
        return Irreversible("the spec has no operation that undoes it")
    if earlier["known"] == "unread":
        return Irreversible("how it was before could not be read")
    if operation.method == "DELETE":
        return _recreate(operation, arguments, earlier)
    return _restore(operation, arguments, earlier)


def needs_earlier(operation: Operation, arguments: Mapping[str, Any]) -> bool:
    """Whether the remedy needs the state of the target before the change."""
    return operation.method in ("PUT", "PATCH", "DELETE") and _mirror(operation, arguments) is None


def _mirror(operation: Operation, arguments: Mapping[str, Any]) -> Remedy | None:
    """The opposite method on the same path with the same ids, as PUT and DELETE of saved albums are."""
    if operation.path.endswith("}"):
        return None
    for method in ("DELETE",) if operation.method in ("PUT", "POST") else ("PUT", "POST"):
        other = operation.api.lookup(f"{method} {operation.path}")
        if operation.method not in ("PUT", "POST", "DELETE") or other is None:
            continue
        wanted = [item.name for item in other.parameters if item.required and item.location == "query"]
        fields = _required(other)
        query = chosen(arguments, other)
        body = arguments.get("body")
        held = body if isinstance(body, Mapping) else {}
        if query is None or not (wanted or fields):
            continue
        if any(name not in query for name in wanted) or any(name not in held for name in fields):
            continue
        if method == "DELETE" and set(held) - _fields(other):
            # More than ids was written, and deleting it would not bring back what was there.
            continue
        mirrored: dict[str, Any] = {"path": dict(arguments.get("path") or {}), "query": query}
        if fields:
            mirrored["body"] = {name: value for name, value in held.items() if name in _fields(other)}
        caution = "It does not know what was there before." if method == "DELETE" else ""
        return Remedy(other, mirrored, caution)
    return None


def _restore(operation: Operation, arguments: Mapping[str, Any], earlier: TargetState) -> Remedy | Irreversible:
    """Call the same operation with the earlier values."""
    path = dict(arguments.get("path") or {})
    if earlier["known"] == "absent":
        deleter = operation.api.lookup(f"DELETE {operation.path}")
        query = chosen(arguments, deleter) if deleter is not None else None
        if deleter is None or query is None or _needs_more(deleter, query):
            return Irreversible("the spec has no operation that certainly reverses it")
        return _locked(Remedy(deleter, {"path": path, **({"query": query} if query else {})}))
    before, body = earlier["value"], arguments.get("body")
    if not isinstance(before, Mapping) or not isinstance(body, Mapping):
        return Irreversible("what is sent and what can be read there have different forms")
    names = _fields(operation) if operation.method == "PUT" else set(body)
    values = {name: before[name] for name in before if name in names or name in body}
    if unknown := sorted(set(body) - set(values)):
        return Irreversible(f"the earlier value of {', '.join(map(named, unknown[:NAMED]))} cannot be read")
    query, header = given(arguments, "query"), given(arguments, "header")
    locks = _versions(values, body, ("body",))
    locks += [("query", name) for name, item in query.items() if is_version(name) and _same(before.get(name), item)]
    for name in [name for name, item in header.items() if name.lower() in VALIDATORS and item != "*"]:
        if VALIDATORS[name.lower()] not in earlier.get("validators", {}):
            return Irreversible(f"what {named(name)} has to be then cannot be read")
        locks.append(("header", name))
    kept = {name: arguments[name] for name in ("query", "header") if arguments.get(name)}
    return _checked(Remedy(operation, {"path": path, **kept, "body": values}, locks=tuple(locks)))


def _is_lock(item: Parameter) -> bool:
    """Whether a parameter tells the version of the target, as If-Match does."""
    if item.location == "header":
        return item.name.lower() in VALIDATORS
    return item.location == "query" and is_version(item.name)


def _same(one: Any, other: Any) -> bool:
    return one is not None and str(one) == str(other)


def _versions(value: Mapping[str, Any], sent: Any, place: tuple[str, ...]) -> list[tuple[str, ...]]:
    """The places of versions in an earlier state, but for those that the change set: these are data."""
    found: list[tuple[str, ...]] = []
    for name, item in value.items():
        written = sent.get(name, item) if isinstance(sent, Mapping) else item
        if isinstance(item, Mapping):
            found += _versions(item, written, (*place, name))
        elif item is not None and written == item and is_version(name):
            found.append((*place, name))
    return found


def _unread(deleter: Operation) -> str:
    """Why a deletion cannot name the version of what it deletes; empty if it can, or need not."""
    locks = filter(_is_lock, deleter.parameters)
    names = [item.name for item in locks if item.required or item.location == "header"]
    reader = reader_of(deleter)
    is_readable = reader is not None and not _needs_more(reader)
    return "" if is_readable or not names else f"no operation reads what {named(names[0])} of the deletion has to be"


def _locked(found: Remedy, made: Made = Made(), record: Mapping[str, Any] = {}) -> Remedy | Irreversible:
    """A reversing call with the versions that its operation takes: required ones have a value until they are read."""
    if reason := _unread(found.operation):
        return Irreversible(reason)
    arguments, locks = deepcopy(found.arguments), []
    for item in filter(_is_lock, found.operation.parameters):
        value = given(arguments, item.location).get(item.name)
        is_wanted = item.required or item.location == "header" or item.name in record
        if not is_wanted or (value is not None and not _same(record.get(item.name), value)):
            continue
        locks.append((item.location, item.name))
        if item.required:
            arguments.setdefault(item.location, {})[item.name] = (
                made.etag or "*" if item.location == "header" else record.get(item.name, 1)
            )
    return _checked(replace(found, arguments=arguments, locks=tuple(locks)))


def relocked(call: Call, now: Target) -> Call | None:
    """The call with the versions of its target as it is now; None if one that it has to send was not read."""
    arguments = deepcopy(dict(call.settled))
    for place, *names in call.locks:
        holder = arguments.setdefault(place, {})
        value = now.validators.get(VALIDATORS[names[0].lower()]) if place == "header" else now.value
        for name in names if place != "header" else ():
            value = value.get(name) if isinstance(value, Mapping) else None
        for name in names[:-1]:
            holder = holder[name]
        if value is None and names[-1] in holder:
            return None
        holder |= {} if value is None else {names[-1]: value}
    try:
        made = settle(call.operation, {place: group for place, group in arguments.items() if group != {}})
    except ArgumentError:
        return None
    return replace(call, arguments=storable_value(made.arguments), settled=made.arguments, request=made.request)


def _recreate(operation: Operation, arguments: Mapping[str, Any], earlier: TargetState) -> Remedy | Irreversible:
    """Call the operation that creates such a resource with the deleted values."""
    before = earlier["value"]
    if earlier["known"] == "absent" or not isinstance(before, Mapping):
        return Irreversible("what it deletes could not be read as a whole")
    known = {**before, **(arguments.get("path") or {})}
    for maker in _makers(operation):
        query = chosen(arguments, maker)
        if query is None or not set(variables(maker.path)) <= known.keys():
            continue
        path = {name: known[name] for name in variables(maker.path)}
        body = {name: value for name, value in before.items() if name in _fields(maker) and value is not None}
        gone = [str(value) for value in (arguments.get("path") or {}).values()]
        lost = [
            name for name, value in before.items() if name not in {*body, *path} and str(value) not in ("None", *gone)
        ]
        without = f", without {', '.join(map(named, lost[:NAMED]))}{' and more' * (len(lost) > NAMED)}" if lost else ""
        caution = f"It is made again with a new id{without}; what belonged to the old one stays deleted."
        found = _checked(Remedy(maker, {"path": path, **({"query": query} if query else {}), "body": body}, caution))
        if isinstance(found, Remedy):
            return found
    return Irreversible("no operation is sure to make it again")


def _unmake(operation: Operation, arguments: Mapping[str, Any], made: Made) -> Remedy | Irreversible:
    """Delete the resource that a POST created."""
    deleter = _deleter(operation)
    if deleter is None:
        return Irreversible("the spec has no operation that certainly reverses it")
    if reason := _unread(deleter):
        return Irreversible(reason)
    names = list(variables(deleter.path))
    new_id = _new_id(operation, names[-1], made, deleter)
    if new_id is None:
        return Irreversible("the response has no id of what it made")
    record = _record(made.body, _noun(operation))
    known = {**record, **(arguments.get("path") or {}), names[-1]: new_id}
    path = {name: known[name] for name in names if name in known}
    query = shared(arguments, "query", deleter)
    return _locked(Remedy(deleter, {"path": path, **({"query": query} if query else {})}), made, record)


def _deleter(operation: Operation, deletions: Mapping[str, Sequence[Operation]] | None = None) -> Operation | None:
    """The DELETE for one resource of the collection that a POST adds to; None if there is none, or if several fit.

    `deletions` are those of the API by collection, to be found once for many.
    """
    if operation.method != "POST" or operation.path.endswith("}"):
        return None
    direct = operation.api.lookup(f"DELETE {operation.path}/{{id}}")
    if direct is not None:
        return None if _needs_more(direct) else direct
    by_collection = _deletions(operation) if deletions is None else deletions
    fitting = by_collection.get(_collection(operation.path), ())
    has_more = len(fitting) != 1 or _needs_more(fitting[0])
    return None if has_more or not set(list(variables(fitting[0].path))[:-1]) <= _given(operation) else fitting[0]


def _collection(path: str) -> str:
    """The last segment of a path, which names the collection that a POST adds to."""
    return path.rstrip("/").rpartition("/")[2]


def _deletions(operation: Operation) -> dict[str, list[Operation]]:
    """Every DELETE of one resource in the API of an operation, by the collection that holds the resource."""
    found: dict[str, list[Operation]] = {}
    for other in operation.api.operations:
        above, _, last = other.path.rpartition("/")
        if other.method == "DELETE" and "/" in above and VARIABLE.fullmatch(last):
            found.setdefault(above.rpartition("/")[2], []).append(other)
    return found


def _makers(operation: Operation) -> list[Operation]:
    """The POSTs that create the resource which a DELETE deletes, the shortest path first."""
    if not VARIABLE.fullmatch(_collection(operation.path)):
        return []
    deletions = _deletions(operation)
    name = _collection(operation.path.rpartition("/")[0])
    candidates = [
        other
        for other in operation.api.operations
        if other.method == "POST" and _collection(other.path) == name and _takes_out(other, operation, deletions)
    ]
    return sorted(candidates, key=lambda other: len(other.path))


def _takes_out(maker: Operation, operation: Operation, deletions: Mapping[str, Sequence[Operation]]) -> bool:
    deleter = _deleter(maker, deletions)
    return deleter is not None and deleter.name == operation.name


def _given(operation: Operation) -> set[str]:
    return set(variables(operation.path))


def _needs_more(deleter: Operation, query: Collection[str] = ()) -> bool:
    """Whether a call requires more than its path, versions and these query values: nothing here could fill it in."""
    has_body = deleter.body is not None and deleter.body.required
    others = [item for item in deleter.parameters if item.required and item.location != "path" and not _is_lock(item)]
    return has_body or any(item.location != "query" or item.name not in query for item in others)


def _noun(operation: Operation) -> str:
    """The name of one resource of a collection: `projects` holds a `project`."""
    return _collection(operation.path).removesuffix("s")


def _record(body: Any, noun: str) -> Mapping[str, Any]:
    """The new resource in an answer, without the envelope that some APIs put around it."""
    if not isinstance(body, Mapping):
        return {}
    inside = [body[name] for name in (*_ENVELOPES, noun) if isinstance(body.get(name), Mapping)]
    return inside[0] if len(inside) == 1 and not any(name in body for name in _IDS) else body


def _new_id(operation: Operation, variable: str, made: Made, deleter: Operation) -> Any:
    record = _record(made.body, _noun(operation))
    for name in (variable, *_IDS):
        if isinstance(value := record.get(name), str | int) and not isinstance(value, bool) and value != "":
            return value
    found = re.search(f"{path_pattern(deleter.path)}$", _path_of(made.location))
    return unquote(found.groups()[-1]) if found else None


def _path_of(location: str) -> str:
    """The path of a Location header; empty if the header is no URL, or holds a redacted secret."""
    try:
        return "" if MARK in location else urlsplit(location).path.rstrip("/")
    except ValueError:
        return ""


def _fields(operation: Operation) -> set[str]:
    """The fields that a body may have, as its schema names them."""
    if operation.body is None or not operation.body.content:
        return set()
    schema = operation.json_schema(operation.body.preferred.schema, request=True)
    return set(properties_of(schema, schema))


def _required(operation: Operation) -> list[str]:
    """The fields that a body must have."""
    if operation.body is None or not operation.body.content:
        return []
    schema = operation.json_schema(operation.body.preferred.schema, request=True)
    names = schema.get("required", []) if isinstance(schema, Mapping) else []
    return [name for name in names if isinstance(name, str)]


def _checked(found: Remedy) -> Remedy | Irreversible:
    """The remedy, if its operation accepts it and storing it loses nothing, such as a redacted secret."""
    if MARK in json.dumps(found.arguments, ensure_ascii=False, default=str):
        return Irreversible("the earlier state holds a secret, which is not kept")
    keepable = storable_value(found.arguments)
    try:
        sent = build_request(found.operation, found.arguments)
        kept = sent if keepable == found.arguments else build_request(found.operation, keepable)
    except ArgumentError as error:
        problem = quoted(str(error.problems[0]), PROBLEM_SHOWN)
        return Irreversible(f"{named(found.operation.name)} would refuse what is known: {problem}")
    if kept.fingerprint != sent.fingerprint:
        return Irreversible("the earlier state holds values that cannot be kept")
    return found


UNSURE = "whether it was carried out is not known"


@dataclass(frozen=True, slots=True)
class Reversal:
    """One change and the draft of the call that reverses it, or the reason why there is none.

    `change` is the id of the change's journal entry, `shown` its redacted request.
    """

    change: str
    shown: dict[str, Any]
    draft: Call | None = None
    reason: str = ""

    @property
    def left(self) -> str:
        """The request of a change that stays, and why; empty for one that can be reversed."""
        return "" if self.draft else f"{self.shown.get('method')} {self.shown.get('url')}: {self.reason}."


def reversals(journal: Journal, catalogue: Catalogue, *, steps: int | None = None) -> list[Reversal]:
    """The reversals of the last `steps` changes of a journal, or of all of them, the newest first.

    Changes that the API refused, and changes that were undone already, are left out.
    """
    made = [entry for entry in journal.entries() if _is_made(entry)]
    return [_reversal(entry, catalogue) for entry in made[::-1][:steps]]


def _is_made(entry: dict[str, Any]) -> bool:
    outcome = entry.get("outcome")
    if entry.get("undone"):
        return False
    if outcome is None or outcome.get("outcome_unknown"):
        return True
    return succeeded(outcome)


def _reversal(entry: dict[str, Any], catalogue: Catalogue) -> Reversal:
    undo = entry.get("undo") or {}
    change, shown = entry["id"], entry["request"]
    outcome = entry.get("outcome")
    doubt = UNSURE if outcome is None or outcome.get("outcome_unknown") else ""
    warning = doubt and f"{doubt.capitalize()}."
    if "operation" not in undo:
        reason = undo.get("reason") or ("" if doubt else "nothing was kept that would reverse it")
        return Reversal(change, shown, reason=", and ".join(filter(None, [doubt, reason])))
    made = draft(
        catalogue.operation(undo["operation"]),
        undo["arguments"],
        # The number of failed tries is part of the id: what the API refused once may be asked of it again.
        id=f"{change}{UNDO}{entry.get('undo_tries', 0)}",
        name=undo["operation"],
        description=" ".join(filter(None, [f"Undo {shown['method']} {shown['url']}.", undo.get("caution"), warning])),
        # A person is asked about every reversal, whatever a rule lets the agent do by itself.
        confirm=True,
    )
    if isinstance(made, Problems):
        return Reversal(change, shown, reason=f"the document changed since: {made}")
    return Reversal(change, shown, replace(made, locks=tuple(map(tuple, undo.get("locks", ())))))


def settle_reversals(journal: Journal, records: Sequence[CallRecord]) -> None:
    """Note in a thread's journal which of its changes were undone, and which the API did not let be undone."""
    tries = {entry["id"]: entry.get("undo_tries", 0) for entry in journal.entries()}
    for record in records:
        change = record["id"].rpartition(UNDO)[0]
        if succeeded(record):
            journal.note(change, undone=True)
        elif record["status"] in ("sent", "failed", "rejected"):
            journal.note(change, undo_tries=tries.get(change, 0) + 1)
