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

The wire suite tests which HTTP request a tool makes from an OpenAPI document and grouped arguments, and how it reads
the response. It has {count} cases, one per line, in `tests/support/wire/cases.py`. Each case describes one operation.
The suite calls it through the tool under test against a loopback server that records every byte, and compares the
request that arrived, or the result, with the expected one. It decodes escapes as servers do before it compares: `%20`
and `+` are equal in a query, but `/` and `%2F` differ in a path.

To test another tool, write an adapter: a class with a `name` and one method,
`call(case, document) -> Outcome(status, value, reason)` (`tests/support/wire/case.py`). `tests/support/wire/ours.py` is
an example. Then run:

```
PYTHONPATH=tests/support python -m wire.table wire.ours:RestgptAdapter your_module:YourAdapter
```

`make test` runs every case for this project. `PYTHONPATH=tests/support python -m wire.table --page docs/wire.md`
writes this page.

## Rules that are not obvious

- Arguments are grouped by place, `{{"path", "query", "header", "cookie", "body"}}`. A file is `{{"@file": PATH}}`
  inside an allowed folder, or `{{"@bytes": BASE64, "filename": NAME}}`. RestGPT refuses an unknown name and names the
  nearest known one.
- RestGPT converts a value to the type of its schema if the conversion loses nothing: "5" for an integer, 5 for a
  string, "true" for a boolean, 2.0 for an integer, one value for an array, JSON text for an object. It leaves out a
  null for an optional parameter or property, and for an optional body whose schema has no null.
- RestGPT fills in the default of a required parameter only. It validates all values by JSON Schema before it sends
  anything.
- RestGPT tries a `pattern` only if the pattern has at most ten million ways to match in a text of that length, since
  Python cannot stop a match halfway: three repeats are possible with a hundred letters, a repeat inside a repeat
  (`(a+)+`) with hardly any. It sends other values without this check, and the API validates them. It never tries
  patterns on responses.
- In OpenAPI a server URL has no query. RestGPT reports a server URL with a query as a problem and does not send the
  query; use `query` in `apis.yaml` to send it with every request.
- Deep objects are nested as `a[b][c]`, arrays in them as `a[]`, objects in arrays as `a[0][b]`. Form fields follow
  their Encoding Object; without one, an array repeats its name and an object becomes JSON. A cookie array or object
  becomes one pair per value.
- A path value cannot add a segment, a query or a fragment, and cannot be empty, `.` or `..`.
- RestGPT retries a request that did not arrive, a request that the API refused with 429, a request that only reads or
  is idempotent after 408, 425, 502, 503, 504 or a lost connection, and a request that only reads after 500. It does
  not retry any other POST or PATCH of unknown outcome, unless it has an idempotency key.
  So one approval of a change may send it up to four times, if the API refuses it with 429 each time; `retry_429: false`
  in `apis.yaml` switches that off for an API. A change that is refused in the end, after a try that got no response, or
  502, 503 or 504, may have been made: that is said with its tries, and `restgpt undo` offers to reverse it.
- Interim responses (1xx) are read over; 101 is an error. A body is decoded by its charset only if that is a common one
  of IANA, so not by `utf-7` or Python's `punycode`.
- RestGPT follows redirects of GET and HEAD, to the servers of the API and to configured hosts, and of a
  [confirmed read by POST](security.md#requests-that-read-by-post) with 307 or 308 on its own origin. It sends
  credentials to the same origin only. It connects to private addresses only for base URLs, documents of this machine,
  and `allow_private`.
- A response to a change whose body was cut off keeps its status and is marked as truncated.

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
    """The page of the documentation, with the table."""
    return f"{ABOUT.format(count=len(CASES))}{render({'restgpt': faults})}\n"


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
