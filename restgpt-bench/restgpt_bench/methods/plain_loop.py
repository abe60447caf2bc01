"""LangChain's own agent, `create_agent`, with one tool an operation: what RestGPT is compared with."""

import time
from typing import Any
from urllib.parse import quote

import requests
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import StructuredTool

from restgpt.prompts import render
from restgpt.specs import Api, Catalogue
from restgpt_bench.methods.toolbox import Tool, toolbox

TIMEOUT_S = 30
MOST_STEPS = 200


def looped(model: BaseChatModel, api: Api, instruction: str, *, today: str, credential: str) -> dict[str, Any]:
    """Let the agent carry an instruction out unasked; returns the answer and the cost.

    The cost are `calls` of the model, `input_tokens`, `output_tokens`, `requests` and `seconds`. The `credential` is
    sent as a bearer token.
    """
    box, began = toolbox(Catalogue([api])), time.perf_counter()
    defined = [definition["function"] for definition in box.definitions]
    tools = [
        StructuredTool(
            name=one["name"],
            description=one["description"],
            args_schema=one["parameters"],
            func=_sender(box.tools[one["name"]], credential),
        )
        for one in defined
    ]
    agent: Any = create_agent(model, tools, system_prompt=render("tools", today=today))
    given = {"messages": [("user", instruction)]}
    messages = agent.invoke(given, {"recursion_limit": MOST_STEPS})["messages"]
    replies = [message for message in messages if isinstance(message, AIMessage)]
    spent: list[Any] = [reply.usage_metadata or {} for reply in replies]
    return {
        "answer": str(replies[-1].text),
        "calls": len(replies),
        "input_tokens": sum(one.get("input_tokens", 0) for one in spent),
        "output_tokens": sum(one.get("output_tokens", 0) for one in spent),
        "requests": sum(isinstance(message, ToolMessage) for message in messages),
        "seconds": time.perf_counter() - began,
    }


def _sender(tool: Tool, credential: str) -> Any:
    """Return the function of a tool: it sends the request, and gives the body of the answer."""

    def send(**given: Any) -> str:
        places, path = tool.arguments.grouped(given), tool.operation.path
        for name, value in places.get("path", {}).items():
            path = path.replace(f"{{{name}}}", quote(str(value), safe=""))
        answer = requests.request(
            tool.operation.method,
            f"{tool.operation.base_url}{path}",
            params=places.get("query"),
            json=places.get("body"),
            headers={"Authorization": f"Bearer {credential}"},
            timeout=TIMEOUT_S,
        )
        return answer.text if answer.ok else f"HTTP {answer.status_code}: {answer.text}"

    return send
