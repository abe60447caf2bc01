"""Accounts to begin with: the default listener, variations for single tasks, and the listener of the own tasks."""

import random
from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from typing import Any

from restgpt_bench.worlds.spotify.account import START, Account, Device, Playlist, Profile
from restgpt_bench.worlds.spotify.catalogue import (
    Album,
    Artist,
    Catalogue,
    Saved,
    Track,
    new_id,
    open_catalogue,
    split_uri,
)
from restgpt_bench.worlds.spotify.player import Play, Player, milliseconds

SPANS = ("short_term", "medium_term", "long_term")
VOLUMES = (33, 41, 47, 53)
STUDIO = "studio"
STUDIO_ARTISTS = ("Odile Varga", "Kestrel Avenue", "Nils Okafor", "The Paper Herons", "Juniper Static")


def open_account(seed: int, fixture: str | None) -> Account:
    """A fresh account, decided by the seed and the fixture alone; raises KeyError on an unknown fixture."""
    catalogue = open_catalogue(seed)
    if fixture == STUDIO:
        account = _Opening(catalogue, random.Random(f"spotify {seed} studio account")).studio()
    else:
        account = _Opening(catalogue, random.Random(f"spotify {seed} account")).default()
        if fixture is not None:
            VARIATIONS[fixture](account, random.Random(f"spotify {seed} fixture {fixture}"))
    account.ids = random.Random(f"spotify {seed} new ids")
    return account


class _Opening:
    """Puts an account together, drawing from one stream."""

    def __init__(self, catalogue: Catalogue, rng: random.Random) -> None:
        self._catalogue = catalogue
        self._rng = rng

    def default(self) -> Account:
        """The listener of the published instructions."""
        music, rng = self._catalogue, self._rng
        lana, whitney, beatles = (music.artist(name) for name in ("Lana Del Rey", "Whitney Houston", "The Beatles"))
        account = Account(music, self._profile(music.names["listeners"]))
        saved = [*music.top_tracks(lana)[:3], *music.top_tracks(whitney)[:3]]
        born, reputation = music.album("Born To Die", "Lana Del Rey"), music.album("reputation", "Taylor Swift")
        account.saved_tracks = self._saved(saved)
        account.saved_albums = self._saved([born, reputation])
        account.followed_artists = self._shuffled([lana.id, whitney.id, beatles.id])
        own = [
            self._playlist(account, "My R&B", music.top_tracks(whitney)[:3]),
            self._playlist(account, "My Rock", music.top_tracks(beatles)[:3]),
        ]
        account.playlists = [*self._shuffled(own), music.playlist("Folk After Dark")]
        account.devices = [
            Device(new_id(rng), "My Phone", "Smartphone", rng.choice(VOLUMES), is_active=True),
            Device(new_id(rng), "My PC", "Computer", rng.choice(VOLUMES)),
            Device(new_id(rng), "Hallway Speaker", "Speaker", rng.choice(VOLUMES)),
        ]
        account.player = self.player(born, avoid={track.id for track in saved})
        account.player.queue = [music.tracks[rng.choice(reputation.tracks)].uri]
        self._remember(account)
        self._rank(account)
        return account

    def studio(self) -> Account:
        """The listener of the own instructions, who shares no artist, album or playlist with the default one."""
        music, rng = self._catalogue, self._rng
        odile, kestrel, nils, herons, juniper = (music.artist(name) for name in STUDIO_ARTISTS)
        account = Account(music, self._profile(music.names["studio_listeners"]))
        songs = [*music.songs(odile)[6:15], *music.songs(nils)[3:12], *music.songs(herons)[5 : rng.randint(9, 19)]]
        account.saved_tracks = self._saved(songs)
        account.saved_albums = self._saved(
            [music.newest_album(nils), music.releases(herons)[1], music.releases(odile)[2]]
        )
        others = [artist.id for artist in _unknown_artists(music) if artist not in (odile, juniper)]
        account.followed_artists = self._shuffled(others)[:23]
        own = [
            self._playlist(account, "Kitchen Radio", [music.songs(artist)[4] for artist in (odile, herons, juniper)]),
            self._playlist(account, "Long Drives", self._shuffled(music.songs(kestrel)[:6])),
        ]
        account.playlists = [*self._shuffled(own), music.playlist("Slow Dance")]
        account.devices = [
            Device(new_id(rng), "Studio Monitors", "Speaker", rng.choice(VOLUMES), is_active=True),
            Device(new_id(rng), "Pocket Radio", "Smartphone", rng.choice(VOLUMES)),
        ]
        account.player = self.player(music.newest_album(juniper), avoid=set())
        account.player.queue = [music.songs(herons)[2].uri]
        self._remember(account)
        self._rank(account)
        return account

    def _profile(self, names: Sequence[str]) -> Profile:
        name, number = self._rng.choice(names), self._rng.randint(100, 999)
        handle = f"{name[0]}{name.split()[-1]}{number}".lower()
        country = self._rng.choice(["DE", "GB", "JP", "US"])
        return Profile(handle, name, country, f"{handle}@mail.example", self._rng.randint(3, 400))

    def _saved(self, items: Iterable[Track | Album]) -> list[Saved]:
        shuffled = self._shuffled(list(items))
        return [Saved(item.uri, _stamp(hours=7 * number)) for number, item in enumerate(shuffled, start=1)]

    def _shuffled(self, items: list[Any]) -> list[Any]:
        return self._rng.sample(items, len(items))

    def _playlist(self, account: Account, name: str, tracks: Iterable[Track]) -> Playlist:
        items = [Saved(track.uri, _stamp(hours=30 + number)) for number, track in enumerate(tracks)]
        return Playlist(new_id(self._rng), name, account.profile.id, "", items=items)

    def player(self, album: Album, *, avoid: set[str]) -> Player:
        """A player in the middle of `album`, at a track that is not in `avoid`."""
        places = [
            place for place, key in enumerate(album.tracks) if key not in avoid and 2 <= place < len(album.tracks) - 3
        ]
        position = self._rng.choice(places)
        items = [f"spotify:track:{key}" for key in album.tracks]
        progress = self._rng.randint(20_000, 90_000)
        return Player(items[position], album.uri, items, position, is_playing=True, progress_ms=progress)

    def _remember(self, account: Account) -> None:
        """Fill the history: first a song by somebody who is neither followed nor playing, then anything."""
        music = self._catalogue
        playing = account.player.track
        strangers = [artist for artist in _strangers(music) if artist.id not in account.followed_artists]
        first = self._rng.choice(music.top_tracks(self._rng.choice(strangers)))
        others = [track for track in self._rng.sample(list(music.tracks.values()), 26) if track.uri != playing]
        for number, track in enumerate([first, *others[:24]], start=1):
            played_at = START - timedelta(minutes=11 * number)
            account.player.history.append(Play(track.uri, f"spotify:album:{track.album}", milliseconds(played_at)))

    def _rank(self, account: Account) -> None:
        """Decide what the listener likes best; each span has an order of its own."""
        music = self._catalogue
        unknown = [artist.id for artist in _strangers(music)]
        known = [key for key in music.artists if key not in unknown]
        # Each span has another favourite, so an agent that reads the wrong span answers wrongly.
        favourites = self._rng.sample(unknown, len(SPANS))
        tracks = [track.id for track in music.tracks.values()]
        for span, favourite in zip(SPANS, favourites, strict=True):
            rest = [key for key in unknown if key not in favourites]
            account.top_artists[span] = [favourite, *self._rng.sample([*rest, *known], 24)]
            account.top_tracks[span] = self._rng.sample(tracks, 12)


def _unknown_artists(music: Catalogue) -> list[Artist]:
    """Artists that exist in this world only, those of the studio listener among them."""
    known = {entry["name"] for entry in (*music.names["known"], *music.names["decoys"])}
    return [artist for artist in music.artists.values() if artist.name not in known]


def _strangers(music: Catalogue) -> list[Artist]:
    """Artists that exist in this world only, without those of the studio listener."""
    return [artist for artist in _unknown_artists(music) if artist.name not in STUDIO_ARTISTS]


def _stamp(*, hours: int) -> str:
    return f"{START - timedelta(hours=hours):%Y-%m-%dT%H:%M:%SZ}"


def _stranger(account: Account, rng: random.Random) -> None:
    """An album by an artist who is not followed is playing."""
    music = account.catalogue
    last = music.tracks[split_uri(account.player.history[0].track)[1]]
    known = (*account.followed_artists, *last.artists)
    artists = [artist for artist in _strangers(music) if artist.id not in known]
    history, queue = account.player.history, account.player.queue
    account.player = _Opening(music, rng).player(music.newest_album(rng.choice(artists)), avoid=set())
    account.player.history, account.player.queue = history, queue


def _my_pc(account: Account, rng: random.Random) -> None:
    """The device My PC is the one that plays."""
    account.activate(next(device for device in account.devices if device.name == "My PC"))


def _duet(account: Account, rng: random.Random) -> None:
    """The playlist My R&B holds songs of several artists, some of whom are not followed."""
    music = account.catalogue
    playlist = next(item for item in account.playlists if isinstance(item, Playlist) and item.name == "My R&B")
    songs = [music.track("When You Believe", "Whitney Houston")]
    songs += [rng.choice(music.top_tracks(artist)) for artist in rng.sample(_strangers(music), 2)]
    present = {item.uri for item in playlist.items}
    playlist.items += [Saved(song.uri, _stamp(hours=28)) for song in songs if song.uri not in present]


def _long_queue(account: Account, rng: random.Random) -> None:
    """Four songs are queued, and the album has two more after the one that plays."""
    music, player = account.catalogue, account.player
    player.position = len(player.items) - 3
    player.track = player.items[player.position]
    player.queue = [track.uri for track in rng.sample(list(music.tracks.values()), 4)]


def _full_library(account: Account, rng: random.Random) -> None:
    """Sixty songs are saved: more than one call can read or remove."""
    _fill(account.saved_tracks, account.catalogue.tracks.values(), 54, rng)


def _full_shelf(account: Account, rng: random.Random) -> None:
    """Twenty-three albums are saved: more than a page."""
    _fill(account.saved_albums, account.catalogue.albums.values(), 21, rng)


def _fill(saved: list[Saved], items: Iterable[Track | Album], count: int, rng: random.Random) -> None:
    """Save so many more items, drawn from those that are not saved yet."""
    known = {item.uri for item in saved}
    uris = rng.sample([item.uri for item in items if item.uri not in known], count)
    saved += [Saved(uri, _stamp(hours=60 + number)) for number, uri in enumerate(uris)]


def _idle(account: Account, rng: random.Random) -> None:
    """Nothing plays and no device is active."""
    account.player = Player(history=account.player.history)
    for device in account.devices:
        device.is_active = False


VARIATIONS: dict[str, Callable[[Account, random.Random], None]] = {
    "stranger": _stranger,
    "my-pc": _my_pc,
    "duet": _duet,
    "long-queue": _long_queue,
    "full-library": _full_library,
    "full-shelf": _full_shelf,
    "idle": _idle,
}
FIXTURES = (*VARIATIONS, STUDIO)
