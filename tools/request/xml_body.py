"""Encode a value as XML by the XML Objects of its schema (OpenAPI 3.2, XML Object)."""

import re
from collections.abc import Callable, Mapping
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
    node = _resolve(schema, follow)
    name = _xml(node).get("name") or _reference_name(schema) or node.get("title") or "root"
    return ('<?xml version="1.0" encoding="UTF-8"?>' + _Writer(follow).element(str(name), value, node)).encode()


def _resolve(schema: Any, follow: Callable[[Any], Any]) -> Schema:
    node = follow(schema) if schema is not None else {}
    return node if isinstance(node, Mapping) else {}


def _reference_name(schema: Schema | None) -> str:
    reference = (schema or {}).get("$ref")
    return reference.rstrip("/").rsplit("/", 1)[-1] if isinstance(reference, str) else ""


def _xml(schema: Schema) -> Schema:
    found = schema.get("xml")
    return found if isinstance(found, Mapping) else {}


class _Writer:
    """Encodes elements, deepest first, with the namespaces and attributes in the schema."""

    def __init__(self, follow: Callable[[Any], Any]) -> None:
        self._follow = follow

    def element(self, name: str, value: Any, schema: Schema) -> str:
        """Write one element with its content."""
        tag, namespace = self._tag(name, schema)
        if isinstance(value, Mapping):
            attributes, content = self._members(value, schema)
        elif isinstance(value, list):
            attributes, content = "", self._items(self._name(schema, name), value, schema)
        else:
            attributes, content = "", _text(value)
        opening = f"{tag}{namespace}{attributes}"
        return f"<{opening}>{content}</{tag}>" if content else f"<{opening}/>"

    def _members(self, value: Mapping[str, Any], schema: Schema) -> tuple[str, str]:
        attributes, content = [], []
        for key, item in value.items():
            node = self._property(schema, key)
            place = _xml(node)
            if item is None:
                continue
            if place.get("attribute") is True or place.get("nodeType") == "attribute":
                attributes.append(f" {self._tag(key, node)[0]}={quoteattr(_checked(scalar(item)))}")
            elif place.get("nodeType") in ("text", "cdata"):
                content.append(_text(item))
            elif isinstance(item, list):
                content.append(self._array(key, item, node))
            else:
                content.append(self.element(self._name(node, key), item, node))
        return "".join(attributes), "".join(content)

    def _array(self, key: str, items: list[Any], schema: Schema) -> str:
        """Write the items of an array, inside a wrapper element if the schema has `wrapped`."""
        place = _xml(schema)
        if place.get("wrapped") is True or place.get("nodeType") == "element":
            name = self._name(schema, key)
            tag, namespace = self._tag(name, schema)
            return f"<{tag}{namespace}>{self._items(name, items, schema)}</{tag}>"
        return self._items(key, items, schema)

    def _items(self, name: str, items: list[Any], schema: Schema) -> str:
        node = _resolve(schema.get("items"), self._follow)
        return "".join(self.element(self._name(node, name), item, node) for item in items)

    def _property(self, schema: Schema, key: str, depth: int = 0) -> Schema:
        own = schema.get("properties")
        if isinstance(own, Mapping) and key in own:
            return _resolve(own[key], self._follow)
        for item in schema.get("allOf") or () if depth < 8 else ():
            found = self._property(_resolve(item, self._follow), key, depth + 1)
            if found:
                return found
        return {}

    def _name(self, schema: Schema, default: str) -> str:
        return str(_xml(schema).get("name") or default)

    def _tag(self, name: str, schema: Schema) -> tuple[str, str]:
        """The qualified name and the namespace declaration of an element or attribute."""
        place = _xml(schema)
        prefix = place.get("prefix")
        tag = f"{prefix}:{name}" if prefix else name
        if not _NAME.fullmatch(tag):
            raise XmlEncodingError(f"{name!r} cannot name an XML element")
        namespace = place.get("namespace")
        if not namespace:
            return tag, ""
        return tag, f" xmlns{':' + str(prefix) if prefix else ''}={quoteattr(str(namespace))}"


def _text(value: Any) -> str:
    return escape(_checked(scalar(value)))


def _checked(text: str) -> str:
    if _ILLEGAL.search(text):
        raise XmlEncodingError("XML cannot hold control characters")
    return text
