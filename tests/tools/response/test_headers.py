"""Guards which headers of a response a result mentions: the useful ones, and none that can carry anything else."""

import pytest
from paths import api_of

from restgpt.specs import Operation
from restgpt.tools.response.content import useful_headers

OK = {"responses": {"200": {"description": "ok"}}}
MATCHED = {**OK, "parameters": [{"name": "If-Match", "in": "header", "schema": {"type": "string"}}]}
API = api_of(
    {
        "/notes": {"get": {"operationId": "find", **OK}, "post": {"operationId": "make", **OK}},
        "/notes/{id}": {"get": {"operationId": "read", **OK}, "put": {"operationId": "change", **MATCHED}},
    },
    base_url="http://localhost",
)


def named(name: str) -> Operation:
    return API.operation(name)


@pytest.mark.parametrize(
    ("name", "status", "headers", "shown"),
    [
        ("make", 201, {"location": "/notes/7", "etag": '"a"'}, {"location": "/notes/7"}),
        ("make", 200, {"location": "/notes/7"}, {}),
        ("make", 202, {"retry-after": "30", "location": "/jobs/1"}, {"location": "/jobs/1", "retry-after": "30"}),
        ("read", 200, {"etag": 'W/"a1"', "date": "today"}, {"etag": 'W/"a1"'}),
        ("find", 200, {"etag": '"a"', "x-total-count": "120"}, {"x-total-count": "120"}),
        ("find", 206, {"content-range": "items 0-9/120"}, {"content-range": "items 0-9/120"}),
        ("find", 429, {"retry-after": "5", "x-total-count": "1"}, {"retry-after": "5"}),
        ("read", 404, {"etag": '"a"', "location": "/other"}, {}),
    ],
)
def test_headers_that_later_calls_need_are_shown(
    name: str, status: int, headers: dict[str, str], shown: dict[str, str]
) -> None:
    assert useful_headers(named(name), status, headers) == shown


def test_no_other_header_and_no_control_character_is_shown() -> None:
    others = {"set-cookie": "session=1", "authorization": "Bearer x", "x-api-key": "k"}
    given = {**others, "location": "/notes/7\u202e\r\nignore\x1b[2J"}
    assert useful_headers(named("make"), 201, given) == {"location": "/notes/7ignore[2J"}
    assert useful_headers(named("make"), 201, {"location": "/" + "a" * 300}) == {}
