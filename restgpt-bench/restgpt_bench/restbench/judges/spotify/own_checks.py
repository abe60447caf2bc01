"""Judges of our own Spotify instructions, by the key of the task."""

from restgpt_bench.restbench.judges.answer import Number
from restgpt_bench.restbench.judges.spotify.checks import (
    PLAYING,
    album_called,
    artists_of,
    current,
    drop,
    enqueue,
    exactly,
    follow,
    newest,
    one,
    only_by,
    playlist,
    rename,
    save_album,
    save_track,
    set_volume,
    similar_to,
    song,
    unfollow,
)
from restgpt_bench.restbench.judges.spotify.judges import Becomes, Creates, Judge, Meets, Says
from restgpt_bench.worlds.spotify.account import Account
from restgpt_bench.worlds.spotify.catalogue import split_uri


def _rename(account: Account) -> None:
    target = playlist(account, "Long Drives")
    target.public = False
    rename(target, account, "Short Drives")


def _go_back(account: Account) -> None:
    account.player.back(0)
    account.player.repeat = "context"


def _follow_and_save(account: Account) -> None:
    uris = [item.uri for item in playlist(account, "Kitchen Radio").items]
    follow(account, *artists_of(account, uris))
    save_track(account, account.catalogue.tracks[split_uri(uris[0])[1]])


def _two_of_herons(account: Account, uris: list[str]) -> str | None:
    return f"{len(uris)} tracks instead of two" if len(uris) != 2 else only_by(account, uris, "The Paper Herons")


def _plays_on_and_on(before: Account, after: Account) -> str | None:
    wanted = newest(before, "Nils Okafor")
    if not after.player.is_playing or current(after).album != wanted.id:
        return f"{wanted.name} does not play"
    if after.player.context != wanted.uri:
        problem = exactly((track.uri for track in before.catalogue.album_tracks(wanted)), after.player.items)
        if problem:
            return problem
    return None if after.player.repeat == "context" else f"the repeat mode is {after.player.repeat}"


OWN: dict[str, Judge] = {
    "email": Says(lambda a: one(a.profile.email)),
    "last-song": Says(lambda a: song(a, a.catalogue.tracks[split_uri(a.player.history[0].track)[1]])),
    "volume": Becomes(lambda a: set_volume(a, 35)),
    "count": Says(lambda a: Number(len(a.saved_tracks))),
    "save-album": Becomes(lambda a: save_album(a, album_called(a, "Copper Weather", "Kestrel Avenue"))),
    "unfollow-latest": Becomes(lambda a: unfollow(a, a.followed_artists[-1])),
    "rename": Becomes(_rename),
    "back": Becomes(_go_back),
    "similar": Says(lambda a: similar_to(a, a.catalogue.artists[current(a).artists[0]], least=3)),
    "opening": Says(lambda a: song(a, a.catalogue.album_tracks(newest(a, "The Paper Herons"))[0])),
    "drop-last": Becomes(lambda a: drop(playlist(a, "Long Drives"), -1)),
    "queue-top": Becomes(lambda a: enqueue(a, a.catalogue.songs(a.catalogue.artist("Mirabel Anand"))[0])),
    "herons": Creates("Herons", _two_of_herons),
    "follow-kitchen": Becomes(_follow_and_save),
    "play-on-and-on": Meets(_plays_on_and_on, (*PLAYING, "player.repeat")),
}
