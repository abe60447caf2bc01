"""The record of a benchmark run: a folder with its settings and one JSON file per finished task, written atomically."""

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime
from pathlib import Path
from typing import Any

from restgpt.specs.problem import is_success
from restgpt.tools.errors import StoppingError
from restgpt.tools.file_lock import file_lock

SETTINGS = "run.json"
RECORDS = "tasks"


class RunFolderError(StoppingError):
    """A run folder cannot be used; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class RunSettings:
    """The settings that decide the outcome of a run; a run can be resumed only with equal ones.

    `ablations` are names such as parser; `context` has further settings of the agent; `noise` is None for the whole
    document. `prompts` are the hashes of all prompt files, `version` is the program's. `only` are the tasks that
    the document was cut for; without noise it is empty, since a run may then be made in parts.
    """

    suite: str
    method: str
    model: str
    seed: int = 0
    spec: str | None = None
    noise: int | None = None
    noise_specs: tuple[str, ...] = ()
    ablations: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    context: Mapping[str, Any] = field(default_factory=dict)
    prompts: Mapping[str, str] = field(default_factory=dict)
    version: str = ""

    def to_json(self) -> dict[str, Any]:
        """The settings as a JSON object."""
        return {
            **asdict(self),
            "noise_specs": list(self.noise_specs),
            "ablations": list(self.ablations),
            "only": list(self.only),
            "context": dict(self.context),
            "prompts": dict(self.prompts),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "RunSettings":
        """Read what `to_json` wrote."""
        lists = {name: tuple(data.get(name, ())) for name in ("noise_specs", "ablations", "only")}
        return cls(**{**_known(cls, data), **lists})

    @property
    def label(self) -> str:
        """The method and its ablations, as tables name it."""
        return self.method + "".join(f" w/o {name}" for name in self.ablations)


@dataclass(frozen=True, slots=True)
class Failure:
    """The error that ended a run: its type, and its message where that cannot hold a secret."""

    type: str
    message: str


@dataclass(frozen=True, slots=True)
class GoldCall:
    """A gold call as it was replayed on a twin of the world; `flows` are the values taken from earlier results."""

    operation: str
    arguments: Mapping[str, Any]
    flows: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class SubTask:
    """A sub-task of the planner, and the operations that search finds for it."""

    text: str
    speaks_of: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Record:
    """Everything about one task of a run; scoring and attribution read nothing else.

    `gold` is the published path, `paths` all that are as good, `calls` the gold calls of the repaired one. `log` is the
    world's own request log; each entry names in `covers` the operations that the request stands for. `steps` is the
    agent's trajectory; `plans` are all API plans, those too that the caller sent back, with its reasons in `hints`.
    `operations` maps the names in plans to "METHOD /template". `told` says whether the extracted results hold a true
    answer, among whatever else. `usage` is that of the agent's state; `wall_s` and `cpu_s` are seconds, the latter of
    the thread that ran the graph. `offered` counts the operations that the agent had.
    """

    key: str
    instruction: str
    gold: tuple[str, ...]
    paths: tuple[tuple[str, ...], ...]
    calls: tuple[GoldCall, ...]
    success: bool
    why: str
    answer: str
    told: bool
    log: Sequence[Mapping[str, Any]]
    steps: Sequence[Mapping[str, Any]]
    plans: Sequence[Mapping[str, Any]]
    hints: Sequence[str]
    operations: Mapping[str, str]
    subtasks: tuple[SubTask, ...]
    usage: Mapping[str, Any]
    wall_s: float
    cpu_s: float
    offered: int
    failure: Failure | None = None

    def to_json(self) -> dict[str, Any]:
        """The record as a JSON object."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Record":
        """Read what `to_json` wrote."""
        failure = data.get("failure")
        return cls(
            **{
                **_known(cls, data),
                "gold": tuple(data["gold"]),
                "paths": tuple(tuple(path) for path in data["paths"]),
                "calls": tuple(
                    GoldCall(call["operation"], call["arguments"], tuple(call["flows"])) for call in data["calls"]
                ),
                "subtasks": tuple(SubTask(part["text"], tuple(part["speaks_of"])) for part in data["subtasks"]),
                "failure": None if failure is None else Failure(**failure),
            }
        )

    def called(self, *, fulfilled: bool = True, covered: bool = False) -> list[str]:
        """The operations that were called, in order; `fulfilled`: only with a 2xx status; `covered`: with all parts."""
        entries = [entry for entry in self.log if not fulfilled or is_success(entry["status"])]
        if covered:
            return [operation for entry in entries for operation in entry["covers"]]
        return [entry["covers"][0] for entry in entries]


def _known(kind: type[Any], data: Mapping[str, Any]) -> dict[str, Any]:
    names = {item.name for item in fields(kind)}
    return {name: value for name, value in data.items() if name in names}


class RunFolder:
    """The folder of one run. One process at a time writes to it; a killed one leaves no half record behind."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def open(cls, path: Path, settings: RunSettings) -> "RunFolder":
        """Begin a run, or resume one with equal settings; raises `RunFolderError` with the settings that differ."""
        folder = cls(path)
        if (path / SETTINGS).is_file():
            different = _differences(folder.settings(), settings)
            if different:
                raise RunFolderError(
                    f"{path} holds a run with other settings ({', '.join(different)}). Give the same settings to go on "
                    "with it, or another --out."
                )
            return folder
        if path.is_dir() and any(path.iterdir()):
            raise RunFolderError(f"{path} holds something else than a run. Name a new folder with --out.")
        (path / RECORDS).mkdir(parents=True, exist_ok=True)
        _write(path / SETTINGS, settings.to_json())
        return folder

    @classmethod
    def read(cls, path: Path) -> "RunFolder":
        """Open an existing run; raises `RunFolderError` if the folder holds none."""
        if not (path / SETTINGS).is_file():
            raise RunFolderError(f"There is no run in {path}: it has no {SETTINGS}.")
        return cls(path)

    def settings(self) -> RunSettings:
        """The settings that the run was begun with."""
        return RunSettings.from_json(json.loads((self.path / SETTINGS).read_text(encoding="utf-8")))

    def write(self, record: Record) -> None:
        """Write the record of a finished task with the settings, atomically."""
        _write(self._place(record.key), {"settings": self.settings().to_json(), **record.to_json()})

    def keys(self) -> set[str]:
        """The tasks that are finished."""
        return {record.key for record in self.records()}

    def records(self) -> list[Record]:
        """All records, in the order of their keys (numbers by size)."""
        found = [Record.from_json(json.loads(path.read_text(encoding="utf-8"))) for path in self._files()]
        return sorted(found, key=lambda record: record.key.zfill(6) if record.key.isdecimal() else record.key)

    def _files(self) -> Iterator[Path]:
        yield from (self.path / RECORDS).glob("*.json")

    def _place(self, key: str) -> Path:
        return self.path / RECORDS / f"{re.sub(r'[^A-Za-z0-9_-]', '_', key)}.json"

    def locked(self) -> AbstractContextManager[None]:
        """Lock the folder against other processes until the process ends. Raises `RunFolderError` if it is locked."""
        return file_lock(self.path / "lock", RunFolderError(f"Another process is working on the run in {self.path}."))


def default_folder(settings: RunSettings, *, now: datetime, root: Path = Path("runs")) -> Path:
    """The folder of a run without --out, named by day and settings, so that the same command resumes the run."""
    noise = "" if settings.noise is None else f"-noise{settings.noise}"
    without = "".join(f"-no-{name}" for name in settings.ablations)
    name = f"{now:%Y-%m-%d}-{settings.suite}-{settings.method}{without}-{settings.model}-seed{settings.seed}{noise}"
    return root / re.sub(r"[^A-Za-z0-9_.-]+", "_", name)[:150]


def _differences(before: RunSettings, now: RunSettings) -> list[str]:
    old, new = before.to_json(), now.to_json()
    return [name for name in new if json.dumps(old[name], sort_keys=True) != json.dumps(new[name], sort_keys=True)]


def _write(path: Path, value: Any) -> None:
    partial = path.with_name(f".{path.name}.partial")
    with partial.open("w", encoding="utf-8") as file:
        json.dump(value, file, ensure_ascii=False, indent=1)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)
