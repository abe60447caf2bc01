"""Handlers of the listener's own data: profile, top items, saved albums and tracks, follows."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from restgpt_bench.worlds.exchange import Call, Json, RefusalError, Reply
from restgpt_bench.worlds.routing import Routes
from restgpt_bench.worlds.spotify.account import Account
from restgpt_bench.worlds.spotify.arguments import checked_id, some_ids
from restgpt_bench.worlds.spotify.catalogue import Item, Saved, split_uri
from restgpt_bench.worlds.spotify.pages import address, page, path_of
from restgpt_bench.worlds.spotify.views import Views

ROUTES = Routes()


@ROUTES.on("GET /me")
def get_my_profile(account: Account, call: Call) -> Json:
    """The listener's profile."""
    return Views(account).profile(account.profile)


@ROUTES.on("GET /me/top/{type}")
def list_my_top_items(account: Account, call: Call) -> Json:
    """A page of the listener's favourite artists or tracks, best first."""
    views, span, catalogue = Views(account), call.query["time_range"], account.catalogue
    if call.path["type"] == "artists":
        return page(call, [catalogue.artists[key] for key in account.top_artists[span]], views.artist)
    return page(call, [catalogue.tracks[key] for key in account.top_tracks[span]], views.track)


@ROUTES.on("GET /me/albums")
@ROUTES.on("GET /me/tracks")
def list_saved(account: Account, call: Call) -> Json:
    """A page of the saved albums or tracks, newest first."""
    return page(call, _shelf(account, call).saved, Views(account).saved)


@ROUTES.on("PUT /me/albums")
@ROUTES.on("PUT /me/tracks")
def save(account: Account, call: Call) -> Reply:
    """Albums or tracks put in front of the library, unless they are in it."""
    shelf = _shelf(account, call)
    present = {item.uri for item in shelf.saved}
    keys = [checked_id(key) for key in some_ids(call)]
    for key in keys:
        if key not in shelf.known:
            raise RefusalError(404, f"Non existing id: '{key}'")
    for key in keys:
        if shelf.known[key].uri not in present:
            shelf.saved.insert(0, Saved(shelf.known[key].uri, account.stamp()))
    return Reply(200)


@ROUTES.on("DELETE /me/albums")
@ROUTES.on("DELETE /me/tracks")
def remove_saved(account: Account, call: Call) -> Reply:
    """Albums or tracks taken out of the library, where they are in it."""
    shelf = _shelf(account, call)
    gone = {checked_id(key) for key in some_ids(call)}
    shelf.saved[:] = [item for item in shelf.saved if split_uri(item.uri)[1] not in gone]
    return Reply(200)


@dataclass(frozen=True, slots=True)
class _Shelf:
    """The saved albums or tracks, and all albums or tracks of the catalogue by id."""

    saved: list[Saved]
    known: Mapping[str, Item]


def _shelf(account: Account, call: Call) -> _Shelf:
    if call.operation.endswith("/albums"):
        return _Shelf(account.saved_albums, account.catalogue.albums)
    return _Shelf(account.saved_tracks, account.catalogue.tracks)


@ROUTES.on("GET /me/following")
def list_followed_artists(account: Account, call: Call) -> Json:
    """A page of the followed artists by cursor, first followed first."""
    keys, after, limit = account.followed_artists, call.query.get("after"), call.query["limit"]
    if after is not None and checked_id(after) not in keys:
        raise RefusalError(400, "Invalid cursor: after")
    start = 0 if after is None else keys.index(after) + 1
    found = keys[start : start + limit]
    more = start + limit < len(keys)
    views, path = Views(account), path_of(call)
    return {
        "artists": {
            "cursors": {"after": found[-1] if more else None, "before": found[0] if after and found else None},
            "href": address(path, call.query),
            "items": [views.artist(account.catalogue.artists[key]) for key in found],
            "limit": limit,
            "next": address(path, call.query, after=found[-1]) if more else None,
            "total": len(keys),
        }
    }


@ROUTES.on("PUT /me/following")
def follow(account: Account, call: Call) -> Reply:
    """Artists or users put at the end of the follows, unless they are followed."""
    followed, known = _follows(account, call)
    keys = some_ids(call)
    for key in keys:
        _check_follow(call, key)
        if key not in known:
            raise RefusalError(404, "Resource not found")
    followed.extend(key for key in keys if key not in followed)
    return Reply(204)


@ROUTES.on("DELETE /me/following")
def unfollow(account: Account, call: Call) -> Reply:
    """Artists or users taken out of the follows, where they are followed."""
    followed, _ = _follows(account, call)
    keys = some_ids(call)
    for key in keys:
        _check_follow(call, key)
    followed[:] = [key for key in followed if key not in keys]
    return Reply(200)


def _follows(account: Account, call: Call) -> tuple[list[str], Collection[str]]:
    if call.query["type"] == "artist":
        return account.followed_artists, account.catalogue.artists
    return account.followed_users, account.catalogue.users


def _check_follow(call: Call, key: str) -> None:
    if call.query["type"] == "artist":
        checked_id(key)
    elif ":" in key:
        raise RefusalError(400, "Invalid user id")
