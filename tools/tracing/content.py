"""The content of spans: prompts, replies, arguments and answers, only if the user asks for it, and without secrets."""

import json
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any, ParamSpec, TypeVar

from restgpt.tools.settings.environment import captures_content
from restgpt.tools.text.redaction import Redactor
from restgpt.tools.tracing.span import Span

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

MOST_CONTENT = 100_000
"""The maximum number of characters of one captured value."""

_redactor: ContextVar[Callable[[], Redactor] | None] = ContextVar("restgpt_content_redactor", default=None)


def set_content(
    current: Span, name: str, value: Callable[[], Any], redactor: Callable[[], Redactor] | None = None
) -> None:
    """Set an attribute of a span to a value as redacted text, if content is captured; what is no text becomes JSON.

    Without a `redactor`, that of the function `redacted_with` is used; without any, the value is not set.
    """
    redactor = redactor or _redactor.get()
    if redactor is None or not current.is_recording or not captures_content():
        return
    hidden = _without_secrets(value(), redactor())
    text = hidden if isinstance(hidden, str) else json.dumps(hidden, ensure_ascii=False, default=str)
    current.set({name: text[:MOST_CONTENT]})


def redacted_with(
    redactor: Callable[[], Redactor], function: Callable[Arguments, Result]
) -> Callable[Arguments, Result]:
    """Return the function so that the content of the spans inside it may be captured, redacted by this redactor."""

    def run(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        token = _redactor.set(redactor)
        try:
            return function(*args, **kwargs)
        finally:
            _redactor.reset(token)

    return run


def _without_secrets(value: Any, redactor: Redactor) -> Any:
    if isinstance(value, str):
        return redactor.message(value)
    if isinstance(value, Mapping):
        hidden = redactor.json(value, by_name=True)
        return {name: _without_secrets(item, redactor) for name, item in hidden.items()}
    if isinstance(value, list | tuple):
        return [_without_secrets(item, redactor) for item in value]
    return value
