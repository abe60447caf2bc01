"""Saves threads between runs in a SQLite file or PostgreSQL, locks a thread for one run at a time, deletes threads."""

import sqlite3
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal
from uuid import NAMESPACE_URL, uuid5

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.store.base import BaseStore, GetOp, Op, PutOp, Result
from langgraph.types import StateSnapshot

from restgpt.calling.journal import Journal, journals
from restgpt.tools.errors import SettingsError, StoppingError, extra_command
from restgpt.tools.file_lock import PAUSE_S, file_lock
from restgpt.tools.response.store import ResponseStore, handles_in
from restgpt.tools.settings import Settings

FILE = "restgpt.db"

QUICK = (("restgpt", "bodies"), ("restgpt", "earlier"))
"""The namespaces that are written without a wait for the disk.

A killed process loses nothing of them. A power failure may lose the newest, with whatever was written after them: they
are in the write-ahead log before the checkpoint and the journal entry that name them, and those wait for the disk.
"""

BUSY_TIMEOUT_S = 30.0
"""How long a process waits for another's write, in seconds: SQLite's busy timeout, PostgreSQL's `lock_timeout`."""

VACUUM_TIMEOUT_S = 1.0
"""The busy timeout of `VACUUM`, in seconds; short, because `VACUUM` can run at any later time."""

AT_ONCE = 100
"""The number of checkpoints to load at a time, because all of them might not fit into memory."""

SET_UP = "(set-up)"
"""What the lock of the set-up of the tables is called, among those of threads."""

Locker = Callable[[str], AbstractContextManager[None]]


class PersistenceError(StoppingError):
    """Threads cannot be saved or read; the message names the database and the remedy."""


class ThreadBusyError(StoppingError):
    """Another process has locked the thread."""

    def __init__(self, thread: str) -> None:
        super().__init__(
            f"Thread {thread} is in use by another process. Wait until that process ends, or stop it; its finished "
            "steps are saved."
        )
        self.thread = thread


@dataclass(frozen=True, slots=True)
class Persistence:
    """An open database of threads: `checkpointer` and `store` for `build_graph`, and `place`, its name in messages."""

    checkpointer: BaseCheckpointSaver[Any]
    store: BaseStore
    place: str
    lock: Locker
    """`with lock(thread):` locks a thread for this process; raises `ThreadBusyError` if another has locked it."""
    shrink: Callable[[], bool] = lambda: True
    """Return the disk space of deleted rows to the system; returns False if the database is in use."""

    @property
    def saved(self) -> dict[str, Any]:
        """The checkpointer and the store as keyword arguments for what builds a graph, and for `Client`."""
        return {"checkpointer": self.checkpointer, "store": self.store}

    def is_busy(self, thread: str) -> bool:
        """Return whether a process has locked the thread."""
        try:
            with self.lock(thread):
                return False
        except ThreadBusyError:
            return True


def thread_config(thread: str, checkpoint: str = "") -> Any:
    """Return LangGraph's config of a thread, at its newest checkpoint unless one is named."""
    named = {"checkpoint_id": checkpoint, "checkpoint_ns": ""} if checkpoint else {}
    return {"configurable": {"thread_id": thread, **named}}


@contextmanager
def open_persistence(settings: Settings) -> Iterator[Persistence]:
    """Open PostgreSQL if `settings.database_url` is set, else `restgpt.db` in `settings.home`.

    Only the owner can read the folder and the file. Raises `PersistenceError`, and `SettingsError` if the packages for
    PostgreSQL are missing.
    """
    url = settings.database_url
    with _postgres(url.reveal()) if url is not None else _sqlite(settings.home) as opened:
        yield opened


@contextmanager
def _sqlite(home: Path) -> Iterator[Persistence]:
    from langgraph.checkpoint.sqlite import SqliteSaver
    from langgraph.store.sqlite import SqliteStore

    class TwoSpeedStore(SqliteStore):
        """LangGraph's store for SQLite, which waits for the disk except for what `QUICK` names."""

        def __init__(self, connection: sqlite3.Connection, quick: sqlite3.Connection) -> None:
            super().__init__(connection)
            self._quick = SqliteStore(quick)

        def batch(self, ops: Iterable[Op]) -> list[Result]:
            """Execute operations, by the quick connection if they are all about bodies and notes of calls."""
            given = list(ops)
            is_quick = all(isinstance(op, GetOp | PutOp) and op.namespace[:2] in QUICK for op in given)
            return self._quick.batch(given) if is_quick else super().batch(given)

    path, lock = home / FILE, partial(_thread_lock, home / "locks")
    with ExitStack() as stack:
        try:
            _private(home, path)
            _refuse_foreign(path)
            # LangGraph's `setup` fails where two processes are in it, as does the switch to a write-ahead log.
            with lock(SET_UP, BUSY_TIMEOUT_S):
                first, second = (stack.enter_context(closing(_connect(path, kind))) for kind in ("DEFERRED", None))
                quick = stack.enter_context(closing(_connect(path, None, synchronous="NORMAL")))
                saver, store = SqliteSaver(first, serde=_serializer()), TwoSpeedStore(second, quick)
                saver.setup()
                _set_up(store)
        except (OSError, sqlite3.Error) as error:
            raise PersistenceError(
                f"Threads cannot be saved in {path}: {error}. Set RESTGPT_HOME to a folder that you may write to."
            ) from None
        yield Persistence(saver, store, str(path), lock, lambda: _shrink(path))


def _set_up(store: Any) -> None:
    """Set the store up, also where a process was killed between a step of that and LangGraph's note that it is done."""
    try:
        store.setup()
    except sqlite3.OperationalError as error:
        if not str(error).startswith("duplicate column name"):
            raise
        store.conn.execute("INSERT INTO store_migrations (v) SELECT max(v) + 1 FROM store_migrations")
        _set_up(store)


def _private(home: Path, path: Path) -> None:
    """Create the folder and the file as private, because SQLite would create a file that other users can read."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    (home / "locks").mkdir(mode=0o700, exist_ok=True)
    path.touch(mode=0o600, exist_ok=True)


def _refuse_foreign(path: Path) -> None:
    """Raise `PersistenceError` for the database of another program.

    Our databases have the table `checkpoints`: it is created first, so even an unfinished database of ours has it.
    """
    with closing(sqlite3.connect(path, timeout=BUSY_TIMEOUT_S)) as connection:
        tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        columns = {name for (name,) in connection.execute("SELECT name FROM pragma_table_info('checkpoints')")}
    if tables and "checkpoint_ns" not in columns:
        raise PersistenceError(
            f"Threads cannot be saved in {path}: it is the database of another program. Set RESTGPT_HOME to another "
            "folder, or move the file away."
        )


def _connect(
    path: Path, isolation: Literal["DEFERRED"] | None, *, synchronous: Literal["FULL", "NORMAL"] = "FULL"
) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=BUSY_TIMEOUT_S, isolation_level=isolation, check_same_thread=False)
    connection.execute("PRAGMA journal_mode=WAL")
    # A journal entry must survive a power failure, so SQLite syncs its write-ahead log at each commit.
    connection.execute(f"PRAGMA synchronous={synchronous}")
    return connection


def _shrink(path: Path) -> bool:
    """Run `VACUUM`; returns False if another process uses the file or the disk has no space for a copy."""
    with closing(sqlite3.connect(path, timeout=VACUUM_TIMEOUT_S, isolation_level=None)) as connection:
        try:
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except sqlite3.OperationalError:
            return False
    return True


def _serializer() -> JsonPlusSerializer:
    """Return a serializer that creates only JSON values and messages, so a changed file cannot create other objects."""
    return JsonPlusSerializer(allowed_msgpack_modules=None)


def _thread_lock(folder: Path, thread: str, seconds: float = 0.0) -> AbstractContextManager[None]:
    """The lock of a thread; if somebody deletes its file meanwhile, the fence of the runs holds."""
    path = folder / f"{sha256(thread.encode()).hexdigest()[:32]}.lock"
    return file_lock(path, ThreadBusyError(thread), seconds=seconds)


@contextmanager
def _postgres(url: str) -> Iterator[Persistence]:
    try:
        import psycopg
        from langgraph.checkpoint.postgres import PostgresSaver
        from langgraph.store.postgres import PostgresStore
    except ImportError:
        raise SettingsError(
            "RESTGPT_DATABASE_URL is set, but the packages for PostgreSQL are not installed. Install them with "
            f"{extra_command('postgres')}, or unset the variable to save threads in a file."
        ) from None

    with ExitStack() as stack:
        try:
            saver = PostgresSaver(_postgres_connection(stack, url), serde=_serializer())
            store = PostgresStore(_postgres_connection(stack, url))
            with _pg_lock(url, SET_UP, BUSY_TIMEOUT_S):
                saver.setup()
                store.setup()
            # Not before: a wait that ends while an index is created leaves an invalid index.
            for connection in (saver.conn, store.conn):
                _limit_waiting(connection)
        except psycopg.Error as error:
            # The error's text may contain the URL with the password, so the message has only the error's class.
            raise PersistenceError(
                f"The database of RESTGPT_DATABASE_URL cannot be used ({type(error).__name__}). Check that it runs, "
                "that the URL is right and that its user may create tables."
            ) from None
        # No `shrink`: PostgreSQL's autovacuum reuses the space of deleted rows.
        yield Persistence(saver, store, "the database of RESTGPT_DATABASE_URL", partial(_pg_lock, url))


def _postgres_connection(stack: ExitStack, url: str) -> Any:
    from psycopg import connect
    from psycopg.rows import dict_row

    return stack.enter_context(closing(connect(url, autocommit=True, prepare_threshold=0, row_factory=dict_row)))


def _limit_waiting(connection: Any) -> None:
    """Bound the wait for rows that another process has written, which may be stopped in its transaction.

    A `lock_timeout` of the URL, the role or the database stays.
    """
    timeout = f"{BUSY_TIMEOUT_S:.0f}s"
    connection.execute(
        "SELECT set_config('lock_timeout', %s, false) WHERE current_setting('lock_timeout') = '0'", (timeout,)
    )


@contextmanager
def _pg_lock(url: str, thread: str, seconds: float = 0.0) -> Iterator[None]:
    """Hold a session-level advisory lock, which PostgreSQL releases when the connection ends for any reason.

    It is tried again and again for so many seconds: while a process waited in the database, no other could create an
    index.
    """
    from psycopg import connect

    number = int.from_bytes(sha256(f"restgpt {thread}".encode()).digest()[:8], "big", signed=True)
    until = time.monotonic() + seconds
    with closing(connect(url, autocommit=True)) as connection:
        while connection.execute("SELECT pg_try_advisory_lock(%s)", (number,)).fetchone() != (True,):
            if time.monotonic() >= until:
                raise ThreadBusyError(thread)
            time.sleep(PAUSE_S)
        yield


def undo_thread(thread: str) -> str:
    """Return the id of the thread that saves the undo of a thread; it has its own journal."""
    return f"{thread}/undo"


def undone_by(thread: str) -> str | None:
    """Return the thread whose undo a thread saves; None for any other thread."""
    whole = thread.removesuffix("/undo")
    return whole if undo_thread(whole) == thread else None


def undo_thread_id(thread: str) -> str:
    """Return the id of the thread that saves the undo of a thread of a LangGraph server, whose ids are UUIDs."""
    return str(uuid5(NAMESPACE_URL, f"restgpt:{undo_thread(thread)}"))


class _Checkpoints(BaseCheckpointSaver[Any]):
    """The checkpoints of a thread, the newest first, for a graph that reads states from them.

    A state has the messages and steps of checkpoints before its own. LangGraph looks for these anew for each state.
    """

    def __init__(self, saver: BaseCheckpointSaver[Any], thread: str, before: str) -> None:
        super().__init__(serde=saver.serde)
        self._saver = saver
        self._thread: RunnableConfig = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
        self._last: RunnableConfig | None = thread_config(thread, before) if before else None
        self._read: dict[str, CheckpointTuple] = {}
        self._configs: list[RunnableConfig] = []

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return a checkpoint, and read on to it if need be."""
        wanted = config["configurable"]["checkpoint_id"]
        while wanted not in self._read:
            if not self._read_on():
                # Another program made its id, by a clock that was behind.
                return self._saver.get_tuple(config)
        return self._read[wanted]

    def configs(self) -> Iterator[RunnableConfig]:
        """Yield the config of each checkpoint."""
        number = 0
        while number < len(self._configs) or self._read_on():
            yield self._configs[number]
            number += 1

    def _read_on(self) -> bool:
        page = list(self._saver.list(self._thread, before=self._last, limit=AT_ONCE))
        self._read |= {item.config["configurable"]["checkpoint_id"]: item for item in page}
        self._configs += [item.config for item in page]
        self._last = page[-1].config if page else self._last
        return bool(page)


def history_of(graph: Any, thread: str, before: str = "") -> Iterator[StateSnapshot]:
    """Yield the saved states of a thread, the newest first, from those before a checkpoint on."""
    checkpoints = _Checkpoints(graph.checkpointer, thread, before)
    reader = graph.copy({"checkpointer": checkpoints})
    for config in checkpoints.configs():
        yield reader.get_state(config)


def is_unsettled(persistence: Persistence, thread: str) -> bool:
    """Return whether the journal has a change of the thread without an outcome."""
    return any(
        entry.get("outcome") is None for journal in _journals(persistence, thread) for entry in journal.entries()
    )


def remove_thread(persistence: Persistence, thread: str) -> set[str]:
    """Delete a thread that this process has locked, and its undo thread; returns the handles of its bodies.

    Deletes the journal last: while a checkpoint can still be resumed, the journal prevents repeated changes.
    """
    handles = _handles(persistence, {"configurable": {"thread_id": thread}})
    for name in (thread, undo_thread(thread)):
        persistence.checkpointer.delete_thread(name)
    for journal in _journals(persistence, thread):
        handles |= handles_in(journal.entries())
        journal.clear()
    return handles


def remove_bodies(persistence: Persistence, handles: Collection[str]) -> None:
    """Delete those of the bodies that no checkpoint and no journal refers to."""
    if not handles:
        return
    used = _handles(persistence, None) | handles_in(journals(persistence.store))
    responses = ResponseStore(persistence.store)
    for handle in set(handles) - used:
        responses.remove(handle)


def _journals(persistence: Persistence, thread: str) -> Iterator[Journal]:
    return (Journal(persistence.store, name) for name in (thread, undo_thread(thread)))


def _handles(persistence: Persistence, config: Any) -> set[str]:
    """Return the handles of the bodies that the checkpoints of one thread, or of all threads, refer to."""
    found: set[str] = set()
    before = None
    while page := list(persistence.checkpointer.list(config, before=before, limit=AT_ONCE)):
        for kept in page:
            found |= handles_in((kept.checkpoint["channel_values"], kept.pending_writes))
        before = page[-1].config
    return found
