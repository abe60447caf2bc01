"""Guards that lines of operations that look alike say what tells them apart, and no other lines do."""

import json

from restgpt.specs import Catalogue, load_api
from restgpt_bench.worlds import open_world


def operation(name: str, summary: str, result: object, **fields: object) -> dict[str, object]:
    content = {"application/json": {"schema": result}}
    body = {"content": {"application/json": {"schema": {"type": "object", "properties": fields}}}}
    described = {"200": {"description": "ok", "content": content}}
    return {"operationId": name, "summary": summary, "requestBody": body, "responses": described}


RUN = {"$ref": "#/components/schemas/FlowRun"}
PAGE = {"type": "object", "properties": {"count": {"type": "integer"}, "results": {"type": "array", "items": RUN}}}
DOCUMENT = {
    "openapi": "3.1.0",
    "info": {"title": "Flows", "version": "1"},
    "servers": [{"url": "http://localhost"}],
    "paths": {
        "/flow_runs/filter": {
            "post": operation("read", "Read Flow Runs", {"type": "array", "items": RUN}, sort={}, limit={}, state={})
        },
        "/flow_runs/paginate": {"post": operation("paginate", "Paginate Flow Runs", PAGE, page={}, limit={}, state={})},
        "/flow_runs/count": {"post": operation("count", "Count Flow Runs", {"type": "integer"}, state={})},
        "/flow_runs/history": {"post": operation("history", "Flow Run History", {"type": "object"})},
        "/flow_runs/{id}": {"post": operation("one", "Read Flow Run", RUN)},
    },
    "components": {"schemas": {"FlowRun": {"type": "object", "properties": {"id": {"type": "string"}}}}},
}


def test_lines_of_look_alikes_say_what_they_return_and_take() -> None:
    catalogue = Catalogue([load_api(json.dumps(DOCUMENT))])
    assert [catalogue.line(item) for item in catalogue] == [
        "read: POST /flow_runs/filter  Read Flow Runs  → list of FlowRun; takes sort, limit",
        "paginate: POST /flow_runs/paginate  Paginate Flow Runs  → page: results, count; takes page, limit",
        "count: POST /flow_runs/count  Count Flow Runs  → integer",
        "history: POST /flow_runs/history  Flow Run History",
        "one: POST /flow_runs/{id}  Read Flow Run",
    ]


def test_numbered_names_without_a_summary_are_look_alikes() -> None:
    paths = {
        "/a/x": {"get": {"operationId": "get_x", "responses": {"200": {"content": {"text/csv": {}}}}}},
        "/b/x": {"get": {"operationId": "get_x", "responses": {"204": {"description": "gone"}}}},
    }
    catalogue = Catalogue([load_api({"openapi": "3.1.0", "paths": paths})])
    assert [catalogue.line(item) for item in catalogue] == [
        "get_x: GET /a/x  → text/csv",
        "get_x_2: GET /b/x  → nothing",
    ]


def test_the_lines_of_a_plain_api_stay_as_they_are() -> None:
    catalogue = Catalogue([open_world(name).api for name in ("tmdb", "spotify")])
    assert not any("→" in catalogue.line(item) for item in catalogue)


def test_the_words_of_look_alikes_count_against_the_budget() -> None:
    catalogue = Catalogue([load_api(json.dumps(DOCUMENT))])
    whole = sum(len(catalogue.line(item)) + 1 for item in catalogue)
    assert len(catalogue.offer("flow runs", whole // 4 + 1)) == len(catalogue)
    assert len(catalogue.offer("flow runs", whole // 4 - 10)) < len(catalogue)
