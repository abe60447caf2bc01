"""Guards the size of checkpoints: they contain no response bodies, even large ones."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from board import CALLS
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.store.sqlite import SqliteStore
from loopback import Handler, served
from roles import by_role, call, end, plan, select

from restgpt.graph.build import build_graph
from restgpt.specs import load_api

DOCUMENT = {
    "openapi": "3.1.0",
    "info": {"title": "Archive", "version": "1"},
    "paths": {
        "/records": {
            "get": {
                "operationId": "list_records",
                "summary": "List all records",
                "responses": {"200": {"description": "All of them.", "content": {"application/json": {"schema": {}}}}},
            }
        }
    },
}
RECORDS = [{"id": number, "text": f"record {number} " * 40} for number in range(10_000)]
BODY = json.dumps({"records": RECORDS}).encode()


@contextmanager
def archive() -> Iterator[str]:
    """Serve an API with one response of five megabytes; yields its base URL."""

    class Large(Handler):
        def do_GET(self) -> None:
            self.answer(BODY)

    with served(Large) as url:
        yield url


def stored(path: Path, tables: tuple[str, ...]) -> int:
    """Return the total size of the values in some tables, in bytes."""
    with closing(sqlite3.connect(path)) as database:
        total = 0
        for table in tables:
            columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
            lengths = " + ".join(f'COALESCE(LENGTH(CAST("{column}" AS BLOB)), 0)' for column in columns)
            total += database.execute(f"SELECT COALESCE(SUM({lengths}), 0) FROM {table}").fetchone()[0]
        return int(total)


def test_a_response_of_five_megabytes_leaves_a_small_checkpoint(tmp_path: Path) -> None:
    assert len(BODY) > 5_000_000
    model = by_role(
        {
            "planner": [plan("Count the records"), end("There are 10000 records.")],
            "selector": [select("list_records")],
            "caller": [call({})],
            "parser": ["print(len(data['records']), 'records')"],
        }
    )
    path = tmp_path / "threads.db"
    with (
        archive() as url,
        SqliteSaver.from_conn_string(str(path)) as saver,
        SqliteStore.from_conn_string(str(path)) as store,
    ):
        store.setup()
        graph = build_graph(
            [load_api(DOCUMENT, base_url=url)], model=model, context=CALLS, checkpointer=saver, store=store
        )
        config = {"configurable": {"thread_id": "1"}}
        done = graph.invoke({"instruction": "How many records are there?"}, config)  # type: ignore[arg-type]
        [step] = graph.get_state(config).values["steps"]  # type: ignore[arg-type]
    assert done["answer"] == "There are 10000 records."
    assert "10000 records" in step["result"]
    assert stored(path, ("store",)) > 5_000_000
    assert 0 < stored(path, ("checkpoints", "writes")) < 200_000
