"""Guards the simulated Spotify: what each operation answers, changes and refuses, and what the seed decides."""

from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest
import yaml

from restgpt.specs import Api, load_api
from restgpt.specs.reading.download import bundled_document
from restgpt_bench.restbench.judges.spotify.changes import changes
from restgpt_bench.restbench.judges.spotify.tasks import own, published
from restgpt_bench.worlds.exchange import Reply, Request
from restgpt_bench.worlds.spotify import Spotify
from restgpt_bench.worlds.spotify.search import find, parse, words_of

FOREIGN = "Folk After Dark"


@pytest.fixture
def world() -> Spotify:
    return Spotify(seed=0)


def get(world: Spotify, path: str, **query: Any) -> Any:
    reply = world.call(f"GET {path}", query=query)
    assert reply.status == 200, reply.body
    return reply.body


def refused(reply: Reply, status: int) -> str:
    assert reply.status == status, reply.body
    assert reply.body["error"]["status"] == status
    return str(reply.body["error"]["message"])


def search(world: Spotify, text: str, kind: str) -> list[Any]:
    items = get(world, "/search", q=text, type=kind)[f"{kind}s"]["items"]
    assert isinstance(items, list)
    return items


def playlist_id(world: Spotify, name: str) -> str:
    return next(item["id"] for item in get(world, "/me/playlists")["items"] if item["name"] == name)


def test_a_request_with_another_token_is_refused(world: Spotify) -> None:
    refused(world.handle(Request("GET", "/v1/me", headers={"Authorization": "Bearer wrong"})), 401)


# Counterfactual values and decoys


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(
    ("text", "kind", "artist"),
    [
        ("Mojito", "album", "Jay Chou"),
        ("The Dark Side of the Moon", "album", "Pink Floyd"),
        ("Summertime Sadness", "track", "Lana Del Rey"),
        ("When You Believe", "track", "Whitney Houston"),
        ("Copper Weather", "album", "Kestrel Avenue"),
        ("Quiet Harbour", "track", "Odile Varga"),
    ],
)
def test_decoys_rank_below_what_is_meant(seed: int, text: str, kind: str, artist: str) -> None:
    found = search(Spotify(seed=seed), text, kind)
    assert found[0]["artists"][0]["name"] == artist
    assert len({item["artists"][0]["name"] for item in found}) >= 2


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_newest_album_is_unique_and_at_neither_end_of_the_list_and_no_best_songs_are_tied(seed: int) -> None:
    music = Spotify(seed=seed).state.catalogue
    for artist in music.artists.values():
        releases = music.releases(artist)
        newest = music.newest_album(artist)
        assert newest.kind == "album"
        assert [album.released for album in releases].count(newest.released) == 1
        assert newest not in (releases[0], releases[-1])
        assert sum(album.kind == "album" for album in releases) >= 3
    for name in ("Taylor Swift", "Whitney Houston", "Lana Del Rey", "Mirabel Anand"):
        top = [track.popularity for track in music.top_tracks(music.artist(name))]
        assert top == sorted(set(top), reverse=True)
        assert len(top) == 10


def test_answers_come_from_the_seed() -> None:
    worlds = [Spotify(seed=seed) for seed in (0, 1)]
    music = [world.state.catalogue for world in worlds]
    assert len({found.newest_album(found.artist("Maroon 5")).name for found in music}) == 2
    assert len({get(world, "/me")["display_name"] for world in worlds}) == 2
    assert len({get(world, "/me/top/artists")["items"][0]["name"] for world in worlds}) == 2


@pytest.mark.parametrize("seed", [0, 1])
def test_the_default_account_fulfils_no_instruction_by_itself(seed: int) -> None:
    world = Spotify(seed=seed)
    playing, saved = world.state.player.track, {item.uri for item in world.state.saved_tracks}
    assert playing not in saved
    last = world.state.catalogue.tracks[world.state.player.history[0].track.rpartition(":")[2]]
    assert not set(last.artists) & set(world.state.followed_artists)
    world.reset("stranger")
    current = world.state.catalogue.tracks[str(world.state.player.track).rpartition(":")[2]]
    assert not set(current.artists) & set(world.state.followed_artists)
    assert not set(current.artists) & set(last.artists)


# Search


def test_search_gives_one_page_per_type(world: Spotify) -> None:
    found = get(world, "/search", q="Taylor Swift", type="artist,album,track", limit=3)
    assert set(found) == {"artists", "albums", "tracks"}
    assert [len(found[name]["items"]) for name in ("artists", "albums", "tracks")] == [2, 3, 3]
    assert "type=album&" in found["albums"]["next"]


def test_search_filters_by_field(world: Spotify) -> None:
    music = world.state.catalogue
    for album in find(music, "album", 'artist:"Jay Chou" year:1990-2023'):
        assert music.artists[album.artists[0]].name == "Jay Chou"
    mojito = music.album("Mojito", "Jay Chou")
    assert find(music, "album", f"mojito artist:Jay Chou year:{mojito.released.year}") == [mojito]
    assert find(music, "album", "mojito artist:Jay Chou year:1950") == []
    song = music.track("Summertime Sadness", "Lana Del Rey")
    assert find(music, "track", "track:Summertime Sadness artist:Lana Del Rey album:Born To Die") == [song]
    assert find(music, "track", f"isrc:{song.isrc}") == [song]
    genre = music.artist("BIGBANG").genres[0]
    assert music.artist("BIGBANG") in find(music, "artist", f'genre:"{genre}"')


def test_search_folds_accents_case_possessives_and_plurals() -> None:
    assert words_of("The Beatle's") == words_of("the BEATLES") == {"the", "beatle"}
    assert words_of("Señor Å") == {"senor", "a"}


def test_search_does_not_forgive_misspellings(world: Spotify) -> None:
    assert search(world, "Mariha Careyy", "artist") == []


def test_an_unquoted_filter_reaches_to_the_next_filter() -> None:
    query = parse('live track:Summertime Sadness artist:"Lana Del Rey" year:2012 remix')
    assert query.filters == {"track": "Summertime Sadness", "artist": "Lana Del Rey", "year": "2012"}
    assert query.words == {"live", "remix"}


# Pages


def test_pages_cover_a_list_without_overlap_and_name_their_neighbours(world: Spotify) -> None:
    world.reset("full-library")
    first = get(world, "/me/tracks")
    assert (len(first["items"]), first["total"], first["previous"]) == (20, 60, None)
    assert first["next"] == "https://api.spotify.com/v1/me/tracks?limit=20&offset=20"
    pages = [first] + [get(world, "/me/tracks", offset=offset) for offset in (20, 40)]
    assert pages[-1]["next"] is None
    assert pages[-1]["previous"].endswith("offset=20")
    assert len({item["track"]["id"] for page in pages for item in page["items"]}) == 60


def test_followed_artists_are_paged_by_cursor(world: Spotify) -> None:
    world.reset("studio")
    first = get(world, "/me/following", type="artist")["artists"]
    assert (len(first["items"]), first["total"]) == (20, 23)
    after = first["cursors"]["after"]
    assert after == first["items"][-1]["id"]
    second = get(world, "/me/following", type="artist", after=after)["artists"]
    assert [item["id"] for item in first["items"] + second["items"]] == world.state.followed_artists
    assert second["next"] is None
    refused(world.call("GET /me/following", query={"type": "artist", "after": "A" * 22}), 400)


def test_the_history_is_paged_by_time(world: Spotify) -> None:
    first = get(world, "/me/player/recently-played")
    second = get(world, "/me/player/recently-played", before=first["cursors"]["before"])
    times = [item["played_at"] for item in first["items"] + second["items"]]
    assert times == sorted(times, reverse=True)
    assert len(set(times)) == first["total"] == 25
    later = get(world, "/me/player/recently-played", after=second["cursors"]["after"], limit=2)
    assert [item["played_at"] for item in later["items"]] == times[18:20]
    refused(world.call("GET /me/player/recently-played", query={"after": 1, "before": 2}), 400)


# Library and follows


@pytest.mark.parametrize("place", ["query", "body"])
@pytest.mark.parametrize(("folder", "kind"), [("tracks", "track"), ("albums", "album")])
def test_ids_are_taken_from_the_query_or_the_body(world: Spotify, place: str, folder: str, kind: str) -> None:
    found = search(world, "BIGBANG", kind)[:2]
    ids = [item["id"] for item in found]
    arguments: dict[str, Any] = {"query": {"ids": ",".join(ids)}} if place == "query" else {"body": {"ids": ids}}
    assert world.call(f"PUT /me/{folder}", **arguments).status == 200
    saved = [item[kind]["id"] for item in get(world, f"/me/{folder}")["items"]]
    assert saved[:2] == ids[::-1]
    assert world.call(f"PUT /me/{folder}", **arguments).status == 200
    assert [item[kind]["id"] for item in get(world, f"/me/{folder}")["items"]] == saved
    assert world.call(f"DELETE /me/{folder}", **arguments).status == 200
    world_now = world.dump()
    world.reset()
    assert world_now == world.dump()


def test_a_uri_is_no_id(world: Spotify) -> None:
    uri = search(world, "Mojito", "album")[0]["uri"]
    assert "base62" in refused(world.call("PUT /me/albums", query={"ids": uri}), 400)
    assert "base62" in refused(world.call("GET /albums/{id}", path={"id": uri}), 400)


@pytest.mark.parametrize("template", ["/albums/{id}", "/artists/{id}", "/tracks/{id}", "/artists/{id}/top-tracks"])
def test_an_unknown_id_is_not_found_and_a_malformed_one_is_a_bad_request(world: Spotify, template: str) -> None:
    refused(world.call(f"GET {template}", path={"id": "0" * 22}), 404)
    refused(world.call(f"GET {template}", path={"id": "nonsense"}), 400)


def test_more_than_fifty_ids_are_refused(world: Spotify) -> None:
    ids = [item.id for item in list(world.state.catalogue.tracks.values())[:51]]
    before = world.snapshot()
    refused(world.call("PUT /me/tracks", body={"ids": ids}), 400)
    refused(world.call("PUT /me/tracks"), 400)
    assert world.snapshot() == before


def test_following_answers_204_and_unfollowing_200(world: Spotify) -> None:
    artist = search(world, "Taylor Swift", "artist")[0]["id"]
    query = {"type": "artist", "ids": artist}
    assert world.call("PUT /me/following", query=query).status == 204
    assert world.state.followed_artists[-1] == artist
    assert world.call("PUT /me/following", query=query).status == 204
    assert world.state.followed_artists.count(artist) == 1
    assert world.call("DELETE /me/following", query=query).status == 200
    assert artist not in world.state.followed_artists
    refused(world.call("PUT /me/following", query={"ids": artist}), 400)


def test_users_can_be_followed(world: Spotify) -> None:
    owner = get(world, "/me/playlists")["items"][-1]["owner"]["id"]
    assert world.call("PUT /me/following", query={"type": "user", "ids": owner}).status == 204
    assert world.dump()["followed_users"] == [owner]
    refused(world.call("PUT /me/following", query={"type": "user", "ids": "nobody"}), 404)


# Playlists


def test_a_playlist_is_created_filled_and_read(world: Spotify) -> None:
    user = get(world, "/me")["id"]
    made = world.call("POST /users/{user_id}/playlists", path={"user_id": user}, body={"name": "New"})
    assert made.status == 201
    assert (made.body["public"], made.body["tracks"]["total"]) == (True, 0)
    songs = search(world, "Mariah Carey", "track")[:3]
    path = {"playlist_id": made.body["id"]}
    uris = {"uris": [song["uri"] for song in songs]}
    added = world.call("POST /playlists/{playlist_id}/tracks", path=path, body=uris)
    assert added.status == 201
    assert added.body["snapshot_id"] != made.body["snapshot_id"]
    world.call("POST /playlists/{playlist_id}/tracks", path=path, query={"uris": songs[0]["uri"], "position": 1})
    read = world.call("GET /playlists/{playlist_id}", path=path).body
    names = [item["track"]["name"] for item in read["tracks"]["items"]]
    assert names == [songs[number]["name"] for number in (0, 0, 1, 2)]
    assert get(world, "/me/playlists")["items"][0]["name"] == "New"


def test_removal_takes_every_occurrence(world: Spotify) -> None:
    path = {"playlist_id": playlist_id(world, "My Rock")}
    uris = [item.uri for item in world.state.own_playlist(path["playlist_id"]).items]
    world.call("POST /playlists/{playlist_id}/tracks", path=path, body={"uris": [uris[0]]})
    reply = world.call("DELETE /playlists/{playlist_id}/tracks", path=path, body={"tracks": [{"uri": uris[0]}]})
    assert reply.status == 200
    assert "snapshot_id" in reply.body
    assert [item.uri for item in world.state.own_playlist(path["playlist_id"]).items] == uris[1:]


def test_a_playlist_of_another_is_read_only(world: Spotify) -> None:
    path = {"playlist_id": playlist_id(world, FOREIGN)}
    uri = search(world, "Mojito", "track")[0]["uri"]
    before = world.snapshot()
    assert world.call("GET /playlists/{playlist_id}", path=path).status == 200
    refused(world.call("PUT /playlists/{playlist_id}", path=path, body={"name": "Mine"}), 403)
    refused(world.call("POST /playlists/{playlist_id}/tracks", path=path, body={"uris": [uri]}), 403)
    refused(world.call("DELETE /playlists/{playlist_id}/tracks", path=path, body={"tracks": [{"uri": uri}]}), 403)
    refused(world.call("POST /users/{user_id}/playlists", path={"user_id": "somebody"}, body={"name": "X"}), 403)
    assert world.snapshot() == before


NOWHERE = "0" * 22
WRONG: list[tuple[str, dict[str, Any], int]] = [
    *(("GET /search", {"query": query}, 400) for query in ({}, {"q": "x"}, {"type": "track"})),
    *(("GET /search", {"query": query}, 400) for query in ({"q": " ", "type": "track"}, {"q": "x", "type": "song"})),
    *(("GET /search", {"query": {"q": "x", "type": "track", "limit": limit}}, 400) for limit in (0, 51, "many")),
    *(("POST /playlists/{playlist_id}/tracks", {"body": body}, 400) for body in (None, {}, ["x"], {"uris": []})),
    ("POST /playlists/{playlist_id}/tracks", {"body": {"uris": "spotify:track:x"}}, 400),
    ("POST /playlists/{playlist_id}/tracks", {"body": {"uris": [NOWHERE]}}, 400),
    ("POST /playlists/{playlist_id}/tracks", {"body": {"uris": [f"spotify:track:{NOWHERE}"]}}, 400),
    ("POST /playlists/{playlist_id}/tracks", {"body": {"uris": ["spotify:track:x"] * 101}}, 400),
    *(("PUT /playlists/{playlist_id}", {"body": body}, 400) for body in (None, {}, {"name": " "}, {"name": 3})),
    *(("PUT /playlists/{playlist_id}", {"body": body}, 400) for body in ({"public": "no"}, {"collaborative": True})),
    ("PUT /me/player/play", {"body": {"context_uri": f"spotify:album:{NOWHERE}"}}, 400),
    ("PUT /me/player/play", {"body": {"context_uri": "born to die"}}, 400),
    ("PUT /me/player/play", {"body": {"uris": [f"spotify:track:{NOWHERE}"]}}, 404),
    ("PUT /me/player/play", {"body": {"uris": "spotify:track:x"}}, 400),
    ("PUT /me/player/play", {"body": {"context_uri": f"spotify:playlist:{NOWHERE}"}}, 404),
    *(("PUT /me/player/volume", {"query": {"volume_percent": wrong}}, 400) for wrong in (101, -1, "loud")),
    ("PUT /me/player/volume", {"query": {}}, 400),
]


@pytest.mark.parametrize(("operation", "given", "status"), WRONG)
def test_what_is_wrong_is_refused_and_changes_nothing(
    world: Spotify, operation: str, given: dict[str, Any], status: int
) -> None:
    path = {"playlist_id": playlist_id(world, "My Rock")} if "{" in operation else {}
    before = world.snapshot()
    refused(world.call(operation, path=path, **given), status)
    assert world.snapshot() == before


def test_fields_narrow_a_reply(world: Spotify) -> None:
    path = {"playlist_id": playlist_id(world, "My Rock")}
    wanted = "name,owner.id,tracks(total,items(track(name,artists(name))))"
    reply = world.call("GET /playlists/{playlist_id}", path=path, query={"fields": wanted}).body
    assert set(reply) == {"name", "owner", "tracks"}
    assert set(reply["owner"]) == {"id"}
    assert set(reply["tracks"]) == {"total", "items"}
    assert set(reply["tracks"]["items"][0]["track"]) == {"name", "artists"}
    assert set(reply["tracks"]["items"][0]["track"]["artists"][0]) == {"name"}


# Player


def test_skipping_plays_the_queue_before_the_album(world: Spotify) -> None:
    player = world.state.player
    started, queued, following = player.track, player.queue[0], player.items[player.position + 1]
    assert world.call("POST /me/player/next").status == 204
    assert player.track == queued
    world.call("POST /me/player/next")
    assert player.track == following
    history = get(world, "/me/player/recently-played", limit=2)["items"]
    assert [item["track"]["uri"] for item in history] == [queued, started]
    world.call("POST /me/player/previous")
    assert player.track == started


def test_the_end_of_an_album_stops_or_repeats(world: Spotify) -> None:
    world.reset("long-queue")
    player = world.state.player
    for _ in range(7):
        world.call("POST /me/player/next")
    assert (player.position, player.is_playing) == (0, False)
    world.call("PUT /me/player/repeat", query={"state": "context"})
    for _ in player.items:
        world.call("POST /me/player/next")
    assert (player.position, player.is_playing) == (0, True)


def test_the_queue_shows_what_comes_next(world: Spotify) -> None:
    song = search(world, "Maroon 5", "track")[0]
    assert world.call("POST /me/player/queue", query={"uri": song["uri"]}).status == 204
    queue = get(world, "/me/player/queue")
    assert queue["currently_playing"]["uri"] == world.state.player.track
    assert [item["uri"] for item in queue["queue"]] == world.state.player.upcoming[:20]
    assert queue["queue"][1]["uri"] == song["uri"]
    refused(world.call("POST /me/player/queue", query={"uri": song["id"]}), 400)


def test_episodes_play_but_leave_no_history(world: Spotify) -> None:
    episode = search(world, "Kitchen Physics", "episode")[0]
    world.call("PUT /me/player/play", body={"uris": [episode["uri"]]})
    assert get(world, "/me/player")["currently_playing_type"] == "episode"
    total = get(world, "/me/player/recently-played")["total"]
    world.call("POST /me/player/next")
    assert get(world, "/me/player/recently-played")["total"] == total


def test_playback_moves_to_the_device_that_is_named(world: Spotify) -> None:
    devices = {item["name"]: item["id"] for item in get(world, "/me/player/devices")["devices"]}
    track = world.state.player.track
    assert world.call("PUT /me/player/play", query={"device_id": devices["My PC"]}).status == 204
    state = get(world, "/me/player")
    assert (state["device"]["name"], state["item"]["uri"], state["is_playing"]) == ("My PC", track, True)
    refused(world.call("PUT /me/player/play", query={"device_id": "elsewhere"}), 404)


def test_a_command_that_is_already_true_violates_a_restriction(world: Spotify) -> None:
    refused(world.call("PUT /me/player/play"), 403)
    assert world.call("PUT /me/player/pause").status == 204
    refused(world.call("PUT /me/player/pause"), 403)
    assert world.call("PUT /me/player/play").status == 204


def test_a_context_starts_where_the_offset_says(world: Spotify) -> None:
    album = search(world, "reputation", "album")[0]
    tracks = [item["uri"] for item in world.call("GET /albums/{id}/tracks", path={"id": album["id"]}).body["items"]]
    for offset in ({"position": 2}, {"uri": tracks[2]}):
        body = {"context_uri": album["uri"], "offset": offset, "position_ms": 1000}
        assert world.call("PUT /me/player/play", body=body).status == 204
        assert get(world, "/me/player/currently-playing")["item"]["uri"] == tracks[2]
    refused(world.call("PUT /me/player/play", body={"context_uri": album["uri"], "offset": {"position": 99}}), 400)


def test_nothing_playing_is_204_and_commands_find_no_device(world: Spotify) -> None:
    world.reset("idle")
    for path in ("/me/player", "/me/player/currently-playing"):
        reply = world.call(f"GET {path}")
        assert (reply.status, reply.body) == (204, None)
    reply = world.call("PUT /me/player/pause")
    refused(reply, 404)
    assert reply.body["error"]["reason"] == "NO_ACTIVE_DEVICE"
    queue = get(world, "/me/player/queue")
    assert queue == {"currently_playing": None, "queue": []}


# Suggestions


def test_recommendations_share_a_genre_with_the_seeds(world: Spotify) -> None:
    artist = world.state.catalogue.artist("Lana Del Rey")
    found = get(world, "/recommendations", seed_artists=artist.id, limit=30)
    assert len(found["tracks"]) == 30
    for track in found["tracks"]:
        assert set(world.state.catalogue.artists[track["artists"][0]["id"]].genres) & set(artist.genres)
    refused(world.call("GET /recommendations"), 400)


def test_new_releases_are_newest_first(world: Spotify) -> None:
    dates = [item["release_date"] for item in get(world, "/browse/new-releases", limit=50)["albums"]["items"]]
    assert dates == sorted(dates, reverse=True)


def test_groups_narrow_the_albums_of_an_artist(world: Spotify) -> None:
    path = {"id": world.state.catalogue.artist("Lana Del Rey").id}
    albums = world.call("GET /artists/{id}/albums", path=path).body["items"]
    assert {album["album_group"] for album in albums} == {"album", "single", "compilation", "appears_on"}
    singles = world.call("GET /artists/{id}/albums", path=path, query={"include_groups": "single"}).body["items"]
    assert {album["album_type"] for album in singles} == {"single"}


# The documents


def check_reply(api: Api, operation: str, reply: Reply) -> list[str]:
    response = api.operation(operation).responses[str(reply.status)]
    if not response.content or reply.body is None:
        return [] if reply.body is None else ["a body that the document does not know"]
    schema = api.operation(operation).json_schema(response.content["application/json"].schema or {})
    return [error.json_path for error in jsonschema.Draft202012Validator(schema).iter_errors(reply.body)]


def replies(world: Spotify) -> list[tuple[str, Reply]]:
    made: list[tuple[str, Reply]] = []
    for task in (*published(), *own()):
        world.reset(task.fixture)

        def send(call: Any) -> Reply:
            arguments = {name: call.arguments.get(name) for name in ("path", "query", "body")}
            reply = world.call(call.operation, **arguments)
            made.append((call.operation, reply))
            return reply

        task.replay(world, send)
    world.reset()
    kinds = "album,artist,playlist,track,show,episode,audiobook"
    made.append(("GET /search", world.call("GET /search", query={"q": "the", "type": kinds, "limit": 2})))
    for path in ("/me/player/recently-played", "/browse/new-releases", "/me/player/devices"):
        made.append((f"GET {path}", world.call(f"GET {path}", query={"limit": 2})))
    made.append(("GET /recommendations", world.call("GET /recommendations", query={"seed_genres": "ambient"})))
    made.append(("GET /me/player", world.call("GET /me/player", header={"Authorization": "Bearer x"})))
    return made


@pytest.mark.slow
def test_replies_are_what_the_published_document_says(world: Spotify, data_folder: Any) -> None:
    published_api = load_api(data_folder / "restbench" / "spotify_oas.json")
    # The published schema calls texts what is null where there is no further page and no address.
    nulls = {"$.artists.cursors.after", "$.artists.cursors.before", "$.artists.next", "$.next", "$.seeds[0].href"}
    wrong = {
        (operation, place)
        for operation, reply in replies(world)
        for place in check_reply(published_api, operation, reply)
        if place not in nulls
    }
    assert not wrong


# Differences between states


def test_changes_read_like_sentences(world: Spotify) -> None:
    before = world.dump()
    world.call("PUT /me/player/volume", query={"volume_percent": 7})
    path = {"playlist_id": playlist_id(world, "My Rock")}
    world.call("PUT /playlists/{playlist_id}", path=path, body={"name": "Their Rock"})
    song = search(world, "Mojito", "track")[0]
    world.call("PUT /me/tracks", query={"ids": song["id"]})
    volume = next(item["volume"] for item in before["devices"] if item["is_active"])
    assert changes(before, world.dump()) == [
        f"saved_tracks: new is Mojito, Jay Chou <{song['uri']}>",
        "playlists[My Rock].name: 'My Rock' became 'Their Rock'",
        f"devices[My Phone].volume: {volume} became 7",
    ]


def test_changes_tell_order_from_content() -> None:
    assert changes({"a": [1, 2]}, {"a": [1, 2]}) == []
    assert changes({"a": [1, 2]}, {"a": [2, 1]}) == ["a: in another order"]
    assert changes({"a": [{"id": 1}]}, {"a": []}) == ["a: gone is 1"]


def test_no_description_of_the_document_is_cut_at_a_comma() -> None:
    source = bundled_document("spotify").read_text(encoding="utf-8")
    # A comma inside a flow mapping ends a plain text; what follows becomes a key without a value.
    assert [place for place, value in leaves(yaml.safe_load(source), "") if value is None] == []


def leaves(value: Any, place: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict | list):
        for name, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(item, f"{place}/{name}")
    else:
        yield place, value
