"""Measures the definitions of MCP tools by document: the tokens of the list, and the time of a search.

    python -m lab.mcp.definitions [--folder FOLDER] [--named stripe …]

The documents are those of RESTGPT_DATA, the bundled ones, and the named ones of npm packages. Direct tools are those of
the largest group of at most `MOST` operations with one tag, else the first operations.
"""

import argparse
import os
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from lab.kit.table import markdown
from lab.speed.specs import DOCUMENTS, QUERIES
from restgpt.host.definitions import BUDGET, definitions, tokens_of
from restgpt.host.operations import FOUND_BUDGET, MOST, direct_definitions, found_text
from restgpt.specs import Catalogue, Operation, SpecError, load_api
from restgpt.specs.docs.documentation import TOKEN
from restgpt.specs.reading.download import bundled_document
from restgpt_bench.packages import CACHE, named_document

BUNDLED = ("toy", "tmdb", "spotify")
COLUMNS = ("document", "operations", "tokens", "direct tools", "tokens of these", "find ms", "find tokens")


def documents(folder: Path | None, named: Sequence[str], cache: Path) -> Iterator[tuple[str, Path]]:
    """Yield the name and the path of each document; raises CalledProcessError where npm cannot fetch a named one."""
    for name in BUNDLED:
        yield name, Path(str(bundled_document(name)))
    if folder is not None:
        for path in sorted(folder.rglob("*")):
            if path.suffix in (".json", ".yaml", ".yml"):
                yield str(path.relative_to(folder).with_suffix("")), path
    for name in named:
        yield name, named_document(name, cache)


def group_of(operations: Sequence[Operation]) -> list[Operation]:
    """Return the largest group of operations with one tag that a host can get as direct tools, else the first ones."""
    groups: dict[str, list[Operation]] = {}
    for operation in operations:
        for tag in operation.tags:
            groups.setdefault(tag, []).append(operation)
    fitting = [group for group in groups.values() if len(group) <= MOST]
    return max(fitting, key=len, default=list(operations[:MOST]))


def measure(name: str, path: Path) -> dict[str, Any]:
    """Measure one document; raises `SpecError` for one that cannot be read."""
    api = load_api(path.read_bytes(), name=name)
    catalogue = Catalogue([api])
    group = group_of(api.operations)
    all_direct = direct_definitions(catalogue, list(api.operations[:MOST]))
    found_text(catalogue, QUERIES[0])
    seconds, lengths = [], []
    for query in QUERIES:
        begun = time.perf_counter()
        lengths.append(len(found_text(catalogue, query)))
        seconds.append(time.perf_counter() - begun)
    return {
        "operations": len(api.operations),
        "tokens": tokens_of(definitions([api], has_model=True)),
        "direct tools": len(group),
        "tokens of these": tokens_of(direct_definitions(catalogue, group)),
        "first": tokens_of(all_direct),
        "find ms": round(median(seconds) * 1000, 1),
        "find tokens": -(-max(lengths) // TOKEN),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table, or JSON; returns 1 if a list of definitions or of operations is over its budget."""
    parser = argparse.ArgumentParser(prog="python -m lab.mcp.definitions", description=__doc__)
    data = os.environ.get("RESTGPT_DATA")
    parser.add_argument("--folder", type=Path, default=Path(data) / "openapi" if data else None)
    parser.add_argument("--named", nargs="*", choices=DOCUMENTS, default=list(DOCUMENTS))
    parser.add_argument("--cache", type=Path, default=CACHE)
    given = parser.parse_args(arguments)
    rows, over = [], []
    for name, path in documents(given.folder, given.named, given.cache):
        try:
            row = measure(name, path)
        except SpecError as error:
            rows.append([name, f"not read: {str(error)[:80]}", *[""] * (len(COLUMNS) - 2)])
            continue
        rows.append([name, *(f"{row[key]:,}" for key in COLUMNS[1:])])
        if max(row["tokens"], row["tokens of these"], row["first"]) > BUDGET or row["find tokens"] > FOUND_BUDGET:
            over.append(name)
    print("\n".join(markdown(COLUMNS, rows)))
    if over:
        print(f"over the budget: {', '.join(over)}", file=sys.stderr)
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
