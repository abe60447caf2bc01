"""The agent as a LangGraph server loads it; see `ServedGraph`."""

from restgpt.graph import agent
from restgpt.tools.served_graph import ServedGraph

restgpt = ServedGraph.of(agent.graph)
