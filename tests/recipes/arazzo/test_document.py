"""Documents: faults and unsupported parts are told with their place, all of them at once."""

import ast
from typing import Any

import pytest
from arazzorun import Json, carried_out, document, imported, inputs

from restgpt.recipes.arazzo import flow
from restgpt.recipes.arazzo.document import read_document
from restgpt.recipes.arazzo.fault import ArazzoError
from restgpt.recipes.arazzo.importing import from_arazzo

GET: Json = {
    "stepId": "get",
    "operationId": "get_project",
    "parameters": [{"name": "project_id", "in": "path", "value": 1}],
}
NEW: Json = {"stepId": "new", "operationId": "create_project"}


def faults_of(data: Any) -> list[str]:
    """The faults of a document, each with its place."""
    with pytest.raises(ArazzoError) as caught:
        imported(data)
    return [str(fault) for fault in caught.value.faults] or [str(caught.value)]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ([], "it is not an object"),
        ({"openapi": "3.1.0"}, "it has no field arazzo"),
        ({**document(GET), "arazzo": "2.0.0"}, "at /arazzo: the version '2.0.0' is not supported: 1.0.x and 1.1.x are"),
        ({**document(GET), "info": {"title": "x"}}, "at /info/version: the field is missing"),
        (
            {**document(GET), "info": {"title": "x", "version": 1.0}},
            "at /info/version: it has to be a text: write 1.0 in quotes",
        ),
        ({**document(GET), "workflows": []}, "at /workflows: the list is empty"),
        (document({**GET, "operationID": "x"}), "at /workflows/0/steps/0: Arazzo has no field 'operationID' here"),
        (document({**GET, "workflowId": "x"}), "at /workflows/0/steps/0: a step has exactly one of operationId"),
        (document({**GET, "stepId": "a b"}), "at /workflows/0/steps/0/stepId: 'a b' may have only letters"),
        (document(GET, GET), "at /workflows/0/steps/1/stepId: 'get' stands twice"),
        (
            document({**GET, "onSuccess": [{"name": "on", "type": "goto"}]}),
            "at /workflows/0/steps/0/onSuccess/0: goto needs a stepId or a workflowId",
        ),
        (
            document({**GET, "parameters": [{"in": "path", "value": 1}]}),
            "at /workflows/0/steps/0/parameters/0: a parameter has either a name or a reference",
        ),
    ],
)
def test_a_fault_of_form_is_told_with_its_place(data: Any, said: str) -> None:
    with pytest.raises(ArazzoError) as caught:
        read_document(data)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (
            {"operationId": "get_projekt"},
            "/operationId: no operation has the id 'get_projekt': did you mean 'get_project'?",
        ),
        ({"operationId": "$sourceDescriptions.x.y"}, "/operationId: there is no source 'x'; there are toy"),
        (
            {"operationId": "", "operationPath": "toy.yaml#/paths/~1projects/get"},
            "/operationPath: it does not have the form {$sourceDescriptions.<name>.url}#/paths/~1<path>/<method>",
        ),
        (
            {"operationId": "", "operationPath": "{$sourceDescriptions.toy.url}#/paths/~1x/get"},
            "/operationPath: the document of 'toy' has no operation at /paths/~1x/get",
        ),
        (
            {"parameters": [{"name": "id", "in": "query", "value": 1}]},
            "/parameters/0: the operation has no parameter 'id' in query; it has project_id (path)",
        ),
        (
            {"parameters": [{"name": "project_id", "value": 1}]},
            "/parameters/0: the parameter 'project_id' has no `in`: write path, query, header or cookie",
        ),
        (
            {"parameters": [{"reference": "$components.parameters.x"}]},
            "/parameters/0/reference: '$components.parameters.x' names nothing under /components/parameters",
        ),
        ({"requestBody": {"payload": {}}}, "/requestBody: the operation takes no body: remove it"),
        ({"outputs": {"x": "$url"}}, "/outputs/x: not supported: the runtime expression '$url'. Write it as steps"),
        ({"outputs": {"x": "$steps.no.outputs.y"}}, "/outputs/x: '$steps.no.outputs.y': there is no step 'no'"),
        ({"outputs": {"x": "$steps.get.y"}}, "/outputs/x: '$steps.get.y' is no runtime expression: write $steps.<id>"),
        ({"outputs": {"x": "$inputs.who"}}, "/outputs/x: '$inputs.who': the workflow has no input 'who'; it has none"),
        ({"outputs": {"x": 5}}, "/outputs/x: an output is a runtime expression or a selector"),
        (
            {"outputs": {"x": {"context": "$response.body", "selector": "/a", "type": "xpath"}}},
            "/outputs/x/type: not supported: the type 'xpath'. Use jsonpath or jsonpointer",
        ),
        (
            {"outputs": {"x": {"context": "$response.body", "selector": "$[", "type": "jsonpath"}}},
            "/outputs/x/selector: the JSONPath expression '$[' is not understood: unexpected end of query",
        ),
        (
            {"successCriteria": [{"condition": "$statusCode = 200"}]},
            "/successCriteria/0/condition: the condition '$statusCode = 200' is not understood at",
        ),
        (
            {"successCriteria": [{"condition": "(", "type": "regex", "context": "$statusCode"}]},
            "/successCriteria/0/condition: the regular expression '(' is not valid",
        ),
        (
            {"successCriteria": [{"condition": "$.a", "type": "jsonpath"}]},
            "/successCriteria/0: a condition of the type jsonpath needs a context, such as $response.body",
        ),
        (
            {
                "successCriteria": [
                    {
                        "context": "$response.body",
                        "condition": "$.a",
                        "type": {"type": "jsonpath", "version": "draft-goessner-dispatch-jsonpath-00"},
                    }
                ]
            },
            "/successCriteria/0/type/version: not supported: the version 'draft-goessner-dispatch-jsonpath-00'",
        ),
        (
            {"onSuccess": [{"name": "a", "type": "retry"}]},
            "/onSuccess/0/type: a success action ends or goes to a step: only failures are retried",
        ),
        ({"onFailure": [{"name": "a", "type": "goto", "stepId": "x"}]}, "/onFailure/0/stepId: there is no step 'x'"),
        (
            {"onFailure": [{"name": "a", "type": "goto", "workflowId": "x"}]},
            "/onFailure/0/workflowId: there is no workflow 'x'; there are main",
        ),
        ({"dependsOn": ["x"]}, "/dependsOn/0: there is no step 'x' in this workflow"),
        ({"dependsOn": ["$workflows.a.steps.b"]}, "/dependsOn/0: not supported: a dependency on a step of another"),
        ({"operationId": "", "channelPath": "x"}, ": not supported: steps that send or receive messages (AsyncAPI)"),
    ],
)
def test_a_fault_of_a_step_is_told_with_its_place(step: Json, said: str) -> None:
    changed = {key: value for key, value in {**GET, **step}.items() if value != ""}
    [fault] = faults_of(document(changed))
    assert fault.startswith("at /workflows/0/steps/0" + said)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"contentType": "application/xml", "payload": "<a/>"}, "/contentType: not supported: the content type"),
        ({"payload": '{"name": '}, "/payload: the text is no application/json"),
        (
            {"payload": {}, "replacements": [{"target": "/a", "value": 1, "targetSelectorType": "xpath"}]},
            "/replacements/0: not supported: replacements in XML",
        ),
        ({"payload": {"name": float("nan")}}, "/payload/name: 'nan' is no value of JSON"),
        ({"payload": {1: 2}}, "/payload: a key is no text: write it in quotes"),
    ],
)
def test_a_fault_of_a_body_is_told_with_its_place(body: Json, said: str) -> None:
    faults = faults_of(document({**NEW, "requestBody": body}))
    assert faults[0].startswith("at /workflows/0/steps/0/requestBody" + said)


def test_all_faults_are_told_at_once() -> None:
    data = document({**GET, "outputs": {"a": "$url", "b": "$inputs.x"}}, outputs={"c": "$steps.get.outputs.d"})
    assert [fault.partition(": ")[0] for fault in faults_of(data)] == [
        "at /workflows/0/steps/0/outputs/a",
        "at /workflows/0/steps/0/outputs/b",
        "at /workflows/0/outputs/c",
    ]


def test_an_output_of_a_later_step_is_a_fault_without_jumps() -> None:
    first = {**GET, "parameters": [{"name": "project_id", "in": "path", "value": "$steps.two.outputs.id"}]}
    second = {**GET, "stepId": "two", "outputs": {"id": "$response.body#/id"}}
    assert "the step 'two' comes later; change the order of the steps" in faults_of(document(first, second))[0]


def test_circles_are_faults() -> None:
    one = {**GET, "dependsOn": ["two"]}
    two = {**GET, "stepId": "two", "dependsOn": ["get"]}
    assert "the steps get, two wait for one another" in faults_of(document(one, two))[0]
    other = {"workflowId": "other", "dependsOn": ["main"], "steps": [GET]}
    assert "the workflows main → other → main wait" in faults_of(document(GET, others=[other], dependsOn=["other"]))[0]
    nested = {"workflowId": "other", "steps": [{"stepId": "back", "workflowId": "main"}]}
    run = {"stepId": "run", "workflowId": "other"}
    assert "the workflows main → other → main wait" in faults_of(document(run, others=[nested]))[0]


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"type": "array"}, "the inputs are not a schema of an object"),
        ({"$ref": "https://example.com/x"}, "not supported: the reference 'https://example.com/x'"),
        ({"$ref": "#/components/inputs/no"}, "the reference '#/components/inputs/no' leads to nothing"),
        ({"$ref": "#/components/inputs/me"}, "the reference '#/components/inputs/me' leads to itself"),
        ({"$ref": "#/components/inputs/bomb9"}, "the schema has more than 5000 parts"),
    ],
)
def test_inputs_that_cannot_be_used_are_told(schema: Json, said: str) -> None:
    data = document(GET, inputs=schema)
    bombs = {
        f"bomb{number}": {
            "type": "object",
            "properties": {key: {"$ref": f"#/components/inputs/bomb{number - 1}"} for key in "abcd"},
        }
        for number in range(1, 10)
    }
    data["components"] = {"inputs": {"me": {"$ref": "#/components/inputs/me"}, "bomb0": {"type": "string"}, **bombs}}
    assert said in faults_of(data)[0]


def test_a_source_without_an_api_is_told_with_its_name() -> None:
    with pytest.raises(ArazzoError) as caught:
        from_arazzo(document(GET), apis=[])
    assert "at /sourceDescriptions/0: no API is given for the source 'toy' (toy.yaml)" in str(caught.value)


def test_a_document_that_is_nested_too_deeply_is_refused() -> None:
    payload: Any = 1
    for _ in range(5000):
        payload = [payload]
    assert "nested more than 60 deep" in faults_of(document({**NEW, "requestBody": {"payload": payload}}))[0]


HOSTILE = [
    "__import__('os').system('id')",
    "'); __import__('os').system('id'); ('",
    "'''\nimport os\n'''",
    "\n    import os\n",
    "\\'); print('x",
    "{$inputs.a}') or print('x",
    "$inputs.a'); print('x",
    "\u202e)x(tnirp",
    "#\nprint('x')",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_of_a_document_becomes_code(text: str) -> None:
    data = document(
        {
            **NEW,
            "description": text,
            "requestBody": {"payload": {"name": text, text: [text]}},
            "outputs": {"x": "$response.body#/" + text.replace("{", "").replace("}", "")},
        },
        inputs=inputs("a"),
        summary=text,
    )
    try:
        program = imported(data).program
    except ArazzoError:
        return  # it was understood as a broken expression
    [imports, *body] = ast.parse(program).body
    assert isinstance(imports, ast.ImportFrom)
    assert {item.name for item in imports.names} <= vars(flow).keys()
    code = ast.Module(body, [])
    called = {node.func.id for node in ast.walk(code) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    assert called <= {"create_project", "kept", "get", "text", "whole", "given", "Flow"}
    assert not any(isinstance(node, ast.Import | ast.ImportFrom) for node in ast.walk(code))
    assert "\u202e" not in program


@pytest.mark.slow
def test_a_pattern_that_takes_for_ever_ends_the_program_and_not_the_host() -> None:
    get = {
        **GET,
        "successCriteria": [{"context": "$inputs.a", "condition": "^(a+)+$", "type": "regex"}],
    }
    recipe = imported(document(get, inputs=inputs("a")))
    done = carried_out(recipe, {"a": "a" * 40 + "b"}, seconds=1.0)
    assert done.run.kind == "failed"
