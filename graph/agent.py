"""The agent as a compiled graph without a checkpointer, because a LangGraph server adds its own."""

from restgpt.graph.build import build_graph

graph = build_graph()
