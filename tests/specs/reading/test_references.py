"""Guards references: deep, encoded, circular, external and broken ones, and properties that only look like them."""

import json
from functools import partial
from http.server import SimpleHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
import yaml
from loopback import Server
from paths import openapi, operation_of

from restgpt.specs import Api, BrokenReference, load_api
from restgpt.specs.docs.documentation import documentation
from restgpt.specs.docs.example import minimal_arguments
from restgpt.specs.reading.document import Document, follow, resolve


def read(text: str) -> Api:
    return load_api(json.dumps(yaml.safe_load(text)))


def document(**parts: Any) -> Document:
    return Document.from_json(json.dumps({"openapi": "3.1.0", **parts}).encode())


INTEGER, HERE = {"type": "integer"}, {"$anchor": "here"}
IN_PATH = "#/paths/~1a~1%7Bb%20c%7D~0x/get/parameters/0/schema"


@pytest.mark.parametrize(
    ("parts", "reference", "found"),
    [
        ({"paths": {"/a/{b c}~x": {"get": {"parameters": [{"schema": INTEGER}]}}}}, IN_PATH, INTEGER),
        ({"components": {"schemas": {"a%20b": INTEGER}}}, "#/components/schemas/a%20b", INTEGER),
        ({"components": {"schemas": {"A": {"$defs": {"inner": HERE}}}}}, "#here", HERE),
    ],
    ids=["decoded twice", "with a percent sign of its own", "an anchor"],
)
def test_a_pointer_is_decoded_and_an_anchor_is_found(parts: Any, reference: str, found: Any) -> None:
    assert resolve(document(**parts), reference) == found


def test_a_circle_of_references_ends() -> None:
    schemas = {name: {"$ref": f"#/components/schemas/{other}"} for name, other in ("AB", "BA")}
    with pytest.raises(BrokenReference, match="circle"):
        follow(document(components={"schemas": schemas}), {"$ref": "#/components/schemas/A"})


def test_a_description_beside_a_reference_overrides_and_a_bare_name_is_one_of_a_schema() -> None:
    found = document(components={"parameters": {"P": {"name": "p", "description": "theirs"}}})
    node = follow(found, {"$ref": "#/components/parameters/P", "description": "ours"})
    assert node == {"name": "p", "description": "ours"}
    found = Document.from_json(b'{"swagger": "2.0", "definitions": {"Pet": {"type": "object"}}}')
    assert follow(found, {"$ref": "Pet"}) == {"type": "object"}


def test_a_property_called_ref_is_a_property() -> None:
    named = {"$ref": {"type": "string", "description": "a reference by name"}}
    content = {"application/json": {"schema": {"type": "object", "required": ["$ref"], "properties": named}}}
    operation = operation_of({"requestBody": {"content": content}}, "post")
    assert operation.body is not None
    schema = operation.json_schema(operation.body.preferred.schema, request=True)
    assert schema["properties"]["$ref"]["type"] == "string"
    assert minimal_arguments(operation)["body"] == {"$ref": "string"}
    assert "$ref*: str" in documentation(operation)
    assert operation.problems == ()


def test_broken_references_are_problems_and_the_rest_works() -> None:
    api = read("""
        openapi: 3.0.0
        info: {title: t, version: '1'}
        servers: [{url: https://example.com}]
        paths:
          /a/{id}:
            get:
              parameters:
                - {$ref: '#/components/parameters/absent'}
                - {name: id, in: path, required: true, schema: {$ref: '#/components/schemas/absent'}}
              responses: {'200': {$ref: '#/components/responses/absent'}}
    """)
    operation = api.operations[0]
    assert [parameter.name for parameter in operation.parameters] == ["id"]
    assert operation.responses == {}
    assert minimal_arguments(operation) == {"path": {"id": "string"}}
    assert {problem.pointer for problem in api.problems} == {"/paths/~1a~1{id}/get"}
    assert len(api.problems) == 3
    assert len(operation.problems) == 2


def test_path_items_may_be_references() -> None:
    api = read("""
        openapi: 3.1.0
        info: {title: t, version: '1'}
        paths:
          /b/{id}: {$ref: '#/components/pathItems/Shared'}
        components:
          pathItems:
            Shared:
              parameters: [{name: id, in: path, required: true, schema: {type: integer}}]
              get: {operationId: shared, responses: {}}
    """)
    operation = api.operation("shared")
    assert (operation.path, operation.pointer) == ("/b/{id}", "/components/pathItems/Shared/get")
    assert operation.parameters[0].schema == {"type": "integer"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    kept = {"/a": "parts/limit.yaml#/limit", "/b": "../outside.yaml#/limit"}
    paths = {path: {"get": {"parameters": [{"$ref": to}], "responses": {}}} for path, to in kept.items()}
    inner = tmp_path / "inner"
    (inner / "parts").mkdir(parents=True)
    (inner / "api.json").write_text(json.dumps(openapi(paths, openapi="3.0.0")))
    limit = "limit: {name: limit, in: query, schema: {$ref: '#/size'}}\nsize: {type: integer}"
    (inner / "parts" / "limit.yaml").write_text(limit)
    (tmp_path / "outside.yaml").write_text("limit: {name: outside, in: query}")
    return inner


def test_external_references_are_off_unless_allowed_and_stay_in_the_folder_with_their_own(folder: Path) -> None:
    api = load_api(folder / "api.json")
    assert api.operations[0].parameters == ()
    ways = "set RESTGPT_ALLOW_EXTERNAL=1, or give --external, or allow_external in apis.yaml"
    assert f"not read unless allowed: {ways}" in str(api.problems)
    api = load_api(folder / "api.json", allow_external=True)
    limit = api.operations[0].parameters[0]
    assert api.operations[0].json_schema(limit.schema)["$defs"]["size"] == {"type": "integer"}
    assert api.operations[1].parameters == ()
    assert "leaves the folder" in str(api.operations[1].problems)


@pytest.mark.parametrize(
    "reference", ["http://[x", "http://[x/y.yaml#/z", "//[x", "parts/%00.yaml#/limit", "parts/x\0y"]
)
@pytest.mark.parametrize("allow_external", [False, True])
def test_a_reference_that_is_no_address_is_a_problem(folder: Path, reference: str, allow_external: bool) -> None:
    main = json.loads((folder / "api.json").read_text())
    main["paths"]["/b"]["get"]["parameters"][0]["$ref"] = reference
    (folder / "api.json").write_text(json.dumps(main))
    api = load_api(folder / "api.json", allow_external=allow_external)
    assert "/paths/~1b/get" in [problem.pointer for problem in api.problems]
    assert len(api.operations[0].parameters) == allow_external
    assert [problem.pointer for problem in api.operations[1].problems] == ["/paths/~1b/get/parameters/0"]


def test_an_external_reference_is_not_followed_to_another_host(folder: Path) -> None:
    class Pages(SimpleHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path.startswith("/parts/"):
                self.send_response(302)
                self.send_header("Location", f"http://localhost:{server.server_port}/outside.yaml")
                self.end_headers()
            else:
                super().do_GET()

        def log_message(self, format: str, *args: object) -> None:
            return

    with Server(partial(Pages, directory=str(folder))) as server:
        api = load_api(f"{server.url}/api.json", allow_external=True)
        problems = str(api.operations[0].problems)
    assert "another host" in problems


def test_an_operation_may_be_a_file_of_its_own_whose_lists_have_names_of_whole_documents(tmp_path: Path) -> None:
    """Published so by DigitalOcean."""
    answer = {"allOf": [{"properties": {"data": {"type": "array"}}}, {"$ref": "model.json"}]}
    files: dict[str, Any] = {
        "main.json": {
            "openapi": "3.0.0",
            "servers": [{"url": "https://api.test"}],
            "paths": {"/domains": {"get": {"$ref": "parts/list.json"}}},
        },
        "parts/list.json": {
            "operationId": "domains_list",
            "parameters": [{"$ref": "shared.json#/page"}, {"name": "size", "in": "query"}],
            "responses": {"200": {"content": {"application/json": {"schema": answer}}}},
        },
        "parts/shared.json": {"page": {"name": "page", "in": "query", "schema": {"type": "integer"}}},
        "parts/model.json": {"properties": {"data": {"items": {"properties": {"name": {"type": "string"}}}}}},
    }
    (tmp_path / "parts").mkdir()
    for name, content in files.items():
        (tmp_path / name).write_text(json.dumps(content))
    api = load_api(tmp_path / "main.json", allow_external=True)
    found = api.operation("domains_list")
    assert [item.name for item in found.parameters] == ["page", "size"]
    assert found.received is not None
    assert found.received.fields["data"].items is not None
    assert list(found.received.fields["data"].items.fields) == ["name"]
    assert not api.problems
    assert not found.problems
