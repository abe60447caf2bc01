"""Guards the judges of the Spotify tasks: gold succeeds; nothing, guesses, wrong answers and wrong end states fail."""

import json
from pathlib import Path

import pytest

from restgpt.specs import load_api
from restgpt.tools.errors import ArgumentError
from restgpt.tools.request.prepared_request import build_request
from restgpt_bench.restbench.judges.spotify.judges import Says
from restgpt_bench.restbench.judges.spotify.tasks import SpotifyTask, own, published
from restgpt_bench.restbench.judges.task import perform, shape
from restgpt_bench.worlds.spotify import Spotify

TASKS = [*published(), *own()]
SEEDS = (0, 1)


@pytest.fixture(scope="module", params=SEEDS)
def world(request: pytest.FixtureRequest) -> Spotify:
    return Spotify(seed=request.param)


def is_question(task: SpotifyTask) -> bool:
    return isinstance(getattr(task.check, "__self__", None), Says)


def test_a_wrong_answer_fails_after_the_right_calls(world: Spotify) -> None:
    passed = []
    for task in filter(is_question, TASKS):
        world.reset(task.fixture)
        task.replay(world)
        for answer in (task.wrong(world), "I do not know.", ""):
            if task.check(world, world.log, answer).ok:
                passed.append((task.key, answer))
    assert passed == []


@pytest.mark.slow
def test_who_lists_everything_answers_nothing(world: Spotify) -> None:
    passed = []
    for task in filter(is_question, TASKS):
        if task.key in ("55", "email"):
            continue  # There is only one listener whom one could name.
        world.reset(task.fixture)
        task.replay(world)
        music = world.state.catalogue
        names = [item.name for table in (music.artists, music.albums, music.tracks) for item in table.values()]
        if task.check(world, world.log, ", ".join([*names, *map(str, range(500))])).ok:
            passed.append(task.key)
    assert passed == []


def test_saved_albums_with_one_that_is_not_saved_or_one_page_of_them_fail(world: Spotify) -> None:
    task = opened(world, 18)
    page = world.call("GET /me/albums").body
    assert not task.check(world, world.log, ", ".join(item["album"]["name"] for item in page["items"])).ok
    world.reset(task.fixture)
    replay = task.replay(world)
    assert task.check(world, world.log, replay.answer).ok
    assert not task.check(world, world.log, f"{replay.answer}, Copper Weather").ok


def test_changing_something_else_fails(world: Spotify) -> None:
    passed = []
    for task in TASKS:
        world.reset(task.fixture)
        replay = task.replay(world)
        task.spoil(world)
        if task.check(world, world.log, replay.answer).ok:
            passed.append(task.key)
    assert passed == []


@pytest.mark.slow
def test_leaving_out_any_change_fails(world: Spotify) -> None:
    passed = []
    for task in TASKS:
        world.reset(task.fixture)
        calls = task.replay(world).calls
        for left_out, call in enumerate(calls):
            if call.operation.startswith("GET"):
                continue
            # New ids come from the seed, so that the other calls are the same without this one; some may be refused.
            world.reset(task.fixture)
            for other in (*calls[:left_out], *calls[left_out + 1 :]):
                perform(world, other)
            if task.check(world, world.log, task.right(world)).ok:
                passed.append((task.key, call.operation))
    assert passed == []


def test_pausing_another_device_fails(world: Spotify) -> None:
    task = published()[27]
    world.reset()
    assert task.check(world, world.log, "").ok
    world.call("PUT /me/player/pause")
    assert not task.check(world, world.log, "").ok


def opened(world: Spotify, number: int) -> SpotifyTask:
    """A published task, in whose fixture the world is."""
    task = published()[number]
    world.reset(task.fixture)
    return task


def test_a_decoy_fails(world: Spotify) -> None:
    task = opened(world, 53)
    found = world.call("GET /search", query={"q": "Mojito", "type": "album"}).body["albums"]["items"]
    world.call("PUT /me/albums", query={"ids": found[1]["id"]})
    assert not task.check(world, world.log, "Done.").ok


def test_the_first_album_of_the_list_is_not_the_newest(world: Spotify) -> None:
    task = opened(world, 47)
    artist = world.call("GET /search", query={"q": "BIGBANG", "type": "artist"}).body["artists"]["items"][0]
    albums = world.call("GET /artists/{id}/albums", path={"id": artist["id"]}).body["items"]
    world.call("PUT /me/player/play", body={"context_uri": albums[0]["uri"]})
    assert not task.check(world, world.log, "Done.").ok


def test_the_right_order_is_read_from_the_log(world: Spotify) -> None:
    task = opened(world, 14)
    world.call("PUT /me/player/volume", query={"volume_percent": 3})
    assert not task.check(world, world.log, "Done.").ok
    world.call("PUT /me/player/pause")
    world.call("PUT /me/player/play")
    assert task.check(world, world.log, "Done.").ok


def test_gold_is_the_published_path_wherever_that_path_works(data_folder: Path) -> None:
    rows = json.loads((data_folder / "restbench" / "sim_checks.json").read_text(encoding="utf-8"))
    rows = [row for row in rows if row["scenario"] == "spotify"]
    assert len(rows) == len(published())
    for row, task in zip(rows, published(), strict=True):
        ours = [[shape(step) for step in path] for path in task.paths]
        strict = [shape(step) for step in row["gold"]]
        # X: a wrong endpoint, M: a missing one. All other published paths are ours, or one of our alternatives.
        if not set("XM") & set(row["flags"]) and task.key != "42":
            assert strict in ours, task.key
        assert any({shape(step) for step in path} & set(strict) for path in task.paths)


def test_gold_calls_fit_our_document_and_the_published_one(data_folder: Path) -> None:
    world = Spotify(seed=0)
    documents = (world.api, load_api(data_folder / "restbench" / "spotify_oas.json"))
    refused = set()
    for task in TASKS:
        world.reset(task.fixture)
        for call in task.replay(world).calls:
            for api in documents:
                try:
                    build_request(api.operation(call.operation), dict(call.arguments))
                except ArgumentError:
                    refused.add((task.key, call.operation, api is world.api))
    # The published document does not know that playback can begin on another device.
    assert refused == {("28", "PUT /me/player/play", False)}


def episode(world: Spotify) -> str:
    found = world.call("GET /search", query={"q": "Kitchen Physics", "type": "episode"}).body
    return str(found["episodes"]["items"][0]["uri"])


@pytest.mark.parametrize("key", [7, 8, 41, 47, 49])
def test_a_podcast_is_no_song(world: Spotify, key: int) -> None:
    task = opened(world, key)
    world.call("PUT /me/player/play", body={"uris": [episode(world)]})
    world.call("PUT /me/player/repeat", query={"state": "track"})
    assert not task.check(world, world.log, "Done.").ok


def test_a_playlist_of_podcasts_holds_no_songs(world: Spotify) -> None:
    task = opened(world, 50)
    user = world.call("GET /me").body["id"]
    made = world.call("POST /users/{user_id}/playlists", path={"user_id": user}, body={"name": "BIGBANG"}).body
    place = {"playlist_id": made["id"]}
    world.call("POST /playlists/{playlist_id}/tracks", path=place, body={"uris": [episode(world)]})
    assert not task.check(world, world.log, "Done.").ok
