"""Recordings of model replies on real servers, found by task, role and number instead of by the prompt.

Ids, times and ports that a server chooses differ from run to run, so a prompt can differ without a change of ours. Each
line holds the SHA-256 of the prompt that its reply was given to, with such values masked: a replay counts the prompts
that are no longer the recorded ones.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import BaseMessage
from langchain_core.messages.ai import UsageMetadata
from pydantic import BaseModel, PrivateAttr, ValidationError

from restgpt.specs.docs.documentation import TOKEN
from restgpt.tools.model.errors import ModelError, NotRecordedError
from restgpt.tools.model.reply import json_in
from restgpt.tools.model.role import Role
from restgpt.tools.model.scripted import Recorder, Reply, ScriptedChatModel

SHOWN = 600
"""The number of characters of a prompt that an error shows."""

_CHANGING = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
    r"|\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?"
    r"|(?<=127\.0\.0\.1:)\d+"
    r"|\b1[6-9]\d{11}\b"
    r"|(?<=-)[0-9a-f]{16}(?=>)"
)
"""UUIDs, times, ports on loopback, milliseconds since 1970, and the names of fences, which are hashes of content."""


def masked_key(messages: Sequence[BaseMessage]) -> str:
    """Return the SHA-256 of a prompt without the values that differ from run to run."""
    parts = [[message.type, _CHANGING.sub("…", str(message.text))] for message in messages]
    return sha256(json.dumps(parts, ensure_ascii=False).encode()).hexdigest()


class Line(BaseModel):
    """One reply of a recording."""

    task: str
    role: Role
    number: int
    prompt: str
    reply: str
    usage: dict[str, int] | None = None


class Recording:
    """The replies of a recording, and the number of prompts that differed when they were replayed."""

    def __init__(self, lines: Iterable[Line], source: str) -> None:
        self._lines = {(line.task, line.role, line.number): line for line in lines}
        self.source = source
        self.tasks = {line.task for line in self._lines.values()}

    @classmethod
    def from_file(cls, path: Path) -> "Recording":
        """Read a recording; raises `ModelError` if there is none."""
        try:
            texts = path.read_text(encoding="utf-8").splitlines()
            return cls([Line.model_validate_json(text) for text in texts if text.strip()], path.name)
        except OSError as error:
            raise ModelError(f"The recording {path} cannot be read: {error.strerror}") from None
        except ValidationError as error:
            raise ModelError(f"{path} is not a recording of replies on real servers: {error.errors()[0]}") from None

    def line(self, task: str, role: Role, number: int, prompt: Sequence[BaseMessage]) -> Line:
        """Return the reply with this number to a role in a task; raises `NotRecordedError`, which shows the prompt."""
        found = self._lines.get((task, role, number))
        if found is None:
            raise NotRecordedError(
                f"{self.source} has no reply {number} of the {role} for the task {task}, to the prompt that ends: "
                f"{str(prompt[-1].text)[-SHOWN:]!r}. Record the task again with --model and --record."
            )
        return found


class ReplayedModel(ScriptedChatModel):
    """Replays the replies to one role in one task, in their order; `changed` is called for each other prompt."""

    _recording: Recording = PrivateAttr()
    _task: str = PrivateAttr()
    _role: Role = PrivateAttr()
    _changed: Callable[[], None] = PrivateAttr()
    _count: int = PrivateAttr(default=0)
    _lock: Lock = PrivateAttr(default_factory=Lock)

    @classmethod
    def of(cls, recording: Recording, task: str, role: Role, changed: Callable[[], None]) -> "ReplayedModel":
        """Return the model of a role in a task."""
        model = cls()
        model._recording, model._task, model._role, model._changed = recording, task, role, changed
        return model

    def reply(self, messages: list[BaseMessage], tools: Sequence[str]) -> Reply:
        """Return the next reply, as an object where a tool is bound."""
        with self._lock:
            self._count += 1
            line = self._recording.line(self._task, self._role, self._count, messages)
        if line.prompt != masked_key(messages):
            self._changed()
        found: Reply = json_in(line.reply) if tools else line.reply
        return found

    def usage(self, messages: list[BaseMessage], text: str) -> UsageMetadata:
        """Return an estimate for the prompt of this run, because the recorded cost is of another prompt."""
        read, written = sum(len(str(message.text)) for message in messages) // TOKEN, len(text) // TOKEN
        return {"input_tokens": read, "output_tokens": written, "total_tokens": read + written}


class TaskRecorder(Recorder):
    """Appends the replies to one role in one task to a recording; attach it to the role's model as a callback."""

    def __init__(self, path: Path, task: str, role: Role) -> None:
        super().__init__(path)
        self._task, self._role, self._count = task, role, 0

    def line(self, prompt: Sequence[BaseMessage], reply: str, usage: Mapping[str, int] | None) -> str:
        """Return the line for a reply, with its number."""
        self._count += 1
        counts = None if usage is None else dict(usage)
        found = Line(
            task=self._task,
            role=self._role,
            number=self._count,
            prompt=masked_key(prompt),
            reply=reply,
            usage=counts,
        )
        return found.model_dump_json()


class PromptWatch(BaseCallbackHandler):
    """Counts in all prompts of a run how many hold each of some phrases."""

    def __init__(self, phrases: Iterable[str]) -> None:
        self.counts = dict.fromkeys(phrases, 0)
        self.prompts = 0
        self._lock = Lock()

    def on_chat_model_start(
        self, serialized: dict[str, Any], messages: list[list[BaseMessage]], *, run_id: UUID, **kwargs: Any
    ) -> None:
        """Count the phrases of a prompt."""
        text = "\n".join(str(message.text) for message in messages[0]).casefold()
        with self._lock:
            self.prompts += 1
            for phrase in self.counts:
                self.counts[phrase] += phrase.casefold() in text
