"""Fixtures of the graph's tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from board import Board, served_board
from boardscript import board_script
from chatserver import ChatServer
from langgraphserver import Platform, running_server
from pair import Pair, served_pair
from wire.echo import EchoServer

from restgpt.graph.persistence import Persistence, open_persistence
from restgpt.specs.reading.download import bundled_document
from restgpt.tools.settings import Settings
from restgpt_bench.worlds import CREDENTIAL, open_world
from restgpt_bench.worlds.server import serve


@pytest.fixture
def board() -> Iterator[Board]:
    with served_board() as served:
        yield served


@pytest.fixture
def pair() -> Iterator[Pair]:
    with served_pair() as served:
        yield served


@pytest.fixture
def echo() -> Iterator[EchoServer]:
    with EchoServer() as server:
        yield server


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Persistence]:
    with open_persistence(Settings(home=tmp_path)) as opened:
        yield opened


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """A LangGraph server over the toy board, for all tests of a worker that use it."""
    folder = tmp_path_factory.mktemp("server")
    with serve(open_world("toy")) as world, ChatServer(board_script) as chat:
        document = bundled_document("toy")
        auth = f"{{key: {CREDENTIAL}}}"
        (folder / "apis.yaml").write_text(f"board: {{spec: {document}, base_url: {world.url}, auth: {auth}}}\n")
        with running_server(folder, chat.url) as platform:
            platform.world = world.world
            yield platform


@pytest.fixture
def platform(running: Platform) -> Platform:
    """The running server over a world as it was at the start."""
    running.world.reset()
    return running
