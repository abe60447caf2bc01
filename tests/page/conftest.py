"""Fixtures of the tests of the page: `restgpt ui` over the toy board, and a real browser."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from browser import Tab, executable, running_browser
from chatserver import ChatServer
from pagescript import READ, PageScript
from planted import planted_document
from playwright.sync_api import Browser
from uiserver import UiPlatform, admitted, running_ui

from restgpt.specs.reading.download import bundled_document
from restgpt_bench.worlds import CREDENTIAL, open_world
from restgpt_bench.worlds.server import serve


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Tell what the tests have measured, which no test asserts."""
    for report in terminalreporter.stats.get("passed", []):
        for name, value in report.user_properties if report.when == "call" else ():
            terminalreporter.write_line(f"{name}: {value}")


@pytest.fixture(scope="session")
def script() -> PageScript:
    made = PageScript()
    made.gate.set()
    return made


@contextmanager
def on_the_board(folder: Path, script: PageScript, open_server: Callable[[str], Any]) -> Iterator[Any]:
    """Open a server over a toy board and the scripted model, whose address it is given."""
    executable()
    with serve(open_world("toy")) as world, ChatServer(script) as chat:
        document = bundled_document("toy")
        auth = f"{{key: {CREDENTIAL}}}"
        (folder / "planted.yaml").write_text(planted_document(document))
        apis = {"board": document, "planted": folder / "planted.yaml"}
        lines = [f"{name}: {{spec: {spec}, base_url: {world.url}, auth: {auth}}}" for name, spec in apis.items()]
        (folder / "apis.yaml").write_text("\n".join(lines))
        with open_server(chat.url) as platform:
            platform.world = world.world
            # The first run of a server opens documents and models, which no test should wait for.
            platform.run(platform.new_thread(), input={"instruction": READ})
            yield platform


@pytest.fixture(scope="session")
def ui(tmp_path_factory: pytest.TempPathFactory, script: PageScript) -> Iterator[UiPlatform]:
    """A running `restgpt ui`."""
    folder = tmp_path_factory.mktemp("ui")
    with on_the_board(folder, script, lambda url: running_ui(folder, url)) as platform:
        yield platform


@pytest.fixture
def platform(ui: UiPlatform) -> UiPlatform:
    """The server over a world as it was at the start, without threads."""
    ui.world.reset()
    ui.clear()
    return ui


# A browser that is open for the whole session would leave its event loop to tests of other files.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running_browser() as opened:
        yield opened


@pytest.fixture
def tab(browser: Browser, platform: UiPlatform) -> Iterator[Tab]:
    """A tab that, at the end of the test, has asked no other server for anything, and broken no policy."""
    opened = admitted(browser, platform)
    yield opened
    opened.context.close()
    assert opened.foreign == []
    assert [text for text in opened.complaints if "Failed to load resource" not in text] == []
