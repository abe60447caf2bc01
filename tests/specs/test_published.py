"""Guards that published documents are read whole, broken ones with their problems, and that search finds the way."""

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from restgpt.specs import load_api
from restgpt.specs.docs.documentation import documentation
from restgpt.specs.docs.example import minimal_arguments
from restgpt.tools.request.files import is_file_argument

OPERATIONS = {
    "box_openapi.json": 296,
    "circular-paths_v30.json": 3,
    "discriminators_v30.json": 10,
    "duplicateOperationId.yaml": 2,
    "fastapi_31.json": 7,
    "file-uploads_v30.json": 3,
    "harbor_v2.yaml": 203,
    "incorrectSecType.json": 20,
    "museum_31.yaml": 8,
    "notion_mcp.json": 24,
    "parameters-style_v30.json": 25,
    "petstore3_swagger.yaml": 19,
    "petstore_v2_expanded.yaml": 4,
    "security_v31.yaml": 15,
    "swagger.json": 4,
    "xero_accounting.yaml": 235,
}
PROBLEMS = {
    "duplicateOperationId.yaml": "used twice",
    "incorrectSecType.json": "unknown type",
    "swagger.json": "external reference",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_every_operation_has_docs_and_a_valid_example(data_folder: Path, name: str) -> None:
    api = load_api(data_folder / "openapi" / name)
    assert len(api.operations) == OPERATIONS[name]
    assert PROBLEMS.get(name, "") in "".join(map(str, api.problems))
    for operation in api.operations:
        assert documentation(operation)
        example = minimal_arguments(operation)
        for parameter in operation.parameters:
            if parameter.required:
                schema = operation.json_schema(parameter.schema)
                Draft202012Validator(schema).validate(example[parameter.location][parameter.name])
        if "body" in example and operation.body is not None and not is_file_argument(example["body"]):
            schema = operation.json_schema(operation.body.preferred.schema, request=True)
            Draft202012Validator(schema).validate(example["body"])


@pytest.mark.parametrize(("world", "floor"), [("tmdb", 0.75), ("spotify", 0.80)])
def test_search_finds_every_step_of_an_instruction_among_ten(data_folder: Path, world: str, floor: float) -> None:
    folder = data_folder / "restbench"
    api = load_api(folder / f"{world}_oas.json")
    tasks = [task for task in json.loads((folder / "sim_checks.json").read_text()) if task["scenario"] == world]
    complete = 0
    for task in tasks:
        found = {f"{operation.method} {operation.path}" for operation in api.search(task["query"], 10)}
        complete += set(task["gold"]) <= found
    assert complete / len(tasks) >= floor


def test_no_parameter_of_a_stringly_typed_document_is_required_by_mistake(data_folder: Path) -> None:
    api = load_api(data_folder / "restbench" / "spotify_oas.json")
    parameters = {item.name: item for item in api.operation("GET /search").parameters}
    assert {name for name, item in parameters.items() if item.required} == {"q", "type"}
    assert api.operation("GET /search").json_schema(parameters["limit"].schema)["default"] == 20
