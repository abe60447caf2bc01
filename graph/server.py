"""The agent as a LangGraph server loads it."""

from restgpt.graph import agent
from restgpt.nodes.state.state import SHOWN
from restgpt.tools.graphs import ServedGraph

restgpt = ServedGraph.of(agent.graph, shown=SHOWN)
