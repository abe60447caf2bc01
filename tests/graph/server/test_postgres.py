"""Guards threads in PostgreSQL: a real server saves and locks them for one process; no message has its password."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from board import CALLS, Board
from roles import by_role, end, missing, one_task, plan, select
from scripted import ScriptedModel

from lab.kills.postgres import NoPostgresError, postgres_server
from lab.kit.errand import DONE, ErrandModel, board_errand
from restgpt.calling.journal import Journal
from restgpt.calling.shapes import NAMESPACE
from restgpt.commands.terminal import explain
from restgpt.graph.build import build_graph
from restgpt.graph.persistence import PersistenceError, ThreadBusyError, open_persistence, remove_bodies, remove_thread
from restgpt.nodes.run.services import Context, Services
from restgpt.tools.settings import Secret, Settings
from restgpt_functions.graph import build_functions_graph

psycopg = pytest.importorskip("psycopg", reason="PostgreSQL's packages are not installed")

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    try:
        with postgres_server() as served:
            yield served
    except NoPostgresError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def settings(url: str, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    return Settings(home=tmp_path_factory.mktemp("home"), database_url=Secret(url))


def test_a_run_paused_in_one_process_goes_on_in_another(settings: Settings, board: Board) -> None:
    from langgraph.types import Command

    config = {"configurable": {"thread_id": "a.b/c"}}
    given: object = {"instruction": board_errand().instruction}
    for _ in range(5):
        with open_persistence(settings) as kept:
            services = Services(
                [board.api], model=ErrandModel.over(board_errand()), settings=settings, defaults=Context(**CALLS)
            )
            graph = build_graph(services=services, checkpointer=kept.checkpointer, store=kept.store)
            result = graph.invoke(given, config, context={"code": False}, durability="sync")  # type: ignore[arg-type]
            given = Command(resume="approve")
            if "__interrupt__" not in result:
                break
    assert result["answer"] == DONE
    with open_persistence(settings) as kept:
        assert len(Journal(kept.store, "a.b/c").entries()) == 4


def test_no_statement_waits_for_ever(url: str) -> None:
    with open_persistence(Settings(database_url=Secret(url))) as kept:
        for opened in (kept.checkpointer, kept.store):
            assert opened.conn.execute("SHOW lock_timeout").fetchone() == {"lock_timeout": "30s"}  # type: ignore[attr-defined]


def test_a_write_gives_up_on_a_process_that_was_stopped_in_a_transaction(url: str) -> None:
    impatient = Settings(database_url=Secret(f"{url}?options=-clock_timeout%3D200ms"))
    with open_persistence(impatient) as kept:
        kept.store.put(("a",), "key", {"value": 1})
        with psycopg.connect(url) as stopped:
            stopped.execute("UPDATE store SET key = key")
            with pytest.raises(psycopg.errors.LockNotAvailable) as caught:
                kept.store.put(("a",), "key", {"value": 2})
        assert "no process of RestGPT is stopped" in explain(caught.value)[0]
        kept.store.put(("a",), "key", {"value": 3})
        (found,) = kept.store.search(("a",))
        assert found.value == {"value": 3}


@pytest.mark.parametrize("odd", ["\0", "\ud83d"], ids=["null", "half a surrogate pair"])
def test_a_character_that_postgresql_refuses_stops_no_run(settings: Settings, board: Board, odd: str) -> None:
    planner, caller = [plan(f"Do nothing{odd}"), end("Nothing \0 was done.")], [missing(f"the project{odd}")] * 2
    script = one_task(planner=planner, selector=[select("get_project")] * 2, caller=caller)
    with open_persistence(settings) as kept:
        agent = board.agent(by_role(script), **kept.saved)
        agent.thread = f"odd {ord(odd)}"
        assert agent.ask(f"Do{odd} nothing")["answer"] == "Nothing \ufffd was done."


@pytest.mark.parametrize("odd", ["\0", "\ud83d"], ids=["null", "half a surrogate pair"])
@pytest.mark.parametrize("kind", ["refusal", "question"])
def test_a_character_that_postgresql_refuses_stops_no_function_call(settings: Settings, kind: str, odd: str) -> None:
    functions = [{"name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}]
    model = ScriptedModel([{"thought": "", "calls": [], kind: f"Where{odd}?"}])
    with open_persistence(settings) as kept:
        graph = build_functions_graph(
            functions, model=model, checkpointer=kept.checkpointer, context={"on_missing": "return"}
        )
        config = {"configurable": {"thread_id": f"{kind} {ord(odd)}"}}
        done = graph.invoke({"prompt": f"Weather{odd}"}, config)  # type: ignore[arg-type]
    assert done["answer"] == "Where\ufffd?"


def test_a_thread_is_removed_with_its_journal_and_its_bodies(settings: Settings, board: Board) -> None:
    with open_persistence(settings) as kept:
        found = kept.store.search(("restgpt",), limit=10_000)
        before = [item for item in found if item.namespace != NAMESPACE]
        services = Services(
            [board.api], model=ErrandModel.over(board_errand()), settings=settings, defaults=Context(**CALLS)
        )
        graph = build_graph(services=services, checkpointer=kept.checkpointer, store=kept.store)
        config = {"configurable": {"thread_id": "gone"}}
        context = {"code": False, "writes": "allow"}
        graph.invoke({"instruction": board_errand().instruction}, config, context=context)  # type: ignore[arg-type]
        assert len(kept.store.search(("restgpt",), limit=10_000)) > len(found)
        remove_bodies(kept, remove_thread(kept, "gone"))
        assert kept.checkpointer.get_tuple(config) is None  # type: ignore[arg-type]
        left = kept.store.search(("restgpt",), limit=10_000)
        # Learned shapes belong to a document, not to a thread.
        assert [item for item in left if item.namespace != NAMESPACE] == before
        assert kept.shrink()


def test_a_thread_is_held_by_one_connection_at_a_time(settings: Settings) -> None:
    with open_persistence(settings) as one, open_persistence(settings) as other, one.lock("t"):
        with pytest.raises(ThreadBusyError, match="in use by another process"), other.lock("t"):
            pass
        assert not other.is_busy("another")
    with open_persistence(settings) as other:
        assert not other.is_busy("t")


def test_a_journal_goes_past_what_one_read_gives(settings: Settings) -> None:
    with open_persistence(settings) as kept:
        journal = Journal(kept.store, "long")
        for number in range(1010):
            journal.intend(f"r{number}", "abc", {})
        assert len(journal.entries()) == 1010


def test_a_clock_that_is_set_back_does_not_change_the_order_of_changes(settings: Settings) -> None:
    with open_persistence(settings) as kept:
        Journal(kept.store, "clock", clock=lambda: 1_790_000_000.25).intend("r2", "abc", {})
        Journal(kept.store, "clock", clock=lambda: 1_789_996_400.0).intend("r1", "abc", {})
        ids = [entry["id"] for entry in Journal(kept.store, "clock").entries()]
    assert ids == ["r2-abc", "r1-abc"]


def test_a_server_that_is_gone_is_told_without_its_password(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, database_url=Secret("postgresql://user:planted@127.0.0.1:1/x"))
    with pytest.raises(PersistenceError) as caught, open_persistence(settings):
        pass
    assert "planted" not in str(caught.value)
