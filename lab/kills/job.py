"""Jobs: instructions that a program carries out with three to ten changes, drawn from a seed, and the model for them.

The programs are careful ones: after an error they look whether the change was made. A change of a job is unlike each
other change of it, so a change that the world's log has twice was made twice. The model keeps no state.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from langchain_core.messages import BaseMessage

from lab.kit.errand import DONE, TRIES, UNDONE
from lab.kit.task_model import TaskModel
from restgpt.tools.model.scripted import Reply
from restgpt_bench.worlds import open_world

FEWEST, MOST = 3, 10
"""The fewest and the most changes of a job."""

STAMP = 'f"Made {datetime.datetime.now().isoformat()} lot {random.randrange(10**9)}"'
"""A text that differs in each run of a program, unless its clock and its random numbers are fixed."""

SURE = '''\
import datetime
import random

def sure(change, look):
    """Make a change; after an error, look whether it was made."""
    try:
        return change()
    except ApiError:
        found = look()
        if not found:
            raise
        return found
'''

SPOTIFY = (
    SURE
    + """
me = get_my_profile()["id"]

def named(name):
    return next((item for item in rows(list_my_playlists(limit=50)) if item["name"] == name), None)

def make(name):
    return sure(lambda: create_playlist(user_id=me, body={"name": name}), lambda: named(name))

def uris_of(playlist):
    return [item["track"]["uri"] for item in rows(list_playlist_items(playlist_id=playlist, limit=50))]

def add(playlist, uri):
    sure(lambda: add_playlist_items(playlist_id=playlist, body={"uris": [uri]}), lambda: uri in uris_of(playlist))

def take_out(playlist, uri):
    sure(
        lambda: remove_playlist_items(playlist_id=playlist, body={"tracks": [{"uri": uri}]}),
        lambda: uri not in uris_of(playlist),
    )

def describe(playlist, text):
    sure(
        lambda: change_playlist_details(playlist_id=playlist, body={"description": text}),
        lambda: get_playlist(playlist_id=playlist)["description"] == text,
    )

def saved():
    return [item["track"]["id"] for item in rows(list_saved_tracks(limit=50, pages=20))]

def followed():
    return [item["id"] for item in list_followed_artists(type="artist", limit=50)["artists"]["items"]]

def save(track):
    sure(lambda: save_tracks(ids=[track]), lambda: track in saved())

def drop(track):
    sure(lambda: remove_saved_tracks(ids=[track]), lambda: track not in saved())

def follow_one(artist):
    sure(lambda: follow(type="artist", ids=[artist]), lambda: artist in followed())
"""
)

BOARD = (
    SURE
    + """
def project_named(name):
    return next((item for item in rows(list_projects()) if item["name"] == name), None)

def project(name):
    return sure(lambda: create_project(body={"name": name}), lambda: project_named(name))

def tasks_of(number):
    return rows(list_project_tasks(project_id=number, pages=20))

def task(number, title):
    return sure(
        lambda: create_task(project_id=number, body={"title": title}),
        lambda: next((item for item in tasks_of(number) if item["title"] == title), None),
    )

def change(number, **fields):
    sure(
        lambda: update_task(task_id=number, body=fields),
        lambda: all(get_task(task_id=number).get(name) == value for name, value in fields.items()),
    )

def owned(number, owner):
    sure(
        lambda: update_project(project_id=number, body={"owner": owner}),
        lambda: get_project(project_id=number)["owner"] == owner,
    )

def is_gone(number):
    try:
        get_task(task_id=number)
    except ApiError as error:
        return error.status == 404
    return False

def delete(number):
    sure(lambda: delete_task(task_id=number), lambda: is_gone(number))
"""
)


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


@dataclass(slots=True)
class _Draft:
    """A job in the making: what it may still use, and its lines, words and changes so far."""

    number: int
    chance: random.Random
    pools: dict[str, list[Any]]
    lines: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    changes: int = 0

    def draw(self, pool: str, count: int) -> list[Any]:
        """Return some things of a pool, which no later part of the job gets."""
        return [self.pools[pool].pop() for _ in range(count)]

    def names(self, count: int) -> list[str]:
        """Return new names."""
        first = len(self.words) * 10
        return [f"Job {self.number} part {first + part}" for part in range(count)]

    def add(self, code: str, words: str, changes: int) -> None:
        """Add a part."""
        self.lines.append(code)
        self.words.append(words)
        self.changes += changes


def _playlist(draft: _Draft, room: int) -> None:
    """Add a playlist whose items come one after the other."""
    uris, [name] = draft.draw("uris", min(room - 1, draft.chance.randint(2, 4))), draft.names(1)
    code = f"playlist = make({name!r})['id']\nfor uri in {uris}:\n    add(playlist, uri)"
    words = f"Make the playlist {name!r} of {', '.join(uris)}."
    if len(uris) + 3 <= room:
        code += f"\ndescribe(playlist, {STAMP})\ntake_out(playlist, {uris[0]!r})"
        draft.add(code, f"{words} Describe it and take {uris[0]} out.", len(uris) + 3)
    else:
        draft.add(code, words, len(uris) + 1)


def _playlists(draft: _Draft, room: int) -> None:
    """Add playlists that are made together, and filled together."""
    count = min(room // 2, draft.chance.randint(2, 3))
    names, uris = draft.names(count), draft.draw("uris", count)
    code = (
        f"made = gather(*[make(name) for name in {names}])\n"
        f"gather(*[add(item['id'], uri) for item, uri in zip(made, {uris})])"
    )
    draft.add(code, f"Make the playlists {', '.join(names)} of one of {', '.join(uris)} each.", 2 * count)


def _mixed(draft: _Draft, room: int) -> None:
    """Add a playlist that is filled and described together: the target of a change that waits changes."""
    uris, [name] = draft.draw("uris", min(room - 2, 2)), draft.names(1)
    code = f"mixed = make({name!r})['id']\ngather(*[add(mixed, uri) for uri in {uris}], describe(mixed, {STAMP}))"
    draft.add(code, f"Make the playlist {name!r} of {', '.join(uris)} with a description.", len(uris) + 2)


def _saved(draft: _Draft, room: int) -> None:
    """Add tracks that are saved in a loop."""
    tracks = draft.draw("tracks", min(room, draft.chance.randint(1, 3)))
    draft.add(f"for track in {tracks}:\n    save(track)", f"Save {', '.join(tracks)}.", len(tracks))


def _dropped(draft: _Draft, room: int) -> None:
    """Add saved tracks that are read and then removed."""
    count = min(room, draft.chance.randint(1, 3))
    code = f"for track in saved()[2:{2 + count}]:\n    drop(track)"
    draft.add(code, f"Remove {count} tracks from my library, from the third on.", count)


def _followed(draft: _Draft, room: int) -> None:
    """Add artists that are followed together."""
    artists = draft.draw("artists", min(room, draft.chance.randint(2, 4)))
    code = f"gather(*[follow_one(artist) for artist in {artists}])"
    draft.add(code, f"Follow {', '.join(artists)}.", len(artists))


def _project(draft: _Draft, room: int) -> None:
    """Add a project whose tasks come one after the other."""
    name, *titles = draft.names(1 + min(room - 1, draft.chance.randint(2, 4)))
    code = f"made = project({name!r})['id']\nfor title in {titles}:\n    task(made, title)"
    draft.add(code, f"Make the project {name!r} with the tasks {', '.join(titles)}.", 1 + len(titles))


def _moved(draft: _Draft, room: int) -> None:
    """Add tasks that are made together, and then changed by the ids of the answers."""
    [place], count = draft.draw("projects", 1), min(room // 2, draft.chance.randint(2, 3))
    titles = draft.names(count)
    code = (
        f"fresh = gather(*[task({place}, title) for title in {titles}])\n"
        f"for item in fresh:\n    change(item['id'], notes={STAMP} + item['title'])"
    )
    draft.add(code, f"Make the tasks {', '.join(titles)} in project {place}, with notes.", 2 * count)


def _counted(draft: _Draft, room: int) -> None:
    """Add tasks that are found, and changed by what they were."""
    tasks = draft.draw("tasks", min(room, draft.chance.randint(2, 4)))
    code = f"for number in {tasks}:\n    change(number, hours=get_task(task_id=number)['hours'] + 1)"
    draft.add(code, f"Give the tasks {', '.join(map(str, tasks))} an hour more.", len(tasks))


def _deleted(draft: _Draft, room: int) -> None:
    """Add tasks that are deleted together."""
    tasks = draft.draw("tasks", min(room, draft.chance.randint(2, 3)))
    code = f"gather(*[delete(number) for number in {tasks}])"
    draft.add(code, f"Delete the tasks {', '.join(map(str, tasks))}.", len(tasks))


def _owned(draft: _Draft, room: int) -> None:
    """Add projects that get an owner."""
    [place] = draft.draw("projects", 1)
    draft.add(f"owned({place}, 'Noor')", f"Let Noor own project {place}.", 1)


_Part = Callable[[_Draft, int], None]

# A part with the fewest changes that it takes. No job has more parts than its pools have things for.
_PARTS: dict[str, dict[_Part, int]] = {
    "spotify": {_playlist: 3, _playlists: 4, _mixed: 4, _saved: 1, _dropped: 1, _followed: 2},
    "toy": {_project: 3, _moved: 4, _counted: 2, _deleted: 2, _owned: 1},
}


def make_jobs(count: int, *, seed: int = 0, sizes: Sequence[int] = ()) -> list[Job]:
    """Return different jobs, the worlds in turn; their `sizes`, the most changes of each, in turn too if given."""
    return [
        _job(("spotify", "toy")[number % 2], number, seed, sizes[number // 2 % len(sizes)] if sizes else 0)
        for number in range(count)
    ]


def _job(world: str, number: int, seed: int, size: int) -> Job:
    chance = random.Random(f"job {seed} {number}")
    pools = {name: chance.sample(items, len(items)) for name, items in _pools(world).items()}
    draft = _Draft(number, chance, pools)
    size = size or chance.randint(FEWEST, MOST)
    for part, least in chance.sample(list(_PARTS[world].items()), len(_PARTS[world])):
        if size - draft.changes >= least:
            part(draft, size - draft.changes)
    lines = [SPOTIFY if world == "spotify" else BOARD, *draft.lines, f"print({DONE!r})"]
    return Job(world, " ".join(draft.words), "\n".join(lines), draft.changes)


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
