"""The baselines as a LangGraph server loads them, if it is started with `restgpt studio --baselines`."""

from restgpt.nodes.state.state import SHOWN
from restgpt.tools.graphs import ServedGraph
from restgpt_bench.methods.build import build_method

react = ServedGraph.of(build_method("react"), shown=SHOWN)
offline = ServedGraph.of(build_method("offline"), shown=SHOWN)
deps = ServedGraph.of(build_method("deps"), shown=SHOWN)
reflexion = ServedGraph.of(build_method("reflexion"), shown=SHOWN)
