"""Fixtures of the tests of calls."""

from collections.abc import Iterator

import pytest
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite import SqliteStore


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest) -> Iterator[BaseStore]:
    """An empty store of each kind."""
    if request.param == "memory":
        yield InMemoryStore()
        return
    with SqliteStore.from_conn_string(":memory:") as opened:
        opened.setup()
        yield opened
