"""Guards that no text of an API, a document or a model becomes an element, a script or a request on any view."""

from typing import Any

import pytest
from browser import Tab
from langgraphserver import APPROVE, Platform
from pagescript import PLANT, UNWELL
from planted import ALLOWED, MADE, PLANTED, START
from playwright.sync_api import Dialog, Locator, Page, expect

pytestmark = pytest.mark.slow


FOUND = """
([made, allowed]) => [
  ...[...document.querySelectorAll(made)].filter((at) => !at.matches(allowed)),
  ...[...document.querySelectorAll("[href], [src]")].filter((at) => !(at.href ?? at.src).startsWith(location.origin)),
].map((at) => at.outerHTML)
"""
"""The elements that could do harm and are not the page's own, and those that lead elsewhere."""


def shown_as_text(page: Page, place: Locator) -> None:
    """The text is there as it is, and nothing was made from it."""
    expect(place.filter(has_text=START).first).to_be_visible()
    assert page.evaluate(FOUND, [MADE, ALLOWED]) == []


def open_all(page: Page) -> None:
    """Open all that is folded."""
    folded = page.locator("main details:not([open]) > summary")
    while folded.count():
        folded.first.click()


def test_markup_and_script_addresses_stay_text_in_every_view(tab: Tab, platform: Platform) -> None:
    dialogs: list[Dialog] = []
    tab.page.on("dialog", lambda dialog: (dialogs.append(dialog), dialog.dismiss()))
    platform.world.state.tasks[101]["title"] = PLANTED
    thread = str(platform.client.threads.create(graph_id="restgpt", metadata={"name": PLANTED})["thread_id"])
    given: Any = {"instruction": f"{PLANT} {PLANTED}"}
    platform.run(thread, input=given)

    page = tab.open("#/inbox")
    asked = page.get_by_role("article", name="plant_project")
    shown_as_text(page, asked.locator("pre"))
    shown_as_text(page, page.get_by_role("navigation").locator(".name"))
    asked.get_by_role("button", name="Edit…").click()
    shown_as_text(page, asked.locator("label"))
    shown_as_text(page, asked.get_by_role("form").or_(asked.locator("form")))
    assert PLANTED in asked.locator("option").all_inner_texts()
    asked.get_by_role("button", name="Cancel").click()
    platform.run(thread, command=APPROVE)
    assert PLANTED in platform.projects()

    page = tab.open(f"#/thread/{thread}")
    shown_as_text(page, page.locator(".answer"))
    shown_as_text(page, page.locator(".said"))
    open_all(page)
    shown_as_text(page, page.get_by_role("list", name="Progress"))
    for view in ("Timeline", "Requests", "Program", "Fork and undo"):
        page.get_by_role("navigation", name="Views").get_by_role("link", name=view).click()
        region = page.get_by_role("region", name=view, exact=True)
        expect(region.locator("li, option").nth(1)).to_be_attached()
        open_all(page)
        if view == "Fork and undo":
            shown_as_text(page, region.get_by_role("list", name="What an undo would send"))
            region.get_by_label("This run beside").select_option(index=0)
            continue
        shown_as_text(page, region.locator("pre, code, .tree"))
    page.get_by_role("navigation", name="Views").get_by_role("link", name="Cost").click()
    expect(page.get_by_role("table").first).to_be_visible()

    tab.start(UNWELL)
    shown_as_text(page, page.get_by_role("alert"))
    assert dialogs == []
