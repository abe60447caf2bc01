"""Guards the database of threads: private, durable, one run at a time on a thread, clear errors if it fails to open."""

import operator
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from threading import Barrier, Thread
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt
from typing_extensions import TypedDict

from lab.kills.postgres import NoPostgresError, postgres_server
from restgpt.graph.persistence import Persistence, PersistenceError, ThreadBusyError, open_persistence
from restgpt.tools.errors import SettingsError
from restgpt.tools.settings import Secret, Settings


class Log(TypedDict):
    """The state of a small graph."""

    lines: Annotated[list[str], operator.add]
    messages: Annotated[list[AnyMessage], operator.add]


def small_graph(persistence: Persistence):
    builder = StateGraph(Log)
    builder.add_node("first", lambda state: {"lines": ["first"], "messages": [AIMessage("hello")]})
    builder.add_node("second", lambda state: {"lines": [interrupt("go on?")]})
    builder.add_edge(START, "first")
    builder.add_edge("first", "second")
    builder.add_edge("second", END)
    return builder.compile(checkpointer=persistence.checkpointer, store=persistence.store)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def opened(home: Path) -> Iterator[Persistence]:
    with open_persistence(Settings(home=home)) as persistence:
        yield persistence


def test_a_paused_thread_goes_on_after_reopening(home: Path) -> None:
    config = {"configurable": {"thread_id": "one"}}
    with open_persistence(Settings(home=home)) as persistence:
        small_graph(persistence).invoke({"lines": []}, config, durability="sync")
        persistence.store.put(("restgpt", "threads"), "one", {"instruction": "x"}, index=False)
    with open_persistence(Settings(home=home)) as persistence:
        result = small_graph(persistence).invoke(Command(resume="yes"), config, durability="sync")
        assert result["lines"] == ["first", "yes"]
        assert result["messages"][0].text == "hello"
        item = persistence.store.get(("restgpt", "threads"), "one")
        assert item is not None
        assert item.value == {"instruction": "x"}


def opened_together(settings: Settings) -> list[int]:
    """What eight openings of a database find in it that begin at once."""
    gate = Barrier(8)

    def opening(number: int) -> int:
        gate.wait()
        with open_persistence(settings) as persistence:
            persistence.store.put(("a",), str(number), {})
            return len(persistence.store.search(("a",), limit=9))

    with ThreadPoolExecutor(8) as threads:
        return list(threads.map(opening, range(8)))


def test_commands_that_begin_together_set_a_new_database_up_once(home: Path) -> None:
    for number in range(5):
        assert max(opened_together(Settings(home=home / str(number)))) == 8


@pytest.mark.slow
@pytest.mark.skipif(find_spec("psycopg") is None, reason="PostgreSQL's packages are not installed")
def test_servers_that_begin_together_set_postgresql_up_once() -> None:
    try:
        with postgres_server() as url:
            assert max(opened_together(Settings(database_url=Secret(url)))) == 8
    except NoPostgresError as error:
        pytest.skip(str(error))


def test_folder_and_file_are_for_their_owner_only(home: Path, opened: Persistence) -> None:
    opened.store.put(("a",), "b", {})
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    for path in home.glob("restgpt.db*"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path.name


def test_threads_and_values_share_one_file_in_wal_mode(home: Path, opened: Persistence) -> None:
    connection = sqlite3.connect(home / "restgpt.db")
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    assert {"checkpoints", "writes", "store"} <= tables
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()


def test_all_but_bodies_and_notes_of_calls_waits_for_the_disk(opened: Persistence) -> None:
    waiting: Any = opened.store
    assert waiting.conn.execute("PRAGMA synchronous").fetchone() == (2,)
    quick = [("bodies",), ("earlier", "x", "calls")]
    for namespace in [*quick, ("journal", "x"), ("threads",)]:
        before = waiting.conn.total_changes
        opened.store.put(("restgpt", *namespace), "key", {"a": 1})
        assert (waiting.conn.total_changes > before) == (namespace not in quick)
        found = opened.store.get(("restgpt", *namespace), "key")
        assert found is not None
        assert [item.key for item in opened.store.search(("restgpt", *namespace))] == ["key"]


@pytest.mark.slow
def test_a_thread_is_held_by_one_process_at_a_time(home: Path, opened: Persistence) -> None:
    script = (
        "import sys\nfrom pathlib import Path\n"
        "from restgpt.graph.persistence import open_persistence\nfrom restgpt.tools.settings import Settings\n"
        f"with open_persistence(Settings(home=Path({str(home)!r}))) as persistence, persistence.lock('one'):\n"
        "    print('held', flush=True)\n    sys.stdin.readline()\n"
    )
    holder = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(ThreadBusyError, match="Thread one is in use by another process"), opened.lock("one"):
        pass
    assert opened.is_busy("one")
    assert not opened.is_busy("two")
    holder.kill()
    holder.wait()
    holder.stdout.close()
    with opened.lock("one"):
        assert opened.is_busy("one")
    assert not opened.is_busy("one")


def test_a_process_that_starts_while_a_thread_is_held_does_not_hold_it_longer(home: Path, opened: Persistence) -> None:
    # Between fork and exec a new process has copies of all open files; this one keeps its copies.
    waiting = ["sh", "-c", "read line"]
    with opened.lock("one"):
        [held] = [
            int(link.name) for link in Path("/proc/self/fd").iterdir() if home / "locks" in link.resolve().parents
        ]
        child = subprocess.Popen(waiting, stdin=subprocess.PIPE, pass_fds=[held])
    assert not opened.is_busy("one")
    child.communicate()


def test_two_connections_can_write_at_once(home: Path, opened: Persistence) -> None:
    def write(name: str) -> None:
        with open_persistence(Settings(home=home)) as persistence:
            graph = small_graph(persistence)
            for number in range(10):
                graph.invoke({"lines": []}, {"configurable": {"thread_id": f"{name}{number}"}}, durability="sync")
                persistence.store.put(("restgpt", name), str(number), {"number": number})

    writers = [Thread(target=write, args=(name,)) for name in ("a", "b")]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [len(opened.store.search(("restgpt", name), limit=100)) for name in ("a", "b")] == [10, 10]


def test_a_folder_that_cannot_be_made_is_named_with_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with (
        pytest.raises(PersistenceError, match=r"file/home.*RESTGPT_HOME"),
        open_persistence(Settings(home=tmp_path / "file" / "home")),
    ):
        pass


def test_a_file_that_is_no_database_is_named(home: Path) -> None:
    home.mkdir()
    (home / "restgpt.db").write_text("this is not a database, but it is long enough to be read as one" * 40)
    with pytest.raises(PersistenceError, match=r"restgpt\.db.*not a database"), open_persistence(Settings(home=home)):
        pass


@pytest.mark.parametrize("table", ["bookmarks (url)", "checkpoints (id, weights)", "store (key, value)"])
def test_a_database_of_another_program_is_left_as_it_is(home: Path, table: str) -> None:
    home.mkdir()
    path = home / "restgpt.db"
    with closing(sqlite3.connect(path)) as foreign:
        foreign.execute(f"CREATE TABLE {table}")
        foreign.commit()
    before = path.read_bytes()
    with (
        pytest.raises(PersistenceError, match=r"restgpt\.db.*another program.*RESTGPT_HOME"),
        open_persistence(Settings(home=home)),
    ):
        pass
    assert path.read_bytes() == before
    assert not list(home.glob("restgpt.db-*"))


def test_a_database_whose_making_was_cut_short_is_completed(home: Path) -> None:
    with open_persistence(Settings(home=home)):
        pass
    with closing(sqlite3.connect(home / "restgpt.db")) as half:
        for (table,) in half.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            if table != "checkpoints":
                half.execute(f"DROP TABLE {table}")
    with open_persistence(Settings(home=home)) as persistence:
        persistence.store.put(("a",), "b", {"c": 1})


@pytest.mark.parametrize("noted", range(-1, 5))
def test_a_database_whose_making_was_killed_after_any_step_is_completed(home: Path, noted: int) -> None:
    with open_persistence(Settings(home=home)):
        pass
    with closing(sqlite3.connect(home / "restgpt.db")) as connection, connection:
        connection.execute("DELETE FROM store_migrations WHERE v > ?", (noted,))
    for _ in range(2):
        with open_persistence(Settings(home=home)) as persistence:
            persistence.store.put(("a",), "b", {"c": 1})
            assert persistence.store.get(("a",), "b") is not None


@pytest.mark.skipif(find_spec("psycopg") is not None, reason="PostgreSQL's packages are installed")
def test_postgresql_without_its_packages_says_what_to_install(home: Path) -> None:
    settings = Settings(home=home, database_url=Secret("postgresql://user:pass@127.0.0.1:1/x"))
    with pytest.raises(SettingsError, match=r"restgpt\[postgres\]") as caught, open_persistence(settings):
        pass
    assert "pass@" not in str(caught.value)


@pytest.mark.skipif(find_spec("psycopg") is None, reason="PostgreSQL's packages are not installed")
def test_a_database_that_is_not_there_is_told_without_its_password(home: Path) -> None:
    settings = Settings(home=home, database_url=Secret("postgresql://user:hidden@127.0.0.1:1/x"))
    with pytest.raises(PersistenceError, match="RESTGPT_DATABASE_URL") as caught, open_persistence(settings):
        pass
    assert "hidden" not in str(caught.value)
