"""The account of one listener: everything in the simulated Spotify that a request can change."""

import random
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

from restgpt_bench.worlds.exchange import RefusalError
from restgpt_bench.worlds.spotify.catalogue import Catalogue, PublicPlaylist, Saved, new_id, split_uri
from restgpt_bench.worlds.spotify.player import Player
from restgpt_bench.worlds.world import TODAY

START = datetime(TODAY.year, TODAY.month, TODAY.day, 9, tzinfo=UTC)


class PlayerRefusalError(RefusalError):
    """A refused player command; `reason` is the code that Spotify gives beside the message."""

    def __init__(self, status: int, message: str, reason: str) -> None:
        super().__init__(status, f"Player command failed: {message}")
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Profile:
    """The listener's profile."""

    id: str
    display_name: str
    country: str
    email: str
    followers: int


@dataclass(slots=True)
class Device:
    """A device that can play."""

    id: str
    name: str
    type: str
    volume: int
    is_active: bool = False


@dataclass(slots=True)
class Playlist:
    """A playlist of the listener, without followers; `version` counts its changes."""

    type: ClassVar[str] = "playlist"
    followers: ClassVar[int] = 0

    id: str
    name: str
    owner: str
    description: str | None = None
    public: bool = True
    collaborative: bool = False
    items: list[Saved] = field(default_factory=list)
    version: int = 1

    @property
    def uri(self) -> str:
        """The playlist's Spotify URI."""
        return f"spotify:playlist:{self.id}"

    @property
    def snapshot_id(self) -> str:
        """The name of the present version."""
        return self.snapshot_at(self.version)

    def snapshot_at(self, version: int) -> str:
        """The name of a version, a later one for each change."""
        return f"{version:04d}{self.id}"


@dataclass(slots=True)
class Account:
    """All state of the simulated Spotify; newest saved things and playlists come first, follows oldest first."""

    catalogue: Catalogue
    profile: Profile
    saved_tracks: list[Saved] = field(default_factory=list)
    saved_albums: list[Saved] = field(default_factory=list)
    followed_artists: list[str] = field(default_factory=list)
    followed_users: list[str] = field(default_factory=list)
    playlists: list[Playlist | PublicPlaylist] = field(default_factory=list)
    devices: list[Device] = field(default_factory=list)
    player: Player = field(default_factory=Player)
    top_artists: dict[str, list[str]] = field(default_factory=dict)
    top_tracks: dict[str, list[str]] = field(default_factory=dict)
    ids: random.Random = field(default_factory=lambda: random.Random(0))
    ticks: int = 0

    @property
    def now(self) -> datetime:
        """The time of the world, which moves only when something happens."""
        return START + timedelta(seconds=self.ticks)

    @property
    def active_device(self) -> Device | None:
        """The device that plays, if one is active."""
        return next((device for device in self.devices if device.is_active), None)

    def tick(self) -> datetime:
        """Let a second pass and return the time."""
        self.ticks += 1
        return self.now

    def stamp(self) -> str:
        """The present time as the API writes it, a second later than the last stamp."""
        return f"{self.tick():%Y-%m-%dT%H:%M:%SZ}"

    def fresh_id(self) -> str:
        """A new id."""
        return new_id(self.ids)

    def playlist(self, key: str) -> Playlist | PublicPlaylist:
        """A playlist of the listener or a public one by id; RefusalError 404 if no playlist has it."""
        for item in self.playlists:
            if item.id == key:
                return item
        if key not in self.catalogue.playlists:
            raise RefusalError(404, "Resource not found")
        return self.catalogue.playlists[key]

    def own_playlist(self, key: str) -> Playlist:
        """A playlist that the listener may change; RefusalError 403 if another user owns it, 404 if none has the id."""
        found = self.playlist(key)
        if not isinstance(found, Playlist) or found.owner != self.profile.id:
            raise RefusalError(403, "You cannot change a playlist that you do not own.")
        return found

    def device(self, key: str | None) -> Device:
        """The device with id `key`, by default the active one; PlayerRefusalError 404 if no device fits."""
        if key is None:
            found = self.active_device
            if found is None:
                raise PlayerRefusalError(404, "No active device found", "NO_ACTIVE_DEVICE")
            return found
        for device in self.devices:
            if device.id == key:
                return device
        raise PlayerRefusalError(404, "Device not found", "DEVICE_NOT_FOUND")

    def activate(self, device: Device) -> None:
        """Make `device` the active one."""
        for other in self.devices:
            other.is_active = other is device

    def dump(self) -> dict[str, Any]:
        """The state as plain values with names beside the URIs; times and version names are left out."""
        label = self._label
        player = self.player.dump()
        player["track"] = label(player["track"])
        player["context"] = label(player["context"])
        player["items"] = [label(uri) for uri in player["items"]]
        return {
            "profile": {"id": self.profile.id, "display_name": self.profile.display_name},
            "saved_tracks": [label(item.uri) for item in self.saved_tracks],
            "saved_albums": [label(item.uri) for item in self.saved_albums],
            "followed_artists": [label(f"spotify:artist:{key}") for key in self.followed_artists],
            "followed_users": list(self.followed_users),
            "playlists": [self._dump_playlist(item) for item in self.playlists],
            "devices": [
                {"id": item.id, "name": item.name, "is_active": item.is_active, "volume": item.volume}
                for item in self.devices
            ],
            "player": player,
            "queue": [label(uri) for uri in self.player.queue],
            "history": [label(play.track) for play in self.player.history],
        }

    def _dump_playlist(self, item: Playlist | PublicPlaylist) -> dict[str, Any]:
        return {
            "id": item.id,
            "name": item.name,
            "owner": item.owner,
            "description": item.description,
            "public": item.public,
            "collaborative": item.collaborative,
            "tracks": [self._label(entry.uri) for entry in item.items],
        }

    def _label(self, uri: str | None) -> str | None:
        if uri is None:
            return None
        kind, key = split_uri(uri)
        for item in self.playlists:
            if kind == "playlist" and item.id == key:
                # A name can change; the id cannot.
                return uri
        return self.catalogue.label(uri)
