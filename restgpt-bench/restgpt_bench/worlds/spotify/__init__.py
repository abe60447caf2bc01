"""The simulated Spotify: a listener's library, playlists, follows and player, and a catalogue drawn from a seed."""

from restgpt_bench.worlds.spotify.world import Spotify

WORLD = Spotify

__all__ = ["WORLD", "Spotify"]
