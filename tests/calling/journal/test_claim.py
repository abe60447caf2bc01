"""Guards the claim of a change: of all attempts at one change, however late they wake, one sends unasked."""

import asyncio
import io
import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from threading import Barrier, Thread
from typing import Any

import pytest
import requests
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite import SqliteStore
from paths import api_of
from requests.adapters import BaseAdapter

from lab.kills.postgres import NoPostgresError, postgres_server
from restgpt.calling.call import Call, Problems, draft
from restgpt.calling.claim import Claim, LostClaimError, RemovedDatabaseError, StoreClaims, claims_of, take_claim
from restgpt.calling.decision import Rules
from restgpt.calling.execution import carry_out
from restgpt.calling.journal import Journal, entry_id
from restgpt.calling.session import Session
from restgpt.graph.persistence import open_persistence
from restgpt.specs import Catalogue
from restgpt.tools.http.http_client import HttpClient, HttpLimits
from restgpt.tools.response.store import BoundedMemory, ResponseStore, locked
from restgpt.tools.settings import Secret, Settings

BODY = {"content": {"application/json": {"schema": {"type": "object"}}}}
POSTED = {"operationId": "add", "requestBody": BODY, "responses": {}}
PATHS = {"/things": {"post": POSTED}, "/things/1": {"put": {**POSTED, "operationId": "set"}}}
API = api_of(PATHS, title="Things", base_url="https://things.example")


class Wire(BaseAdapter):
    """An adapter that counts the requests, answers 201, and calls `during` first."""

    def __init__(self, during: Callable[[], object] = lambda: None) -> None:
        super().__init__()
        self.sent: list[str] = []
        self._during = during

    def send(self, request: Any, *_: Any, **__: Any) -> requests.Response:
        self.sent.append(request.method)
        self._during()
        response = requests.Response()
        response.status_code = 201
        response.headers["Content-Type"] = "application/json"
        response.raw = io.BytesIO(json.dumps({"id": 7}).encode())
        return response

    def close(self) -> None:
        """There is nothing to close."""


def session(wire: Wire, journal: Journal) -> Session:
    http = HttpClient(adapter=wire, limits=HttpLimits(backoff_seconds=0.0))
    rules = Rules(Settings(), "allow")
    return Session(Catalogue([API]), http, ResponseStore(BoundedMemory()), journal, rules, keep_earlier=False)


def ready(id: str = "r", *, operation: str = "add", sends: int = 1) -> Call:
    drafted = draft(API.operation(operation), {"body": {"n": 1}}, id=id, name=operation, is_own=True)
    assert not isinstance(drafted, Problems)
    return drafted.approved(sends=sends)


def is_over(call: Call | None) -> bool:
    assert call is not None
    assert call.is_over or call.stage == "asked"
    return call.is_over


def attempt(store: BaseStore, wire: Wire, call: Call, *, thread: str = "t") -> Call | None:
    """Return what came of an attempt; None if it lost its claim."""
    try:
        return carry_out(session(wire, Journal(store, thread)), call)
    except LostClaimError:
        return None


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[BaseStore]:
    if request.param == "memory":
        yield InMemoryStore()
        return
    with open_persistence(Settings(home=tmp_path)) as kept:
        yield kept.store


class StoppedJournal(Journal):
    """The journal of a process that is stopped once it has looked a call up, until another process has sent it."""

    def __init__(self, store: BaseStore, winner: Wire) -> None:
        super().__init__(store, "t")
        self._winner = winner

    def intend(self, *given: Any, **more: Any) -> None:
        """Let the other process send first."""
        assert is_over(attempt(self._store, self._winner, ready()))
        super().intend(*given, **more)


def test_an_attempt_that_is_overtaken_before_it_sends_sends_nothing(store: BaseStore) -> None:
    late, winner = Wire(), Wire()
    with pytest.raises(LostClaimError, match="Another run of this thread has taken over"):
        carry_out(session(late, StoppedJournal(store, winner)), ready())
    assert (late.sent, winner.sent) == ([], ["POST"])
    [entry] = Journal(store, "t").entries()
    assert entry["outcome"]["response"]["status"] == 201
    assert is_over(attempt(store, late, ready()))
    assert late.sent == []


def intended(store: BaseStore, call: Call) -> Claim:
    """The claim of an attempt that has noted its intent."""
    journal = Journal(store, "t")
    claim = journal.claim("r", call.fingerprint)
    journal.intend("r", call.fingerprint, {}, attempt=claim.number)
    return claim


def test_an_attempt_that_noted_its_intent_and_did_not_begin_is_repeated_without_a_question(store: BaseStore) -> None:
    call, wire = ready(), Wire()
    claim = intended(store, call)
    assert is_over(attempt(store, wire, call))
    assert wire.sent == ["POST"]
    with pytest.raises(LostClaimError):
        claim.begin()


def test_an_attempt_that_began_is_asked_about_and_cannot_go_on_after_the_question(store: BaseStore) -> None:
    call, wire = ready(), Wire()
    claim = intended(store, call)
    claim.begin()
    asked = attempt(store, wire, call)
    assert not is_over(asked)
    assert (asked.unsure, wire.sent) == (1, [])
    with pytest.raises(LostClaimError):
        claim.begin()


def test_a_late_answer_of_an_overtaken_attempt_is_kept_and_spares_the_next_try(store: BaseStore) -> None:
    call, wire = ready(), Wire()
    first = Wire(during=lambda: asked.append(attempt(store, wire, call)))
    asked: list[Any] = []
    assert is_over(attempt(store, first, call))
    assert not is_over(asked[0])
    again = attempt(store, wire, ready(sends=2))
    assert is_over(again)
    assert (first.sent, wire.sent) == (["POST"], [])


def test_a_late_loser_neither_deletes_nor_replaces_what_the_winner_noted(store: BaseStore) -> None:
    call, journal = ready(), Journal(store, "t")
    late = journal.claim("r", call.fingerprint)
    assert is_over(attempt(store, Wire(), call))
    journal.intend("r", call.fingerprint, {}, attempt=late.number)
    journal.conclude("r", call.fingerprint, {"status": "failed", "response": {}, "note": ""}, attempt=late.number)
    assert journal.look_up("r", call.fingerprint).outcome["status"] == "sent"
    journal.retract("r", call.fingerprint, attempt=late.number)
    [entry] = journal.entries()
    assert (entry["id"], entry["outcome"]["status"]) == (entry_id("r", call.fingerprint), "sent")
    journal.note(entry["id"], undone=True)
    assert journal.entries()[0]["undone"]


class Flaky(Wire):
    """A wire whose first answer is lost."""

    def send(self, request: Any, *args: Any, **more: Any) -> requests.Response:
        if not self.sent:
            super().send(request, *args, **more)
            raise requests.ConnectionError
        return super().send(request, *args, **more)


def test_a_retry_of_the_request_checks_the_claim_again_and_leaves_the_question(store: BaseStore) -> None:
    call = ready(operation="set")
    journal = Journal(store, "t")
    wire = Flaky(during=lambda: journal.claim("r", call.fingerprint))
    assert attempt(store, wire, call) is None
    assert wire.sent == ["PUT"]
    assert not is_over(attempt(store, wire, call))


@pytest.mark.parametrize("rounds", [10, pytest.param(200, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_of_two_attempts_at_once_exactly_one_sends(kind: str, rounds: int, tmp_path: Path) -> None:
    wire, wrong = Wire(), []
    with ExitStack() as stack:
        if kind == "sqlite":
            settings = Settings(home=tmp_path)
            stores = [stack.enter_context(open_persistence(settings)).store for _ in range(2)]
        else:
            stores = [locked(InMemoryStore())] * 2
        barrier = Barrier(2, timeout=60)

        def race(store: BaseStore) -> None:
            for number in range(rounds):
                barrier.wait()
                attempt(store, wire, ready(), thread=f"t{number}")
                barrier.wait()
                if len(wire.sent) != number + 1:
                    wrong.append((number, len(wire.sent)))
                    barrier.abort()

        threads = [Thread(target=race, args=(store,)) for store in stores]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert wrong == []
    assert len(wire.sent) == rounds


def test_numbers_grow_and_only_the_newest_begins(store: BaseStore) -> None:
    claims = claims_of(store)
    assert claims.find("t", "a") == (0, 0)
    assert [claims.take("t", "a"), claims.take("t", "a"), claims.take("t", "b")] == [(1, 0), (2, 0), (1, 0)]
    assert not claims.begin("t", "a", 1)
    assert claims.begin("t", "a", 2)
    assert claims.begin("t", "a", 2)
    assert claims.take("t", "a") == (3, 2)
    claims.clear("t")
    assert claims.find("t", "a") == claims.find("t", "b") == (0, 0)
    assert not claims.begin("t", "a", 3)


def test_clearing_a_journal_clears_its_claims_and_no_others(store: BaseStore) -> None:
    held = Journal(store, "other").claim("r", "abc")
    lost = Journal(store, "t").claim("r", "abc")
    Journal(store, "t").clear()
    held.begin()
    with pytest.raises(LostClaimError):
        lost.begin()


@pytest.mark.parametrize("claimed", [0, 3])
def test_a_journal_whose_claims_are_gone_or_were_none_still_leads_to_a_question(store: BaseStore, claimed: int) -> None:
    call, journal = ready(), Journal(store, "t")
    held = [journal.claim("r", call.fingerprint) for _ in range(claimed)]
    journal.intend("r", call.fingerprint, {}, **({"attempt": held[-1].number} if held else {}))
    for claim in held[-1:]:
        claim.begin()
        claim.claims.clear(claim.thread)
    for _ in range(2):
        assert not is_over(attempt(store, Wire(), call))


def test_a_store_of_another_kind_counts_under_a_lock_of_the_process() -> None:
    class Other(InMemoryStore):
        """A store of a host."""

    assert isinstance(claims_of(Other()), StoreClaims)


def test_the_claims_of_a_host_with_its_own_transactions_are_committed(tmp_path: Path) -> None:
    path = tmp_path / "host.db"
    with (
        closing(sqlite3.connect(path, check_same_thread=False)) as one,
        closing(sqlite3.connect(path, check_same_thread=False)) as other,
    ):
        assert claims_of(SqliteStore(one)).take("t", "a") == (1, 0)
        assert claims_of(SqliteStore(other)).take("t", "a") == (2, 0)


def race_in_threads(stores: list[BaseStore]) -> list[int]:
    """Return the numbers that threads take from the claims of their stores, all at once."""
    taken: list[int] = []
    barrier = Barrier(len(stores), timeout=60)

    def take(store: BaseStore) -> None:
        barrier.wait()
        for _ in range(20):
            taken.append(claims_of(store).take("t", "race").number)

    threads = [Thread(target=take, args=(store,)) for store in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(taken)


def exercised(store: BaseStore, id: str = "all") -> None:
    """Use every operation of the claims of a store, and the journal over them."""
    claims = claims_of(store)
    assert not isinstance(claims, StoreClaims)
    test_numbers_grow_and_only_the_newest_begins(store)
    call, wire = ready(id), Wire()
    assert is_over(attempt(store, wire, call))
    assert is_over(attempt(store, wire, call))
    assert wire.sent == ["POST"]


async def on_own_loop(store: Any, *, id: str = "all") -> None:
    """Use the claims of an asynchronous store from threads, as nodes do, and on its event loop, which is an error."""
    await store.setup()
    await asyncio.to_thread(exercised, store, id)
    assert await asyncio.to_thread(race_in_threads, [store, store]) == list(range(1, 41))
    with pytest.raises(asyncio.InvalidStateError, match="ainvoke"):
        claims_of(store).take("t", "a")


def test_an_asynchronous_store_on_sqlite_counts_too(tmp_path: Path) -> None:
    from langgraph.store.sqlite.aio import AsyncSqliteStore

    async def run() -> None:
        async with AsyncSqliteStore.from_conn_string(str(tmp_path / "host.db")) as store:
            await on_own_loop(store)

    asyncio.run(run())


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    pytest.importorskip("psycopg", reason="PostgreSQL's packages are not installed")
    try:
        with postgres_server() as served:
            yield served
    except NoPostgresError as error:
        pytest.skip(str(error))


@pytest.mark.slow
def test_processes_count_together_on_postgresql(url: str, tmp_path: Path) -> None:
    from langgraph.store.postgres import PostgresStore

    settings = Settings(home=tmp_path, database_url=Secret(url))
    with (
        open_persistence(settings) as one,
        open_persistence(settings) as other,
        PostgresStore.from_conn_string(url, pool_config={"max_size": 2}) as pooled,
    ):
        # The table is created by several at once.
        assert race_in_threads([one.store, other.store, pooled]) == list(range(1, 61))
        exercised(one.store)
        claims_of(pooled).clear("t")


@pytest.mark.slow
@pytest.mark.parametrize("pool", [None, {"max_size": 4}], ids=["connection", "pool"])
def test_an_asynchronous_store_on_postgresql_counts_too(url: str, pool: Any) -> None:
    from langgraph.store.postgres import AsyncPostgresStore

    async def run() -> None:
        async with AsyncPostgresStore.from_conn_string(url, pool_config=pool) as store:
            await on_own_loop(store, id=str(pool))
            await asyncio.to_thread(claims_of(store).clear, "t")

    asyncio.run(run())


@pytest.mark.parametrize("is_replaced", [False, True], ids=["removed", "replaced"])
def test_a_run_whose_database_is_gone_sends_nothing(tmp_path: Path, is_replaced: bool) -> None:
    with open_persistence(Settings(home=tmp_path)) as kept:
        claim = take_claim(kept.store, "thread", "call")
        for file in tmp_path.glob("restgpt.db*"):
            file.unlink()
        if is_replaced:
            (tmp_path / "restgpt.db").touch()
        with pytest.raises(RemovedDatabaseError, match="removed or replaced"):
            claim.begin()
