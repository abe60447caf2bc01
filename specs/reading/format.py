"""Conversion of Swagger 2.0 to OpenAPI 3, one operation at a time, when the operation is read.

The format of a document: OpenAPI is accepted, other formats raise an error that names the format and a remedy.
"""

from collections.abc import Callable
from typing import Any

from restgpt.specs.problem import Problem, SpecError, cut_problems
from restgpt.specs.reading.document import Document
from restgpt.specs.reading.download import Source
from restgpt.specs.reading.json_text import json_bytes

Follow = Callable[[Any], Any]

# collectionFormat -> (style, explode). OpenAPI 3 has no style for tsv, so the request builder knows `tabDelimited`.
COLLECTIONS = {
    "csv": ("form", False),
    "multi": ("form", True),
    "ssv": ("spaceDelimited", False),
    "pipes": ("pipeDelimited", False),
    "tsv": ("tabDelimited", False),
}
SCHEMA_KEYS = frozenset(
    {
        "type",
        "format",
        "items",
        "default",
        "enum",
        "maximum",
        "exclusiveMaximum",
        "minimum",
        "exclusiveMinimum",
        "maxLength",
        "minLength",
        "pattern",
        "maxItems",
        "minItems",
        "uniqueItems",
        "multipleOf",
        "x-nullable",
        "x-example",
        "example",
    }
)
# How many media types of a list are read, more than any published document has.
TYPES_MOST = 100
FORM_TYPES = ("multipart/form-data", "application/x-www-form-urlencoded")


def server_entries(root: dict[str, Any]) -> list[dict[str, Any]]:
    """Build the server list from host, which may have a scheme, basePath and schemes; https comes before http."""
    own, _, host = str(root.get("host") or "").rpartition("://")
    base = str(root.get("basePath") or "")
    schemes = [scheme for scheme in [own, *_texts(root.get("schemes"))] if scheme in ("http", "https")]
    path = "/" + base.strip("/") if base.strip("/") else ""
    if not host:
        return [{"url": path or "/"}]
    # Without a scheme, it is the one by which the document was read.
    prefixes = [f"{scheme}:" for scheme in sorted(schemes, key=lambda scheme: scheme != "https")] or [""]
    return [{"url": f"{prefix}//{host.strip('/')}{path}"} for prefix in prefixes]


def type_problems(node: dict[str, Any], pointer: str) -> list[Problem]:
    """List the problems of the `consumes` and `produces` of the root or an operation that are not read to their end."""
    return [
        problem
        for key in ("consumes", "produces")
        for problem in cut_problems(f"{pointer}/{key}", len(_texts(node.get(key))), TYPES_MOST, "media types")
    ]


def convert_operation(
    operation: dict[str, Any], shared: Any, consumes: Any, produces: Any, follow: Follow
) -> dict[str, Any]:
    """Return the operation in the shape of OpenAPI 3: body and form parameters become `requestBody`.

    `shared` are the parameters of the path item; `consumes` and `produces` come from the root of the document.
    """
    own = _objects(operation.get("parameters"), follow)
    named = {_key(item) for item in own}
    merged = [item for item in _objects(shared, follow) if _key(item) not in named] + own
    converted = {key: value for key, value in operation.items() if key not in ("parameters", "consumes", "produces")}
    converted["parameters"] = [_parameter(item) for item in merged if item.get("in") not in ("body", "formData")]
    body = _request_body(merged, _types(operation.get("consumes"), consumes), follow)
    if body is not None:
        converted["requestBody"] = body
    offered = _types(operation.get("produces"), produces)
    responses = operation.get("responses")
    if isinstance(responses, dict):
        converted["responses"] = {
            status: _response(follow(item), offered) if isinstance(item, dict) else item
            for status, item in responses.items()
        }
    return converted


def _key(parameter: dict[str, Any]) -> tuple[str, str]:
    return str(parameter.get("name")), str(parameter.get("in"))


def _objects(items: Any, follow: Follow) -> list[dict[str, Any]]:
    """Resolve a list of parameters; items that are not objects are left out."""
    found = [follow(item) for item in items] if isinstance(items, list) else []
    return [item for item in found if isinstance(item, dict)]


def _texts(value: Any) -> list[str]:
    """Read a list of texts, or one text in place of a list."""
    return [item for item in (value if isinstance(value, list) else [value]) if isinstance(item, str)]


def _types(own: Any, inherited: Any) -> list[str]:
    return (_texts(own) or _texts(inherited))[:TYPES_MOST]


def _schema(item: dict[str, Any]) -> dict[str, Any]:
    schema = {key: value for key, value in item.items() if key in SCHEMA_KEYS}
    if schema.get("type") == "file":
        return {**schema, "type": "string", "format": "binary"}
    return schema


def _parameter(item: dict[str, Any]) -> dict[str, Any]:
    """Give a parameter the schema, style and explode of OpenAPI 3."""
    kept = {key: value for key, value in item.items() if key not in SCHEMA_KEYS and key != "collectionFormat"}
    kept["schema"] = item["schema"] if isinstance(item.get("schema"), dict) else _schema(item)
    if item.get("x-example") is not None:
        kept["example"] = item["x-example"]
    if item.get("type") == "array":
        style, explode = COLLECTIONS.get(str(item.get("collectionFormat") or "csv"), ("form", False))
        if item.get("in") in ("path", "header") and style == "form":
            style, explode = "simple", False
        kept |= {"style": style, "explode": explode}
    return kept


def _request_body(parameters: list[dict[str, Any]], consumes: list[str], follow: Follow) -> dict[str, Any] | None:
    forms = [item for item in parameters if item.get("in") == "formData"]
    bodies = [item for item in parameters if item.get("in") == "body"]
    if forms:
        return _form_body(forms, consumes)
    if not bodies:
        return None
    body = bodies[0]
    schema = body.get("schema") if isinstance(body.get("schema"), dict) else {}
    media = {kind: {"schema": schema} for kind in consumes or ["application/json"]}
    return {"required": body.get("required", False), "description": body.get("description", ""), "content": media}


def _form_body(forms: list[dict[str, Any]], consumes: list[str]) -> dict[str, Any]:
    """Gather form parameters as the properties of one object, their collection formats as its encoding."""
    has_file = any(item.get("type") == "file" for item in forms)
    offered = [kind for kind in consumes if kind in FORM_TYPES]
    if has_file or not offered:
        offered = [FORM_TYPES[0] if has_file else FORM_TYPES[1]]
    schema: dict[str, Any] = {"type": "object", "properties": {}}
    encoding: dict[str, Any] = {}
    for item in forms:
        name = str(item.get("name"))
        property_schema = _schema(item)
        if item.get("description"):
            property_schema["description"] = item["description"]
        schema["properties"][name] = property_schema
        if item.get("type") == "array":
            style, explode = COLLECTIONS.get(str(item.get("collectionFormat") or "csv"), ("form", False))
            encoding[name] = {"style": style, "explode": explode}
        if item.get("allowEmptyValue") is True:
            encoding[name] = {**encoding.get(name, {}), "allowEmptyValue": True}
    required = [str(item.get("name")) for item in forms if item.get("required") is True]
    if required:
        schema["required"] = required
    media: dict[str, Any] = {"schema": schema}
    if encoding:
        media["encoding"] = encoding
    return {"required": bool(required), "content": dict.fromkeys(offered, media)}


def _response(item: Any, produces: list[str]) -> Any:
    if not isinstance(item, dict):
        return item
    schema, examples = item.get("schema"), item.get("examples")
    converted = {key: value for key, value in item.items() if key not in ("schema", "examples", "headers")}
    headers = item.get("headers")
    if isinstance(headers, dict):
        converted["headers"] = {
            name: {"description": head.get("description", ""), "schema": _schema(head)}
            for name, head in headers.items()
            if isinstance(head, dict)
        }
    if isinstance(schema, dict):
        if schema.get("type") == "file":
            media = {"schema": {"type": "string", "format": "binary"}}
            kinds = [kind for kind in produces if "json" not in kind] or ["application/octet-stream"]
            converted["content"] = dict.fromkeys(kinds, media)
            return converted
        kinds = produces or ["application/json"]
        found = examples if isinstance(examples, dict) else {}
        converted["content"] = {
            kind: {"schema": schema, **({"example": found[kind]} if kind in found else {})} for kind in kinds
        }
    return converted


REMEDY = "give the OpenAPI document of the API, often at /openapi.json or /swagger.json"


def open_document(source: Source, *, allow_external: bool) -> Document:
    """Open the document of a source; raises SpecError with the format and a remedy if it is not OpenAPI."""
    check_text(source.data, source.label)
    try:
        data = json_bytes(source.data)
        document = Document.from_json(
            data, location=source.location, digest=source.digest, allow_external=allow_external
        )
    except SpecError as error:
        raise SpecError(f"{source.label}: {error}; {REMEDY}") from None
    check_format(document, source.label)
    return document


def check_format(document: Document, label: str) -> None:
    """Raise SpecError with the format and a remedy if a document is neither OpenAPI 3 nor Swagger 2.0."""
    keys = document.slices.names(())
    version = document.version
    if version.startswith(("2", "3")) or (not version and "paths" in keys):
        return
    if version.startswith("1"):
        raise SpecError(f"{label} is written in Swagger {version}; convert it to OpenAPI 3 first")
    if version:
        raise SpecError(f"{label} is written in version {version} of OpenAPI; convert it to 2.0 or 3.x first")
    found = _other_format(document, keys) or "no OpenAPI document"
    raise SpecError(f"{label} is {found} (its keys: {', '.join(keys[:6]) or 'none'}); {REMEDY}")


def _other_format(document: Document, keys: list[str]) -> str:
    """Return the name of another format, recognised by the keys at its root, or an empty string."""
    if "asyncapi" in keys:
        return "an AsyncAPI document"
    if "arazzo" in keys:
        return "an Arazzo document"
    if "__schema" in keys or (keys == ["data"] and "__schema" in document.names("data")):
        return "a GraphQL schema"
    if "item" in keys and "info" in keys:
        return "a Postman collection"
    if document.get(("kind",)) == "discovery#restDescription":
        return "a Google discovery document"
    if "$schema" in keys and ("properties" in keys or "$defs" in keys):
        return "a JSON Schema"
    return ""


def check_text(text: bytes, label: str) -> None:
    """Raise SpecError if the bytes are empty or start like a web page, XML, RAML or a binary file."""
    start = text[:400].lstrip().lower()
    if not start:
        raise SpecError(f"{label} is empty; {REMEDY}")
    if start.startswith((b"<!doctype html", b"<html")):
        raise SpecError(f"{label} is a web page, not an OpenAPI document; {REMEDY}")
    if start.startswith(b"<"):
        raise SpecError(f"{label} is XML, not an OpenAPI document; {REMEDY}")
    if start.startswith(b"#%raml"):
        raise SpecError(f"{label} is a RAML document; convert it to OpenAPI first")
    if start.startswith((b"%pdf", b"\x1f\x8b", b"pk\x03\x04", b"\x89png")):
        raise SpecError(f"{label} is a binary file, not an OpenAPI document; {REMEDY}")
