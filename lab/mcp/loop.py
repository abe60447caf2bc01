"""A plain tool-calling loop: a chat model gets the tools of an MCP server and an instruction, and nothing else."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from fastmcp import Client
from fastmcp.exceptions import ToolError
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    convert_to_openai_messages,
)

MOST_ROUNDS = 25
"""The maximum number of model calls for one instruction."""

CHARACTERS_PER_TOKEN = 4

SYSTEM = (
    "You carry out the user's instruction with your tools. Today is {today}. Do exactly what the instruction asks for, "
    "and nothing else. When it is done, reply with the answer in one or two sentences, without a tool call."
)


@dataclass(slots=True)
class Attempt:
    """One instruction: the answer, the calls of the model and of tools, and tokens.

    Tokens are estimated alike for all servers and models, as characters divided by `CHARACTERS_PER_TOKEN`: of the
    definitions of the tools and all messages for each model call, and of its replies.
    """

    answer: str = ""
    model_calls: int = 0
    tool_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    errors: list[str] = field(default_factory=list)


async def attempt(client: Client[Any], model: BaseChatModel, instruction: str, *, today: str) -> Attempt:
    """Let a model carry out an instruction with the tools of a connected client."""
    definitions = [_definition(tool) for tool in await client.list_tools()]
    bound = model.bind_tools(definitions)
    messages: list[BaseMessage] = [SystemMessage(SYSTEM.format(today=today)), HumanMessage(instruction)]
    done = Attempt()
    while done.model_calls < MOST_ROUNDS:
        done.model_calls += 1
        done.input_tokens += _tokens([definitions, convert_to_openai_messages(messages)])
        reply = await bound.ainvoke(messages)
        done.output_tokens += _tokens([reply.text, [call["args"] for call in reply.tool_calls]])
        messages.append(reply)
        if not reply.tool_calls:
            done.answer = str(reply.text)
            return done
        messages += await _results(client, reply, done)
    done.errors.append(f"no answer after {MOST_ROUNDS} model calls")
    return done


def _definition(tool: Any) -> dict[str, Any]:
    schema = getattr(tool, "input_schema", None) or tool.inputSchema
    return {
        "type": "function",
        "function": {"name": tool.name, "description": tool.description or "", "parameters": schema},
    }


async def _results(client: Client[Any], reply: AIMessage, done: Attempt) -> Sequence[ToolMessage]:
    made = []
    for call in reply.tool_calls:
        done.tool_calls += 1
        try:
            result = await client.call_tool(call["name"], call["args"], raise_on_error=False)
        except (ToolError, RuntimeError) as error:
            # The client itself refuses a result that does not fit the schema that the server gave.
            text, failed = str(error), True
        else:
            text, failed = "\n".join(map(_text, result.content)), result.is_error
        if failed:
            done.errors.append(f"{call['name']}: {text[:200]}")
        made.append(
            ToolMessage(text, tool_call_id=call["id"], name=call["name"], status="error" if failed else "success")
        )
    return made


def _text(block: Any) -> str:
    """Return what a model sees of a block of a result; a link is shown as its address."""
    return str(getattr(block, "text", None) or getattr(block, "uri", "") or "")


def _tokens(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False)) // CHARACTERS_PER_TOKEN
