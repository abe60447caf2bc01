"""Measures what a thread takes on disk, and the processor time of a turn, by the number of turns.

Run it with `python -m lab.speed.threads`, or `make bench-threads`. A turn is one program that makes ten small
reads on the team board, one after the other, with a scripted model and the database of the command line.
"""

import argparse
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from lab.kit.board import Programmer, board_agent, board_resources
from lab.kit.table import markdown
from restgpt.graph.persistence import FILE, thread_config
from restgpt.nodes.run.services import Context
from restgpt_bench.worlds import open_world
from restgpt_bench.worlds.server import serve

TURNS = (8, 32, 160)
INSTRUCTION = f"Read the tasks {', '.join(map(str, range(101, 111)))}."
CODE = "titles = [get_task(task_id=number)['title'] for number in range(101, 111)]\nprint(len(titles), 'tasks.')"
LAST = 20
"""The number of turns of which the mean time is told, because the whole lists are written about so often."""


def measured(turns: Sequence[int]) -> list[dict[str, Any]]:
    """Return the bytes of a thread after each of some numbers of turns, and the processor time that a turn takes."""
    found, taken = [], []
    with ExitStack() as stack:
        server = stack.enter_context(serve(open_world("toy")))
        home = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        graph = board_agent(board_resources(server.url, Programmer(code=CODE), Context(writes="deny")), stack, home)
        for turn in range(1, max(turns) + 1):
            started = time.process_time()
            result = graph.invoke({"instruction": INSTRUCTION}, thread_config("t"))
            taken.append(time.process_time() - started)
            if result["answer"] != "10 tasks.":
                raise RuntimeError(f"turn {turn} answered {result['answer']!r}")
            if turn in turns:
                found.append({"turns": turn, **sizes(home / FILE), "turn_s": statistics.mean(taken[-LAST:])})
    return found


def sizes(database: Path) -> dict[str, float]:
    """Return the megabytes of the checkpoints, of their writes and of the store, and how many checkpoints there are."""
    with closing(sqlite3.connect(database)) as connection:

        def one(query: str) -> int:
            return int(connection.execute(query).fetchone()[0] or 0)

        return {
            "checkpoints": one("SELECT count(*) FROM checkpoints"),
            "checkpoints_mb": one("SELECT sum(length(checkpoint) + length(metadata)) FROM checkpoints") / 1e6,
            "writes_mb": one("SELECT sum(length(value)) FROM writes") / 1e6,
            "store_mb": one("SELECT sum(length(value)) FROM store") / 1e6,
        }


def main() -> None:
    """Parse the command line and print the table."""
    parser = argparse.ArgumentParser(description="Bytes of a thread and time of a turn, by the number of turns.")
    parser.add_argument("--turns", type=int, nargs="+", default=TURNS, metavar="N", help="the numbers of turns")
    found = measured(parser.parse_args().turns)
    heads = ("turns", "checkpoints", "checkpoints MB", "writes MB", "store MB", "processor s a turn")
    rows = ([f"{value:.2f}" if isinstance(value, float) else value for value in row.values()] for row in found)
    print(*markdown(heads, rows), sep="\n")


if __name__ == "__main__":
    main()
