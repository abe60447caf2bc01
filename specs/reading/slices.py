"""Slices of a document: the raw JSON text of each operation, component and root key, found without decoding it."""

from collections.abc import Mapping
from typing import Protocol

import msgspec

from restgpt.specs.problem import SpecError

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
