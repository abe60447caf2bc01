"""Guards permissions for further changes: over any sequence, none lets through what its question did not show."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import pytest
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from paths import openapi

from restgpt.calling.call import Call, draft
from restgpt.calling.decision import Rules, Writes, decide
from restgpt.calling.journal import Journal
from restgpt.calling.permissions import Permissions, key_of
from restgpt.calling.question import answered, decided_on, permit_of, present
from restgpt.calling.scope import is_within
from restgpt.calling.session import Session
from restgpt.specs import Catalogue, load_api
from restgpt.tools.http.http_client import HttpClient
from restgpt.tools.response.store import BoundedMemory, ResponseStore
from restgpt.tools.settings import ApiEntry, PolicyRule, Settings

SAID = "Book rooms for ann@acme.org and bo@acme.org, at most 300 or 120 each, for org-one."
TRIPS = {"data": [{"id": "trip-a1", "price": 250}, {"id": "trip-b2", "price": 400}]}
OTHERS = {"items": [{"id": "other-c3", "price": 170}]}
FOUND = [("body-2", OTHERS), ("body-1", TRIPS)]
OPERATIONS = {"body-1": "get_trips", "body-2": "get_others"}
VALUES: dict[str, dict[str, list[Any]]] = {
    "org": {"user": ["org-one"], "model": ["org-two"]},
    "mail": {"user": ["ann@acme.org", "bo@acme.org"], "model": ["eve@evil.org"]},
    "trip_id": {"trips": ["trip-a1", "trip-b2"], "others": ["other-c3"], "model": ["trip-z9"]},
    "price": {"user": [300, 120], "trips": [250, 400], "others": [170], "model": [777]},
    "notify": {"model": [True, False]},
}
"""The values of each argument by where they come from."""

SCHEMA = {name: {"type": "string"} for name in ("mail", "trip_id")} | {"price": {}, "notify": {"type": "boolean"}}
ORG = {"name": "org", "in": "path", "required": True, "schema": {"type": "string"}}


def document(text: str = "ok") -> dict[str, Any]:
    body = {"content": {"application/json": {"schema": {"type": "object", "properties": SCHEMA}}}}
    more = {"parameters": [ORG], "responses": {"200": {"description": text}}}
    booking = {
        "post": {"operationId": "book", "requestBody": body, **more},
        "delete": {"operationId": "cancel", **more},
    }
    return openapi({"/{org}/bookings": booking}, title="Rail")


@cache
def opened(text: str, server: str, policy: tuple[PolicyRule, ...]) -> tuple[Catalogue, HttpClient, Settings]:
    api = load_api(document(text), base_url=server, entry="rail" if policy else None)
    settings = Settings(apis={"rail": ApiEntry("rail", spec="rail.json", policy=policy)})
    return Catalogue([api]), HttpClient(settings=settings), settings


@dataclass
class Clock:
    now: float = 1_000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Desk:
    """Calls of one API in one thread, and the permissions that a person gave."""

    store: BaseStore = field(default_factory=InMemoryStore)
    clock: Clock = field(default_factory=Clock)
    text: str = "ok"
    server: str = "https://rail.example"
    writes: Writes = "ask"
    policy: tuple[PolicyRule, ...] = ()
    number: int = 0

    def session(self) -> Session:
        catalogue, http, settings = opened(self.text, self.server, self.policy)
        rules = Rules(settings, self.writes, Permissions(self.store, clock=self.clock))
        return Session(catalogue, http, ResponseStore(BoundedMemory()), Journal(self.store, "thread"), rules)

    def draft(self, name: str = "book", id: str = "", **values: Any) -> Call:
        session = self.session()
        self.number += 1
        arguments = {"path": {"org": values.pop("org", "org-one")}, **({"body": values} if values else {})}
        operation = session.catalogue.operation(name)
        given: dict[str, Any] = {"said": SAID, "found": FOUND, "operations": OPERATIONS}
        made = draft(
            operation, arguments, id=id or f"call-{self.number}.0", effect=session.rules.effect(operation), **given
        )
        assert isinstance(made, Call), made
        return made

    def decide(self, call: Call) -> Call:
        return decided_on(self.session(), call)

    def answer(self, call: Call, **permit: Any) -> Call:
        """Approve a call that waits for a person, and permit further ones."""
        asked = present(self.session(), call.asked())
        return answered(self.session(), asked, {"type": "approve", "permit": permit})


MAIL, TRIP, PRICE, NOTIFY = "/body/mail", "/body/trip_id", "/body/price", "/body/notify"
BOOKING: dict[str, Any] = {"mail": "ann@acme.org", "trip_id": "trip-a1", "price": 300}


def test_what_is_free_is_told_by_origin_and_a_path_stays() -> None:
    desk = Desk()
    asked = present(desk.session(), desk.draft(**BOOKING, notify=True).asked())
    assert asked.question["permit"].pop("key") == key_of(asked.operation)
    trip = {"from": "get_trips", "field": "/data/*/id"}
    lines = {
        MAIL: "body.mail: any value you said",
        TRIP: "body.trip_id: any value that you said, or data.id of get_trips",
        PRICE: "body.price: any value you said, from 0 to 300",
    }
    free = {MAIL: {"from": "user"}, TRIP: trip, PRICE: {"from": "user", "most": 300}}
    assert asked.question["permit"] == {"free": free, "times": 10, "hours": 24.0, "lines": lines, "others": [], "of": 0}


def test_the_next_ones_that_look_like_it_go_out_as_often_as_said() -> None:
    desk = Desk()
    assert desk.answer(desk.draft(**BOOKING), free=[MAIL, TRIP], times=2).stage == "approved"
    other = {"mail": "bo@acme.org", "trip_id": "trip-b2", "price": 300}
    found = [desk.decide(desk.draft(**values)).stage for values in (other, BOOKING, other)]
    assert found == ["approved", "approved", "asked"]


def test_a_call_that_is_decided_again_takes_no_second_use() -> None:
    desk = Desk()
    desk.answer(desk.draft(**BOOKING), times=1)
    again = desk.draft(**BOOKING, id="same.0")
    assert [desk.decide(again).stage for _ in range(3)] == ["approved"] * 3
    assert desk.decide(desk.draft(**BOOKING)).stage == "asked"


def test_a_permission_that_ends_or_is_taken_back_before_its_call_is_sent_sends_nothing() -> None:
    for is_taken_back in (False, True):
        desk = Desk()
        desk.answer(desk.draft(**BOOKING), times=5, hours=1)
        ready = desk.decide(desk.draft(**BOOKING))
        assert decide(ready, desk.session().rules).stage == "approved"
        permissions = desk.session().rules.permissions
        for item in permissions.listed() if is_taken_back else []:
            permissions.revoke(item)
        desk.clock.now += 0 if is_taken_back else 3600
        assert decide(ready, desk.session().rules).stage == "asked"


@pytest.mark.parametrize(
    "other",
    [
        {"notify": True},
        {"price": 300.0},
        {"price": True},
        {"price": None},
        {"mail": ["ann@acme.org"]},
        {"mail": "eve@evil.org"},
        {"trip_id": "other-c3"},
        {"org": "org-two"},
    ],
)
def test_another_form_or_origin_is_asked_about(other: dict[str, Any]) -> None:
    desk = Desk()
    desk.answer(desk.draft(**BOOKING), free=[MAIL, TRIP])
    values = {**BOOKING, **other}
    if values["price"] is None:
        del values["price"]
    try:
        found = desk.draft(**values)
    except AssertionError:
        return
    assert desk.decide(found).stage == "asked"


def test_a_free_number_has_a_limit() -> None:
    desk = Desk()
    desk.answer(desk.draft(**BOOKING), free=[PRICE, TRIP], most={PRICE: 200})
    assert desk.decide(desk.draft(**{**BOOKING, "price": 120})).stage == "approved"
    assert desk.decide(desk.draft(**{**BOOKING, "price": 300})).stage == "asked"


def test_a_path_is_listed_and_not_free() -> None:
    desk = Desk()
    refused = desk.answer(desk.draft(**BOOKING), free=["/path/org"])
    assert (refused.stage, "has to stay as it is" in refused.note) == ("asked", True)
    desk.answer(desk.draft(**BOOKING), one_of={"/path/org": ["org-two"]})
    assert desk.decide(desk.draft(**BOOKING, org="org-two")).stage == "approved"


def test_a_delete_is_permitted_for_one_thing_only() -> None:
    desk = Desk()
    session, one = desk.session(), desk.draft("cancel")
    # What it names is gone after the first, so its question offers none; a command or a host may give one.
    assert desk.answer(one, times=2).stage == "asked"
    assert permit_of(session, one, {"one_of": {"/path/org": ["org-two"]}}) == "a DELETE is permitted for one thing only"
    scope, times, hours = permit_of(session, one, {"times": 2})
    permissions = session.rules.permissions
    permissions.permit(permissions.for_changes(one.operation, scope, times=int(times), hours=float(hours)))
    assert desk.decide(desk.draft("cancel")).stage == "approved"
    assert desk.decide(desk.draft("cancel", org="org-two")).stage == "asked"


@pytest.mark.parametrize(
    "wish",
    [
        *({"times": times} for times in (0, 2.0, True, 10**9)),
        *({"hours": hours} for hours in (0, 10**6, "1")),
        {"free": "all"},
        {"free": [NOTIFY]},
        {"most": {PRICE: 5}},
        {"free": [PRICE], "most": {PRICE: -1}},
        {"free": [PRICE], "most": {PRICE: True}},
        {"one_of": {MAIL: "bo@acme.org"}},
        {"one_of": {MAIL: [{}]}},
        {"one_of": {"/body/nothing": []}},
        {"forever": True},
    ],
)
def test_a_wish_that_cannot_be_read_permits_nothing_and_sends_nothing(wish: dict[str, Any]) -> None:
    desk = Desk()
    found = desk.answer(desk.draft(**BOOKING, notify=True), **wish)
    assert (found.stage, bool(found.note)) == ("asked", True)
    assert desk.session().rules.permissions.listed() == []


RULE = (PolicyRule("ask", ids=("book", "cancel")),)


CHANGES: dict[str, Callable[[Desk], None]] = {
    "operation": lambda desk: setattr(desk, "text", "another answer"),
    "server": lambda desk: setattr(desk, "server", "https://other.example"),
    "rule": lambda desk: setattr(desk, "policy", RULE),
    "time": lambda desk: setattr(desk.clock, "now", desk.clock.now + 25 * 3600),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_permission_ends_with_its_operation_its_server_a_rule_and_its_time(change: str) -> None:
    desk = Desk()
    desk.answer(desk.draft(**BOOKING))
    assert desk.decide(desk.draft(**BOOKING)).stage == "approved"
    CHANGES[change](desk)
    assert desk.decide(desk.draft(**BOOKING)).stage == "asked"


@pytest.mark.parametrize(("writes", "stage"), [("deny", "rejected"), ("dry-run", "held")])
def test_a_run_that_sends_no_changes_sends_none_under_a_permission(writes: Writes, stage: str) -> None:
    desk = Desk()
    desk.answer(desk.draft(**BOOKING))
    desk.writes = writes
    assert desk.decide(desk.draft(**BOOKING)).stage == stage


@pytest.mark.parametrize(
    "doubt", [{"unsure": 1}, {"confirm": True}, {"doubt": "twice"}, {"unknown": ("org",)}, {"answered": (201,)}]
)
def test_no_permission_covers_a_doubt(doubt: dict[str, Any]) -> None:
    desk = Desk()
    desk.answer(desk.draft(**BOOKING))
    assert desk.decide(replace(desk.draft(**BOOKING), **doubt)).stage == "asked"


def test_no_permission_covers_values_of_another_api() -> None:
    desk = Desk()
    desk.answer(desk.draft(**BOOKING))
    flow: Any = {"run": "run", "carried": {"x": "mail"}, "worded": {}}
    desk.session().rules.permissions.answer_flow("run", {"x": "mail"}, ("y", "rail"), True, call="1")
    assert desk.decide(replace(desk.draft(**BOOKING), flow=flow)).stage == "asked"


def test_a_narrower_one_takes_the_place_of_a_wider_one() -> None:
    desk = Desk()
    desk.answer(desk.draft(**BOOKING), free=[MAIL, TRIP])
    desk.answer(desk.draft(**BOOKING), free=[MAIL])
    (held,) = desk.session().rules.permissions.listed()
    assert held.scope[TRIP] == {"one_of": ["trip-a1"]}
    assert is_within(held.scope, held.scope)


@dataclass
class Shown:
    """What a permission showed to the person who gave it, in the words of this test."""

    fixed: dict[str, Any]
    free: dict[str, str]
    most: float
    left: int
    until: float
    about: tuple[str, str]
    key: str = ""

    def covers(self, values: dict[str, tuple[str, Any]]) -> bool:
        return values.keys() == self.fixed.keys() | self.free.keys() and all(
            self._fits(name, origin, value) for name, (origin, value) in values.items()
        )

    def _fits(self, name: str, origin: str, value: Any) -> bool:
        if name in self.fixed:
            return type(value) is type(self.fixed[name]) and value == self.fixed[name]
        return origin in ("user", self.free[name]) and (name != "price" or value <= self.most)


def chosen(dice: random.Random) -> dict[str, tuple[str, Any]]:
    """Arguments of a booking, with where each comes from."""
    names = ["org", *(name for name in VALUES if name != "org" and dice.random() < 0.8)]
    origins = {name: dice.choice(list(VALUES[name])) for name in names}
    return {name: (origin, dice.choice(VALUES[name][origin])) for name, origin in origins.items()}


@pytest.mark.parametrize("seed", range(45))
def test_no_sequence_of_permissions_and_revocations_is_wider_than_what_was_shown(seed: int, store: BaseStore) -> None:
    dice, desk = random.Random(seed), Desk(store)
    shown: list[Shown] = []
    approved = 0
    for _ in range(40):
        about = (desk.text, desk.server)
        held = [item for item in shown if item.until > desk.clock.now]
        values = chosen(dice)
        plain = {name: value for name, (_, value) in values.items()}
        match dice.choice(["permit", "permit", "call", "call", "call", "call", "revoke", "time", "document"]):
            case "permit":
                free = [n for n, (o, _) in values.items() if n != "org" and o != "model" and dice.random() < 0.6]
                times, hours, most = dice.randint(1, 3), dice.choice([1, 5]), dice.choice([150, 350, 1000])
                limit = {"most": {PRICE: most}} if "price" in free else {}
                wish = {"free": [f"/body/{name}" for name in free], "times": times, "hours": hours, **limit}
                before = {item.key for item in desk.session().rules.permissions.listed()}
                assert desk.answer(desk.draft(**plain), **wish).stage == "approved"
                fixed = {name: value for name, value in plain.items() if name not in free}
                given = Shown(fixed, {n: values[n][0] for n in free}, most, times, desk.clock.now + hours * 3600, about)
                after = {item.key: item for item in desk.session().rules.permissions.listed()}
                (given.key,) = after.keys() - before
                # What the new one narrows is gone; nothing else may go.
                gone = [item for item in held if item.key not in after]
                assert all(item.free.keys() >= given.free.keys() for item in gone)
                shown = [item for item in shown if item.key in after] + [given]
            case "revoke" if held:
                lost = dice.choice(held)
                permissions = desk.session().rules.permissions
                permissions.revoke(next(item for item in permissions.listed() if item.key == lost.key))
                shown.remove(lost)
            case "time":
                desk.clock.now += dice.choice([600, 7200])
            case "document" if dice.random() < 0.3:
                desk.text, desk.server = dice.choice(["ok", "new"]), f"https://{dice.choice('ab')}.example"
            case _:
                fitting = [item for item in held if item.about == about and item.left and item.covers(values)]
                found = desk.decide(desk.draft(**plain))
                assert found.stage == ("approved" if fitting else "asked"), (values, fitting)
                if fitting:
                    approved += 1
                    next(item for item in fitting if item.key == found.permission).left -= 1
    assert approved <= 3 * 40
