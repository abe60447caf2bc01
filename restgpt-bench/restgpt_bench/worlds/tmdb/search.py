"""The search operations: all words must be in the name; case, accents and plurals do not count, spelling does."""

from collections import Counter
from collections.abc import Callable, Iterable
from functools import lru_cache, partial
from typing import Any

from restgpt_bench.worlds.exchange import Call, Json
from restgpt_bench.worlds.routing import Routes
from restgpt_bench.worlds.text import normal
from restgpt_bench.worlds.tmdb import views
from restgpt_bench.worlds.tmdb.catalogue import Catalogue

ROUTES = Routes()


@lru_cache(maxsize=20_000)
def stems(text: str) -> frozenset[str]:
    """The words of a name, without case, accents and the plural s."""
    return frozenset(
        word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
        for word in normal(text).split()
    )


def _popularity(record: Any) -> float:
    return float(record.popularity)


def _search(
    records: Iterable[Any], call: Call, row: Callable[[Any], views.Row], *, rank: Callable[[Any], float] = _popularity
) -> Json:
    """A page of the records whose names have all the words that the call asks for, those of high rank first."""
    wanted = stems(call.query["query"])
    found = [record for record in records if wanted and wanted <= stems(record.name)]
    return views.paged(sorted(found, key=lambda record: -rank(record)), call, row)


def _of_year(records: Iterable[Any], call: Call, *names: str) -> list[Any]:
    years = [call.query[name] for name in names if name in call.query]
    return [record for record in records if all(record.released.year == year for year in years)]


@ROUTES.on("GET /search/movie")
def movies(catalogue: Catalogue, call: Call) -> Json:
    """Films by title, the most popular first."""
    pool = _of_year(catalogue.movies.values(), call, "year", "primary_release_year")
    return _search(pool, call, partial(views.movie_row, catalogue))


@ROUTES.on("GET /search/tv")
def shows(catalogue: Catalogue, call: Call) -> Json:
    """Shows by name, the most popular first."""
    pool = _of_year(catalogue.shows.values(), call, "first_air_date_year")
    return _search(pool, call, partial(views.show_row, catalogue))


@ROUTES.on("GET /search/person")
def people(catalogue: Catalogue, call: Call) -> Json:
    """People by name, the most popular first."""
    return _search(catalogue.people.values(), call, partial(views.person_row, catalogue))


@ROUTES.on("GET /search/company")
def companies(catalogue: Catalogue, call: Call) -> Json:
    """Companies by name, those with most films first."""
    films = Counter(company for movie in catalogue.movies.values() for company in movie.companies)
    rows = partial(views.maker_row, catalogue)
    return _search(catalogue.companies.values(), call, rows, rank=lambda company: films[company.id])


@ROUTES.on("GET /search/collection")
def collections(catalogue: Catalogue, call: Call) -> Json:
    """Collections by name, the best known first."""
    rows = partial(views.collection_row, catalogue)
    return _search(catalogue.collections.values(), call, rows, rank=lambda collection: collection.weight)
