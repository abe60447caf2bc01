"""A real browser for tests of the page: Debian's headless Chromium, driven by Playwright, which downloads nothing."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, Request, expect, sync_playwright

ROOT = Path(__file__).parents[2]
AXE = ROOT / "page" / "node_modules" / "axe-core" / "axe.min.js"
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
INSTALL = "apt-get install chromium-headless-shell"
PATIENCE_MS = 30_000
SERIOUS = ("serious", "critical")

expect.set_options(timeout=PATIENCE_MS)


def executable() -> str:
    """The path of the browser; skips the test, with the command that installs one, where there is none."""
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip(f"no browser is installed; on Debian: {INSTALL}")
    if not AXE.is_file():
        pytest.skip("the packages of the page are not installed: make page")
    return found


@contextmanager
def running_browser() -> Iterator[Browser]:
    """Run the browser until the context is left."""
    path = executable()
    with sync_playwright() as playwright:
        # Chromium's own sandbox needs a user namespace, which containers and root do not have.
        options = ["--no-sandbox", "--no-proxy-server", "--host-resolver-rules=MAP *.test 127.0.0.1"]
        browser = playwright.chromium.launch(executable_path=path, args=options)
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class Tab:
    """A tab of the browser, and all that it asked for and complained about."""

    url: str
    context: BrowserContext
    page: Page
    requests: list[Request] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    @property
    def foreign(self) -> list[str]:
        """The requests to another origin than the server's."""
        own = urlsplit(self.url).netloc
        return [request.url for request in self.requests if urlsplit(request.url).netloc != own]

    def open(self, place: str = "") -> Page:
        """Open the page at a place, such as `#/inbox`."""
        self.page.goto(f"{self.url}/debug{place}")
        return self.page

    def start(self, instruction: str) -> Page:
        """Open the page and send an instruction in a new thread."""
        page = self.open()
        page.get_by_label("Instruction").fill(instruction)
        page.get_by_role("button", name="Send", exact=True).click()
        return page


def new_tab(browser: Browser, url: str, **options: Any) -> Tab:
    """Open a tab in a context of its own, in which requests and complaints are recorded."""
    context = browser.new_context(viewport={"width": 1100, "height": 800}, **options)
    context.set_default_timeout(PATIENCE_MS)
    tab = Tab(url, context, context.new_page())
    context.on("request", lambda request: tab.requests.append(request))
    tab.page.on("pageerror", lambda error: tab.complaints.append(str(error)))
    tab.page.on("console", lambda message: message.type == "error" and tab.complaints.append(message.text[:500]))
    return tab


def read(question: Locator) -> None:
    """Scroll to the end of a change that waits, as who approves it has to."""
    question.locator(".end").evaluate("at => at.scrollIntoView({ block: 'center' })")


def axe_findings(page: Page) -> list[str]:
    """What axe-core finds serious in the page as it is, in light and in dark."""
    source = AXE.read_text(encoding="utf-8")
    serious = []
    schemes: tuple[Any, ...] = ("light", "dark")
    for scheme in schemes:
        page.emulate_media(color_scheme=scheme)
        page.evaluate(source)
        found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
        serious += [item for item in found["violations"] if item["impact"] in SERIOUS]
    return [f"{item['id']}: {item['nodes'][0]['html'][:200]}" for item in serious]
