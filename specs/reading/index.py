"""The index of a document: one entry for each operation, read from slices without decoding schemas."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from restgpt.specs.problem import BrokenReference, Problem
from restgpt.specs.reading.document import Document
from restgpt.specs.reading.names import Names
from restgpt.specs.reading.pointer import format_pointer, parse_fragment, parse_pointer
from restgpt.specs.reading.references import follow
from restgpt.specs.reading.slices import slice_object

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace", "query")


class Head(msgspec.Struct):
    """The keys of an operation that its entry needs; of any type, because real documents break the schema."""

    operationId: Any = None
    summary: Any = None
    description: Any = None
    tags: Any = None
    deprecated: Any = None


class Entry(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """One operation of the index; `pointer` may lie in another path item, which its own path item refers to."""

    name: str
    method: str
    path: str
    pointer: str
    operation_id: str
    summary: str
    description: str
    tags: tuple[str, ...]
    deprecated: bool


class Index(msgspec.Struct, array_like=True):
    """The operations of one document in document order, and the problems found on the way."""

    entries: list[Entry]
    problems: list[tuple[str, str]]


_HEAD = msgspec.json.Decoder(Head)


def build_index(document: Document) -> Index:
    """List every operation of a document; one that cannot be read becomes a problem, not an exception."""
    problems: list[Problem] = []
    names = Names(problems)
    entries = []
    for method, path, pointer, raw in _operations(document, problems):
        try:
            head = _HEAD.decode(raw)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            problems.append(Problem(pointer, f"the operation cannot be read: {error}"))
            continue
        identifier = head.operationId.strip() if isinstance(head.operationId, str) else ""
        entries.append(
            Entry(
                names.claim(identifier, method, path, pointer),
                method,
                path,
                pointer,
                identifier,
                _text(head.summary),
                _text(head.description),
                tuple(str(tag) for tag in head.tags) if isinstance(head.tags, list) else (),
                head.deprecated is True or head.deprecated == "true",
            )
        )
    if not document.names("paths"):
        hooks = "; it has webhooks only" if document.names("webhooks") else ""
        problems.append(Problem("/paths", f"the document has no paths{hooks}"))
    return Index(entries, [(problem.pointer, problem.message) for problem in problems])


def _text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ("" if value is None else str(value))


def _operations(document: Document, problems: list[Problem]) -> Iterator[tuple[str, str, str, "bytes | msgspec.Raw"]]:
    for path in document.names("paths"):
        if path.startswith("x-"):
            continue
        if not path.startswith("/"):
            problems.append(Problem(format_pointer(("paths", path)), "the path does not start with a slash"))
        yield from _path_operations(document, path, problems)


def _path_operations(
    document: Document, path: str, problems: list[Problem]
) -> Iterator[tuple[str, str, str, "bytes | msgspec.Raw"]]:
    home = ("paths", path)
    item: Mapping[str, bytes | msgspec.Raw] = document.slices.level(home)
    pointer = format_pointer(home)
    if not item and bytes(document.slices.level(("paths",))[path]) not in (b"{}", b"null"):
        problems.append(Problem(pointer, "the path item is not an object"))
    if "$ref" in item:
        target = _referred_item(document, home, problems)
        if target is not None:
            pointer, referred = target
            item = {**referred, **{key: raw for key, raw in item.items() if key != "$ref"}}
    for key, raw in item.items():
        if key.lower() in METHODS:
            if bytes(memoryview(raw)[:1]) != b"{":
                problems.append(Problem(f"{pointer}/{key}", "the operation is not an object"))
                continue
            yield key.upper(), path, f"{pointer}/{key}", raw
        elif key == "additionalOperations":
            for method, inner in slice_object(raw).items():
                yield method.upper(), path, f"{pointer}/{key}/{method}", inner


def _referred_item(
    document: Document, home: tuple[str, ...], problems: list[Problem]
) -> "tuple[str, dict[str, bytes | msgspec.Raw]] | None":
    """Resolve a path item that is a reference, and encode its operations again, because they are not slices."""
    reference = document.get((*home, "$ref"))
    try:
        node = follow(document, {"$ref": reference}) if isinstance(reference, str) else None
    except BrokenReference as error:
        problems.append(Problem(format_pointer((*home, "$ref")), str(error)))
        return None
    if not isinstance(node, dict):
        problems.append(Problem(format_pointer((*home, "$ref")), "the reference is not a path item"))
        return None
    target, _, fragment = str(reference).partition("#")
    pointer = format_pointer(home) if target else format_pointer(parse_fragment(fragment))
    return pointer, {key: msgspec.json.encode(value) for key, value in node.items()}


def owner_of(pointer: str) -> tuple[str, ...]:
    """Return the tokens of the path item that owns the operation at this pointer."""
    tokens = parse_pointer(pointer)
    return tokens[:-2] if tokens[-2:-1] == ("additionalOperations",) else tokens[:-1]
