"""Builds the JSON objects of the document from the catalogue and the account."""

from datetime import UTC, datetime
from typing import Any

from restgpt_bench.worlds.spotify.account import Account, Device, Playlist, Profile
from restgpt_bench.worlds.spotify.catalogue import (
    Album,
    Artist,
    Audiobook,
    Catalogue,
    Episode,
    Item,
    PublicPlaylist,
    Saved,
    Show,
    Track,
    split_uri,
)
from restgpt_bench.worlds.spotify.pages import BASE_URL, page_at
from restgpt_bench.worlds.spotify.player import Play, milliseconds

MARKETS = ["DE", "GB", "JP", "US"]
PLAYLIST_ITEMS = 100
FOLDERS = {"artist": "artists", "album": "albums", "track": "tracks", "playlist": "playlists", "user": "users"}


class Views:
    """Renders for one account."""

    def __init__(self, account: Account) -> None:
        self._account = account
        self._catalogue: Catalogue = account.catalogue

    def artist(self, artist: Artist) -> dict[str, Any]:
        """An artist in full."""
        return {
            **_named(artist),
            "followers": {"href": None, "total": artist.followers},
            "genres": list(artist.genres),
            "images": _images(artist.id),
            "popularity": artist.popularity,
        }

    def simplified_artist(self, key: str) -> dict[str, Any]:
        """An artist as albums and tracks show it, without genres."""
        return _named(self._catalogue.artists[key])

    def simplified_album(self, album: Album, *, group: str | None = None) -> dict[str, Any]:
        """An album without its tracks; `group` is how it belongs to the artist whose albums are listed."""
        return {
            "album_type": album.kind,
            **({} if group is None else {"album_group": group}),
            "artists": [self.simplified_artist(key) for key in album.artists],
            "available_markets": MARKETS,
            **_named(album),
            "images": _images(album.id),
            "release_date": album.released.isoformat(),
            "release_date_precision": "day",
            "total_tracks": len(album.tracks),
        }

    def album(self, album: Album) -> dict[str, Any]:
        """An album in full, with its tracks."""
        tracks = self._catalogue.album_tracks(album)
        path = f"/albums/{album.id}/tracks"
        return {
            **self.simplified_album(album),
            "copyrights": [{"text": f"{album.released.year} {album.label}", "type": kind} for kind in "CP"],
            "external_ids": {"upc": album.upc},
            "genres": [],
            "label": album.label,
            "popularity": album.popularity,
            "tracks": page_at(path, {"limit": 50}, tracks, self.simplified_track),
        }

    def simplified_track(self, track: Track) -> dict[str, Any]:
        """A track as its album lists it."""
        return {
            "artists": [self.simplified_artist(key) for key in track.artists],
            "available_markets": MARKETS,
            "disc_number": 1,
            "duration_ms": track.duration_ms,
            "explicit": track.explicit,
            **_named(track),
            "is_local": False,
            "is_playable": True,
            "preview_url": _preview(track.id),
            "track_number": track.number,
        }

    def track(self, track: Track) -> dict[str, Any]:
        """A track in full, with its album."""
        return {
            **self.simplified_track(track),
            "album": self.simplified_album(self._catalogue.albums[track.album]),
            "external_ids": {"isrc": track.isrc},
            "popularity": track.popularity,
        }

    def show(self, show: Show) -> dict[str, Any]:
        """A podcast without its episodes."""
        return {
            "available_markets": MARKETS,
            "copyrights": [],
            **_described(show.name),
            "explicit": False,
            **_named(show),
            "images": _images(show.id),
            "is_externally_hosted": False,
            "languages": ["en"],
            "media_type": "audio",
            "publisher": show.publisher,
            "total_episodes": len(show.episodes),
        }

    def simplified_episode(self, episode: Episode) -> dict[str, Any]:
        """An episode without its podcast."""
        return {
            "audio_preview_url": _preview(episode.id),
            **_described(episode.name),
            "duration_ms": episode.duration_ms,
            "explicit": False,
            **_named(episode),
            "images": _images(episode.id),
            "is_externally_hosted": False,
            "is_playable": True,
            "languages": ["en"],
            "release_date": episode.released.isoformat(),
            "release_date_precision": "day",
            "resume_point": {"fully_played": False, "resume_position_ms": 0},
        }

    def audiobook(self, book: Audiobook) -> dict[str, Any]:
        """An audiobook without its chapters."""
        return {
            "authors": [{"name": book.author}],
            "available_markets": MARKETS,
            "copyrights": [],
            **_described(book.name),
            "edition": "Unabridged",
            "explicit": False,
            **_named(book),
            "images": _images(book.id),
            "languages": ["en"],
            "media_type": "audio",
            "narrators": [{"name": book.narrator}],
            "publisher": book.author,
            "total_chapters": book.chapters,
        }

    def playable(self, uri: str) -> dict[str, Any]:
        """The track or episode that `uri` names, in full; the URI must be known."""
        item = self._catalogue.playable(uri)
        if isinstance(item, Episode):
            return {**self.simplified_episode(item), "show": self.show(self._catalogue.shows[item.show])}
        if isinstance(item, Track):
            return self.track(item)
        raise LookupError(f"nothing plays as {uri}")

    def saved(self, saved: Saved) -> dict[str, Any]:
        """An album or track of the library and when it was saved."""
        kind, key = split_uri(saved.uri)
        item = self.album(self._catalogue.albums[key]) if kind == "album" else self.playable(saved.uri)
        return {"added_at": saved.added_at, kind: item}

    def profile(self, profile: Profile) -> dict[str, Any]:
        """The listener's own profile."""
        return {
            "country": profile.country,
            **self.user(profile.id),
            "email": profile.email,
            "explicit_content": {"filter_enabled": False, "filter_locked": False},
            "followers": {"href": None, "total": profile.followers},
            "images": _images(profile.id),
            "product": "premium",
        }

    def user(self, key: str) -> dict[str, Any]:
        """A listener as others see them."""
        own = self._account.profile
        return {**_reference("user", key), "display_name": own.display_name if key == own.id else key}

    def simplified_playlist(self, item: Playlist | PublicPlaylist) -> dict[str, Any]:
        """A playlist with the number of its items."""
        tracks = {"href": f"{BASE_URL}/playlists/{item.id}/tracks", "total": len(item.items)}
        return {**self._playlist_details(item), "tracks": tracks}

    def playlist(self, item: Playlist | PublicPlaylist) -> dict[str, Any]:
        """A playlist in full, with its first items."""
        path = f"/playlists/{item.id}/tracks"
        followers = {"href": None, "total": item.followers}
        tracks = page_at(path, {"limit": PLAYLIST_ITEMS}, item.items, lambda saved: self.playlist_item(item, saved))
        return {**self._playlist_details(item), "followers": followers, "tracks": tracks}

    def playlist_item(self, item: Playlist | PublicPlaylist, saved: Saved) -> dict[str, Any]:
        """One item of a playlist and who added it."""
        return {
            "added_at": saved.added_at,
            "added_by": self.user(item.owner),
            "is_local": False,
            "track": self.playable(saved.uri),
        }

    def _playlist_details(self, item: Playlist | PublicPlaylist) -> dict[str, Any]:
        return {
            "collaborative": item.collaborative,
            "description": item.description,
            **_named(item),
            "images": _images(item.id) if item.items else [],
            "owner": self.user(item.owner),
            "public": item.public,
            "snapshot_id": item.snapshot_id,
        }

    def device(self, device: Device) -> dict[str, Any]:
        """A device."""
        return {
            "id": device.id,
            "is_active": device.is_active,
            "is_private_session": False,
            "is_restricted": False,
            "name": device.name,
            "type": device.type,
            "volume_percent": device.volume,
        }

    def currently_playing(self) -> dict[str, Any] | None:
        """The item that plays now, or None if nothing does."""
        player = self._account.player
        if player.track is None or self._account.active_device is None:
            return None
        item = self.playable(player.track)
        return {
            "actions": {
                "interrupting_playback": True,
                "pausing": player.is_playing,
                "resuming": not player.is_playing,
                "seeking": True,
                "skipping_next": bool(player.upcoming),
                "skipping_prev": True,
                "toggling_repeat_context": True,
                "toggling_repeat_track": True,
                "toggling_shuffle": True,
                "transferring_playback": True,
            },
            "context": self._context(player.context),
            "currently_playing_type": item["type"],
            "is_playing": player.is_playing,
            "item": item,
            "progress_ms": player.progress_ms,
            "timestamp": milliseconds(self._account.now),
        }

    def playback(self) -> dict[str, Any] | None:
        """The playback with its device and modes, or None if nothing plays."""
        device, playing = self._account.active_device, self.currently_playing()
        if device is None or playing is None:
            return None
        player = self._account.player
        return {
            **playing,
            "device": self.device(device),
            "repeat_state": player.repeat,
            "shuffle_state": player.shuffle,
        }

    def play(self, play: Play) -> dict[str, Any]:
        """One item of the history."""
        played_at = datetime.fromtimestamp(play.played_at / 1000, UTC)
        return {
            "context": self._context(play.context),
            "played_at": f"{played_at:%Y-%m-%dT%H:%M:%S}.{play.played_at % 1000:03d}Z",
            "track": self.playable(play.track),
        }

    def _context(self, uri: str | None) -> dict[str, Any] | None:
        if uri is None:
            return None
        kind, key = split_uri(uri)
        reference = _reference(kind, key)
        reference.pop("id")
        return reference


def _named(item: Item | Playlist) -> dict[str, Any]:
    return _reference(item.type, item.id, name=item.name)


def _reference(kind: str, key: str, **more: Any) -> dict[str, Any]:
    return {
        "external_urls": {"spotify": f"https://open.spotify.com/{kind}/{key}"},
        "href": f"{BASE_URL}/{FOLDERS.get(kind, f'{kind}s')}/{key}",
        "id": key,
        **more,
        "type": kind,
        "uri": f"spotify:{kind}:{key}",
    }


def _images(key: str) -> list[dict[str, Any]]:
    return [
        {"url": f"https://images.example.com/{key}/{size}.jpg", "height": size, "width": size} for size in (640, 64)
    ]


def _preview(key: str) -> str:
    return f"https://audio.example.com/{key}.mp3"


def _described(name: str) -> dict[str, str]:
    return {"description": f"About {name}.", "html_description": f"<p>About {name}.</p>"}
