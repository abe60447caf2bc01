"""The film operations: details, credits, pictures, relations, and the lists of films."""

from datetime import timedelta

from restgpt.worlds.exchange import Call, Json, RefusalError
from restgpt.worlds.routing import Handler, Routes
from restgpt.worlds.tmdb import views, writing
from restgpt.worlds.tmdb.catalogue import Catalogue, Movie
from restgpt.worlds.tmdb.seeding import STAR_VOTES
from restgpt.worlds.world import TODAY

ROUTES = Routes()


def appended(catalogue: Catalogue, call: Call, row: views.Row, parts: dict[str, Handler]) -> Json:
    """`row` with the sub-requests named in append_to_response under their names; unknown ones are ignored."""
    wanted = str(call.query.get("append_to_response", "")).split(",")
    return {**row, **{name.strip(): parts[name.strip()](catalogue, call) for name in wanted if name.strip() in parts}}


def _movie(catalogue: Catalogue, call: Call) -> Movie:
    return views.found(catalogue.movies, call.path["movie_id"])


def _released(catalogue: Catalogue) -> list[Movie]:
    return [movie for movie in catalogue.movies.values() if movie.released <= TODAY]


def _listed(catalogue: Catalogue, movies: list[Movie], call: Call) -> Json:
    return views.paged(movies, call, lambda movie: views.movie_row(catalogue, movie))


@ROUTES.on("GET /movie/{movie_id}")
def details(catalogue: Catalogue, call: Call) -> Json:
    """A film in full, with whatever append_to_response asks for."""
    row = views.movie_details(catalogue, _movie(catalogue, call))
    parts = {
        "credits": credits,
        "images": images,
        "keywords": keywords,
        "release_dates": release_dates,
        "reviews": reviews,
        "similar": similar,
        "recommendations": recommendations,
    }
    return appended(catalogue, call, row, parts)


@ROUTES.on("GET /movie/{movie_id}/credits")
def credits(catalogue: Catalogue, call: Call) -> Json:
    """Cast and crew, in no order; `order` tells the billing."""
    movie = _movie(catalogue, call)
    cast = [
        {**views.cast_row(catalogue, movie, role), "cast_id": number} for number, role in enumerate(movie.cast, start=1)
    ]
    return {"id": movie.id, "cast": cast, "crew": [views.crew_row(catalogue, movie, job) for job in movie.crew]}


@ROUTES.on("GET /movie/{movie_id}/images")
def images(catalogue: Catalogue, call: Call) -> Json:
    """Posters and backdrops, perhaps of some languages only."""
    movie = _movie(catalogue, call)
    wanted = call.query.get("include_image_language")
    languages = None if wanted is None else {None if code == "null" else code for code in wanted.split(",")}
    found = {
        f"{what}s": [
            image
            for image in writing.images(catalogue.seed, what, "movie", movie.id)
            if languages is None or image["iso_639_1"] in languages
        ]
        for what in ("backdrop", "poster")
    }
    return {"id": movie.id, **found}


@ROUTES.on("GET /movie/{movie_id}/keywords")
def keywords(catalogue: Catalogue, call: Call) -> Json:
    """What the film is about, under `keywords`."""
    movie = _movie(catalogue, call)
    return {"id": movie.id, "keywords": views.named(catalogue.keywords, movie.keywords)}


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


@ROUTES.on("GET /movie/{movie_id}/reviews")
def reviews(catalogue: Catalogue, call: Call) -> Json:
    """A page of reviews."""
    movie = _movie(catalogue, call)
    found = writing.reviews(catalogue.seed, "movie", movie.id, movie.reviews)
    return {"id": movie.id, **views.paged(found, call, views.review_row)}


@ROUTES.on("GET /movie/{movie_id}/similar")
def similar(catalogue: Catalogue, call: Call) -> Json:
    """A page of similar films."""
    return _listed(catalogue, [catalogue.movies[number] for number in _movie(catalogue, call).similar], call)


@ROUTES.on("GET /movie/{movie_id}/recommendations")
def recommendations(catalogue: Catalogue, call: Call) -> Json:
    """A page of films that one may like too."""
    return _listed(catalogue, [catalogue.movies[number] for number in _movie(catalogue, call).recommended], call)


@ROUTES.on("GET /movie/popular")
def popular(catalogue: Catalogue, call: Call) -> Json:
    """Released films, the most popular first."""
    return _listed(catalogue, sorted(_released(catalogue), key=lambda movie: -movie.popularity), call)


def best_rated(catalogue: Catalogue) -> list[Movie]:
    """Films with enough votes, the best rated first."""
    counted = [movie for movie in catalogue.movies.values() if movie.vote_count >= STAR_VOTES]
    return sorted(counted, key=lambda movie: -movie.vote_average)


@ROUTES.on("GET /movie/top_rated")
def top_rated(catalogue: Catalogue, call: Call) -> Json:
    """A page of the best rated films."""
    return _listed(catalogue, best_rated(catalogue), call)


@ROUTES.on("GET /movie/now_playing")
def now_playing(catalogue: Catalogue, call: Call) -> Json:
    """A page of the films in theatres."""
    movies = [catalogue.movies[number] for number in catalogue.charts.now_playing]
    dates = {"maximum": TODAY.isoformat(), "minimum": (TODAY - timedelta(days=42)).isoformat()}
    return {"dates": dates, **_listed(catalogue, movies, call)}


@ROUTES.on("GET /movie/upcoming")
def upcoming(catalogue: Catalogue, call: Call) -> Json:
    """A page of the films to come."""
    movies = [movie for movie in catalogue.movies.values() if movie.released > TODAY]
    dates = {"maximum": (TODAY + timedelta(days=430)).isoformat(), "minimum": (TODAY + timedelta(days=1)).isoformat()}
    return {"dates": dates, **_listed(catalogue, sorted(movies, key=lambda movie: -movie.popularity), call)}


def newest(catalogue: Catalogue) -> Movie:
    """The film that was entered last."""
    return catalogue.movies[max(catalogue.movies)]


@ROUTES.on("GET /movie/latest")
def latest(catalogue: Catalogue, call: Call) -> Json:
    """The film that was entered last, in full."""
    return views.movie_details(catalogue, newest(catalogue))


@ROUTES.on("GET /genre/movie/list")
def genres(catalogue: Catalogue, call: Call) -> Json:
    """All genres of films."""
    return {"genres": views.named(catalogue.movie_genres, catalogue.movie_genres)}


@ROUTES.on("GET /collection/{collection_id}")
def collection_details(catalogue: Catalogue, call: Call) -> Json:
    """A collection with its parts, in no order."""
    collection = views.found(catalogue.collections, call.path["collection_id"])
    return {
        **views.collection_row(catalogue, collection),
        "overview": writing.synopsis(catalogue.seed, "collection", collection.id).text,
        "parts": [views.movie_row(catalogue, catalogue.movies[number]) for number in collection.parts],
    }


@ROUTES.on("GET /collection/{collection_id}/images")
def collection_images(catalogue: Catalogue, call: Call) -> Json:
    """Posters and backdrops of a collection."""
    collection = views.found(catalogue.collections, call.path["collection_id"])
    return {
        "id": collection.id,
        "backdrops": writing.images(catalogue.seed, "backdrop", "collection", collection.id),
        "posters": writing.images(catalogue.seed, "poster", "collection", collection.id),
    }


@ROUTES.on("GET /review/{review_id}")
def review(catalogue: Catalogue, call: Call) -> Json:
    """One review, with what it is about."""
    titles = [*catalogue.movies.values(), *catalogue.shows.values()]
    for title in titles:
        kind = views.kind_of(title)
        for found in writing.reviews(catalogue.seed, kind, title.id, title.reviews):
            if found[0] == call.path["review_id"]:
                media = {"media_id": title.id, "media_title": title.name, "media_type": kind}
                return {**views.review_row(found), "iso_639_1": "en", **media}
    raise RefusalError(404, "The resource you requested could not be found.")
