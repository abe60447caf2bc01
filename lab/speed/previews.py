"""Measures previews and pages of large bodies: seconds of wall clock, and the memory that they take besides the body.

Run it with `python -m lab.speed.previews [--megabytes N]`. Each row is measured in a fresh process, on a body
that was stored and is loaded from the store: "receive" is decoding and storing it, "preview" opens it and previews it,
"page" opens it and reads the last page of its list.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from langgraph.store.memory import InMemoryStore

from lab.kit.fresh import fresh
from lab.kit.memory import forget_peak, memory, peak_mb
from lab.kit.table import markdown
from restgpt.specs.docs.documentation import TOKEN
from restgpt.tools.response.content import Reply
from restgpt.tools.response.page import BUDGET, preview_body, read_page
from restgpt.tools.response.store import ResponseStore

MEGABYTE = 1_000_000
COLUMNS = ("body", "MB", "receive s", "preview s", "page s", "memory MB", "tokens of the preview", "of a page")


def _item(number: int) -> dict[str, Any]:
    nested = {"score": 1.5, "tags": ["a", "b"], "none": None}
    return {"id": number, "name": f"name {number}", **nested, "text": "lorem ipsum " * 12}


def _rows(size: int) -> bytes:
    one = len(json.dumps(_item(100_000))) + 1
    return json.dumps({"items": [_item(number) for number in range(size // one)], "next": "/x?page=2"}).encode()


def _keys(size: int) -> bytes:
    one = len(json.dumps(_item(100_000))) + 16
    return json.dumps({f"key {number}": _item(number) for number in range(size // one)}).encode()


BODIES: dict[str, tuple[str, Callable[[int], bytes]]] = {
    "a list of objects": ("application/json", _rows),
    "an object with many keys": ("application/json", _keys),
    "small numbers": ("application/json", lambda size: b"[" + b"12345," * (size // 6) + b"1]"),
    "one long string": ("application/json", lambda size: json.dumps({"text": "x" * size}).encode()),
    "nothing but brackets": ("application/json", lambda size: b"[" * (size // 2) + b"]" * (size // 2)),
    "plain text": ("text/plain", lambda size: b"lorem ipsum dolor\n" * (size // 18)),
    "binary data": ("application/octet-stream", lambda size: bytes(range(256)) * (size // 256)),
}


def measure(name: str, megabytes: int) -> dict[str, float]:
    """Measure one body in this process, which must be fresh."""
    media_type, make = BODIES[name]
    data = make(megabytes * MEGABYTE)
    store = InMemoryStore()
    begun = time.perf_counter()
    stored = ResponseStore(store).put(Reply(200, "OK", {"content-type": media_type}, media_type, data))
    received = time.perf_counter()
    forget_peak()
    before = memory("VmRSS") >> 20
    shown = preview_body(ResponseStore(store).open(stored.handle))
    previewed = time.perf_counter()
    page = read_page(ResponseStore(store).open(stored.handle), shown.pointer)
    last = read_page(ResponseStore(store).open(stored.handle), shown.pointer, page.count)
    read = time.perf_counter()
    return {
        "megabytes": round(len(data) / MEGABYTE, 1),
        "receive": round(received - begun, 2),
        "preview": round(previewed - received, 2),
        "page": round((read - previewed) / 2, 2),
        "memory": peak_mb() - before,
        "tokens": -(-len(shown.text) // TOKEN),
        "page_tokens": -(-len(last.content) // TOKEN),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a table; returns 1 if a preview is longer than its budget."""
    parser = argparse.ArgumentParser(prog="python -m lab.speed.previews", description=__doc__)
    parser.add_argument("--megabytes", type=int, default=50)
    megabytes = parser.parse_args(arguments).megabytes
    rows = {name: fresh(measure, name, megabytes) for name in BODIES}
    figures = ([name, *(f"{value:,}" for value in row.values())] for name, row in rows.items())
    print(*markdown(COLUMNS, figures), sep="\n")
    return 1 if any(row["tokens"] > BUDGET for row in rows.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
