"""The television operations: shows, seasons, episodes, networks, and the lists of shows."""

from restgpt.worlds.exchange import Call, Json
from restgpt.worlds.routing import Routes
from restgpt.worlds.tmdb import views, writing
from restgpt.worlds.tmdb.catalogue import Catalogue, Episode, Season, Show
from restgpt.worlds.tmdb.movies import appended
from restgpt.worlds.tmdb.seeding import STAR_VOTES

ROUTES = Routes()
SEASON = "/tv/{tv_id}/season/{season_number}"
EPISODE = f"{SEASON}/episode/{{episode_number}}"


def _show(catalogue: Catalogue, call: Call) -> Show:
    return views.found(catalogue.shows, call.path["tv_id"])


def _season(catalogue: Catalogue, call: Call) -> Season:
    return views.found(_show(catalogue, call).seasons, call.path["season_number"])


def _episode(catalogue: Catalogue, call: Call) -> Episode:
    episodes = {episode.number: episode for episode in _season(catalogue, call).episodes}
    return views.found(episodes, call.path["episode_number"])


def _listed(catalogue: Catalogue, shows: list[Show], call: Call) -> Json:
    return views.paged(shows, call, lambda show: views.show_row(catalogue, show))


@ROUTES.on("GET /tv/{tv_id}")
def details(catalogue: Catalogue, call: Call) -> Json:
    """A show in full."""
    parts = {
        "credits": credits,
        "images": images,
        "keywords": keywords,
        "reviews": reviews,
        "similar": similar,
        "recommendations": recommendations,
    }
    return appended(catalogue, call, views.show_details(catalogue, _show(catalogue, call)), parts)


@ROUTES.on("GET /tv/{tv_id}/credits")
def credits(catalogue: Catalogue, call: Call) -> Json:
    """The main cast and the crew of the whole series."""
    show = _show(catalogue, call)
    return {
        "id": show.id,
        "cast": [views.cast_row(catalogue, show, role) for role in show.cast],
        "crew": [views.crew_row(catalogue, show, job) for job in show.crew],
    }


@ROUTES.on("GET /tv/{tv_id}/images")
def images(catalogue: Catalogue, call: Call) -> Json:
    """Posters and backdrops of a show."""
    show = _show(catalogue, call)
    return {
        "id": show.id,
        "backdrops": writing.images(catalogue.seed, "backdrop", "tv", show.id),
        "posters": writing.images(catalogue.seed, "poster", "tv", show.id),
    }


@ROUTES.on("GET /tv/{tv_id}/keywords")
def keywords(catalogue: Catalogue, call: Call) -> Json:
    """What the show is about, under `results`."""
    show = _show(catalogue, call)
    return {"id": show.id, "results": views.named(catalogue.keywords, show.keywords)}


@ROUTES.on("GET /tv/{tv_id}/reviews")
def reviews(catalogue: Catalogue, call: Call) -> Json:
    """A page of reviews."""
    show = _show(catalogue, call)
    found = writing.reviews(catalogue.seed, "tv", show.id, show.reviews)
    return {"id": show.id, **views.paged(found, call, views.review_row)}


@ROUTES.on("GET /tv/{tv_id}/similar")
def similar(catalogue: Catalogue, call: Call) -> Json:
    """A page of similar shows."""
    return _listed(catalogue, [catalogue.shows[number] for number in _show(catalogue, call).similar], call)


@ROUTES.on("GET /tv/{tv_id}/recommendations")
def recommendations(catalogue: Catalogue, call: Call) -> Json:
    """A page of shows that one may like too."""
    return _listed(catalogue, [catalogue.shows[number] for number in _show(catalogue, call).recommended], call)


@ROUTES.on(f"GET {SEASON}")
def season_details(catalogue: Catalogue, call: Call) -> Json:
    """A season with its episodes."""
    return views.season_details(catalogue, _season(catalogue, call))


@ROUTES.on(f"GET {SEASON}/credits")
def season_credits(catalogue: Catalogue, call: Call) -> Json:
    """The main cast, and everybody who worked on an episode of the season."""
    show, season = _show(catalogue, call), _season(catalogue, call)
    return {
        "id": season.id,
        "cast": [views.cast_row(catalogue, show, role) for role in show.cast],
        "crew": [views.crew_row(catalogue, show, job) for job in season.crew],
    }


@ROUTES.on(f"GET {SEASON}/images")
def season_images(catalogue: Catalogue, call: Call) -> Json:
    """Posters of a season."""
    season = _season(catalogue, call)
    return {"id": season.id, "posters": writing.images(catalogue.seed, "poster", "season", season.id)}


@ROUTES.on(f"GET {EPISODE}")
def episode_details(catalogue: Catalogue, call: Call) -> Json:
    """An episode with its crew and guests."""
    return views.episode_details(catalogue, _episode(catalogue, call))


@ROUTES.on(f"GET {EPISODE}/credits")
def episode_credits(catalogue: Catalogue, call: Call) -> Json:
    """Cast, crew and guests of an episode."""
    show, episode = _show(catalogue, call), _episode(catalogue, call)
    return {
        "id": episode.id,
        "cast": [views.cast_row(catalogue, show, role) for role in show.cast],
        "crew": [views.crew_row(catalogue, show, job) for job in episode.crew],
        "guest_stars": [views.cast_row(catalogue, show, role) for role in episode.guests],
    }


@ROUTES.on(f"GET {EPISODE}/images")
def episode_images(catalogue: Catalogue, call: Call) -> Json:
    """Stills of an episode."""
    episode = _episode(catalogue, call)
    return {"id": episode.id, "stills": writing.images(catalogue.seed, "still", "episode", episode.id)}


@ROUTES.on("GET /tv/popular")
def popular(catalogue: Catalogue, call: Call) -> Json:
    """Shows, the most popular first."""
    return _listed(catalogue, sorted(catalogue.shows.values(), key=lambda show: -show.popularity), call)


def best_rated(catalogue: Catalogue) -> list[Show]:
    """Shows with enough votes, the best rated first."""
    counted = [show for show in catalogue.shows.values() if show.vote_count >= STAR_VOTES]
    return sorted(counted, key=lambda show: -show.vote_average)


@ROUTES.on("GET /tv/top_rated")
def top_rated(catalogue: Catalogue, call: Call) -> Json:
    """A page of the best rated shows."""
    return _listed(catalogue, best_rated(catalogue), call)


@ROUTES.on("GET /tv/on_the_air")
def on_the_air(catalogue: Catalogue, call: Call) -> Json:
    """A page of the shows with an episode in the next seven days, in no order."""
    return _listed(catalogue, [catalogue.shows[number] for number in catalogue.charts.on_the_air], call)


@ROUTES.on("GET /tv/airing_today")
def airing_today(catalogue: Catalogue, call: Call) -> Json:
    """A page of the shows with an episode today, in no order."""
    return _listed(catalogue, [catalogue.shows[number] for number in catalogue.charts.airing_today], call)


@ROUTES.on("GET /tv/latest")
def latest(catalogue: Catalogue, call: Call) -> Json:
    """The show that was entered last, in full."""
    return views.show_details(catalogue, catalogue.shows[max(catalogue.shows)])


@ROUTES.on("GET /genre/tv/list")
def genres(catalogue: Catalogue, call: Call) -> Json:
    """All genres of shows."""
    return {"genres": views.named(catalogue.tv_genres, catalogue.tv_genres)}


@ROUTES.on("GET /network/{network_id}")
def network_details(catalogue: Catalogue, call: Call) -> Json:
    """A network in full."""
    network = views.found(catalogue.networks, call.path["network_id"])
    row = views.network_row(catalogue, network)
    return {**row, "headquarters": network.headquarters, "homepage": network.homepage}


@ROUTES.on("GET /network/{network_id}/images")
def network_images(catalogue: Catalogue, call: Call) -> Json:
    """Logos of a network."""
    network = views.found(catalogue.networks, call.path["network_id"])
    return {"id": network.id, "logos": writing.logos(catalogue.seed, "network", network.id)}
