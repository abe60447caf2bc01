"""The agent as a LangGraph server loads it; see `ServedAgent`."""

from restgpt.graph import agent
from restgpt.graph.served_agent import ServedAgent

restgpt = ServedAgent.of(agent.graph)
