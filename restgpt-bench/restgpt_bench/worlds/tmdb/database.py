"""The simulated film database as a world: read only, so its state never changes."""

from collections.abc import Mapping
from functools import lru_cache
from hashlib import sha256
from typing import Any, ClassVar

from restgpt_bench.worlds.exchange import Json, RefusalError
from restgpt_bench.worlds.routing import Routes
from restgpt_bench.worlds.tmdb import discover, movies, people, search, shows, titles
from restgpt_bench.worlds.tmdb.catalogue import Catalogue
from restgpt_bench.worlds.tmdb.seeding.growth import grow
from restgpt_bench.worlds.world import World

ROUTES = Routes()
for module in (titles, movies, shows, people, search, discover):
    ROUTES.update(module.ROUTES)
CODES = {401: 7, 403: 3, 404: 34, 405: 12, 422: 5, 429: 25, 500: 11, 503: 9}


class Tmdb(World[Catalogue]):
    """Films, shows and people, of which only the names are real."""

    name: ClassVar[str] = "tmdb"
    base_path: ClassVar[str] = "/3"
    routes: ClassVar[Mapping[str, Any]] = ROUTES
    key_parameter: ClassVar[str | None] = "api_key"
    invalid_status: ClassVar[int] = 422

    def build(self, fixture: str | None) -> Catalogue:
        """The catalogue of the seed."""
        return grow(self.seed)

    def dump(self) -> Json:
        """Sizes and a digest: the catalogue is too large to show and never changes."""
        return _summary(self.seed)

    def error(self, refusal: RefusalError) -> Json:
        """A code, a message and `success`: false; `errors` lists what is wrong with the arguments."""
        body = {
            "success": False,
            "status_code": CODES.get(refusal.status, 18),
            "status_message": refusal.message,
        }
        return {**body, "errors": list(refusal.details)} if refusal.details else body


@lru_cache(maxsize=8)
def _summary(seed: int) -> dict[str, Json]:
    catalogue = grow(seed)
    records = (catalogue.movies, catalogue.shows, catalogue.people, catalogue.charts)
    return {
        "movies": len(catalogue.movies),
        "shows": len(catalogue.shows),
        "people": len(catalogue.people),
        "digest": sha256(repr(records).encode()).hexdigest(),
    }
