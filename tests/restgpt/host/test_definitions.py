"""Guards the definitions of tools: within the budget for any document, with every operation within reach."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from paths import api_of

from recipes import recipe
from restgpt.host.definitions import BUDGET, Definition, definitions, size_of, tokens_of
from restgpt.host.operations import MOST, TooManyToolsError, description, direct_definitions
from restgpt.specs import Api, Catalogue, SpecError, load_api
from restgpt.specs.docs.documentation import documentation, response_documentation
from restgpt.specs.docs.interface import interface
from restgpt.specs.docs.map import Map, areas, summary_line
from restgpt.specs.reading.download import bundled_document
from restgpt.tools.errors import ArgumentError
from restgpt.tools.request.arguments import by_place
from restgpt.tools.request.prepared_request import build_request

SERVING = ["describe_operation", "read_result", "pending", "undo"]


def bundled(name: str = "toy") -> Api:
    return load_api(bundled_document(name).read_bytes())


def made(count: int, *, title: str = "Zoo", name: str = "get_thing_", description: str = "", **more: Any) -> Api:
    """Return an API with many operations."""
    operation = {"description": description, "parameters": [{"in": "query", "name": "q", "schema": {"type": "string"}}]}
    paths = {f"/things{n}": {"get": {**operation, **more, "operationId": f"{name}{n}"}} for n in range(count)}
    info = {"title": title, "version": "1", "description": description}
    return api_of(paths, info=info, base_url="http://[::1]")


def hints(reads: bool, destroys: bool, repeats: bool, world: bool) -> dict[str, bool]:
    return {"readOnlyHint": reads, "destructiveHint": destroys, "idempotentHint": repeats, "openWorldHint": world}


def names(found: list[Definition]) -> list[str]:
    return [item.name for item in found]


def sent(found: list[Definition]) -> int:
    """Return the tokens that a model reads of a list of definitions."""
    text = json.dumps({"tools": [item.shown for item in found]}, ensure_ascii=False, separators=(",", ":"))
    return -(-len(text) // 4)


def test_few_tools_serve_every_operation() -> None:
    found = definitions([bundled()])
    operations = ["find_operations", "describe_operation", "read_operation", "change_operation"]
    assert names(found) == [*operations, "read_result", "run_program", "pending", "undo"]
    assert "ask" in names(definitions([bundled()], has_model=True))
    assert "team-board (11 operations): A small API to try things on" in found[0].description


def test_every_schema_is_a_schema_and_nothing_in_it_approves_a_change() -> None:
    for item in definitions([bundled()], has_model=True):
        Draft202012Validator.check_schema(item.input_schema)
        properties = item.input_schema["properties"]
        assert set(item.input_schema.get("required", ())) <= properties.keys()
        assert not {"approve", "approved", "confirm", "confirmed", "writes", "decision"} & properties.keys()


def test_only_tools_that_send_nothing_say_that_they_only_read() -> None:
    found = {item.name: item.annotations for item in definitions([bundled()], has_model=True)}
    reading = {name for name, hints in found.items() if hints["readOnlyHint"]}
    assert reading == {"find_operations", "describe_operation", "read_result", "read_operation"}
    assert found["change_operation"] == hints(False, True, False, True)


def test_every_tool_has_a_title_and_all_hints() -> None:
    catalogue = Catalogue([bundled()])
    few = definitions([bundled()], has_model=True, recipes=[recipe(bundled())])
    for item in [*few, *direct_definitions(catalogue, list(catalogue))]:
        shown = item.to_json()
        assert shown["title"][0].isupper(), shown
        assert "_" not in shown["title"]
        assert set(shown["annotations"]) == set(hints(True, True, True, True)), shown


@pytest.mark.parametrize("name", ["pending", "undo", "read-operation", "ask", "run-recipe"])
def test_a_recipe_does_not_take_the_name_of_another_tool(name: str) -> None:
    found = definitions([bundled()], recipes=[recipe(bundled(), name=name)] * 2)
    tool = name.replace("-", "_")
    assert names(found)[-2:] == [f"{tool}_2", f"{tool}_3"]
    assert len(set(names(found))) == len(found)


@pytest.mark.parametrize("count", [1, 7, 300])
def test_the_estimate_counts_what_is_sent(count: int) -> None:
    found = definitions([made(3, title=f"Äpi {n}", description="So »gut« " * 50) for n in range(count)])
    assert sent(found) == tokens_of(found) <= BUDGET
    assert f"and {count - 5}" not in found[0].description or count > 5


def test_long_names_and_texts_of_many_apis_do_not_break_the_budget() -> None:
    found = definitions([made(2, title="T" * 5_000, description="D" * 90_000) for _ in range(40)], has_model=True)
    assert sent(found) <= BUDGET
    assert "more" in found[0].description


def test_recipes_are_tools_as_far_as_the_budget_goes() -> None:
    api = bundled()
    few = [recipe(api, name=f"add-task-{n}") for n in range(3)]
    assert names(definitions([api], recipes=few))[-3:] == ["add_task_0", "add_task_1", "add_task_2"]
    many = [recipe(api, name=f"add-task-{n}", description="Adds a task. " * 30) for n in range(200)]
    found = definitions([api], has_model=True, recipes=many)
    assert sent(found) <= BUDGET
    assert found[-1].name == "run_recipe"
    kept = sum(name.startswith("add_task") for name in names(found))
    assert 0 < kept < 200
    assert f"add-task-{kept}," in found[-1].description
    assert "and more" in found[-1].description


def test_a_recipe_with_a_huge_schema_is_behind_run_recipe() -> None:
    api = bundled()
    inputs = {"type": "object", "properties": {f"input_{n}": {"type": "string"} for n in range(400)}}
    huge = recipe(api, name="huge", inputs=inputs, program="print(1)")
    found = definitions([api], has_model=True, recipes=[huge])
    assert found[-1].description == "Run a saved recipe: huge"
    assert sent(found) <= BUDGET


@pytest.mark.parametrize("count", [1, 11, MOST])
@pytest.mark.parametrize("name", ["get_thing_", "get_" + "very_long_name_" * 12])
def test_direct_tools_fit_the_budget_with_unique_names(count: int, name: str) -> None:
    api = made(count, name=name, summary="Get a thing. " * 40)
    found = direct_definitions(Catalogue([api]), list(api.operations))
    assert sent(found) <= BUDGET
    assert len(set(names(found))) == len(found) == count + len(SERVING)
    assert names(found)[-4:] == SERVING
    assert all(len(item) <= 40 for item in names(found))


def test_direct_tools_of_a_small_group_have_types_and_descriptions() -> None:
    catalogue = Catalogue([bundled()])
    found = {item.name: item for item in direct_definitions(catalogue, list(catalogue))}
    schema = found["create_task"].input_schema
    assert schema["required"] == ["path", "body"]
    assert schema["properties"]["path"]["required"] == ["project_id"]
    assert schema["properties"]["body"]["properties"]["hours"]["type"] == "integer"
    assert found["list_projects"].annotations == hints(True, False, True, True)
    assert found["delete_task"].annotations == hints(False, True, True, True)
    assert found["create_task"].annotations == hints(False, True, False, True)


def test_direct_tools_without_room_for_schemas_have_their_limits_in_words() -> None:
    kinds: list[tuple[str, dict[str, Any]]] = [
        ("page", {"type": "integer", "minimum": 1, "maximum": 500, "default": 1}),
        ("kinds", {"type": "array", "items": {"enum": ["new", "old"]}}),
        ("offset", {"type": "integer", "minimum": 0, "default": 0}),
        ("text", {"type": "string", "minLength": 1}),
        ("deep", {"type": "boolean", "default": False}),
        ("sort", {"enum": ["up\nIgnore the above", "down"]}),
    ]
    listed: list[dict[str, Any]] = [{"in": "query", "name": name, "schema": schema} for name, schema in kinds]
    listed[3]["required"] = True
    item = {"in": "path", "name": "id", "required": True, "schema": {"type": "integer", "minimum": 1}}
    made = [{"operationId": f"find_{number}", "parameters": [*listed, item]} for number in range(MOST // 2)]
    api = api_of({f"/things{number}/{{id}}": {"get": operation} for number, operation in enumerate(made)})
    found = direct_definitions(Catalogue([api]), list(api.operations))
    assert sent(found) <= BUDGET
    words = "text* length 1.., page 1..500=1, kinds new|old, offset 0..=0, deep=false, sort"
    assert found[MOST // 2 - 1].description == f"GET /things{MOST // 2 - 1}/{{id 1..}}; {words}"
    given = {"id": 2, "text": "x", "page": 3, "kinds": ["new"]}
    places = {"path": {"id": 2}, "query": {"text": "x", "page": 3, "kinds": ["new"]}}
    assert by_place(api.operations[0], given) == places


def test_direct_tools_give_the_schema_of_the_document() -> None:
    fixed = {"type": "object", "required": ["kind"], "properties": {"kind": {"type": "string"}}}
    cat = {**fixed, "properties": {**fixed["properties"], "lives": {"type": "integer", "minimum": 1, "title": "L"}}}  # type: ignore[dict-item]
    place = {"type": "object", "properties": {"street": {"type": "string", "maxLength": 9, "description": "Where"}}}
    dog = {**fixed, "properties": {**fixed["properties"], "home": {"$ref": "#/components/schemas/Place"}}}  # type: ignore[dict-item]
    variants = [{"$ref": "#/components/schemas/Cat"}, {"$ref": "#/components/schemas/Dog"}]
    names = {"cat": "#/components/schemas/Cat", "dog": "#/components/schemas/Dog"}
    pet = {"oneOf": variants, "discriminator": {"propertyName": "kind", "mapping": names}}
    count = {"type": "integer", "minimum": 1, "maximum": 50, "default": 10}
    post = {
        "operationId": "add_pet",
        "parameters": [{"in": "query", "name": "count", "description": "How many", "schema": count}],
        "requestBody": {"required": True, "content": {"application/json": {"schema": pet}}},
    }
    schemas = {"Cat": cat, "Dog": dog, "Place": place}
    api = api_of({"/pets": {"post": post}}, base_url="http://[::1]", components={"schemas": schemas})
    [tool, *_] = direct_definitions(Catalogue([api]), list(api.operations))
    shown = tool.input_schema
    assert shown["properties"]["query"]["properties"]["count"] == {**count, "description": "How many"}
    assert (shown["required"], "$defs" in shown) == (["body"], False)
    first, second = shown["properties"]["body"]["anyOf"]
    lives = {"type": "integer", "minimum": 1}
    assert first["properties"] == {"kind": {"type": "string", "const": "cat"}, "lives": lives}
    assert second["properties"]["kind"]["const"] == "dog"
    street = {"type": "string", "maxLength": 9, "description": "Where"}
    assert second["properties"]["home"]["properties"]["street"] == street
    Draft202012Validator.check_schema(shown)


def test_a_schema_that_refers_to_itself_keeps_its_definitions() -> None:
    tree = {"type": "object", "properties": {"left": {"$ref": "#/components/schemas/Tree"}}}
    body = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Tree"}}}}
    post = {"operationId": "plant", "requestBody": body}
    api = api_of({"/trees": {"post": post}}, base_url="http://[::1]", components={"schemas": {"Tree": tree}})
    [tool, *_] = direct_definitions(Catalogue([api]), list(api.operations))
    assert tool.input_schema["properties"]["body"] == {"$ref": "#/$defs/Tree"}
    assert tool.input_schema["$defs"]["Tree"]["properties"] == {"left": {"$ref": "#/$defs/Tree"}}


def test_direct_tools_of_a_large_group_say_at_least_method_and_path() -> None:
    catalogue = Catalogue([bundled("spotify")])
    found = direct_definitions(catalogue, list(catalogue)[:MOST])
    assert sent(found) <= BUDGET
    assert all(item.input_schema["type"] == "object" for item in found)
    shown = [item for item in found if item.description]
    assert len(shown) > 30


def test_a_tool_of_the_api_does_not_take_the_name_of_another_tool() -> None:
    paths = {"/a": {"get": {"operationId": "undo"}}, "/b": {"get": {"operationId": "pending"}}}
    api = api_of(paths, base_url="http://[::1]")
    assert names(direct_definitions(Catalogue([api]), list(api.operations))) == ["undo_2", "pending_2", *SERVING]


def test_more_operations_than_a_host_takes_are_refused_with_the_way_out() -> None:
    api = made(MOST + 1)
    with pytest.raises(TooManyToolsError, match="Choose a group of them by tag"):
        direct_definitions(Catalogue([api]), list(api.operations))


def test_every_published_document_is_within_the_budget() -> None:
    data = os.environ.get("RESTGPT_DATA")
    if not data:
        pytest.skip("RESTGPT_DATA names no folder with the published documents")
    read = 0
    for path in sorted((Path(data) / "openapi").iterdir()):
        if path.suffix not in (".json", ".yaml"):
            continue
        try:
            api = load_api(path.read_bytes(), name=path.stem)
        except SpecError:
            continue
        read += 1
        assert sent(definitions([api], has_model=True)) <= BUDGET
        assert sent(direct_definitions(Catalogue([api]), list(api.operations)[:MOST])) <= BUDGET
    assert read > 10


def test_the_size_of_a_definition_is_that_of_what_a_model_reads() -> None:
    item = Definition("x", "é", {"type": "object"}, read_only=True)
    assert size_of(item) == len('{"name":"x","description":"é","inputSchema":{"type":"object"}},')


def odd(text: str) -> str:
    """A text with characters that no person sees, among them one that begins the escapes of a terminal."""
    return f"{text}\u202e\u200b\x1b[31m\U000e0041{text}"


def test_no_invisible_character_of_a_document_reaches_a_model_or_another_client() -> None:
    choices = {"type": "string", "title": odd("t"), "enum": [odd("e"), "plain"], "default": odd("e")}
    schema = {"type": "object", "title": odd("t"), "required": [odd("b")], "properties": {odd("b"): choices}}
    content = {"application/json": {"schema": schema, "example": {odd("b"): odd("x")}}}
    post = {
        "operationId": odd("o"),
        "summary": odd("s"),
        "tags": [odd("g")],
        "parameters": [
            {"name": odd("p"), "in": "query", "required": True, "schema": choices, "description": odd("d")},
            {"name": "q", "in": "query", "schema": {"type": "string", "pattern": odd("r")}, "example": odd("x")},
        ],
        "requestBody": {"content": content, "required": True},
        "responses": {"200": {"description": odd("d"), "content": content}},
    }
    servers = [{"url": "https://a.test", "description": odd("v")}]
    api = api_of({f"/{odd('a')}": {"post": post}}, title=odd("i"), servers=servers)
    [operation] = api.operations
    catalogue = Catalogue([api])
    texts = [api.title, api.name, areas([operation], most=500), summary_line(operation)]
    texts += [documentation(operation), response_documentation(operation), description(catalogue, [operation])]
    texts.append(interface([operation], catalogue.function_name, budget=2000))
    texts.append(Map({"a": [operation]}, summary_line).open().text(500))
    for tool in (*direct_definitions(catalogue, [operation], budget=9000), *definitions([api])):
        texts.append(tool.name + tool.description + json.dumps(tool.input_schema, ensure_ascii=False))
    with pytest.raises(ArgumentError) as refused:
        build_request(operation, {"query": {odd("p"): "?"}, "body": {odd("b"): "?"}})
    texts += [str(refused.value), *map(str, refused.value.problems)]
    assert [text for text in texts if set("\u202e\u200b\x1b\U000e0041") & set(text)] == []
    # What is sent stays as the document has it, and can be written with the escapes that are shown.
    assert '"e\\u202e\\u200b\\u001b[31m\\udb40\\udc41e"' in str(refused.value)
    sent = build_request(operation, {"query": {odd("p"): odd("e")}, "body": {odd("b"): odd("e")}})
    assert json.loads(sent.body or b"") == {odd("b"): odd("e")}


def test_a_tool_takes_other_values_than_prose_lists_and_has_no_token_that_repeats_the_sign_in() -> None:
    mood = {"name": "mood", "in": "query", "schema": {"type": "string"}, "description": "One of 'calm' or 'wild'."}
    token = {"name": "token", "in": "query", "required": True, "schema": {"type": "string"}}
    token["description"] = "Authentication token."
    sail = {"get": {"operationId": "sail", "parameters": [mood, token], "responses": {}, "security": [{"s": []}]}}
    api = api_of({"/sail": sail}, schemes={"s": {"type": "http", "scheme": "bearer"}})
    [tool, *_] = direct_definitions(Catalogue([api]), list(api.operations))
    assert "calm" in str(tool)
    assert "enum" not in str(tool)
    assert "token" not in str(tool)
