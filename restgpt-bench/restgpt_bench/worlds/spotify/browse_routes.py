"""Handlers that only read the catalogue: albums, artists, tracks, search, suggestions."""

import random
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from restgpt_bench.worlds.exchange import Call, Json, RefusalError
from restgpt_bench.worlds.routing import Routes
from restgpt_bench.worlds.spotify import search
from restgpt_bench.worlds.spotify.account import Account
from restgpt_bench.worlds.spotify.arguments import checked_id
from restgpt_bench.worlds.spotify.catalogue import Album, Artist, Catalogue, Item
from restgpt_bench.worlds.spotify.pages import BASE_URL, page, page_at, path_of
from restgpt_bench.worlds.spotify.views import Views

ROUTES = Routes()
MOST_SEEDS = 5
Found = TypeVar("Found", bound=Item)


@ROUTES.on("GET /albums/{id}")
def get_album(account: Account, call: Call) -> Json:
    """An album in full."""
    return Views(account).album(_album(account, call))


@ROUTES.on("GET /albums/{id}/tracks")
def list_album_tracks(account: Account, call: Call) -> Json:
    """A page of an album's tracks."""
    return page(call, account.catalogue.album_tracks(_album(account, call)), Views(account).simplified_track)


@ROUTES.on("GET /artists/{id}")
def get_artist(account: Account, call: Call) -> Json:
    """An artist in full."""
    return Views(account).artist(_artist(account, call))


@ROUTES.on("GET /artists/{id}/albums")
def list_artist_albums(account: Account, call: Call) -> Json:
    """A page of an artist's releases, then of those the artist appears on; not sorted by date."""
    artist, views = _artist(account, call), Views(account)
    groups = call.query.get("include_groups") or ["album", "single", "compilation", "appears_on"]
    found = [(album, album.kind) for album in account.catalogue.releases(artist)]
    found += [(album, "appears_on") for album in _guest_albums(account.catalogue, artist)]
    wanted = [pair for pair in found if pair[1] in groups]
    return page(call, wanted, lambda pair: views.simplified_album(pair[0], group=pair[1]))


@ROUTES.on("GET /artists/{id}/related-artists")
def list_related_artists(account: Account, call: Call) -> Json:
    """Artists similar to one."""
    views = Views(account)
    return {"artists": [views.artist(account.catalogue.artists[key]) for key in _artist(account, call).related]}


@ROUTES.on("GET /artists/{id}/top-tracks")
def list_artist_top_tracks(account: Account, call: Call) -> Json:
    """The ten most popular tracks of an artist."""
    views = Views(account)
    return {"tracks": [views.track(track) for track in account.catalogue.top_tracks(_artist(account, call))]}


@ROUTES.on("GET /browse/new-releases")
def list_new_releases(account: Account, call: Call) -> Json:
    """A page of the fifty newest releases, newest first."""
    newest = sorted(account.catalogue.albums.values(), key=lambda album: (album.released, album.id), reverse=True)[:50]
    return {"albums": page(call, newest, Views(account).simplified_album)}


@ROUTES.on("GET /tracks/{id}")
def get_track(account: Account, call: Call) -> Json:
    """A track in full."""
    return Views(account).track(_found(account.catalogue.tracks, str(call.path["id"])))


@ROUTES.on("GET /search")
def search_catalogue(account: Account, call: Call) -> Json:
    """One page per type that is asked for."""
    text, views = str(call.query["q"]).strip(), Views(account)
    if not text:
        raise RefusalError(400, "No search query")
    renders: dict[str, Callable[[Any], Any]] = {
        "album": views.simplified_album,
        "artist": views.artist,
        "playlist": views.simplified_playlist,
        "track": views.track,
        "show": views.show,
        "episode": views.simplified_episode,
        "audiobook": views.audiobook,
    }
    # The addresses of a page ask for its own type only.
    return {
        f"{kind}s": page_at(
            path_of(call), {**call.query, "type": kind}, search.find(account.catalogue, kind, text), renders[kind]
        )
        for kind in dict.fromkeys(call.query["type"])
    }


@ROUTES.on("GET /recommendations")
def get_recommendations(account: Account, call: Call) -> Json:
    """Tracks by artists who share a genre with the seeds, in an order that depends on the seeds."""
    catalogue, query = account.catalogue, call.query
    artists = [_found(catalogue.artists, key) for key in _seeds(query.get("seed_artists"))]
    tracks = [_found(catalogue.tracks, key) for key in _seeds(query.get("seed_tracks"))]
    genres = _seeds(query.get("seed_genres"))
    seeds = [artist.id for artist in artists] + genres + [track.id for track in tracks]
    if not 1 <= len(seeds) <= MOST_SEEDS:
        raise RefusalError(400, f"Between 1 and {MOST_SEEDS} seeds are needed")
    wanted = _genres([*artists, *(catalogue.artists[key] for track in tracks for key in track.artists)], genres)
    pool = [
        track
        for track in catalogue.tracks.values()
        if track.id not in seeds and wanted & set(catalogue.artists[track.artists[0]].genres)
    ]
    random.Random(" ".join(seeds)).shuffle(pool)
    chosen = pool[: query.get("limit", 20)]
    kinds = ["artist"] * len(artists) + ["genre"] * len(genres) + ["track"] * len(tracks)
    return {
        "seeds": [_seed(kind, key, len(pool)) for kind, key in zip(kinds, seeds, strict=True)],
        "tracks": [Views(account).track(track) for track in chosen],
    }


def _album(account: Account, call: Call) -> Album:
    return _found(account.catalogue.albums, str(call.path["id"]))


def _artist(account: Account, call: Call) -> Artist:
    return _found(account.catalogue.artists, str(call.path["id"]))


def _found(table: Mapping[str, Found], key: str) -> Found:
    if checked_id(key) not in table:
        raise RefusalError(404, "Resource not found")
    return table[key]


def _guest_albums(catalogue: Catalogue, artist: Artist) -> list[Album]:
    found = {track.album: None for track in catalogue.tracks.values() if artist.id in track.artists[1:]}
    return [catalogue.albums[key] for key in found]


def _seeds(given: list[str] | None) -> list[str]:
    return [item.strip() for item in given or [] if item.strip()]


def _genres(artists: Iterable[Artist], named: list[str]) -> set[str]:
    return {genre for artist in artists for genre in artist.genres} | {name.casefold() for name in named}


def _seed(kind: str, key: str, pool: int) -> Json:
    folder = {"artist": "artists", "track": "tracks"}.get(kind)
    return {
        "afterFilteringSize": pool,
        "afterRelinkingSize": pool,
        "href": None if folder is None else f"{BASE_URL}/{folder}/{key}",
        "id": key,
        "initialPoolSize": pool,
        "type": kind,
    }
