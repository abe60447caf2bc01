"""What a task is: an instruction, calls that carry it out, and what world and answer must be like afterwards."""

import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lab.readers.world import Change, World

Gold = Callable[[str], str]
"""Carries a task out over HTTP by the base URL of its world, and gives the answer."""


DENIAL = (
    "no|none|not|nothing|nobody|neither|never|without|0|zero|cannot|unable|impossible|unsupported|"
    "isn't|aren't|doesn't|don't|hasn't|haven't|didn't|can't|couldn't|wasn't|weren't|isn’t|aren’t|doesn’t|don’t|hasn’t|"
    "haven’t|didn’t|can’t|couldn’t|wasn’t|weren’t"
)
"""A text for `says`: the words with which an answer denies something."""


class MissingDocumentError(Exception):
    """A published document is not there, or is another than the tasks were written for."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A change that a task requires.

    Without a key: a new record with at least these fields. With one: the record, in which these fields and no others
    have new values, or which is deleted if it has to be `gone`. Where several values are right, a field has a function
    that tells whether its value is one of them.
    """

    collection: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    key: str = ""
    gone: bool = False

    def fits(self, change: Change) -> bool:
        """Whether a change is this one."""
        if change.collection != self.collection or (change.after is None) != self.gone:
            return False
        if self.key and (change.key != self.key or change.before is None):
            return False
        if self.gone:
            return True
        if not self.key and change.before is not None:
            return False
        if self.key and change.fields.keys() != self.fields.keys():
            return False
        return all(_right(value, change.fields.get(name)) for name, value in self.fields.items())

    def __str__(self) -> str:
        fields = {name: "…" if callable(value) else value for name, value in self.fields.items()}
        return f"{self.collection} {self.key or 'new'} {'gone' if self.gone else fields}"


@dataclass(frozen=True, slots=True)
class Task:
    """A task on a world.

    `says` are texts that must stand in the answer as whole words, in any case of letters, with or without thousands
    separators (`|` separates forms of one text), `never` those that must not. `surprise` says why a program that
    follows the document alone fails.
    """

    key: str
    instruction: str
    gold: Gold
    says: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    wanted: tuple[Wanted, ...] = ()
    surprise: str = ""

    @property
    def changes(self) -> bool:
        """Whether the task changes something."""
        return bool(self.wanted)

    def faults(self, world: World, answer: str) -> list[str]:
        """List what is wrong with the world and the answer after a run; nothing if the task is done."""
        left, found = list(world.changes()), []
        for wanted in self.wanted:
            made = next((change for change in left if wanted.fits(change)), None)
            if made is None:
                found.append(f"not done: {wanted}")
            else:
                left.remove(made)
        found += [f"beyond the task: {change.collection} {change.key} {change.fields}" for change in left]
        found += [f"the answer lacks {text!r}" for text in self.says if not _stands(text, answer)]
        return found + [f"the answer has {text!r}" for text in self.never if _stands(text, answer)]


def _right(wanted: Any, actual: Any) -> bool:
    return bool(wanted(actual) if callable(wanted) else wanted == actual)


def _stands(text: str, answer: str) -> bool:
    plain = re.sub(r"(?<=\d)[,\u00a0\u202f' ](?=\d{3}(?!\d))", "", answer)
    forms = "|".join(re.escape(form) for form in text.split("|"))
    return re.search(rf"(?<!\w)(?:{forms})(?!\w)", plain, re.IGNORECASE) is not None


@dataclass(frozen=True, slots=True)
class Suite:
    """The tasks of one API: its document by file name and SHA-256, and its world.

    `variable` is the environment variable that names the document itself, if it is not in the folder of the published
    data. `given` are the places and names of the parameters that a person's settings would send with every request.
    `secured`: each operation of the document requires a credential by itself.
    """

    name: str
    file: str
    sha256: str
    world: Callable[[], World]
    tasks: Sequence[Task] = field(default_factory=tuple)
    variable: str = ""
    given: tuple[tuple[str, str], ...] = ()
    secured: bool = False

    def document(self) -> bytes:
        """Read the document, without the requirement of a credential; raises `MissingDocumentError`."""
        path = self._path()
        data = path.read_bytes()
        if hashlib.sha256(data).hexdigest() != self.sha256:
            raise MissingDocumentError(f"{self.file} is another document than the tasks were written for")
        if path.suffix != ".json":
            return _without_security(data) if self.secured else data
        document: dict[str, Any] = json.loads(data)
        document.pop("security", None)
        return json.dumps(document).encode()

    def _path(self) -> Path:
        if self.variable:
            named = os.environ.get(self.variable, "")
            if not named or not Path(named).is_file():
                raise MissingDocumentError(f"{self.variable} names no file with the document {self.file}")
            return Path(named)
        folder = os.environ.get("RESTGPT_DATA")
        path = Path(folder or "", "openapi", self.file)
        if not folder or not path.is_file():
            raise MissingDocumentError(f"RESTGPT_DATA names no folder with openapi/{self.file}")
        return path


def _without_security(data: bytes) -> bytes:
    """Drop the blocks `security:` of a YAML document's operations, and leave all other lines as they are."""
    kept: list[str] = []
    inside = -1
    for line in data.decode().splitlines(keepends=True):
        text = line.lstrip(" ")
        depth = len(line) - len(text)
        if inside >= 0 and (depth > inside or (depth == inside and text.startswith("- "))):
            continue
        inside = depth if text.rstrip() == "security:" else -1
        if inside < 0:
            kept.append(line)
    return "".join(kept).encode()
