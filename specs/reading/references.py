"""References: finds the node that a `$ref` names, in the document itself or, if allowed, in an external one.

OpenAPI Reference Object; anchors are those of JSON Schema 2020-12 section 8.2.2.
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

import msgspec

from restgpt.specs.effort import spend
from restgpt.specs.problem import BrokenReference
from restgpt.specs.reading.document import Document
from restgpt.specs.reading.download import fetch_url
from restgpt.specs.reading.source import read_source
from restgpt.specs.reading.text.json_text import encode_json, json_bytes
from restgpt.specs.reading.tree import parse_fragment, parse_pointer, values_in

# How many references may lead to one another before a schema is reached.
LONGEST_CHAIN = 64
ALLOW = "set RESTGPT_ALLOW_EXTERNAL=1, or allow_external in apis.yaml or as an argument of load_api"
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
