"""Operations as tools of an agent of LangChain: a change pauses the agent, whose resume answers the question."""

from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from restgpt import as_tools, load_api
from restgpt.specs.reading.download import bundled_document
from restgpt.tools.model.scripted import ScriptedModel
from restgpt_bench.worlds import CREDENTIAL, open_world
from restgpt_bench.worlds.server import serve

# Scripted replies for this example; your program passes model="openai:gpt-5-mini" instead.
CALL = {"operation": "delete_task", "arguments": {"path": {"task_id": 110}}}
REPLIES = [
    AIMessage("", tool_calls=[{"name": "find_operations", "args": {"query": "delete a task"}, "id": "call-1"}]),
    AIMessage("", tool_calls=[{"name": "change_operation", "args": CALL, "id": "call-2"}]),
    "Done: task 110 is gone.",
]


def main() -> list[str]:
    """Let an agent use the board, approve the change that it asks for, and return question, results and answer."""
    with serve(open_world("toy")) as server:
        document = bundled_document("toy").read_bytes()
        api = load_api(document, base_url=server.url, auth={"key": CREDENTIAL})
        agent = create_agent(ScriptedModel(REPLIES), as_tools([api]), checkpointer=InMemorySaver())
        thread = {"configurable": {"thread_id": "1"}}

        paused = agent.invoke({"messages": [("user", "Please remove task 110")]}, thread)
        [pause] = paused["__interrupt__"]
        shown = pause.value["action_requests"][0]["description"]
        done = agent.invoke(Command(resume={"decisions": [{"type": "approve"}]}), thread)
        return [shown, *(str(message.text) for message in done["messages"][1:] if message.text)]


if __name__ == "__main__":
    print("\n---\n".join(main()))
