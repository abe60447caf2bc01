"""A scripted model that streams its replies in pieces, and a client that shows a stream of messages."""

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, message_chunk_to_message
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGenerationChunk
from pydantic import PrivateAttr
from scripted import Reply, Script, ScriptedModel

from restgpt.tools.model.scripted import Reply as ModelReply

PIECE = 4
"""The number of characters of a piece of a reply."""


class StreamingModel(ScriptedModel):
    """Streams its replies if somebody wants the tokens; `before` is called with each piece before it is sent."""

    _before: Callable[[str], None] = PrivateAttr()

    def __init__(
        self, replies: Iterable[Reply] | Script, *, before: Callable[[str], None] = lambda piece: None, **kwargs: Any
    ) -> None:
        super().__init__(replies, **kwargs)
        self._before = before

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        tools = kwargs.get("tools") or ()
        reply: ModelReply = self.reply(messages, tools)
        whole = reply if isinstance(reply, AIMessage) else self._message(messages, reply, tools)
        for chunk in _chunks(whole):
            self._before(str(chunk.content) or str(chunk.tool_call_chunks[0]["args"]))
            yield ChatGenerationChunk(message=chunk)
        yield ChatGenerationChunk(message=AIMessageChunk(content="", usage_metadata=whole.usage_metadata))


def _chunks(message: AIMessage) -> Iterator[AIMessageChunk]:
    if not message.tool_calls:
        yield from (AIMessageChunk(content=piece) for piece in _pieces(str(message.content)))
        return
    [call] = message.tool_calls
    name: str | None = call["name"]
    for piece in _pieces(json.dumps(call["args"])):
        chunk = tool_call_chunk(name=name, args=piece, id=call["id"] if name else None, index=1)
        yield AIMessageChunk(content="", tool_call_chunks=[chunk])
        name = None


def _pieces(text: str) -> list[str]:
    return [text[start : start + PIECE] for start in range(0, len(text), PIECE)]


class ChatClient:
    """Shows the parts of LangGraph's stream mode `messages` as chat clients do: chunks of one id are one message."""

    def __init__(self) -> None:
        self.shown: dict[str, BaseMessage] = {}
        self.parts: list[BaseMessage] = []

    def add(self, message: BaseMessage) -> None:
        """Add a part: append a chunk, add a message, or take one away."""
        self.parts.append(message)
        key = str(message.id)
        if message.type == "remove":
            del self.shown[key]
        elif isinstance(message, AIMessageChunk) and key in self.shown:
            self.shown[key] = self.shown[key] + message  # type: ignore[assignment,operator]
        else:
            assert key not in self.shown
            self.shown[key] = message

    @property
    def messages(self) -> list[BaseMessage]:
        """The messages on the screen."""
        return [
            message_chunk_to_message(message) if isinstance(message, AIMessageChunk) else message
            for message in self.shown.values()
        ]

    @property
    def texts(self) -> list[str]:
        """The texts of the parts."""
        return [str(part.content) for part in self.parts]
