"""The exported graphs: what `langgraph dev` serves. They have no checkpointer, since the server brings one."""

from restgpt.graph.build import build_graph
from restgpt.graph.methods.build import build_method

graph = build_graph()
react = build_method("react")
offline = build_method("offline")
deps = build_method("deps")
reflexion = build_method("reflexion")
