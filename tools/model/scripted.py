"""Chat models that ask no provider: they give the replies of a script, or replay those of a recording.

`ScriptedModel` is for the tests of programs that embed the agent.

A recording is a JSON Lines file, made while a run is answered by a model. Each line holds a key made of the role and of
what was asked, the last message for the human reader, the reply and what it cost. The documents and rules in the prompt
of a role are no part of the key, nor are values that differ from run to run, such as the ids that a server chooses: a
replay never answers what was not asked, and outlives a better wording.
"""

import json
import re
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatResult, LLMResult
from langchain_core.runnables import Runnable
from pydantic import BaseModel, PrivateAttr

from restgpt.tools.model.model_errors import ModelError, NotRecordedError
from restgpt.tools.model.reply import json_in

Reply = str | Mapping[str, Any] | AIMessage


class ScriptedChatModel(BaseChatModel):
    """A chat model that asks no provider: a subclass gives its replies.

    A text and a message are passed on unchanged. An object becomes a call of the first bound tool, since structured
    output binds one, or JSON text if no tool is bound.
    """

    @abstractmethod
    def reply(self, messages: list[BaseMessage], tools: Sequence[str]) -> Reply:
        """The reply to a prompt, when the tools of these names are bound; a message brings its own usage."""

    def usage(self, messages: list[BaseMessage], text: str) -> UsageMetadata | None:
        """The cost to report for a reply of this text."""
        return {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(
        self, tools: Sequence[Any], *, tool_choice: str | None = None, **kwargs: Any
    ) -> Runnable[Any, AIMessage]:
        """Bind the names of the tools."""
        return self.bind(tools=[_name_of(tool) for tool in tools])

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        tools = kwargs.get("tools") or ()
        reply = self.reply(messages, tools)
        message = reply if isinstance(reply, AIMessage) else self._message(messages, reply, tools)
        return ChatResult(generations=[ChatGeneration(message=message)])

    def _message(self, messages: list[BaseMessage], reply: str | Mapping[str, Any], tools: Sequence[str]) -> AIMessage:
        text = reply if isinstance(reply, str) else json.dumps(reply, ensure_ascii=False)
        usage = self.usage(messages, text)
        if isinstance(reply, str) or not tools:
            return AIMessage(text, usage_metadata=usage)
        call = {"name": tools[0], "args": dict(reply), "id": "call-1", "type": "tool_call"}
        return AIMessage("", tool_calls=[call], usage_metadata=usage)


Script = Callable[[list[BaseMessage]], "Reply | BaseModel | BaseException"]
"""Gives the reply to a prompt."""


class ScriptedModel(ScriptedChatModel):
    """Gives its replies in order, or asks a function for each; keeps every prompt in `prompts`.

    A pydantic reply becomes a JSON object, an exception is raised. After the last reply, the model raises
    `AssertionError`.
    """

    _replies: Any = PrivateAttr()
    _prompts: list[list[BaseMessage]] = PrivateAttr(default_factory=list)

    def __init__(self, replies: "Iterable[Reply | BaseModel | BaseException] | Script", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._replies = replies if callable(replies) else iter(replies)

    @property
    def prompts(self) -> list[list[BaseMessage]]:
        """The prompts so far."""
        return self._prompts

    @property
    def texts(self) -> list[str]:
        """The prompts so far, each as one text."""
        return ["\n".join(str(message.text) for message in prompt) for prompt in self._prompts]

    def reply(self, messages: list[BaseMessage], tools: Sequence[str]) -> Reply:
        """The next reply of the script."""
        self._prompts.append(list(messages))
        try:
            reply = self._replies(messages) if callable(self._replies) else next(self._replies)
        except StopIteration:
            raise AssertionError(f"the script is over, but the model was asked:\n{messages[-1].text}") from None
        if isinstance(reply, BaseException):
            raise reply
        is_value = isinstance(reply, BaseModel) and not isinstance(reply, AIMessage)
        found: Reply = reply.model_dump() if is_value else reply
        return found


def _name_of(tool: Any) -> str:
    if isinstance(tool, dict):
        return str(tool.get("title") or tool.get("name") or tool.get("function", {}).get("name"))
    return str(getattr(tool, "__name__", tool))


SHOWN = 200
"""The number of characters of the last message that a line shows."""

ROLE = 40
"""The number of characters at the beginning of the system message that tell a role from another."""

_CHANGING = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
    r"|\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?"
    r"|(?<=127\.0\.0\.1:)\d+"
    r"|\b1[6-9]\d{11}\b"
    r"|(?<=-)[0-9a-f]{16}(?=>)"
)
"""UUIDs, times, ports on loopback, milliseconds since 1970, and the names of fences, which are hashes of content."""


def key_of(messages: Sequence[BaseMessage]) -> str:
    """The SHA-256 of the role and of what was asked: the types and texts of all messages but the system message."""
    texts = [(message.type, str(message.text)) for message in messages]
    parts = [[kind, text[:ROLE] if kind == "system" else _CHANGING.sub("…", text)] for kind, text in texts]
    return sha256(json.dumps(parts, ensure_ascii=False).encode()).hexdigest()


class RecordedModel(ScriptedChatModel):
    """A chat model that replays recorded replies; a prompt that was not recorded raises `NotRecordedError`."""

    _entries: dict[str, dict[str, Any]] = PrivateAttr(default_factory=dict)
    _source: str = PrivateAttr(default="")

    @classmethod
    def from_file(cls, path: str | Path) -> "RecordedModel":
        """Read a recording; raises `ModelError` when the file is missing or is not a recording."""
        try:
            lines = Path(path).read_text(encoding="utf-8").splitlines()
            entries = [json.loads(line) for line in lines if line.strip()]
            replies = {entry["key"]: entry for entry in entries}
        except OSError as error:
            raise ModelError(f"The recording {path} cannot be read: {error.strerror}") from None
        except (ValueError, KeyError, TypeError) as error:
            raise ModelError(f"{path} is not a recording of model replies: {error}") from None
        model = cls()
        model._entries = replies
        model._source = Path(path).name
        return model

    @property
    def _llm_type(self) -> str:
        return "recorded"

    def reply(self, messages: list[BaseMessage], tools: Sequence[str]) -> Reply:
        """The recorded reply, as an object where a tool is bound."""
        entry = self._entries.get(key_of(messages))
        if entry is None:
            raise NotRecordedError(
                f"{self._source} holds no reply for this prompt, which ends: "
                f"{str(messages[-1].text)[-SHOWN:]!r}. Recorded replies answer only the prompts that they were "
                "recorded for; give a model with --model."
            )
        found: Reply = json_in(entry["reply"]) if tools else entry["reply"]
        return found

    def usage(self, messages: list[BaseMessage], text: str) -> UsageMetadata | None:
        """The cost of the reply at the time of the recording."""
        found: UsageMetadata | None = self._entries[key_of(messages)].get("usage")
        return found


class Recorder(BaseCallbackHandler):
    """Appends each prompt and its reply to a recording; attach it to a model as a callback."""

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self._lock = Lock()
        self._prompts: dict[UUID, list[BaseMessage]] = {}

    def on_chat_model_start(
        self, serialized: dict[str, Any], messages: list[list[BaseMessage]], *, run_id: UUID, **kwargs: Any
    ) -> None:
        """Remember the prompt until its reply comes."""
        self._prompts[run_id] = messages[0]

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        """Write the line."""
        generation = response.generations[0][0]
        if not isinstance(generation, ChatGeneration) or not isinstance(generation.message, AIMessage):
            return
        message = generation.message
        reply = json.dumps(message.tool_calls[0]["args"]) if message.tool_calls else str(message.text)
        counts = message.usage_metadata
        usage = {name: count for name, count in counts.items() if isinstance(count, int)} if counts else None
        with self._lock, self._path.open("a", encoding="utf-8") as file:
            line = {**self.shown(self._prompts.pop(run_id)), "reply": reply, "usage": usage}
            file.write(json.dumps(line, ensure_ascii=False) + "\n")

    def shown(self, prompt: Sequence[BaseMessage]) -> dict[str, Any]:
        """What a line shows of a prompt; a subclass may show more."""
        return {"key": key_of(prompt), "ends": str(prompt[-1].text)[-SHOWN:]}
