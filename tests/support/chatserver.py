"""A fake of the OpenAI chat API: a server on loopback with scripted replies."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from threading import Lock
from types import TracebackType
from typing import Any

from loopback import Handler, Server
from roles import ROLES


@dataclass(frozen=True)
class Refusal:
    """A reply that is an HTTP error."""

    status: int
    message: str = "refused by the script"


@dataclass(frozen=True)
class ChatRequest:
    """A client's chat request: its JSON body."""

    body: Mapping[str, Any]

    @property
    def schema(self) -> str:
        """The name of the requested schema, such as `PlannerReply`; empty for plain text."""
        wanted = self.body.get("response_format") or {}
        tools = self.body.get("tools") or []
        if wanted.get("type") == "json_schema":
            return str(wanted["json_schema"]["name"])
        return str(tools[0]["function"]["name"]) if tools else ""

    @property
    def role(self) -> str:
        """The role of the agent that asks, from the start of its system message; empty if no role matches."""
        return next((role for opening, role in ROLES.items() if self.texts[0].startswith(opening)), "")

    @property
    def texts(self) -> list[str]:
        """The text of each message."""
        return [_text(message.get("content")) for message in self.body["messages"]]

    @property
    def text(self) -> str:
        """All messages in one text."""
        return "\n".join(self.texts)


Reply = str | Mapping[str, Any] | Refusal
Script = Callable[[ChatRequest], Reply]


def script_by_role(replies: Mapping[str, Iterable[Reply]]) -> Script:
    """A script per role of the agent, each in order: `{"planner": […], "parser": […]}`."""
    scripts = {role: iter(given) for role, given in replies.items()}
    lock = Lock()

    def script(request: ChatRequest) -> Reply:
        with lock:
            reply = next(scripts.get(request.role, iter(())), None)
        return _over(request) if reply is None else reply

    return script


class ChatServer:
    """Serves `POST /v1/chat/completions` (streamed too) and `GET /v1/models` until the context is left.

    Replies come from an iterable, in order, or from a function of the request. A string is text, a mapping a tool call
    if tools are offered and JSON text if not, a `Refusal` an HTTP error. After the last reply, the server answers with
    status 418.
    """

    def __init__(self, script: Iterable[Reply] | Script, *, model: str = "scripted") -> None:
        self.model = model
        self.requests: list[ChatRequest] = []
        self._lock = Lock()
        self.use(script)
        self._server = Server(_handler(self))
        self.url = f"{self._server.url}/v1"

    def __enter__(self) -> "ChatServer":
        self._server.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.__exit__()

    def use(self, script: Iterable[Reply] | Script) -> None:
        """Replace the script and clear the recorded requests; clients keep their connections."""
        with self._lock:
            self._script = script if callable(script) else iter(script)
            self.requests.clear()

    def reply(self, request: ChatRequest) -> Reply:
        """Record a request and answer it."""
        with self._lock:
            self.requests.append(request)
            if not callable(self._script):
                return next(self._script, None) or _over(request)
        return self._script(request)


def _over(request: ChatRequest) -> Refusal:
    return Refusal(
        418, f"the script holds no further reply for the {request.role or 'text'}: {request.texts[-1][-300:]}"
    )


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return str(content or "")


def _handler(chat: ChatServer) -> type[Handler]:
    class Chat(Handler):
        def do_GET(self) -> None:
            if self.path != "/v1/models":
                self.answer({"error": {"message": "there is no such page"}}, 404)
                return
            self.answer({"object": "list", "data": [{"id": chat.model, "object": "model"}]})

        def do_POST(self) -> None:
            body = json.loads(self.body())
            reply = chat.reply(ChatRequest(body))
            if isinstance(reply, Refusal):
                self.answer({"error": {"message": reply.message, "type": "scripted"}}, reply.status)
            elif body.get("stream"):
                events = [json.dumps(chunk) for chunk in _chunks(body, reply)] + ["[DONE]"]
                self.answer("".join(f"data: {event}\n\n" for event in events).encode(), 200, "text/event-stream")
            else:
                self.answer(_completion(body, reply))

    return Chat


PIECE = 7
"""The number of characters of a chunk of a streamed reply."""

USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}


def _completion(body: Mapping[str, Any], reply: str | Mapping[str, Any]) -> dict[str, Any]:
    message, reason = _message(body, reply)
    choice = {"index": 0, "message": {"role": "assistant", "refusal": None, **message}, "finish_reason": reason}
    return {**_envelope(body, "chat.completion"), "choices": [choice], "usage": USAGE}


def _chunks(body: Mapping[str, Any], reply: str | Mapping[str, Any]) -> list[dict[str, Any]]:
    message, reason = _message(body, reply)
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    if "tool_calls" in message:
        [call] = message["tool_calls"]
        function = call["function"]
        deltas.append({"tool_calls": [{"index": 0, **call, "function": {**function, "arguments": ""}}]})
        pieces = _pieces(function["arguments"])
        deltas += [{"tool_calls": [{"index": 0, "function": {"arguments": piece}}]} for piece in pieces]
    else:
        deltas += [{"content": piece} for piece in _pieces(message["content"])]
    said = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    done = {"index": 0, "delta": {}, "finish_reason": reason}
    envelope = _envelope(body, "chat.completion.chunk")
    is_counted = (body.get("stream_options") or {}).get("include_usage")
    return [
        *({**envelope, "choices": [choice]} for choice in (*said, done)),
        *([{**envelope, "choices": [], "usage": USAGE}] if is_counted else []),
    ]


def _pieces(text: str) -> list[str]:
    """Cut a text as a model's tokens would."""
    return [text[start : start + PIECE] for start in range(0, len(text), PIECE)]


def _envelope(body: Mapping[str, Any], kind: str) -> dict[str, Any]:
    return {"id": "chatcmpl-scripted", "object": kind, "created": 0, "model": body.get("model", "scripted")}


def _message(body: Mapping[str, Any], reply: str | Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    if isinstance(reply, str):
        return {"content": reply}, "stop"
    text = json.dumps(reply)
    tools = body.get("tools")
    if not tools:
        return {"content": text}, "stop"
    call = {"id": "call-1", "type": "function", "function": {"name": tools[0]["function"]["name"], "arguments": text}}
    return {"content": None, "tool_calls": [call]}, "tool_calls"
