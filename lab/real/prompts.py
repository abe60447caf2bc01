"""What the prompts of runs on real servers hold."""

from collections.abc import Iterable
from threading import Lock
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import BaseMessage


class PromptWatch(BaseCallbackHandler):
    """Counts the prompts of a run and their characters, and how many hold each of some phrases."""

    def __init__(self, phrases: Iterable[str]) -> None:
        self.counts = dict.fromkeys(phrases, 0)
        self.prompts = self.characters = 0
        self._lock = Lock()

    def on_chat_model_start(
        self, serialized: dict[str, Any], messages: list[list[BaseMessage]], *, run_id: UUID, **kwargs: Any
    ) -> None:
        """Count the phrases of a prompt."""
        text = "\n".join(str(message.text) for message in messages[0]).casefold()
        with self._lock:
            self.prompts += 1
            self.characters += len(text)
            for phrase in self.counts:
                self.counts[phrase] += phrase.casefold() in text
