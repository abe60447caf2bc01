"""Judges of the published Spotify instructions, by index; the instructions themselves are published elsewhere."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from restgpt_bench.restbench.judges.answer import Expectation, Names
from restgpt_bench.restbench.judges.spotify.judges import Becomes, Creates, Judge, Meets, Says
from restgpt_bench.worlds.spotify.account import Account, Playlist
from restgpt_bench.worlds.spotify.catalogue import Album, Artist, Saved, Track, split_uri
from restgpt_bench.worlds.spotify.search import words_of

PAUSE, PLAY = "PUT /me/player/pause", "PUT /me/player/play"
NEXT, VOLUME = "POST /me/player/next", "PUT /me/player/volume"
# The parts of the state that change when something else is played; the modes stay.
PLAYING = (
    *(f"player.{name}" for name in ("track", "context", "items", "position", "is_playing", "progress_ms")),
    "history",
)
SHOWN = 20
QUIET_WORDS = words_of("quiet calm soft gentle hush silent sleep sleeping lullaby drowsy peaceful relaxing slow")
QUIET_GENRES = frozenset({"ambient", "calm piano", "slow jam"})


# Facts about an account.


def current(account: Account) -> Track:
    """The track that plays; LookupError if none does."""
    found = account.catalogue.playable(account.player.track or "")
    if not isinstance(found, Track):
        raise LookupError("no track plays")
    return found


def playlist(account: Account, name: str) -> Playlist:
    """The listener's own playlist called `name`; LookupError without one."""
    name = account.catalogue.said("playlist", name)
    for item in account.playlists:
        if isinstance(item, Playlist) and item.name == name:
            return item
    raise LookupError(f"no playlist {name}")


def first_playlist(account: Account) -> Playlist:
    """The listener's first playlist, which is the listener's own in all fixtures."""
    found = account.playlists[0]
    if not isinstance(found, Playlist):
        raise LookupError("the first playlist is another listener's")
    return found


def first_followed(account: Account) -> Artist:
    """The artist who was followed first."""
    return account.catalogue.artists[account.followed_artists[0]]


def newest(account: Account, artist: str) -> Album:
    """The newest album of the artist called `artist`."""
    return account.catalogue.newest_album(account.catalogue.artist(artist))


def favourite(account: Account) -> Artist:
    """The listener's top artist."""
    return account.catalogue.artists[account.top_artists["medium_term"][0]]


def artists_of(account: Account, uris: Iterable[str]) -> list[str]:
    """The ids of all artists on some tracks."""
    tracks = [account.catalogue.tracks[split_uri(uri)[1]] for uri in uris]
    return list(dict.fromkeys(key for track in tracks for key in track.artists))


def quiet(account: Account) -> set[str]:
    """The URIs of tracks that are quiet by title, by genre, or by a playlist they are in."""
    music = account.catalogue
    found = {
        track.uri
        for track in music.tracks.values()
        if words_of(track.name) & QUIET_WORDS or QUIET_GENRES & set(music.artists[track.artists[0]].genres)
    }
    for item in music.playlists.values():
        if words_of(f"{item.name} {item.description}") & QUIET_WORDS:
            found.update(item.tracks)
    return found


# Edits: the changes that fulfilled instructions make.


def save_track(account: Account, *tracks: Track) -> None:
    """Put tracks into the library, unless they are in it."""
    present = {item.uri for item in account.saved_tracks}
    account.saved_tracks += [Saved(track.uri, "") for track in tracks if track.uri not in present]


def save_album(account: Account, album: Album) -> None:
    """Put an album into the library."""
    account.saved_albums.append(Saved(album.uri, ""))


def follow(account: Account, *keys: str) -> None:
    """Follow artists, unless they are followed."""
    account.followed_artists += [key for key in dict.fromkeys(keys) if key not in account.followed_artists]


def unfollow(account: Account, key: str) -> None:
    """Stop following an artist; ValueError if the artist is not followed."""
    account.followed_artists.remove(key)


def enqueue(account: Account, track: Track) -> None:
    """Put a track at the end of the queue."""
    account.player.queue.append(track.uri)


def put(target: Playlist, track: Track) -> None:
    """Put a track at the end of a playlist."""
    target.items.append(Saved(track.uri, ""))


def drop(target: Playlist, position: int) -> None:
    """Take an item out of a playlist."""
    del target.items[position]


def rename(target: Playlist, account: Account, name: str) -> None:
    """Give a playlist another name."""
    target.name = account.catalogue.said("name", name)


def set_volume(account: Account, percent: int) -> None:
    """Make the active device louder or quieter."""
    account.device(None).volume = account.catalogue.said("volume_percent", percent)


def album_called(account: Account, name: str, artist: str) -> Album:
    """An album by name and artist."""
    return account.catalogue.album(name, artist)


def _save_mojito(account: Account) -> None:
    save_album(account, album_called(account, "Mojito", "Jay Chou"))


def _follow_current(account: Account) -> None:
    follow(account, current(account).artists[0])


def _queue_from_dark_side(account: Account) -> None:
    album = album_called(account, "The Dark Side of the Moon", "Pink Floyd")
    enqueue(account, account.catalogue.album_tracks(album)[0])


def _queue_from_first_followed(account: Account) -> None:
    music = account.catalogue
    enqueue(account, music.album_tracks(music.newest_album(first_followed(account)))[0])


def _skip(account: Account) -> None:
    account.player.skip(0)


def _skip_at(account: Account, percent: int) -> None:
    account.player.skip(0)
    set_volume(account, percent)


def _skip_and_repeat(account: Account) -> None:
    account.player.skip(0)
    account.player.repeat = "track"


def _unfollow_and_skip(account: Account) -> None:
    unfollow(account, current(account).artists[0])
    account.player.skip(0)


def _empty_and_rename(account: Account) -> None:
    target = playlist(account, "My R&B")
    target.items = []
    rename(target, account, "Test")


def _pause_on_my_pc(account: Account) -> None:
    if account.device(None).name == account.catalogue.said("device", "My PC"):
        account.player.is_playing = False


def _move_to_my_pc(account: Account) -> None:
    name = account.catalogue.said("device", "My PC")
    account.activate(next(device for device in account.devices if device.name == name))


def _forget_all(account: Account) -> None:
    account.saved_tracks, account.followed_artists, account.followed_users = [], [], []


def _queue_first_and_repeat(account: Account) -> None:
    account.player.queue.append(account.saved_tracks[0].uri)
    account.player.repeat = "track"


def _unsave_first_album(account: Account) -> None:
    del account.saved_albums[0]


def _unsave_third_track(account: Account) -> None:
    del account.saved_tracks[2]


def _rename_first(account: Account) -> None:
    rename(first_playlist(account), account, "My First")


def _empty_first(account: Account) -> None:
    first_playlist(account).items = []


def _hide_first(account: Account) -> None:
    first_playlist(account).public = False


def _pause(account: Account) -> None:
    account.player.is_playing = False


def _repeat(account: Account) -> None:
    account.player.repeat = "track"


# Conditions that several end states meet: each returns the problem, or None.


def _softer(before: Account, after: Account) -> str | None:
    old, new = before.device(None), after.device(before.device(None).id)
    if new.volume >= old.volume:
        return f"the volume is {new.volume}, it was {old.volume}"
    as_before = [replace(item, volume=old.volume) if item is new else item for item in after.devices]
    return None if as_before == before.devices else "another device changed"


def _album_plays(before: Account, after: Account, artist: str) -> str | None:
    wanted = newest(before, artist)
    if not after.player.is_playing:
        return "nothing plays"
    playing = current(after)
    return None if playing.album == wanted.id else f"{playing.name} plays, which is not on {wanted.name}"


def _quiet_plays(before: Account, after: Account) -> str | None:
    if not after.player.is_playing:
        return "nothing plays"
    if (before.player.track, before.player.context) == (after.player.track, after.player.context):
        return "the same plays as before"
    return None if after.player.track in quiet(before) else f"{current(after).name} plays, which is not quiet"


def _my_rock_plays(before: Account, after: Account) -> str | None:
    wanted = playlist(before, "My Rock")
    uris = [item.uri for item in wanted.items]
    if not after.player.is_playing:
        return "nothing plays"
    if after.player.context != wanted.uri and after.player.items != uris:
        return "something else than the playlist plays"
    return None if after.player.track in uris else "a song from elsewhere plays"


def _third_plays_again(before: Account, after: Account) -> str | None:
    if not after.player.is_playing or after.player.track != before.saved_tracks[2].uri:
        return "the third song of the library does not play"
    return None if after.player.repeat == "track" else f"the repeat mode is {after.player.repeat}"


def only_by(account: Account, uris: list[str], artist: str) -> str | None:
    """The problem with tracks that should be different ones by `artist`, or None."""
    key = account.catalogue.artist(artist).id
    if len(set(uris)) != len(uris):
        return "a track comes twice"
    bad = [uri for uri in uris if key not in artists_of(account, [uri])]
    return f"{account.catalogue.label(bad[0])} is not by {artist}" if bad else None


def _three_of_mariah(account: Account, uris: list[str]) -> str | None:
    return f"{len(uris)} tracks instead of three" if len(uris) != 3 else only_by(account, uris, "Mariah Carey")


def _some_of_bigbang(account: Account, uris: list[str]) -> str | None:
    return only_by(account, uris, "BIGBANG") if uris else "the playlist is empty"


def _the_queue(account: Account, uris: list[str]) -> str | None:
    shown = set(account.player.upcoming[:SHOWN])
    if not shown <= set(uris):
        return "a song of the queue is missing"
    return None if set(uris) <= shown | {account.player.track} else "a song from elsewhere is in the playlist"


def exactly(wanted: Iterable[str], uris: list[str]) -> str | None:
    """The problem with tracks that should be the `wanted` ones in any order, or None."""
    expected = set(wanted)
    return (
        None
        if set(uris) == expected
        else f"{len(set(uris) & expected)} of {len(expected)} wanted tracks, {len(uris)} in all"
    )


def _tops_of_taylor(account: Account, uris: list[str]) -> str | None:
    music = account.catalogue
    return exactly((track.uri for track in music.top_tracks(music.artist("Taylor Swift"))), uris)


def _own_tops(account: Account, uris: list[str]) -> str | None:
    return exactly((f"spotify:track:{key}" for key in account.top_tracks["medium_term"]), uris)


def _nothing(account: Account, uris: list[str]) -> str | None:
    return "the playlist is not empty" if uris else None


# Expectations of answers.


def one(name: str, others: Iterable[str] = ()) -> Expectation:
    """The answer must name `name`, not only as a part of one of the `others`, and few of those."""
    return Names((name,), rivals=tuple(other for other in others if other != name))


def _albums_saved(account: Account) -> Expectation:
    albums = account.catalogue.albums
    names = tuple(albums[split_uri(item.uri)[1]].name for item in account.saved_albums)
    return Names(names, forbidden=tuple(sorted({album.name for album in albums.values()}.difference(names))))


def _same_genre(account: Account) -> Expectation:
    music, playing = account.catalogue, current(account)
    genres = set(music.artists[playing.artists[0]].genres)
    names = [
        track.name
        for track in music.tracks.values()
        if track.id != playing.id and genres & set(music.artists[track.artists[0]].genres)
    ]
    return _some_songs(account, names)


def _songs_of_favourite(account: Account) -> Expectation:
    songs = account.catalogue.songs(favourite(account))
    return _some_songs(account, [track.name for track in songs])


def _some_songs(account: Account, names: Sequence[str]) -> Expectation:
    """The answer must name one of these songs, and few others."""
    others = {track.name for track in account.catalogue.tracks.values()}.difference(names)
    return Names(tuple(names), least=1, rivals=tuple(sorted(others)))


def song(account: Account, track: Track) -> Expectation:
    """The answer must name `track`, and few other songs."""
    return one(track.name, (other.name for other in account.catalogue.tracks.values()))


def album_named(account: Account, album: Album) -> Expectation:
    """The answer must name `album`, and few others."""
    return one(album.name, (other.name for other in account.catalogue.albums.values()))


def similar_to(account: Account, artist: Artist, *, least: int) -> Expectation:
    """The answer must name at least `least` artists similar to `artist`."""
    music = account.catalogue
    names = tuple(music.artists[key].name for key in artist.related)
    others = tuple(item.name for item in music.artists.values() if item.name not in (*names, artist.name))
    return Names(names, least=least, longer=(artist.name,), rivals=others)


def artist_named(account: Account, artist: Artist) -> Expectation:
    """The answer must name `artist`, and few others."""
    return one(artist.name, (item.name for item in account.catalogue.artists.values()))


PUBLISHED: dict[int, Judge] = {
    0: Creates("Love Mariah", _three_of_mariah),
    1: Becomes(_queue_from_dark_side),
    2: Becomes(lambda a: put(first_playlist(a), a.catalogue.track("Summertime Sadness", "Lana Del Rey"))),
    3: Becomes(lambda a: _skip_at(a, 60)),
    4: Becomes(lambda a: save_track(a, current(a))),
    5: Becomes(_queue_from_first_followed),
    6: Becomes(_follow_current),
    7: Meets(lambda before, after: _album_plays(before, after, "Taylor Swift"), PLAYING),
    8: Meets(_quiet_plays, PLAYING),
    9: Becomes(lambda a: follow(a, *artists_of(a, [a.player.history[0].track])[:1])),
    10: Becomes(_skip_and_repeat),
    11: Becomes(_save_mojito),
    12: Becomes(_rename_first),
    13: Becomes(lambda a: unfollow(a, current(a).artists[0])),
    14: Meets(_softer, ("devices",), (PAUSE, PLAY)),
    15: Creates("Current", _the_queue),
    16: Says(lambda a: song(a, current(a))),
    17: Becomes(_unsave_first_album),
    18: Says(_albums_saved),
    19: Becomes(_follow_current),
    20: Says(_same_genre),
    21: Becomes(lambda a: put(playlist(a, "My Rock"), a.catalogue.album_tracks(newest(a, "The Beatles"))[0])),
    22: Creates("Love Taylor", _tops_of_taylor),
    23: Says(lambda a: artist_named(a, favourite(a))),
    24: Says(_songs_of_favourite),
    25: Becomes(_empty_and_rename),
    26: Says(lambda a: album_named(a, a.catalogue.albums[current(a).album])),
    27: Becomes(_pause_on_my_pc),
    28: Becomes(_move_to_my_pc, (PAUSE, PLAY)),
    29: Says(lambda a: album_named(a, newest(a, "Maroon 5"))),
    30: Says(lambda a: similar_to(a, first_followed(a), least=2)),
    31: Becomes(_unfollow_and_skip),
    32: Becomes(lambda a: follow(a, a.catalogue.artist("Taylor Swift").id)),
    33: Creates("My Top", _own_tops),
    34: Becomes(lambda a: drop(playlist(a, "My Rock"), 0)),
    35: Becomes(lambda a: save_track(a, *a.catalogue.top_tracks(first_followed(a)))),
    36: Becomes(lambda a: follow(a, *artists_of(a, [item.uri for item in playlist(a, "My R&B").items]))),
    37: Becomes(lambda a: drop(playlist(a, "My R&B"), 1)),
    38: Becomes(_unsave_third_track),
    39: Becomes(lambda a: follow(a, *a.catalogue.track("When You Believe", "Whitney Houston").artists)),
    40: Becomes(_skip),
    41: Meets(_my_rock_plays, PLAYING),
    42: Becomes(_forget_all, free=("saved_albums",)),
    43: Creates("Quiet", _nothing),
    44: Becomes(lambda a: set_volume(a, 20)),
    45: Becomes(_repeat),
    46: Becomes(lambda a: _skip_at(a, 80), (PAUSE,), ("player.is_playing",)),
    47: Meets(lambda before, after: _album_plays(before, after, "BIGBANG"), PLAYING),
    48: Becomes(lambda a: follow(a, *album_called(a, "Mojito", "Jay Chou").artists)),
    49: Meets(_third_plays_again, (*PLAYING, "player.repeat")),
    50: Creates("BIGBANG", _some_of_bigbang),
    51: Becomes(_empty_first),
    52: Becomes(_hide_first),
    53: Becomes(_save_mojito),
    54: Becomes(_queue_first_and_repeat),
    55: Says(lambda a: one(a.profile.display_name)),
    56: Becomes(_pause),
}
