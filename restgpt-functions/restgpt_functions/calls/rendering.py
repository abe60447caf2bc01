"""Rendering: calls written as a call string, JSON, OpenAI tool calls or `requests.<method>(…)`."""

import json
import keyword
import re
from collections.abc import Iterable
from typing import Any, Literal

from restgpt_functions.calls.call import Call, Variable, to_plain
from restgpt_functions.calls.rest import to_requests_call
from restgpt_functions.docs.function import Function, legal_name, legal_names

Style = Literal["python", "json", "tools", "requests"]


def render_calls(calls: Iterable[Call], style: Style = "python", *, functions: Iterable[Function] | None = None) -> str:
    """Write calls as one text: a call string (`python`), `json`, OpenAI `tools`, or `requests.<method>(…)`.

    The style `requests` needs the `functions` of an API; a call that is none of them stays a call string.
    """
    listed = list(calls)
    match style:
        case "python":
            return ", ".join(map(render_python, listed))
        case "json":
            return json.dumps([to_object(call) for call in listed], ensure_ascii=False)
        case "tools":
            return json.dumps(to_tool_calls(listed, functions), ensure_ascii=False)
        case "requests":
            known = list(functions or ())
            return ", ".join(render_python(to_requests_call(call, known)) for call in listed)
    raise ValueError(f"unknown call style {style!r}")


def render_python(call: Call) -> str:
    """The call as Python-like text: `name(a=1, b="x")`; names that Python cannot write go into `**{…}`."""
    parts = [render_value(value) for value in call.positional]
    for name, value in call.arguments.items():
        parts.append(f"{name}={render_value(value)}" if _is_plain(name) else f"**{render_value({name: value})}")
    return f"{call.name}({', '.join(parts)})"


def _is_plain(name: str) -> bool:
    # Python folds identifiers to NFKC, so only ASCII names come back as they were.
    return name.isascii() and name.isidentifier() and not keyword.iskeyword(name)


def render_value(value: Any) -> str:
    """A value as a Python literal with double quotes; a variable as its text."""
    if isinstance(value, Variable):
        return value.text
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, list):
        return f"[{', '.join(map(render_value, value))}]"
    if isinstance(value, tuple):
        return f"({', '.join(map(render_value, value))}{',' if len(value) == 1 else ''})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{render_value(key)}: {render_value(part)}" for key, part in value.items()) + "}"
    return repr(value)


def _quoted(text: str) -> str:
    is_writable = not re.search(r"[\ud800-\udfff]", text)
    return json.dumps(text, ensure_ascii=not is_writable)


def to_object(call: Call) -> dict[str, Any]:
    """The call as `{"name", "arguments"}`, with `positional` where values have no name."""
    written: dict[str, Any] = {"name": call.name, "arguments": to_plain(dict(call.arguments))}
    return {**written, "positional": to_plain(call.positional)} if call.positional else written


def to_tool_calls(calls: Iterable[Call], functions: Iterable[Function] | None = None) -> list[dict[str, Any]]:
    """OpenAI tool calls, under the legal names that `to_openai` gives to `functions`."""
    listed = list(calls)
    names = [call.name for call in listed] if functions is None else []
    known = [Function(name) for name in dict.fromkeys(names)] if functions is None else list(functions)
    # Of functions with the same name, the first one gives the legal name.
    legal = dict(reversed([*zip((one.name for one in known), legal_names(known), strict=True)]))
    return [
        {
            "id": f"call_{number}",
            "type": "function",
            "function": {
                "name": legal.get(call.name, legal_name(call.name)),
                "arguments": json.dumps(to_plain(dict(call.arguments)), ensure_ascii=False),
            },
        }
        for number, call in enumerate(listed, start=1)
    ]
