"""Guards schemas that nest, or refer to one another, without end: they are read to a bound, and nothing crashes."""

import json
from itertools import pairwise
from typing import Any

import pytest
from paths import openapi

from restgpt.specs import Api, SpecError, load_api
from restgpt.specs.docs.documentation import documentation, response_documentation
from restgpt.specs.docs.example import minimal_arguments
from restgpt.specs.reading.document import Document
from restgpt.specs.reading.json_text import MAX_DEPTH, is_too_deep

KINDS = ("items", "properties", "additionalProperties", "allOf", "oneOf", "anyOf", "not")


def around(kind: str, schema: dict[str, Any]) -> dict[str, Any]:
    """A schema that holds another one at once."""
    if kind == "properties":
        return {"type": "object", "properties": {"a": schema}, "required": ["a"]}
    if kind in ("allOf", "oneOf", "anyOf"):
        return {kind: [schema]}
    return {"type": "array" if kind == "items" else "object", kind: schema} if kind != "not" else {"not": schema}


def nested(kind: str, levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        schema = around(kind, schema)
    return schema


def document_of(schema: dict[str, Any], **schemas: Any) -> dict[str, Any]:
    content, ok = {"content": {"application/json": {"schema": schema}}}, {"description": "ok"}
    deep = {"operationId": "deep", "summary": "Deep things.", "requestBody": {"required": True, **content}}
    other = {"operationId": "other", "summary": "Other things.", "responses": {"200": ok}}
    paths = {"/deep": {"post": {**deep, "responses": {"200": {**ok, **content}}}}, "/other": {"get": other}}
    return openapi(paths, schemas=schemas, servers=[{"url": "https://api.example.com"}])


def use(api: Api) -> None:
    """Do all that is done with an operation, and find the other one."""
    operation = api.operation("deep")
    assert documentation(operation)
    assert response_documentation(operation, focus="a word")
    minimal_arguments(operation)
    assert isinstance(operation.problems, tuple)
    assert "other" in [found.name for found in api.search("other things")]


def faults_of(text: str) -> list[str]:
    """What is wrong with a document, whether or not it can be loaded."""
    try:
        return [*map(str, load_api(text).problems)]
    except SpecError as error:
        return [str(error)]


@pytest.mark.parametrize("kind", KINDS)
def test_nesting_is_read_to_a_bound_and_named_as_a_problem(kind: str) -> None:
    api = load_api(document_of({"$ref": "#/components/schemas/Deep"}, Deep=nested(kind, 400)))
    use(api)
    assert [problem.pointer for problem in api.problems] == ["/components/schemas/Deep"]
    assert "nests more than 100 levels" in api.problems[0].message


@pytest.mark.parametrize("text", [json.dumps, lambda document: f"# YAML\n{json.dumps(document)}", dict])
def test_a_deep_operation_is_bounded_however_it_is_loaded(text: Any) -> None:
    api = load_api(text(document_of(nested("oneOf", 210))))
    use(api)
    assert [problem.pointer for problem in api.problems] == ["/paths/~1deep/post"]


def test_what_ordinary_documents_nest_is_read_whole() -> None:
    data = json.dumps({"openapi": "3.0.0", "components": {"schemas": {"A": nested("items", 90)}}}).encode()
    assert Document.from_json(data).get(("components", "schemas", "A")) == nested("items", 90)


@pytest.mark.parametrize("levels", [970, 975, 980, 983, 985, 990, 1000, 3000])
def test_nesting_at_the_limit_of_the_reader_is_a_problem_or_no_document(levels: int) -> None:
    schema = '{"items":' * levels + "{}" + "}" * levels
    assert faults_of(json.dumps(document_of({"x": "here"})).replace('{"x": "here"}', schema))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("last", ["A0", "End"])
def test_chains_and_circles_of_references_end(kind: str, last: str) -> None:
    names = [*(f"A{number}" for number in range(1200)), last]
    schemas: dict[str, Any] = {
        name: around(kind, {"$ref": f"#/components/schemas/{following}"}) for name, following in pairwise(names)
    }
    use(load_api(document_of({"$ref": "#/components/schemas/A0"}, End={"type": "string"}, **schemas)))


@pytest.mark.parametrize("kind", KINDS)
def test_chains_of_nested_schemas_end(kind: str) -> None:
    schemas: dict[str, Any] = {"A60": {"type": "string"}}
    for number in range(60):
        schema: dict[str, Any] = {"$ref": f"#/components/schemas/A{number + 1}"}
        for _ in range(40):
            schema = around(kind, schema)
        schemas[f"A{number}"] = schema
    use(load_api(document_of({"$ref": "#/components/schemas/A0"}, **schemas)))


def test_a_list_of_itself_is_written_to_some_depth() -> None:
    tree = {"type": "array", "items": {"$ref": "#/components/schemas/Tree"}}
    docs = documentation(load_api(document_of({"$ref": "#/components/schemas/Tree"}, Tree=tree)).operation("deep"))
    assert "body*  application/json  [[[[[[[any]]]]]]]\n" in docs


@pytest.mark.parametrize(
    ("opening", "closing"),
    [("[", "]"), ('{"a":', "}"), ('[1,"]]}}",', "]"), ('{"[[\\"[":', "}"), ('["\\\\",', "]"), ('[{}, "{", [], ', "]")],
)
def test_only_what_nests_deeper_than_the_limit_is_too_deep(opening: str, closing: str) -> None:
    for depth, expected in ((MAX_DEPTH - 1, False), (MAX_DEPTH, True), (MAX_DEPTH * 50, True)):
        text = f"{opening * depth}[]{closing * depth}"
        assert is_too_deep(text.encode()) is expected, depth
        assert depth > MAX_DEPTH or json.loads(text)
