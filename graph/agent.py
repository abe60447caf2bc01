"""The agent and the baselines as compiled graphs without a checkpointer, because a LangGraph server adds its own."""

from restgpt.graph.build import build_graph
from restgpt.graph.methods.build import build_method

graph = build_graph()
react = build_method("react")
offline = build_method("offline")
deps = build_method("deps")
reflexion = build_method("reflexion")
