"""The graph that the server serves: files a message under a subject."""

from typing import Any

from langgraph.graph import START, MessagesState, StateGraph


def _file(state: MessagesState) -> dict[str, Any]:
    text = str(state["messages"][-1].text).casefold()
    subject = "billing" if "invoice" in text else "general questions"
    return {"messages": [("ai", f"I have filed this under {subject}.")]}


_builder = StateGraph(MessagesState)
_builder.add_node("file", _file)
_builder.add_edge(START, "file")
graph = _builder.compile()
