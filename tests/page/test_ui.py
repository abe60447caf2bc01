"""Guards the door of `restgpt ui` in a real browser: the address works once, and its token is in no log."""

import re
from pathlib import Path

import pytest
from browser import Tab, new_tab
from chatserver import ChatServer
from pagescript import PageScript
from playwright.sync_api import Browser, expect
from uiserver import started

from restgpt.commands.ui.web import REFUSED

pytestmark = pytest.mark.slow


def test_the_address_opens_the_page_once_and_its_other_tabs_need_none(
    browser: Browser, script: PageScript, tmp_path: Path
) -> None:
    with ChatServer(script) as chat, started(tmp_path, chat.url) as (_, address, log):
        url, _, once = address.partition("/debug#/once/")
        tab = new_tab(browser, url)
        tab.page.goto(address)
        expect(tab.page.get_by_text("No threads yet.")).to_be_visible()
        assert once not in tab.page.url
        assert once not in str([request.url for request in tab.requests])
        tab.page.reload()
        expect(tab.page.get_by_text("No threads yet.")).to_be_visible()
        another = Tab(url, tab.context, tab.context.new_page()).open("#/inbox")
        expect(another.get_by_text("No change waits")).to_be_visible()
        expect(another.get_by_role("alert")).to_have_count(0)
        tab.context.close()
        # Who finds the address later, in a history or a list of processes, gets nothing.
        late = new_tab(browser, url)
        late.page.goto(address)
        expect(late.page.get_by_role("alert")).to_have_text(REFUSED)
        assert late.page.get_by_label("Token").count() == 0
        late.context.close()
        assert re.findall("once/", log.read_text()) == ["once/"]
