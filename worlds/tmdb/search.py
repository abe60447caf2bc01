"""The search operations: all words must be in the name; case, accents and plurals do not count, spelling does."""

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any

from restgpt.worlds.answer import normal
from restgpt.worlds.exchange import Call, Json
from restgpt.worlds.routing import Routes
from restgpt.worlds.tmdb import views
from restgpt.worlds.tmdb.catalogue import Catalogue

ROUTES = Routes()


@lru_cache(maxsize=20_000)
def stems(text: str) -> frozenset[str]:
    """The words of a name, without case, accents and the plural s."""
    return frozenset(
        word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
        for word in normal(text).split()
    )


def _matches(records: Iterable[Any], query: str, rank: Callable[[Any], float]) -> list[Any]:
    wanted = stems(query)
    found = [record for record in records if wanted and wanted <= stems(record.name)]
    return sorted(found, key=lambda record: -rank(record))


def _of_year(records: Iterable[Any], call: Call, names: tuple[str, ...]) -> list[Any]:
    years = [call.query[name] for name in names if name in call.query]
    return [record for record in records if all(record.released.year == year for year in years)]


@ROUTES.on("GET /search/movie")
def movies(catalogue: Catalogue, call: Call) -> Json:
    """Films by title, the most popular first."""
    pool = _of_year(catalogue.movies.values(), call, ("year", "primary_release_year"))
    found = _matches(pool, call.query["query"], lambda movie: movie.popularity)
    return views.paged(found, call, lambda movie: views.movie_row(catalogue, movie))


@ROUTES.on("GET /search/tv")
def shows(catalogue: Catalogue, call: Call) -> Json:
    """Shows by name, the most popular first."""
    pool = _of_year(catalogue.shows.values(), call, ("first_air_date_year",))
    found = _matches(pool, call.query["query"], lambda show: show.popularity)
    return views.paged(found, call, lambda show: views.show_row(catalogue, show))


@ROUTES.on("GET /search/person")
def people(catalogue: Catalogue, call: Call) -> Json:
    """People by name, the most popular first."""
    found = _matches(catalogue.people.values(), call.query["query"], lambda person: person.popularity)
    return views.paged(found, call, lambda person: views.person_row(catalogue, person))


@ROUTES.on("GET /search/company")
def companies(catalogue: Catalogue, call: Call) -> Json:
    """Companies by name, those with most films first."""
    counts = _productions(catalogue.movies)
    found = _matches(catalogue.companies.values(), call.query["query"], lambda company: counts.get(company.id, 0))
    return views.paged(found, call, lambda company: views.company_row(catalogue, company))


@ROUTES.on("GET /search/collection")
def collections(catalogue: Catalogue, call: Call) -> Json:
    """Collections by name, the best known first."""
    found = _matches(catalogue.collections.values(), call.query["query"], lambda collection: collection.weight)
    return views.paged(found, call, lambda collection: views.collection_row(catalogue, collection))


def _productions(movies: Mapping[int, Any]) -> dict[int, int]:
    counts: dict[int, int] = {}
    for movie in movies.values():
        for company in movie.companies:
            counts[company] = counts.get(company, 0) + 1
    return counts
