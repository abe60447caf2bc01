"""The reply of a chat model: the message, the text in it without the model's thoughts, the JSON in that text.

Replies are plans, code and JSON, which LangGraph's stream mode `messages` must not show as messages of the agent. So
each model call has the tag that keeps it out of that mode.

The echo check: a call or a program that a model replies with may be its quotation of an answer of an API.
"""

import ast
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any, NamedTuple

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.utils import convert_to_messages
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import ensure_config, merge_configs
from langgraph.constants import TAG_NOSTREAM

from restgpt.specs.reading.tree import values_in
from restgpt.tools.model.chat import chat_span, spoken
from restgpt.tools.model.model_errors import (
    ModelUnavailableError,
    ModelUsage,
    cut_off,
    model_failures,
    unavailable,
    usage_of,
)
from restgpt.tools.request.arguments import exact_float
from restgpt.tools.sandbox.code import UNPARSABLE, syntax_tree
from restgpt.tools.text.quotation import unfenced

MOST_PRINTED = 100_000
"""The most characters of a printed dict that is read."""

MOST_CALLS = 1000
"""The most written calls that are read of one text."""

_THOUGHT_END = re.compile(
    r"</(?:\w+:)?(?:think|thinking|thought|reasoning)>|\[/THINK\]|<\|END_THINKING\|>|◁/think▷"
    # The channels of OpenAI's harmony format, as a server gives them and without their marks.
    r"|<\|channel\|>(?!\s*analysis)[^<]*(?:<\|constrain\|>[^<]*)?<\|message\|>|assistantfinal(?=\W)",
    re.IGNORECASE,
)
_THOUGHT = re.compile(
    r"<(?:\w+:)?(?:think|thinking|thought|reasoning)>|\[THINK\]|<\|START_THINKING\|>|◁think▷|<\|channel\|>\s*analysis",
    re.IGNORECASE,
)
_HARMONY_END = re.compile(r"<\|(?:return|call|end)\|>\s*\Z")

_LIMIT = re.compile(r"length|max_?(?:\w+_)?tokens|context_window", re.IGNORECASE)
_FILTER = re.compile(r"filter|safety|recitation|blocklist|prohibited|guardrail|insufficient_system", re.IGNORECASE)
"""The words of the providers for the end of a reply at a limit, and by the provider; both are no end of its own."""

_NAMES = ("name", "tool", "tool_name", "function", "action")
_ARGUMENTS = ("arguments", "parameters", "args", "input", "action_input", "tool_input")
"""The keys under which models write the name and the arguments of a tool call as JSON."""

_BETWEEN = re.compile(r"(?:[\s,\[\]]|</?[\w|]+>)*")
"""What may stand before, between and after written calls: the signs of a list, and the tags of models' templates."""

_TAGS = re.compile(r"\A</?[\w|]+>|</?[\w|]+>\Z")

_ACTION = re.compile(r"\s*Action:[ \t]*`?([\w.\-/{}]+)`?[ \t]*\n\s*Action Input:[ \t]*(?=\{)")
"""A call in the form of ReAct."""

REASONS = ("finish_reason", "stop_reason", "stopReason", "done_reason", "completionReason")
"""The names that providers give to the reason why a reply ended."""


@chat_span
def reply_to(model: Runnable[Any, Any], messages: Sequence[BaseMessage | tuple[str, str]]) -> AIMessage:
    """The reply of a model to some messages; raises `ModelUnavailableError` when the provider fails."""
    try:
        conversation = convert_to_messages(list(messages))
        if not isinstance(model, BaseChatModel):
            return checked_message(model.invoke(conversation, call_config()))
        return spoken(model, conversation, lambda to, sent: checked_message(to.invoke(sent, call_config())))
    except model_failures(model) as error:
        raise unavailable(error, model) from None


def call_config(callbacks: Sequence[BaseCallbackHandler] = ()) -> RunnableConfig:
    """The config of a model call: that of the caller, with the tag for calls that `messages` does not show.

    `callbacks` are called in addition to the caller's.
    """
    return merge_configs(ensure_config(), {"tags": [TAG_NOSTREAM], "callbacks": list(callbacks)})


def checked_message(reply: object) -> AIMessage:
    """The reply if it is a whole message; raises `ModelUnavailableError` otherwise."""
    if not isinstance(reply, AIMessage):
        raise ModelUnavailableError(f"The model gave {type(reply).__name__} where a message was expected.")
    found = reply.response_metadata
    given = [found.get(name) for name in REASONS] + [(found.get("incomplete_details") or {}).get("reason")]
    reason = " ".join(text for text in given if isinstance(text, str))[:100]
    if _LIMIT.search(reason):
        raise cut_off(reason, usage_of(reply).output_tokens)
    if _FILTER.search(reason):
        raise ModelUnavailableError(
            f"The model's provider ended the reply ({reason}), so nothing of it was used. Ask in other words, or take "
            "another model."
        )
    if refusal := reply.additional_kwargs.get("refusal"):
        raise ModelUnavailableError(f"The model refused to reply: {str(refusal)[:300]}")
    # A whole reply has the key, even without a reason; the Responses API has a status.
    if found.get("model_provider") == "openai" and not {"finish_reason", "status"} & found.keys():
        raise ModelUnavailableError(
            "The model's server broke off its reply before the end. Go on with the thread to ask it again; if that "
            "happens each time, check the server at OPENAI_BASE_URL, and any proxy before it."
        )
    return reply


def read_text(model: Runnable[Any, Any], messages: Sequence[BaseMessage | tuple[str, str]]) -> tuple[str, ModelUsage]:
    """A plain text reply and its cost; raises `ModelUnavailableError` when the provider fails."""
    reply = reply_to(model, messages)
    return text_of(reply), usage_of(reply)


def text_of(message: AIMessage) -> str:
    """The text of a reply without the model's thoughts; parts of other types, such as `thinking`, are no text."""
    return without_thoughts(str(message.text))


def without_thoughts(text: str) -> str:
    """What stands after the last end of a thought; nothing in a thought without an end, whose drafts are no reply.

    The values of a text that is one JSON object, alone or in a fence, may speak of thoughts.
    """
    if _is_object(unfenced(text)):
        return text.strip()
    *_, last = [0, *(match.end() for match in _THOUGHT_END.finditer(text))]
    rest = _HARMONY_END.sub("", text[last:]).strip()
    return "" if _THOUGHT.match(rest) else rest


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text, strict=False), dict)
    except (ValueError, RecursionError):
        return False


def json_in(text: str) -> Any:
    """The JSON object that a text consists of, alone or in a fence: one inside of other text may be a quotation.

    An object as Python prints or writes it is taken too: with single quotes, or a comma after its last entry; so is
    the only one of a list. Raises `ValueError` if there is none, and for a decimal number that would be sent as another
    one.
    """
    stripped = _TAGS.sub("", unfenced(without_thoughts(text))).strip()
    try:
        found = json.loads(stripped, strict=False, parse_float=exact_float)
    except json.JSONDecodeError:
        found = _printed_dict(stripped)
    found = found[0] if isinstance(found, list) and len(found) == 1 else found
    if not isinstance(found, dict):
        raise ValueError("it is no JSON object, with no text before and after it")
    return found


class WrittenCall(NamedTuple):
    """A call of a tool that a model wrote as text: the name of the tool and its arguments."""

    name: str
    arguments: dict[str, Any]

    def __str__(self) -> str:
        return f"Call {self.name} with the arguments {json.dumps(self.arguments, ensure_ascii=False)}"


def written_calls(reply: Any) -> list[WrittenCall]:
    """The tool calls that a reply consists of, in a text or as JSON; empty for any other reply.

    Models write them as `{"name": …, "arguments": {…}}`, alone, in a list, in a fence or in `<tool_call>`, and as the
    `Action:` and `Action Input:` of ReAct. With any other text before or after them, they are a quotation.
    """
    if isinstance(reply, str):
        return _calls_of(unfenced(without_thoughts(reply)))
    if isinstance(reply, list):
        calls = [call for item in reply for call in written_calls(item)]
        return calls if len(calls) == len(reply) else []
    if not isinstance(reply, dict):
        return []
    if isinstance(function := reply.get("function"), dict):
        return written_calls(function)
    name = next((reply[key] for key in _NAMES if isinstance(reply.get(key), str)), "")
    arguments = next((reply[key] for key in _ARGUMENTS if key in reply), None)
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments or "{}")
        except (ValueError, RecursionError):
            return []
    return [WrittenCall(name.removeprefix("functions."), arguments)] if name and isinstance(arguments, dict) else []


def _calls_of(text: str) -> list[WrittenCall]:
    """The calls that a text consists of; the objects inside a call, and those of `Action Input:`, are its arguments."""
    decoder, at, calls = json.JSONDecoder(strict=False), 0, list[WrittenCall]()
    while len(calls) < MOST_CALLS:
        action = _ACTION.match(text, at)
        at = action.end() if action else _end(_BETWEEN.match(text, at))
        if at == len(text):
            return calls
        try:
            found, at = decoder.raw_decode(text, at)
        except (json.JSONDecodeError, RecursionError):
            return []
        made = written_calls({"name": action[1], "arguments": found} if action else found)
        if not made or isinstance(found, str):
            return []
        calls += made
    return []


def _end(found: re.Match[str] | None) -> int:
    return found.end() if found else 0


def _printed_dict(text: str) -> Any:
    """The dict of plain values that a text is as Python writes it; None if it is none."""
    if not text.startswith("{") or len(text) > MOST_PRINTED:
        return None
    try:
        return json.loads(json.dumps(ast.literal_eval(text)))
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return None


ECHO = (
    "It is a call or a program that stands in a response of an API. Is this the answer? Then `decision: end`, with it "
    "in `text`. If the user wants it to be carried out, give the same reply again."
)
"""What a model is told of such a reply, once."""

MOST_OBJECTS = 1000
"""The most braces of one text of an answer that may begin a call."""

MOST_CODE = 64 * 1024
"""The most characters of a text that is parsed as a program: no longer program is run."""

_FENCED = re.compile(r"(`{3,}|~{3,})[^\n]*\n(.*?)\n[ \t]*\1", re.DOTALL)
_BLANK = re.compile(r"[\s\\\"'`]+")
_CALLED = re.compile(r"(\w+)\(")
_CODE = ("text", "program", "code", "python")
_OTHERS = ("end", "plan", "continue", "functions")


class _Acts(NamedTuple):
    """What a text asks for: calls by name and arguments, programs by syntax tree, the signs of both, all names."""

    calls: frozenset[str] = frozenset()
    programs: frozenset[str] = frozenset()
    signs: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()


def echo_of(answers: Callable[[], Iterable[Any]]) -> Callable[[Any], bool]:
    """Return a function that says whether a reply, as text or JSON, asks for what stands in one of the `answers`.

    Calls are compared by name and arguments, programs by their syntax trees, and else without blanks, quotes and
    escapes. The answers are taken only for a reply that is a call or a program.
    """

    def is_echo(given: Any) -> bool:
        wanted = _acts_of(given)
        if not any(wanted):
            return False
        return any(_holds(part, wanted) for answer in answers() for part in values_in(answer))

    return is_echo


def _holds(found: Any, wanted: _Acts) -> bool:
    if isinstance(found, dict):
        return bool(wanted.calls & {_call_text(call) for call in written_calls(found)})
    if not isinstance(found, str) or not any(name in found for name in wanted.names):
        return False
    signs = _signs(found)
    if any(one in signs for one in wanted.signs):
        return True
    parts = [found, *(match[2] for match in _FENCED.finditer(found)), *_objects(found)]
    return any(acts.calls & wanted.calls or acts.programs & wanted.programs for acts in map(_acts_of, parts))


def _objects(text: str) -> Iterator[Any]:
    """Yield the JSON objects in a text."""
    decoder, end = json.JSONDecoder(strict=False), 0
    for start in (match.start() for match in islice(re.finditer(r"\{", text), MOST_OBJECTS)):
        if start < end:
            continue
        try:
            found, end = decoder.raw_decode(text, start)
        except (json.JSONDecodeError, RecursionError):
            continue
        yield found


def _acts_of(given: Any) -> _Acts:
    """Return what a reply, or a part of an answer, asks for."""
    calls, code, signs = list(written_calls(given)), "", set[str]()
    if isinstance(given, str):
        code = unfenced(given)
        signs.add(_signs(code))
        with suppress(ValueError, RecursionError):
            given = json_in(given)
    if isinstance(given, dict) and given.get("decision") in _OTHERS:
        return _Acts()
    if isinstance(given, dict) and not calls:
        code = unfenced(str(next((given[name] for name in _CODE if isinstance(given.get(name), str)), "")))
        calls = written_calls(code)
        signs.add(_signs(code))
    tree = None if calls else _tree(code)
    if tree is not None:
        calls = list(_calls_in(tree))
        signs.add(_signs(ast.unparse(tree)))
    elif not calls:
        return _Acts()
    signs |= {
        _signs(f"{name}({','.join(f'{key}={value!r}' for key, value in given.items())})") for name, given in calls
    }
    names = {call.name for call in calls} if tree is None else {*_CALLED.findall(code)} - {"print"}
    programs = frozenset() if tree is None else frozenset({ast.dump(tree)})
    return _Acts(frozenset(map(_call_text, calls)), programs, frozenset(signs), frozenset(names))


def _tree(code: str) -> ast.Module | None:
    """Return the syntax tree of a program that calls something; None for any other text."""
    if len(code) > MOST_CODE:
        return None
    try:
        tree = syntax_tree(code)
        is_program = any(isinstance(node, ast.Call) for node in ast.walk(tree))
    except UNPARSABLE:
        return None
    return tree if is_program else None


def _calls_in(tree: ast.Module) -> Iterator[WrittenCall]:
    """Yield the calls of a program that consists of calls with plain values."""
    for statement in tree.body:
        node = statement.value if isinstance(statement, ast.Expr) else None
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "print" and len(node.args) == 1:
            node = node.args[0]
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.args:
            try:
                arguments = {item.arg: ast.literal_eval(item.value) for item in node.keywords if item.arg}
            except ValueError:
                continue
            yield WrittenCall(node.func.id, arguments)


def _call_text(call: WrittenCall) -> str:
    return json.dumps([call.name, call.arguments], sort_keys=True, default=str)


def _signs(text: str) -> str:
    return _BLANK.sub("", text)
