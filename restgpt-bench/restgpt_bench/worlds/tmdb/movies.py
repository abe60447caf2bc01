"""The operations on films that differ from those on shows: details, release dates, collections, films in theatres."""

from datetime import timedelta

from restgpt_bench.worlds.exchange import Call, Json
from restgpt_bench.worlds.routing import Handler, Routes
from restgpt_bench.worlds.tmdb import titles, views, writing
from restgpt_bench.worlds.tmdb.catalogue import Catalogue, Collection, Movie
from restgpt_bench.worlds.world import TODAY

ROUTES = Routes()


def _movie(catalogue: Catalogue, call: Call) -> Movie:
    return views.found(catalogue.movies, call.path["movie_id"])


def _collection(catalogue: Catalogue, call: Call) -> Collection:
    return views.found(catalogue.collections, call.path["collection_id"])


@ROUTES.on("GET /movie/{movie_id}")
def details(catalogue: Catalogue, call: Call) -> Json:
    """A film in full, with whatever append_to_response asks for."""
    return views.appended(catalogue, call, views.movie_details(catalogue, _movie(catalogue, call)), PARTS)


@ROUTES.on("GET /movie/{movie_id}/credits")
def credits(catalogue: Catalogue, call: Call) -> Json:
    """Cast and crew, in no order; `order` is the billing."""
    movie = _movie(catalogue, call)
    row = views.credits(catalogue, movie, movie.id, movie.crew)
    return {**row, "cast": [{**member, "cast_id": number} for number, member in enumerate(row["cast"], start=1)]}


@ROUTES.on("GET /movie/{movie_id}/images")
def images(catalogue: Catalogue, call: Call) -> Json:
    """Posters and backdrops, perhaps of some languages only."""
    found = views.images(catalogue, "movie", _movie(catalogue, call).id, "backdrop", "poster")
    wanted = call.query.get("include_image_language")
    if wanted is not None:
        languages = {None if code == "null" else code for code in wanted.split(",")}
        for name in ("backdrops", "posters"):
            found[name] = [image for image in found[name] if image["iso_639_1"] in languages]
    return found


@ROUTES.on("GET /movie/{movie_id}/release_dates")
def release_dates(catalogue: Catalogue, call: Call) -> Json:
    """Dates by country; the theatrical one (type 3) of the US is the primary date."""
    movie = _movie(catalogue, call)
    shifts = {"GB": 9, "FR": 16, "US": 0, "JP": 44}
    results = []
    for country, days in shifts.items():
        dates = [(3, movie.released + timedelta(days=days))]
        if country == "US":
            dates.insert(0, (1, movie.released - timedelta(days=5)))
        results.append(
            {
                "iso_3166_1": country,
                "release_dates": [
                    {
                        "certification": movie.certification if country == "US" else "",
                        "iso_639_1": "",
                        "note": "" if kind == 3 else "Premiere",
                        "release_date": f"{day.isoformat()}T00:00:00.000Z",
                        "type": kind,
                    }
                    for kind, day in dates
                ],
            }
        )
    return {"id": movie.id, "results": results}


PARTS: dict[str, Handler] = {**titles.PARTS, "credits": credits, "images": images, "release_dates": release_dates}


@ROUTES.on("GET /movie/now_playing")
def now_playing(catalogue: Catalogue, call: Call) -> Json:
    """A page of the films in theatres."""
    movies = [catalogue.movies[number] for number in catalogue.charts.now_playing]
    dates = {"maximum": TODAY.isoformat(), "minimum": (TODAY - timedelta(days=42)).isoformat()}
    return {"dates": dates, **titles.listed(catalogue, movies, call)}


@ROUTES.on("GET /movie/upcoming")
def upcoming(catalogue: Catalogue, call: Call) -> Json:
    """A page of the films to come."""
    movies = [movie for movie in catalogue.movies.values() if movie.released > TODAY]
    dates = {"maximum": (TODAY + timedelta(days=430)).isoformat(), "minimum": (TODAY + timedelta(days=1)).isoformat()}
    return {"dates": dates, **titles.listed(catalogue, sorted(movies, key=lambda movie: -movie.popularity), call)}


def newest(catalogue: Catalogue) -> Movie:
    """The film that was entered last."""
    return catalogue.movies[max(catalogue.movies)]


@ROUTES.on("GET /movie/latest")
def latest(catalogue: Catalogue, call: Call) -> Json:
    """The film that was entered last, in full."""
    return views.movie_details(catalogue, newest(catalogue))


@ROUTES.on("GET /collection/{collection_id}")
def collection_details(catalogue: Catalogue, call: Call) -> Json:
    """A collection with its parts, in no order."""
    collection = _collection(catalogue, call)
    return {
        **views.collection_row(catalogue, collection),
        "overview": writing.synopsis(catalogue.seed, "collection", collection.id).text,
        "parts": [views.movie_row(catalogue, catalogue.movies[number]) for number in collection.parts],
    }


@ROUTES.on("GET /collection/{collection_id}/images")
def collection_images(catalogue: Catalogue, call: Call) -> Json:
    """Posters and backdrops of a collection."""
    return views.images(catalogue, "collection", _collection(catalogue, call).id, "backdrop", "poster")
