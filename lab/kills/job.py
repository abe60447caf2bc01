"""Jobs: instructions that a program carries out with three to ten changes, drawn from a seed, and the model for them.

The programs are careful ones: after an error they look whether the change was made. A change of a job is unlike each
other change of it, so a change that the world's log has twice was made twice. The model keeps no state.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from langchain_core.messages import BaseMessage

from lab.kit.errand import DONE, TRIES, UNDONE
from lab.kit.task_model import TaskModel
from restgpt.tools.model.scripted import Reply
from restgpt_bench.worlds import open_world

FEWEST, MOST = 3, 10
"""The fewest and the most changes of a job."""

STAMP = 'f"Made {datetime.datetime.now().isoformat()} lot {random.randrange(10**9)}"'
"""A text that differs in each run of a program, unless its clock and its random numbers are fixed."""


@dataclass(frozen=True, slots=True)
class Job:
    """An instruction for a world, the program that carries it out, and the number of its changes."""

    world: str
    instruction: str
    code: str
    changes: int


@dataclass(frozen=True, slots=True)
class ClientJob(Job):
    """A job whose program a client gives, without a model; after an error the client gives it again."""

    @classmethod
    def of(cls, job: Job) -> "ClientJob":
        """Return the job as that of a client."""
        return cls(job.world, job.instruction, job.code, job.changes)


class JobModel(TaskModel[Job]):
    """Writes the program of a job; after an error it writes the program again, and then ends with what it was told."""

    def answer(self, task: Callable[[], Job], messages: list[BaseMessage]) -> Reply:
        """Return the program, or the end of the job."""
        results = [str(message.text) for message in messages[2:] if message.type == "human"]
        if results and DONE in results[-1]:
            return {"thought": "", "decision": "end", "text": DONE, "fulfilled": True}
        if not str(messages[0].text).startswith("You fulfil") or len(results) >= TRIES:
            return {"thought": "", "decision": "end", "text": UNDONE, "fulfilled": False}
        return {"thought": "", "decision": "program", "text": task().code}


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a job: `code` and `words` are templates, for some things of a pool, `one` of another, and new names.

    It makes `fixed` changes and `each` for each thing, with `least` in all. `more` is added where there is room for it.
    """

    code: str
    words: str
    least: int = 0
    pool: str = ""
    one: str = ""
    count: tuple[int, int] = (0, 0)
    fixed: int = 0
    each: int = 1
    more: Mapping[str, Any] = field(default_factory=dict)

    def drawn(self, draft: "_Draft", room: int) -> None:
        """Add the part to a job that may have so many further changes."""
        place = draft.pools[self.one].pop() if self.one else ""
        low, high = self.count
        count = min((room - self.fixed) // self.each, low if low == high else draft.chance.randint(low, high))
        things = [draft.pools[self.pool].pop() for _ in range(count)] if self.pool else []
        names = [f"Job {draft.number} part {10 * draft.parts + part}" for part in range(count + 1)]
        lists = {"all": things, "named": names[:count], "titled": names[1:]}
        given = {name: ", ".join(map(str, found)) for name, found in lists.items()}
        given |= {"things": str(things), "names": str(names[:count]), "titles": str(names[1:]), "count": str(count)}
        given |= {"place": str(place), "name": names[0], "first": str([*things, ""][0])}
        changes, added = self.fixed + self.each * count, [self]
        if self.more and changes + self.more["fixed"] <= room:
            changes += self.more["fixed"]
            added.append(Part(**self.more))
        draft.lines += [part.code.format(**given).replace("$stamp", STAMP) for part in added]
        draft.words += [part.words.format(**given) for part in added]
        draft.changes += changes
        draft.parts += 1


@dataclass(slots=True)
class _Draft:
    """A job in the making: what it may still use, and its lines, words, changes and parts so far."""

    number: int
    chance: random.Random
    pools: dict[str, list[Any]]
    lines: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    changes: int = 0
    parts: int = 0


@cache
def _made_of(world: str) -> tuple[str, list[Part]]:
    """Return the library of a world's programs, and the parts of its jobs."""
    given = yaml.safe_load(Path(__file__).with_name("job.yaml").read_text(encoding="utf-8"))
    return f"{given['sure']}\n{given[world]['library']}", [Part(**part) for part in given[world]["parts"]]


def library(world: str) -> str:
    """Return the functions of a world's programs, which look after an error whether the change was made."""
    return _made_of(world)[0]


def make_jobs(count: int, *, seed: int = 0, sizes: Sequence[int] = ()) -> list[Job]:
    """Return different jobs, the worlds in turn; their `sizes`, the most changes of each, in turn too if given."""
    return [
        _job(("spotify", "toy")[number % 2], number, seed, sizes[number // 2 % len(sizes)] if sizes else 0)
        for number in range(count)
    ]


def _job(world: str, number: int, seed: int, size: int) -> Job:
    chance = random.Random(f"job {seed} {number}")
    pools = {name: chance.sample(items, len(items)) for name, items in _pools(world).items()}
    draft, (source, parts) = _Draft(number, chance, pools), _made_of(world)
    size = size or chance.randint(FEWEST, MOST)
    # No job has more parts than its pools have things for.
    for part in chance.sample(parts, len(parts)):
        if size - draft.changes >= part.least:
            part.drawn(draft, size - draft.changes)
    return Job(world, " ".join(draft.words), "\n".join([source, *draft.lines, f"print({DONE!r})"]), draft.changes)


@cache
def _pools(world: str) -> dict[str, list[Any]]:
    """Return the things of a world that jobs may use."""
    opened = open_world(world)
    if world == "toy":
        state = opened.snapshot()["state"]
        return {"projects": sorted(map(int, state["projects"])), "tasks": sorted(map(int, state["tasks"]))}
    account = opened.state
    saved = {item.uri for item in account.saved_tracks}
    free = sorted(key for key, item in account.catalogue.tracks.items() if item.uri not in saved)
    artists = sorted(key for key in account.catalogue.artists if key not in account.followed_artists)
    return {"tracks": free[:40], "uris": [f"spotify:track:{key}" for key in free[40:80]], "artists": artists}
