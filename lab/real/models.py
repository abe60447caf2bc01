"""The chat models of runs on real servers: replays of a recording, or a model by name, recorded if that is wanted."""

from collections import Counter
from pathlib import Path

from langchain_core.language_models import BaseChatModel

from lab.real.recording import Recording, ReplayedModel, TaskRecorder
from restgpt.tools.model.provider import resolve_model
from restgpt.tools.model.role import Role


class ReplayedModels:
    """The models that replay a recording."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._changed: Counter[str] = Counter()

    def model(self, task: str, role: Role) -> BaseChatModel:
        """Return the model that replays the replies to a role in a task."""
        return ReplayedModel.of(self._recording, task, role, lambda: self._changed.update([task]))

    def changed(self, task: str) -> int:
        """Return how many prompts of a task were not the recorded ones."""
        return self._changed[task]


class NamedModels:
    """One chat model for all roles; `record` is the file to which the replies are appended."""

    def __init__(self, name: str, *, record: Path | None, timeout: float) -> None:
        self._name, self._record, self._timeout = name, record, timeout

    def model(self, task: str, role: Role) -> BaseChatModel:
        """Return the model; raises `ModelError`."""
        model = resolve_model(self._name, timeout=self._timeout)
        if self._record is not None:
            model.callbacks = [TaskRecorder(self._record, task, role)]
        return model

    def changed(self, task: str) -> int:
        """Return 0, because nothing is replayed."""
        return 0
