"""The operations that are the same for films and shows: keywords, reviews, relations, genres and lists of titles."""

from collections.abc import Iterable, Sequence

from restgpt_bench.worlds.exchange import Call, Json, RefusalError
from restgpt_bench.worlds.routing import Handler, Routes
from restgpt_bench.worlds.tmdb import views
from restgpt_bench.worlds.tmdb.catalogue import Catalogue, Movie, Title, best_rated, kind_of
from restgpt_bench.worlds.world import TODAY

ROUTES = Routes()


def kind_in(call: Call) -> str:
    """The media type that a request is about: movie or tv."""
    return "movie" if "/movie" in call.operation else "tv"


def listed(catalogue: Catalogue, titles: Sequence[Title], call: Call) -> Json:
    """A page of films or shows."""
    return views.paged(titles, call, lambda title: views.title_row(catalogue, title))


def _title(catalogue: Catalogue, call: Call) -> Title:
    kind = kind_in(call)
    return views.found(catalogue.titles(kind), call.path[f"{kind}_id"])


def _related(catalogue: Catalogue, title: Title, numbers: Iterable[int], call: Call) -> Json:
    titles = catalogue.titles(kind_of(title))
    return listed(catalogue, [titles[number] for number in numbers], call)


@ROUTES.on("GET /movie/{movie_id}/keywords")
@ROUTES.on("GET /tv/{tv_id}/keywords")
def keywords(catalogue: Catalogue, call: Call) -> Json:
    """The keywords of a title: under `keywords` for a film, under `results` for a show."""
    title = _title(catalogue, call)
    name = "keywords" if isinstance(title, Movie) else "results"
    return {"id": title.id, name: views.named(catalogue.keywords, title.keywords)}


@ROUTES.on("GET /movie/{movie_id}/reviews")
@ROUTES.on("GET /tv/{tv_id}/reviews")
def reviews(catalogue: Catalogue, call: Call) -> Json:
    """A page of reviews."""
    title = _title(catalogue, call)
    return {"id": title.id, **views.paged(views.reviews(catalogue, title), call, views.review_row)}


@ROUTES.on("GET /movie/{movie_id}/similar")
@ROUTES.on("GET /tv/{tv_id}/similar")
def similar(catalogue: Catalogue, call: Call) -> Json:
    """A page of similar titles."""
    title = _title(catalogue, call)
    return _related(catalogue, title, title.similar, call)


@ROUTES.on("GET /movie/{movie_id}/recommendations")
@ROUTES.on("GET /tv/{tv_id}/recommendations")
def recommendations(catalogue: Catalogue, call: Call) -> Json:
    """A page of recommended titles."""
    title = _title(catalogue, call)
    return _related(catalogue, title, title.recommended, call)


PARTS: dict[str, Handler] = {
    "keywords": keywords,
    "reviews": reviews,
    "similar": similar,
    "recommendations": recommendations,
}
"""The operations that append_to_response may name for films and for shows."""


@ROUTES.on("GET /movie/popular")
@ROUTES.on("GET /tv/popular")
def popular(catalogue: Catalogue, call: Call) -> Json:
    """A page of the released titles, the most popular first."""
    released = [title for title in catalogue.titles(kind_in(call)).values() if title.released <= TODAY]
    return listed(catalogue, sorted(released, key=lambda title: -title.popularity), call)


@ROUTES.on("GET /movie/top_rated")
@ROUTES.on("GET /tv/top_rated")
def top_rated(catalogue: Catalogue, call: Call) -> Json:
    """A page of the best rated titles."""
    return listed(catalogue, best_rated(catalogue.titles(kind_in(call)).values()), call)


@ROUTES.on("GET /genre/movie/list")
@ROUTES.on("GET /genre/tv/list")
def genres(catalogue: Catalogue, call: Call) -> Json:
    """All genres of films or of shows."""
    table = catalogue.genres(kind_in(call))
    return {"genres": views.named(table, table)}


@ROUTES.on("GET /review/{review_id}")
def review(catalogue: Catalogue, call: Call) -> Json:
    """One review, and the title that it is about."""
    for title in (*catalogue.movies.values(), *catalogue.shows.values()):
        for found in views.reviews(catalogue, title):
            if found[0] == call.path["review_id"]:
                media = {"media_id": title.id, "media_title": title.name, "media_type": kind_of(title)}
                return {**views.review_row(found), "iso_639_1": "en", **media}
    raise RefusalError(404, views.NOT_FOUND)
