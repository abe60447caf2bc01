"""Handlers of the player: playback state, devices, queue, history and commands."""

from collections.abc import Sequence
from typing import Any

from restgpt_bench.worlds.exchange import Call, Json, RefusalError, Reply
from restgpt_bench.worlds.routing import Routes
from restgpt_bench.worlds.spotify.account import Account, PlayerRefusalError
from restgpt_bench.worlds.spotify.arguments import checked_uri, fields, texts, typed
from restgpt_bench.worlds.spotify.catalogue import split_uri
from restgpt_bench.worlds.spotify.pages import address, path_of
from restgpt_bench.worlds.spotify.player import milliseconds
from restgpt_bench.worlds.spotify.views import Views

ROUTES = Routes()
QUEUE_SHOWN = 20


@ROUTES.on("GET /me/player")
def get_playback_state(account: Account, call: Call) -> Reply:
    """The playback with its device and modes; 204 if nothing is active."""
    return _or_nothing(Views(account).playback())


@ROUTES.on("GET /me/player/currently-playing")
def get_currently_playing(account: Account, call: Call) -> Reply:
    """The item that plays; 204 if nothing does."""
    return _or_nothing(Views(account).currently_playing())


@ROUTES.on("GET /me/player/devices")
def list_devices(account: Account, call: Call) -> Json:
    """All devices."""
    return {"devices": [Views(account).device(device) for device in account.devices]}


@ROUTES.on("GET /me/player/queue")
def get_queue(account: Account, call: Call) -> Json:
    """The item that plays, and up to twenty next ones."""
    views, player = Views(account), account.player
    return {
        "currently_playing": None if player.track is None else views.playable(player.track),
        "queue": [views.playable(uri) for uri in player.upcoming[:QUEUE_SHOWN]],
    }


@ROUTES.on("POST /me/player/queue")
def add_to_queue(account: Account, call: Call) -> Reply:
    """An item put at the end of the listener's queue."""
    uri = checked_uri(call.query["uri"])
    if account.catalogue.playable(uri) is None:
        raise RefusalError(404, "Resource not found")
    account.device(call.query.get("device_id"))
    account.player.queue.append(uri)
    return Reply(204)


@ROUTES.on("GET /me/player/recently-played")
def list_recently_played(account: Account, call: Call) -> Json:
    """A page of the history by time, latest first."""
    query, history = call.query, account.player.history
    after, before, limit = query.get("after"), query.get("before"), query["limit"]
    if after is not None and before is not None:
        raise RefusalError(400, "Only one of after and before may be given")
    if after is not None:
        later = [play for play in history if play.played_at > after]
        found, more = later[-limit:], False
    else:
        earlier = [play for play in history if before is None or play.played_at < before]
        found, more = earlier[:limit], len(earlier) > limit
    views, path = Views(account), path_of(call)
    cursors = {"after": str(found[0].played_at), "before": str(found[-1].played_at)} if found else None
    return {
        "cursors": cursors,
        "href": address(path, query),
        "items": [views.play(play) for play in found],
        "limit": limit,
        "next": address(path, query, before=found[-1].played_at) if more else None,
        "total": len(history),
    }


@ROUTES.on("PUT /me/player/play")
def start_playback(account: Account, call: Call) -> Reply:
    """A context or tracks played from the start, or playback resumed; on another device if one is named."""
    given, player = fields(call), account.player
    device = account.device(call.query.get("device_id"))
    context, uris = typed(given, "context_uri", str), texts(given.get("uris"), "uris")
    if context is not None and uris:
        raise RefusalError(400, "Only one of either context_uri or uris can be specified")
    if context is None and not uris:
        _resume(account, moves=not device.is_active)
    else:
        items = [checked_uri(uri) for uri in uris] if context is None else _context_items(account, context)
        if not items or any(account.catalogue.playable(uri) is None for uri in items):
            raise RefusalError(404, "Resource not found")
        position = _position(typed(given, "offset", dict), items)
        progress = typed(given, "position_ms", int) or 0
        now = milliseconds(account.tick())
        player.start(items, context=context, position=position, progress_ms=progress, now=now)
    account.activate(device)
    return Reply(204)


@ROUTES.on("PUT /me/player/pause")
def pause_playback(account: Account, call: Call) -> Reply:
    """Playback paused; refused if it is paused."""
    account.device(call.query.get("device_id"))
    if not account.player.is_playing:
        raise PlayerRefusalError(403, "Restriction violated", "UNKNOWN")
    account.player.is_playing = False
    return Reply(204)


@ROUTES.on("POST /me/player/next")
def skip_to_next(account: Account, call: Call) -> Reply:
    """On to the next item."""
    account.device(call.query.get("device_id"))
    account.player.skip(milliseconds(account.tick()))
    return Reply(204)


@ROUTES.on("POST /me/player/previous")
def skip_to_previous(account: Account, call: Call) -> Reply:
    """Back to the item before."""
    account.device(call.query.get("device_id"))
    account.player.back(milliseconds(account.tick()))
    return Reply(204)


@ROUTES.on("PUT /me/player/repeat")
def set_repeat_mode(account: Account, call: Call) -> Reply:
    """Another repeat mode."""
    account.device(call.query.get("device_id"))
    account.player.repeat = call.query["state"]
    return Reply(204)


@ROUTES.on("PUT /me/player/volume")
def set_volume(account: Account, call: Call) -> Reply:
    """A device louder or quieter."""
    account.device(call.query.get("device_id")).volume = call.query["volume_percent"]
    return Reply(204)


def _or_nothing(body: Json) -> Reply:
    return Reply(204) if body is None else Reply(200, body)


def _resume(account: Account, *, moves: bool) -> None:
    if account.player.track is None:
        raise PlayerRefusalError(404, "No active device found", "NO_ACTIVE_DEVICE")
    if account.player.is_playing and not moves:
        raise PlayerRefusalError(403, "Restriction violated", "UNKNOWN")
    account.player.is_playing = True


def _context_items(account: Account, uri: str) -> list[str]:
    kind, key = split_uri(checked_uri(uri))
    catalogue = account.catalogue
    if kind == "playlist":
        return [saved.uri for saved in account.playlist(key).items]
    if kind == "album" and key in catalogue.albums:
        return [track.uri for track in catalogue.album_tracks(catalogue.albums[key])]
    if kind == "artist" and key in catalogue.artists:
        return [track.uri for track in catalogue.top_tracks(catalogue.artists[key])]
    if kind == "show" and key in catalogue.shows:
        return [f"spotify:episode:{episode}" for episode in catalogue.shows[key].episodes]
    raise RefusalError(400, f"Invalid context uri: {uri}")


def _position(offset: dict[str, Any] | None, items: Sequence[str]) -> int:
    if offset is None:
        return 0
    uri, position = typed(offset, "uri", str), typed(offset, "position", int)
    if uri is not None:
        if uri not in items:
            raise RefusalError(404, "Offset uri is not in the context")
        return items.index(uri)
    if position is not None and not 0 <= position < len(items):
        raise RefusalError(400, "Offset position is out of range")
    return position or 0
