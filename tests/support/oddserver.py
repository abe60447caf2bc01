"""Servers that answer a chat request in their own way: a function decides on the answer to each."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from loopback import Handler, served

Answer = tuple[int, Any] | tuple[int, Any, dict[str, str]]
"""The status, a value that is sent as JSON, or bytes that are a stream of events, and headers."""

JSON, STREAM = "application/json", "text/event-stream"

Act = Callable[[dict[str, Any]], Answer]


def message(content: Any = None, finish: str = "stop", **more: Any) -> Answer:
    """A chat completion."""
    said = {"role": "assistant", "content": content, **more}
    choice = {"index": 0, "message": said, "finish_reason": finish}
    return 200, {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}


def native(value: Any, name: str = "ProgramReply") -> Answer:
    """A chat completion with a tool call, whose arguments are a text or an object."""
    call = {"id": "1", "type": "function", "function": {"name": name, "arguments": value}}
    return message(None, "tool_calls", tool_calls=[call])


def refusal(status: int, text: str) -> Answer:
    """An HTTP error in OpenAI's form."""
    return status, {"error": {"message": text, "type": "invalid_request_error", "param": None, "code": None}}


@contextmanager
def odd_server(act: Act) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Serve on loopback; the value is the address, and the bodies of the requests as they come."""
    bodies: list[dict[str, Any]] = []

    class Odd(Handler):
        def do_POST(self) -> None:
            bodies.append(json.loads(self.body()))
            status, value, *more = act(bodies[-1])
            headers = more[0] if more else {"X_Should_Retry": "false"}
            self.answer(value, status, STREAM if isinstance(value, bytes) else JSON, **headers)

    with served(Odd) as url:
        yield f"{url}/v1", bodies
