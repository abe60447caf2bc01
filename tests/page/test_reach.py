"""Guards that every view works by keyboard, on a narrow screen and with a screen reader, also while a run goes on."""

from typing import Any

import pytest
from browser import Tab, axe_findings
from langgraphserver import APPROVE, Platform
from pagescript import COPY, SLOW, PageScript
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.slow

NARROW: Any = {"width": 400, "height": 800}
VIEWS = {
    "Timeline": ("listitem", "planner"),
    "Requests": ("listitem", "/v1/tasks"),
    "Program": ("listitem", "find_tasks"),
    "Cost": ("row", "planner"),
    "Fork and undo": ("region", "Fork"),
}
"""For each view, the role of a part of it, and a text in that part."""


def tab_to(page: Page, name: str) -> None:
    """Press Tab until the element with this text or label has the focus."""
    for _ in range(60):
        page.keyboard.press("Tab")
        label = page.evaluate("(at => at.ariaLabel || at.innerText || '')(document.activeElement)")
        if label.strip().startswith(name):
            return
    raise AssertionError(f"Tab does not reach {name}.")


def too_wide(page: Page) -> list[str]:
    """The elements that stick out of the screen to the right, other than within something that scrolls."""
    found: list[str] = page.evaluate(
        """() => [...document.querySelectorAll("body *")].filter((at) => {
          const scrolls = (node) => node && (["auto", "scroll"].includes(getComputedStyle(node).overflowX)
            && node.scrollWidth > node.clientWidth && node.matches("pre, nav") || scrolls(node.parentElement));
          return at.getBoundingClientRect().right > innerWidth + 1 && !scrolls(at);
        }).map((at) => at.outerHTML.slice(0, 120))"""
    )
    return found


def test_every_view_fits_400_pixels_and_is_reached_by_keyboard(tab: Tab, platform: Platform) -> None:
    thread = platform.new_thread()
    platform.run(thread, input={"instruction": COPY})
    platform.run(thread, command=APPROVE)
    tab.page.set_viewport_size(NARROW)
    page = tab.open(f"#/thread/{thread}")
    expect(page.locator(".answer")).to_be_visible()
    for name, (role, text) in VIEWS.items():
        page.locator("body").evaluate("() => document.activeElement.blur()")
        tab_to(page, name)
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name=name, exact=True)).to_be_visible()
        view = page.get_by_role("region", name=name, exact=True)
        wanted: Any = role
        expect(view.get_by_role(wanted).filter(has_text=text).first).to_be_visible()
        expect(page.get_by_role("link", name=name)).to_have_attribute("aria-current", "page")
        # What is folded is reached and opened by keyboard, too.
        if folded := view.locator("details > summary").first.all():
            tab_to(page, folded[0].inner_text().strip()[:8])
            page.keyboard.press("Enter")
            expect(view.locator("details[open]").first).to_be_visible()
        assert too_wide(page) == [], name
        assert axe_findings(page) == [], name


def test_the_focus_stays_in_every_view_while_a_run_goes_on(tab: Tab, script: PageScript) -> None:
    with script.closed():
        page = tab.start(SLOW)
        expect(page.get_by_role("list", name="Progress")).to_contain_text("200")
        page.get_by_role("link", name="Requests").click()
        focused = page.get_by_role("list", name="Requests").locator("summary").first
        focused.press("Enter")
        expect(page.get_by_label("Body of the answer of find_tasks")).to_contain_text("total")
    expect(page.get_by_role("navigation", name="Threads").get_by_text("done")).to_be_visible()
    expect(focused).to_be_focused()
    expect(page.get_by_label("Body of the answer of find_tasks")).to_be_visible()
