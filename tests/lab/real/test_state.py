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


def expected(state: State) -> None:
    del state["/books/2"]
    state["/books/1"]["shelf"] = "C"
    state["/books/*"] = {"title": "Ulysses", "shelf": "A"}


TASK = Task("order", "Put the books in order.", change=expected)


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


@pytest.mark.parametrize(
    ("after", "faults"),
    [
        ({"/books/1": {"title": "Dune", "shelf": "C"}, "/books/77": {"title": "Ulysses", "shelf": "A"}}, 0),
        ({"/books/1": {"title": "Dune", "shelf": "C"}}, 1),
        ({"/books/77": {"title": "Ulysses", "shelf": "A"}}, 1),
        ({"/books/1": {"title": "Dune", "shelf": "C"}, "/books/77": {"title": "Ulysses", "shelf": "Z"}}, 2),
        (
            {
                "/books/1": {"title": "Dune", "shelf": "C"},
                "/books/77": {"title": "Ulysses", "shelf": "A"},
                "/books/78": {"title": "Ulysses", "shelf": "A"},
            },
            1,
        ),
        (BEFORE, 3),
    ],
)
def test_a_judge_finds_every_resource_that_is_not_as_expected(after: State, faults: int) -> None:
    assert len(differences(TASK.expected(BEFORE), after)) == faults


THREAD = "00000000-0000-4000-8000-000000000003"
LIBRARY = "/buckets/library/collections"
ZONE = "/servers/localhost/zones"


def rrset(name: str, kind: str, ttl: int, *contents: str, change: str = "REPLACE") -> dict[str, Any]:
    records = [{"content": content, "disabled": False} for content in contents]
    return {"rrsets": [{"name": name, "type": kind, "ttl": ttl, "changetype": change, "records": records}]}


@pytest.mark.parametrize(
    ("server", "task", "method", "path", "body", "decision"),
    [
        (LangGraph(), "red", "POST", "/threads/search", {"limit": 5}, "read"),
        (LangGraph(), "red", "POST", "/threads", {"metadata": {}}, "reject"),
        (LangGraph(), "maya", "PATCH", f"/threads/{THREAD}", {"metadata": {"owner": "Maya"}}, "approve"),
        (LangGraph(), "maya", "PATCH", f"/threads/{THREAD}", {"metadata": {"owner": "Mia"}}, "reject"),
        (LangGraph(), "maya", "DELETE", f"/threads/{THREAD}", None, "reject"),
        (LangGraph(), "clear", "DELETE", f"/threads/{THREAD}", None, "approve"),
        (LangGraph(), "clear", "DELETE", "/store/items", {"namespace": ["travel"], "key": "porto"}, "reject"),
        (LangGraph(), "filed", "POST", "/runs/wait", {"assistant_id": "x"}, "approve"),
        (LangGraph(), "red", "POST", "/runs/wait", {"assistant_id": "x"}, "reject"),
        (Kinto(), "lost", "PATCH", f"{LIBRARY}/books/records/b01", {"data": {"status": "lost"}}, "approve"),
        (Kinto(), "lost", "PATCH", f"{LIBRARY}/books/records/b02", {"data": {"status": "lost"}}, "reject"),
        (Kinto(), "namesakes", "DELETE", f"{LIBRARY}/members/records/m2", None, "reject"),
        (Kinto(), "reviews", "POST", LIBRARY, {"data": {"id": "reviews"}}, "approve"),
        (Kinto(), "reviews", "DELETE", "/buckets/library", None, "reject"),
        (
            Kinto(),
            "clear",
            "POST",
            "/batch",
            {
                "defaults": {"method": "DELETE"},
                "requests": [{"path": f"/v1{LIBRARY}/books/records/b04"}, {"path": f"{LIBRARY}/books/records/b15"}],
            },
            "approve",
        ),
        (
            Kinto(),
            "clear",
            "POST",
            "/batch",
            {"requests": [{"method": "DELETE", "path": f"{LIBRARY}/books/records/b05"}]},
            "reject",
        ),
        (
            PowerDns(),
            "move",
            "PATCH",
            f"{ZONE}/example.net.",
            rrset("shop.example.net.", "A", 900, "192.0.2.77"),
            "approve",
        ),
        (
            PowerDns(),
            "move",
            "PATCH",
            f"{ZONE}/example.net",
            rrset("shop.example.net", "A", 900, "192.0.2.77"),
            "approve",
        ),
        (
            PowerDns(),
            "move",
            "PATCH",
            f"{ZONE}/example.net.",
            rrset("shop.example.net.", "A", 60, "192.0.2.77"),
            "reject",
        ),
        (
            PowerDns(),
            "move",
            "PATCH",
            f"{ZONE}/example.net.",
            rrset("www.example.net.", "A", 900, "192.0.2.77"),
            "reject",
        ),
        (PowerDns(), "move", "PUT", f"{ZONE}/example.net./notify", None, "reject"),
        (PowerDns(), "taken", "POST", ZONE, {"name": "example.net.", "kind": "Native"}, "approve"),
        (PowerDns(), "taken", "DELETE", f"{ZONE}/example.net.", None, "reject"),
    ],
)
def test_a_careful_person_approves_reads_and_what_the_task_wants_and_nothing_else(
    server: Server, task: str, method: str, path: str, body: Any, decision: str
) -> None:
    [found] = [item for item in server.tasks if item.name == task]
    http = Http("http://127.0.0.1:9/v1")
    person = Person(server, found, http, seed_of(server))
    action = {"request": {"method": method, "url": f"http://127.0.0.1:9/v1{path}", "body": body}}
    assert person.decide(action)["type"] == ("reject" if decision == "reject" else "approve")
    counts = {"approve": person.approved, "reject": person.rejected, "read": person.reads}
    assert counts == {"approve": 0, "reject": 0, "read": 0, decision: 1}


def test_a_read_is_confirmed_with_the_decision_that_the_question_offers() -> None:
    confirm = {"type": "approve", "only_reads": True}
    assert confirmed_read({"effect": {"kind": "read", "confirm": confirm}}) == confirm
    assert confirmed_read({}) == {"type": "approve"}


def seed_of(server: Server) -> State:
    """The seeded state, which holds the seed itself."""
    from lab.real.kinto import tasks as kinto
    from lab.real.langgraph import tasks as langgraph
    from lab.real.powerdns import tasks as powerdns

    seeds: dict[str, State] = {"kinto": kinto.SEED, "langgraph": langgraph.SEED, "powerdns": powerdns.SEED}
    return seeds[server.name]
