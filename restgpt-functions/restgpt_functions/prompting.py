"""Prompting for calls: a structured reply, native tool calling, or the layouts of the OpenFunctions models."""

import json
from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from pydantic import BaseModel, Field

from restgpt.specs.docs.documentation import documentation as operation_documentation
from restgpt.specs.reading.tree import marks
from restgpt.tools.model.model_errors import REPAIRS, ModelReplyError, ModelUnavailableError, ModelUsage, usage_of
from restgpt.tools.model.reply import read_text, reply_to, text_of
from restgpt.tools.model.structured import ask
from restgpt_functions.calls.call import Call
from restgpt_functions.calls.parsing import parse_calls
from restgpt_functions.context import FunctionContext, Prompting
from restgpt_functions.docs.function import Function, FunctionParameter
from restgpt_functions.docs.writers import Version, to_gorilla, to_openai
from restgpt_functions.judge import Answer, Judge
from restgpt_functions.prompts import render

ASK_TOOL = "ask_for_missing_values"
DECLINE_TOOL = "decline_no_function_fits"
OPERATION_TOKENS = 900
"""The upper bound on the documentation of one operation, in tokens."""

ASK = Function(
    ASK_TOOL,
    "Ask for required values that the conversation does not give.",
    (
        FunctionParameter("question", {"type": "string", "description": "It names every missing value."}, True),
        FunctionParameter("function", {"type": "string", "description": "The function that is to be called."}, True),
        FunctionParameter("known", {"type": "object", "description": "The arguments that are known."}),
    ),
)
DECLINE = Function(
    DECLINE_TOOL,
    "Say that none of the functions can do what is asked.",
    (FunctionParameter("reason", {"type": "string"}, True),),
)
"""The tools with which the model asks a question or refuses, so that both are structured like a call."""

_Asked = Callable[[list[BaseMessage]], tuple[AIMessage, ModelUsage]]


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


def speak(
    model: BaseChatModel, conversation: Sequence[BaseMessage], judge: Judge, *, context: FunctionContext, today: str
) -> tuple[Answer, ModelUsage]:
    """Ask for calls until they fit the documentation, at most `REPAIRS` times more; raises `ModelError`.

    Returns the judged answer and its cost.
    """
    if context.prompting == "structured":
        return _structured(model, conversation, judge, context=context, today=today)
    if context.prompting == "tools":
        return _repaired(_by_tools(model, conversation, judge, today), judge)
    return _repaired(_by_layout(model, conversation, judge, context.prompting), judge)


def _structured(
    model: BaseChatModel, conversation: Sequence[BaseMessage], judge: Judge, *, context: FunctionContext, today: str
) -> tuple[Answer, ModelUsage]:
    rule = render("functions_placeholder" if judge.placeholders else "functions_ask")
    system = render("functions", functions=documentation(judge.functions), today=today, missing=rule)
    found: list[Answer] = []

    def check(reply: FunctionReply) -> None:
        calls = tuple(Call(call.name, call.arguments) for call in reply.calls)
        found[:] = [judge.judge(Answer(calls, reply.question.strip(), reply.refusal.strip()))]

    messages = [SystemMessage(system), *conversation]
    _, usage = ask(model, messages, FunctionReply, method=context.structured_output, check=check)
    return found[0], usage


@marks
def documentation(functions: Sequence[Function]) -> str:
    """The documentation of functions for the model: one JSON object a line, operations in their own notation."""
    lines = []
    for function, tool in zip(functions, to_openai(functions), strict=True):
        if function.operation is not None:
            docs = operation_documentation(function.operation, budget=OPERATION_TOKENS)
            lines.append(f"## {function.name}\n{docs}\nArguments by place: path, query, header, cookie, body.")
        else:
            lines.append(json.dumps({**tool["function"], "name": function.name}, ensure_ascii=False))
    return "\n".join(lines)


def _repaired(ask_once: _Asked, judge: Judge) -> tuple[Answer, ModelUsage]:
    """Ask until the answer fits, with the last reply and its faults in view."""
    used, reason = ModelUsage(), ""
    repairs: list[BaseMessage] = []
    for _ in range(REPAIRS + 1):
        reply, usage = ask_once(repairs)
        used += usage
        try:
            return judge.judge(read_message(reply, judge.functions)), used
        except ValueError as error:
            reason = str(error)
        text = render("functions_repair", problems=reason)
        # Providers want one tool message for each tool call.
        told: list[BaseMessage] = [ToolMessage(text, tool_call_id=call["id"] or "call") for call in reply.tool_calls]
        repairs += [reply, *(told or [HumanMessage(text)])]
    raise ModelReplyError("list of calls", reason, usage=used)


def _by_tools(model: BaseChatModel, conversation: Sequence[BaseMessage], judge: Judge, today: str) -> _Asked:
    rule = render("functions_placeholder") if judge.placeholders else render("functions_tools_ask", ask=ASK_TOOL)
    system = render("functions_tools", today=today, missing=rule, decline=DECLINE_TOOL)
    tools = to_openai([*judge.functions, *([] if judge.placeholders else [ASK]), DECLINE])
    return lambda repairs: ask_with_tools(model, [SystemMessage(system), *conversation, *repairs], tools)


def ask_with_tools(
    model: BaseChatModel, messages: Sequence[BaseMessage], tools: Sequence[dict[str, Any]]
) -> tuple[AIMessage, ModelUsage]:
    """One reply with native tool calling, and its cost; raises `ModelUnavailableError` when the provider fails."""
    try:
        reply = reply_to(model.bind_tools(list(tools)), messages)
    except NotImplementedError:
        raise ModelUnavailableError("The model has no native tool calling; use another way of prompting.") from None
    return reply, usage_of(reply)


def _by_layout(model: BaseChatModel, conversation: Sequence[BaseMessage], judge: Judge, version: Prompting) -> _Asked:
    said = [str(message.text) for message in conversation if isinstance(message, HumanMessage)]

    def ask_once(repairs: list[BaseMessage]) -> tuple[AIMessage, ModelUsage]:
        question = "\n".join([*said, *(str(message.text) for message in repairs[-2:])])
        text, usage = read_text(model, [HumanMessage(layout(question, judge.functions, version))])
        return AIMessage(text), usage

    return ask_once


def layout(question: str, functions: Sequence[Function], version: Prompting) -> str:
    """The prompt as the OpenFunctions model of that version saw it in training, to the space at its end."""
    known: Version = "v2" if version == "v2" else "v0" if version == "v0" else "v1"
    docs = json.dumps([to_gorilla(function, known) for function in functions])
    return f"{render('functions_v2' if known == 'v2' else 'functions_v1', question=question, functions=docs)} "


def read_message(message: AIMessage, functions: Sequence[Function]) -> Answer:
    """The answer in a message: its tool calls, the list that the OpenFunctions server sends, or calls in its text.

    A text without calls is a question if it has a question mark, else a refusal. Raises `ValueError` for a call that
    cannot be read.
    """
    if message.invalid_tool_calls and not message.tool_calls:
        raise ValueError(f"The arguments of {message.invalid_tool_calls[0]['name']} are not valid JSON.")
    if not message.tool_calls:
        legacy = message.additional_kwargs.get("function_call")
        text = json.dumps(legacy) if legacy else text_of(message).strip()
        calls = tuple(parse_calls(text, functions))
        if calls or legacy:
            return Answer(calls)
        return Answer(question=text) if "?" in text else Answer(refusal=text)
    given, question, refusal = [], "", ""
    for call in message.tool_calls:
        arguments = call["args"]
        if call["name"] == ASK_TOOL:
            question = str(arguments.get("question", "")).strip() or "Which values should I use?"
            known = arguments.get("known")
            given.append(Call(str(arguments.get("function", "")), known if isinstance(known, dict) else {}))
        elif call["name"] == DECLINE_TOOL:
            refusal = str(arguments.get("reason", "")).strip() or "No function fits."
        else:
            given.append(Call(call["name"], arguments))
    return Answer(tuple(given), question, refusal)
