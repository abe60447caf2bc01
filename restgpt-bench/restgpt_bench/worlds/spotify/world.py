"""The simulated Spotify: the catalogue of a seed and one listener's account."""

from collections.abc import Mapping
from typing import Any, ClassVar

from restgpt_bench.worlds.exchange import Json, RefusalError
from restgpt_bench.worlds.routing import Routes
from restgpt_bench.worlds.spotify import browse_routes, library_routes, player_routes, playlist_routes
from restgpt_bench.worlds.spotify.account import Account, PlayerRefusalError
from restgpt_bench.worlds.spotify.fixtures import FIXTURES, open_account
from restgpt_bench.worlds.world import World

ROUTES = Routes()
for _module in (browse_routes, library_routes, player_routes, playlist_routes):
    ROUTES.update(_module.ROUTES)


class Spotify(World[Account]):
    """A world with state: library, follows, playlists, player."""

    name: ClassVar[str] = "spotify"
    base_path: ClassVar[str] = "/v1"
    routes: ClassVar[Mapping[str, Any]] = ROUTES
    fixtures: ClassVar[tuple[str, ...]] = FIXTURES

    def build(self, fixture: str | None) -> Account:
        """The account of the fixture; the default one is that of RestBench's authors, with attributes from the seed."""
        return open_account(self.seed, fixture)

    def dump(self) -> Json:
        """The account with names beside the URIs."""
        return self.state.dump()

    def error(self, refusal: RefusalError) -> Json:
        """Status and message, and a reason for player commands."""
        message = "Invalid access token" if refusal.status == 401 else refusal.message
        error: dict[str, Any] = {"status": refusal.status, "message": message}
        if isinstance(refusal, PlayerRefusalError):
            error["reason"] = refusal.reason
        return {"error": error}
