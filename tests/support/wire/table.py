"""Run the wire suite on tools and print a table: `PYTHONPATH=tests/support python -m wire.table [MODULE:CLASS ...]`.

Without names it runs this project's own adapter; `--page FILE` writes the page of the documentation.
"""

import importlib
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from wire.case import Adapter, judge
from wire.cases import CASES
from wire.echo import EchoServer

OURS = "wire.ours:RestgptAdapter"
ABOUT = """\
# The wire suite

What an OpenAPI document and grouped arguments must become on the wire, and what must be made of the answer: {count}
cases, a line each, in `tests/support/wire/cases.py`. Each describes one operation, calls it through the tool under test
against a loopback server that notes every byte, and compares what arrived, or what came of it. Escapes are compared as
servers undo them, so `%20` and `+` are the same in a query, but `/` and `%2F` are not in a path.

Another tool takes part through an adapter: a class with a `name` and one method,
`call(case, document) -> Outcome(status, value, reason)` (`tests/support/wire/case.py`), such as
`tests/support/wire/ours.py`. Then:

```
PYTHONPATH=tests/support python -m wire.table wire.ours:RestgptAdapter your_module:YourAdapter
```

`make test` runs every case for this project. The rest of this page is written by
`PYTHONPATH=tests/support python -m wire.table --page docs/wire.md`.

## What is not obvious

- Arguments come in groups, `{{"path", "query", "header", "cookie", "body"}}`; a file is `{{"@file": PATH}}` inside an
  allowed folder, or `{{"@bytes": BASE64, "filename": NAME}}`. Unknown names are refused, with the nearest known one.
- What loses nothing is brought to its type: "5" for an integer, 5 for a string, "true" for a boolean, 2.0 for an
  integer, one value for an array, JSON text for an object. A null for something optional is left out.
- Only required parameters with a default are filled in. Values are validated by JSON Schema before anything is sent.
- A `pattern` is tried only where it has at most ten million ways to match in a text of that length, since Python
  cannot stop halfway: three repeats go with a hundred letters, a repeat inside a repeat (`(a+)+`) with hardly any.
  Other values go out unchecked by it, and the API judges them. Patterns are never tried on answers.
- A server URL has no query in OpenAPI. One that has is named as a problem, and the query is not sent; `query` of
  `apis.yaml` sends it with every request.
- Nested deep objects are `a[b][c]`, arrays in them `a[]`, objects in arrays `a[0][b]`. Form fields follow their
  Encoding Object; without one, arrays repeat their name and objects become JSON. Cookies are one pair per value.
- A path value never makes a segment, a query or a fragment, and is never empty, `.` or `..`.
- Repeated are requests that did not arrive, those that a 429 turned away, and safe or idempotent ones after 408, 425,
  502, 503, 504 or a broken connection (safe ones after 500 too). A POST or PATCH whose fate is unknown is not.
- Redirects are followed for GET and HEAD, to the servers of the API and configured hosts; credentials go to the same
  origin only. Private addresses are for base URLs, documents of this machine, and `allow_private`.
- A body that broke off after a change keeps its status and is marked as truncated.

## Result

"""

Faults = Mapping[str, str]


def load_adapter(name: str) -> Adapter:
    """Import an adapter by `module:class`."""
    module, _, attribute = name.partition(":")
    found: Adapter = getattr(importlib.import_module(module), attribute)()
    return found


def run(adapter: Adapter) -> dict[str, str]:
    """Run all cases; what is wrong by case, an empty string where nothing is."""
    faults = {}
    with EchoServer() as echo:
        for case in CASES:
            echo.script(case.replies)
            outcome = adapter.call(case, case.document(echo.url))
            faults[case.label] = judge(case, echo.arrived, outcome)
    return faults


def render(results: Mapping[str, Faults]) -> str:
    """The table of passed cases by group, a column for each tool."""
    groups = list(dict.fromkeys(case.group for case in CASES))
    lines = [f"| group | cases | {' | '.join(results)} |", f"|---|---|{'---|' * len(results)}"]
    for group in groups:
        labels = [case.label for case in CASES if case.group == group]
        passed = [str(sum(not faults[label] for label in labels)) for faults in results.values()]
        lines.append(f"| {group} | {len(labels)} | {' | '.join(passed)} |")
    total = [str(sum(not fault for fault in faults.values())) for faults in results.values()]
    lines.append(f"| **all** | **{len(CASES)}** | {' | '.join(f'**{count}**' for count in total)} |")
    return "\n".join(lines)


def page(faults: Faults) -> str:
    """The page of the documentation: the table, and every case by name."""
    parts = [ABOUT.format(count=len(CASES)), render({"restgpt": faults}), "\n\n## Cases\n"]
    for group in dict.fromkeys(case.group for case in CASES):
        names = [_listed(case.name, faults[case.label]) for case in CASES if case.group == group]
        parts.append(f"\n**{group}**: {'; '.join(names)}.\n")
    return "".join(parts)


def _listed(name: str, fault: str) -> str:
    return f"{name} (fails: {fault})" if fault else name


def main(arguments: Sequence[str]) -> int:
    """Run the named adapters and print the table, and below it what failed."""
    if arguments[:1] == ["--page"]:
        Path(arguments[1]).write_text(page(run(load_adapter(OURS))), encoding="utf-8")
        return 0
    adapters = [load_adapter(name) for name in arguments or [OURS]]
    results = {adapter.name: run(adapter) for adapter in adapters}
    print(render(results))
    for name, faults in results.items():
        for label, fault in faults.items():
            if fault:
                print(f"{name}: {label}: {fault}")
    return 0 if all(not fault for faults in results.values() for fault in faults.values()) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
