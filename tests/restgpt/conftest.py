"""Fixtures of the package's tests: served toy APIs, a scripted model server, and a runner of commands."""

import logging
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from board import Board, served_board
from chatserver import ChatServer, script_by_role
from cli import Cli
from pair import Pair, served_pair
from wire.echo import EchoServer

from restgpt.tools.settings.environment import AllowedFolders
from restgpt_bench.worlds import CREDENTIAL, open_world
from restgpt_bench.worlds.server import WorldServer, serve


@pytest.fixture
def toy() -> Iterator[WorldServer]:
    with serve(open_world("toy")) as server:
        yield server


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
def cli(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Cli]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RESTGPT_AUTH_KEY", CREDENTIAL)
    AllowedFolders(tmp_path / "home").allow(tmp_path)
    yield Cli(home=tmp_path / "home")
    logger = logging.getLogger("restgpt")
    logger.handlers.clear()
    logger.setLevel(logging.NOTSET)


@pytest.fixture(scope="session")
def chat() -> Iterator[ChatServer]:
    with ChatServer([]) as server:
        yield server


@pytest.fixture
def model(chat: ChatServer, monkeypatch: pytest.MonkeyPatch) -> Callable[[Mapping[str, Any]], ChatServer]:
    """Script the model server by role, and set the environment variables that name it."""

    def start(script: Mapping[str, Any]) -> ChatServer:
        chat.use(script_by_role(script))
        monkeypatch.setenv("OPENAI_BASE_URL", chat.url)
        monkeypatch.setenv("RESTGPT_MODEL", "openai:scripted")
        return chat

    return start


@pytest.fixture
def write(chat: ChatServer, monkeypatch: pytest.MonkeyPatch) -> Callable[..., ChatServer]:
    """Script the model server with replies of the planner, in order."""

    def start(*replies: Any) -> ChatServer:
        chat.use(replies)
        monkeypatch.setenv("OPENAI_BASE_URL", chat.url)
        monkeypatch.setenv("RESTGPT_MODEL", "openai:scripted")
        return chat

    return start
