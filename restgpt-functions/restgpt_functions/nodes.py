"""The nodes of `openfunctions`: open the prompt, write the calls, ask for what is missing, give the answer."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.runtime import Runtime
from langgraph.types import interrupt

from restgpt.nodes.run.services import today_text
from restgpt.tools.errors import ArgumentError
from restgpt.tools.model.model_errors import ModelReplyError, ModelUsage
from restgpt.tools.tracing.telemetry import redacted_with
from restgpt_functions.calls.call import Call, to_plain
from restgpt_functions.calls.rendering import render_calls, to_tool_calls
from restgpt_functions.calls.rest import shown_requests
from restgpt_functions.context import FunctionContext, FunctionState, FunctionUsage
from restgpt_functions.judge import Answer, Judge, ask_for, keep_known, with_value
from restgpt_functions.prompting import speak
from restgpt_functions.prompts import render
from restgpt_functions.resources import EmptyPromptError, FunctionResources
from restgpt_functions.shortlist import shortlist

Node = Callable[[FunctionState, Runtime[FunctionContext]], dict[str, Any]]


def make_intake(services: FunctionResources) -> Node:
    """The node that opens a prompt: finds it, and the functions it is likely about."""

    def intake(state: FunctionState, runtime: Runtime[FunctionContext]) -> dict[str, Any]:
        messages = state.get("messages", [])
        is_asked = bool(messages) and messages[-1].type == "human" and bool(str(messages[-1].text).strip())
        prompt = (str(messages[-1].text) if is_asked else state.get("prompt", "")).strip()
        if not prompt:
            raise EmptyPromptError()
        more = [] if is_asked else [HumanMessage(prompt)]
        said = "\n".join(str(one.text) for one in [*messages, *more] if one.type == "human")
        offered = shortlist(services.functions(state), said, services.context(runtime).max_functions)
        opened = {"calls": [], "missing": [], "question": "", "reason": "", "usage": _usage(ModelUsage())}
        return {"messages": more, "prompt": prompt, "offered": offered, **opened}

    return intake


def _usage(spent: ModelUsage, before: FunctionUsage | None = None) -> dict[str, int]:
    known: Mapping[str, Any] = before or {}
    return {name: known.get(name, 0) + getattr(spent, name) for name in FunctionUsage.__annotations__}


def make_caller(services: FunctionResources) -> Node:
    """The node that asks the model for calls, checks them, and lists missing values."""

    def caller(state: FunctionState, runtime: Runtime[FunctionContext]) -> dict[str, Any]:
        context = services.context(runtime)
        partial = _calls(state)
        judge = Judge(services.offered(state), placeholders=context.on_missing == "placeholder")
        *before, last = state["messages"]
        # The calls so far stand before the person's answer to the question about them.
        noted = [HumanMessage(render("functions_partial", calls=render_calls(partial, "json")))] if partial else []
        said, today = [*before, *noted, last], today_text(context.today, date.today)
        ask = redacted_with(services.redactor, speak)
        try:
            answer, usage = ask(services.model(context), said, judge, context=context, today=today)
        except ModelReplyError as error:
            usage = error.usage or ModelUsage()
            return {"outcome": "failed", "reason": str(error), "usage": _usage(usage, state["usage"])}
        if partial and (answer.calls or answer.question):
            # A further question without a call is about the calls so far.
            answer = _with_known(judge, partial, replace(answer, calls=answer.calls or tuple(partial)), str(last.text))
        return {**_outcome(answer), "usage": _usage(usage, state["usage"])}

    return caller


def _with_known(judge: Judge, partial: Sequence[Call], answer: Answer, said: str) -> Answer:
    """The answer with the values known before the question, or without them if they do not fit."""
    try:
        return judge.judge(replace(answer, calls=keep_known(partial, answer.calls, said)))
    except ValueError:
        return answer


def _outcome(answer: Answer) -> dict[str, Any]:
    is_question = bool(answer.missing or (answer.question and not answer.calls))
    # A question that leaves out a missing value is completed.
    unnamed = [one for one in answer.missing if one["name"].lower() not in answer.question.lower()]
    return {
        "outcome": "ask" if is_question else "call" if answer.calls else "refuse",
        "calls": [{"name": call.name, "arguments": to_plain(dict(call.arguments))} for call in answer.calls],
        "missing": list(answer.missing),
        "question": f"{answer.question} {ask_for(unnamed)}".strip() if is_question else "",
        "reason": answer.refusal,
    }


def _calls(state: FunctionState) -> list[Call]:
    return [Call(record["name"], record["arguments"]) for record in state.get("calls", [])]


def make_follow_up(services: FunctionResources) -> Node:
    """The node that pauses with the question.

    It resumes with the person's words, or with values by name or JSON pointer, which need no further model call.
    """

    def follow_up(state: FunctionState, runtime: Runtime[FunctionContext]) -> dict[str, Any]:
        missing, calls = state["missing"], _calls(state)
        given = interrupt({"question": state["question"], "missing": missing, "calls": state["calls"]})
        asked: list[AnyMessage] = [AIMessage(state["question"])]
        if not isinstance(given, Mapping) or not missing:
            words = ", ".join(map(str, given.values())) if isinstance(given, Mapping) else str(given)
            return {"messages": [*asked, HumanMessage(words)], "outcome": "failed"}
        messages = [*asked, HumanMessage(", ".join(f"{name}: {value}" for name, value in given.items()))]
        for one in missing:
            value = given.get(one["pointer"], given.get(one["name"]))
            if value is not None:
                calls[one["call"]] = with_value(calls[one["call"]], one["pointer"], value)
        try:
            return {"messages": messages, **_outcome(Judge(services.offered(state)).judge(Answer(tuple(calls))))}
        except ValueError as error:
            return {"messages": messages, "question": f"{error} {ask_for(missing)}", "outcome": "ask"}

    return follow_up


def make_emitter(services: FunctionResources) -> Node:
    """The node that gives the answer: calls as text, as tool calls and as requests, or the question or refusal."""

    def emitter(state: FunctionState, runtime: Runtime[FunctionContext]) -> dict[str, Any]:
        is_call = state["outcome"] == "call"
        functions, calls = (services.offered(state), _calls(state)) if is_call else ([], [])
        try:
            text = render_calls(calls, services.context(runtime).call_style, functions=functions) if is_call else ""
        except ArgumentError:
            # A placeholder may not fit into a request.
            text = render_calls(calls)
        answer = text if is_call else state["question"] if state["outcome"] == "ask" else state["reason"]
        listed = {"tool_calls": to_tool_calls(calls, functions), "requests": shown_requests(calls, functions)}
        return {"text": text, **listed, "answer": answer, "messages": [AIMessage(answer)]}

    return emitter
