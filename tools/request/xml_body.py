"""Encode a flat object as XML by the XML Objects of its schema (OpenAPI, XML Object): names, attributes, arrays.

Prefixes, namespaces and objects in it are not written; a body that needs them is given as text.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from restgpt.tools.request.serialization import scalar

_NAME = re.compile(r"[A-Za-z_][\w.-]*(:[A-Za-z_][\w.-]*)?")
_ILLEGAL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


class XmlEncodingError(ValueError):
    """A value cannot be encoded as XML."""


def write_xml(value: Any, schema: Mapping[str, Any] | None, follow: Callable[[Any], Any]) -> bytes:
    """Write an XML document; `follow` resolves references of the raw schema. Raises XmlEncodingError."""
    if not isinstance(value, Mapping):
        raise XmlEncodingError("only an object is written as XML; give other XML as a text")
    root, named = _node(follow(schema or {})), str((schema or {}).get("$ref") or "").rstrip("/").rpartition("/")[2]
    name = _tag(root, named or str(root.get("title") or "root"))
    attributes = content = ""
    for key, item in value.items():
        node = _node(follow(_node(root.get("properties")).get(key)))
        tag, form = _tag(node, key), _node(node.get("xml"))
        if item is None:
            continue
        if form.get("attribute") is True:
            attributes += f" {tag}={quoteattr(_text(item))}"
            continue
        inner = _tag(_node(follow(node.get("items"))), key) if isinstance(item, list) else tag
        parts = (f"<{inner}>{escape(_text(one))}</{inner}>" for one in (item if isinstance(item, list) else [item]))
        is_wrapped = isinstance(item, list) and form.get("wrapped") is True
        content += f"<{tag}>{''.join(parts)}</{tag}>" if is_wrapped else "".join(parts)
    end = f">{content}</{name}>" if content else "/>"
    return f'<?xml version="1.0" encoding="UTF-8"?><{name}{attributes}{end}'.encode()


def _node(found: Any) -> Mapping[str, Any]:
    return found if isinstance(found, Mapping) else {}


def _tag(node: Mapping[str, Any], default: str) -> str:
    name = str(_node(node.get("xml")).get("name") or default)
    if not _NAME.fullmatch(name):
        raise XmlEncodingError(f"{name!r} cannot name an XML element")
    return name


def _text(value: Any) -> str:
    if isinstance(value, Mapping | list):
        raise XmlEncodingError("objects and lists in the fields of XML are not written; give the XML as a text")
    if _ILLEGAL.search(text := scalar(value)):
        raise XmlEncodingError("XML cannot hold control characters")
    return text
