"""The smallest world: projects and tasks of a small team, with writes, pages and a planted instruction."""

from restgpt_bench.worlds.toy.board import Toy

WORLD = Toy

__all__ = ["WORLD", "Toy"]
