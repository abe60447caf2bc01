"""Prompting for calls: a structured reply, native tool calling, or the layouts of the OpenFunctions models."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from pydantic import BaseModel, Field

from restgpt.specs.docs.documentation import documentation as operation_documentation
from restgpt.specs.reading.text.hidden import marks
from restgpt.tools.model.errors import REPAIRS, ModelReplyError, ModelUnavailableError
from restgpt.tools.model.reply import read_text, reply_to, text_of
from restgpt.tools.model.structured import ask
from restgpt.tools.model.usage import ModelUsage, usage_of
from restgpt_functions.calls.call import Call, CallSyntaxError, to_plain
from restgpt_functions.calls.parsing import parse_calls
from restgpt_functions.context import FunctionContext, Prompting
from restgpt_functions.docs.function import Function
from restgpt_functions.docs.writers import Version, to_gorilla, to_openai
from restgpt_functions.judge import CallAnswer, Judge, Judged
from restgpt_functions.prompts import render

ASK_TOOL = "ask_for_missing_values"
DECLINE_TOOL = "decline_no_function_fits"
OPERATION_TOKENS = 900
"""The upper bound on the documentation of one operation, in tokens."""


class FunctionCall(BaseModel):
    """One call."""

    name: str = Field(description="The function's name, exactly as documented.")
    arguments: dict[str, Any] = Field(default_factory=dict, description="Its arguments by name.")


class FunctionReply(BaseModel):
    """The calls that do what is asked."""

    thought: str = Field(default="", description="Which functions fit, and where each value comes from.")
    calls: list[FunctionCall] = Field(default_factory=list, description="The calls in order.")
    question: str = Field(default="", description="Asks for the required values that are missing, if any are.")
    refusal: str = Field(default="", description="Says that no function fits, if none does.")


@dataclass(frozen=True, slots=True)
class Spoken:
    """A judged answer and its cost."""

    judged: Judged
    usage: ModelUsage


def speak(
    model: BaseChatModel,
    conversation: Sequence[BaseMessage],
    functions: Sequence[Function],
    judge: Judge,
    *,
    context: FunctionContext,
    today: str,
) -> Spoken:
    """Ask for calls until they fit the documentation, at most `REPAIRS` times more; raises `ModelError`."""
    if context.prompting == "structured":
        return _speak_structured(model, conversation, functions, judge, context=context, today=today)
    if context.prompting == "tools":
        return _speak_tools(model, conversation, functions, judge, today=today)
    return _speak_layout(model, conversation, functions, judge, version=context.prompting)


def _speak_structured(
    model: BaseChatModel,
    conversation: Sequence[BaseMessage],
    functions: Sequence[Function],
    judge: Judge,
    *,
    context: FunctionContext,
    today: str,
) -> Spoken:
    rule = render("functions_placeholder" if judge.placeholders else "functions_ask")
    system = render("functions", functions=documentation(functions), today=today, missing=rule)
    found: list[Judged] = []

    def check(reply: FunctionReply) -> None:
        calls = tuple(Call(call.name, call.arguments) for call in reply.calls)
        found[:] = [judge.judge(CallAnswer(calls, reply.question.strip(), reply.refusal.strip()))]

    _, usage = ask(
        model, [SystemMessage(system), *conversation], FunctionReply, method=context.structured_output, check=check
    )
    return Spoken(found[0], usage)


@marks
def documentation(functions: Sequence[Function]) -> str:
    """The documentation of functions for the model: one JSON object a line, operations in their own notation."""
    tools, _ = to_openai(functions)
    lines = []
    for function, tool in zip(functions, tools, strict=True):
        if function.operation is not None:
            docs = operation_documentation(function.operation, budget=OPERATION_TOKENS)
            lines.append(f"## {function.name}\n{docs}\nArguments by place: path, query, header, cookie, body.")
        else:
            described = {**tool["function"], "name": function.name}
            lines.append(json.dumps(described, ensure_ascii=False))
    return "\n".join(lines)


def _speak_tools(
    model: BaseChatModel,
    conversation: Sequence[BaseMessage],
    functions: Sequence[Function],
    judge: Judge,
    *,
    today: str,
) -> Spoken:
    tools, _ = to_openai(functions)
    rule = render("functions_placeholder") if judge.placeholders else render("functions_tools_ask", ask=ASK_TOOL)
    system = render("functions_tools", today=today, missing=rule, decline=DECLINE_TOOL)
    offered = [*tools, *_signals(judge.placeholders)]
    messages: list[BaseMessage] = [SystemMessage(system), *conversation]
    used = ModelUsage()
    reason = ""
    for _ in range(REPAIRS + 1):
        reply, usage = ask_with_tools(model, messages, offered)
        used += usage
        try:
            return Spoken(judge.judge(read_message(reply, functions)), used)
        except ValueError as error:
            reason = str(error)
        messages += [reply, *_told(reply, render("functions_repair", problems=reason))]
    raise ModelReplyError("list of calls", reason, usage=used)


def ask_with_tools(
    model: BaseChatModel, messages: Sequence[BaseMessage], tools: Sequence[dict[str, Any]]
) -> tuple[AIMessage, ModelUsage]:
    """One reply with native tool calling, and its cost; raises `ModelUnavailableError` when the provider fails."""
    try:
        reply = reply_to(model.bind_tools(list(tools)), messages)
    except NotImplementedError:
        raise ModelUnavailableError("The model has no native tool calling; use another way of prompting.") from None
    return reply, usage_of(reply)


def _signals(placeholders: bool) -> list[dict[str, Any]]:
    """The tools with which the model asks a question or refuses, so that both are structured like a call."""
    text = {"type": "string"}
    ask_tool = {
        "name": ASK_TOOL,
        "description": "Ask for required values that the conversation does not give.",
        "parameters": {
            "type": "object",
            "properties": {
                "question": {**text, "description": "The question; it names every missing value."},
                "function": {**text, "description": "The function that is to be called."},
                "known": {"type": "object", "description": "The arguments that are known."},
            },
            "required": ["question", "function"],
        },
    }
    decline = {
        "name": DECLINE_TOOL,
        "description": "Say that none of the functions can do what is asked.",
        "parameters": {"type": "object", "properties": {"reason": text}, "required": ["reason"]},
    }
    listed = [decline] if placeholders else [ask_tool, decline]
    return [{"type": "function", "function": one} for one in listed]


def _told(reply: AIMessage, text: str) -> list[BaseMessage]:
    """The answer to a reply: providers want one tool message per tool call."""
    if not reply.tool_calls:
        return [HumanMessage(text)]
    return [ToolMessage(text, tool_call_id=call["id"] or "call") for call in reply.tool_calls]


def read_message(message: AIMessage, functions: Sequence[Function]) -> CallAnswer:
    """The proposal in a message: its tool calls, the list that the OpenFunctions server sends, or calls in its text.

    Raises `ValueError` for a call that cannot be read.
    """
    if message.invalid_tool_calls and not message.tool_calls:
        raise ValueError(f"The arguments of {message.invalid_tool_calls[0]['name']} are not valid JSON.")
    legacy = message.additional_kwargs.get("function_call")
    if not message.tool_calls and legacy:
        return CallAnswer(tuple(parse_calls(json.dumps(legacy), functions)))
    calls, question, refusal = [], "", ""
    for call in message.tool_calls:
        if call["name"] == ASK_TOOL:
            question = str(call["args"].get("question", "")).strip() or "Which values should I use?"
            known = call["args"].get("known")
            calls.append(Call(str(call["args"].get("function", "")), known if isinstance(known, dict) else {}))
        elif call["name"] == DECLINE_TOOL:
            refusal = str(call["args"].get("reason", "")).strip() or "No function fits."
        else:
            calls.append(Call(call["name"], call["args"]))
    if message.tool_calls:
        return CallAnswer(tuple(calls), question, refusal)
    return read_reply(text_of(message), functions)


def read_reply(text: str, functions: Sequence[Function]) -> CallAnswer:
    """The proposal in a text: its calls, else a question if it has a question mark, else a refusal."""
    calls = tuple(parse_calls(text, functions))
    if calls or not text.strip():
        return CallAnswer(calls)
    return CallAnswer(question=text.strip()) if "?" in text else CallAnswer(refusal=text.strip())


def _speak_layout(
    model: BaseChatModel,
    conversation: Sequence[BaseMessage],
    functions: Sequence[Function],
    judge: Judge,
    *,
    version: Prompting,
) -> Spoken:
    said = [str(message.text) for message in conversation if isinstance(message, HumanMessage)]
    question = "\n".join(said)
    used = ModelUsage()
    reason = ""
    for _ in range(REPAIRS + 1):
        text, usage = read_text(model, [HumanMessage(layout(question, functions, version))])
        used += usage
        try:
            return Spoken(judge.judge(read_reply(text, functions)), used)
        except (CallSyntaxError, ValueError) as error:
            reason = str(error)
        question = "\n".join([*said, f"{text}\n{render('functions_repair', problems=reason)}"])
    raise ModelReplyError("list of calls", reason, usage=used)


def layout(question: str, functions: Sequence[Function], version: Prompting) -> str:
    """The prompt as the OpenFunctions model of that version saw it in training, to the space at its end."""
    known: Version = "v2" if version == "v2" else "v0" if version == "v0" else "v1"
    docs = json.dumps([to_gorilla(function, known) for function in functions])
    name = "functions_v2" if version == "v2" else "functions_v1"
    return f"{render(name, question=question, functions=docs)} "


def shown_calls(calls: Sequence[Call]) -> str:
    """Calls as JSON, for a prompt."""
    listed = [{"name": call.name, "arguments": to_plain(dict(call.arguments))} for call in calls]
    return json.dumps(listed, ensure_ascii=False)
