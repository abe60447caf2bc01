"""The baselines as a LangGraph server loads them, if it is started with `langgraph.baselines.json`."""

from restgpt.bench.methods.build import build_method
from restgpt.graph.served_agent import ServedAgent

react = ServedAgent.of(build_method("react"))
offline = ServedAgent.of(build_method("offline"))
deps = ServedAgent.of(build_method("deps"))
reflexion = ServedAgent.of(build_method("reflexion"))
