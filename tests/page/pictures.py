"""Draws the pictures of the page in docs/pictures, light and dark: `make page-pictures`. No test collects this file."""

from typing import Any

import pytest
from browser import ROOT
from langgraphserver import APPROVE, Platform
from pagescript import COPY, CREATE, READ, THREE
from playwright.sync_api import Browser, expect
from uiserver import admitted

FOLDER = ROOT / "docs" / "pictures"
MOST_BYTES = 150_000


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_draw(browser: Browser, platform: Platform, scheme: Any) -> None:
    FOLDER.mkdir(exist_ok=True)
    given: Any = {"instruction": CREATE}
    platform.run(platform.new_thread(), input=given)
    tab = admitted(browser, platform, color_scheme=scheme)
    page = tab.start(READ)
    expect(page.locator(".answer")).to_be_visible()
    expect(page.get_by_role("navigation").get_by_text("done")).to_be_visible()
    page.get_by_label("Instruction").fill(THREE)
    page.keyboard.press("Enter")
    expect(page.get_by_role("article", name="POST create_project")).to_be_visible()
    expect(page.get_by_role("navigation").get_by_text("waiting: 3 changes")).to_be_visible()
    expect(page.get_by_text("Working")).to_have_count(0)
    page.locator(".scroller").evaluate("at => { at.scrollTop = 0; }")
    page.screenshot(path=FOLDER / f"chat-{scheme}.png")

    page.get_by_role("link", name="Inbox").click()
    thread = page.locator(".waiting").filter(has_text="create_task")
    thread.get_by_role("article", name="POST create_project").get_by_role("button", name="Approve", exact=True).click()
    task = thread.get_by_role("article", name="POST create_task")
    task.get_by_role("button", name="Edit…").click()
    expect(task.get_by_label("title required")).to_be_visible()
    page.set_viewport_size({"width": 1100, "height": 1000})
    task.evaluate("at => at.scrollIntoView({ block: 'start' })")
    page.screenshot(path=FOLDER / f"inbox-{scheme}.png")

    thread = platform.new_thread()
    given = {"instruction": COPY}
    platform.run(thread, input=given)
    platform.run(thread, command=APPROVE)
    page.set_viewport_size({"width": 1100, "height": 720})
    tab.open(f"#/thread/{thread}/timeline")
    page.get_by_role("list", name="Steps").get_by_role("listitem").nth(6).locator("summary").click()
    expect(page.get_by_role("img", name="The graph")).to_be_visible()
    page.screenshot(path=FOLDER / f"timeline-{scheme}.png")
    page.get_by_role("link", name="Requests").click()
    page.get_by_role("list", name="Requests").locator("summary").nth(1).click()
    page.get_by_role("button", name="at /items/1/id").click()
    expect(page.locator("mark").first).to_be_visible()
    page.locator("main .scroller").evaluate("at => { at.scrollTop = 0; }")
    page.screenshot(path=FOLDER / f"wire-{scheme}.png")
    tab.context.close()
    assert [path.name for path in FOLDER.glob("*.png") if path.stat().st_size > MOST_BYTES] == []
