"""Guards the check against invented ids (the failure of the paper's Table 9)."""

import pytest

from restgpt.calling.grounding import ungrounded
from restgpt.specs import load_api
from restgpt.tools.evidence import Evidence

API = load_api(
    """
openapi: 3.1.0
info: {title: Shows, version: "1"}
servers: [{url: "https://shows.example"}]
paths:
  /shows/{show_id}/seasons/{season_number}:
    get:
      operationId: season
      parameters:
        - {name: show_id, in: path, required: true, schema: {type: integer}}
        - {name: season_number, in: path, required: true, schema: {type: integer}}
        - {name: kind_id, in: query, schema: {type: string, enum: [all, new], default: all}}
        - {name: ids, in: query, schema: {type: string}}
      responses: {"200": {description: ok}}
  /queue:
    post:
      operationId: queue
      requestBody: {content: {application/json: {schema: {type: object}}}}
      responses: {"204": {description: ok}}
"""
)
SEASON, QUEUE = API.operation("season"), API.operation("queue")
SAID = Evidence("Show me season one of Orbit", "Called search: The id of Orbit is 4711. Tracks: spotify:track:Ab-9")


@pytest.mark.parametrize(
    "arguments",
    [
        {"path": {"show_id": 4711, "season_number": 1}},
        {"path": {"show_id": "4711", "season_number": 1}},
        {"path": {"show_id": 4711, "season_number": 1}, "query": {"kind_id": "new"}},
        {"path": {"show_id": 4711, "season_number": 1}, "query": {"ids": "4711,Ab-9"}},
    ],
)
def test_values_that_were_said_are_accepted(arguments: dict[str, object]) -> None:
    assert ungrounded(SEASON, arguments, SAID) == []


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ({"path": {"show_id": 63926, "season_number": 1}}, ["path.show_id = 63926"]),
        ({"path": {"show_id": 471, "season_number": 1}}, ["path.show_id = 471"]),
        ({"path": {"show_id": 4711}, "query": {"ids": "4711,99"}}, ['query.ids = "4711,99"']),
        ({"path": {"show_id": 4711}, "query": {"kind_id": "old"}}, ['query.kind_id = "old"']),
    ],
)
def test_values_that_nobody_said_are_named(arguments: dict[str, object], found: list[str]) -> None:
    assert ungrounded(SEASON, arguments, SAID) == found


def test_ids_are_found_deep_in_a_body() -> None:
    body = {"tracks": [{"uri": "spotify:track:Ab-9"}, {"uri": "spotify:track:made-up"}], "name": "anything"}
    assert ungrounded(QUEUE, {"body": body}, SAID) == ['body.uri = "spotify:track:made-up"']


def test_a_bare_id_may_be_written_as_a_uri() -> None:
    said = Evidence("the track Ab-9")
    assert ungrounded(QUEUE, {"body": {"uris": ["spotify:track:Ab-9"]}}, said) == []
