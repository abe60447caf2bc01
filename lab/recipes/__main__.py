"""Prints how recipes do on the tasks that the perfect model solves: `python -m lab.recipes`."""

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from lab.recipes.measure import PAUSE, Measure, Measured, Summary
from restgpt_bench.restbench.suite import NAMES, OWN, SuiteError, open_suite

COLUMNS = (
    *("suite", "n", "savable", "equal", "first run", "again", "fastest"),
    *("elsewhere", "right", "refused", "wrong", "by names"),
)
MOST = 600
"""The maximum number of characters of a reason in the list of failures."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure the suites that the command line names; returns the exit status."""
    options = _options(arguments)
    data = os.environ.get("RESTGPT_DATA")
    names = options.suite or (list(NAMES) if data else list(OWN))
    try:
        suites = [open_suite(name, data=Path(data) if data else None) for name in names]
        if options.only:
            suites = [suite.only(options.only.split(",")) for suite in suites]
    except SuiteError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 2
    results: dict[str, list[Measured]] = {suite.name: [] for suite in suites}

    def finished(measured: Measured) -> None:
        _progress(measured)
        results[measured.suite].append(measured)
        if options.out:
            Path(options.out).write_text(json.dumps(_report(results), ensure_ascii=False, indent=1), encoding="utf-8")

    for suite in suites:
        Measure(suite, seed=options.seed, count=options.count, pause=options.pause).run(finished)
    print(json.dumps(_report(results), ensure_ascii=False) if options.json else _text(results))
    return 0


def _report(results: Mapping[str, Sequence[Measured]]) -> dict[str, Any]:
    """Return the figures of each suite and of all, and every task, as JSON."""
    every = [item for found in results.values() for item in found]
    return {
        "summary": {name: asdict(Summary.of(found)) for name, found in (*results.items(), ("all", every))},
        "tasks": [asdict(item) for item in every],
    }


def _options(arguments: Sequence[str] | None) -> Any:
    parser = argparse.ArgumentParser(prog="python -m lab.recipes", description=__doc__)
    parser.add_argument("--suite", action="append", choices=NAMES, help="a suite; may be repeated; default: all")
    parser.add_argument("--only", help="only the tasks with these keys: I,J")
    parser.add_argument("--seed", type=int, default=0, help="the seed of the world's data")
    parser.add_argument("--count", type=int, default=2, help="the sets of other inputs for each task")
    parser.add_argument("--pause", type=float, default=PAUSE, help="seconds before each timed run; 0: runs in a row")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--out", help="a file for the JSON document")
    return parser.parse_args(arguments)


def _progress(measured: Measured) -> None:
    marks = {"right": "+", "refused": "r", "wrong": "!"}
    state = "=" if measured.equal else "saved" if measured.saved else "-"
    print(
        measured.suite, measured.key, state, "".join(marks[run.outcome] for run in measured.elsewhere), file=sys.stderr
    )


def _text(results: Mapping[str, Sequence[Measured]]) -> str:
    every = [item for found in results.values() for item in found]
    rows = [COLUMNS, *(_row(name, Summary.of(found)) for name, found in (*results.items(), ("all", every)))]
    widths = [max(len(row[column]) for row in rows) for column in range(len(COLUMNS))]
    table = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([*table, "", *_failures(every)])


def _row(name: str, found: Summary) -> tuple[str, ...]:
    def share(part: int, whole: int) -> str:
        return f"{part}/{whole} {100 * part / whole:.1f} %" if whole else "-"

    return (
        name,
        str(found.tasks),
        share(found.saved, found.solved),
        share(found.equal, found.saved),
        f"{found.first_ms:.1f} ms",
        f"{found.again_ms:.1f} ms",
        f"{found.fastest_ms:.1f} ms",
        str(found.elsewhere),
        share(found.right, found.elsewhere),
        share(found.refused, found.elsewhere),
        share(found.wrong, found.elsewhere),
        str(found.by_names),
    )


def _failures(every: Sequence[Measured]) -> list[str]:
    lines = []
    for item in every:
        if item.problem:
            lines.append(f"{item.suite} {item.key}: {item.problem[:MOST]}")
        for run in item.elsewhere:
            if run.outcome != "right":
                given = json.dumps(run.inputs, ensure_ascii=False)
                late = " after a change" if run.changed else ""
                lines.append(
                    f"{item.suite} {item.key}, seed {run.seed}, {given}: {run.outcome}{late}: {run.why[:MOST]}"
                )
    return lines


if __name__ == "__main__":
    sys.exit(main())
