"""The API of a LangGraph server without APIs of its own: the simulated task board of a team."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

WORLD = "toy"


@contextmanager
def board() -> Iterator[dict[str, Any]]:
    """Serve the board until the block ends, and yield its entry for apis.yaml."""
    from restgpt.specs.reading.download import bundled_document
    from restgpt_bench.worlds import CREDENTIAL, open_world
    from restgpt_bench.worlds.server import serve

    world = open_world(WORLD)
    with serve(world) as server:
        auth = dict.fromkeys(sorted(world.api.security_schemes)[:1], CREDENTIAL)
        yield {"spec": str(bundled_document(WORLD)), "base_url": server.url, "auth": auth}
