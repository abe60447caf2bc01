"""Guards the drawing of the graph: it matches the code, and its edges have the paper's labels of the decisions."""

import re
import runpy
from pathlib import Path

from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict

from restgpt.graph.agent import graph

ROOT = Path(__file__).parents[2]


def test_the_graph_is_named_with_an_edge_for_each_way_and_every_role_is_described() -> None:
    assert graph.get_name() == "RestGPT"
    drawing = graph.get_graph()
    assert len(drawing.edges) == 10
    roles = {"planner", "selector", "caller", "parser"}
    assert drawing.nodes.keys() == {*roles, "intake", "__start__", "__end__"}
    assert all((drawing.nodes[role].metadata or {})["description"] for role in roles)


def test_the_exported_graph_brings_no_checkpointer() -> None:
    assert graph.checkpointer is None
    assert graph.store is None


def test_the_picture_is_the_graph_as_it_is_wired_with_the_decisions_of_the_planner() -> None:
    picture = (ROOT / "docs" / "graph.mmd").read_text(encoding="utf-8")
    edges = re.findall(r"(\w+) -\.->\|\"(.*?)\"\| (\w+);", picture)
    assert {("planner", "plan / continue", "selector"), ("planner", "end", "__end__")} <= set(edges)
    assert ("parser", "result", "planner") in edges
    assert runpy.run_path(str(ROOT / "docs" / "generate.py"))["picture"]() == picture, "run `make docs`"
    assert f"```mermaid\n{picture}```" in (ROOT / "README.md").read_text(encoding="utf-8"), "run `make docs`"


def test_no_label_of_a_decision_is_lost_in_the_drawing() -> None:
    drawn = {(edge.source, edge.target, edge.data) for edge in graph.get_graph().edges}
    wired = {
        (source, end, label)
        for source, branches in graph.builder.branches.items()
        for branch in branches.values()
        for label, end in (branch.ends or {}).items()
    }
    assert ("planner", "selector", "plan / continue") in wired
    assert wired - drawn == set()


def test_two_decisions_for_one_pair_of_nodes_need_one_label_because_langgraph_draws_one_edge() -> None:
    class Round(TypedDict):
        decision: str

    builder = StateGraph(Round)
    for node in ("planner", "selector"):
        builder.add_node(node, lambda state: {})
    builder.add_edge(START, "planner")
    ends = {"plan": "selector", "continue": "selector", "end": END}
    builder.add_conditional_edges("planner", lambda state: state["decision"], ends)
    edges = builder.compile().get_graph().to_json()["edges"]
    assert [edge["data"] for edge in edges if edge["target"] == "selector"] == ["continue"]
