"""Guards jobs: an answer names the operation that tells what becomes of a request, and that says when it is over."""

from collections.abc import Iterator
from typing import Any

import pytest
from loopback import Handler, served
from paths import api_of

from restgpt import Client
from restgpt.calling.job import goes_on
from restgpt.nodes.run.services import Context
from restgpt.outcome import Called
from restgpt.specs import Api

READER: dict[str, Any] = {"responses": {"200": {"description": "ok"}, "202": {"description": "later"}}}


def reader(name: str, *variables: str, query: str = "") -> dict[str, Any]:
    parameters = [{"name": item, "in": "path", "required": True, "schema": {"type": "string"}} for item in variables]
    parameters += [{"name": query, "in": "query", "schema": {"type": "string"}}] if query else []
    return {"get": {"operationId": name, "parameters": parameters, **READER}}


PATHS = {
    "/exports": {"post": {"operationId": "export", **READER}},
    "/exports/{export_id}": reader("get_export", "export_id"),
    "/exports/{export_id}/file": reader("get_file", "export_id"),
    "/jobs/{jobId}": reader("get_job", "jobId"),
    "/providers/{provider}/operations/{number}": reader("get_status", "provider", "number", query="api-version"),
    "/operations/{operation}": reader("get_operation", "operation"),
}


class Works:
    """A server that answers the POST as it is told, and each GET by the next of its answers."""

    def __init__(self) -> None:
        self.first: tuple[Any, int, dict[str, str]] = ({}, 202, {})
        self.then: list[tuple[Any, int]] = []
        self.asked: list[str] = []
        works = self

        class Answers(Handler):
            def do_POST(self) -> None:
                value, status, headers = works.first
                self.answer(value, status, **headers)

            def do_GET(self) -> None:
                works.asked.append(self.path)
                value, status = works.then.pop(0) if len(works.then) > 1 else works.then[0]
                self.answer(value, status, Retry_After="0.01")

        self.handler = Answers


@pytest.fixture
def works() -> Works:
    return Works()


@pytest.fixture
def api(works: Works) -> Iterator[Api]:
    with served(works.handler) as url:
        yield api_of(PATHS, title="Works", base_url=f"{url}/v1")


def begun(api: Api) -> tuple[Client, Called]:
    client = Client([api], context=Context(writes="allow"))
    called = client.call("export")
    assert isinstance(called, Called)
    return client, called


AZURE = {"Azure-AsyncOperation": "/v1/providers/p/operations/9?api-version=2&t=1"}


@pytest.mark.parametrize(
    ("value", "status", "headers", "operation", "path"),
    [
        ({}, 202, {"Location": "/v1/jobs/7"}, "get_job", {"jobId": "7"}),
        ({}, 202, {"Location": "/v1/exports/7/file"}, "get_file", {"export_id": "7"}),
        ({}, 303, {"Location": "/v1/exports/a%20b"}, "get_export", {"export_id": "a b"}),
        ({}, 201, {"Operation-Location": "http://far.example/v1/jobs/8"}, "get_job", {"jobId": "8"}),
        ({}, 200, AZURE, "get_status", {"provider": "p", "number": "9"}),
        ({"name": "operations/10", "metadata": {}}, 200, {}, "get_operation", {"operation": "10"}),
        ({"links": {"self": "/v1/jobs/11"}, "id": 5}, 202, {}, "get_job", {"jobId": "11"}),
        ({"id": 12, "state": "queued"}, 202, {}, "get_export", {"export_id": "12"}),
        ({"jobId": "13"}, 202, {}, "get_job", {"jobId": "13"}),
    ],
)
def test_the_answer_names_the_operation_that_tells_the_state(
    api: Api, works: Works, value: Any, status: int, headers: dict[str, str], operation: str, path: dict[str, str]
) -> None:
    works.first = (value, status, {name.replace("-", "_"): text for name, text in headers.items()})
    _, called = begun(api)
    job = called.record["response"]["job"]
    assert job["operation"] == operation
    assert {name: str(text) for name, text in job["arguments"]["path"].items()} == path
    assert job["arguments"].get("query", {}) == ({"api-version": "2"} if operation == "get_status" else {})
    assert f"It is not done yet: {operation} with " in called.notices[-1]


@pytest.mark.parametrize(
    ("value", "status", "headers"),
    [
        ({"id": 12, "state": "queued"}, 201, {}),
        ({"name": "operations/10", "done": True}, 200, {}),
        ({"name": "Poster"}, 200, {}),
        ({}, 201, {"Location": "/v1/jobs/7"}),
        ({"path": "/elsewhere/7"}, 202, {"Location": "//["}),
        ({"id": True}, 202, {}),
    ],
)
def test_nothing_is_named_where_an_answer_does_not_say_so(
    api: Api, works: Works, value: Any, status: int, headers: dict[str, str]
) -> None:
    works.first = (value, status, headers)
    _, called = begun(api)
    assert "job" not in called.record["response"]


def test_a_client_waits_for_a_job_until_it_is_over_or_as_long_as_it_is_told(api: Api, works: Works) -> None:
    works.first = ({"id": 3}, 202, {})
    works.then = [
        ({"state": "in_progress"}, 200),
        ({}, 202),
        ({"done": False}, 200),
        ({"state": "ok", "url": "u"}, 200),
    ]
    client, called = begun(api)
    found = client.wait(called)
    assert found.json == {"state": "ok", "url": "u"}
    assert set(works.asked) == {"/v1/exports/3"}
    assert client.wait(found) is found
    works.then = [({"state": "running"}, 200)]
    client, called = begun(api)
    assert client.wait(called, most=0.02).json == {"state": "running"}


def test_a_read_whose_result_is_not_made_yet_is_a_job_of_its_own(api: Api, works: Works) -> None:
    works.then = [({}, 202)] * 9 + [({"rows": 3}, 200)]
    client = Client([api])
    called = client.call("get_export", {"path": {"export_id": "5"}})
    assert isinstance(called, Called)
    assert (called.status_code, client.wait(called).json) == (202, {"rows": 3})
    assert set(works.asked) == {"/v1/exports/5"}


@pytest.mark.parametrize("body", [{"state": "Succeeded"}, {"status": 4}, {"done": True, "state": "running"}, [], None])
def test_a_job_is_over_unless_its_answer_says_that_it_goes_on(body: Any) -> None:
    assert not goes_on(200, body)
