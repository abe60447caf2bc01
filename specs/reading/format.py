"""The format of a document: OpenAPI is accepted, other formats raise an error that names the format and a remedy."""

from restgpt.specs.problem import SpecError
from restgpt.specs.reading.document import Document
from restgpt.specs.reading.source import Source
from restgpt.specs.reading.text.json_text import json_bytes

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
