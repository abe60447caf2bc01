"""A remote RestGPT as a node of a host graph: a pause of the server's run pauses the host, and resumes with it."""

import sys
from typing import Any
from uuid import uuid4

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.pregel.remote import RemoteGraph
from langgraph.types import Command

URL = "http://127.0.0.1:2024"


def main(url: str = URL, instruction: str = "Create a project named Roof garden") -> list[str]:
    """Run a host with the server as its node, approve each change, and return the questions and the answer."""
    builder = StateGraph(MessagesState)
    builder.add_node("restgpt", RemoteGraph("restgpt", url=url))
    builder.add_edge(START, "restgpt")
    host = builder.compile(checkpointer=InMemorySaver())
    # The server takes UUIDs for threads.
    thread: RunnableConfig = {"configurable": {"thread_id": str(uuid4())}}
    given: Any = {"messages": [("user", instruction)]}
    state = host.invoke(given, thread)
    shown = []
    while pauses := state.get("__interrupt__"):
        answers = {}
        for pause in pauses:
            actions = pause.value["action_requests"]
            shown += [action["description"] for action in actions]
            answers[pause.id] = {"decisions": [{"type": "approve"} for _ in actions]}
        # By the ids of the pauses: LangGraph passes no other answer to the server, which then asks again.
        state = host.invoke(Command(resume=answers), thread)
    return [*shown, str(state["messages"][-1].content)]


if __name__ == "__main__":
    print("\n---\n".join(main(*sys.argv[1:])))
