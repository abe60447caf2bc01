"""The operations on shows that differ from those on films: details, seasons, episodes, networks, shows on the air."""

from restgpt_bench.worlds.exchange import Call, Json
from restgpt_bench.worlds.routing import Handler, Routes
from restgpt_bench.worlds.tmdb import titles, views
from restgpt_bench.worlds.tmdb.catalogue import Catalogue, Episode, Season, Show

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


@ROUTES.on("GET /tv/{tv_id}")
def details(catalogue: Catalogue, call: Call) -> Json:
    """A show in full, with whatever append_to_response asks for."""
    return views.appended(catalogue, call, views.show_details(catalogue, _show(catalogue, call)), PARTS)


@ROUTES.on("GET /tv/{tv_id}/credits")
def credits(catalogue: Catalogue, call: Call) -> Json:
    """The main cast and the crew of the whole series."""
    show = _show(catalogue, call)
    return views.credits(catalogue, show, show.id, show.crew)


@ROUTES.on("GET /tv/{tv_id}/images")
def images(catalogue: Catalogue, call: Call) -> Json:
    """Posters and backdrops of a show."""
    return views.images(catalogue, "tv", _show(catalogue, call).id, "backdrop", "poster")


PARTS: dict[str, Handler] = {**titles.PARTS, "credits": credits, "images": images}


@ROUTES.on(f"GET {SEASON}")
def season_details(catalogue: Catalogue, call: Call) -> Json:
    """A season with its episodes."""
    return views.season_details(catalogue, _season(catalogue, call))


@ROUTES.on(f"GET {SEASON}/credits")
def season_credits(catalogue: Catalogue, call: Call) -> Json:
    """The main cast, and everybody who worked on an episode of the season."""
    season = _season(catalogue, call)
    return views.credits(catalogue, _show(catalogue, call), season.id, season.crew)


@ROUTES.on(f"GET {SEASON}/images")
def season_images(catalogue: Catalogue, call: Call) -> Json:
    """Posters of a season."""
    return views.images(catalogue, "season", _season(catalogue, call).id, "poster")


@ROUTES.on(f"GET {EPISODE}")
def episode_details(catalogue: Catalogue, call: Call) -> Json:
    """An episode with its crew and guests."""
    return views.episode_details(catalogue, _episode(catalogue, call))


@ROUTES.on(f"GET {EPISODE}/credits")
def episode_credits(catalogue: Catalogue, call: Call) -> Json:
    """Cast, crew and guests of an episode."""
    show, episode = _show(catalogue, call), _episode(catalogue, call)
    guests = [views.cast_row(catalogue, show, role) for role in episode.guests]
    return {**views.credits(catalogue, show, episode.id, episode.crew), "guest_stars": guests}


@ROUTES.on(f"GET {EPISODE}/images")
def episode_images(catalogue: Catalogue, call: Call) -> Json:
    """Stills of an episode."""
    return views.images(catalogue, "episode", _episode(catalogue, call).id, "still")


@ROUTES.on("GET /tv/on_the_air")
def on_the_air(catalogue: Catalogue, call: Call) -> Json:
    """A page of the shows with an episode in the next seven days, in no order."""
    return titles.listed(catalogue, [catalogue.shows[number] for number in catalogue.charts.on_the_air], call)


@ROUTES.on("GET /tv/airing_today")
def airing_today(catalogue: Catalogue, call: Call) -> Json:
    """A page of the shows with an episode today, in no order."""
    return titles.listed(catalogue, [catalogue.shows[number] for number in catalogue.charts.airing_today], call)


@ROUTES.on("GET /tv/latest")
def latest(catalogue: Catalogue, call: Call) -> Json:
    """The show that was entered last, in full."""
    return views.show_details(catalogue, catalogue.shows[max(catalogue.shows)])


@ROUTES.on("GET /network/{network_id}")
def network_details(catalogue: Catalogue, call: Call) -> Json:
    """A network in full."""
    network = views.found(catalogue.networks, call.path["network_id"])
    row = views.maker_row(catalogue, network)
    return {**row, "headquarters": network.headquarters, "homepage": network.homepage}


@ROUTES.on("GET /network/{network_id}/images")
def network_images(catalogue: Catalogue, call: Call) -> Json:
    """Logos of a network."""
    network = views.found(catalogue.networks, call.path["network_id"])
    return views.images(catalogue, "network", network.id, "logo")
