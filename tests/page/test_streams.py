"""Guards that many tabs share the six connections that a browser has to one server."""

from typing import Any

import pytest
from browser import Tab
from langgraphserver import Platform
from pagescript import ANSWER, SLOW, PageScript
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.slow

TABS = 8


def open_tab(tab: Tab, thread: str) -> Page:
    page = tab.context.new_page()
    page.goto(f"{tab.url}/debug#/thread/{thread}")
    return page


def streams(tab: Tab) -> list[Page]:
    """The pages that have asked for a stream."""
    return [request.frame.page for request in tab.requests if "/stream" in request.url]


def started(platform: Platform) -> str:
    thread = platform.new_thread()
    given: Any = {"messages": [{"type": "human", "content": SLOW}]}
    platform.client.runs.create(thread, "restgpt", input=given, stream_mode=["custom", "values"], stream_resumable=True)
    return thread


def test_eight_tabs_of_a_run_share_one_stream_and_a_ninth_still_loads(
    tab: Tab, platform: Platform, script: PageScript
) -> None:
    with script.closed():
        thread = started(platform)
        pages = [open_tab(tab, thread) for _ in range(TABS)]
        for page in pages:
            expect(page.get_by_role("list", name="Progress")).to_contain_text("200")
        [leader] = streams(tab)
        ninth = tab.open()
        expect(ninth.get_by_role("navigation").get_by_text("running")).to_be_visible()
        # Another tab takes over.
        leader.close()
        pages.remove(leader)
        late = open_tab(tab, thread)
        expect(late.get_by_role("list", name="Progress")).to_contain_text("200")
        assert len(streams(tab)) == 2
    for page in [*pages, late]:
        expect(page.locator(".answer")).to_have_text(ANSWER)
        # Nothing is shown twice.
        expect(page.get_by_role("list", name="Progress").get_by_role("listitem").filter(has_text="200")).to_have_count(
            1
        )
    assert len(streams(tab)) == 2


def test_seven_runs_in_seven_tabs_leave_room_for_another_tab(tab: Tab, platform: Platform, script: PageScript) -> None:
    with script.closed():
        pages = [open_tab(tab, started(platform)) for _ in range(7)]
        for page in pages:
            expect(page.get_by_role("button", name="Stop")).to_be_visible()
        another = tab.open()
        expect(another.get_by_role("navigation").get_by_text("running").first).to_be_visible()
        assert 0 < len(set(streams(tab))) <= 3
    for page in pages:
        expect(page.locator(".answer")).to_have_text(ANSWER)
