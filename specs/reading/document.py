"""A document as raw slices of JSON: parts are decoded on demand, references are resolved one at a time."""

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urljoin, urlsplit
from urllib.request import url2pathname

import msgspec

from restgpt.specs.problem import BrokenReference, SpecError
from restgpt.specs.reading.pointer import format_pointer, parse_fragment, parse_pointer
from restgpt.specs.reading.repair import has_spelled_boolean, is_stringly, repair
from restgpt.specs.reading.source import encode_json, fetch_url, json_bytes, read_source

Tokens = tuple[str, ...]

# How many tokens of a pointer name one slice: the operations of a path and the named components are slices of
# their own, everything else is sliced by the key at the root.
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
_ANY = msgspec.json.Decoder()
CHAIN = 64
# How many levels of a slice are read: far more than any published document has, and few enough to walk by recursion.
DEEPEST = 100


class Parts(Protocol):
    """The slices of one document by address, in memory or on disk."""

    def part(self, address: Tokens) -> "bytes | msgspec.Raw | None":
        """Return the JSON text of the slice at exactly this address."""

    def names(self, prefix: Tokens) -> list[str]:
        """List the keys below a prefix that is shorter than an address, in document order."""

    def level(self, prefix: Tokens) -> "Mapping[str, bytes | msgspec.Raw]":
        """Return the slices directly below a prefix that is one token shorter than an address."""


class MemoryParts:
    """Slices that point into the bytes of the document; nothing is decoded but the levels that were asked for."""

    def __init__(self, data: bytes) -> None:
        """Slice the root; raises SpecError where the text is not a JSON object."""
        try:
            root = _LEVEL.decode(data)
        except msgspec.ValidationError:
            raise SpecError("the document is not an object: expected the keys openapi, info and paths") from None
        except RecursionError:
            raise SpecError("the document is nested too deeply") from None
        except msgspec.DecodeError as error:
            raise SpecError(f"the document is not valid JSON: {error}") from None
        self._levels: dict[Tokens, dict[str, msgspec.Raw]] = {(): root}

    def part(self, address: Tokens) -> "bytes | msgspec.Raw | None":
        """Return the JSON text of the slice at exactly this address."""
        return self.level(address[:-1]).get(address[-1])

    def names(self, prefix: Tokens) -> list[str]:
        """List the keys below a prefix in document order."""
        return list(self.level(prefix))

    def level(self, prefix: Tokens) -> dict[str, msgspec.Raw]:
        """Return the slices directly below a prefix; empty where it is missing or not an object."""
        known = self._levels.get(prefix)
        if known is not None:
            return known
        raw = self.level(prefix[:-1]).get(prefix[-1])
        level = slice_object(raw) if raw is not None else {}
        if prefix[0] != "paths" or len(prefix) == 1:
            self._levels[prefix] = level
        return level


def slice_object(raw: "bytes | msgspec.Raw") -> dict[str, msgspec.Raw]:
    """Slice one JSON object by its keys; anything that is not an object, or is nested too deeply, has none."""
    try:
        return _LEVEL.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        return {}


class Document:
    """One API document: decoded slices by JSON pointer, `$ref` resolution, and the version it is written in."""

    def __init__(self, parts: Parts, *, location: str | None, stringly: bool, allow_external: bool = False) -> None:
        self.location = location
        self.stringly = stringly
        self.allow_external = allow_external
        self._parts = parts
        self._decoded: dict[Tokens, Any] = {}
        self._external: dict[str, Document] = {}
        self.version = self._read_version()

    @classmethod
    def from_json(cls, data: bytes, *, location: str | None = None, allow_external: bool = False) -> "Document":
        """Slice a document that is already JSON; raises SpecError where it is not an object."""
        return cls(MemoryParts(data), location=location, stringly=is_stringly(data), allow_external=allow_external)

    def _read_version(self) -> str:
        for key in ("openapi", "swagger"):
            declared = self.get((key,))
            if declared is not None:
                return str(declared)
        return ""

    @property
    def parts(self) -> Parts:
        """The slices that the document is read from."""
        return self._parts

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
            return self._parts.names(prefix)
        node = self.get(prefix)
        return list(node) if isinstance(node, dict) else []

    def get(self, tokens: Tokens, default: Any = None) -> Any:
        """Return the decoded node at this place of the document, or the default where there is none."""
        try:
            return self.fetch(tokens)
        except BrokenReference:
            return default

    def fetch(self, tokens: Tokens) -> Any:
        """Return the decoded node at this place; raises BrokenReference where there is none."""
        depth = DEPTHS.get(tokens[0], 1) if tokens else 1
        if len(tokens) < depth:
            return {name: self.fetch((*tokens, name)) for name in self._parts.names(tokens)}
        node = self._slice(tokens[:depth])
        for token in tokens[depth:]:
            node = _step(node, token, tokens)
        return node

    def _slice(self, address: Tokens) -> Any:
        try:
            return self._decoded[address]
        except KeyError:
            node = self.decode(address)
            if address[0] not in ("paths", "webhooks"):
                self._decoded[address] = node
            return node

    def decode(self, address: Tokens) -> Any:
        """Decode the slice at this address afresh; raises BrokenReference where there is none."""
        raw = self._parts.part(address)
        if raw is None:
            raise BrokenReference(f"nothing is at {format_pointer(address)}")
        try:
            node = _ANY.decode(raw)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise BrokenReference(f"{format_pointer(address)} cannot be decoded: {error}") from None
        if _may_be_deep(raw):
            for part in _deepest(node):
                part.clear()
        return repair(node) if self.stringly and has_spelled_boolean(bytes(raw)) else node

    def resolve(self, reference: str) -> Any:
        """Return the node that a `$ref` names, not following further; raises BrokenReference."""
        target, _, fragment = reference.partition("#")
        address = self._address(target)
        if target and address != self.location:
            short = self._short_name(reference)
            return self._external_document(target, address).fetch(parse_fragment(fragment)) if short is None else short
        try:
            return self._anchored(fragment) if fragment[:1] not in ("", "/") else self.fetch(parse_fragment(fragment))
        except BrokenReference:
            return self.fetch(parse_pointer(fragment))

    def follow(self, node: Any) -> Any:
        """Follow `$ref` until something else is reached; a description beside `$ref` overrides the target's."""
        seen: list[str] = []
        siblings: dict[str, Any] = {}
        while isinstance(node, dict) and isinstance(node.get("$ref"), str):
            reference = node["$ref"]
            if reference in seen or len(seen) > CHAIN:
                raise BrokenReference(f"$ref {reference} leads in a circle")
            seen.append(reference)
            for key in ("summary", "description"):
                if isinstance(node.get(key), str):
                    siblings.setdefault(key, node[key])
            node = self.resolve(reference)
        return {**node, **siblings} if siblings and isinstance(node, dict) else node

    def follow_safely(self, node: Any) -> Any:
        """Follow `$ref` as `follow` does, but return None where it leads nowhere."""
        try:
            return self.follow(node)
        except BrokenReference:
            return None

    def _address(self, target: str) -> str:
        try:
            return urljoin(self.location or "", target)
        except ValueError:
            raise BrokenReference(f"external reference {target} cannot be read as an address") from None

    def _short_name(self, reference: str) -> Any:
        """Read a bare schema name as `$ref` value, which old tools wrote, as the schema of that name."""
        if "/" in reference or "#" in reference:
            return None
        return self.get(("definitions", reference)) or self.get(("components", "schemas", reference))

    def _anchored(self, name: str) -> Any:
        """Find the schema with this `$anchor` (JSON Schema 2020-12 section 8.2.2)."""
        for schema in self.names("components", "schemas"):
            raw = self._parts.part(("components", "schemas", schema))
            if raw is not None and b"$anchor" in bytes(raw):
                for node in nodes_of(self.fetch(("components", "schemas", schema))):
                    if node.get("$anchor") == name:
                        return node
        raise BrokenReference(f"no schema has the anchor {name}")

    def _external_document(self, target: str, address: str) -> "Document":
        if self.location is None:
            raise BrokenReference(f"external reference {target}: the document has no place of its own")
        if not self.allow_external:
            raise BrokenReference(f"external reference {target} is not read unless allowed")
        if address not in self._external:
            self._external[address] = self._load_external(address, target)
        return self._external[address]

    def _load_external(self, address: str, target: str) -> "Document":
        try:
            if not _is_allowed(self.location or "", address):
                raise BrokenReference(f"external reference {target} leaves the folder or the host of the document")
            if address.startswith("file:"):
                data = read_source(Path(url2pathname(urlsplit(address).path))).data
            else:
                data = fetch_url(address).data
            tree = _absolute(_ANY.decode(json_bytes(data)), address)
            return _External(encode_json(tree), address, self)
        except (ValueError, msgspec.DecodeError, RecursionError) as error:
            raise BrokenReference(f"external reference {target}: {error}") from None


class _External(Document):
    """A document that another one refers to; it resolves what it does not hold itself through that one."""

    def __init__(self, data: bytes, location: str, owner: Document) -> None:
        super().__init__(MemoryParts(data), location=location, stringly=is_stringly(data), allow_external=True)
        self._external = owner._external


def _is_allowed(home: str, address: str) -> bool:
    """Tell whether an external reference stays below the folder, or on the host, of the document itself."""
    here, there = urlsplit(home), urlsplit(address)
    if (here.scheme, here.netloc) != (there.scheme, there.netloc):
        return False
    if here.scheme != "file":
        return True
    folder = Path(url2pathname(here.path)).resolve().parent
    return Path(url2pathname(there.path)).resolve().is_relative_to(folder)


def _absolute(tree: Any, address: str) -> Any:
    """Write every `$ref` of an external document in full, so that it means the same everywhere."""
    for node in nodes_of(tree):
        if isinstance(node.get("$ref"), str):
            # One that cannot be read is told when it is followed.
            with contextlib.suppress(ValueError):
                node["$ref"] = urljoin(address, node["$ref"])
    return tree


def nodes_of(tree: Any) -> Iterator[dict[str, Any]]:
    """Walk all objects of a decoded tree, outermost first."""
    stack = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            yield node
            stack.extend(node.values())
        elif isinstance(node, list):
            stack.extend(node)


def depth_fault(raw: "bytes | msgspec.Raw") -> str:
    """Return why a slice is not read to its end, or an empty string."""
    if _may_be_deep(raw):
        with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError):
            try:
                is_deep = any(_deepest(_ANY.decode(raw)))
            except RecursionError:
                is_deep = True
            if is_deep:
                return f"it nests more than {DEEPEST} levels deep; what is deeper is left out"
    return ""


def _may_be_deep(raw: "bytes | msgspec.Raw") -> bool:
    data = bytes(raw)
    return data.count(b"{") + data.count(b"[") > DEEPEST


def _deepest(tree: Any) -> "list[dict[str, Any] | list[Any]]":
    """Return the objects and lists on the deepest level that is read; what they hold is below it."""
    level = [tree]
    for _ in range(DEEPEST):
        children = (node.values() if isinstance(node, dict) else node for node in level)
        level = [child for inner in children for child in inner if isinstance(child, dict | list)]
    return level


def _step(node: Any, token: str, tokens: Tokens) -> Any:
    if isinstance(node, dict) and token in node:
        return node[token]
    if isinstance(node, list) and token.isdecimal() and int(token) < len(node):
        return node[int(token)]
    raise BrokenReference(f"nothing is at {format_pointer(tokens)}")
