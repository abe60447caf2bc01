"""Guards the ledger of the crash rig: it compares what was made, not when, in which order and under which id."""

from typing import Any

from lab.kills.ledger import Ledger, ledger
from restgpt_bench.worlds import open_world


def made(*playlists: tuple[str, str]) -> Ledger:
    """The ledger of a world with these playlists, each a name and a description."""
    world = open_world("spotify")
    world.reset()
    user: Any = world.call("GET /me").body
    for name, description in playlists:
        body = {"name": name, "description": description}
        assert world.call("POST /users/{user_id}/playlists", path={"user_id": user["id"]}, body=body).ok
    return ledger(world)


def test_the_stamps_of_two_things_do_not_count_whatever_their_order() -> None:
    first = made(("One", "Made 2026-01-01 lot 9"), ("Two", "Made 2026-01-01 lot 10"))
    assert first == made(("One", "Made 2026-01-01 lot 1"), ("Two", "Made 2026-01-01 lot 2"))


def test_a_missing_thing_counts() -> None:
    wanted = made(("One", "Made 2026-01-01 lot 9"), ("Two", "Made 2026-01-01 lot 10"))
    lacking = made(("One", "Made 2026-01-01 lot 9"))
    assert lacking != wanted
    assert len(lacking.lost(wanted)) == 1
