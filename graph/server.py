"""The graphs as a LangGraph server loads them; see `ServedGraph`."""

from restgpt.graph import agent
from restgpt.tools.served_graph import ServedGraph

restgpt = ServedGraph.of(agent.graph)
react = ServedGraph.of(agent.react)
offline = ServedGraph.of(agent.offline)
deps = ServedGraph.of(agent.deps)
reflexion = ServedGraph.of(agent.reflexion)
