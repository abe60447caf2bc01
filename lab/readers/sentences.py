"""Twenty plain sentences over three published documents, with the operations that the search has to find for each."""

import json
from pathlib import Path
from typing import Any

from lab.readers.run import SUITES
from lab.readers.task import Suite
from restgpt import load_api
from restgpt_bench.retrieval.instructions import Part, read_rows

FILE = Path(__file__).with_name("sentences.json")


def rows() -> dict[str, list[dict[str, Any]]]:
    """The sentences by the name of their suite."""
    found: dict[str, list[dict[str, Any]]] = {}
    for row in json.loads(FILE.read_text(encoding="utf-8")):
        found.setdefault(row["document"], []).append(row)
    return found


def suites() -> list[Suite]:
    """The suites on whose documents there are sentences."""
    return [suite for suite in SUITES if suite.name in rows()]


def part(suite: Suite) -> Part:
    """The sentences over one document; raises `MissingDocumentError`, and `SpecError` for an operation it lacks."""
    api = load_api(suite.document(), name=suite.name, base_url="http://127.0.0.1:1")
    return read_rows(suite.name, api, list(rows()[suite.name]))
