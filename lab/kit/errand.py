"""Errands: fixed tasks of several steps with a model that plays all roles from the prompts alone.

The model keeps no state, so a run that was killed goes on in another process as it would have gone on in the first. The
model is honest: it tries a refused or unanswered call once more, and then reports that it could not be done.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import BaseMessage

from lab.kit.task_model import TaskModel
from restgpt.tools.model.scripted import Reply
from restgpt_bench.worlds import World

TRIES = 2
DONE = "Everything is done."
UNDONE = "Not everything could be done."

_CALLED = re.compile(
    r"^Called (\S+) ([^\n]*?): (status \d+|no response|not sent)\.(.*?)(?=^Called |^</result-|\Z)",
    re.MULTILINE | re.DOTALL,
)
_NUMBERED = re.compile(r"^(\d+)\. (\S+): step (\d+)", re.MULTILINE)
_STEP = re.compile(r"\bstep (\d+)")
_RESPONSE = re.compile(r"<(response-\w+)>\n(.*)\n</\1>", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Step:
    """One call of an errand.

    Steps of one `stage` are planned together. `{name}` in the arguments is replaced by the id in the answer to the step
    that `gives` this name; if that answer was lost, by the id that the operation `lookup` lists for the name `named`.
    """

    operation: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    stage: int = 0
    gives: str = ""
    lookup: str = ""
    named: str = ""

    def fill(self, ids: Mapping[str, str]) -> dict[str, Any]:
        """The arguments with ids in their places; numbers in the path become numbers."""
        text = json.dumps(self.arguments)
        for name, value in ids.items():
            text = text.replace(f'"{{{name}}}"', value if value.isdigit() else json.dumps(value))
        filled: dict[str, Any] = json.loads(text)
        return filled


@dataclass(frozen=True, slots=True)
class Errand:
    """A task: the world it is for, what the user says, and its steps.

    `looks` is set where the person who answers questions looks into changes of unknown outcome: these count as made.
    """

    world: str
    instruction: str
    steps: tuple[Step, ...]
    looks: bool = False


@dataclass(frozen=True, slots=True)
class _Called:
    operation: str
    arguments: str
    outcome: str
    text: str


class ErrandModel(TaskModel[Errand]):
    """Plays planner, selector, caller and parser of an errand, and takes `seconds` for each reply."""

    def answer(self, task: Callable[[], Errand], messages: list[BaseMessage]) -> Reply:
        """Return the reply of the role that the system message names."""
        return _reply(task(), messages)


def _reply(errand: Errand, messages: Sequence[BaseMessage]) -> str | dict[str, Any]:
    opening = str(messages[0].text)
    text = "\n".join(str(message.text) for message in messages[1:])
    if opening.startswith("You are the planner"):
        return _plan(errand, text)
    if opening.startswith("You are the API selector"):
        return _select(errand, text)
    if opening.startswith("You are the caller"):
        return _call(errand, text)
    return _read(str(messages[-1].text))


def _plan(errand: Errand, text: str) -> dict[str, Any]:
    calls = _calls(text)
    left = [number for number, step in enumerate(errand.steps, 1) if not _is_done(errand, step, calls)]
    if not left:
        return {"thought": "", "decision": "end", "text": DONE, "fulfilled": True}
    stage = min(errand.steps[number - 1].stage for number in left)
    now = [number for number in left if errand.steps[number - 1].stage == stage]
    missing = _missing(errand, now, calls)
    looked = sum(call.operation == missing.lookup for call in calls) if missing is not None else 0
    if looked >= TRIES or any(_tries(errand.steps[number - 1], calls) >= TRIES for number in now):
        return {"thought": "", "decision": "end", "text": UNDONE, "fulfilled": False}
    words = f"look up {missing.lookup}" if missing else ", ".join(f"step {number}" for number in now)
    return {"thought": "", "decision": "plan", "text": f"Now: {words}"}


def _select(errand: Errand, text: str) -> dict[str, Any]:
    task = text.rpartition("Sub-task: Now: ")[2].splitlines()[0]
    chosen = {f"step {number}": errand.steps[int(number) - 1].operation for number in _STEP.findall(task)}
    if task.startswith("look up "):
        chosen = {"look up": task.removeprefix("look up ")}
    calls = [{"operation": operation, "purpose": purpose, "needs": []} for purpose, operation in chosen.items()]
    return {"thought": "", "calls": calls, "answer": ""}


def _call(errand: Errand, text: str) -> dict[str, Any]:
    ids = _ids(errand, _calls(text))
    asked = text.rpartition("Calls to make now:")[2]
    wanted = [(int(number), errand.steps[int(step) - 1].fill(ids)) for number, _, step in _NUMBERED.findall(asked)]
    return {"thought": "", "calls": [_made(number, given) for number, given in wanted or [(1, {})]], "missing": ""}


def _made(number: int, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"call": number, "arguments": arguments, "description": "an answer", "output_instruction": "the ids"}


def _read(text: str) -> str:
    """The ids in a response: its own, or those of its items with their names."""
    found = _RESPONSE.search(text)
    try:
        value = json.loads(found.group(2)) if found else None
    except ValueError:
        return "unreadable"
    return _told(value)


def _told(value: Any) -> str:
    if not isinstance(value, dict):
        return "unreadable"
    if isinstance(value.get("items"), list):
        items = [item for item in value["items"] if isinstance(item, dict)]
        return "\n".join(f"{item.get('name')}={item.get('id')}" for item in items) or "none"
    return f"id={value.get('id')}"


def _calls(text: str) -> list[_Called]:
    return [_Called(*found.groups()) for found in _CALLED.finditer(text)]


def _is_of(call: _Called, step: Step) -> bool:
    """Whether a call carried a step out: it has the same operation and the same fixed values."""
    if call.operation != step.operation:
        return False
    try:
        given = json.loads(call.arguments)
    except ValueError:
        return False
    return _fits(given, step.arguments)


def _fits(given: Any, wanted: Any) -> bool:
    if isinstance(wanted, Mapping):
        return isinstance(given, Mapping) and all(_fits(given.get(name), value) for name, value in wanted.items())
    return given == wanted or (isinstance(wanted, str) and wanted.startswith("{"))


def _is_done(errand: Errand, step: Step, calls: Sequence[_Called]) -> bool:
    mine = [call for call in calls if _is_of(call, step)]
    if step.gives:
        given = _ids(errand, mine).get(step.gives)
        if given is None and not step.lookup:
            return False
    return any(_succeeded(call) or (errand.looks and _is_unsure(call)) for call in mine)


def _succeeded(call: _Called) -> bool:
    return call.outcome.startswith("status 2")


def _is_unsure(call: _Called) -> bool:
    return call.outcome == "no response" and "not known" in call.text


def _tries(step: Step, calls: Sequence[_Called]) -> int:
    """The number of failed attempts at a step; `TRIES` after a change of unknown outcome, which is not tried again."""
    mine = [call for call in calls if _is_of(call, step)]
    if any(_is_unsure(call) for call in mine):
        return TRIES
    return sum(call.outcome != "not sent" for call in mine)


def _missing(errand: Errand, now: Sequence[int], calls: Sequence[_Called]) -> Step | None:
    """The step whose id is needed now and not known."""
    needed = json.dumps([dict(errand.steps[number - 1].arguments) for number in now])
    ids = _ids(errand, calls)
    return next(
        (step for step in errand.steps if step.gives and f"{{{step.gives}}}" in needed and step.gives not in ids), None
    )


def _ids(errand: Errand, calls: Sequence[_Called]) -> dict[str, str]:
    found: dict[str, str] = {}
    for step in errand.steps:
        for call in calls if step.gives else ():
            told = _told_by(call.text)
            if _is_of(call, step) and (match := re.search(r"^id=(\S+)$", told, re.MULTILINE)):
                found[step.gives] = match.group(1)
            if step.lookup and call.operation == step.lookup and f"{step.named}=" in told:
                found.setdefault(step.gives, told.partition(f"{step.named}=")[2].split()[0])
    return found


def _told_by(text: str) -> str:
    """The text of a result: what this model printed as the parser, or the ids in a small body."""
    start = text.find("{")
    try:
        value, _ = json.JSONDecoder().raw_decode(text[start:]) if start >= 0 else (None, 0)
    except ValueError:
        value = None
    return _told(value) if isinstance(value, dict) else "\n".join(line.strip() for line in text.splitlines())


def playlist_errand(world: World[Any], *, looks: bool = False, name: str = "Harbour lights") -> Errand:
    """Make a playlist of two songs, describe it, and take a song out of the library: five changes on Spotify."""
    first, second, third = (
        item["track"]["id"] for item in world.call("GET /me/tracks", query={"limit": 3}).body["items"]
    )
    items = {"path": {"playlist_id": "{playlist}"}}
    created = {"path": {"user_id": "{user}"}, "body": {"name": name}}
    return Errand(
        "spotify",
        f"Make a playlist {name} of the tracks spotify:track:{first} and spotify:track:{second}, describe it as "
        f"'Songs for the quay', and remove {third} from my library.",
        (
            Step("get_my_profile", stage=1, gives="user"),
            Step("create_playlist", created, stage=2, gives="playlist", lookup="list_my_playlists", named=name),
            Step("add_playlist_items", {**items, "body": {"uris": [f"spotify:track:{first}"]}}, stage=3),
            Step("add_playlist_items", {**items, "body": {"uris": [f"spotify:track:{second}"]}}, stage=3),
            Step("change_playlist_details", {**items, "body": {"description": "Songs for the quay"}}, stage=4),
            Step("remove_saved_tracks", {"query": {"ids": third}}, stage=4),
        ),
        looks,
    )


def board_errand(*, looks: bool = False, name: str = "Roof garden") -> Errand:
    """Make a project with two tasks on the team board, and rename another project: four changes."""
    below = {"path": {"project_id": "{project}"}}
    return Errand(
        "toy",
        f"Make the project {name} with the tasks 'Buy soil' and 'Carry it up', and let Noor own project 2.",
        (
            Step("create_project", {"body": {"name": name}}, 1, "project", "list_projects", name),
            Step("create_task", {**below, "body": {"title": "Buy soil"}}, stage=2),
            Step("create_task", {**below, "body": {"title": "Carry it up"}}, stage=2),
            Step("update_project", {"path": {"project_id": 2}, "body": {"owner": "Noor"}}, stage=3),
        ),
        looks,
    )


def reading_errand() -> Errand:
    """Read three things of the team board, two of them at once."""
    return Errand(
        "toy",
        "What are task 101 and project 2, and who owns project 1?",
        (
            Step("get_task", {"path": {"task_id": 101}}, stage=1, gives="task"),
            Step("get_project", {"path": {"project_id": 2}}, stage=1, gives="one"),
            Step("get_project", {"path": {"project_id": 1}}, stage=2, gives="other"),
        ),
    )
