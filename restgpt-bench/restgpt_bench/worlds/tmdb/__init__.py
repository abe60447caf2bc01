"""The simulated film database: the operations of TMDB over invented facts about well-known names."""

from restgpt_bench.worlds.tmdb.database import Tmdb

WORLD = Tmdb

__all__ = ["WORLD", "Tmdb"]
