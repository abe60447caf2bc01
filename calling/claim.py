"""Claims: a number for each attempt to send a change, so that an attempt that another one has overtaken sends nothing.

The numbers of one name only grow, and the database of the store counts them, so that no clock is needed. SQLite and
PostgreSQL count in one step, for all processes. Other stores have no such step: `StoreClaims` counts for the threads of
this process only.
"""

import asyncio
import sys
from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from threading import RLock
from typing import Any, Protocol, TypeVar
from weakref import WeakSet

from langgraph.store.base import BaseStore

from restgpt.tools.errors import StoppingError

Result = TypeVar("Result")

NAMESPACE = ("restgpt", "claims")

PAGE = 500
"""How many claims are read from a store at once."""

CREATE = (
    "CREATE TABLE IF NOT EXISTS restgpt_claims "
    "(thread TEXT NOT NULL, name TEXT NOT NULL, number BIGINT NOT NULL, PRIMARY KEY (thread, name))"
)
COUNT = (
    "INSERT INTO restgpt_claims (thread, name, number) VALUES (%s, %s, 1) "
    "ON CONFLICT (thread, name) DO UPDATE SET number = restgpt_claims.number + 1"
)
NEWEST = "SELECT number FROM restgpt_claims WHERE thread = %s AND name = %s"
CLEAR = "DELETE FROM restgpt_claims WHERE thread = %s"


class LostClaimError(StoppingError):
    """Another run of the thread has taken the claim, so this run must not send anything any more."""

    def __init__(self) -> None:
        super().__init__(
            "Another run of this thread has taken over, so this run stopped without sending the request. Continue with "
            "the other run: its steps are saved in the thread."
        )


class Claims(Protocol):
    """The numbers of a database, by thread and name."""

    def take(self, thread: str, name: str) -> int:
        """Count one more claim, and return its number: 1 for the first."""

    def newest(self, thread: str, name: str) -> int:
        """Return the number of the newest claim; 0 if there is none."""

    def clear(self, thread: str) -> None:
        """Delete the numbers of a thread."""


@dataclass(slots=True)
class Claim:
    """The claim of one attempt; it is lost as soon as another attempt takes the next number of its name.

    `was_checked` says that a request may have been sent under the claim.
    """

    claims: Claims
    thread: str
    name: str
    number: int
    was_checked: bool = False

    def check(self) -> None:
        """Raise LostClaimError if another attempt has taken a newer claim; call it right before sending."""
        if self.claims.newest(self.thread, self.name) != self.number:
            raise LostClaimError
        self.was_checked = True


def take_claim(store: BaseStore, thread: str, name: str) -> Claim:
    """Take the next claim of a name."""
    claims = claims_of(store)
    return Claim(claims, thread, name, claims.take(thread, name))


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

    def take(self, thread: str, name: str) -> int:
        """Count one more claim under a lock of the process."""
        with _LOCK:
            number = self.newest(thread, name) + 1
            self._store.put((*NAMESPACE, thread), name, {"number": number}, index=False)
            return number

    def newest(self, thread: str, name: str) -> int:
        """Return the number of the newest claim."""
        item = self._store.get((*NAMESPACE, thread), name)
        return int(item.value["number"]) if item else 0

    def clear(self, thread: str) -> None:
        """Delete the numbers of a thread."""
        while items := self._store.search((*NAMESPACE, thread), limit=PAGE):
            for item in items:
                self._store.delete(item.namespace, item.key)


class SqliteClaims:
    """Claims in a table of the SQLite database of a `SqliteStore`."""

    def __init__(self, store: Any) -> None:
        self._connection = store.conn
        self._lock = store.lock

    def take(self, thread: str, name: str) -> int:
        """Count one more claim in a transaction that begins with the lock for writing."""
        with self._lock:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                self._connection.execute(CREATE)
                self._connection.execute(_for_sqlite(COUNT), (thread, name))
                row = self._connection.execute(_for_sqlite(NEWEST), (thread, name)).fetchone()
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")
        return int(row[0])

    def newest(self, thread: str, name: str) -> int:
        """Return the number of the newest claim."""
        with self._lock:
            self._connection.execute(CREATE)
            row = self._connection.execute(_for_sqlite(NEWEST), (thread, name)).fetchone()
        return int(row[0]) if row else 0

    def clear(self, thread: str) -> None:
        """Delete the numbers of a thread."""
        with self._lock:
            self._connection.execute(CREATE)
            self._connection.execute("BEGIN IMMEDIATE")
            self._connection.execute(_for_sqlite(CLEAR), (thread,))
            self._connection.execute("COMMIT")


class AsyncSqliteClaims:
    """Claims in a table of the SQLite database of an `AsyncSqliteStore`, for code in other threads than its loop's."""

    def __init__(self, store: Any) -> None:
        self._store = store

    def take(self, thread: str, name: str) -> int:
        """Count one more claim in a transaction that begins with the lock for writing."""
        return int(self._run(self._within, COUNT, (thread, name), NEWEST)[0])

    def newest(self, thread: str, name: str) -> int:
        """Return the number of the newest claim."""
        row = self._run(self._read, NEWEST, (thread, name))
        return int(row[0]) if row else 0

    def clear(self, thread: str) -> None:
        """Delete the numbers of a thread."""
        self._run(self._within, CLEAR, (thread,))

    def _run(self, work: Callable[..., Coroutine[Any, Any, Any]], *arguments: Any) -> Any:
        return _on_loop(self._store, lambda: work(*arguments))

    async def _within(self, change: str, values: tuple[str, ...], read: str = "") -> Any:
        connection = self._store.conn
        async with self._store.lock:
            await connection.execute("BEGIN IMMEDIATE")
            try:
                await connection.execute(CREATE)
                await connection.execute(_for_sqlite(change), values)
                row = await (await connection.execute(_for_sqlite(read), values)).fetchone() if read else None
            except BaseException:
                await connection.execute("ROLLBACK")
                raise
            await connection.execute("COMMIT")
        return row

    async def _read(self, read: str, values: tuple[str, ...]) -> Any:
        async with self._store.lock:
            await self._store.conn.execute(CREATE)
            return await (await self._store.conn.execute(_for_sqlite(read), values)).fetchone()


_CREATED: WeakSet[Any] = WeakSet()
"""The stores on PostgreSQL in whose database this process has looked for the table."""

# One statement each, so that a process that is stopped in the middle holds no lock.
TAKE = f"{COUNT} RETURNING number"
FIND_TABLE = "SELECT to_regclass('restgpt_claims') AS found"


class PostgresClaims:
    """Claims in a table of the PostgreSQL database of a `PostgresStore`."""

    def __init__(self, store: Any) -> None:
        self._store = store

    def take(self, thread: str, name: str) -> int:
        """Count one more claim in one statement."""
        self._create()
        return int(self._run(TAKE, thread, name)["number"])

    def newest(self, thread: str, name: str) -> int:
        """Return the number of the newest claim."""
        self._create()
        row = self._run(NEWEST, thread, name)
        return int(row["number"]) if row else 0

    def clear(self, thread: str) -> None:
        """Delete the numbers of a thread."""
        self._create()
        self._run(CLEAR, thread)

    def _create(self) -> None:
        if self._store in _CREATED:
            return
        if self._run(FIND_TABLE)["found"] is None:
            from psycopg.errors import DuplicateTable, UniqueViolation

            try:
                self._run(CREATE)
            except (DuplicateTable, UniqueViolation):
                # Another process has created it since: PostgreSQL's IF NOT EXISTS does not wait for that.
                pass
        _CREATED.add(self._store)

    def _run(self, statement: str, *values: str) -> Any:
        from psycopg.rows import dict_row

        with self._connected() as connection, connection.cursor(row_factory=dict_row) as cursor:
            cursor.execute(statement, values)
            return cursor.fetchone() if cursor.description else None

    def _connected(self) -> AbstractContextManager[Any]:
        connection = self._store.conn
        if hasattr(connection, "getconn"):
            pooled: AbstractContextManager[Any] = connection.connection()
            return pooled
        return _Locked(connection, getattr(self._store, "lock", None))


class _Locked:
    """A connection that is used under the lock of its store."""

    def __init__(self, connection: Any, lock: Any) -> None:
        self._connection = connection
        self._lock: AbstractContextManager[Any] = lock or nullcontext()

    def __enter__(self) -> Any:
        self._lock.__enter__()
        return self._connection

    def __exit__(self, *raised: Any) -> None:
        self._lock.__exit__(*raised)


class AsyncPostgresClaims(PostgresClaims):
    """The same of an `AsyncPostgresStore`, for code in other threads than its loop's."""

    def _run(self, statement: str, *values: str) -> Any:
        return _on_loop(self._store, lambda: self._execute(statement, values))

    async def _execute(self, statement: str, values: tuple[str, ...]) -> Any:
        connection = self._store.conn
        if hasattr(connection, "getconn"):
            async with connection.connection() as pooled:
                return await _fetched(pooled, statement, values)
        async with self._store.lock:
            return await _fetched(connection, statement, values)


async def _fetched(connection: Any, statement: str, values: tuple[str, ...]) -> Any:
    from psycopg.rows import dict_row

    async with connection.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(statement, values)
        return await cursor.fetchone() if cursor.description else None


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
        # It would wait for itself for ever.
        raise asyncio.InvalidStateError(
            f"{type(store).__name__} was used on its own event loop. Call the graph with ainvoke or astream."
        )
    return asyncio.run_coroutine_threadsafe(work(), loop).result()


def _for_sqlite(statement: str) -> str:
    return statement.replace("%s", "?")
