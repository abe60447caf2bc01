"""What the tasks rely on in the grown data, for several seeds: unique maxima, decoys, nothing from memory."""

import json
from itertools import pairwise
from typing import Any

import pytest

from restgpt_bench.restbench.judges.tasks import open_tasks
from restgpt_bench.restbench.judges.tmdb import checks
from restgpt_bench.worlds import TODAY, open_world
from restgpt_bench.worlds.text import normal
from restgpt_bench.worlds.tmdb import views
from restgpt_bench.worlds.tmdb.catalogue import Catalogue, Job
from restgpt_bench.worlds.tmdb.search import stems
from restgpt_bench.worlds.tmdb.seeding.entities import OWN, PUBLISHED
from restgpt_bench.worlds.tmdb.seeding.growth import grow

SEEDS = (0, 1, 2, 3)
ARTISTS = (*PUBLISHED.artists, *OWN.artists)


@pytest.fixture(params=SEEDS)
def catalogue(request: pytest.FixtureRequest) -> Catalogue:
    return grow(request.param)


def test_every_name_is_borne_once(catalogue: Catalogue) -> None:
    for table in (catalogue.movies, catalogue.shows, catalogue.people, catalogue.companies, catalogue.collections):
        names = [normal(record.name) for record in table.values()]
        assert len(set(names)) == len(names)


def test_no_two_titles_tie_in_anything_that_ranks_them(catalogue: Catalogue) -> None:
    for titles in (catalogue.movies.values(), catalogue.shows.values()):
        assert len({title.popularity for title in titles}) == len(titles)
        assert len({title.released for title in titles}) >= len(titles) - 20
    counted = [movie.vote_average for movie in catalogue.movies.values() if movie.vote_count]
    assert len(set(counted)) == len(counted)


def test_the_work_of_a_named_person_has_one_newest_title(catalogue: Catalogue) -> None:
    for artist in ARTISTS:
        person = catalogue.person(artist.name).id
        index = catalogue.credits
        for work in (index.directed, index.acted, index.directed_shows, index.acted_shows):
            newest = sorted((title.released for title in work(person)), reverse=True)
            assert len(newest) < 2 or newest[0] != newest[1], artist.name


def test_every_search_for_a_named_person_has_a_less_popular_decoy(catalogue: Catalogue) -> None:
    for artist in ARTISTS:
        query = artist.name.split()[-1] if artist.decoy else artist.name
        alike = [person for person in catalogue.people.values() if stems(query) <= stems(person.name)]
        assert len(alike) > 1 or artist.decoy, artist.name
        assert max(alike, key=lambda person: person.popularity).name == artist.name


def test_a_company_that_made_nothing_ranks_below_its_namesake() -> None:
    world = open_world("tmdb")
    for query in ("Paramount Pictures", "Universal Pictures", "Studio Ghibli"):
        rows = world.call("GET /search/company", query={"query": query}).body["results"]
        assert rows[0]["name"] == query
        assert len(rows) == 2


def test_named_directors_have_other_jobs_too(catalogue: Catalogue) -> None:
    for name in ("Sofia Coppola", "Christopher Nolan", "Martin Scorsese", "Akira Kurosawa", "Steven Spielberg"):
        person = catalogue.person(name).id
        credits = [credit.part.job for credit in catalogue.credits.movies(person) if isinstance(credit.part, Job)]
        directed = len(catalogue.credits.directed(person))
        assert len({job for job in credits if job != "Director"}) >= 2, name
        assert len(credits) > directed, "counting all rows would give the same number"


def test_only_one_named_person_has_a_film_to_come(catalogue: Catalogue) -> None:
    for artist in ARTISTS:
        person = catalogue.person(artist.name).id
        coming = [credit.title for credit in catalogue.credits.movies(person) if credit.title.released > TODAY]
        assert bool(coming) == (artist.name == "Clint Eastwood")


def test_the_directors_of_real_films_are_not_the_real_ones(catalogue: Catalogue) -> None:
    for film in (*PUBLISHED.films, *OWN.films):
        names = [catalogue.people[person].name for person in catalogue.movie(film.title).directors]
        assert film.not_by not in names


def test_casts_are_not_served_in_the_order_of_billing() -> None:
    casts = [[role.order for role in movie.cast] for movie in grow(0).movies.values()]
    assert sum(orders == sorted(orders) for orders in casts) < 0.1 * len(casts)


def test_known_for_is_part_of_the_credits(catalogue: Catalogue) -> None:
    for person in catalogue.people.values():
        credits = [*catalogue.credits.movies(person.id), *catalogue.credits.shows(person.id)]
        known = {title.id for title in views.known_for(catalogue, person)}
        assert known <= {credit.title.id for credit in credits}
        assert len(known) <= 3


def test_parts_of_a_collection_are_in_no_order() -> None:
    orders = []
    for seed in SEEDS:
        catalogue = grow(seed)
        for saga in PUBLISHED.sagas:
            days = [catalogue.movies[part].released for part in catalogue.collection(f"{saga.name} Collection").parts]
            orders.append(all(first < second for first, second in pairwise(days)))
    assert not all(orders)
    assert sum(orders) < len(orders) / 2


def test_every_title_has_a_lead_a_director_and_a_review(catalogue: Catalogue) -> None:
    for movie in catalogue.movies.values():
        assert movie.directors
        assert movie.reviews
        assert [role.order for role in movie.cast].count(0) == 1
    for show in catalogue.shows.values():
        assert [role.order for role in show.cast].count(0) == 1
        assert all(episode.guests for season in show.seasons.values() for episode in season.episodes)


def test_the_shows_today_are_not_all_on_the_list_of_the_week(catalogue: Catalogue) -> None:
    week, today = set(catalogue.charts.on_the_air), set(catalogue.charts.airing_today)
    assert today - week
    assert len(week) <= views.PAGE
    first = catalogue.shows[catalogue.charts.on_the_air[0]]
    assert len(today) >= 3
    assert first.running


def test_what_tasks_compare_differs_alike_by_any_way_of_counting_and_from_the_real_world(catalogue: Catalogue) -> None:
    first = catalogue.people[catalogue.movie("Barbie").directors[0]].birthday
    second = catalogue.people[catalogue.show("Death Note").lead].birthday
    days = abs((first - second).days)
    assert abs(first.year - second.year) == int(days / 365.2425) == round(days / 365.2425)
    assert checks.directed(catalogue, "Akira Kurosawa") != checks.directed(catalogue, "Steven Spielberg")
    assert len(catalogue.show("Sword Art Online").seasons) != 4


@pytest.mark.slow
def test_the_yes_and_no_questions_have_both_answers_among_the_seeds() -> None:
    answers: dict[int, set[str]] = {89: set(), 91: set(), 96: set()}
    for seed in range(7):
        for index, found in answers.items():
            found.add(checks.PUBLISHED[index](grow(seed)).right().split(".")[0])
    assert set(map(frozenset, answers.values())) == {frozenset({"Yes", "No"})}


def test_seeds_disagree_on_most_answers() -> None:
    worlds = [open_world("tmdb", seed=seed) for seed in (0, 1)]
    same = [task.key for task in open_tasks("tmdb") if task.right(worlds[0]) == task.right(worlds[1])]
    assert len(same) < 10, same


def test_no_answer_of_the_real_world_is_true() -> None:
    remembered: dict[int, Any] = {
        29: "Leonardo DiCaprio and Kate Winslet",
        2: "Frank Darabont",
        14: "Catherine Hardwicke",
        17: "March 31, 1999",
        32: "December 19, 1997",
        52: "138",
        57: "April 1, 2012",
        71: "April 2, 1975",
        84: "October 16, 1958",
        94: "November 22, 1984",
        95: "4",
    }
    for seed in SEEDS:
        for index, answer in remembered.items():
            assert not checks.PUBLISHED[index](grow(seed)).judge(answer), (seed, index)


def test_our_own_entities_are_not_the_published_ones() -> None:
    def names(cast: Any) -> set[str]:
        records = (*cast.artists, *cast.series, *cast.sagas)
        return {record.name for record in records} | {film.title for film in cast.films} | set(cast.companies)

    assert names(PUBLISHED).isdisjoint(names(OWN))
    instructions = normal(json.dumps([task.instruction for task in open_tasks("tmdb", own=True)], ensure_ascii=False))
    assert [name for name in names(PUBLISHED) if f" {normal(name)} " in f" {instructions} "] == []
