"""A line on stderr while a model has not said a word for some time."""

from collections.abc import Callable
from threading import Event, Thread
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler

FIRST_S = 15.0
"""After how many seconds of silence the first line comes; each further one comes after twice the time."""


class Waiting(BaseCallbackHandler):
    """Says for which model a run waits, and how long already."""

    def __init__(self, say: Callable[[str], None], first: float = FIRST_S) -> None:
        self._say = say
        self._first = first
        self._calls: dict[Any, Event] = {}

    def on_chat_model_start(self, serialized: Any, messages: Any, *, run_id: Any, **about: Any) -> None:
        """Begin to count."""
        told = about.get("metadata") or {}
        name = ":".join(str(told[key]) for key in ("ls_provider", "ls_model_name") if told.get(key))
        spoke = self._calls[run_id] = Event()
        Thread(target=self._count, args=(name or "the model", spoke), daemon=True, name="restgpt-waiting").start()

    def _count(self, name: str, spoke: Event) -> None:
        waited, pause = 0.0, self._first
        while not spoke.wait(pause):
            waited += pause
            pause = waited
            self._say(f"waiting for {name}, {waited:.0f} s")

    def _spoke(self, *_: Any, run_id: Any, **__: Any) -> None:
        if call := self._calls.pop(run_id, None):
            call.set()

    on_llm_new_token = on_llm_end = on_llm_error = _spoke
