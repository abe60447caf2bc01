"""Where threads live between runs: one SQLite file, or PostgreSQL, and one run at a time on each thread."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.store.base import BaseStore

from restgpt.tools.errors import SettingsError, StoppingError
from restgpt.tools.settings import Settings

FILE = "restgpt.db"

PATIENCE_S = 30.0
"""How long one process waits for another's write to the SQLite file, in seconds."""

SHRINK_PATIENCE_S = 1.0
"""How long the shrinking of the SQLite file waits for another process, in seconds; it can be done any time."""

Locker = Callable[[str], AbstractContextManager[None]]


class PersistenceError(StoppingError):
    """The threads cannot be kept or read; the message names the place and the remedy."""


class ThreadBusyError(StoppingError):
    """Another process is working on the thread."""

    def __init__(self, thread: str) -> None:
        super().__init__(
            f"Thread {thread} is in use by another process. Wait until it is done, or end it; what it has done so far "
            "is kept."
        )
        self.thread = thread


@dataclass(frozen=True, slots=True)
class Persistence:
    """An open home of threads: `checkpointer` and `store` are what `build_graph` takes, `place` is for messages."""

    checkpointer: BaseCheckpointSaver[Any]
    store: BaseStore
    place: str
    lock: Locker
    """`with lock(thread):` holds a thread for this process alone; raises `ThreadBusyError` if another has it."""
    shrink: Callable[[], bool] = lambda: True
    """Give the room of what was removed back to the system; whether that was possible just now."""

    def is_busy(self, thread: str) -> bool:
        """Whether a process is working on the thread right now."""
        try:
            with self.lock(thread):
                return False
        except ThreadBusyError:
            return True


@contextmanager
def open_persistence(settings: Settings) -> Iterator[Persistence]:
    """Open PostgreSQL if `settings.database_url` is set, else `restgpt.db` in `settings.home`.

    Folder and file are for their owner only. Raises `PersistenceError`, `SettingsError` without PostgreSQL's packages.
    """
    url = settings.database_url
    with _postgres(url.reveal()) if url is not None else _sqlite(settings.home) as opened:
        yield opened


@contextmanager
def _sqlite(home: Path) -> Iterator[Persistence]:
    from langgraph.checkpoint.sqlite import SqliteSaver
    from langgraph.store.sqlite import SqliteStore

    path = home / FILE
    with ExitStack() as stack:
        try:
            _private(home, path)
            _refuse_foreign(path)
            saver = SqliteSaver(stack.enter_context(closing(_connect(path, "DEFERRED"))), serde=_serializer())
            store = SqliteStore(stack.enter_context(closing(_connect(path, None))))
            saver.setup()
            store.setup()
        except (OSError, sqlite3.Error) as error:
            raise PersistenceError(
                f"Threads cannot be kept in {path}: {error}. Set RESTGPT_HOME to a folder that you may write to."
            ) from None
        yield Persistence(
            saver, store, str(path), lambda thread: _file_lock(home / "locks", thread), lambda: _shrink(path)
        )


def _private(home: Path, path: Path) -> None:
    """Make folder and file before SQLite does, since it would let others read them."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    (home / "locks").mkdir(mode=0o700, exist_ok=True)
    path.touch(mode=0o600, exist_ok=True)


def _refuse_foreign(path: Path) -> None:
    """Leave a database as it is that another program made; raises `PersistenceError`.

    The table looked for is the first that is made, so that a file whose making was cut short is not foreign.
    """
    with closing(sqlite3.connect(path, timeout=PATIENCE_S)) as connection:
        tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        columns = {name for (name,) in connection.execute("SELECT name FROM pragma_table_info('checkpoints')")}
    if tables and "checkpoint_ns" not in columns:
        raise PersistenceError(
            f"Threads cannot be kept in {path}: it is the database of another program. Set RESTGPT_HOME to another "
            "folder, or move the file away."
        )


def _connect(path: Path, isolation: Literal["DEFERRED"] | None) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=PATIENCE_S, isolation_level=isolation, check_same_thread=False)
    connection.execute("PRAGMA journal_mode=WAL")
    # A write of the journal must outlive a power cut, so the log is synced at each commit.
    connection.execute("PRAGMA synchronous=FULL")
    return connection


def _shrink(path: Path) -> bool:
    """Write the file anew without its gaps, unless another process is writing or the disk has no room for a copy."""
    with closing(sqlite3.connect(path, timeout=SHRINK_PATIENCE_S, isolation_level=None)) as connection:
        try:
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except sqlite3.OperationalError:
            return False
    return True


def _serializer() -> JsonPlusSerializer:
    """The state is plain JSON and messages, so nothing else is ever made from what the file says."""
    return JsonPlusSerializer(allowed_msgpack_modules=None)


@contextmanager
def _file_lock(folder: Path, thread: str) -> Iterator[None]:
    """Hold an advisory lock that the system frees when the process ends, however it ends."""
    import fcntl

    path = folder / f"{sha256(thread.encode()).hexdigest()[:32]}.lock"
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ThreadBusyError(thread) from None
        yield


@contextmanager
def _postgres(url: str) -> Iterator[Persistence]:
    try:
        import psycopg
        from langgraph.checkpoint.postgres import PostgresSaver
        from langgraph.store.postgres import PostgresStore
    except ImportError:
        raise SettingsError(
            "RESTGPT_DATABASE_URL is set, but the packages for PostgreSQL are not installed. Install them with "
            "pip install 'restgpt[postgres]', or unset the variable to keep threads in a file."
        ) from None
    with ExitStack() as stack:
        try:
            saver = PostgresSaver(_postgres_connection(stack, url), serde=_serializer())
            store = PostgresStore(_postgres_connection(stack, url))
            saver.setup()
            store.setup()
        except psycopg.Error as error:
            # Its text can hold the URL with the password, so only the kind of the error is told.
            raise PersistenceError(
                f"The database of RESTGPT_DATABASE_URL cannot be used ({type(error).__name__}). Check that it runs, "
                "that the URL is right and that its user may create tables."
            ) from None
        # Nothing to shrink: the server's autovacuum makes room for new rows out of removed ones.
        yield Persistence(saver, store, "the database of RESTGPT_DATABASE_URL", lambda thread: _row_lock(url, thread))


def _postgres_connection(stack: ExitStack, url: str) -> Any:
    from psycopg import connect
    from psycopg.rows import dict_row

    return stack.enter_context(closing(connect(url, autocommit=True, prepare_threshold=0, row_factory=dict_row)))


@contextmanager
def _row_lock(url: str, thread: str) -> Iterator[None]:
    """Hold an advisory lock of the session, which the server frees when the connection ends, however it ends."""
    from psycopg import connect

    number = int.from_bytes(sha256(f"restgpt {thread}".encode()).digest()[:8], "big", signed=True)
    with closing(connect(url, autocommit=True)) as connection:
        row = connection.execute("SELECT pg_try_advisory_lock(%s)", (number,)).fetchone()
        if not row or not row[0]:
            raise ThreadBusyError(thread)
        yield
