"""Encode a value as XML by the XML Objects of its schema (OpenAPI, XML Object): names, attributes and wrapped arrays.

Prefixes and namespaces are not written; a body that needs them is given as text.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from restgpt.tools.request.serialization import scalar

_NAME = re.compile(r"[A-Za-z_][\w.-]*(:[A-Za-z_][\w.-]*)?")
_ILLEGAL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")

Schema = Mapping[str, Any]


class XmlEncodingError(ValueError):
    """A value cannot be encoded as XML."""


def write_xml(value: Any, schema: Schema | None, follow: Callable[[Any], Any]) -> bytes:
    """Write an XML document; `follow` resolves references of the raw schema. Raises XmlEncodingError."""

    def resolved(raw: Any) -> Schema:
        node = follow(raw) if raw is not None else {}
        return node if isinstance(node, Mapping) else {}

    def items(name: str, values: Sequence[Any], node: Schema) -> str:
        inner = resolved(node.get("items"))
        return "".join(element(_named(inner, name), one, inner) for one in values)

    def element(name: str, value: Any, node: Schema) -> str:
        attributes, content = "", ""
        if isinstance(value, Mapping):
            fields = node.get("properties")
            for key, item in value.items():
                inner = resolved(fields.get(key)) if isinstance(fields, Mapping) else {}
                own = _named(inner, key)
                if item is None:
                    continue
                if _xml(inner).get("attribute") is True:
                    attributes += f" {_tag(own)}={quoteattr(_checked(scalar(item)))}"
                elif not isinstance(item, list):
                    content += element(own, item, inner)
                elif _xml(inner).get("wrapped") is True:
                    content += f"<{_tag(own)}>{items(own, item, inner)}</{own}>"
                else:
                    content += items(key, item, inner)
        elif isinstance(value, list):
            content = items(name, value, node)
        else:
            content = escape(_checked(scalar(value)))
        opening = f"{_tag(name)}{attributes}"
        return f"<{opening}>{content}</{name}>" if content else f"<{opening}/>"

    root = resolved(schema)
    reference = str((schema or {}).get("$ref") or "").rstrip("/").rpartition("/")[2]
    name = _named(root, reference or str(root.get("title") or "root"))
    return ('<?xml version="1.0" encoding="UTF-8"?>' + element(name, value, root)).encode()


def _xml(schema: Schema) -> Schema:
    found = schema.get("xml")
    return found if isinstance(found, Mapping) else {}


def _named(schema: Schema, default: str) -> str:
    return str(_xml(schema).get("name") or default)


def _tag(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise XmlEncodingError(f"{name!r} cannot name an XML element")
    return name


def _checked(text: str) -> str:
    if _ILLEGAL.search(text):
        raise XmlEncodingError("XML cannot hold control characters")
    return text
