"""References of a document that lead nowhere, and nesting that is not read to its end, found in its raw slices."""

import json
import re
from collections.abc import Iterator

import msgspec

from restgpt.specs.problem import BrokenReference, Problem
from restgpt.specs.reading.document import DEPTHS, Document, Tokens, depth_fault
from restgpt.specs.reading.pointer import format_pointer, parse_fragment

REFERENCE = re.compile(rb'"\$ref"\s*:\s*("(?:[^"\\]|\\.)*")')


def broken_slices(document: Document) -> Iterator[Problem]:
    """Yield a problem for every slice that is too deep or refers to nothing, each reference once a slice."""
    verdicts: dict[str, str] = {}
    for address, raw in _slices(document):
        if fault := depth_fault(raw):
            yield Problem(format_pointer(address), fault)
        found = {json.loads(text) for text in REFERENCE.findall(raw)}
        for reference in sorted(found):
            if reference not in verdicts:
                verdicts[reference] = _fault(document, reference)
            if verdicts[reference]:
                yield Problem(format_pointer(address), verdicts[reference])


def _slices(document: Document) -> "Iterator[tuple[Tokens, bytes | msgspec.Raw]]":
    parts = document.parts
    for key in parts.names(()):
        depth = DEPTHS.get(key, 1)
        if depth == 1:
            raw = parts.part((key,))
            if raw is not None:
                yield (key,), raw
        parents: list[Tokens] = [(key,)] if depth == 2 else [(key, name) for name in parts.names((key,)) if depth == 3]
        for parent in parents:
            for name, raw in parts.level(parent).items():
                yield (*parent, name), raw


def _fault(document: Document, reference: str) -> str:
    """Return what is wrong with a reference, or an empty string."""
    target, _, fragment = reference.partition("#")
    tokens = parse_fragment(fragment)
    is_slice = not target and bool(tokens) and len(tokens) == DEPTHS.get(tokens[0], 1)
    if is_slice and document.parts.part(tokens) is not None:
        return ""
    try:
        document.resolve(reference)
    except BrokenReference as error:
        return f"$ref {reference}: {error}"
    return ""
