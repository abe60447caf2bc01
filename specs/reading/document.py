"""Slices of a document: the raw JSON text of each operation, component and root key, found without decoding it.

A document read lazily: slices are decoded when their JSON pointer is asked for, and then kept.

References: finds the node that a `$ref` names, in the document itself or, if allowed, in an external one.

OpenAPI Reference Object; anchors are those of JSON Schema 2020-12 section 8.2.2.
"""

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urljoin, urlsplit

import msgspec

from restgpt.specs.effort import Allowance, spend
from restgpt.specs.problem import BrokenReference, SpecError
from restgpt.specs.reading.download import fetch_url, read_source
from restgpt.specs.reading.json_text import cut_deep_levels, encode_json, json_bytes
from restgpt.specs.reading.tree import (
    coerce_keywords,
    format_pointer,
    has_string_boolean,
    has_string_booleans,
    parse_fragment,
    parse_pointer,
    take_out_hidden,
    values_in,
)

Tokens = tuple[str, ...]

# How many tokens of a JSON pointer name one slice: each operation of a path and each named component is a slice,
# everything else is sliced by its key at the root.
DEPTHS = {
    "paths": 3,
    "webhooks": 3,
    "components": 3,
    "definitions": 2,
    "parameters": 2,
    "responses": 2,
    "securityDefinitions": 2,
}
_LEVEL = msgspec.json.Decoder(dict[str, msgspec.Raw])


class Slices(Protocol):
    """The slices of one document by address, in memory or on disk."""

    def part(self, address: Tokens) -> "bytes | msgspec.Raw | None":
        """Return the JSON text of the slice at exactly this address."""

    def names(self, prefix: Tokens) -> list[str]:
        """List the keys below a prefix that is shorter than an address, in document order."""

    def level(self, prefix: Tokens) -> "Mapping[str, bytes | msgspec.Raw]":
        """Return the slices directly below a prefix that is one token shorter than an address."""


class MemorySlices:
    """Slices that point into the bytes of the document; only the levels that were asked for are decoded."""

    def __init__(self, data: bytes) -> None:
        """Slice the root; raises SpecError if the text is not a JSON object."""
        try:
            root = _LEVEL.decode(data)
        except msgspec.ValidationError:
            raise SpecError("the document is not an object: expected the keys openapi, info and paths") from None
        except RecursionError:
            raise SpecError("the document is nested too deeply") from None
        except msgspec.DecodeError as error:
            raise SpecError(f"the document is not valid JSON: {error}") from None
        self._levels: dict[Tokens, dict[str, msgspec.Raw]] = {(): root}
        # The last path item: its operations and its other keys are asked for one after the other.
        self._last: tuple[Tokens, dict[str, msgspec.Raw]] = ((), root)

    def part(self, address: Tokens) -> "bytes | msgspec.Raw | None":
        """Return the JSON text of the slice at exactly this address."""
        return self.level(address[:-1]).get(address[-1])

    def names(self, prefix: Tokens) -> list[str]:
        """List the keys below a prefix in document order."""
        return list(self.level(prefix))

    def level(self, prefix: Tokens) -> dict[str, msgspec.Raw]:
        """Return the slices directly below a prefix; empty if the prefix is missing or is not an object."""
        last, level = self._last
        if last == prefix:
            return level
        known = self._levels.get(prefix)
        if known is not None:
            return known
        raw = self.level(prefix[:-1]).get(prefix[-1])
        level = slice_object(raw) if raw is not None else {}
        if prefix[0] != "paths" or len(prefix) == 1:
            self._levels[prefix] = level
        else:
            self._last = (prefix, level)
        return level


def slice_object(raw: "bytes | msgspec.Raw") -> dict[str, msgspec.Raw]:
    """Slice one JSON object by its keys; return nothing for other values and for objects nested too deeply."""
    try:
        return _LEVEL.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        return {}


# How many bytes of JSON are decoded in one step.
STEP_BYTES = 1024
SLICE_MOST = 2_000_000
"""The maximum size in bytes of one operation, component or other part; longer ones are read as if they were missing."""

_ANY = msgspec.json.Decoder()


class Document:
    """One API document: decoded slices by JSON pointer, and the OpenAPI version that it is written in.

    `references.py` resolves `$ref`s in it and keeps the documents that they lead to in `external`, by address, and the
    schemas with an anchor in `anchors`.
    `digest` is the SHA-256 of the bytes that it was read from, so a changed document has another one.
    """

    def __init__(
        self,
        slices: Slices,
        *,
        location: str | None,
        digest: str,
        has_string_booleans: bool,
        allow_external: bool = False,
    ) -> None:
        self.slices = slices
        self.location = location
        self.digest = digest
        self.has_string_booleans = has_string_booleans
        self.allow_external = allow_external
        self.external: dict[str, Document] = {}
        self.anchors: dict[str, Any] | None = None
        self.allowance = Allowance()
        self._decoded: dict[Tokens, Any] = {}
        # The last path item or webhook that was decoded: an own method of a path is only a part of one.
        self._last: tuple[Tokens, Any] = ((), None)
        self.version = self._read_version()

    @classmethod
    def from_json(
        cls, data: bytes, *, location: str | None = None, digest: str = "", allow_external: bool = False
    ) -> "Document":
        """Slice a document that is already JSON; raises SpecError if it is not an object."""
        return cls(
            MemorySlices(data),
            location=location,
            digest=digest,
            has_string_booleans=has_string_booleans(data),
            allow_external=allow_external,
        )

    def _read_version(self) -> str:
        for key in ("openapi", "swagger"):
            declared = self.get((key,))
            if declared is not None:
                return str(declared)
        return ""

    @property
    def is_swagger2(self) -> bool:
        """Whether the document is written in Swagger 2.0."""
        return self.version.startswith("2")

    @property
    def has_ref_siblings(self) -> bool:
        """Whether keywords beside `$ref` count: OpenAPI 3.1 and later, where schemas are JSON Schema 2020-12."""
        return not self.version.startswith(("2", "3.0"))

    def names(self, *prefix: str) -> list[str]:
        """List the keys of an object near the root, in document order."""
        if len(prefix) < DEPTHS.get(prefix[0], 1) if prefix else True:
            return self.slices.names(prefix)
        node = self.get(prefix)
        return list(node) if isinstance(node, dict) else []

    def get(self, tokens: Tokens, default: Any = None) -> Any:
        """Return the decoded node at this place of the document, or the default if there is none."""
        try:
            return self.fetch(tokens)
        except BrokenReference:
            return default

    def fetch(self, tokens: Tokens) -> Any:
        """Return the decoded node at this place; raises BrokenReference if there is none."""
        depth = DEPTHS.get(tokens[0], 1) if tokens else 1
        # A file of its own may hold a list under a name that is an object in a whole document.
        if len(tokens) < depth and ((names := self.slices.names(tokens)) or not tokens):
            spend(len(names))
            return {name: self.fetch((*tokens, name)) for name in names}
        node = self._slice(tokens[:depth])
        for token in tokens[depth:]:
            node = _step(node, token, tokens)
        return node

    def may_contain(self, tokens: Tokens, key: str) -> bool:
        """Return whether the node at this place may contain a key of plain letters: whether its JSON text does.

        A text with escapes may.
        """
        raw = self.slices.part(tokens[: DEPTHS.get(tokens[0], 1)])
        return raw is None or key.encode() in (text := bytes(raw)) or b"\\u" in text

    def _slice(self, address: Tokens) -> Any:
        last, node = self._last
        if last == address:
            return node
        try:
            return self._decoded[address]
        except KeyError:
            node = self.decode(address)
            if address[0] in ("paths", "webhooks"):
                self._last = (address, node)
            else:
                self._decoded[address] = node
            return node

    def decode(self, address: Tokens) -> Any:
        """Decode the slice at this address afresh; raises BrokenReference if there is none."""
        raw = self.slices.part(address)
        if raw is None:
            raise BrokenReference(f"nothing is at {format_pointer(address)}")
        size = len(memoryview(raw))
        if size > SLICE_MOST:
            raise BrokenReference(f"{format_pointer(address)} is left out: it has {size:,} bytes, of {SLICE_MOST:,}")
        spend(size // STEP_BYTES)
        try:
            node = _ANY.decode(raw)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise BrokenReference(f"{format_pointer(address)} cannot be decoded: {error}") from None
        cut_deep_levels(node, raw)
        take_out_hidden(node, bytes(raw))
        return coerce_keywords(node) if self.has_string_booleans and has_string_boolean(bytes(raw)) else node


def _step(node: Any, token: str, tokens: Tokens) -> Any:
    if isinstance(node, dict) and token in node:
        return node[token]
    if isinstance(node, list) and token.isdecimal() and int(token) < len(node):
        return node[int(token)]
    raise BrokenReference(f"nothing is at {format_pointer(tokens)}")


# How many references may lead to one another before a schema is reached.
LONGEST_CHAIN = 64
ALLOW = "set RESTGPT_ALLOW_EXTERNAL=1, or give --external, or allow_external in apis.yaml or load_api"
"""How to allow external references, which stay below the folder, or on the host, of the document."""


def resolve(document: Document, reference: str) -> Any:
    """Return the node that a `$ref` names, without following it further; raises BrokenReference."""
    spend()
    target, _, fragment = reference.partition("#")
    address = _address(document, target)
    if target and address != document.location:
        named = _named_schema(document, reference)
        return _external(document, target, address).fetch(parse_fragment(fragment)) if named is None else named
    try:
        if fragment[:1] not in ("", "/"):
            return _anchored(document, fragment)
        return document.fetch(parse_fragment(fragment))
    except BrokenReference:
        return document.fetch(parse_pointer(fragment))


def follow(document: Document, node: Any) -> Any:
    """Follow `$ref` until the node is no reference; raises BrokenReference.

    A summary or description beside `$ref` overrides the one of the target.
    """
    seen: list[str] = []
    siblings: dict[str, Any] = {}
    while isinstance(node, dict) and isinstance(node.get("$ref"), str):
        reference = node["$ref"]
        if reference in seen or len(seen) > LONGEST_CHAIN:
            raise BrokenReference(f"$ref {reference} leads in a circle")
        seen.append(reference)
        for key in ("summary", "description"):
            if isinstance(node.get(key), str):
                siblings.setdefault(key, node[key])
        node = resolve(document, reference)
    return {**node, **siblings} if siblings and isinstance(node, dict) else node


def follow_safely(document: Document, node: Any) -> Any:
    """Follow `$ref` as `follow` does, but return None for a broken reference."""
    try:
        return follow(document, node)
    except BrokenReference:
        return None


def _address(document: Document, target: str) -> str:
    try:
        return urljoin(document.location or "", target)
    except ValueError:
        raise BrokenReference(f"external reference {target} cannot be read as an address") from None


def _named_schema(document: Document, reference: str) -> Any:
    """Read a bare schema name as `$ref` value, which old tools wrote, as the schema of that name."""
    if "/" in reference or "#" in reference:
        return None
    return document.get(("definitions", reference)) or document.get(("components", "schemas", reference))


def _anchored(document: Document, name: str) -> Any:
    """Find the schema with this `$anchor`; all anchors are collected on first use."""
    if document.anchors is None:
        document.anchors = dict(_anchors(document))
    if name not in document.anchors:
        raise BrokenReference(f"no schema has the anchor {name}")
    return document.anchors[name]


def _anchors(document: Document) -> Iterator[tuple[str, Any]]:
    """Yield the schemas with an anchor, the first of several with the same anchor last."""
    for schema in reversed(document.names("components", "schemas")):
        address = ("components", "schemas", schema)
        raw = document.slices.part(address)
        if raw is not None and b"$anchor" in bytes(raw):
            found = [node for node in values_in(document.get(address)) if isinstance(node, dict)]
            yield from ((node["$anchor"], node) for node in reversed(found) if isinstance(node.get("$anchor"), str))


def _external(document: Document, target: str, address: str) -> Document:
    if document.location is None:
        raise BrokenReference(f"external reference {target}: the document has no address to resolve it against")
    if not document.allow_external:
        raise BrokenReference(f"external reference {target} is not read unless allowed: {ALLOW}")
    if address not in document.external:
        document.external[address] = _load_external(document, address, target)
    return document.external[address]


def _load_external(document: Document, address: str, target: str) -> Document:
    """Read an external document; it shares `external` with the document that refers to it."""
    try:
        if not _is_allowed(document.location or "", address):
            raise BrokenReference(f"external reference {target} leaves the folder or the host of the document")
        data = read_source(_file_path(address)).data if address.startswith("file:") else fetch_url(address).data
        tree = _absolute(msgspec.json.decode(json_bytes(data)), address)
        found = Document.from_json(encode_json(tree), location=address, allow_external=True)
    except (ValueError, msgspec.DecodeError, RecursionError) as error:
        raise BrokenReference(f"external reference {target}: {error}") from None
    found.external = document.external
    return found


def _is_allowed(home: str, address: str) -> bool:
    """Tell whether an external reference stays below the folder, or on the host, of the document itself."""
    here, there = urlsplit(home), urlsplit(address)
    if (here.scheme, here.netloc) != (there.scheme, there.netloc):
        return False
    if here.scheme != "file":
        return True
    return _file_path(address).resolve().is_relative_to(_file_path(home).resolve().parent)


def _file_path(address: str) -> Path:
    # Imported here because it loads http.client and ssl, which take longer to import than this whole package.
    from urllib.request import url2pathname

    return Path(url2pathname(urlsplit(address).path))


def _absolute(tree: Any, address: str) -> Any:
    """Make every `$ref` of an external document absolute, so that it means the same in the referring document."""
    for node in values_in(tree):
        if isinstance(node, dict) and isinstance(node.get("$ref"), str):
            # A `$ref` that is no URL stays: following it reports the fault.
            with contextlib.suppress(ValueError):
                node["$ref"] = urljoin(address, node["$ref"])
    return tree
