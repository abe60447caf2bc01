"""A document read lazily: slices are decoded when their JSON pointer is asked for, and then kept."""

from typing import Any

import msgspec

from restgpt.specs.effort import Allowance, spend
from restgpt.specs.problem import BrokenReference
from restgpt.specs.reading.slices import DEPTHS, MemorySlices, Slices, Tokens
from restgpt.specs.reading.text.coercion import coerce_keywords, has_string_boolean, has_string_booleans
from restgpt.specs.reading.text.hidden import take_out_hidden
from restgpt.specs.reading.text.nesting import cut_deep_levels
from restgpt.specs.reading.tree import format_pointer

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
        if len(tokens) < depth:
            names = self.slices.names(tokens)
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
