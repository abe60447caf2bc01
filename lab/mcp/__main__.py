"""`python -m lab.mcp`: development tasks through MCP servers in a plain tool-calling loop, side by side."""

import argparse
import asyncio
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lab.kit.table import markdown
from lab.mcp.loop import Attempt, attempt
from lab.mcp.surfaces import SURFACES, Person
from restgpt.tools.errors import RestgptError
from restgpt.tools.model.provider import resolve_model
from restgpt_bench.restbench.suite import OWN, Item, SuiteError, open_suite
from restgpt_bench.worlds import TODAY, open_world
from restgpt_bench.worlds.server import serve

TASKS = {
    "dev-toy": ("add", "delete"),
    "dev-tmdb": (
        "birthday", "count", "headquarters", "guest", "last-part", "higher", "lead", "birthplace", "first-director",
    ),
    "dev-spotify": (
        "volume", "save-album", "unfollow-latest", "rename", "back", "drop-last", "queue-top", "herons",
        "follow-kitchen",
    ),
}  # fmt: skip
"""The tasks by default: twenty, eleven of them with changes."""

READS = ("GET", "HEAD", "OPTIONS")


@dataclass(frozen=True, slots=True)
class Result:
    """One task on one surface; `changes` were sent, `unapproved` are those that no question to a person showed."""

    surface: str
    suite: str
    key: str
    success: bool
    why: str
    changes: int
    unapproved: int
    attempt: Attempt

    def to_json(self) -> dict[str, Any]:
        """Return the result as plain JSON."""
        return asdict(self)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tasks and print a table; returns 2 for a model or a task that there is not."""
    parser = argparse.ArgumentParser(prog="python -m lab.mcp", description=__doc__)
    parser.add_argument("--surface", action="append", choices=SURFACES, help="one server; may be repeated (all)")
    parser.add_argument("--model", required=True, metavar="PROVIDER:NAME", help="the chat model of the loop")
    parser.add_argument("--task", action="append", metavar="SUITE/KEY", help="one task; may be repeated (twenty)")
    parser.add_argument("--patience", type=float, default=120, metavar="SECONDS", help="time limit of a model call")
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help="append the results as lines of JSON; skip those in it"
    )
    given = parser.parse_args(arguments)
    try:
        model = resolve_model(given.model, timeout=given.patience)
        chosen = list(_tasks(given.task))
    except RestgptError as error:
        print(error, file=sys.stderr)
        return 2
    known = {} if given.out is None or not given.out.exists() else _read(given.out)
    results = []
    for surface in given.surface or SURFACES:
        for suite, item in chosen:
            found = known.get((surface, suite, item.key))
            if found is None:
                found = asyncio.run(run(surface, suite, item, model)).to_json()
                if given.out is not None:
                    with given.out.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(found, ensure_ascii=False) + "\n")
                print(f"{surface} {suite}/{item.key}: {'ok' if found['success'] else found['why']}", file=sys.stderr)
            results.append(found)
    print("\n".join(table(results)))
    return 0


def _read(path: Path) -> dict[tuple[str, str, str], dict[str, Any]]:
    results = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return {(one["surface"], one["suite"], one["key"]): one for one in results}


def _tasks(named: Sequence[str] | None) -> Iterator[tuple[str, Item]]:
    for name in named or [f"{suite}/{key}" for suite, keys in TASKS.items() for key in keys]:
        suite, _, key = name.partition("/")
        if suite not in OWN:
            raise SuiteError(f"There is no task {name}. A task is SUITE/KEY; the suites are: {', '.join(OWN)}.")
        yield suite, open_suite(suite).only([key]).items[0]


async def run(surface: str, suite: str, item: Item, model: Any) -> Result:
    """Carry out one task on a fresh world, and judge it by the world and the answer."""
    world = open_world(OWN[suite])
    world.reset(item.task.fixture)
    person = Person()
    with serve(world) as server:
        url = server.url
        async with SURFACES[surface](OWN[suite], url, person) as client:
            done = await attempt(client, model, item.instruction, today=TODAY.isoformat())
    verdict = item.task.check(world, world.log, done.answer)
    changes = [entry for entry in world.log if entry.method not in READS]
    unapproved = sum(not person.saw(entry.method, f"{url}{entry.path}") for entry in changes)
    return Result(surface, suite, item.key, verdict.ok, verdict.why, len(changes), unapproved, done)


def table(results: Sequence[dict[str, Any]]) -> Iterator[str]:
    """The results as a Markdown table with one row for each surface."""
    counted = ("model calls", "tool calls", "input tokens", "output tokens")
    rows = []
    for surface in dict.fromkeys(one["surface"] for one in results):
        own = [one for one in results if one["surface"] == surface]
        sums = [sum(one["attempt"][name.replace(" ", "_")] for one in own) for name in counted]
        more = [sum(one[name] for one in own) for name in ("changes", "unapproved")]
        right = f"{sum(one['success'] for one in own)} of {len(own)}"
        rows.append([surface, right, *(f"{number:,}" for number in (*sums, *more))])
    return markdown(("server", "success", *counted, "changes", "unapproved"), rows)


if __name__ == "__main__":
    sys.exit(main())
