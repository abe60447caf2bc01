"""A remote RestGPT as a node of a host graph: a pause of the server's run pauses the host, and resumes with it."""

import sys
from collections.abc import Callable
from typing import Any
from uuid import NAMESPACE_URL, uuid4, uuid5

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.pregel.remote import RemoteGraph
from langgraph.types import Command, interrupt

URL = "http://127.0.0.1:2024"


def remote_node(graph: RemoteGraph, name: str) -> Callable[..., Any]:
    """Return the node `name` of a remote graph, in a thread of its own for each thread of the host.

    A `RemoteGraph` that is a node itself begins a new run where its host resumes it, so this node asks first what
    waits. After each answer it is left and entered again, so that an answer is for the question that was shown.
    """

    def node(state: MessagesState, config: RunnableConfig) -> Any:
        client = graph.sync_client.threads
        thread = str(uuid5(NAMESPACE_URL, config["configurable"]["thread_id"]))
        client.create(thread_id=thread, if_exists="do_nothing")
        waiting = [pause for pauses in (client.get(thread).get("interrupts") or {}).values() for pause in pauses]
        given: Any = {"messages": state["messages"][-1:]}
        if waiting:
            given = Command(resume={waiting[0]["id"]: interrupt(waiting[0]["value"])})
        done = graph.invoke(given, {"configurable": {"thread_id": thread}})
        return Command(goto=name) if done.get("__interrupt__") else {"messages": done["messages"][-1:]}

    return node


def main(url: str = URL, instruction: str = "Create a project named Roof garden") -> list[str]:
    """Run a host with the server as its node, approve each change, and return the questions and the answer."""
    builder = StateGraph(MessagesState)
    builder.add_node("restgpt", remote_node(RemoteGraph("restgpt", url=url), "restgpt"))
    builder.add_edge(START, "restgpt")
    host = builder.compile(checkpointer=InMemorySaver())
    thread: RunnableConfig = {"configurable": {"thread_id": uuid4().hex}}
    given: Any = {"messages": [("user", instruction)]}
    state = host.invoke(given, thread)
    shown = []
    while pauses := state.get("__interrupt__"):
        actions = [action for pause in pauses for action in pause.value["action_requests"]]
        shown += [action["description"] for action in actions]
        state = host.invoke(Command(resume={"decisions": [{"type": "approve"} for _ in actions]}), thread)
    return [*shown, str(state["messages"][-1].content)]


if __name__ == "__main__":
    print("\n---\n".join(main(*sys.argv[1:])))
