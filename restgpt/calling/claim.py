"""Claims: each attempt to send a change takes the next number, and only the attempt with the newest number may send.

The database of the store counts, so no clock is needed. It also keeps the number of the last attempt that began to
send, so a later attempt can tell whether an earlier one may have sent anything. SQLite and PostgreSQL count in one
step, for all processes. Other stores have no such step: `StoreClaims` counts for the threads of this process only.
"""

import asyncio
import os
import sys
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from threading import RLock
from typing import Any, NamedTuple, Protocol, TypeVar
from weakref import WeakKeyDictionary, WeakSet

from langgraph.store.base import BaseStore

from restgpt.tools.errors import StoppingError
from restgpt.tools.text.storable import delete_items

Result = TypeVar("Result")

NAMESPACE = ("restgpt", "claims")

CREATE = (
    "CREATE TABLE IF NOT EXISTS restgpt_claims "
    "(thread TEXT NOT NULL, name TEXT NOT NULL, number BIGINT NOT NULL, begun BIGINT NOT NULL, "
    "PRIMARY KEY (thread, name))"
)
TAKE = (
    "INSERT INTO restgpt_claims (thread, name, number, begun) VALUES (%s, %s, 1, 0) "
    "ON CONFLICT (thread, name) DO UPDATE SET number = restgpt_claims.number + 1"
)
BEGIN = "UPDATE restgpt_claims SET begun = number WHERE thread = %s AND name = %s AND number = %s"
FIND = "SELECT number, begun FROM restgpt_claims WHERE thread = %s AND name = %s"
CLEAR = "DELETE FROM restgpt_claims WHERE thread = %s"


class LostClaimError(StoppingError):
    """Another run of the thread has taken the claim, so this run must not send anything any more."""

    def __init__(self) -> None:
        super().__init__(
            "Another run of this thread has taken over, so this run stopped without sending the request. Continue with "
            "the other run: its steps are saved in the thread."
        )


class RemovedDatabaseError(StoppingError):
    """The database was removed or replaced, so what this run sends would not be known to any other run."""

    def __init__(self, path: str) -> None:
        super().__init__(
            f"The database {path} was removed or replaced while this run was using it, so this run stopped before its "
            "next change. Put the file back and resume the thread, or look at what was changed before you start anew."
        )


class Counted(NamedTuple):
    """The newest number of a name, which is 1 for the first claim, and the newest that began; 0 if none did."""

    number: int
    begun: int


NONE = Counted(0, 0)


class Claims(Protocol):
    """The numbers in a database, by thread and name."""

    def take(self, thread: str, name: str) -> Counted:
        """Count one more claim."""

    def begin(self, thread: str, name: str, number: int) -> bool:
        """Keep that the claim of this number began to send, if it is the newest; return whether it is."""

    def find(self, thread: str, name: str) -> Counted:
        """Return the numbers as they are."""

    def clear(self, thread: str) -> None:
        """Delete the numbers of a thread."""


@dataclass(slots=True)
class Claim:
    """The claim of one attempt; it is lost as soon as another attempt takes the next number of its name.

    `before` is the number of the newest attempt that began to send before. `within` is a claim that must hold too.
    """

    claims: Claims
    thread: str
    name: str
    number: int
    before: int
    within: "Claim | None" = None
    has_begun: bool = field(default=False, init=False)

    def begin(self) -> None:
        """Record that the attempt begins to send; raises LostClaimError if the claim is lost. Call it right before."""
        if self.within is not None:
            self.within.check()
        if not self.claims.begin(self.thread, self.name, self.number):
            raise LostClaimError
        self.has_begun = True

    @property
    def is_lost(self) -> bool:
        """Whether another attempt has taken a newer claim."""
        return self.claims.find(self.thread, self.name).number != self.number

    def check(self) -> None:
        """Raise LostClaimError if the claim is lost."""
        if self.is_lost:
            raise LostClaimError


def take_claim(store: BaseStore, thread: str, name: str, *, within: Claim | None = None) -> Claim:
    """Take the next claim of a name; raises LostClaimError if the claim `within` is lost."""
    if within is not None:
        within.check()
    claims = claims_of(store)
    number, before = claims.take(thread, name)
    return Claim(claims, thread, name, number, before, within)


def claims_of(store: BaseStore) -> Claims:
    """Return the claims in the database of a store, through the store's own connection."""
    connection = getattr(store, "conn", None)
    for module, name, kind in _KINDS:
        # A connection of a driver that was not imported cannot be there.
        driver = getattr(sys.modules.get(module), name, None)
        if driver is not None and isinstance(connection, driver):
            return kind(store)
    return StoreClaims(store)


_LOCK = RLock()


class StoreClaims:
    """Claims as items of a store that has no atomic step: for the threads of one process."""

    def __init__(self, store: BaseStore) -> None:
        self._store = store

    def take(self, thread: str, name: str) -> Counted:
        """Count one more claim under a lock of the process."""
        with _LOCK:
            number, begun = self.find(thread, name)
            return self._put(thread, name, Counted(number + 1, begun))

    def begin(self, thread: str, name: str, number: int) -> bool:
        """Keep that the newest claim began to send, under the same lock."""
        with _LOCK:
            is_newest = self.find(thread, name).number == number
            if is_newest:
                self._put(thread, name, Counted(number, number))
            return is_newest

    def find(self, thread: str, name: str) -> Counted:
        """Return the numbers as they are."""
        item = self._store.get((*NAMESPACE, thread), name)
        return Counted(int(item.value["number"]), int(item.value["begun"])) if item else NONE

    def _put(self, thread: str, name: str, counted: Counted) -> Counted:
        self._store.put((*NAMESPACE, thread), name, counted._asdict(), index=False)
        return counted

    def clear(self, thread: str) -> None:
        """Delete the numbers of a thread."""
        delete_items(self._store, (*NAMESPACE, thread))


Step = tuple[str, tuple[str | int, ...]]
"""A statement and its values."""

_FILES: WeakKeyDictionary[Any, tuple[str, os.stat_result | None]] = WeakKeyDictionary()
"""The path of each store's database in SQLite, and the file at the first claim; a database in memory has neither."""


class SqliteClaims:
    """Claims in a table of the SQLite database of a `SqliteStore`."""

    def __init__(self, store: Any) -> None:
        self._store = store

    def take(self, thread: str, name: str) -> Counted:
        """Count one more claim; raises RemovedDatabaseError."""
        self._check_file()
        return _counted(self._run((TAKE, (thread, name)), (FIND, (thread, name))))

    def begin(self, thread: str, name: str, number: int) -> bool:
        """Keep that the newest claim began to send; raises RemovedDatabaseError."""
        self._check_file()
        return _counted(self._run((BEGIN, (thread, name, number)), (FIND, (thread, name)))).number == number

    def find(self, thread: str, name: str) -> Counted:
        """Return the numbers as they are."""
        return _counted(self._run((FIND, (thread, name)), is_read=True))

    def clear(self, thread: str) -> None:
        """Delete the numbers of a thread."""
        self._run((CLEAR, (thread,)))

    def _check_file(self) -> None:
        """Raise RemovedDatabaseError if the path of the database has no file, or another than at the first claim."""
        path, first = _FILES.get(self._store, ("", None))
        try:
            if self._store not in _FILES:
                path = self._run(("PRAGMA database_list", ()), is_read=True)[2]
                _FILES[self._store] = path, os.stat(path) if path else None
            elif first is not None and not os.path.samestat(first, os.stat(path)):
                raise RemovedDatabaseError(path)
        except FileNotFoundError:
            raise RemovedDatabaseError(path) from None

    def _run(self, *steps: Step, is_read: bool = False) -> Any:
        """Run statements in one transaction, which begins with the lock for writing; returns a row of the last one."""
        connection = self._store.conn
        # The connection commits at the end of the block, and rolls back after an error.
        with self._store.lock, connection:
            connection.execute("BEGIN" if is_read else "BEGIN IMMEDIATE")
            for statement in _sqlite_steps(steps):
                cursor = connection.execute(*statement)
            return cursor.fetchone()


class AsyncSqliteClaims(SqliteClaims):
    """Claims in the database of an `AsyncSqliteStore`, for code in other threads than its event loop's."""

    def _run(self, *steps: Step, is_read: bool = False) -> Any:
        return _on_loop(self._store, lambda: self._within(steps, "BEGIN" if is_read else "BEGIN IMMEDIATE"))

    async def _within(self, steps: Sequence[Step], begin: str) -> Any:
        connection = self._store.conn
        async with self._store.lock:
            await connection.execute(begin)
            try:
                for statement in _sqlite_steps(steps):
                    cursor = await connection.execute(*statement)
                row = await cursor.fetchone()
                await connection.commit()
            finally:
                if connection.in_transaction:
                    await connection.rollback()
        return row


def _sqlite_steps(steps: Sequence[Step]) -> list[Step]:
    """The statements with SQLite's placeholders, after the one that creates the table if it does not exist."""
    return [(CREATE, ()), *((statement.replace("%s", "?"), values) for statement, values in steps)]


class PostgresClaims:
    """Claims in a table of the PostgreSQL database of a `PostgresStore`.

    Each change is one statement, so a process that is stopped in the middle of it holds no lock.
    """

    def __init__(self, store: Any) -> None:
        self._store = store

    def take(self, thread: str, name: str) -> Counted:
        """Count one more claim."""
        return _counted(self._run(f"{TAKE} RETURNING number, begun", thread, name))

    def begin(self, thread: str, name: str, number: int) -> bool:
        """Keep that the newest claim began to send."""
        return self._run(f"{BEGIN} RETURNING number, begun", thread, name, number) is not None

    def find(self, thread: str, name: str) -> Counted:
        """Return the numbers as they are."""
        return _counted(self._run(FIND, thread, name))

    def clear(self, thread: str) -> None:
        """Delete the numbers of a thread."""
        self._run(CLEAR, thread)

    def _run(self, statement: str, *values: str | int) -> Any:
        if self._store not in _CREATED:
            self._create()
            _CREATED.add(self._store)
        return self._execute(statement, values)

    def _create(self) -> None:
        if self._execute("SELECT to_regclass('restgpt_claims')", ())[0] is not None:
            return
        from psycopg.errors import DuplicateObject, DuplicateTable, UniqueViolation

        try:
            self._execute(CREATE, ())
        except (DuplicateTable, DuplicateObject, UniqueViolation):
            # Another process has created it since, and PostgreSQL's IF NOT EXISTS does not wait for that.
            return

    def _execute(self, statement: str, values: tuple[str | int, ...]) -> Any:
        from psycopg.rows import tuple_row

        connection = self._store.conn
        is_pool = hasattr(connection, "getconn")
        with (
            connection.connection() if is_pool else self._store.lock as pooled,
            (pooled if is_pool else connection).cursor(row_factory=tuple_row) as cursor,
        ):
            cursor.execute(statement, values)
            return cursor.fetchone() if cursor.description else None


class AsyncPostgresClaims(PostgresClaims):
    """Claims in the database of an `AsyncPostgresStore`, for code in other threads than its event loop's."""

    def _execute(self, statement: str, values: tuple[str | int, ...]) -> Any:
        return _on_loop(self._store, lambda: self._aexecute(statement, values))

    async def _aexecute(self, statement: str, values: tuple[str | int, ...]) -> Any:
        from psycopg.rows import tuple_row

        connection = self._store.conn
        is_pool = hasattr(connection, "getconn")
        async with (
            connection.connection() if is_pool else self._store.lock as pooled,
            (pooled if is_pool else connection).cursor(row_factory=tuple_row) as cursor,
        ):
            await cursor.execute(statement, values)
            return await cursor.fetchone() if cursor.description else None


_CREATED: WeakSet[Any] = WeakSet()
"""The stores on PostgreSQL in whose database this process has found or created the table."""


def _counted(row: Any) -> Counted:
    return Counted(int(row[0]), int(row[1])) if row else NONE


_KINDS: tuple[tuple[str, str, Callable[[Any], Claims]], ...] = (
    ("sqlite3", "Connection", SqliteClaims),
    ("aiosqlite", "Connection", AsyncSqliteClaims),
    ("psycopg", "Connection", PostgresClaims),
    ("psycopg_pool", "ConnectionPool", PostgresClaims),
    ("psycopg", "AsyncConnection", AsyncPostgresClaims),
    ("psycopg_pool", "AsyncConnectionPool", AsyncPostgresClaims),
)
"""The connections of LangGraph's stores, by module and class, with the claims for each."""


def _on_loop(store: Any, work: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
    """Run work on the event loop of an asynchronous store, and wait for its result."""
    loop: asyncio.AbstractEventLoop = store.loop
    try:
        is_same = asyncio.get_running_loop() is loop
    except RuntimeError:
        is_same = False
    if is_same:
        # The loop would wait for itself and never end.
        raise asyncio.InvalidStateError(
            f"{type(store).__name__} was used on its own event loop. Call the graph with ainvoke or astream."
        )
    return asyncio.run_coroutine_threadsafe(work(), loop).result()
