"""RestGPT as a remote graph: `langgraph dev` serves it, and another program calls it like a local graph."""

import sys

from langgraph.pregel.remote import RemoteGraph
from langgraph.types import Command

URL = "http://127.0.0.1:2024"


def main(url: str = URL, instruction: str = "Create a project named Roof garden") -> list[str]:
    """Send an instruction to the server, approve each change it asks about, and return the questions and the answer."""
    graph = RemoteGraph("restgpt", url=url)
    thread = {"configurable": {"thread_id": graph.sync_client.threads.create()["thread_id"]}}
    state = graph.invoke({"instruction": instruction}, thread)
    shown = []
    while pauses := state.get("__interrupt__"):
        actions = [action for pause in pauses for action in pause["value"]["action_requests"]]
        shown += [action["description"] for action in actions]
        decisions = [{"type": "approve"} for _ in actions]
        state = graph.invoke(Command(resume={"decisions": decisions}), thread)
    return [*shown, state["answer"]]


if __name__ == "__main__":
    print("\n---\n".join(main(*sys.argv[1:])))
