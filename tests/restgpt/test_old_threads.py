"""Guards threads that an earlier version saved: each is listed, resumed, answered and undone as in that version."""

import hashlib
import json
import lzma
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from chatserver import ChatServer
from cli import TOY, Cli
from roles import call, end

from restgpt_bench.worlds import World
from restgpt_bench.worlds.server import WorldServer

Model = Callable[[dict[str, Any]], ChatServer]

KEPT = Path(__file__).with_name("old_threads.db.xz")
"""A SQLite file that version 0.1.0 wrote; its API is named `board`, and it contains no path of a machine."""

MADE_AT = "http://127.0.0.1:54321/v1"
"""The base URL of the world when the file was made."""

ADDED = "POST /projects/{project_id}/tasks"
PATCHED = "PATCH /projects/{project_id}"
DELETED = "DELETE /tasks/{task_id}"

Made = tuple[str, Mapping[str, Any], Any]

NOOR: Made = (PATCHED, {"project_id": 2}, {"owner": "Noor"})
SOIL: Made = (ADDED, {"project_id": 2}, {"title": "Buy soil"})

MADE: dict[str, list[Made]] = {
    "finished-writes": [
        ("POST /projects", {}, {"name": "Moss"}),
        NOOR,
        (DELETED, {"task_id": 103}, None),
    ],
    "killed-sending": [SOIL],
    "killed-concluded": [("PATCH /tasks/{task_id}", {"task_id": 102}, {"hours": 3})],
    "killed-answered": [SOIL],
    "killed-written": [(DELETED, {"task_id": 104}, None)],
    "undo-paused": [NOOR, SOIL],
    "undo-killed": [SOIL, (DELETED, {"task_id": 201}, None)],
}
"""The changes that a thread had made in the world when the file was made; the other threads had made none."""


@dataclass(frozen=True)
class Sent:
    """A request in the file that must be recognised; its fingerprint depends on the URL."""

    operation: str
    method: str
    path: str
    body: Mapping[str, Any] | None = None

    def fingerprint(self, base_url: str) -> str:
        """The fingerprint of version 0.1.0, by which journals and checkpoints identify the request."""
        is_empty = self.method == "DELETE"
        headers = [("Accept", "*/*" if is_empty else "application/json, */*;q=0.1")]
        headers += [("Content-Type", "application/json")] if self.body else []
        content = json.dumps(self.body, ensure_ascii=False, separators=(",", ":")).encode()
        body = hashlib.sha256(content).hexdigest() if self.body else None
        parts = ["board", self.operation, self.method, f"{base_url}{self.path}", headers, body]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


SENT = [
    Sent("update_project", "PATCH", "/projects/2", {"owner": "Noor"}),
    Sent("update_project", "PATCH", "/projects/2", {"owner": "Björn"}),
    Sent("create_task", "POST", "/projects/2/tasks", {"title": "Buy soil"}),
    Sent("update_task", "PATCH", "/tasks/101", {"title": "Later"}),
    Sent("update_task", "PATCH", "/tasks/102", {"hours": 3}),
    Sent("update_task", "PATCH", "/tasks/103", {"project_id": 9}),
    Sent("delete_task", "DELETE", "/tasks/104"),
    Sent("delete_task", "DELETE", "/tasks/201"),
    Sent("get_task", "GET", "/tasks/101"),
    Sent("get_project", "GET", "/projects/2"),
]

COLUMNS = [("checkpoints", "checkpoint"), ("writes", "value"), ("store", "value"), ("store", "key")]


def move(file: Path, base_url: str) -> None:
    """Replace the fingerprints of the requests for a world at another URL; change nothing else."""
    pairs = [(sent.fingerprint(MADE_AT), sent.fingerprint(base_url)) for sent in SENT]
    # The key of a journal entry is the beginning of a fingerprint.
    parts = [(old[cut].encode(), new[cut].encode()) for old, new in pairs for cut in (slice(16), slice(16, None))]
    found: set[bytes] = set()
    with closing(sqlite3.connect(file)) as connection, connection:
        for table, column in COLUMNS:
            for row, kept in connection.execute(f"SELECT rowid, {column} FROM {table}").fetchall():
                value = kept.encode() if isinstance(kept, str) else kept or b""
                here = [(old, new) for old, new in parts if old in value]
                found |= {old for old, _ in here}
                for old, new in here:
                    value = value.replace(old, new)
                moved = value.decode() if isinstance(kept, str) else value
                if here:
                    connection.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (moved, row))
    assert found == {old for old, _ in parts}


Open = Callable[[str], World[Any]]


@pytest.fixture
def left(cli: Cli, toy: WorldServer) -> Open:
    """Copy the file to the home folder, and restore the world after the run of a thread, with an empty log."""
    cli.home.mkdir()
    file = cli.home / "restgpt.db"
    file.write_bytes(lzma.decompress(KEPT.read_bytes()))
    move(file, toy.url)
    (cli.home / "apis.yaml").write_text(json.dumps({"board": {"spec": TOY, "base_url": toy.url}}))

    def open_thread(thread: str) -> World[Any]:
        for operation, path, body in MADE.get(thread, []):
            assert toy.world.call(operation, path=path, body=body).status < 300
        toy.world.log.clear()
        return toy.world

    return open_thread


def sent(world: World[Any]) -> list[str]:
    return [f"{entry.method} {entry.template} {entry.status}" for entry in world.log]


def changes(world: World[Any]) -> list[str]:
    return [line for line in sent(world) if not line.startswith("GET")]


def state(world: World[Any]) -> Any:
    return world.dump()


def owner(world: World[Any]) -> Any:
    return state(world)["projects"]["2"]["owner"]


def task(world: World[Any], number: int) -> Any:
    return state(world)["tasks"][str(number)]


def titles(world: World[Any]) -> list[str]:
    return sorted(task["title"] for task in state(world)["tasks"].values())


def ends(model: Model, answer: str, **more: Sequence[Any]) -> ChatServer:
    """The remaining reply of the model: the answer."""
    return model({"planner": [end(answer)], **more})


def test_all_threads_are_listed_with_how_they_stand(cli: Cli, left: Open) -> None:
    left("finished-read")
    listed = cli("threads", "--json").document["threads"]
    assert {item["thread"]: item["status"] for item in listed} == {
        "finished-read": "done",
        "finished-writes": "done",
        "paused-change": "paused",
        "paused-two": "paused",
        "killed-asking": "killed",
        "killed-sending": "killed",
        "killed-concluded": "killed",
        "killed-answered": "killed",
        "killed-written": "killed",
        "killed-reading": "killed",
        "refused-repair": "killed",
        "undo-paused": "done",
        "undo-killed": "done",
    }
    for item in listed:
        shown = cli("threads", item["thread"])
        assert (shown.code, item["instruction"] in shown.out) == (0, True)


def test_a_finished_thread_tells_its_answer_and_its_steps(cli: Cli, left: Open, model: Model) -> None:
    world = left("finished-read")
    model({})
    resumed = cli("resume", "finished-read", "--json")
    document = resumed.document
    assert (resumed.code, document["status"]) == (0, "done")
    assert document["answer"] == "There are 24 tasks; Björn is in charge of project 2."
    assert [step["said"] for step in document["steps"]] == ["Count the tasks.", "Look at project 2."]
    assert "24 tasks" in document["steps"][0]["result"]
    assert document["usage"]["roles"]["planner"] == {"calls": 3, "input_tokens": 30, "output_tokens": 15}
    assert cli("resume", "finished-read", "--approve").code == 2
    assert sent(world) == []


def test_a_conversation_goes_on(cli: Cli, left: Open, model: Model) -> None:
    world = left("finished-read")
    server = model({"express": [end("As I said.")]})
    ran = cli("ask", "Are you sure?", "--thread", "finished-read")
    assert (ran.code, ran.out) == (0, "As I said.\n")
    assert "who is in charge of project 2?" in server.requests[0].text
    assert "There are 24 tasks; Björn is in charge of project 2." in server.requests[0].text
    assert cli("undo", "finished-read", "--yes").out == "There is nothing to undo.\n"
    assert sent(world) == []


def test_the_changes_of_a_finished_thread_are_undone_newest_first_and_once(
    cli: Cli, left: Open, toy: WorldServer
) -> None:
    projects, before = state(toy.world)["projects"], titles(toy.world)
    world = left("finished-writes")
    waits = cli("undo", "finished-writes")
    assert (waits.code, changes(world)) == (3, [])
    assert 'owner: "Noor" → "Björn"' in waits.err
    ran = cli("undo", "finished-writes", "--yes", "--json")
    assert (ran.code, ran.document["status"]) == (0, "done")
    assert changes(world) == [f"{ADDED} 201", f"{PATCHED} 200", "DELETE /projects/{project_id} 204"]
    assert (state(world)["projects"], titles(world)) == (projects, before)
    again = cli("undo", "finished-writes", "--yes")
    assert (again.code, again.out, len(changes(world))) == (0, "There is nothing to undo.\n", 3)


def test_only_the_newest_change_is_undone_where_one_is_asked_for(cli: Cli, left: Open) -> None:
    world = left("finished-writes")
    assert cli("undo", "finished-writes", "--yes", "--steps", "1").code == 0
    assert changes(world) == [f"{ADDED} 201"]


def test_a_paused_change_waits_and_is_made_once_when_approved(cli: Cli, left: Open, model: Model) -> None:
    world = left("paused-change")
    server = ends(model, "Noor is in charge of Seed library.")
    waits = cli("resume", "paused-change")
    assert (waits.code, changes(world)) == (3, [])
    assert '{"owner": "Noor"}' in waits.err
    assert "owner: Björn → Noor" in waits.err
    resumed = cli("resume", "paused-change", "--approve")
    assert (resumed.code, resumed.out) == (0, "Noor is in charge of Seed library.\n")
    assert changes(world) == [f"{PATCHED} 200"]
    assert owner(world) == "Noor"
    assert "List the projects." in server.requests[-1].text
    assert cli("undo", "paused-change", "--yes").code == 0
    assert owner(world) == "Björn"


def test_a_paused_change_that_is_rejected_is_never_sent(cli: Cli, left: Open, model: Model) -> None:
    world = left("paused-change")
    server = ends(model, "It was left as it is.")
    resumed = cli("resume", "paused-change", "--reject", "not Noor")
    assert (resumed.code, resumed.out) == (0, "It was left as it is.\n")
    assert "not Noor" in server.requests[-1].text
    assert changes(world) == []


def test_a_paused_change_that_is_edited_is_sent_as_edited(cli: Cli, left: Open, model: Model) -> None:
    world = left("paused-change")
    ends(model, "Ada is in charge of Seed library.")
    edited = {"path": {"project_id": 2}, "body": {"owner": "Ada"}}
    assert cli("resume", "paused-change", "--edit", json.dumps(edited)).code == 0
    assert changes(world) == [f"{PATCHED} 200"]
    assert owner(world) == "Ada"


def test_two_changes_that_wait_together_are_made_in_order(cli: Cli, left: Open, model: Model) -> None:
    world = left("paused-two")
    ends(model, "Both changes are made.")
    refused = cli("resume", "paused-two", "--edit", "{}")
    assert (refused.code, "a list of 2 objects" in refused.err) == (2, True)
    resumed = cli("resume", "paused-two", "--approve")
    assert (resumed.code, resumed.out) == (0, "Both changes are made.\n")
    assert changes(world) == [f"{PATCHED} 200", f"{ADDED} 201"]
    assert cli("undo", "paused-two", "--yes").code == 0
    assert changes(world)[2:] == [f"{DELETED} 204", f"{PATCHED} 200"]


def test_two_changes_that_wait_together_are_rejected_together(cli: Cli, left: Open, model: Model) -> None:
    world = left("paused-two")
    ends(model, "It was left as it is.")
    assert cli("resume", "paused-two", "--reject", "neither").code == 0
    assert changes(world) == []


def test_a_run_that_was_killed_while_it_asked_asks_again(cli: Cli, left: Open, model: Model) -> None:
    world = left("killed-asking")
    ends(model, "Task 101 is called Later.")
    waits = cli("resume", "killed-asking")
    assert (waits.code, '{"title": "Later"}' in waits.err, changes(world)) == (3, True, [])
    resumed = cli("resume", "killed-asking", "--approve")
    assert (resumed.code, resumed.out) == (0, "Task 101 is called Later.\n")
    assert changes(world) == ["PATCH /tasks/{task_id} 200"]
    assert task(world, 101)["title"] == "Later"


def test_a_change_of_unknown_outcome_is_asked_about_and_not_sent_again_when_rejected(
    cli: Cli, left: Open, model: Model
) -> None:
    world = left("killed-sending")
    server = ends(model, "It may be there.")
    waits = cli("resume", "killed-sending")
    assert (waits.code, sent(world)) == (3, [])
    assert "may or may not have been carried out" in " ".join(waits.err.split())
    assert cli("resume", "killed-sending", "--edit", "{}").code == 2
    rejected = cli("resume", "killed-sending", "--reject", "no")
    assert (rejected.code, rejected.out) == (0, "It may be there.\n")
    assert "not known" in server.requests[-1].text
    assert sent(world) == []
    undone = cli("undo", "killed-sending", "--yes")
    assert (undone.code, "whether it was carried out is not known" in undone.out) == (1, True)
    assert sent(world) == []


def test_a_change_of_unknown_outcome_is_sent_once_more_when_approved(cli: Cli, left: Open, model: Model) -> None:
    world = left("killed-sending")
    ends(model, "It is there, perhaps twice.")
    assert cli("resume", "killed-sending").code == 3
    assert cli("resume", "killed-sending", "--approve").code == 0
    assert changes(world) == [f"{ADDED} 201"]
    assert titles(world).count("Buy soil") == 2
    assert cli("undo", "killed-sending", "--yes").code == 0
    assert titles(world).count("Buy soil") == 1


@pytest.mark.parametrize(
    ("thread", "answer", "undone"),
    [
        ("killed-answered", "The task Buy soil is there.", [f"{DELETED} 204"]),
        ("killed-written", "Task 104 is gone.", [f"{ADDED} 201"]),
    ],
)
def test_a_change_whose_outcome_is_kept_is_not_sent_again_and_can_be_undone(
    cli: Cli, left: Open, model: Model, thread: str, answer: str, undone: list[str]
) -> None:
    world = left(thread)
    server = ends(model, answer)
    resumed = cli("resume", thread)
    assert (resumed.code, resumed.out, changes(world)) == (0, f"{answer}\n", [])
    assert "status 20" in server.requests[-1].text
    assert cli("undo", thread, "--yes").code == 0
    assert changes(world) == undone


def test_a_change_that_was_killed_before_its_way_back_was_kept_is_not_sent_again(
    cli: Cli, left: Open, model: Model
) -> None:
    world = left("killed-concluded")
    server = ends(model, "Task 102 takes 3 hours.")
    resumed = cli("resume", "killed-concluded")
    assert (resumed.code, resumed.out, changes(world)) == (0, "Task 102 takes 3 hours.\n", [])
    assert "status 200" in server.requests[-1].text
    undone = cli("undo", "killed-concluded", "--yes")
    assert (undone.code, "nothing was kept that would reverse it" in undone.out) == (1, True)
    assert changes(world) == []


def test_of_two_reads_at_once_only_the_one_without_an_answer_is_sent_again(cli: Cli, left: Open, model: Model) -> None:
    world = left("killed-reading")
    server = ends(model, "Paint the shelves, and Seed library.")
    resumed = cli("resume", "killed-reading")
    assert (resumed.code, resumed.out) == (0, "Paint the shelves, and Seed library.\n")
    assert sent(world) == ["GET /projects/{project_id} 200"]
    assert "Paint the shelves" in server.requests[-1].text
    assert "Seed library" in server.requests[-1].text


def test_a_refused_change_is_made_again_with_other_arguments(cli: Cli, left: Open, model: Model) -> None:
    world = left("refused-repair")
    repaired = call({"path": {"task_id": 103}, "body": {"project_id": 2}})
    server = ends(model, "Task 103 is in project 2.", caller=[repaired])
    waits = cli("resume", "refused-repair")
    assert (waits.code, '{"project_id":2}' in waits.err, changes(world)) == (3, True, [])
    assert "project_id names no project" in server.requests[0].text
    resumed = cli("resume", "refused-repair", "--approve", "--json")
    assert (resumed.code, resumed.document["answer"]) == (0, "Task 103 is in project 2.")
    [step] = resumed.document["steps"]
    assert [(item["attempt"], item["response"]["status"]) for item in step["requests"]] == [(0, 422), (1, 200)]
    assert changes(world) == ["PATCH /tasks/{task_id} 200"]
    assert task(world, 103)["project_id"] == 2
    assert cli("undo", "refused-repair", "--yes").code == 0
    assert task(world, 103)["project_id"] == 1


def test_an_undo_that_was_paused_goes_on(cli: Cli, left: Open) -> None:
    world = left("undo-paused")
    waits = cli("undo", "undo-paused")
    assert (waits.code, changes(world)) == (3, [])
    ran = cli("undo", "undo-paused", "--yes", "--json")
    assert (ran.code, [item["operation"] for item in ran.document["undone"]]) == (0, ["delete_task", "update_project"])
    assert changes(world) == [f"{DELETED} 204", f"{PATCHED} 200"]
    assert owner(world) == "Björn"
    again = cli("undo", "undo-paused", "--yes")
    assert (again.out, len(changes(world))) == ("There is nothing to undo.\n", 2)


def test_an_undo_that_was_killed_while_it_sent_is_not_sent_again_by_yes(cli: Cli, left: Open) -> None:
    world = left("undo-killed")
    for _ in range(2):
        ran = cli("undo", "undo-killed", "--yes")
        assert (ran.code, changes(world)) == (3, [])
        assert "may or may not have been carried out" in " ".join(ran.err.split())
