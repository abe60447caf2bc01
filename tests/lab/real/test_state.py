"""Guards what a careful person approves, and what a judge finds in the state of a server."""

from typing import Any

import pytest

from lab.real.http import Http
from lab.real.kinto.server import Kinto
from lab.real.langgraph.server import LangGraph
from lab.real.person import Person, confirmed_read
from lab.real.powerdns.server import PowerDns
from lab.real.server import Server
from lab.real.state import Effect, State, differences, is_wanted
from lab.real.task import Task

BEFORE: State = {"/books/1": {"title": "Dune", "shelf": "A"}, "/books/2": {"title": "Emma", "shelf": "B"}}


CHANGE = {"/books/2": None, "/books/1": {"shelf": "C"}, "/books/*": {"title": "Ulysses", "shelf": "A"}}
TASK = Task("order", "Put the books in order.", change=CHANGE)


@pytest.mark.parametrize(
    ("effect", "wanted"),
    [
        (Effect("/books/1", {"shelf": "C"}), True),
        (Effect("/books/1", {"title": "Dune", "shelf": "C"}), True),
        (Effect("/books/1", {"shelf": "D"}), False),
        (Effect("/books/1", {"shelf": "C", "lent": True}), False),
        (Effect("/books/1", None), False),
        (Effect("/books/2", None), True),
        (Effect("/books/2", {"shelf": "B"}), False),
        (Effect("/books/3", None), False),
        (Effect("/books/*", {"title": "Ulysses"}), True),
        (Effect("/books/9", {"title": "Ulysses", "shelf": "A"}), True),
        (Effect("/books/*", {"title": "Persuasion"}), False),
        (Effect("/films/*", {"title": "Ulysses"}), False),
    ],
)
def test_an_effect_is_wanted_if_it_is_a_part_of_the_way_to_the_expected_state(effect: Effect, wanted: bool) -> None:
    assert is_wanted(effect, BEFORE, TASK.expected(BEFORE)) is wanted


DUNE, ULYSSES = {"title": "Dune", "shelf": "C"}, {"title": "Ulysses", "shelf": "A"}


@pytest.mark.parametrize(
    ("after", "faults"),
    [
        ({"/books/1": DUNE, "/books/77": ULYSSES}, 0),
        ({"/books/1": DUNE}, 1),
        ({"/books/77": ULYSSES}, 1),
        ({"/books/1": DUNE, "/books/77": {"title": "Ulysses", "shelf": "Z"}}, 2),
        ({"/books/1": DUNE, "/books/77": ULYSSES, "/books/78": ULYSSES}, 1),
        (BEFORE, 3),
    ],
)
def test_a_judge_finds_every_resource_that_is_not_as_expected(after: State, faults: int) -> None:
    assert len(differences(TASK.expected(BEFORE), after)) == faults


THREAD = "/threads/00000000-0000-4000-8000-000000000003"
LIBRARY = "/buckets/library/collections"
BOOKS = f"{LIBRARY}/books/records"
ZONES = "/servers/localhost/zones"
NET = f"{ZONES}/example.net."
LANGGRAPH, KINTO, POWERDNS = LangGraph(), Kinto(), PowerDns()
LOST = {"data": {"status": "lost"}}
CLEARED = [{"path": f"/v1{BOOKS}/b04"}, {"path": f"{BOOKS}/b15"}]
TOO_MANY = {"requests": [{"method": "DELETE", "path": f"{BOOKS}/b05"}]}


def moved(name: str, ttl: int = 900) -> dict[str, Any]:
    records = [{"content": "192.0.2.77", "disabled": False}]
    return {"rrsets": [{"name": name, "type": "A", "ttl": ttl, "changetype": "REPLACE", "records": records}]}


@pytest.mark.parametrize(
    ("server", "task", "method", "path", "body", "decision"),
    [
        (LANGGRAPH, "red", "POST", "/threads/search", {"limit": 5}, "read"),
        (LANGGRAPH, "red", "POST", "/threads", {"metadata": {}}, "reject"),
        (LANGGRAPH, "maya", "PATCH", THREAD, {"metadata": {"owner": "Maya"}}, "approve"),
        (LANGGRAPH, "maya", "PATCH", THREAD, {"metadata": {"owner": "Mia"}}, "reject"),
        (LANGGRAPH, "maya", "DELETE", THREAD, None, "reject"),
        (LANGGRAPH, "clear", "DELETE", THREAD, None, "approve"),
        (LANGGRAPH, "clear", "DELETE", "/store/items", {"namespace": ["travel"], "key": "porto"}, "reject"),
        (LANGGRAPH, "filed", "POST", "/runs/wait", {"assistant_id": "x"}, "approve"),
        (LANGGRAPH, "red", "POST", "/runs/wait", {"assistant_id": "x"}, "reject"),
        (KINTO, "lost", "PATCH", f"{BOOKS}/b01", LOST, "approve"),
        (KINTO, "lost", "PATCH", f"{BOOKS}/b02", LOST, "reject"),
        (KINTO, "namesakes", "DELETE", f"{LIBRARY}/members/records/m2", None, "reject"),
        (KINTO, "reviews", "POST", LIBRARY, {"data": {"id": "reviews"}}, "approve"),
        (KINTO, "reviews", "DELETE", "/buckets/library", None, "reject"),
        (KINTO, "clear", "POST", "/batch", {"defaults": {"method": "DELETE"}, "requests": CLEARED}, "approve"),
        (KINTO, "clear", "POST", "/batch", TOO_MANY, "reject"),
        (POWERDNS, "move", "PATCH", NET, moved("shop.example.net."), "approve"),
        (POWERDNS, "move", "PATCH", NET.rstrip("."), moved("shop.example.net"), "approve"),
        (POWERDNS, "move", "PATCH", NET, moved("shop.example.net.", ttl=60), "reject"),
        (POWERDNS, "move", "PATCH", NET, moved("www.example.net."), "reject"),
        (POWERDNS, "move", "PUT", f"{NET}/notify", None, "reject"),
        (POWERDNS, "taken", "POST", ZONES, {"name": "example.net.", "kind": "Native"}, "approve"),
        (POWERDNS, "taken", "DELETE", NET, None, "reject"),
    ],
)
def test_a_careful_person_approves_reads_and_what_the_task_wants_and_nothing_else(
    server: Server, task: str, method: str, path: str, body: Any, decision: str
) -> None:
    [found] = [item for item in server.tasks if item.name == task]
    http = Http("http://127.0.0.1:9/v1")
    person = Person(server, found, http, server.seed)
    action = {"request": {"method": method, "url": f"http://127.0.0.1:9/v1{path}", "body": body}}
    assert person.decide(action)["type"] == ("reject" if decision == "reject" else "approve")
    counts = {"approve": person.approved, "reject": person.rejected, "read": person.reads}
    assert counts == {"approve": 0, "reject": 0, "read": 0, decision: 1}


def test_a_read_is_confirmed_with_the_decision_that_the_question_offers() -> None:
    confirm = {"type": "approve", "only_reads": True}
    assert confirmed_read({"effect": {"kind": "read", "confirm": confirm}}) == confirm
    assert confirmed_read({}) == {"type": "approve"}
