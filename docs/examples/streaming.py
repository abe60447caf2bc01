"""A run shown while it goes on: progress as lines, a question before a change, and the answer as it is written."""

from collections.abc import Iterator
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from restgpt import build_graph, load_api
from restgpt.specs.reading.download import bundled_document
from restgpt.tools.model.scripted import ScriptedModel
from restgpt_bench.worlds import CREDENTIAL, open_world
from restgpt_bench.worlds.server import serve

# Scripted replies for this example; your program passes model="openai:gpt-5-mini" instead.
CODE = """
create_project(body={"name": "Roof garden"})
stop("The project is created.")
"""
REPLIES = [
    {"decision": "program", "text": CODE},
    {"decision": "end", "text": "The project Roof garden is on the board now.", "fulfilled": True},
]


def line_of(event: dict[str, Any]) -> str:
    """Return the line that shows a progress event; empty for an event that is not shown."""
    match event["type"]:
        case "task_started":
            return f"Task: {event['text']}"
        case "operations_chosen":
            return "Plan: " + ", ".join(chosen["operation"] for chosen in event["operations"])
        case "program_written":
            return f"A program of {len(event['code'].splitlines())} lines"
        case "request_started":
            return f"{event['method']} {event['operation']} …"
        case "request_finished":
            return f"{event['method']} {event['operation']}: {event['status'] or event['error']}"
    return ""


def show(parts: Iterator[Any]) -> Iterator[str]:
    """Yield the lines of progress, the questions, and the parts of the answer."""
    for mode, part in parts:
        if mode == "custom":
            yield line_of(part)
        elif mode == "messages":
            chunk, _ = part
            # A chunk with the type `remove` takes the message with its id back.
            yield f"(message {chunk.id} is withdrawn)" if chunk.type == "remove" else chunk.content
        elif "__interrupt__" in part:
            yield part["__interrupt__"][0].value["action_requests"][0]["name"] + "?"


def main() -> list[str]:
    """Ask for a change, approve it, and return everything that was shown."""
    with serve(open_world("toy")) as server:
        document = bundled_document("toy").read_bytes()
        api = load_api(document, base_url=server.url, auth={"key": CREDENTIAL})
        graph = build_graph([api], model=ScriptedModel(REPLIES), checkpointer=InMemorySaver())
        thread = {"configurable": {"thread_id": "1"}}
        modes = ["custom", "messages", "updates"]

        given: Any = {"messages": [("user", "Create a project named Roof garden")]}
        shown = list(show(graph.stream(given, thread, stream_mode=modes)))
        decided = Command(resume={"decisions": [{"type": "approve"}]})
        shown += show(graph.stream(decided, thread, stream_mode=modes))
        return [line for line in shown if line]


if __name__ == "__main__":
    print("\n".join(main()))
