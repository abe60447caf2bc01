"""Serialize parameter values in the styles of OpenAPI (3.1 and 3.2, Parameter Object, "Style Values").

Values are percent-encoded before they are joined, so a delimiter inside a value differs from a delimiter between
values. All functions are pure and return text that is ready for its place in the request.

Encode a flat object as XML by the XML Objects of its schema (OpenAPI, XML Object): names, attributes, arrays.

Prefixes, namespaces and objects in it are not written; a body that needs them is given as text.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, quote_plus, unquote
from xml.sax.saxutils import escape, quoteattr

# The reserved characters of RFC 3986, without those that would end the value (& # +) or are invalid in a query ([ ]).
RESERVED_IN_QUERY = ":/?@!$'()*,;="

# A slash, or an escape that a server may read as one, would add a segment.
RESERVED_IN_PATH = ":@!$&'()*+,;="

SEPARATORS = {"form": ",", "spaceDelimited": "%20", "pipeDelimited": "%7C", "tabDelimited": "%09"}

NESTED = {"ssv": " ", "tsv": "\t", "pipes": "|"}
"""What separates the values of an array in an array, by the `collectionFormat` of Swagger 2.0; else a comma."""

_TRIPLET = re.compile(r"%[0-9A-Fa-f]{2}")

_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")

_COOKIE_BREAK = re.compile(r"[\x00-\x20\x7f\";,\\]")


@dataclass(frozen=True, slots=True)
class Style:
    """The serialization of one value: `style`, `explode` and `allowReserved` of OpenAPI."""

    name: str = "form"
    explode: bool = True
    allow_reserved: bool = False


def scalar(value: Any) -> str:
    """Serialize one value as compact JSON; a string has no quotes, null is an empty string."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def joined(value: Any, schema: Any) -> Any:
    """Write the arrays in an array as texts, as a schema of Swagger 2.0 says; the outer one has a style of its own."""
    items = schema.get("items") if isinstance(schema, Mapping) else None
    if not isinstance(value, list) or not isinstance(items, Mapping) or items.get("type") != "array":
        return value
    mark = NESTED.get(str(items.get("collectionFormat")), ",")
    nested = (joined(item, items) for item in value)
    return [mark.join(map(scalar, item)) if isinstance(item, list) else item for item in nested]


def reserved(text: str, safe: str) -> str:
    """Percent-encode by RFC 6570 section 3.2.3: `safe` characters and existing triplets are not encoded."""
    parts, end = [], 0
    for match in _TRIPLET.finditer(text):
        parts += [quote(text[end : match.start()], safe=safe), match.group()]
        end = match.end()
    return "".join([*parts, quote(text[end:], safe=safe)])


def path_text(name: str, value: Any, style: Style) -> str:
    """Serialize a path parameter (simple, label or matrix); no value can add a segment, a query or a fragment."""

    def encode(item: Any) -> str:
        return quote(scalar(item), safe=RESERVED_IN_PATH if style.allow_reserved else "")

    def named(key: str, item: Any) -> str:
        text = encode(item)
        return key if style.name == "matrix" and not text else f"{key}={text}"

    prefix, joiner = {"label": (".", "."), "matrix": (";", ";")}.get(style.name, ("", ","))
    key = quote(name, safe="")
    if isinstance(value, Mapping):
        if style.explode:
            return prefix + joiner.join(named(encode(k), v) for k, v in _present(value))
        flat = ",".join(f"{encode(k)},{encode(v)}" for k, v in _present(value))
        return f";{key}={flat}" if style.name == "matrix" else prefix + flat
    if isinstance(value, list | tuple):
        items = [item for item in value if item is not None]
        if style.name == "matrix" and style.explode:
            return "".join(f";{named(key, item)}" for item in items)
        text = (joiner if style.explode else SEPARATORS.get(style.name, ",")).join(map(encode, items))
        return f";{key}={text}" if style.name == "matrix" else prefix + text
    return f";{named(key, value)}" if style.name == "matrix" else prefix + encode(value)


def query_pairs(name: str, value: Any, style: Style, *, plus: bool = False) -> list[str]:
    """Serialize a query parameter or a form field as encoded `name=value` texts; an empty list leaves it out.

    `plus` encodes a space as `+`, as in HTML forms. Styles: form, spaceDelimited, pipeDelimited, tabDelimited (Swagger
    2.0 `tsv`), deepObject. In a deepObject, nested objects become `a[b][c]`, arrays `a[]`, arrays of objects `a[0][b]`.
    """

    def encode(item: Any) -> str:
        text = scalar(item)
        if style.allow_reserved:
            return reserved(text, RESERVED_IN_QUERY)
        return quote_plus(text, safe="") if plus else quote(text, safe="")

    def key(text: str) -> str:
        return quote_plus(text, safe="") if plus else quote(text, safe="")

    if style.name == "deepObject" and isinstance(value, Mapping | list | tuple):
        return [f"{key(path)}={encode(item)}" for path, item in _deep(name, value)]
    if isinstance(value, Mapping):
        if style.explode and style.name == "form":
            return [f"{key(path)}={encode(item)}" for k, v in _present(value) for path, item in _branch(k, v)]
        items = [encode(part) for pair in _present(value) for part in pair]
    elif isinstance(value, list | tuple):
        items = [encode(item) for item in value if item is not None]
        if style.explode:
            return [f"{key(name)}={item}" for item in items]
    else:
        return [f"{key(name)}={encode(value)}"]
    joiner = SEPARATORS.get(style.name, ",")
    if plus and joiner == "%20":
        joiner = "+"
    return [f"{key(name)}={joiner.join(items)}"] if items else []


def header_text(value: Any, style: Style) -> str:
    """Serialize a header value (simple); header values are not percent-encoded."""
    if isinstance(value, Mapping):
        joiner = "=" if style.explode else ","
        return ",".join(f"{scalar(k)}{joiner}{scalar(v)}" for k, v in _present(value))
    if isinstance(value, list | tuple):
        return unquote(SEPARATORS.get(style.name, ",")).join(scalar(item) for item in value if item is not None)
    return scalar(value)


def cookie_pairs(name: str, value: Any, style: Style) -> list[str]:
    """Serialize a cookie parameter as `name=value` texts, which the Cookie header joins with `; `.

    The OpenAPI style `form` percent-encodes. With `explode` it would join pairs by `&`, which servers do not parse, so
    each value becomes its own pair. The style `cookie` of OpenAPI 3.2 does not percent-encode.
    """

    def encode(item: Any) -> str:
        text = scalar(item)
        return text if style.name == "cookie" else quote(text, safe="")

    if isinstance(value, Mapping):
        if style.explode:
            return [f"{encode(k)}={encode(v)}" for k, v in _present(value)]
        value = [part for pair in _present(value) for part in pair]
    elif isinstance(value, list | tuple) and style.explode:
        return [f"{name}={encode(item)}" for item in value if item is not None]
    if isinstance(value, list | tuple):
        return [f"{name}={','.join(encode(item) for item in value if item is not None)}"]
    return [f"{name}={encode(value)}"]


def breaks_header(text: str) -> bool:
    """Whether a text contains a control character, which could end the header (RFC 9110 section 5.5)."""
    return bool(_CONTROL.search(text))


def breaks_cookie(text: str) -> bool:
    """Whether a text contains a character that is invalid in a cookie value (RFC 6265 section 4.1.1)."""
    return bool(_COOKIE_BREAK.search(text))


def _present(value: Mapping[Any, Any]) -> list[tuple[Any, Any]]:
    """The members that are not null: RFC 6570 section 2.4.2 leaves out undefined members."""
    return [(key, item) for key, item in value.items() if item is not None]


def _deep(name: str, value: Any) -> list[tuple[str, Any]]:
    """Flatten a nested value to bracketed names, the format of PHP, Rails, Stripe and the qs library."""
    if isinstance(value, Mapping):
        return [pair for key, item in _present(value) for pair in _deep(f"{name}[{key}]", item)]
    if isinstance(value, list | tuple):
        nested = any(isinstance(item, Mapping | list | tuple) for item in value)
        return [
            pair
            for number, item in enumerate(value)
            if item is not None
            for pair in _deep(f"{name}[{number if nested else ''}]", item)
        ]
    return [(name, value)]


def _branch(name: Any, value: Any) -> list[tuple[str, Any]]:
    """Flatten one member of an exploded object: arrays repeat the name, objects use brackets."""
    if isinstance(value, list | tuple) and not any(isinstance(item, Mapping | list | tuple) for item in value):
        return [(str(name), item) for item in value if item is not None]
    return _deep(str(name), value)


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
