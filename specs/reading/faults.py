"""Faults in the slices of a document: references that lead to no node, nesting and lists beyond the limits."""

import contextlib
import json
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from restgpt.specs.problem import BrokenReference, Problem
from restgpt.specs.reading.document import DEPTHS, SLICE_MOST, Document, Tokens, resolve
from restgpt.specs.reading.json_text import depth_fault
from restgpt.specs.reading.tree import format_pointer, parse_fragment, values_in

# How many slices are searched, and until how many references were found: more than any published document has.
SLICES_MOST, REFERENCES_MOST = 100_000, 200_000
ENUM_MOST = 10_000
"""The maximum number of values of one `enum`: no value is compared with a million others."""
_ANY = msgspec.json.Decoder()
REFERENCE = re.compile(rb'"\$ref"\s*:\s*("(?:[^"\\]|\\.)*")')


def slice_problems(document: Document) -> Iterator[Problem]:
    """Yield the problems of every slice: too deep nesting, a too long `enum`, broken references, each once a slice."""
    faults: dict[bytes, str] = {}
    left = REFERENCES_MOST
    for number, (address, raw) in enumerate(_slices(document)):
        if number == SLICES_MOST or left < 0:
            limits = f"{SLICES_MOST:,} parts and {REFERENCES_MOST:,} references"
            found = f"this and later parts are not searched for problems: at most {limits} are"
            yield Problem(format_pointer(address), found)
            return
        if len(memoryview(raw)) > SLICE_MOST:
            yield Problem(format_pointer(address), f"the part is left out: it has more than {SLICE_MOST:,} bytes")
            continue
        if fault := depth_fault(raw):
            yield Problem(format_pointer(address), fault)
        if fault := _enum_fault(raw):
            yield Problem(format_pointer(address), fault)
        # Escapes are read only in the first of the references that are equal.
        references = set(REFERENCE.findall(raw))
        left -= len(references)
        for reference in sorted(references):
            if reference not in faults:
                faults[reference] = _fault(document, json.loads(reference))
            if faults[reference]:
                yield Problem(format_pointer(address), faults[reference])


def _slices(document: Document) -> "Iterator[tuple[Tokens, bytes | msgspec.Raw]]":
    slices = document.slices
    for key in slices.names(()):
        depth = DEPTHS.get(key, 1)
        if depth == 1:
            raw = slices.part((key,))
            if raw is not None:
                yield (key,), raw
        parents: list[Tokens] = [(key,)] if depth == 2 else [(key, name) for name in slices.names((key,)) if depth == 3]
        for parent in parents:
            for name, raw in slices.level(parent).items():
                yield (*parent, name), raw


def _fault(document: Document, reference: str) -> str:
    """Return why a reference is broken, or an empty string."""
    target, _, fragment = reference.partition("#")
    tokens = parse_fragment(fragment)
    is_slice = not target and bool(tokens) and len(tokens) == DEPTHS.get(tokens[0], 1)
    if is_slice and document.slices.part(tokens) is not None:
        return ""
    try:
        resolve(document, reference)
    except BrokenReference as error:
        return f"$ref {reference}: {error}"
    return ""


def _enum_fault(raw: "bytes | msgspec.Raw") -> str:
    """Return a message if a slice has an `enum` with more values than the limit, else an empty string."""
    data = bytes(raw)
    # Each value but the last has a comma behind it.
    if b'"enum"' in data and data.count(b",") >= ENUM_MOST:
        with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            longest = _longest_enum(_ANY.decode(data))
            if longest > ENUM_MOST:
                return f"an enum of {longest:,} values is left out: values are compared with at most {ENUM_MOST:,}"
    return ""


def _longest_enum(tree: Any) -> int:
    listed = (node.get("enum") for node in values_in(tree) if isinstance(node, dict))
    return max((len(values) for values in listed if isinstance(values, list)), default=0)
