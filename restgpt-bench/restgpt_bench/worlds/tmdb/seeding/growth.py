"""Builds the simulated film database from a seed: makers, dates, ratings, trends."""

from collections.abc import Mapping, Sequence
from functools import lru_cache

from restgpt_bench.worlds.tmdb.catalogue import Catalogue, Charts, CreditIndex, Person, Title, best_rated
from restgpt_bench.worlds.tmdb.seeding.entities import AGED, RANKED, SEQUELS
from restgpt_bench.worlds.tmdb.seeding.films import Studio
from restgpt_bench.worlds.tmdb.seeding.pools import Pools
from restgpt_bench.worlds.tmdb.seeding.shows import Station
from restgpt_bench.worlds.world import TODAY

SIMILAR = 24
RELATED = 37
TRENDING = 45
# Ranks, from 0, inside and outside the ten best rated, neither at an end.
PLACES = (range(3, 9), range(12, 18))


@lru_cache(maxsize=8)
def grow(seed: int) -> Catalogue:
    """The catalogue of `seed`; the same object for the same seed, since nothing changes it."""
    pools = Pools(seed)
    studio = Studio(pools)
    studio.film_everything()
    station = Station(studio)
    station.broadcast_everything()
    _relate(pools, studio.movies)
    _relate(pools, station.shows)
    _arrange(studio, station)
    return Catalogue(
        seed=seed,
        people=pools.people,
        movies=studio.movies,
        shows=station.shows,
        companies=pools.companies,
        networks=pools.networks,
        collections=studio.collections,
        movie_genres=pools.movie_genres,
        tv_genres=pools.tv_genres,
        keywords=pools.keywords,
        charts=_charts(studio, station),
        credits=CreditIndex(studio.movies.values(), station.shows.values()),
    )


def _relate(pools: Pools, titles: Mapping[int, Title]) -> None:
    """Similar and recommended titles: disjoint, in no order, more than a page of similar ones."""
    ready = [item.id for item in titles.values() if item.released <= TODAY]
    for item in titles.values():
        others = [number for number in pools.draw.sample(ready, RELATED + 1) if number != item.id][:RELATED]
        item.similar, item.recommended = tuple(others[:SIMILAR]), tuple(others[SIMILAR:])


def _arrange(studio: Studio, station: Station) -> None:
    """Arrange what tasks need and chance does not give: ranks, ratings, ages."""
    first, sequel = (studio.named(title) for title in SEQUELS)
    if first.vote_average > sequel.vote_average:
        first.vote_average, sequel.vote_average = sequel.vote_average, first.vote_average
    _rank(studio)
    _space_ages(studio, station)


def _rank(studio: Studio) -> None:
    """Give a film one of the places in the list of the best rated."""
    film = studio.named(RANKED)
    other = best_rated(studio.movies.values())[studio.draw.choice(studio.draw.choice(PLACES))]
    film.vote_average, other.vote_average = other.vote_average, film.vote_average


def _space_ages(studio: Studio, station: Station) -> None:
    """Two people whose difference in years is the same by every way of counting."""
    people = studio.pools.people
    pair = [people[studio.named(AGED[0]).directors[0]], people[station.named(AGED[1]).lead]]
    older, younger = studio.pools.shuffled(pair)
    older.birthday = older.birthday.replace(year=studio.draw.randint(1941, 1955), month=2)
    younger.birthday = younger.birthday.replace(year=studio.draw.randint(1962, 1990), month=5)


def _charts(studio: Studio, station: Station) -> Charts:
    pools = studio.pools
    released = {movie.id: movie for movie in studio.movies.values() if movie.released <= TODAY}
    return Charts(
        now_playing=tuple(pools.shuffled(studio.in_theatres)),
        on_the_air=tuple(pools.shuffled(station.on_the_air)),
        airing_today=tuple(pools.shuffled(station.airing_today)),
        trending={
            **_trends(pools, "movie", released),
            **_trends(pools, "tv", station.shows),
            **_trends(pools, "person", pools.people),
        },
    )


def _trends(
    pools: Pools, kind: str, records: Mapping[int, Title] | Mapping[int, Person]
) -> dict[tuple[str, str], tuple[int, ...]]:
    """The trends of today and of this week; neither holds one of the ten most popular."""
    famous = _most_popular(list(records.values()), 10)
    drawn = [number for number in pools.draw.sample(list(records), 100) if number not in famous]
    week = [*drawn[20:], *drawn[:20]]
    return {(kind, "day"): tuple(drawn[:TRENDING]), (kind, "week"): tuple(week[:TRENDING])}


def _most_popular(records: Sequence[Title | Person], count: int) -> set[int]:
    return {item.id for item in sorted(records, key=lambda item: -item.popularity)[:count]}
