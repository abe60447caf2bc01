"""Guards the drawing of the graph: it matches the code, and its edges have the paper's labels of the decisions."""

import re
import runpy
from pathlib import Path

from restgpt.graph.agent import graph

ROOT = Path(__file__).parents[2]


def test_the_graph_is_named_and_every_role_is_described() -> None:
    assert graph.get_name() == "RestGPT"
    drawing = graph.get_graph()
    roles = {"planner", "selector", "caller", "approval", "sender", "parser"}
    assert roles <= drawing.nodes.keys()
    assert all((drawing.nodes[role].metadata or {})["description"] for role in roles)


def test_the_exported_graph_brings_no_checkpointer() -> None:
    assert graph.checkpointer is None
    assert graph.store is None


def test_the_picture_shows_the_decisions_of_the_planner() -> None:
    picture = (ROOT / "docs" / "graph.mmd").read_text(encoding="utf-8")
    edges = re.findall(r"(\w+) -\.->\|\"(.*?)\"\| (\w+);", picture)
    assert ("planner", "plan / continue", "selector") in edges
    assert ("planner", "end", "__end__") in edges
    assert ("parser", "result", "planner") in edges


def test_the_picture_is_the_graph_as_it_is_wired() -> None:
    drawn = runpy.run_path(str(ROOT / "docs" / "generate.py"))["picture"]()
    assert drawn == (ROOT / "docs" / "graph.mmd").read_text(encoding="utf-8"), "run `make docs`"
    assert f"```mermaid\n{drawn}```" in (ROOT / "README.md").read_text(encoding="utf-8"), "run `make docs`"
