"""The film database answers as its document says: search, lists, pages, filters, parts, seasons, errors."""

from itertools import pairwise
from typing import Any

import pytest

from restgpt_bench.worlds import TODAY, World, open_world
from restgpt_bench.worlds.tmdb.catalogue import Catalogue
from restgpt_bench.worlds.tmdb.discover import MOVIE, TV

PATHS = ("credits", "images", "keywords", "release_dates", "reviews", "similar", "recommendations")


@pytest.fixture
def tmdb() -> World[Any]:
    return open_world("tmdb")


@pytest.fixture
def catalogue(tmdb: World[Any]) -> Catalogue:
    state: Catalogue = tmdb.state
    return state


def get(world: World[Any], operation: str, path: dict[str, Any] | None = None, **query: Any) -> Any:
    reply = world.call(f"GET {operation}", path=path, query=query)
    assert reply.status == 200, reply.body
    return reply.body


def all_pages(world: World[Any], operation: str, path: dict[str, Any] | None = None, **query: Any) -> list[Any]:
    first = get(world, operation, path, **query)
    rows = list(first["results"])
    for page in range(2, first["total_pages"] + 1):
        rows += get(world, operation, path, page=page, **query)["results"]
    assert len(rows) == first["total_results"]
    return rows


def ranked(rows: list[Any], name: str) -> bool:
    return all(first[name] >= second[name] for first, second in pairwise(rows))


@pytest.mark.parametrize(
    ("kind", "query", "first"),
    [
        ("movie", "the dark KNIGHT", "The Dark Knight"),
        ("movie", "Amelie", "Amélie"),
        ("movie", "avatar", "Avatar"),
        ("tv", "friend", "Friends"),
        ("tv", "mandalorian", "The Mandalorian"),
        ("person", "spielberg", "Steven Spielberg"),
        ("company", "universal pictures", "Universal Pictures"),
        ("collection", "star wars", "Star Wars Collection"),
        ("collection", "Lord of the Ring", "The Lord of the Rings Collection"),
    ],
)
def test_search_finds_the_best_known_first(tmdb: World[Any], kind: str, query: str, first: str) -> None:
    row = get(tmdb, f"/search/{kind}", query=query)["results"][0]
    assert row.get("title", row.get("name")) == first


@pytest.mark.parametrize("query", ["The Shawshank Redemptionn", "Titanik", "Titanic movie"])
def test_search_forgives_no_misspelling_and_no_other_word(tmdb: World[Any], query: str) -> None:
    assert get(tmdb, "/search/movie", query=query)["results"] == []


@pytest.mark.parametrize("name", ["The Dark Knight", "Titanic", "Twilight", "The Matrix", "Avatar", "Barbie"])
def test_search_has_a_less_popular_decoy(tmdb: World[Any], name: str) -> None:
    rows = get(tmdb, "/search/movie", query=name)["results"]
    assert rows[0]["title"] == name
    assert len(rows) > 1
    assert ranked(rows, "popularity")


def test_search_by_year_keeps_only_that_year(tmdb: World[Any], catalogue: Catalogue) -> None:
    year = catalogue.movie("Titanic").released.year
    rows = get(tmdb, "/search/movie", query="Titanic", year=year)["results"]
    assert [row["release_date"][:4] for row in rows] == [str(year)] * len(rows)
    assert "Titanic" in [row["title"] for row in rows]
    assert get(tmdb, "/search/movie", query="Titanic", primary_release_year=1901)["results"] == []
    assert get(tmdb, "/search/tv", query="Friends", first_air_date_year=1901)["results"] == []


def test_pages_are_of_twenty_and_do_not_overlap(tmdb: World[Any]) -> None:
    rows = all_pages(tmdb, "/movie/popular")
    assert len({row["id"] for row in rows}) == len(rows) > 100
    assert len(get(tmdb, "/movie/popular")["results"]) == 20
    assert get(tmdb, "/movie/popular", page=500)["results"] == []


@pytest.mark.parametrize(
    ("operation", "name"),
    [
        ("/movie/popular", "popularity"),
        ("/movie/top_rated", "vote_average"),
        ("/tv/popular", "popularity"),
        ("/tv/top_rated", "vote_average"),
        ("/person/popular", "popularity"),
    ],
)
def test_charts_are_in_the_order_of_their_name(tmdb: World[Any], operation: str, name: str) -> None:
    rows = all_pages(tmdb, operation)
    assert ranked(rows, name)
    assert len({row[name] for row in rows}) == len(rows), "a tie would leave two right answers"


def test_dated_lists_keep_to_their_dates(tmdb: World[Any]) -> None:
    today = TODAY.isoformat()
    for operation in ("/movie/now_playing", "/movie/upcoming"):
        dates = get(tmdb, operation)["dates"]
        for row in all_pages(tmdb, operation):
            assert dates["minimum"] <= row["release_date"] <= dates["maximum"]
            assert (row["release_date"] > today) == (operation == "/movie/upcoming")
    assert len(all_pages(tmdb, "/movie/now_playing")) > 20


def test_the_latest_film_is_the_newest_released_and_has_a_cast(tmdb: World[Any], catalogue: Catalogue) -> None:
    film = get(tmdb, "/movie/latest")
    assert film["release_date"] == TODAY.isoformat()
    assert film["id"] == max(catalogue.movies)
    assert get(tmdb, "/movie/{movie_id}/credits", {"movie_id": film["id"]})["cast"]


def test_trends_differ_by_window_and_from_the_popular_and_all_trends_mix_the_kinds(tmdb: World[Any]) -> None:
    for kind in ("movie", "tv", "person"):
        day, week = (
            get(tmdb, "/trending/{media_type}/{time_window}", {"media_type": kind, "time_window": window})["results"]
            for window in ("day", "week")
        )
        popular = get(tmdb, f"/{kind}/popular")["results"]
        assert len({rows[0]["id"] for rows in (day, week, popular)}) == 3
        assert {row["media_type"] for row in day} == {kind}
    rows = all_pages(tmdb, "/trending/{media_type}/{time_window}", {"media_type": "all", "time_window": "day"})
    assert {row["media_type"] for row in rows} == {"movie", "tv", "person"}


def test_details_take_parts_along(tmdb: World[Any], catalogue: Catalogue) -> None:
    path = {"movie_id": catalogue.movie("Titanic").id}
    whole = get(tmdb, "/movie/{movie_id}", path, append_to_response=f"{','.join(PATHS)},nonsense")
    for part in PATHS:
        assert whole[part] == get(tmdb, f"/movie/{{movie_id}}/{part}", path)
    assert "nonsense" not in whole
    assert set(PATHS).isdisjoint(get(tmdb, "/movie/{movie_id}", path))


def test_the_theatrical_date_of_the_us_is_the_primary_one(tmdb: World[Any], catalogue: Catalogue) -> None:
    film = catalogue.movie("The Matrix")
    countries = get(tmdb, "/movie/{movie_id}/release_dates", {"movie_id": film.id})["results"]
    us = next(country for country in countries if country["iso_3166_1"] == "US")
    dates = {row["type"]: row["release_date"][:10] for row in us["release_dates"]}
    assert dates[3] == film.released.isoformat()
    assert dates[1] < dates[3]


def test_similar_and_recommended_titles_are_disjoint_and_fill_pages(tmdb: World[Any], catalogue: Catalogue) -> None:
    for kind, number in (("movie", catalogue.movie("Titanic").id), ("tv", catalogue.show("Breaking Bad").id)):
        path = {f"{kind}_id": number}
        template = f"/{kind}/{{{kind}_id}}"
        near = {row["id"] for row in all_pages(tmdb, f"{template}/similar", path)}
        like = {row["id"] for row in all_pages(tmdb, f"{template}/recommendations", path)}
        assert len(near) > 20
        assert near.isdisjoint(like)
        assert number not in near | like


def test_a_review_and_a_credit_can_be_read_by_id(tmdb: World[Any], catalogue: Catalogue) -> None:
    film = catalogue.movie("Titanic")
    path = {"movie_id": film.id}
    row = get(tmdb, "/movie/{movie_id}/reviews", path)["results"][0]
    review = get(tmdb, "/review/{review_id}", {"review_id": row["id"]})
    assert (review["media_id"], review["content"]) == (film.id, row["content"])
    member = get(tmdb, "/movie/{movie_id}/credits", path)["crew"][0]
    credit = get(tmdb, "/credit/{credit_id}", {"credit_id": member["credit_id"]})
    assert (credit["person"]["id"], credit["job"], credit["media"]["id"]) == (member["id"], member["job"], film.id)


def test_images_can_be_chosen_by_language(tmdb: World[Any], catalogue: Catalogue) -> None:
    path = {"movie_id": catalogue.movie("Titanic").id}
    every = get(tmdb, "/movie/{movie_id}/images", path)["posters"]
    some = get(tmdb, "/movie/{movie_id}/images", path, include_image_language="null")["posters"]
    assert some == [image for image in every if image["iso_639_1"] is None]


def test_season_and_show_agree(tmdb: World[Any], catalogue: Catalogue) -> None:
    for name in ("Friends", "2 Broke Girls", "The Wire"):
        path = {"tv_id": catalogue.show(name).id}
        show = get(tmdb, "/tv/{tv_id}", path)
        total = 0
        for summary in show["seasons"]:
            season_path = {**path, "season_number": summary["season_number"]}
            season = get(tmdb, "/tv/{tv_id}/season/{season_number}", season_path)
            crew = get(tmdb, "/tv/{tv_id}/season/{season_number}/credits", season_path)["crew"]
            workers = {(row["id"], row["job"]) for episode in season["episodes"] for row in episode["crew"]}
            assert workers == {(row["id"], row["job"]) for row in crew}
            assert len(season["episodes"]) == summary["episode_count"]
            assert season["air_date"] == summary["air_date"] == season["episodes"][0]["air_date"]
            total += len(season["episodes"])
        assert total == show["number_of_episodes"]
        assert len(show["seasons"]) == show["number_of_seasons"]


def test_an_episode_says_the_same_by_every_way(tmdb: World[Any], catalogue: Catalogue) -> None:
    path = {"tv_id": catalogue.show("Black Mirror").id, "season_number": 2, "episode_number": 3}
    template = "/tv/{tv_id}/season/{season_number}/episode/{episode_number}"
    details, credits = get(tmdb, template, path), get(tmdb, f"{template}/credits", path)
    season = get(tmdb, "/tv/{tv_id}/season/{season_number}", path)
    assert season["episodes"][2] == details
    assert credits["crew"] == details["crew"]
    assert credits["guest_stars"] == details["guest_stars"]
    assert get(tmdb, f"{template}/images", path)["stills"][0]["file_path"] == details["still_path"]


@pytest.mark.parametrize(
    ("operation", "path"),
    [
        ("/movie/{movie_id}", {"movie_id": 1}),
        ("/tv/{tv_id}/season/{season_number}", {"tv_id": None, "season_number": 99}),
        ("/person/{person_id}", {"person_id": 1}),
        ("/credit/{credit_id}", {"credit_id": "nope"}),
        ("/review/{review_id}", {"review_id": "nope"}),
        ("/company/{company_id}/images", {"company_id": 1}),
    ],
)
def test_what_is_missing_is_a_404(tmdb: World[Any], catalogue: Catalogue, operation: str, path: dict[str, Any]) -> None:
    arguments = {name: catalogue.show("Friends").id if value is None else value for name, value in path.items()}
    reply = tmdb.call(f"GET {operation}", path=arguments)
    assert reply.status == 404
    told = "The resource you requested could not be found."
    assert reply.body == {"success": False, "status_code": 34, "status_message": told}


def discover(world: World[Any], **filters: Any) -> list[Any]:
    return discovered(world, "movie", filters)


def discovered(world: World[Any], kind: str, filters: dict[str, Any]) -> list[Any]:
    named = {name.replace("__", "."): value for name, value in filters.items()}
    return all_pages(world, f"/discover/{kind}", **named)


def test_discover_filters_narrow_and_combine(tmdb: World[Any]) -> None:
    every = discover(tmdb)
    good = discover(tmdb, with_original_language="en", vote_average__gte=7, primary_release_date__gte="2021-01-01")
    wanted = [
        row["id"]
        for row in every
        if row["original_language"] == "en" and row["vote_average"] >= 7 and row["release_date"] >= "2021-01-01"
    ]
    assert [row["id"] for row in good] == wanted
    assert 2 < len(wanted) < len(every)
    assert wanted[0] != every[0]["id"], "without its filters the list begins with a near miss"


def test_discover_joins_ids_by_comma_and_bar(tmdb: World[Any], catalogue: Catalogue) -> None:
    film = catalogue.movie("Titanic")
    first, second = film.cast[0].person, film.cast[1].person
    both = {row["id"] for row in discover(tmdb, with_cast=f"{first},{second}")}
    one, two = ({row["id"] for row in discover(tmdb, with_cast=person)} for person in (first, second))
    assert film.id in both
    assert both == one & two
    assert {row["id"] for row in discover(tmdb, with_cast=f"{first}|{second}")} == one | two


def test_discover_knows_crew_companies_genres_and_keywords(tmdb: World[Any], catalogue: Catalogue) -> None:
    film = catalogue.movie("Titanic")
    fit: tuple[tuple[str, Any], ...] = (
        ("with_crew", film.directors[0]),
        ("with_people", film.lead),
        ("with_companies", film.companies[0]),
        ("with_genres", film.genres[0]),
        ("with_keywords", film.keywords[0]),
        ("primary_release_year", film.released.year),
        ("certification", film.certification),
        ("with_runtime__gte", film.runtime),
        ("with_runtime__lte", film.runtime),
    )
    for name, value in fit:
        assert film.id in {row["id"] for row in discovered(tmdb, "movie", {name: value})}, name
    unfit: tuple[tuple[str, Any], ...] = (
        ("without_companies", film.companies[0]),
        ("without_genres", film.genres[0]),
        ("without_keywords", film.keywords[0]),
        ("vote_count__gte", film.vote_count + 1),
        ("vote_average__lte", film.vote_average - 0.001),
        ("release_date__lte", "1901-01-01"),
    )
    for name, value in unfit:
        assert film.id not in {row["id"] for row in discovered(tmdb, "movie", {name: value})}, name


@pytest.mark.parametrize("field", ["popularity", "vote_average", "vote_count", "release_date"])
def test_discover_sorts_both_ways(tmdb: World[Any], field: str) -> None:
    down = discover(tmdb, sort_by=f"{field}.desc")
    assert ranked(down, field)
    assert ranked(discover(tmdb, sort_by=f"{field}.asc")[::-1], field)


def test_discover_knows_shows_by_network_status_type_and_dates(tmdb: World[Any], catalogue: Catalogue) -> None:
    show = catalogue.show("The Wire")
    kinds = ["Documentary", "News", "Miniseries", "Reality", "Scripted", "Talk Show", "Video"]
    for name, value in (
        ("with_networks", show.networks[0]),
        ("with_status", "0" if show.running else "3"),
        ("with_type", str(kinds.index(show.kind))),
        ("first_air_date_year", show.released.year),
        ("first_air_date__lte", show.released.isoformat()),
        ("air_date__gte", show.seasons[1].episodes[-1].air_date.isoformat()),
        ("with_genres", show.genres[0]),
    ):
        found = {row["id"] for row in discovered(tmdb, "tv", {name: value})}
        assert show.id in found, name
        assert len(found) < len(catalogue.shows), name


@pytest.mark.parametrize("kind", ["movie", "tv"])
def test_discover_ignores_a_filter_that_only_the_other_kind_has(tmdb: World[Any], kind: str) -> None:
    operation = next(item for item in tmdb.api.operations if item.path == f"/discover/{kind}")
    declared = {parameter.name for parameter in operation.parameters}
    filters = {name: "5" for name in {**MOVIE, **TV} if name not in declared}
    assert filters
    assert discovered(tmdb, kind, filters) == discovered(tmdb, kind, {})


def test_genres_are_those_of_the_titles(tmdb: World[Any], catalogue: Catalogue) -> None:
    table = {row["id"]: row["name"] for row in get(tmdb, "/genre/tv/list")["genres"]}
    show = get(tmdb, "/tv/{tv_id}", {"tv_id": catalogue.show("The Mandalorian").id})
    assert all(table[row["id"]] == row["name"] for row in show["genres"])
    assert len(get(tmdb, "/genre/movie/list")["genres"]) == 18
