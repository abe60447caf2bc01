"""Handlers of playlists: list, create, rename, read, add and remove."""

import re
from collections.abc import Iterator
from typing import Any

from restgpt_bench.worlds.exchange import Call, Json, RefusalError, Reply
from restgpt_bench.worlds.routing import Routes
from restgpt_bench.worlds.spotify.account import Account, Playlist
from restgpt_bench.worlds.spotify.arguments import checked_uri, fields, one_id, some_uris, typed
from restgpt_bench.worlds.spotify.catalogue import Saved
from restgpt_bench.worlds.spotify.pages import page
from restgpt_bench.worlds.spotify.views import Views

ROUTES = Routes()
MOST_ITEMS = 100


@ROUTES.on("GET /me/playlists")
def list_my_playlists(account: Account, call: Call) -> Json:
    """A page of the listener's own and followed playlists, newest first."""
    return page(call, account.playlists, Views(account).simplified_playlist)


@ROUTES.on("POST /users/{user_id}/playlists")
def create_playlist(account: Account, call: Call) -> Reply:
    """A new empty playlist in front of the others."""
    if call.path["user_id"] != account.profile.id:
        raise RefusalError(403, "You cannot create a playlist for another user.")
    given = fields(call)
    name = typed(given, "name", str)
    if not name or not name.strip():
        raise RefusalError(400, "Missing required field: name")
    made = Playlist(account.fresh_id(), name, account.profile.id, typed(given, "description", str))
    _set_visibility(made, public=typed(given, "public", bool), collaborative=typed(given, "collaborative", bool))
    account.playlists.insert(0, made)
    return Reply(201, Views(account).playlist(made))


@ROUTES.on("GET /playlists/{playlist_id}")
def get_playlist(account: Account, call: Call) -> Json:
    """A playlist with its first items."""
    found = account.playlist(one_id(call, "playlist_id"))
    return narrowed(Views(account).playlist(found), call.query.get("fields"))


@ROUTES.on("PUT /playlists/{playlist_id}")
def change_playlist_details(account: Account, call: Call) -> Reply:
    """A playlist with another name, description or visibility."""
    found, given = account.own_playlist(one_id(call, "playlist_id")), fields(call)
    name, description = typed(given, "name", str), typed(given, "description", str)
    public, collaborative = typed(given, "public", bool), typed(given, "collaborative", bool)
    if name is None and description is None and public is None and collaborative is None:
        raise RefusalError(400, "No playlist details provided")
    if name is not None and not name.strip():
        raise RefusalError(400, "Playlist name must not be empty")
    _set_visibility(found, public=public, collaborative=collaborative)
    found.name = found.name if name is None else name
    found.description = found.description if description is None else description
    found.version += 1
    return Reply(200)


@ROUTES.on("GET /playlists/{playlist_id}/tracks")
def list_playlist_items(account: Account, call: Call) -> Json:
    """A page of a playlist's items."""
    found, views = account.playlist(one_id(call, "playlist_id")), Views(account)
    made = page(call, found.items, lambda saved: views.playlist_item(found, saved))
    return narrowed(made, call.query.get("fields"))


@ROUTES.on("POST /playlists/{playlist_id}/tracks")
def add_playlist_items(account: Account, call: Call) -> Reply:
    """Items put at a place in a playlist, at the end by default."""
    found, uris = account.own_playlist(one_id(call, "playlist_id")), some_uris(call)
    for uri in uris:
        if account.catalogue.playable(uri) is None:
            raise RefusalError(400, f"Payload contains a non-existing ID: {uri}")
    position = call.query.get("position", typed(fields(call), "position", int))
    if position is not None and not 0 <= position <= len(found.items):
        raise RefusalError(400, "Index out of bounds.")
    place = len(found.items) if position is None else position
    added_at = account.stamp()
    found.items[place:place] = [Saved(uri, added_at) for uri in uris]
    found.version += 1
    return Reply(201, {"snapshot_id": found.snapshot_id})


@ROUTES.on("DELETE /playlists/{playlist_id}/tracks")
def remove_playlist_items(account: Account, call: Call) -> Json:
    """Every occurrence of some items taken out of a playlist."""
    found, given = account.own_playlist(one_id(call, "playlist_id")), fields(call)
    gone = _removals(given.get("tracks"))
    version = typed(given, "snapshot_id", str)
    if version is not None and version not in {found.snapshot_at(item + 1) for item in range(found.version)}:
        raise RefusalError(400, "Invalid snapshot id")
    found.items = [item for item in found.items if item.uri not in gone]
    found.version += 1
    return {"snapshot_id": found.snapshot_id}


def narrowed(value: Any, wanted: str | None) -> Any:
    """The parts of a reply that the argument `fields` names, such as `items(track(name,id)),total`."""
    return value if not wanted else _narrowed(value, _tree(wanted))


def _tree(wanted: str) -> dict[str, Any]:
    tokens = re.findall(r"[\w!]+|[(),.]", wanted)
    return _branches(iter(tokens))


def _branches(tokens: Iterator[str]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    last = tree
    for token in tokens:
        if token == ")":
            break
        if token == ",":
            last = tree
        elif token == "(":
            last.update(_branches(tokens))
        elif token != ".":
            last = last.setdefault(token, {})
    return tree


def _narrowed(value: Any, tree: dict[str, Any]) -> Any:
    if not tree:
        return value
    if isinstance(value, list):
        return [_narrowed(item, tree) for item in value]
    if isinstance(value, dict):
        return {name: _narrowed(value[name], branch) for name, branch in tree.items() if name in value}
    return value


def _removals(tracks: Any) -> set[str]:
    if not isinstance(tracks, list) or not tracks or not all(isinstance(item, dict) for item in tracks):
        raise RefusalError(400, "Missing required field: tracks, a list of objects with a uri")
    if len(tracks) > MOST_ITEMS:
        raise RefusalError(400, f"You can remove a maximum of {MOST_ITEMS} tracks per request.")
    return {checked_uri(item.get("uri")) for item in tracks}


def _set_visibility(playlist: Playlist, *, public: bool | None, collaborative: bool | None) -> None:
    visible = playlist.public if public is None else public
    shared = playlist.collaborative if collaborative is None else collaborative
    if visible and shared:
        raise RefusalError(400, "Collaborative playlists can only be private")
    playlist.public, playlist.collaborative = visible, shared
