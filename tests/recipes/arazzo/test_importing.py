"""Import: workflows become programs that send the requests that their steps describe, through the sandbox."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from arazzorun import Json, carried_out, document, imported, inputs
from paths import api_of, operation_of

from restgpt.recipes.arazzo.fault import ArazzoError
from restgpt.recipes.arazzo.importing import from_arazzo
from restgpt.recipes.guards.closure import document_shifts
from restgpt.specs import load_api
from restgpt.specs.bundled import bundled_document
from restgpt_bench.worlds import open_world

GOLDEN = Path(__file__).parent / "golden"
OK: list[Json] = [{"condition": "$statusCode == 200"}]


def step(name: str, operation: str, **parts: Any) -> Json:
    return {"stepId": name, "operationId": operation, **parts}


def path(name: str, value: Any) -> list[Json]:
    return [{"name": name, "in": "path", "value": value}]


GET = step("get", "get_project", parameters=path("project_id", 1), outputs={"name": "$response.body#/name"})


def text_of(*steps: Json, given: dict[str, Any] | None = None, **workflow: Any) -> str:
    """What the program of these steps reports."""
    return carried_out(imported(document(*steps, **workflow)), given).text


def test_an_exported_recipe_sends_the_same_requests_after_import() -> None:
    data = yaml.safe_load((GOLDEN / "add-task.arazzo.yaml").read_text(encoding="utf-8"))
    recipe = from_arazzo(data, apis=[open_world("toy").api])
    done = carried_out(recipe, {"project": "Roof garden", "title": "Buy soil"})
    assert done.requests == ["POST /projects 201", "POST /projects/201/tasks 201"]
    assert [entry.body for entry in done.world.log] == [{"name": "Roof garden"}, {"title": "Do: Buy soil", "hours": 3}]
    assert done.text.splitlines() == [
        "create_project_id: 201",
        "create_task_id: 202",
        "create_task_title: Do: Buy soil",
    ]


def test_an_import_keeps_the_guards_of_an_export() -> None:
    data = yaml.safe_load((GOLDEN / "add-task.arazzo.yaml").read_text(encoding="utf-8"))
    recipe = from_arazzo(data, apis=[open_world("toy").api])
    assert {used.function: dict(used.reads) for used in recipe.operations} == {
        "create_project": {"/id": ("integer",)},
        "create_task": {"/id": ("integer",), "/title": ("string",)},
    }


def test_an_import_is_guarded_by_the_document_of_today() -> None:
    new = step("new", "create_project", requestBody={"payload": {"name": "$inputs.name"}})
    [used] = imported(document(new, inputs=inputs("name"))).operations
    operation = open_world("toy").api.operation("create_project")
    assert document_shifts(used, operation) == []
    properties = {"name": {"type": "string"}, "team": {"type": "string"}}
    schema = {"type": "object", "required": ["name", "team"], "properties": properties}
    body = {"required": True, "content": {"application/json": {"schema": schema}}}
    stricter = operation_of({"requestBody": body}, "post", "/projects", title="toy")
    [shift] = document_shifts(used, stricter)
    assert "team" in str(shift)


def test_the_description_of_an_import_does_not_repeat_that_the_export_was_not_proved() -> None:
    data = yaml.safe_load((GOLDEN / "add-task.arazzo.yaml").read_text(encoding="utf-8"))
    assert from_arazzo(data, apis=[open_world("toy").api]).description == "Add a project with a task."


def test_a_program_that_was_exported_comes_back_as_it_was() -> None:
    data = yaml.safe_load((GOLDEN / "add-task.arazzo.yaml").read_text(encoding="utf-8"))
    data["workflows"][0]["x-restgpt-program"] = "print(create_project(body={'name': inputs['project']})['id'])"
    done = carried_out(from_arazzo(data, apis=[open_world("toy").api]), {"project": "Roof garden"})
    assert done.text == "201"


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("$response.body#/name", "Winter timetable"),
        ("$response.body.name", "Winter timetable"),
        ("$statusCode", "200"),
        ("$response.header.X-Number", "0"),
        ({"context": "$response.body", "selector": "/name", "type": "jsonpointer"}, "Winter timetable"),
        ({"context": "$response.body", "selector": "$.name", "type": "jsonpath"}, "Winter timetable"),
        ({"context": "$response.body", "selector": "$[?@ == 1]", "type": "jsonpath"}, "[1]"),
        (
            {
                "context": "$response.body",
                "selector": "$.name",
                "type": {"type": "jsonpath", "version": "rfc9535"},
            },
            "Winter timetable",
        ),
    ],
)
def test_an_output_is_read_from_the_answer(expression: Any, value: str) -> None:
    get = step("get", "get_project", parameters=path("project_id", 1), outputs={"found": expression})
    assert text_of(get, outputs={"found": "$steps.get.outputs.found"}) == f"found: {value}"


def test_a_field_that_the_answer_does_not_have_is_no_output() -> None:
    get = step("get", "get_project", parameters=path("project_id", 1), outputs={"found": "$response.body#/colour"})
    assert text_of(get, outputs={"found": "$steps.get.outputs.found"}) == "The workflow main was carried out: get."


def test_inputs_go_into_parameters_and_texts() -> None:
    new = step(
        "new", "create_project", requestBody={"payload": {"name": "Shed {$inputs.number}", "owner": "$inputs.who"}}
    )
    done = carried_out(imported(document(new, inputs=inputs("number", "who"))), {"number": "7", "who": "Ada"})
    assert done.world.log[0].body == {"name": "Shed 7", "owner": "Ada"}


def test_a_member_of_a_body_without_a_value_is_left_out() -> None:
    new = step("new", "create_project", requestBody={"payload": {"name": "Shed", "owner": "$inputs.who"}})
    done = carried_out(imported(document(new, inputs=inputs("who"))), {})
    assert done.world.log[0].body == {"name": "Shed"}


def test_a_payload_of_text_is_parsed_before_values_come_in() -> None:
    payload = '{"name": "{$inputs.name}", "owner": "{$inputs.who}"}'
    new = step("new", "create_project", requestBody={"contentType": "application/json", "payload": payload})
    given = {"name": 'a", "archived": true, "x": "', "who": "Ada"}
    done = carried_out(imported(document(new, inputs=inputs("name", "who"))), given)
    assert done.world.log[0].body == {"name": 'a", "archived": true, "x": "', "owner": "Ada"}


def test_a_value_outside_of_quotes_keeps_its_type() -> None:
    payload = '{"title": "Dig", "hours": {$inputs.hours}}'
    new = step("new", "create_task", parameters=path("project_id", 1), requestBody={"payload": payload})
    done = carried_out(imported(document(new, inputs=inputs(hours="integer"))), {"hours": 4})
    assert done.world.log[0].body == {"title": "Dig", "hours": 4}


def test_replacements_change_a_payload() -> None:
    body = {
        "payload": {"title": "Dig", "hours": 1},
        "replacements": [
            {"target": "/title", "value": "$inputs.title"},
            {"target": "$.hours", "targetSelectorType": "jsonpath", "value": 9},
        ],
    }
    new = step("new", "create_task", parameters=path("project_id", 1), requestBody=body)
    done = carried_out(imported(document(new, inputs=inputs("title"))), {"title": "Sow"})
    assert done.world.log[0].body == {"title": "Sow", "hours": 9}


@pytest.mark.parametrize(
    ("criterion", "is_met"),
    [
        ({"condition": "$statusCode == 200"}, True),
        ({"condition": "$statusCode == 201 || $response.body#/id == 1"}, True),
        ({"condition": "$response.body#/name == 'WINTER timetable'"}, True),
        ({"condition": "$response.body.id > '0' && $response.body.archived"}, True),
        ({"condition": "$response.body#/colour == null"}, True),
        ({"condition": "$response.body#/name != null"}, True),
        ({"condition": "$response.body#/id >= $inputs.least"}, False),
        ({"context": "$statusCode", "condition": "^2\\d{2}$", "type": "regex"}, True),
        ({"context": "$response.body#/name", "condition": "^{$inputs.start}", "type": "regex"}, True),
        ({"context": "$response.body#/colour", "condition": ".*", "type": "regex"}, False),
        ({"context": "$response.body", "condition": "$[?@ == 'Winter timetable']", "type": "jsonpath"}, True),
        ({"context": "$response.body", "condition": "$[?@ == '{$inputs.start}']", "type": "jsonpath"}, False),
    ],
)
def test_a_criterion_decides_whether_a_step_succeeded(criterion: Json, is_met: bool) -> None:
    get = {**GET, "successCriteria": [criterion]}
    recipe = imported(document(get, inputs=inputs("start", least="integer")))
    done = carried_out(recipe, {"start": "Winter", "least": 5})
    assert done.run.kind == ("finished" if is_met else "stopped"), done.text


def test_a_failed_criterion_is_named_in_the_report() -> None:
    get = {**GET, "successCriteria": [{"condition": "$response.body#/archived == false"}]}
    done = carried_out(imported(document(get)))
    assert done.text == (
        "The step get of main failed: $response.body#/archived == false is not so; the answer was HTTP 200."
    )


def test_an_error_of_the_api_ends_the_workflow() -> None:
    get = step("get", "get_project", parameters=path("project_id", 999))
    done = carried_out(imported(document(get, GET | {"stepId": "other"})))
    assert done.text == "The step get of main failed: the answer was HTTP 404."
    assert done.requests == ["GET /projects/999 404"]


def test_a_status_of_an_error_can_be_the_wanted_one() -> None:
    gone = step(
        "gone", "get_project", parameters=path("project_id", 999), successCriteria=[{"condition": "$statusCode == 404"}]
    )
    assert text_of(gone) == "The workflow main was carried out: gone."


def test_success_goes_to_a_step_and_skips_others() -> None:
    first = {**GET, "onSuccess": [{"name": "skip", "type": "goto", "stepId": "last"}]}
    done = carried_out(imported(document(first, step("all", "list_projects"), step("last", "list_projects"))))
    assert done.text == "The workflow main was carried out: get, last."


def test_the_first_action_whose_criteria_hold_is_taken() -> None:
    actions = [
        {"name": "no", "type": "end", "criteria": [{"condition": "$response.body#/archived == false"}]},
        {"name": "yes", "type": "goto", "stepId": "last", "criteria": [{"condition": "$response.body#/id == 1"}]},
    ]
    done = carried_out(
        imported(document({**GET, "onSuccess": actions}, GET | {"stepId": "b"}, GET | {"stepId": "last"}))
    )
    assert done.text.endswith(": get, last.")


def test_an_end_after_success_is_no_failure() -> None:
    first = {**GET, "onSuccess": [{"name": "enough", "type": "end"}]}
    done = carried_out(
        imported(document(first, step("all", "list_projects"), outputs={"n": "$steps.get.outputs.name"}))
    )
    assert (done.run.kind, done.text) == ("finished", "n: Winter timetable")


def test_an_end_after_a_failure_stops_with_its_reason() -> None:
    gone = step("gone", "get_project", parameters=path("project_id", 9), onFailure=[{"name": "e", "type": "end"}])
    done = carried_out(imported(document(gone)))
    assert (done.run.kind, done.text) == ("stopped", "The step gone of main failed: the answer was HTTP 404.")


def test_a_retry_is_made_at_once_and_up_to_its_limit() -> None:
    again = {"name": "again", "type": "retry", "retryAfter": 5, "retryLimit": 3}
    recipe = imported(document(step("gone", "get_project", parameters=path("project_id", 9), onFailure=[again])))
    assert carried_out(recipe).requests == ["GET /projects/9 404"] * 4
    assert "The waiting times of retries (retryAfter) are not kept" in recipe.description


def test_after_the_last_retry_the_next_action_is_taken() -> None:
    gone = step(
        "gone",
        "get_project",
        parameters=path("project_id", 9),
        onFailure=[{"name": "again", "type": "retry"}, {"name": "on", "type": "goto", "stepId": "last"}],
    )
    done = carried_out(imported(document(gone, step("last", "list_projects"))))
    assert done.requests == ["GET /projects/9 404", "GET /projects/9 404", "GET /projects 200"]


def test_a_retry_can_carry_out_another_step_first() -> None:
    new = step("new", "create_project", requestBody={"payload": {"name": "Shed"}})
    get = step(
        "get",
        "get_project",
        parameters=path("project_id", 201),
        onFailure=[{"name": "make", "type": "retry", "stepId": "new"}],
        onSuccess=[{"name": "e", "type": "end"}],
    )
    done = carried_out(imported(document(get, new)))
    assert done.requests == ["GET /projects/201 404", "POST /projects 201", "GET /projects/201 200"]


def test_a_circle_of_goto_is_ended() -> None:
    actions = [{"name": "round", "type": "goto", "stepId": "get"}]
    first = {**GET, "onSuccess": actions, "successCriteria": [{"condition": "true"}]}
    recipe = imported(document(first))
    done = carried_out(recipe.model_copy(update={"program": recipe.program.replace("get_project(project_id=1)", "1")}))
    assert done.text == "The workflow main was stopped after 1000 steps, at get."


def test_actions_of_the_workflow_hold_for_steps_that_do_not_override_them() -> None:
    gone = step("gone", "get_project", parameters=path("project_id", 9))
    last = step("last", "list_projects", onFailure=[{"name": "on", "type": "end"}])
    shared = [{"name": "on", "type": "goto", "stepId": "last"}]
    done = carried_out(imported(document(gone, GET, last, failureActions=shared)))
    assert done.requests == ["GET /projects/9 404", "GET /projects 200"]


def test_components_are_used_by_reference() -> None:
    data = document(
        step("find", "find_tasks", parameters=[{"reference": "$components.parameters.page", "value": 2}]),
        step(
            "gone",
            "get_project",
            parameters=path("project_id", 9),
            onFailure=[{"reference": "$components.failureActions.leave"}],
        ),
    )
    data["components"] = {
        "parameters": {"page": {"name": "page", "in": "query", "value": 1}},
        "failureActions": {"leave": {"name": "leave", "type": "end"}},
    }
    done = carried_out(imported(data))
    assert done.world.log[0].query == {"page": "2"}


def new_project(workflow: str) -> dict[str, Any]:
    return {
        "workflowId": workflow,
        "inputs": inputs("name"),
        "steps": [
            step(
                "new",
                "create_project",
                requestBody={"payload": {"name": "$inputs.name"}},
                outputs={"id": "$response.body#/id"},
            )
        ],
        "outputs": {"id": "$steps.new.outputs.id"},
    }


def test_a_step_can_be_another_workflow() -> None:
    main = {
        "stepId": "make",
        "workflowId": "make",
        "parameters": [{"name": "name", "value": "Shed"}],
        "successCriteria": [{"condition": "$statusCode == 201"}],
        "outputs": {"id": "$outputs.id"},
    }
    get = step("get", "get_project", parameters=path("project_id", "$steps.make.outputs.id"))
    done = carried_out(imported(document(main, get, others=[new_project("make")])))
    assert done.requests == ["POST /projects 201", "GET /projects/201 200"]


def test_a_failure_inside_another_workflow_is_a_failure_of_the_step() -> None:
    inner = {"workflowId": "inner", "steps": [step("gone", "get_project", parameters=path("project_id", 9))]}
    done = carried_out(imported(document({"stepId": "run", "workflowId": "inner"}, GET, others=[inner])))
    assert done.text == "The step gone of inner failed: the answer was HTTP 404."


def test_a_workflow_runs_after_those_that_it_depends_on_with_the_same_inputs() -> None:
    get = step("get", "get_project", parameters=path("project_id", "$workflows.before.outputs.id"))
    recipe = imported(document(get, others=[new_project("before")], dependsOn=["before"]))
    assert set(recipe.inputs["properties"]) == {"name"}
    assert carried_out(recipe, {"name": "Shed"}).requests == ["POST /projects 201", "GET /projects/201 200"]


def test_steps_are_put_in_the_order_of_their_dependencies() -> None:
    late = {**GET, "parameters": path("project_id", "$steps.new.outputs.id"), "dependsOn": ["new"]}
    new = step("new", "create_project", requestBody={"payload": {"name": "Shed"}}, outputs={"id": "$response.body#/id"})
    assert carried_out(imported(document(late, new))).requests == ["POST /projects 201", "GET /projects/201 200"]


def test_a_success_can_hand_over_to_another_workflow() -> None:
    other = {"workflowId": "other", "steps": [step("all", "list_projects")]}
    first = {**GET, "onSuccess": [{"name": "on", "type": "goto", "workflowId": "other"}]}
    done = carried_out(imported(document(first, GET | {"stepId": "never"}, others=[other])))
    assert done.requests == ["GET /projects/1 200", "GET /projects 200"]


def test_workflows_of_another_document_are_used() -> None:
    other = document(
        step("get", "get_project", parameters=path("project_id", 2), outputs={"name": "$response.body#/name"}),
        outputs={"name": "$steps.get.outputs.name"},
    )
    data = document({"stepId": "run", "workflowId": "$sourceDescriptions.lib.main", "outputs": {"n": "$outputs.name"}})
    data["sourceDescriptions"].append({"name": "lib", "url": "lib.arazzo.yaml", "type": "arazzo"})
    recipe = imported(data, documents={"lib": other})
    assert carried_out(recipe).requests == ["GET /projects/2 200"]


def test_a_dry_run_goes_on_until_it_needs_the_answer_to_a_change() -> None:
    new = step(
        "new",
        "create_project",
        requestBody={"payload": {"name": "Shed"}},
        successCriteria=[{"condition": "$statusCode == 201"}],
        outputs={"id": "$response.body#/id"},
    )
    recipe = imported(document(new, GET, outputs={"id": "$steps.new.outputs.id", "name": "$steps.get.outputs.name"}))
    done = carried_out(recipe, dry=True)
    assert [call.function for call in done.held] == ["create_project"]
    assert done.text.splitlines() == ["id: not known in a dry run", "name: Winter timetable"]
    needy = imported(document(new, {**GET, "parameters": path("project_id", "$steps.new.outputs.id")}))
    assert carried_out(needy, dry=True).run.kind == "unknown"


def test_an_operation_is_found_by_its_pointer() -> None:
    get = {
        "stepId": "get",
        "operationPath": "{$sourceDescriptions.toy.url}#/paths/~1projects~1{project_id}/get",
        "parameters": path("project_id", 1),
    }
    assert carried_out(imported(document(get))).requests == ["GET /projects/1 200"]


def test_the_values_of_a_document_are_the_constants_of_the_recipe() -> None:
    new = step("new", "create_project", requestBody={"payload": {"name": "Shed", "owner": "$inputs.who"}})
    recipe = imported(document(GET, new, inputs=inputs("who")))
    assert recipe.constants == (1, "Shed")


def test_a_header_for_authentication_is_left_out_with_a_sentence() -> None:
    parameters = [*path("project_id", 1), {"name": "Authorization", "in": "header", "value": "Bearer abc"}]
    recipe = imported(document({**GET, "parameters": parameters}))
    assert "abc" not in recipe.program
    assert "The header Authorization of get is not sent" in recipe.description


def test_inputs_that_are_references_are_written_out() -> None:
    data = document(GET, inputs={"$ref": "#/components/inputs/one"})
    data["components"] = {
        "inputs": {
            "one": {"type": "object", "properties": {"two": {"$ref": "#/components/inputs/two"}}},
            "two": {"type": "string"},
        }
    }
    assert imported(data).inputs == {"type": "object", "properties": {"two": {"type": "string"}}}


@pytest.mark.parametrize(
    ("url", "name", "apis"),
    [
        ("anywhere.yaml", "toy", "list"),
        ("https://x.example/toy.yaml", "My_Toy", "list"),
        ("anywhere.yaml", "mine", "mapping"),
    ],
)
def test_a_source_stands_for_the_api_of_its_name_or_file_or_for_the_only_one(url: str, name: str, apis: str) -> None:
    data = document({**GET, "operationId": f"$sourceDescriptions.{name}.get_project"})
    data["sourceDescriptions"] = [{"name": name, "url": url}, {"name": "lib", "url": "x.arazzo.yaml", "type": "arazzo"}]
    toy = open_world("toy").api
    recipe = from_arazzo(data, apis=[toy] if apis == "list" else {name: toy})
    assert [used.api for used in recipe.operations] == ["toy"]


def test_an_id_that_two_sources_have_has_to_be_qualified() -> None:
    toy, other = open_world("toy").api, load_api(bundled_document("toy").read_bytes(), name="other")
    data = document(GET)
    data["sourceDescriptions"].append({"name": "other", "url": "other.yaml"})
    with pytest.raises(ArazzoError, match=r"2 operations have the id 'get_project': write \$sourceDescriptions"):
        from_arazzo(data, apis=[toy, other])
    data["workflows"][0]["steps"][0]["operationId"] = "$sourceDescriptions.other.get_project"
    assert [used.api for used in from_arazzo(data, apis=[toy, other]).operations] == ["other"]


def test_the_workflow_has_to_be_named_if_there_are_several() -> None:
    data = document(GET, others=[{"workflowId": "other", "steps": [GET]}])
    with pytest.raises(ArazzoError, match=r"several workflows: name one of main, other\."):
        from_arazzo(data, apis=[open_world("toy").api])


def test_an_operation_with_the_name_of_a_helper_gets_another_one() -> None:
    paths = {"/a": {"get": {"operationId": "get", "responses": {}}}}
    api = api_of(paths, title="toy", servers=[{"url": "https://toy.example"}])
    recipe = imported(document(step("a", "get")), api)
    assert [used.function for used in recipe.operations] == ["get_"]


def test_inputs_that_are_no_schema_are_a_fault_with_their_place() -> None:
    given = {"type": "object", "properties": {"name": {"type": "name of a project"}}}
    with pytest.raises(ArazzoError, match=r"/workflows/0/inputs/properties/name/type: is no JSON Schema"):
        imported(document(step("get", "list_projects"), inputs=given))


def test_a_whole_number_of_more_than_64_bits_is_kept_as_text_which_every_store_takes() -> None:
    made = imported(document(step("make", "create_project", requestBody={"payload": {"name": "Roof", "size": 2**70}})))
    assert str(2**70) in made.constants
    assert str(2**70) in made.program
