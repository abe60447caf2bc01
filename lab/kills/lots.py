"""Lots: many small jobs of two changes each, and the graph that the instances of a server serve for them.

A lot is a task of the team board that is created and then changed, in words that only this lot has. So the world's log
shows how often each change of each lot arrived.
"""

import os
import re

from lab.kills.job import Job, JobModel, library
from lab.kit.errand import DONE
from restgpt.graph.build import Graph, build_graph
from restgpt.nodes.run.services import Services
from restgpt_bench.worlds import served_api

WORLD = "toy"

API_URL = "RESTGPT_LOTS_URL"
"""The environment variable with the base URL of the world."""

CHANGES = 2
"""The number of changes of a lot."""

_INSTRUCTION = re.compile(r"\bSet up lot (\d+)\b")
_MARK = re.compile(r"\bof lot (\d+)\b")

_CODE = """
title, note = {title!r}, {note!r}
found = lambda: next((item for item in rows(find_tasks(text=title)) if item["title"] == title), None)
made = sure(lambda: create_task(project_id=1, body={{"title": title}}), found)
change(made["id"], notes=note)
print({done!r})
"""


def lot(number: int) -> Job:
    """Return the job of a lot: after an error, its program looks whether the change was made."""
    code = _CODE.format(title=f"Task of lot {number}", note=f"Note of lot {number}", done=DONE)
    return Job(WORLD, f"Set up lot {number} in project 1.", library(WORLD) + code, CHANGES)


def lot_of_prompt(prompt: str) -> Job:
    """Return the job that a prompt is about."""
    found = _INSTRUCTION.findall(prompt)
    if not found:
        raise LookupError("The prompt names no lot.")
    return lot(int(found[-1]))


def lot_of_change(body: object) -> int | None:
    """Return the number of the lot that a change with this body belongs to."""
    found = _MARK.search(str(body))
    return int(found[1]) if found else None


def serve_lots() -> Graph:
    """Build the graph of lots over the world at the address in the environment."""
    api = served_api(WORLD, os.environ[API_URL])
    return build_graph(services=Services([api], model=JobModel.choosing(lot_of_prompt)))
