"""RestGPT as a node of a host graph: the two graphs share `messages` and the host's checkpointer."""

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command

from restgpt import build_graph, load_api
from restgpt.specs.reading.download import bundled_document
from restgpt.tools.model.scripted import ScriptedModel
from restgpt_bench.worlds import CREDENTIAL, open_world
from restgpt_bench.worlds.server import serve

# Scripted replies for this example; your program passes model="openai:gpt-5-mini" instead.
CODE = """
made = create_project(body={"name": "Roof garden"})
print(f"The project {made['name']} is created.")
"""
REPLIES = [{"decision": "program", "text": CODE}]


def greet(state: MessagesState) -> dict[str, list[tuple[str, str]]]:
    """Greet the user; a node of the host."""
    return {"messages": [("ai", "Good morning. I pass this on.")]}


def main() -> list[str]:
    """Ask the host for a change, approve what it shows, and return the conversation."""
    with serve(open_world("toy")) as server:
        document = bundled_document("toy").read_bytes()
        api = load_api(document, base_url=server.url, auth={"key": CREDENTIAL})
        builder = StateGraph(MessagesState)
        builder.add_node("greet", greet)
        builder.add_node("restgpt", build_graph([api], model=ScriptedModel(REPLIES)))
        builder.add_edge(START, "greet")
        builder.add_edge("greet", "restgpt")
        builder.add_edge("restgpt", END)
        host = builder.compile(checkpointer=InMemorySaver())
        thread = {"configurable": {"thread_id": "1"}}

        paused = host.invoke({"messages": [("user", "Create a project named Roof garden")]}, thread)
        [pause] = paused["__interrupt__"]
        shown = pause.value["action_requests"][0]["description"]
        done = host.invoke(Command(resume={"decisions": [{"type": "approve"}]}), thread)
        return [shown, *(str(message.text) for message in done["messages"])]


if __name__ == "__main__":
    print("\n---\n".join(main()))
