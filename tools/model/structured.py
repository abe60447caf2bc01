"""Structured replies: a validated value from a chat model, whatever its provider can do, or native calls of tools.

A role asks for a pydantic model and gets one. How the reply is structured (by the provider's JSON schema mode, a tool
call, or JSON in plain text) is a setting; `auto` falls back by itself. A reply that cannot be used is sent back with
the reason.
"""

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from copy import deepcopy
from functools import lru_cache, partial
from typing import Any, Literal, TypeVar

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.messages.tool import tool_call
from langchain_core.messages.utils import convert_to_messages
from langchain_core.runnables import Runnable, RunnableSequence
from pydantic import BaseModel, ValidationError

from restgpt.tools.model.chat import chat_span, dialect_of, is_refusal, spoken
from restgpt.tools.model.model_errors import (
    REPAIRS,
    ModelReplyError,
    ModelUsage,
    is_cut_off,
    is_unreadable,
    model_failures,
    refused,
    unavailable,
    usage_of,
)
from restgpt.tools.model.reply import ECHO, call_config, checked_message, json_in, text_of, written_calls
from restgpt.tools.settings.settings import problems_of

Method = Literal["auto", "json_schema", "function_calling", "json"]
Answer = TypeVar("Answer", bound=BaseModel)
Value = TypeVar("Value")

EMPTY, NOTHING = "(an empty reply)", "{}"
"""What a prompt shows of a reply without text, and of a tool call without arguments."""


def ask(
    model: BaseChatModel,
    messages: Sequence[BaseMessage | tuple[str, str]],
    schema: type[Answer],
    *,
    method: Method = "auto",
    check: Callable[[Answer], None] | None = None,
    callbacks: Sequence[BaseCallbackHandler] = (),
    is_echo: Callable[[Any], bool] | None = None,
) -> tuple[Answer, ModelUsage]:
    """Ask `model` for a `schema`; return the value and its cost. `callbacks` see its replies as they come.

    A reply that does not fit, or for which `check` raises `ValueError`, is sent back with the reason, at most `REPAIRS`
    times; one that `is_echo` is sent back once. Raises `ModelReplyError` when none fits, and `ModelUnavailableError`
    when the provider fails.
    """
    methods, prompt = _methods(model, method), convert_to_messages(list(messages))

    def reply(conversation: list[BaseMessage]) -> AIMessage:
        return _reply(model, conversation, schema, methods, callbacks)

    shapeless, echoed = list[bool](), _asked_once(is_echo)

    def read(raw: AIMessage) -> Answer:
        shapeless.append(not (raw.tool_calls or raw.invalid_tool_calls))
        value = _read(raw, schema, prompt)
        shapeless[-1] = False
        echoed(_given(raw, schema))
        if check is not None:
            check(value)
        return value

    advice = "\nReply again with the whole JSON object, corrected."
    try:
        return _repaired(prompt, reply, read, _shown, schema.__name__, advice)
    except ModelReplyError as error:
        error.is_shapeless = all(shapeless)
        raise


def _asked_once(is_echo: Callable[[Any], bool] | None) -> Callable[[Any], None]:
    """The check that raises `ValueError` for the first reply that may be a quotation, and for no other one."""
    asked: list[Any] = []

    def check(given: Any) -> None:
        if is_echo is not None and not asked and is_echo(given):
            asked.append(given)
            raise ValueError(ECHO)

    return check


def read_tool_calls(
    model: BaseChatModel,
    messages: Sequence[BaseMessage],
    tools: Sequence[dict[str, Any]],
    *,
    is_echo: Callable[[Any], bool] | None = None,
) -> tuple[AIMessage, ModelUsage]:
    """Ask `model` for calls of `tools` (in OpenAI's form) or for a text; return the reply and its cost.

    A reply with neither, with an unknown tool or with arguments that are no JSON object is sent back with the reason,
    at most `REPAIRS` times; calls in a text that `is_echo` are sent back once. Raises `ModelReplyError` when none fits,
    and `ModelUnavailableError` when the provider fails.
    """
    names, echoed = [str(tool["function"]["name"]) for tool in tools], _asked_once(is_echo)

    def reply(conversation: list[BaseMessage]) -> AIMessage:
        return _called(model, conversation, tools)

    def read(raw: AIMessage) -> AIMessage:
        made = _with_written_calls(raw)
        if problem := _problem(made, names):
            raise ValueError(problem)
        if made is not raw:
            echoed(text_of(raw))
        return made

    advice = " Call tools, or reply with the answer."
    return _repaired(list(messages), reply, read, _shown_calls, "tool call", advice)


def _repaired(
    conversation: list[BaseMessage],
    reply: Callable[[list[BaseMessage]], AIMessage],
    read: Callable[[AIMessage], Value],
    shown: Callable[[AIMessage], str],
    wanted: str,
    advice: str,
) -> tuple[Value, ModelUsage]:
    """The value that `read` finds in a reply, and the cost of all replies; raises `ModelReplyError`.

    A reply for which `read` raises `ValueError` is sent back, as it is `shown`, with the reason and an advice.
    """
    used, reason = ModelUsage(), ""
    for _ in range(REPAIRS + 1):
        raw = reply(conversation)
        used += usage_of(raw)
        try:
            return read(raw), used
        except ValueError as error:
            reason = problems_of(error) if isinstance(error, ValidationError) else str(error)
        except RecursionError:
            reason = "It is nested too deeply."
        complaint = HumanMessage(f"That reply cannot be used. {reason}{advice}")
        conversation = [*conversation, AIMessage(shown(raw)), complaint]
    raise ModelReplyError(wanted, reason, usage=used)


def _methods(model: BaseChatModel, method: Method) -> list[str]:
    if method != "auto":
        return [method]
    listed = ["json_schema", "function_calling", "json"] if _is_openai(model) else ["function_calling", "json"]
    refused = dialect_of(model).methods
    return [name for name in listed if name not in refused] or listed


def _is_openai(model: BaseChatModel) -> bool:
    """Whether the model's server understands `response_format`; the import is late because it is slow."""
    from langchain_openai.chat_models.base import BaseChatOpenAI

    return isinstance(model, BaseChatOpenAI)


def _reply(
    model: BaseChatModel,
    conversation: list[BaseMessage],
    schema: type[BaseModel],
    methods: list[str],
    callbacks: Sequence[BaseCallbackHandler],
) -> AIMessage:
    """One reply, by the first of the methods that works; those that the model does not have are removed.

    After an empty reply, which may have been all thoughts, the next one comes by the next method.
    """
    refusal: BaseException = NotImplementedError()
    while methods:
        method = methods[0]
        try:
            send = partial(_invoke, schema=schema, method=method, callbacks=callbacks)
            reply = spoken(model, conversation, send)
        except NotImplementedError as error:
            refusal = error
        except model_failures(model) as error:
            if is_cut_off(error) or not is_refusal(error):
                raise unavailable(error, model) from None
            refusal = error
        else:
            if len(methods) > 1 and _shown(reply) in (EMPTY, NOTHING):
                methods.pop(0)
            return reply
        methods.pop(0)
        if not is_unreadable(refusal):
            dialect_of(model).methods.add(method)
    raise unavailable(refusal, model) if is_unreadable(refusal) else refused(refusal, model)


@chat_span
def _invoke(
    model: BaseChatModel,
    conversation: list[BaseMessage],
    schema: type[BaseModel],
    method: str,
    callbacks: Sequence[BaseCallbackHandler],
) -> AIMessage:
    config = call_config(callbacks)
    if method == "json":
        wanted = json.dumps(_schema_of(schema), ensure_ascii=False)
        request = f"Reply with one JSON object and nothing else. It must fit this JSON Schema:\n{wanted}"
        *before, last = conversation
        # Two messages of a user in a row are an error for templates that want turns.
        asked = [*before, HumanMessage(f"{last.text}\n\n{request}")] if last.type == "human" else None
        return checked_message(model.invoke(asked or [*conversation, HumanMessage(request)], config))
    structured: Runnable[Any, Any] = model.with_structured_output(_schema_of(schema), method=method)
    if isinstance(structured, RunnableSequence):
        # Only the model, and no parser after it. LangChain's own way to the raw message, `include_raw`, starts two
        # threads for each call, and a thread that starts holds a lock on which every executor of the process waits.
        return checked_message(structured.first.invoke(conversation, config))
    with_raw: Runnable[Any, Any] = model.with_structured_output(_schema_of(schema), method=method, include_raw=True)
    return checked_message(with_raw.invoke(conversation, config)["raw"])


def _schema_of(schema: type[BaseModel]) -> dict[str, Any]:
    """The JSON Schema that a model sees; its title and description are the tool's name and purpose."""
    # Copied, because a provider's package may write into it.
    return deepcopy(_cached_schema_of(schema))


@lru_cache(maxsize=64)
def _cached_schema_of(schema: type[BaseModel]) -> dict[str, Any]:
    wanted = schema.model_json_schema()
    wanted.setdefault("description", schema.__name__)
    return wanted


def _read(message: AIMessage, schema: type[Answer], prompt: Sequence[BaseMessage]) -> Answer:
    """The value in a tool call or, failing that, in the text."""
    if message.tool_calls:
        name, given = message.tool_calls[0]["name"], message.tool_calls[0]["args"]
        try:
            return _validated(given, schema)
        except ValidationError:
            # A call of another tool than the reply's, which a schema may read. Without arguments, it is an empty reply
            # under another name, unless the prompt has that name.
            if name != schema.__name__ and (given or any(name in item.text for item in prompt)):
                with suppress(ValidationError):
                    return schema.model_validate([{"name": name, "arguments": given}])
            raise
    text = _written(message)
    with suppress(ValidationError):
        # A schema may read other forms of a reply than JSON, such as a program, in which an object is no reply.
        return _validated(text, schema)
    return _validated(json_in(text), schema)


def _validated(given: Any, schema: type[Answer]) -> Answer:
    """The value of an object, or of the one that it holds in an envelope; raises `ValidationError` about the outer."""
    for inner in _inside(given):
        with suppress(ValidationError):
            return schema.model_validate(inner)
    return schema.model_validate(given)


def _inside(given: Any) -> list[Any]:
    """What an object holds that is an envelope: `{"reply": {…}}`, or a tool call written as JSON."""
    if isinstance(given, dict) and len(given) == 1:
        return [value for value in given.values() if isinstance(value, dict)]
    return [call.arguments for call in written_calls(given)]


def _given(message: AIMessage, schema: type[BaseModel]) -> Any:
    """What a reply gives: the arguments of the schema's tool, a call of another one, or the text."""
    if not message.tool_calls:
        return _written(message)
    name, given = message.tool_calls[0]["name"], message.tool_calls[0]["args"]
    return given if name == schema.__name__ else {"name": name, "arguments": given}


def _written(message: AIMessage) -> str:
    """The text without thoughts, or the arguments of a tool call if they are no JSON."""
    broken = [call["args"] or "" for call in message.invalid_tool_calls]
    return text_of(message) or "".join(broken[:1])


def _shown(message: AIMessage) -> str:
    if message.tool_calls:
        return json.dumps(message.tool_calls[0]["args"], ensure_ascii=False)
    return _written(message) or EMPTY


@chat_span
def _called(model: BaseChatModel, conversation: list[BaseMessage], tools: Sequence[dict[str, Any]]) -> AIMessage:
    def send(to: BaseChatModel, sent: list[BaseMessage]) -> AIMessage:
        return checked_message(to.bind_tools(list(tools)).invoke(sent, call_config()))

    try:
        return spoken(model, conversation, send)
    except NotImplementedError as error:
        raise refused(error, model) from None
    except model_failures(model) as error:
        is_refused = is_refusal(error) and not is_unreadable(error)
        raise (refused(error, model) if is_refused else unavailable(error, model)) from None


def _with_written_calls(reply: AIMessage) -> AIMessage:
    """The reply with the calls as native ones that its text holds, if it has none of its own."""
    if reply.tool_calls or not (calls := written_calls(text_of(reply))):
        return reply
    made = [tool_call(name=call.name, args=call.arguments, id=f"call-{n}") for n, call in enumerate(calls, 1)]
    return reply.model_copy(update={"content": "", "tool_calls": made, "invalid_tool_calls": []})


def _problem(reply: AIMessage, names: Sequence[str]) -> str:
    """The reason why a reply cannot be used; empty if it can."""
    if broken := [str(call["name"]) for call in reply.invalid_tool_calls]:
        return f"The arguments of {', '.join(broken)} are not a JSON object."
    if unknown := [call["name"] for call in reply.tool_calls if call["name"] not in names]:
        return f"There is no tool {', '.join(unknown)}."
    if not reply.tool_calls and not text_of(reply):
        return "It is empty."
    return ""


def _shown_calls(reply: AIMessage) -> str:
    calls = [{"name": call["name"], "args": call["args"]} for call in (*reply.tool_calls, *reply.invalid_tool_calls)]
    text = text_of(reply)
    return "\n".join(filter(None, [text, json.dumps(calls, ensure_ascii=False) if calls else ""])) or EMPTY
