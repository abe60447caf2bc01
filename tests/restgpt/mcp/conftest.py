"""Fixtures of the MCP tests: servers on one home folder."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from cli import TOY, Cli

from recipes import recipe
from restgpt.commands.serving import open_server
from restgpt.recipes.book import RecipeBook
from restgpt.sources import Sources
from restgpt.specs import load_api
from restgpt.tools.settings import Settings
from restgpt.tools.settings.environment import AllowedFolders
from restgpt_bench.worlds import CREDENTIAL
from restgpt_bench.worlds.server import WorldServer

Opener = Callable[..., AbstractContextManager[Any]]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def opened(toy: WorldServer, home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Opener:
    """Open a server of the toy API in this process; a second one on the same home is the first one, restarted."""
    monkeypatch.chdir(tmp_path)
    AllowedFolders(home).allow(tmp_path)
    monkeypatch.setenv("RESTGPT_AUTH_KEY", CREDENTIAL)

    def start(options: Mapping[str, Any] = {}, **chosen: Any) -> AbstractContextManager[Any]:
        return open_server(Settings.from_env(), Sources((), (TOY,), toy.url), options, **chosen)

    return start


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, home: Path) -> Cli:
    monkeypatch.setenv("RESTGPT_AUTH_KEY", CREDENTIAL)
    return Cli(home=home)


@pytest.fixture
def recipes(tmp_path: Path, toy: WorldServer, monkeypatch: pytest.MonkeyPatch) -> RecipeBook:
    """A folder with one recipe, which adds a task."""
    monkeypatch.setenv("RESTGPT_RECIPES", str(tmp_path / "recipes"))
    book = RecipeBook(tmp_path / "recipes")
    book.save(recipe(load_api(TOY, base_url=toy.url)))
    return book
