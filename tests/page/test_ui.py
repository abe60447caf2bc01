"""Guards the door of `restgpt ui` in a real browser: the address works until the end, its token is in no log."""

from pathlib import Path

import pytest
from browser import Tab, new_tab
from chatserver import ChatServer
from pagescript import PageScript
from playwright.sync_api import Browser, expect
from uiserver import started

from restgpt.commands.ui.web import REFUSED

pytestmark = pytest.mark.slow


def test_the_address_opens_the_page_in_any_browser_and_its_other_tabs_need_none(
    browser: Browser, script: PageScript, tmp_path: Path
) -> None:
    with ChatServer(script) as chat, started(tmp_path, chat.url) as (_, address, log):
        url, _, token = address.partition("/debug#/token/")
        for _ in range(2):
            tab = new_tab(browser, url)
            tab.page.goto(address)
            expect(tab.page.get_by_text("No threads yet.")).to_be_visible()
            assert token not in tab.page.url
            assert token not in str([request.url for request in tab.requests])
            assert token not in tab.page.evaluate(
                "JSON.stringify([document.cookie, {...localStorage}, {...sessionStorage}])"
            )
            tab.page.reload()
            expect(tab.page.get_by_text("No threads yet.")).to_be_visible()
            another = Tab(url, tab.context, tab.context.new_page()).open("#/inbox")
            expect(another.get_by_text("No change waits")).to_be_visible()
            expect(another.get_by_role("alert")).to_have_count(0)
            tab.context.close()
        # A browser that has not opened the address sees the page, and nothing of the user's.
        foreign = new_tab(browser, url)
        foreign.page.goto(f"{url}/debug#/inbox")
        expect(foreign.page.get_by_role("alert")).to_have_text(REFUSED)
        expect(foreign.page.get_by_role("navigation")).to_have_count(0)
        # It goes on by itself where another tab opens it.
        opening = foreign.context.new_page()
        opening.goto(address)
        foreign.page.bring_to_front()
        expect(foreign.page.get_by_text("No change waits")).to_be_visible()
        foreign.context.close()
        assert log.read_text().count(token) == 1
