"""Guards that Swagger 2.0 reads as OpenAPI 3: bodies, forms, files, collections, servers, security, responses."""

import json
from typing import Any

import pytest
import yaml

from restgpt.specs import Api, load_api
from restgpt.specs.docs.example import minimal_arguments


def read(text: str, **root: Any) -> Api:
    document = {"swagger": "2.0", "info": {"title": "t", "version": "1"}, "host": "api.example.com", **root}
    return load_api(json.dumps({**document, "paths": yaml.safe_load(text)}))


def test_a_body_parameter_becomes_the_request_body() -> None:
    api = read(
        """
        /pets:
          post:
            consumes: [application/json, application/xml]
            parameters:
              - {name: pet, in: body, required: true, description: A pet, schema: {$ref: '#/definitions/Pet'}}
            responses: {}
        """,
        definitions={"Pet": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}},
    )
    body, kinds = api.operations[0].body, ["application/json", "application/xml"]
    assert body is not None
    assert (body.required, body.description, list(body.content)) == (True, "A pet", kinds)
    assert minimal_arguments(api.operations[0]) == {"body": {"name": "string"}}


def test_form_parameters_become_one_form() -> None:
    operation = read("""
        /a:
          parameters: [{name: shared, in: formData, type: string}]
          post:
            parameters:
              - {name: tags, in: formData, type: array, items: {type: string}, collectionFormat: pipes, required: true}
            responses: {}
    """).operations[0]
    assert operation.body is not None
    media = operation.body.preferred
    assert media.media_type == "application/x-www-form-urlencoded"
    assert media.schema is not None
    assert set(media.schema["properties"]) == {"shared", "tags"}
    assert media.schema["required"] == ["tags"]
    assert media.encoding == {"tags": {"style": "pipeDelimited", "explode": False}}
    assert operation.parameters == ()


def test_a_file_parameter_makes_the_form_multipart() -> None:
    text = "/a: {post: {parameters: [{name: f, in: formData, type: file, required: true}], responses: {}}}"
    body = read(text, consumes=["application/json"]).operations[0].body
    assert body is not None
    assert body.preferred.media_type == "multipart/form-data"
    fields = {"f": {"type": "string", "format": "binary"}}
    assert body.preferred.schema == {"type": "object", "properties": fields, "required": ["f"]}


@pytest.mark.parametrize(
    ("root", "url"),
    [
        ({"schemes": ["http", "https"], "basePath": "/v1/"}, "https://api.example.com/v1"),
        ({"schemes": ["http"]}, "http://api.example.com"),
        ({"basePath": "/"}, "https://api.example.com"),
        ({"host": "http://api.example.com/", "basePath": "/v1"}, "http://api.example.com/v1"),
    ],
)
def test_host_base_path_and_schemes_make_the_server(root: dict[str, Any], url: str) -> None:
    assert read("/a: {get: {responses: {}}}", **root).operations[0].base_url == url


def test_security_definitions_are_read_as_schemes() -> None:
    urls = {"authorizationUrl": "https://a", "tokenUrl": "https://t"}
    definitions = {
        "b": {"type": "basic"},
        "k": {"type": "apiKey", "in": "query", "name": "key"},
        "o": {"type": "oauth2", "flow": "accessCode", **urls, "scopes": {"r": ""}},
    }
    api = read("/a: {get: {security: [{b: []}], responses: {}}}", securityDefinitions=definitions)
    schemes = api.security_schemes
    assert (schemes["b"].type, schemes["b"].scheme) == ("http", "basic")
    assert (schemes["k"].location, schemes["k"].name) == ("query", "key")
    assert schemes["o"].flows["authorizationCode"].authorization_url == "https://a"


def test_responses_get_their_media_types_and_examples() -> None:
    api = read("""
        /a:
          get:
            produces: [application/json]
            responses:
              200:
                description: fine
                schema: {type: array, items: {type: string}}
                examples: {application/json: [x]}
                headers: {X-Next: {type: string, description: the next page}}
          put: {produces: [image/png], responses: {200: {description: picture, schema: {type: file}}}}
    """)
    response = api.operations[0].responses["200"]
    assert response.content["application/json"].example == ["x"]
    assert response.headers["X-Next"]["schema"] == {"type": "string"}
    assert list(api.operations[1].responses["200"].content) == ["image/png"]


def test_shared_parameters_and_responses_are_followed() -> None:
    api = read(
        "/a/{id}: {get: {parameters: [{$ref: '#/parameters/id'}], responses: {404: {$ref: '#/responses/gone'}}}}",
        parameters={"id": {"name": "id", "in": "path", "required": True, "type": "integer", "x-example": 7}},
        responses={"gone": {"description": "gone"}},
    )
    parameter = api.operations[0].parameters[0]
    assert (parameter.schema["type"], parameter.example) == ("integer", 7)
    assert api.operations[0].responses["404"].description == "gone"
    assert minimal_arguments(api.operations[0]) == {"path": {"id": 7}}
