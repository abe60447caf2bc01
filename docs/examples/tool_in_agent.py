"""RestGPT as a tool of another agent: a pause for approval pauses the agent, and resuming the agent answers it."""

from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from restgpt import build_graph, load_api
from restgpt.specs.reading.download import bundled_document
from restgpt.tools.model.scripted import ScriptedModel
from restgpt_bench.worlds import CREDENTIAL, open_world
from restgpt_bench.worlds.server import serve

# Scripted replies for this example; your program passes model="openai:gpt-5-mini" to both instead.
CODE = """
delete_task(task_id=110)
print("The task 110 is deleted.")
"""
REPLIES = [{"decision": "program", "text": CODE}]
REQUEST = {"name": "team_board", "args": {"request": "Delete the task 110"}, "id": "call-1", "type": "tool_call"}
HOST_REPLIES = [AIMessage("", tool_calls=[REQUEST]), "Done: task 110 is gone."]


def main() -> list[str]:
    """Let an agent use the board, approve the change that it asks for, and return the question and the conversation."""
    with serve(open_world("toy")) as server:
        document = bundled_document("toy").read_bytes()
        api = load_api(document, base_url=server.url, auth={"key": CREDENTIAL})
        graph = build_graph([api], model=ScriptedModel(REPLIES))

        @tool
        def team_board(request: str) -> str:
            """Look up or change projects and tasks on the team's board; say what you want in plain language."""
            return str(graph.invoke({"instruction": request})["answer"])

        host = create_agent(ScriptedModel(HOST_REPLIES), [team_board], checkpointer=InMemorySaver())
        thread = {"configurable": {"thread_id": "1"}}

        paused = host.invoke({"messages": [("user", "Please remove task 110")]}, thread)
        [pause] = paused["__interrupt__"]
        shown = pause.value["action_requests"][0]["description"]
        done = host.invoke(Command(resume={"decisions": [{"type": "approve"}]}), thread)
        return [shown, *(str(message.text) for message in done["messages"][1:] if message.text)]


if __name__ == "__main__":
    print("\n---\n".join(main()))
