"""Attacks: builders of API documents that make naive readers work or store much more than the documents are long."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]

STRING: Json = {"type": "string"}
HEAD: Json = {
    "openapi": "3.1.0",
    "info": {"title": "Things", "version": "1"},
    "servers": [{"url": "https://api.example.com"}],
}
LEVELS = 60
"""How many times schemas are doubled: 2^60 walks."""

YAML_HEAD = "openapi: 3.1.0\ninfo: {title: Things, version: '1'}\nservers: [{url: 'https://api.example.com'}]\n"


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


def _doubled(
    name: str, level: Callable[[Json], Any], *, quick: int = 24, values: tuple[Any, ...] = (), last: Any = None
) -> Attack:
    """Return an attack of schemas that each contain the next one twice, so n levels mean 2^n walks."""

    def build(size: int) -> bytes:
        schemas = {f"S{number}": level(_reference(number + 1)) for number in range(size)}
        schemas[f"S{size}"] = {"type": "integer"} if last is None else last
        return _things(_reference(0), schemas)

    return Attack(name, build, LEVELS, quick, values)


def _schema(write: Callable[[int], Any]) -> Callable[[int], bytes]:
    """Return the builder of a document with one schema."""
    return lambda size: _things(write(size))


def _operation(write: Callable[[int], Json]) -> Callable[[int], bytes]:
    """Return the builder of a document with one operation."""
    return lambda size: _document({"/things": {"get": {"responses": _answer({}), **write(size)}}})


def _root(write: Callable[[int], Json]) -> Callable[[int], bytes]:
    """Return the builder of a document with two plain operations and other keys at its root."""
    return lambda size: _things({"type": "object", "properties": {"name": STRING}}, **write(size))


def _described(text: str) -> Callable[[int], bytes]:
    """Return the builder of a document that repeats a text wherever it may describe something."""

    def build(size: int) -> bytes:
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

    return build


def _yaml(write: Callable[[int], str]) -> Callable[[int], bytes]:
    """Return the builder of a YAML document with a part of its own after the usual head."""
    paths = "paths: {/things: {get: {responses: {'200': {description: Things}}}}}\n"
    return lambda size: f"{YAML_HEAD}{paths}{write(size)}\n".encode()


def _names(count: int) -> Iterable[str]:
    return (f"name{number}" for number in range(count))


def _fields(count: int, schema: Any = STRING) -> Json:
    return {"type": "object", "properties": dict.fromkeys(_names(count), schema)}


def _nested(size: int, level: Callable[[Any], Any]) -> Any:
    node: Any = STRING
    for _ in range(size):
        node = level(node)
    return node


def _text_nested(start: str, end: str) -> Callable[[int], bytes]:
    """Return the builder of a document with one schema that nests too deeply to be written by `json`."""

    def build(size: int) -> bytes:
        return _things("@").replace(b'"@"', f"{start * size}{{}}{end * size}".encode())

    return build


def _chained(size: int) -> bytes:
    return _things(_reference(0), {**{f"S{n}": _reference(n + 1) for n in range(size)}, f"S{size}": STRING})


def _anchored(size: int) -> bytes:
    schemas = {f"S{n}": {"$anchor": f"a{n}", "type": "object"} for n in range(size)}
    return _things({"anyOf": [{"$ref": f"#a{n}"} for n in reversed(range(size))]}, schemas)


def _same_names(size: int) -> bytes:
    """Return a document whose references all end in the same name."""
    shared = {f"P{n}": {"Same": {"type": "object", "properties": {"a": STRING}}} for n in range(size)}
    members = [{"$ref": f"#/x-shared/P{n}/Same"} for n in range(size)]
    return _things(
        {"type": "object", "properties": dict(zip(_names(size), members, strict=True))}, **{"x-shared": shared}
    )


def _discriminated(size: int) -> bytes:
    schemas = {f"S{n}": {"type": "object", "properties": {"kind": STRING, f"f{n}": STRING}} for n in range(size)}
    mapping = {f"kind{n}": f"#/components/schemas/S{n}" for n in range(size)}
    members = [_reference(n) for n in range(size)]
    choice = {"oneOf": members, "discriminator": {"propertyName": "kind", "mapping": mapping}}
    return _things(choice, schemas)


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


def _paths(write: Callable[[int], str], **operation: Any) -> Callable[[int], bytes]:
    plain = {"responses": {"200": {"description": "Things"}}, **operation}
    return lambda size: _document({write(number): {"get": plain} for number in range(size)})


def _parameters(write: Callable[[int], Json]) -> Callable[[int], bytes]:
    return _operation(lambda size: {"parameters": [{"schema": STRING, **write(n)} for n in range(size)]})


def _inherited_parameters(size: int) -> bytes:
    """Return a document with many operations, each of which refers to all of many parameters."""
    shared = {f"P{n}": {"name": f"p{n}", "in": "query", "schema": STRING} for n in range(size)}
    referred = [{"$ref": f"#/components/parameters/P{n}"} for n in range(size)]
    plain = {"parameters": referred, "responses": {"200": {"description": "Things"}}}
    return _document({f"/things{n}": {"get": plain} for n in range(size)}, {"parameters": shared})


def _secured(size: int) -> bytes:
    schemes = {f"s{n}": {"type": "apiKey", "in": "header", "name": f"X-{n}"} for n in range(size)}
    operation = {"security": [{f"s{n}": []} for n in range(size)], "responses": _answer({})}
    return _document(
        {"/things": {"get": operation}}, {"securitySchemes": schemes}, security=[{f"s{n}": []} for n in range(size)]
    )


def _bomb(size: int) -> str:
    lines = ["x-a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    lines += [f"x-a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, size)]
    return "\n".join(lines)


def _merges(size: int) -> str:
    """Return YAML in which each mapping merges the one before it, so that all of them together are quadratic."""
    lines = ["x-a0: &a0 {k0: 1}"]
    return "\n".join([*lines, *(f"x-a{n}: &a{n} {{<<: *a{n - 1}, k{n}: 1}}" for n in range(1, size))])


def _merged_lists(size: int) -> str:
    many = ", ".join(f"k{n}: 1" for n in range(size))
    return f"x-a: &a {{{many}}}\nx-b:\n  <<: [{', '.join(['*a'] * size)}]"


def _merge_bomb(size: int) -> str:
    lines = ["x-a0: &a0 {k: 1}"]
    return "\n".join([*lines, *(f"x-a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 10)}]}}" for n in range(1, size))])


HARMLESS = _things({"type": "object", "properties": {"name": STRING}})
"""A document with nothing hostile in it."""

EXPONENTIAL = [
    _doubled("anyOf doubled", lambda inner: {"anyOf": [inner, inner]}, values=("x", 1)),
    _doubled("oneOf doubled", lambda inner: {"oneOf": [inner, inner]}, values=("x", 1)),
    _doubled("allOf doubled", lambda inner: {"allOf": [inner, inner]}, values=("x", 1)),
    _doubled(
        "allOf doubled, closed",
        lambda inner: {"allOf": [inner, inner]},
        values=({"a": 1},),
        last={"additionalProperties": False},
    ),
    _doubled(
        "not doubled", lambda inner: {"not": {"anyOf": [{"not": inner}, {"not": inner}]}}, quick=16, values=("x", 1)
    ),
    _doubled("if doubled", lambda inner: {"if": inner, "then": inner, "else": inner}, values=("x", 1)),
    _doubled("fields doubled", lambda inner: {"type": "object", "properties": {"a": inner, "b": inner}}),
    _doubled(
        "required fields doubled",
        lambda inner: {"type": "object", "required": ["a", "b"], "properties": {"a": inner, "b": inner}},
    ),
    _doubled(
        "items doubled", lambda inner: {"type": "array", "prefixItems": [inner, inner], "items": inner, "minItems": 2}
    ),
    _doubled("least items doubled", lambda inner: {"type": "array", "items": inner, "minItems": 1000}, quick=4),
    _doubled(
        "least fields doubled",
        lambda inner: {"type": "object", "additionalProperties": inner, "minProperties": 100},
        quick=6,
    ),
    _doubled("map doubled", lambda inner: {"properties": {"a": inner}, "additionalProperties": inner}),
    _doubled(
        "patternProperties doubled",
        lambda inner: {"patternProperties": {"a": inner, "a+": inner}},
        values=({"a": {"a": {"a": {}}}},),
    ),
    _doubled(
        "dependentSchemas doubled",
        lambda inner: {"dependentSchemas": {"a": inner, "b": inner}},
        values=({"a": 1, "b": 2},),
    ),
    _doubled("contains doubled", lambda inner: {"contains": {"anyOf": [inner, inner]}}, quick=16, values=([[[[1]]]],)),
    _doubled(
        "unevaluatedProperties doubled",
        lambda inner: {"allOf": [inner, inner], "unevaluatedProperties": False},
        quick=12,
        values=({"a": 1, "b": 2},),
        last={"properties": {"a": {}}},
    ),
    _doubled(
        "unevaluatedItems doubled",
        lambda inner: {"allOf": [inner, inner], "unevaluatedItems": False},
        quick=12,
        values=([1, 2],),
        last={"prefixItems": [{}]},
    ),
    _doubled(
        "siblings of references doubled", lambda inner: {**inner, "anyOf": [inner, inner]}, quick=20, values=("x",)
    ),
    _doubled("nullable doubled", lambda inner: {"nullable": True, "anyOf": [inner, inner]}, values=(None, "x")),
    _doubled(
        "dynamicRef doubled",
        lambda inner: {"anyOf": [{"$dynamicRef": inner["$ref"]}, inner, inner]},
        quick=20,
        values=("x",),
    ),
    _doubled(
        "everything doubled",
        lambda inner: {
            "allOf": [inner, inner],
            "anyOf": [inner, inner],
            "properties": {"a": inner},
            "items": inner,
            "additionalProperties": inner,
        },
        quick=10,
        values=({"a": {"a": [{}]}},),
    ),
    Attack("a complete graph of fields", _complete, 300, 30),
    Attack("a complete graph of allOf", _complete_all_of, 300, 18),
    Attack("an exponential schema of all operations", _shared_by_all, 3000, 20),
]

WIDE = [
    Attack("a long chain of references", _chained, 100_000, 1000),
    Attack("a chain of allOf with fields", _inherited, 1000, 60),
    Attack("many anchors", _anchored, 10_000, 300),
    Attack("references with one name", _same_names, 20_000, 300),
    Attack("a wide oneOf with a discriminator", _discriminated, 20_000, 300),
    Attack("a discriminator in each schema", _many_discriminators, 5000, 100),
    Attack(
        "a wide anyOf",
        _schema(
            lambda n: {
                "anyOf": [{"type": "object", "required": [f"r{k}"], "properties": {f"f{k}": STRING}} for k in range(n)]
            }
        ),
        50_000,
        300,
    ),
    Attack(
        "a wide allOf",
        _schema(lambda n: {"allOf": [{"properties": {f"f{k}": STRING}, "required": [f"f{k}"]} for k in range(n)]}),
        20_000,
        300,
    ),
    Attack(
        "a wide allOf, closed",
        _schema(
            lambda n: {
                "additionalProperties": False,
                "allOf": [{"properties": {f"f{k}": STRING}, "required": [f"f{k}"]} for k in range(n)],
            }
        ),
        20_000,
        300,
    ),
    Attack(
        "many enumerated numbers",
        _schema(lambda n: {"type": "array", "items": {"enum": list(range(n))}}),
        1_000_000,
        2000,
        (["x"] * 200, [-1] * 1000),
    ),
    Attack("many enumerated texts", _schema(lambda n: {"enum": [f"value {k}" for k in range(n)]}), 1_000_000, 2000),
    Attack(
        "many enumerated objects",
        _schema(lambda n: {"enum": [{"a": [k]} for k in range(n)]}),
        300_000,
        2000,
        ({"a": [-1]},),
    ),
    Attack("many fields", _schema(lambda n: _fields(n)), 200_000, 2000, ([{"name1": 1}] * 200,)),
    Attack("many required fields", _schema(lambda n: {**_fields(n), "required": list(_names(n))}), 100_000, 1000),
    Attack(
        "many patterns of names",
        _schema(lambda n: {"patternProperties": {f"^{k}(a|b)*": STRING for k in range(n)}}),
        20_000,
        200,
        ({f"k{k}": k for k in range(500)},),
    ),
    Attack(
        "a large array",
        _schema(lambda n: {"type": "array", "minItems": n, "uniqueItems": True, "items": {"type": "object"}}),
        100_000,
        500,
    ),
    Attack(
        "a large object",
        _schema(
            lambda n: {
                "type": "object",
                "minProperties": n,
                "additionalProperties": {"type": "object", "minProperties": 10},
            }
        ),
        100_000,
        500,
    ),
    Attack(
        "a long text", _schema(lambda n: {"type": "string", "minLength": n, "pattern": "^(a|b)+$"}), 100_000_000, 10_000
    ),
    Attack(
        "unique items",
        _schema(lambda n: {"type": "array", "uniqueItems": True}),
        1,
        1,
        ([{"a": k} for k in range(5000)],),
    ),
    Attack(
        "fields within fields",
        lambda n: _things(
            _nested(n, lambda inner: {"type": "object", "required": ["a"], "properties": {"a": inner, "b": inner}})
        ),
        16,
        8,
    ),
    Attack("deep fields", _text_nested('{"properties":{"a":', "}}"), 20_000, 200),
    Attack("deep arrays", _text_nested('{"items":', "}"), 100_000, 200),
    Attack("deep negations", _text_nested('{"not":', "}"), 100_000, 200, ("x",)),
    Attack("deep allOf", _text_nested('{"allOf":[', "]}"), 100_000, 200, ("x",)),
    Attack("a slow pattern", _schema(lambda n: {"type": "string", "pattern": "(a+)+$"}), 1, 1, ("a" * 5000 + "b",)),
    Attack(
        "a slow pattern of names",
        _schema(lambda n: {"patternProperties": {"(a|a)*$": STRING, "(.*)*x": {}}, "additionalProperties": False}),
        1,
        1,
        ({"a" * 50 + "b": 1},),
    ),
    Attack(
        "a long pattern",
        _schema(lambda n: {"type": "string", "pattern": "|".join(f"a{k}" for k in range(n))}),
        300_000,
        500,
        ("b",),
    ),
    Attack(
        "a nested pattern",
        _schema(lambda n: {"type": "string", "pattern": "(" * n + "a" + "){1,9}" * n}),
        90,
        20,
        ("a" * 100,),
    ),
    Attack(
        "a pattern of a JavaScript literal",
        _schema(lambda n: {"type": "string", "pattern": "/" + "/g" * n + "\n"}),
        1_000_000,
        1000,
        ("a",),
    ),
    Attack("a pattern with brackets", _schema(lambda n: {"type": "string", "pattern": "[" * n}), 100_000, 1000, ("a",)),
    Attack(
        "many patterns",
        _schema(
            lambda n: {
                "type": "object",
                "properties": {f"f{k}": {"type": "string", "pattern": f"^(x{k}|y+)*{k}$"} for k in range(n)},
            }
        ),
        20_000,
        100,
        ({"f1": "xxxxxxx"},),
    ),
    Attack(
        "a long default",
        _schema(lambda n: {"type": "string", "default": "d" * n, "example": "e" * n, "const": "d" * n}),
        7_000_000,
        10_000,
    ),
    Attack(
        "a large default",
        _schema(
            lambda n: {
                "type": "array",
                "items": {"type": "integer"},
                "default": list(range(n)),
                "example": list(range(n)),
            }
        ),
        1_000_000,
        1000,
    ),
    Attack(
        "long names",
        _schema(
            lambda n: {"type": "object", "required": ["n" * n], "properties": {"n" * n: STRING, "m" * n: _fields(3)}}
        ),
        5_000_000,
        10_000,
    ),
]

MANY = [
    Attack("many paths", _paths("/thing{}".format), 1_000_000, 1000),
    Attack(
        "many operations with words",
        _paths("/group{0}/thing{0}".format, summary="List all things of a group", tags=["things"]),
        100_000,
        500,
    ),
    Attack("many versions of one path", _paths("/things/{{v{}}}".format, summary="Get a thing"), 50_000, 300),
    Attack("many paths under variables", _paths("/{{a{0}}}/things/{{b{0}}}".format), 50_000, 300),
    Attack("long paths", _paths(lambda n: f"/{n}" + "/a" * 300), 5000, 50),
    Attack(
        "paths with many variables", _paths(lambda n: f"/{n}" + "".join(f"/{{v{k}}}" for k in range(200))), 2000, 20
    ),
    Attack(
        "one very long path",
        lambda n: _document(
            {"/a" * n: {"get": {}}, "/{" * n: {"get": {}}, "/{a}" * n: {"get": {}}, "/:a" * n: {"get": {}}}
        ),
        200_000,
        500,
    ),
    Attack("equal operationIds", _paths("/thing{}".format, operationId="same"), 100_000, 500),
    Attack("equal long operationIds", _paths("/thing{}".format, operationId="same" * 100), 50_000, 500),
    Attack(
        "operationIds that become equal",
        lambda n: _document({f"/thing{k}": {"get": {"operationId": "a" + "." * (k + 1)}} for k in range(n)}),
        5000,
        300,
    ),
    Attack("a long operationId", _operation(lambda n: {"operationId": "aB9_" * n, "summary": "x"}), 5_000_000, 10_000),
    Attack(
        "names of functions that become equal",
        lambda n: _document(
            {
                f"/thing{k}": {
                    "get": {"operationId": f"{'a' * 40}{'-' * (k % 20)}b{k}"[:64].replace(str(k), "") or "a"}
                }
                for k in range(n)
            }
        ),
        30_000,
        300,
    ),
    Attack("many parameters", _parameters(lambda n: {"name": f"p{n}", "in": "query"}), 100_000, 1000),
    Attack(
        "many required parameters",
        _parameters(lambda n: {"name": f"p{n}", "in": "query", "required": True}),
        30_000,
        300,
    ),
    Attack(
        "many costly parameters",
        lambda n: _document(
            {
                "/things": {
                    "get": {
                        "parameters": [
                            {"name": f"p{k}", "in": "query", "required": True, "schema": _reference(0)}
                            for k in range(n)
                        ]
                    }
                }
            },
            {
                "schemas": {
                    **{f"S{k}": {"anyOf": [_reference(k + 1)] * 2} for k in range(24)},
                    "S24": {"type": "integer", "minimum": 2, "maximum": 1},
                }
            },
        ),
        3000,
        20,
    ),
    Attack(
        "parameters that become one name",
        _parameters(lambda n: {"name": "a" + "-" * (n + 1), "in": "query"}),
        5000,
        300,
    ),
    Attack("many shared parameters", _inherited_parameters, 1500, 30),
    Attack(
        "many methods",
        lambda n: _document({"/things": {"additionalOperations": {f"M{k}": {} for k in range(n)}}}),
        100_000,
        500,
    ),
    Attack("many tags of an operation", _operation(lambda n: {"tags": [f"tag {k}" for k in range(n)]}), 300_000, 1000),
    Attack(
        "many tags",
        _root(lambda n: {"tags": [{"name": f"t{k}", "description": "You must not."} for k in range(n)]}),
        200_000,
        1000,
    ),
    Attack(
        "a tag for each operation",
        lambda n: _document({f"/thing{k}": {"get": {"tags": [f"Tag {k} - of things"]}} for k in range(n)}),
        50_000,
        500,
    ),
    Attack(
        "many responses",
        _operation(
            lambda n: {
                "responses": {
                    f"{k}": {
                        "description": f"It is {k}",
                        "content": {"application/json": {"schema": {"properties": {f"f{k}": STRING}}}},
                    }
                    for k in range(200, n)
                }
            }
        ),
        100_000,
        1200,
    ),
    Attack(
        "many media types",
        _operation(
            lambda n: {
                "responses": {"200": {"description": "", "content": {f"a/{k}": {"schema": STRING} for k in range(n)}}},
                "requestBody": {"content": {f"a/{k}": {"schema": _fields(3)} for k in range(n)}},
            }
        ),
        100_000,
        1000,
    ),
    Attack(
        "many headers of a response",
        _operation(
            lambda n: {
                "responses": {"200": {"description": "", "headers": {f"X-{k}": {"schema": STRING} for k in range(n)}}}
            }
        ),
        200_000,
        1000,
    ),
    Attack(
        "many servers",
        _root(lambda n: {"servers": [{"url": f"https://{{v}}{k}.example.com"} for k in range(n)]}),
        200_000,
        1000,
    ),
    Attack(
        "many server variables",
        _root(
            lambda n: {
                "servers": [
                    {
                        "url": "https://a.example.com/{v1}",
                        "variables": {f"v{k}": {"default": f"{k}", "enum": [f"{k}"] * 5} for k in range(n)},
                    }
                ]
            }
        ),
        100_000,
        1000,
    ),
    Attack(
        "many values of a server variable",
        _root(
            lambda n: {
                "servers": [
                    {"url": "https://a.example.com/{v1}", "variables": {"v1": {"enum": [f"{k}" for k in range(n)]}}}
                ]
            }
        ),
        1_000_000,
        1000,
    ),
    Attack(
        "a server URL of braces",
        _root(
            lambda n: {
                "servers": [
                    {"url": "{" * n},
                    {"url": "https://a.example.com/" + "{a" * n},
                    {"url": "https://a.example.com/" + "{a}" * n + "?" + "a=1&" * n},
                ]
            }
        ),
        1_000_000,
        1000,
    ),
    Attack(
        "servers of each operation",
        lambda n: _document(
            {
                f"/thing{k}": {"get": {"servers": [{"url": f"https://a{j}.example.com"} for j in range(n)]}}
                for k in range(n)
            }
        ),
        1000,
        30,
    ),
    Attack("many security schemes", _secured, 100_000, 500),
    Attack(
        "many schemes of one requirement",
        lambda n: _document(
            {"/things": {"get": {}}},
            {"securitySchemes": {f"s{k}": {"type": "http", "scheme": "bearer"} for k in range(n)}},
            security=[{f"s{k}": [] for k in range(n)}],
        ),
        100_000,
        500,
    ),
    Attack(
        "undeclared security schemes", _root(lambda n: {"security": [{f"s{k}": []} for k in range(n)]}), 100_000, 500
    ),
    Attack(
        "many scopes",
        lambda n: _document(
            {"/things": {"get": {"security": [{"o": [f"s{k}" for k in range(n)]}]}}},
            {
                "securitySchemes": {
                    "o": {
                        "type": "oauth2",
                        "flows": {
                            "clientCredentials": {
                                "tokenUrl": "https://api.example.com/t",
                                "scopes": {f"s{k}": "" for k in range(n)},
                            }
                        },
                    }
                }
            },
        ),
        300_000,
        1000,
    ),
    Attack(
        "many broken references",
        lambda n: _document(
            {f"/thing{k}": {"get": {"responses": {"200": {"$ref": f"#/components/responses/R{k}"}}}} for k in range(n)}
        ),
        50_000,
        300,
    ),
    Attack(
        "many broken anchors",
        lambda n: _things(
            {"anyOf": [{"$ref": f"#b{k}"} for k in range(n)]}, {f"S{k}": {"$anchor": f"a{k}"} for k in range(n)}
        ),
        5000,
        100,
    ),
    Attack(
        "many path items by reference",
        lambda n: _document(
            {f"/thing{k}": {"$ref": "#/components/pathItems/P"} for k in range(n)},
            {"pathItems": {"P": {"get": {"responses": _answer(_fields(300))}}}},
        ),
        30_000,
        100,
    ),
    Attack("many unread keys", _root(lambda n: {f"x-{k}": {} for k in range(n)}), 1_000_000, 1000),
    Attack(
        "look-alikes",
        lambda n: _document(
            {
                f"/a{k}/b{k // 3}": {"get": {"summary": f"Get b {k // 3}", "responses": _answer(_fields(100))}}
                for k in range(n)
            }
        ),
        3000,
        60,
    ),
    Attack(
        "collections and deletions",
        lambda n: _document(
            {f"/a{k}/things": {"post": {}} for k in range(n)}
            | {f"/b{k}/things/{{id}}": {"delete": {}} for k in range(n)}
        ),
        20_000,
        100,
    ),
    Attack(
        "many webhooks",
        _root(lambda n: {"webhooks": {f"w{k}": {"post": {"responses": _answer(_fields(3))}} for k in range(n)}}),
        100_000,
        500,
    ),
    Attack(
        "many schemas",
        lambda n: _things(
            _reference(0),
            {
                f"S{k}": {"type": "object", "properties": {"a": _reference(k + 1), "b": _reference(k * 2 % n)}}
                for k in range(n)
            },
        ),
        100_000,
        500,
    ),
]

TEXTS = [
    *(
        Attack(f"a description of {name}", _described(text), 2_000_000, 3000)
        for name, text in {
            "opening brackets": "[",
            "links": "[a](",
            "images": '![a](b "',
            "comments": "<!--",
            "tags": "<a ",
            "open tags": "<p<",
            "backticks": "`a",
            "single backticks": "` ",
            "stars": "*a",
            "stars and spaces": " *a* **",
            "underscores": "_a ",
            "fences": "```\n",
            "headings": "# a\n",
            "rules": "---\n",
            "dashes": "-",
            "pipes": "|",
            "quotes": "> a",
            "spaces": " ",
            "line breaks": "\n",
            "tabs and breaks": "\t\n",
            "bullets": "* a\n",
            "escapes": "\\*",
            "entities": "&amp;",
            "ampersands": "&",
            "addresses": "<http://a",
            "full stops": ". A",
            "letters": "a",
            "capitals": "aB",
            "digits": "1",
            "words": "must not ",
            "null characters": "\x00",
            "nested brackets": "[[]",
            "round brackets": "](",
            "braces": "{a}",
            "side effects": "will be , the ",
            "apostrophes": "'s ",
            "equals signs": "=\n",
            "table rows": "| a | b |\n|---|---|\n",
            "numbers of lists": "1. a\n",
            "heading tags": "<h1>a",
            "rules of limits": "within 1 one x per ",
        }.items()
    ),
]

TEXTUAL = [
    Attack("YAML of opening brackets", _yaml(lambda n: "x-a: " + "[" * n), 1_000_000, 2000),
    Attack("YAML of closed brackets", _yaml(lambda n: "x-a: " + "[" * n + "]" * n), 100_000, 2000),
    Attack("YAML of opening braces", _yaml(lambda n: "x-a: " + "{a: " * n), 300_000, 2000),
    Attack("YAML of dashes", _yaml(lambda n: "x-a:\n" + "- " * n + "a"), 300_000, 2000),
    Attack("YAML of question marks", _yaml(lambda n: "x-a:\n" + "? " * n + "a"), 300_000, 2000),
    Attack("YAML of colons", _yaml(lambda n: "x-a: {" + "a: b, " * n + "}"), 500_000, 2000),
    Attack("YAML of anchors", _yaml(lambda n: "x-a: [" + ", ".join(f"&a{k} b" for k in range(n)) + "]"), 300_000, 2000),
    Attack("YAML of aliases", _yaml(lambda n: "x-a: &a [1]\nx-b: [" + ", ".join(["*a"] * n) + "]"), 1_000_000, 2000),
    Attack("a YAML bomb", _yaml(_bomb), 12, 4),
    Attack(
        "a YAML bomb of texts", _yaml(lambda n: f"x-a: &a {'a' * n}\nx-b: [{', '.join(['*a'] * 20_000)}]"), 100_000, 20
    ),
    Attack("YAML merges", _yaml(_merges), 20_000, 200),
    Attack("YAML merges of lists", _yaml(_merged_lists), 5000, 60),
    Attack("a YAML bomb of merges", _yaml(_merge_bomb), 10, 4),
    Attack("a YAML alias in itself", _yaml(lambda n: "x-a: &a [*a]"), 1, 1),
    Attack("YAML merged with itself", _yaml(lambda n: "x-a: &a\n  <<: *a\n  b: 1"), 1, 1),
    Attack("YAML of tags", _yaml(lambda n: "x-a: [" + "!!set {a}, !!binary aa, !x y, " * n + "]"), 100_000, 500),
    Attack(
        "YAML of long numbers",
        _yaml(lambda n: f"x-a: {'9' * n}\nx-b: 0x{'f' * n}\nx-c: 0o{'7' * n}\nx-d: {'9' * n}.0\nx-e: 1e{'9' * n}"),
        1_000_000,
        5000,
    ),
    Attack("YAML with a repeated key", _yaml(lambda n: "x-a:\n" + "  b: 1\n" * n), 300_000, 500),
    Attack("YAML of comments", _yaml(lambda n: "# a\n" * n), 2_000_000, 2000),
    Attack("YAML of quotes", _yaml(lambda n: 'x-a: "' + "\\u0041" * n), 1_000_000, 2000),
    Attack("YAML of documents", _yaml(lambda n: "---\na: 1\n" * n), 300_000, 500),
    Attack(
        "YAML of indentation", _yaml(lambda n: "x-a:\n" + "\n".join(" " * (k + 1) + "a:" for k in range(n))), 3000, 200
    ),
    Attack("YAML with a long line", _yaml(lambda n: "x-a: " + "a " * n + ": b"), 3_000_000, 2000),
    Attack("YAML of merge keys in texts", _yaml(lambda n: "x-a: |\n" + "  <<: a\n" * n), 500_000, 500),
    Attack("JSON of opening brackets", lambda n: b"[" * n, 10_000_000, 2000),
    Attack("JSON of opening objects", lambda n: b'{"a":' * n, 3_000_000, 2000),
    Attack("JSON that ends early", lambda n: _things(_fields(n))[:-2], 500_000, 500),
    Attack("JSON with a comma at its end", lambda n: _things(_fields(n))[:-1] + b",}", 500_000, 500),
    Attack(
        "JSON with equal keys",
        lambda n: b'{"openapi":"3.1.0","info":{},"paths":{' + b'"/a":{"get":{}},' * n + b'"/a":{}}}',
        1_000_000,
        2000,
    ),
    Attack(
        "JSON of long numbers",
        lambda n: (
            b'{"openapi":"3.1.0","paths":{"/a":{"get":{"x-a":'
            + b"9" * n
            + b',"x-b":1e'
            + b"9" * n
            + b',"x-c":-0.'
            + b"9" * n
            + b"}}}}"
        ),
        1_000_000,
        5000,
    ),
    Attack(
        "JSON of escapes",
        lambda n: b'{"openapi":"3.1.0","info":{"title":"' + b"\\ud83d" * n + b'"},"paths":{}}',
        2_000_000,
        500,
    ),
    Attack(
        "booleans in texts",
        lambda n: _things(
            {
                "type": "object",
                "properties": {f"f{k}": {"type": "string", "default": "true", "required": "false"} for k in range(n)},
            }
        ),
        100_000,
        500,
    ),
    Attack("UTF-16", lambda n: _things(_fields(n)).decode().encode("utf-16"), 300_000, 500),
]

SWAGGER = [
    Attack(
        "Swagger with many parameters",
        lambda n: _json(
            {
                "swagger": "2.0",
                "info": {"title": "Things"},
                "host": "api.example.com",
                "paths": {
                    "/things": {
                        "parameters": [{"name": f"q{k}", "in": "query", "type": "string"} for k in range(n)],
                        "post": {
                            "parameters": [
                                {"name": f"p{k}", "in": "formData", "type": "string", "required": True}
                                for k in range(n)
                            ],
                            "responses": {},
                        },
                    }
                },
            }
        ),
        20_000,
        300,
    ),
    Attack(
        "Swagger with many types",
        lambda n: _json(
            {
                "swagger": "2.0",
                "info": {"title": "Things"},
                "host": "api.example.com",
                "consumes": [f"a/{k}" for k in range(n)],
                "produces": [f"a/{k}" for k in range(n)],
                "paths": {
                    f"/things{k}": {
                        "post": {
                            "parameters": [{"name": "b", "in": "body", "schema": _fields(3)}],
                            "responses": {"200": {"schema": _fields(3)}},
                        }
                    }
                    for k in range(n)
                },
            }
        ),
        2000,
        50,
    ),
]

ATTACKS: tuple[Attack, ...] = (*EXPONENTIAL, *WIDE, *MANY, *TEXTS, *TEXTUAL, *SWAGGER)
