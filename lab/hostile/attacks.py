"""Attacks: builders of API documents that make naive readers work or store much more than the documents are long.

Most of them are templates in attacks.yaml; the others are built by functions.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import yaml

from lab.kit.template import filled

Json = dict[str, Any]

STRING: Json = {"type": "string"}
HEAD: Json = {
    "openapi": "3.1.0",
    "info": {"title": "Things", "version": "1"},
    "servers": [{"url": "https://api.example.com"}],
}
PLAIN: Json = {"type": "object", "properties": {"name": STRING}}
LEVELS = (60, 24)
"""How many times schemas are doubled: 2^60 walks; and 2^24 in a small size."""

DESCRIBED = (2_000_000, 3000)
"""How many characters the descriptions have."""

YAML_HEAD = "openapi: 3.1.0\ninfo: {title: Things, version: '1'}\nservers: [{url: 'https://api.example.com'}]\n"
YAML_PATHS = "paths: {/things: {get: {responses: {'200': {description: Things}}}}}\n"


@dataclass(frozen=True, slots=True)
class Attack:
    """One kind of hostile document: `build` writes it in a size, `full` is the size of the attack, `quick` a small one.

    `values` are sent as arguments and come back as answers.
    """

    name: str
    build: Callable[[int], bytes]
    full: int
    quick: int
    values: tuple[Any, ...] = ()


def _json(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()


def _document(paths: Mapping[str, Any], components: Mapping[str, Any] | None = None, **more: Any) -> bytes:
    return _json({**HEAD, "paths": paths, **({"components": components} if components else {}), **more})


def _answer(schema: Any) -> Json:
    return {"200": {"description": "Things", "content": {"application/json": {"schema": schema}}}}


def _things(schema: Any, definitions: Mapping[str, Any] | None = None, **more: Any) -> bytes:
    """Return a document that takes and answers values of one schema."""
    body = {"required": True, "content": {"application/json": {"schema": schema}}}
    query = {"name": "filter", "in": "query", "required": True, "schema": schema}
    variable = {"name": "id", "in": "path", "required": True, "schema": STRING}
    return _document(
        {
            "/things": {
                "get": {"summary": "List things", "parameters": [query], "responses": _answer(schema)},
                "post": {"summary": "Create a thing", "requestBody": body, "responses": _answer(schema)},
            },
            "/things/{id}": {
                "parameters": [variable],
                "get": {"summary": "Get a thing", "responses": _answer(schema)},
                "put": {"summary": "Replace a thing", "requestBody": body, "responses": _answer(schema)},
                "delete": {"summary": "Delete a thing", "responses": {"204": {"description": "Gone"}}},
            },
        },
        {"schemas": definitions or {}},
        **more,
    )


def _reference(number: int | str) -> Json:
    return {"$ref": f"#/components/schemas/S{number}"}


def _described(text: str, size: int) -> bytes:
    """Return a document that repeats a text wherever it may describe something."""
    long = text * (size // len(text))
    schema = {"type": "object", "description": long, "properties": {"name": {**STRING, "description": long}}}
    operation = {
        "summary": long,
        "description": long,
        "parameters": [{"name": "a", "in": "query", "description": long, "schema": STRING}],
        "requestBody": {"description": long, "content": {"application/json": {"schema": schema}}},
        "responses": {"200": {"description": long, "content": {"application/json": {"schema": schema}}}},
    }
    info = {"title": long[:1000], "version": "1", "description": long}
    return _document({"/things": {"post": operation}}, info=info, tags=[{"name": long[:1000], "description": long}])


def _fields(count: int) -> Json:
    return {"type": "object", "properties": {f"name{number}": STRING for number in range(count)}}


def _nested(size: int) -> bytes:
    """Return a document with fields within fields, each of which is there twice."""
    node: Any = STRING
    for _ in range(size):
        node = {"type": "object", "required": ["a"], "properties": {"a": node, "b": node}}
    return _things(node)


def _anchored(size: int) -> bytes:
    schemas = {f"S{n}": {"$anchor": f"a{n}", "type": "object"} for n in range(size)}
    return _things({"anyOf": [{"$ref": f"#a{n}"} for n in reversed(range(size))]}, schemas)


def _many_discriminators(size: int) -> bytes:
    """Return a document in which every schema has a discriminator, and all of them are in one closure."""
    schemas = {
        f"S{n}": {
            "oneOf": [_reference((n + 1) % size), _reference((n + 2) % size), {"type": "object"}],
            "discriminator": {"propertyName": "kind", "mapping": {"a": f"#/components/schemas/S{(n + 1) % size}"}},
        }
        for n in range(size)
    }
    return _things({"type": "array", "items": _reference(0)}, schemas)


def _complete(size: int) -> bytes:
    """Return a document in which every schema has every other one as a field."""
    every = {f"f{n}": _reference(n) for n in range(size)}
    return _things(_reference(0), {f"S{n}": {"type": "object", "properties": every} for n in range(size)})


def _complete_all_of(size: int) -> bytes:
    """Return a document in which every schema has all later ones as members of `allOf`."""
    schemas = {
        f"S{n}": {"properties": {f"f{n}": STRING}, "allOf": [_reference(m) for m in range(n + 1, size)]}
        for n in range(size)
    }
    return _things(_reference(0), schemas)


def _inherited(size: int) -> bytes:
    """Return a document with a chain of `allOf` in which each schema adds fields."""
    schemas: Json = {
        f"S{n}": {"allOf": [_reference(n + 1), _fields(100)], "properties": {f"f{n}": STRING}} for n in range(size)
    }
    return _things(_reference(0), {**schemas, f"S{size}": {"type": "object"}})


def _shared_by_all(size: int) -> bytes:
    """Return a document whose operations all take and answer one exponential schema."""
    schemas: Json = {f"S{n}": {"allOf": [_reference(n + 1), _reference(n + 1)]} for n in range(24)}
    schemas["S24"] = _fields(20)
    body = {"content": {"application/json": {"schema": _reference(0)}}}
    paths = {
        f"/search{n}": {"post": {"summary": "Search", "requestBody": body, "responses": _answer(_reference(0))}}
        for n in range(size)
    }
    return _document(paths, {"schemas": schemas})


def _inherited_parameters(size: int) -> bytes:
    """Return a document with many operations, each of which refers to all of many parameters."""
    shared = {f"P{n}": {"name": f"p{n}", "in": "query", "schema": STRING} for n in range(size)}
    referred = [{"$ref": f"#/components/parameters/P{n}"} for n in range(size)]
    plain = {"parameters": referred, "responses": {"200": {"description": "Things"}}}
    return _document({f"/things{n}": {"get": plain} for n in range(size)}, {"parameters": shared})


def _costly_parameters(size: int) -> bytes:
    schemas: Json = {f"S{k}": {"anyOf": [_reference(k + 1)] * 2} for k in range(24)}
    schemas["S24"] = {"type": "integer", "minimum": 2, "maximum": 1}
    costly = {"in": "query", "required": True, "schema": _reference(0)}
    parameters = [{"name": f"p{k}", **costly} for k in range(size)]
    return _document({"/things": {"get": {"parameters": parameters}}}, {"schemas": schemas})


def _responses(size: int) -> bytes:
    found = {}
    for status in range(200, size):
        schema = {"properties": {f"f{status}": STRING}}
        found[f"{status}"] = {"description": f"It is {status}", "content": {"application/json": {"schema": schema}}}
    return _document({"/things": {"get": {"responses": found}}})


def _referred_items(size: int) -> bytes:
    items = {"pathItems": {"P": {"get": {"responses": _answer(_fields(300))}}}}
    return _document({f"/thing{k}": {"$ref": "#/components/pathItems/P"} for k in range(size)}, items)


def _cyclic(size: int) -> bytes:
    schemas = {f"S{k}": {"properties": {"a": _reference(k + 1), "b": _reference(k * 2 % size)}} for k in range(size)}
    return _things(_reference(0), {name: {"type": "object", **schema} for name, schema in schemas.items()})


def _paths(write: Callable[[int], str], **operation: Any) -> Callable[[int], bytes]:
    plain = {"responses": {"200": {"description": "Things"}}, **operation}
    return lambda size: _document({write(number): {"get": plain} for number in range(size)})


def _named(write: Callable[[int], str]) -> Callable[[int], bytes]:
    """Return the builder of a document whose operations have ids of their own."""
    return lambda size: _document({f"/thing{k}": {"get": {"operationId": write(k)}} for k in range(size)})


def _dashed(size: int) -> bytes:
    parameters = [{"schema": STRING, "name": "a" + "-" * (k + 1), "in": "query"} for k in range(size)]
    return _document({"/things": {"get": {"responses": _answer({}), "parameters": parameters}}})


def _yaml(text: str) -> bytes:
    """Return a YAML document with a part of its own after the usual head."""
    return f"{YAML_HEAD}{YAML_PATHS}{text}\n".encode()


HARMLESS = _things(PLAIN)
"""A document with nothing hostile in it."""

BUILDERS: dict[str, Callable[[int], bytes]] = {
    "a complete graph of fields": _complete,
    "a complete graph of allOf": _complete_all_of,
    "an exponential schema of all operations": _shared_by_all,
    "a chain of allOf with fields": _inherited,
    "many anchors": _anchored,
    "a discriminator in each schema": _many_discriminators,
    "fields within fields": _nested,
    "long paths": _paths(lambda k: f"/{k}" + "/a" * 300),
    "paths with many variables": _paths(lambda k: f"/{k}" + "".join(f"/{{v{at}}}" for at in range(200))),
    "equal long operationIds": _paths("/thing{}".format, operationId="same" * 100),
    "operationIds that become equal": _named(lambda k: "a" + "." * (k + 1)),
    "names of functions that become equal": _named(
        lambda k: f"{'a' * 40}{'-' * (k % 20)}b{k}"[:64].replace(str(k), "") or "a"
    ),
    "many costly parameters": _costly_parameters,
    "parameters that become one name": _dashed,
    "many shared parameters": _inherited_parameters,
    "many responses": _responses,
    "many path items by reference": _referred_items,
    "many schemas": _cyclic,
    "a YAML bomb of texts": lambda n: _yaml(f"x-a: &a {'a' * n}\nx-b: [{', '.join(['*a'] * 20_000)}]"),
    "YAML of indentation": lambda n: _yaml("x-a:\n" + "\n".join(" " * (k + 1) + "a:" for k in range(n))),
    "JSON that ends early": lambda n: _things(_fields(n))[:-2],
    "JSON with a comma at its end": lambda n: _things(_fields(n))[:-1] + b",}",
    "UTF-16": lambda n: _things(_fields(n)).decode().encode("utf-16"),
}
"""The builders of attacks that no template can write."""

VALUES: dict[str, tuple[Any, ...]] = {
    "many enumerated numbers": (["x"] * 200, [-1] * 1000),
    "many fields": ([{"name1": 1}] * 200,),
    "many patterns of names": ({f"k{k}": k for k in range(500)},),
    "unique items": ([{"a": k} for k in range(5000)],),
    "a slow pattern": ("a" * 5000 + "b",),
    "a slow pattern of names": ({"a" * 50 + "b": 1},),
    "a nested pattern": ("a" * 100,),
}
"""Values that are too long for the file of templates."""


_UNFILLED = ("sizes", "values", "level", "last")


def _built(attack: Mapping[str, Any], size: int) -> bytes:
    """Return the document that the templates of an attack make in a size."""
    made = {key: filled(template, size) for key, template in attack.items() if key not in _UNFILLED}
    match made:
        case {"json": document}:
            return _json(document)
        case {"text": text}:
            return str(text).encode()
        case {"described": text}:
            return _described(text, size)
        case {"yaml": text}:
            return _yaml(text)
        case {"deep": schema}:
            # It nests too deeply to be written by `json`.
            return _things("@").replace(b'"@"', str(schema).encode())
        case {"paths": paths}:
            return _document(paths, made.get("components"), **made.get("root", {}))
        case {"operation": operation}:
            found = {"responses": _answer({}), **operation}
            return _document({"/things": {"get": found}}, made.get("components"), **made.get("root", {}))
    return _things(made.get("schema", PLAIN), made.get("schemas"), **made.get("root", {}))


def _attack(name: str, given: Mapping[str, Any]) -> Attack:
    build = BUILDERS.get(name) or partial(_built, given)
    full, quick = given["sizes"]
    return Attack(name, build, full, quick, VALUES.get(name) or tuple(given.get("values", ())))


def _doubled(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an attack of a chain of schemas that each contain the next one, most often twice: 2^n walks."""
    if "level" not in given:
        return given
    schemas = {"S$k": given["level"], "S$n": given.get("last", {"type": "integer"})}
    return {"sizes": LEVELS, **given, "schema": _reference(0), "schemas": schemas}


@cache
def attacks(kind: str = "") -> tuple[Attack, ...]:
    """Return all attacks, or those of one kind."""
    kinds: dict[str, dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("attacks.yaml").read_bytes())
    del kinds["parts"]
    described = kinds["descriptions"].items()
    kinds["descriptions"] = {
        f"a description of {name}": {"sizes": DESCRIBED, "described": text} for name, text in described
    }
    return tuple(
        _attack(name, _doubled(given))
        for key, found in kinds.items()
        for name, given in found.items()
        if kind in ("", key)
    )
