"""Requests find their operation, and their arguments come decoded by the document."""

from typing import Any

import pytest

from restgpt_bench.worlds import World, open_world
from restgpt_bench.worlds.routing import Routes, parse_query


@pytest.fixture
def tmdb() -> World[Any]:
    return open_world("tmdb")


def test_a_literal_path_wins_over_a_template(tmdb: World[Any]) -> None:
    tmdb.call("GET /movie/popular")
    assert tmdb.log[0].template == "/movie/popular"


def test_the_log_names_the_template_and_decodes_its_arguments(tmdb: World[Any]) -> None:
    show = tmdb.state.show("Friends")
    tmdb.call("GET /tv/{tv_id}/season/{season_number}", path={"tv_id": show.id, "season_number": 2})
    (entry,) = tmdb.log
    assert entry.operation == "GET /tv/{tv_id}/season/{season_number}"
    assert entry.arguments == {"tv_id": show.id, "season_number": 2}
    assert entry.path == f"/tv/{show.id}/season/2"


@pytest.mark.parametrize("value", ["abc", "-", "1.5", ""])
def test_a_path_value_of_the_wrong_type_is_not_found(tmdb: World[Any], value: str) -> None:
    assert tmdb.call("GET /movie/{movie_id}", path={"movie_id": value}).status == 404


def test_a_path_value_outside_its_enumeration_is_not_found(tmdb: World[Any]) -> None:
    reply = tmdb.call("GET /trending/{media_type}/{time_window}", path={"media_type": "book", "time_window": "day"})
    assert reply.status == 404


@pytest.mark.parametrize(
    ("query", "complaint"),
    [
        ({}, "query must be provided"),
        ({"query": ""}, "query must not be empty"),
        ({"query": "x", "page": "two"}, "page must be an integer"),
        ({"query": "x", "page": 0}, "page must be at least 1"),
        ({"query": "x", "page": 501}, "page must be at most 500"),
        ({"query": "x", "include_adult": "maybe"}, "include_adult must be true or false"),
    ],
)
def test_a_bad_query_argument_is_named(tmdb: World[Any], query: dict[str, Any], complaint: str) -> None:
    reply = tmdb.call("GET /search/movie", query=query)
    assert reply.status == 422
    assert reply.body["errors"] == [complaint]


def test_a_value_outside_its_enumeration_is_named(tmdb: World[Any]) -> None:
    reply = tmdb.call("GET /discover/movie", query={"sort_by": "length.desc"})
    assert reply.status == 422
    assert reply.body["errors"][0].startswith("sort_by must be one of")


def test_an_unknown_argument_is_ignored(tmdb: World[Any]) -> None:
    assert tmdb.call("GET /movie/popular", query={"language": "en-US"}).ok


def test_a_name_given_twice_is_logged_as_a_list() -> None:
    assert parse_query("a=1&b=&a=2") == {"a": ["1", "2"], "b": ""}


def test_an_operation_has_one_handler_only() -> None:
    routes = Routes()
    routes.on("GET /a")(lambda state, call: None)
    with pytest.raises(ValueError, match="two handlers"):
        routes.on("GET /a")(lambda state, call: None)
