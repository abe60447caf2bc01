"""The baselines as a LangGraph server loads them, if it is started with `langgraph.baselines.json`."""

from restgpt.graph.methods.build import build_method
from restgpt.tools.served_graph import ServedGraph

react = ServedGraph.of(build_method("react"))
offline = ServedGraph.of(build_method("offline"))
deps = ServedGraph.of(build_method("deps"))
reflexion = ServedGraph.of(build_method("reflexion"))
