"""The nodes of `openfunctions`: open the prompt, write the calls, ask for what is missing, give the answer."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from threading import Lock
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage
from langgraph.runtime import Runtime
from langgraph.types import interrupt

from restgpt.nodes.run.today import today_text
from restgpt.tools.errors import ArgumentError, StoppingError
from restgpt.tools.model.errors import ModelReplyError
from restgpt.tools.model.provider import PREFIX, resolve_completion_model, resolve_model
from restgpt.tools.model.usage import ModelUsage
from restgpt.tools.settings import Settings
from restgpt.tools.text.redaction import Redactor
from restgpt.tools.tracing.content import redacted_with
from restgpt_functions.calls.call import Call, to_plain
from restgpt_functions.calls.rendering import render_calls, to_tool_calls
from restgpt_functions.calls.rest import shown_requests
from restgpt_functions.context import FunctionCall, FunctionContext, FunctionState, FunctionUsage, MissingValue
from restgpt_functions.docs.function import Function
from restgpt_functions.docs.loading import load_functions
from restgpt_functions.judge import CallAnswer, Judge, Judged, ask_for, keep_known, with_value
from restgpt_functions.prompting import shown_calls, speak
from restgpt_functions.prompts import render
from restgpt_functions.shortlist import shortlist

Node = Callable[..., dict[str, Any]]


class EmptyPromptError(StoppingError):
    """The run has no prompt."""

    def __init__(self) -> None:
        super().__init__('There is no prompt. Give {"messages": [("user", "…")]} or {"prompt": "…"}.')


class NoFunctionsError(StoppingError):
    """The run has no functions."""

    def __init__(self) -> None:
        super().__init__("There are no functions. Give their documentation under `functions`, in any dialect.")


class FunctionResources:
    """The services of the nodes: the functions that the graph was built with, the model, the date."""

    def __init__(
        self,
        functions: Sequence[Function] | None = None,
        *,
        model: str | BaseChatModel | None = None,
        defaults: FunctionContext | None = None,
        settings: Settings | None = None,
        today: Callable[[], date] = date.today,
    ) -> None:
        self.defaults = defaults or FunctionContext()
        self._functions = list(functions) if functions is not None else None
        self._model = model
        self._settings = settings
        self._today = today
        self._lock = Lock()
        self._resolved: dict[tuple[str, float | None], BaseChatModel] = {}

    def context(self, runtime: Runtime[FunctionContext]) -> FunctionContext:
        """The graph's settings with the run's own over them."""
        if runtime.context is None:
            return self.defaults
        return self.defaults.model_copy(update=runtime.context.model_dump(exclude_unset=True))

    def functions(self, state: FunctionState) -> list[Function]:
        """The functions in the state of a run, else the functions of the graph; raises `NoFunctionsError`."""
        found = load_functions(state["functions"]) if state.get("functions") else self._functions
        if not found:
            raise NoFunctionsError()
        return found

    def offered(self, state: FunctionState) -> list[Function]:
        """The functions that the model reads in this run."""
        functions = self.functions(state)
        return [functions[number] for number in state["offered"]]

    def model(self, context: FunctionContext) -> BaseChatModel:
        """The model of the run, else of the graph, else of the environment; raises `ModelError`."""
        wanted = context.model or self._model
        if isinstance(wanted, BaseChatModel):
            return wanted
        with self._lock:
            self._settings = self._settings or Settings.from_env()
            name, temperature = key = (wanted or self._settings.model or "", context.temperature)
            if key not in self._resolved:
                self._resolved[key] = (
                    resolve_completion_model(name, settings=self._settings)
                    if name.startswith(PREFIX)
                    else resolve_model(name, temperature=temperature)
                )
            return self._resolved[key]

    def redactor(self) -> Redactor:
        """The redactor of all secrets of the settings."""
        with self._lock:
            self._settings = self._settings or Settings.from_env()
            return Redactor(self._settings.secrets())

    def today(self, context: FunctionContext) -> str:
        """The day taken for today, as prompts name it."""
        return today_text(context.today, self._today)


def make_intake(services: FunctionResources) -> Node:
    """The node that opens a prompt: finds it, and the functions it is likely about."""

    def intake(state: FunctionState, runtime: Runtime[FunctionContext]) -> dict[str, Any]:
        messages = state.get("messages", [])
        asked = str(messages[-1].text).strip() if messages and messages[-1].type == "human" else ""
        prompt = asked or state.get("prompt", "").strip()
        if not prompt:
            raise EmptyPromptError()
        context = services.context(runtime)
        said = [str(one.text) for one in messages if one.type == "human"] + ([] if asked else [prompt])
        return {
            "messages": [] if asked else [HumanMessage(prompt)],
            "prompt": prompt,
            "offered": shortlist(services.functions(state), "\n".join(said), context.max_functions),
            "calls": [],
            "missing": [],
            "question": "",
            "reason": "",
            "usage": {"calls": 0, "input_tokens": 0, "output_tokens": 0},
        }

    return intake


def make_caller(services: FunctionResources) -> Node:
    """The node that asks the model for calls, checks them, and lists missing values."""

    def caller(state: FunctionState, runtime: Runtime[FunctionContext]) -> dict[str, Any]:
        context = services.context(runtime)
        functions = services.offered(state)
        partial = _calls(state.get("calls", []))
        judge = Judge(functions, placeholders=context.on_missing == "placeholder")
        conversation = _conversation(state["messages"], partial)
        try:
            spoken = redacted_with(services.redactor, speak)(
                services.model(context),
                conversation,
                functions,
                judge,
                context=context,
                today=services.today(context),
            )
        except ModelReplyError as error:
            return {"outcome": "failed", "reason": str(error), "usage": _added(state, error.usage)}
        judged = spoken.judged
        if partial and (judged.calls or judged.question):
            # A further question without a call is about the calls so far.
            judged = replace(judged, calls=judged.calls or tuple(partial))
            judged = _with_known(judge, partial, judged, str(state["messages"][-1].text))
        return {**_outcome(judged), "usage": _added(state, spoken.usage)}

    return caller


def _conversation(messages: Sequence[AnyMessage], partial: Sequence[Call]) -> list[BaseMessage]:
    """The conversation, with the calls so far before the person's answer to a question."""
    if not partial:
        return list(messages)
    note = HumanMessage(render("functions_partial", calls=shown_calls(partial)))
    return [*messages[:-1], note, messages[-1]]


def _with_known(judge: Judge, partial: Sequence[Call], judged: Judged, said: str) -> Judged:
    """The judged calls with the values known before the question, or without them if they do not fit."""
    try:
        kept = keep_known(partial, judged.calls, said)
        return judge.judge(CallAnswer(kept, judged.question, judged.refusal))
    except ValueError:
        return judged


def _outcome(judged: Judged) -> dict[str, Any]:
    asks = bool(judged.missing) or bool(judged.question and not judged.calls)
    question = judged.question or (ask_for(judged.missing) if judged.missing else "")
    unnamed = [one for one in judged.missing if one["name"].lower() not in question.lower()]
    if judged.question and unnamed:
        # A question that leaves out a missing value is completed.
        question = f"{question} {ask_for(unnamed)}"
    outcome = "ask" if asks else "call" if judged.calls else "refuse"
    return {
        "outcome": outcome,
        "calls": [_record(call) for call in judged.calls],
        "missing": list(judged.missing),
        "question": question if asks else "",
        "reason": judged.refusal,
    }


def _record(call: Call) -> FunctionCall:
    return {"name": call.name, "arguments": to_plain(dict(call.arguments))}


def _calls(records: Sequence[FunctionCall]) -> list[Call]:
    return [Call(record["name"], record["arguments"]) for record in records]


def _added(state: FunctionState, usage: ModelUsage | None) -> FunctionUsage:
    before = state.get("usage") or {"calls": 0, "input_tokens": 0, "output_tokens": 0}
    spent = usage or ModelUsage()
    return {
        "calls": before["calls"] + spent.calls,
        "input_tokens": before["input_tokens"] + spent.input_tokens,
        "output_tokens": before["output_tokens"] + spent.output_tokens,
    }


def make_follow_up(services: FunctionResources) -> Node:
    """The node that pauses with the question.

    It resumes with the person's words, or with values by name or JSON pointer, which need no further model call.
    """

    def follow_up(state: FunctionState, runtime: Runtime[FunctionContext]) -> dict[str, Any]:
        given = interrupt(
            {"question": state["question"], "missing": state["missing"], "calls": state["calls"]},
        )
        asked: AnyMessage = AIMessage(state["question"])
        if isinstance(given, Mapping) and state["missing"]:
            said = ", ".join(f"{name}: {value}" for name, value in given.items())
            messages: list[AnyMessage] = [asked, HumanMessage(said)]
            completed = _filled(_calls(state["calls"]), state["missing"], given)
            judge = Judge(services.offered(state))
            try:
                return {"messages": messages, **_outcome(judge.judge(CallAnswer(tuple(completed))))}
            except ValueError as error:
                return {"messages": messages, "question": f"{error} {ask_for(state['missing'])}", "outcome": "ask"}
        words = ", ".join(map(str, given.values())) if isinstance(given, Mapping) else str(given)
        return {"messages": [asked, HumanMessage(words)], "outcome": "failed"}

    return follow_up


def _filled(calls: Sequence[Call], missing: Sequence[MissingValue], given: Mapping[str, Any]) -> list[Call]:
    filled = list(calls)
    for one in missing:
        value = given.get(one["pointer"], given.get(one["name"]))
        if value is not None:
            filled[one["call"]] = with_value(filled[one["call"]], one["pointer"], value)
    return filled


def make_emitter(services: FunctionResources) -> Node:
    """The node that gives the answer: calls as text, as tool calls and as requests, or the question or refusal."""

    def emitter(state: FunctionState, runtime: Runtime[FunctionContext]) -> dict[str, Any]:
        context = services.context(runtime)
        outcome = state["outcome"]
        if outcome == "call":
            functions = services.offered(state)
            calls = _calls(state["calls"])
            answer = _text(calls, functions, context)
            found = {"text": answer, "tool_calls": to_tool_calls(calls, functions)}
            requests = shown_requests(calls, functions)
        else:
            found, requests = {"text": "", "tool_calls": []}, []
            answer = state["question"] if outcome == "ask" else state["reason"]
        return {**found, "requests": requests, "answer": answer, "messages": [AIMessage(answer)]}

    return emitter


def _text(calls: Sequence[Call], functions: Sequence[Function], context: FunctionContext) -> str:
    """The calls in the wanted style; a placeholder may not fit into a request, which leaves the call strings."""
    try:
        return render_calls(calls, context.call_style, functions=functions)
    except ArgumentError:
        return render_calls(calls)
