"""Guards against hostile documents: what takes too long is refused, or left out with a problem that names the place."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lab.hostile.attacks import Attack, attacks
from lab.hostile.hostile_documents import CPU_SECONDS, attempt, stages
from restgpt.specs import Api, SpecError, load_api
from restgpt.specs.docs.documentation import documentation
from restgpt.specs.docs.example import minimal_arguments
from restgpt.specs.effort import PATIENCE, within
from restgpt.specs.reading.download import DOCUMENT_MOST
from restgpt.specs.reading.index import OPERATIONS_MOST
from restgpt.specs.schemas.json_schema import TOO_COMPLEX
from restgpt.specs.schemas.shape import merge_all_of
from restgpt.tools.request.prepared_request import build_request
from restgpt.tools.response.content import Body
from restgpt.tools.response.store import response_warnings

STEPS = 400_000
BY_NAME = {attack.name: attack for attack in attacks()}


def api_of(name: str, size: int = 0) -> Api:
    attack = BY_NAME[name]
    return load_api(attack.build(size or attack.quick))


def messages(api: Api) -> str:
    return "\n".join(map(str, api.problems))


def described(attack: Attack) -> str:
    return attack.name.replace(" ", "-")


def test_the_attacks_are_many_and_of_many_kinds() -> None:
    assert len(attacks()) >= 48
    assert len(BY_NAME) == len(attacks())


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("name", "size"), [("anyOf doubled", 60), ("a complete graph of fields", 40), ("required fields doubled", 60)]
)
def test_a_schema_of_exponential_size_takes_a_bounded_number_of_steps(name: str, size: int, tmp_path: Path) -> None:
    source = tmp_path / "openapi.json"
    source.write_bytes(BY_NAME[name].build(size))
    told: dict[str, Any] = {}
    with within(10 * STEPS) as effort:
        for _, stage in stages(source, BY_NAME[name].values, told):
            stage()
    assert told["operations"] == 5
    assert 0 < effort.granted - effort.left < STEPS


# `make hostile-test` uses them all, and gives each a third of this time; other work may slow this process down.
@pytest.mark.slow
@pytest.mark.parametrize("attack", attacks()[::4], ids=described)
def test_a_hostile_document_stays_within_time_and_memory(attack: Attack) -> None:
    assert attempt(attack, attack.full, seconds=3 * CPU_SECONDS).fault == ""


@pytest.mark.slow
def test_known_fields_of_a_body_are_not_compared_with_each_other() -> None:
    # In its full size the document is too long, and is left out.
    attack = BY_NAME["many required fields"]
    assert attempt(attack, attack.quick).fault == ""


@pytest.mark.parametrize("attack", attacks("exponential")[:3], ids=described)
def test_arguments_of_a_schema_that_is_too_complex_are_sent(attack: Attack) -> None:
    operation = load_api(attack.build(60)).operation("GET /things")
    assert build_request(operation, {"query": {"filter": 7}}).url == "https://api.example.com/things?filter=7"


def test_an_answer_that_is_not_compared_with_its_schema_has_a_notice() -> None:
    operation = api_of("anyOf doubled", 60).operation("GET /things")
    found = response_warnings(operation, 200, Body(b'"x"', "application/json", "json"))
    assert found == ["the response was not compared with its documented schema, which is too complex"]


def test_a_schema_that_is_too_complex_is_a_problem_of_the_operation() -> None:
    operation = api_of("a complete graph of fields", 300).operation("GET /things")
    assert operation.json_schema(operation.parameters[0].schema) == TOO_COMPLEX
    found = [problem.pointer for problem in operation.problems if "too complex" in problem.message]
    assert found == ["/paths/~1things/get/parameters (filter)", "/paths/~1things/get/responses/200"]


def test_members_of_all_of_merge_as_often_as_they_are_named_but_are_read_once() -> None:
    schemas = {f"S{n}": {"allOf": [{"$ref": f"#/components/schemas/S{n + 1}"}] * 2} for n in range(25)}
    schemas["S25"] = {"properties": {"a": {}}}  # type: ignore[dict-item]
    api = load_api({"openapi": "3.1.0", "paths": {"/a": {"get": {}}}, "components": {"schemas": schemas}})
    with within(1000) as effort:
        assert merge_all_of(api.document, schemas["S0"]) == {"properties": {"a": {}}}
    assert not effort.is_spent


def test_a_document_that_reaches_limits_again_and_again_gets_smaller_ones() -> None:
    api = api_of("required fields doubled", 60)
    granted = []
    for _ in range(5 * PATIENCE):
        with within(64, api.document.allowance) as effort:
            granted.append(effort.granted)
            effort.left = -1
    assert granted[::PATIENCE] == [64, 32, 16, 8, 8]


def test_a_value_that_an_example_repeats_stays_small() -> None:
    arguments = minimal_arguments(api_of("least items doubled", 60).operation("POST /things"))
    assert len(json.dumps(arguments)) < 10_000_000


def test_a_document_of_too_many_bytes_is_refused(tmp_path: Path) -> None:
    source = tmp_path / "openapi.json"
    with source.open("wb") as file:
        file.truncate(DOCUMENT_MOST + 1)
    with pytest.raises(SpecError, match="has 150,000,001 bytes, of 150,000,000 that are read"):
        load_api(source)


@pytest.mark.slow
def test_parts_after_too_many_references_are_not_searched_for_problems() -> None:
    # 401 operations have 500 references each.
    found = messages(api_of("many shared parameters", 500))
    assert found.startswith("/paths/~1things401/get: this and later parts are not searched for problems")


@pytest.mark.slow
def test_parameters_beyond_the_steps_of_the_search_index_are_still_parameters_of_the_operation() -> None:
    api = api_of("many shared parameters", 400)
    assert api.document.allowance.left > 0
    api.search("things")
    assert api.document.allowance.left < 40
    assert len(api.operations[-1].parameters) == 400


def test_identifiers_of_the_path_count_before_others() -> None:
    parameters = [{"name": f"a{n}_id", "in": "query", "schema": {}} for n in range(50)]
    operation = {"parameters": [*parameters, {"name": "thing_id", "in": "path", "required": True, "schema": {}}]}
    api = load_api({"openapi": "3.1.0", "paths": {"/things": {"get": {}}, "/things/{thing_id}": {"get": operation}}})
    assert api.producers(api.operation("GET /things/{thing_id}"))["thing_id"] == (api.operation("GET /things"),)


def test_operations_beyond_the_limit_are_left_out_with_a_problem() -> None:
    api = api_of("many paths", OPERATIONS_MOST + 2)
    assert len(api.operations) == OPERATIONS_MOST
    assert f"/paths/~1thing{OPERATIONS_MOST}/get: this and later operations are left out" in messages(api)


def test_parameters_beyond_the_limit_are_left_out_with_a_problem() -> None:
    operation = api_of("many parameters", 1001).operations[0]
    assert len(operation.parameters) == 1000
    assert [str(problem) for problem in operation.problems] == [
        "/paths/~1things/get/parameters/1000: this and later parameters are left out: at most 1,000 are read"
    ]


@pytest.mark.parametrize(
    ("name", "size", "problem"),
    [
        ("many tags of an operation", 101, "/paths/~1things/get/tags: of 101 tags, 100 are read"),
        ("many methods", 101, "/paths/~1things/additionalOperations: of 101 methods, 100 are read"),
        ("a long operationId", 251, "/paths/~1things/get/operationId: the text is cut"),
        ("a description of letters", 200_001, "/paths/~1things/post/description: the text is cut"),
        ("a description of letters", 5001, "/paths/~1things/post/summary: the text is cut"),
        ("one very long path", 8001, "the path is left out: it is longer than 8,000 characters"),
        ("a long default", 1_000_000, "/paths/~1things/post: the part is left out: it has more than 2,000,000 bytes"),
        ("many enumerated numbers", 10_001, "/paths/~1things/post: an enum of 10,001 values is left out"),
        ("undeclared security schemes", 201, "/security: of 201 security requirements, 200 are read"),
        ("Swagger with many types", 101, "/produces: of 101 media types, 100 are read"),
    ],
)
def test_what_is_left_out_is_a_problem_that_names_the_place(name: str, size: int, problem: str) -> None:
    assert problem in messages(api_of(name, size))


def test_security_requirements_beyond_the_limit_are_a_problem_of_the_operation() -> None:
    operation = api_of("many security schemes", 201).operations[0]
    assert len(operation.security) == 200
    found = [str(problem) for problem in operation.problems]
    assert found == ["/paths/~1things/get/security: of 201 security requirements, 200 are read"]


@pytest.mark.parametrize(
    ("name", "size", "value"), [("many enumerated texts", 10_001, "other"), ("a nested pattern", 90, "aaa")]
)
def test_an_enum_or_a_pattern_beyond_the_limit_refuses_no_value(name: str, size: int, value: str) -> None:
    operation = api_of(name, size).operation("GET /things")
    assert f"filter={value}" in build_request(operation, {"query": {"filter": value}}).url
    assert minimal_arguments(operation)["query"]["filter"]


@pytest.mark.parametrize(
    ("name", "size", "message"),
    [
        ("YAML of opening brackets", 501, "in line 5, 500 brackets are open"),
        ("YAML of opening braces", 501, "in line 5, 500 brackets are open"),
        ("YAML of dashes", 501, "a line opens 500 lists"),
        ("a YAML bomb", 12, "the aliases of the document expand to more than"),
        ("a YAML bomb of texts", 5000, "the aliases of the document expand to more than"),
        ("a YAML alias in itself", 1, "a YAML alias that contains itself"),
    ],
)
def test_yaml_that_takes_too_long_is_refused(name: str, size: int, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        api_of(name, size)


@pytest.mark.parametrize(
    "numbered",
    [lambda n: "same", lambda n: "same" * 30, lambda n: "same." + "." * (n % 50)],
    ids=["equal", "long", "dots"],
)
def test_equal_operation_ids_are_numbered_in_order(numbered: Callable[[int], str]) -> None:
    paths = {f"/a{n}": {"get": {"operationId": numbered(n)}} for n in range(3000)}
    names = [operation.name for operation in load_api({"openapi": "3.1.0", "paths": paths}).operations]
    assert len(set(names)) == 3000
    assert names[1].endswith("_2")
    assert names[2999].endswith("_3000")


@pytest.mark.parametrize("as_ascii", [True, False])
def test_no_description_has_characters_that_nobody_sees(as_ascii: bool) -> None:
    odd = "bad\x1b[31m \u202etext\u200b\U000e0041\ufeff\x9b end, 👩\u200d💻 می\u200cخواهم"
    schema = {"type": "string", "description": odd}
    operation = {
        "operationId": "x",
        "summary": odd,
        "description": f"{odd} more.",
        "parameters": [{"name": "q", "in": "query", "description": odd, "schema": schema}],
        "requestBody": {"content": {"application/json": {"schema": {"properties": {"p": schema}}}}},
        "responses": {"200": {"description": odd}},
    }
    head = {"openapi": "3.1.0", "info": {"title": "t", "version": "1", "description": odd}}
    text = json.dumps({**head, "paths": {"/a": {"post": operation}}}, ensure_ascii=as_ascii)
    api = load_api(text, base_url="https://a.test")
    clean = "bad[31m text end, 👩\u200d💻 می\u200cخواهم"
    found = api.operations[0]
    assert (api.description, found.summary, found.description) == (clean, clean, f"{clean} more.")
    assert found.parameters[0].description == found.parameters[0].schema["description"] == clean
    shown = documentation(found)
    assert clean in shown
    assert not set(shown) & set("\x1b\u202e\u200b\U000e0041\ufeff\x9b")
