"""A graph with the state of the agent, as a LangGraph server loads it."""

from restgpt.tools.served_graph import ServedGraph


class ServedAgent(ServedGraph):
    """A served graph with `State`: clients see the plan, the chosen operations, the program and the finished steps."""

    shown = ("plan", "api_plan", "program", "steps")
