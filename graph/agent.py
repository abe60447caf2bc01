"""The graphs that `langgraph dev` serves. They have no checkpointer, because the server adds its own."""

from restgpt.graph.build import build_graph
from restgpt.graph.methods.build import build_method

graph = build_graph()
react = build_method("react")
offline = build_method("offline")
deps = build_method("deps")
reflexion = build_method("reflexion")
