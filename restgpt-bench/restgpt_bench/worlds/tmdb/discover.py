"""The discover operations: films and shows by many filters at once."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from restgpt_bench.worlds.exchange import Call, Json
from restgpt_bench.worlds.routing import Routes
from restgpt_bench.worlds.tmdb import titles
from restgpt_bench.worlds.tmdb.catalogue import Catalogue, Movie, Show, Title

ROUTES = Routes()
Filter = Callable[[Any, Any], bool]
RATINGS = ("G", "PG", "PG-13", "R")
STATUSES = ("Returning Series", "Planned", "In Production", "Ended", "Canceled", "Pilot")
KINDS = ("Documentary", "News", "Miniseries", "Reality", "Scripted", "Talk Show", "Video")
PROVIDERS = (8, 9, 15, 337)
OFFERS = ("flatrate", "free", "ads", "rent", "buy")


def _holds(values: Iterable[int], wanted: Any) -> bool:
    """Whether `values` fit a list such as "1,2" (all of them) or "1|2" (any of them)."""
    text, present = str(wanted), {str(value) for value in values}
    if "|" in text:
        return any(item.strip() in present for item in text.split("|"))
    return all(item.strip() in present for item in text.split(","))


def _lacks(values: Iterable[int], unwanted: Any) -> bool:
    present = {str(value) for value in values}
    return not any(item.strip() in present for item in str(unwanted).replace("|", ",").split(","))


def _cast(title: Title) -> list[int]:
    return [role.person for role in title.cast]


def _crew(title: Title) -> list[int]:
    return [job.person for job in title.crew]


def _providers(title: Title) -> list[int]:
    return [number for number in PROVIDERS if (title.id + number) % 3 == 0]


def _offers(title: Title) -> list[str]:
    return [offer for index, offer in enumerate(OFFERS) if (title.id + index) % 2 == 0]


SHARED: Mapping[str, Filter] = {
    "vote_average.gte": lambda title, value: title.vote_average >= value,
    "vote_count.gte": lambda title, value: title.vote_count >= value,
    "with_companies": lambda title, value: _holds(title.companies, value),
    "without_companies": lambda title, value: _lacks(title.companies, value),
    "with_genres": lambda title, value: _holds(title.genres, value),
    "without_genres": lambda title, value: _lacks(title.genres, value),
    "with_keywords": lambda title, value: _holds(title.keywords, value),
    "without_keywords": lambda title, value: _lacks(title.keywords, value),
    "with_original_language": lambda title, value: title.language in str(value).split("|"),
    "with_watch_providers": lambda title, value: _holds(_providers(title), value),
    "with_watch_monetization_types": lambda title, value: _holds(_offers(title), value),  # type: ignore[arg-type]
}
# The document declares these two for films only; an undeclared argument arrives as text.
MOVIE: Mapping[str, Filter] = {
    **SHARED,
    "vote_average.lte": lambda title, value: title.vote_average <= value,
    "vote_count.lte": lambda title, value: title.vote_count <= value,
    "year": lambda movie, value: movie.released.year == value,
    "primary_release_year": lambda movie, value: movie.released.year == value,
    "primary_release_date.gte": lambda movie, value: movie.released.isoformat() >= value,
    "primary_release_date.lte": lambda movie, value: movie.released.isoformat() <= value,
    "release_date.gte": lambda movie, value: movie.released.isoformat() >= value,
    "release_date.lte": lambda movie, value: movie.released.isoformat() <= value,
    "with_cast": lambda movie, value: _holds(_cast(movie), value),
    "with_crew": lambda movie, value: _holds(_crew(movie), value),
    "with_people": lambda movie, value: _holds([*_cast(movie), *_crew(movie)], value),
    "with_runtime.gte": lambda movie, value: movie.runtime >= value,
    "with_runtime.lte": lambda movie, value: movie.runtime <= value,
    "with_release_type": lambda _, value: str(value) in "1,3",
    "certification": lambda movie, value: movie.certification == value,
    "certification.gte": lambda movie, value: value in RATINGS and _rating(movie) >= RATINGS.index(value),
    "certification.lte": lambda movie, value: value in RATINGS and _rating(movie) <= RATINGS.index(value),
}
TV: Mapping[str, Filter] = {
    **SHARED,
    "first_air_date_year": lambda show, value: show.released.year == value,
    "first_air_date.gte": lambda show, value: show.released.isoformat() >= value,
    "first_air_date.lte": lambda show, value: show.released.isoformat() <= value,
    "air_date.gte": lambda show, value: any(day >= value for day in _air_dates(show)),
    "air_date.lte": lambda show, value: any(day <= value for day in _air_dates(show)),
    "with_networks": lambda show, value: _holds(show.networks, value),
    "with_runtime.gte": lambda show, value: show.run_time >= value,
    "with_runtime.lte": lambda show, value: show.run_time <= value,
    "with_status": lambda show, value: _holds([STATUSES.index(_status(show))], value),
    "with_type": lambda show, value: _holds([KINDS.index(show.kind)], value),
    "screened_theatrically": lambda show, value: (show.id % 11 == 0) == value,
}
FIELDS: Mapping[str, Callable[[Any], Any]] = {
    "popularity": lambda title: title.popularity,
    "vote_average": lambda title: title.vote_average,
    "vote_count": lambda title: title.vote_count,
    "release_date": lambda title: title.released,
    "primary_release_date": lambda title: title.released,
    "first_air_date": lambda title: title.released,
    "revenue": lambda title: title.revenue,
    "original_title": lambda title: title.name,
}


def _rating(movie: Movie) -> int:
    return RATINGS.index(movie.certification)


def _air_dates(show: Show) -> list[str]:
    return [episode.air_date.isoformat() for season in show.seasons.values() for episode in season.episodes]


def _status(show: Show) -> str:
    return "Returning Series" if show.running else "Ended"


@ROUTES.on("GET /discover/movie")
@ROUTES.on("GET /discover/tv")
def discover(catalogue: Catalogue, call: Call) -> Json:
    """A page of the films or shows that pass all filters."""
    kind = titles.kind_in(call)
    filters = MOVIE if kind == "movie" else TV
    wanted = [(filters[name], value) for name, value in call.query.items() if name in filters and value != ""]
    kept = [title for title in catalogue.titles(kind).values() if all(test(title, value) for test, value in wanted)]
    field, _, direction = call.query.get("sort_by", "popularity.desc").partition(".")
    return titles.listed(catalogue, sorted(kept, key=FIELDS[field], reverse=direction == "desc"), call)
