"""Guards that the page says within seconds that the server is away, and goes on by itself once it is back."""

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from brokenline import Line, line_to
from browser import Tab
from langgraphserver import APPROVE, Platform
from pagescript import ANSWER, CREATE, SLOW, PageScript
from playwright.sync_api import Browser, Page, expect
from uiserver import admitted

pytestmark = pytest.mark.slow

SOON_MS = 5_000
"""Three seconds, and what a busy machine needs beside."""


@pytest.fixture
def line(platform: Platform) -> Iterator[Line]:
    """A line to the server that can be broken."""
    with line_to(urlsplit(platform.url).port or 0) as made:
        yield made


@pytest.fixture
def distant(browser: Browser, line: Line, platform: Platform) -> Iterator[Tab]:
    """A tab at the end of that line, with the token."""
    opened = admitted(browser, platform, port=line.port)
    yield opened
    opened.context.close()
    known = ("Failed to load resource", "Cross-Origin-Opener-Policy header has been ignored")
    assert [text for text in opened.complaints if not any(part in text for part in known)] == []


def trouble(page: Page, text: str) -> None:
    expect(page.get_by_role("status").filter(has_text=text)).to_be_visible(timeout=SOON_MS)


def no_trouble(page: Page) -> None:
    expect(page.locator(".trouble")).to_be_empty()


def test_a_server_that_is_away_is_told_and_what_happened_meanwhile_is_read(
    distant: Tab, line: Line, platform: Platform
) -> None:
    thread = platform.new_thread()
    platform.run(thread, input={"instruction": CREATE})
    page = distant.open(f"#/thread/{thread}")
    expect(page.get_by_role("button", name="Approve", exact=True)).to_be_visible()
    line.cut()
    trouble(page, "The server cannot be reached; trying again.")
    # What is on the screen stays, and a decision that does not arrive is not lost.
    page.get_by_role("button", name="Approve", exact=True).click()
    expect(page.get_by_role("article").or_(page.get_by_role("alert"))).to_have_count(2)
    expect(page.get_by_role("alert")).to_contain_text("The server cannot be reached.")
    expect(page.get_by_role("button", name="Change the decision")).to_be_enabled()
    platform.run(thread, command=APPROVE)
    line.mend()
    no_trouble(page)
    expect(page.locator(".answer")).to_have_text("It is created.")
    expect(page.get_by_role("article")).to_have_count(0)
    assert platform.changes() == ["POST 201"]


def test_only_the_stream_breaks_and_the_run_is_followed_again(
    distant: Tab, line: Line, platform: Platform, script: PageScript
) -> None:
    with script.closed():
        page = distant.start(SLOW)
        progress = page.get_by_role("list", name="Progress")
        # The last line before the model that waits.
        expect(progress).to_contain_text("Result")
        before = progress.inner_text()
        line.cut_streams()
        trouble(page, "The connection to the run broke; trying again.")
        expect(page.get_by_text(re.compile("Working"))).to_be_visible()
        asked = line.streams
        line.mend()
        no_trouble(page)
        assert line.streams > asked
        assert progress.inner_text() == before
        # A run that ends while its stream is broken is told of, too.
        line.cut_streams()
        trouble(page, "The connection to the run broke; trying again.")
    expect(page.locator(".answer")).to_have_text(ANSWER, timeout=SOON_MS)
    expect(page.get_by_text(re.compile("Working"))).to_have_count(0)
    no_trouble(page)


def test_a_page_that_was_asleep_says_so_and_reads_again(tab: Tab, platform: Platform, script: PageScript) -> None:
    tab.page.clock.install()
    with script.closed():
        page = tab.start(SLOW)
        expect(page.get_by_role("list", name="Progress")).to_contain_text("200")
        streams = sum("/stream" in request.url for request in tab.requests)
        page.clock.fast_forward("02:00:00")
        trouble(page, "This page was asleep; it has read everything again.")
        expect(page.get_by_role("list", name="Progress")).to_contain_text("200")
        no_trouble(page)
        assert sum("/stream" in request.url for request in tab.requests) == streams + 1
    expect(page.locator(".answer")).to_have_text(ANSWER)
