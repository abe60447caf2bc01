"""Guards the list of threads in a real browser: what it says, search, titles, deletion, and settings of a run."""

from typing import Any

import pytest
from browser import Tab, axe_findings
from langgraphserver import Platform
from pagescript import CREATE, READ, THREE, UNABLE
from playwright.sync_api import Locator, Page, expect

pytestmark = pytest.mark.slow


def ran(platform: Platform, instruction: str) -> str:
    thread = platform.new_thread()
    given: Any = {"instruction": instruction}
    platform.run(thread, input=given)
    return thread


def listed(page: Page) -> Locator:
    return page.get_by_role("navigation", name="Threads").get_by_role("listitem")


def test_each_thread_has_words_state_time_and_apis_and_is_found_by_them(tab: Tab, platform: Platform) -> None:
    for instruction in (READ, UNABLE, THREE):
        ran(platform, instruction)
    page = tab.open()
    expect(listed(page)).to_have_count(3)
    for place, (instruction, state) in enumerate(
        ((THREE, "waiting: 3 changes"), (UNABLE, "not fulfilled"), (READ, "done"))
    ):
        expect(listed(page).nth(place)).to_contain_text(instruction)
        expect(listed(page).nth(place)).to_contain_text(state)
        expect(listed(page).nth(place)).to_contain_text("board · planted")
    search = page.get_by_label("Search the threads")
    search.fill("FENCE planted")
    expect(listed(page)).to_have_count(1)
    expect(listed(page)).to_contain_text(UNABLE)
    search.fill("nowhere")
    expect(page.get_by_text("No thread has these words.")).to_be_visible()
    search.fill("")
    expect(listed(page)).to_have_count(3)


def test_a_thread_gets_another_title_and_is_deleted_only_after_a_yes(tab: Tab, platform: Platform) -> None:
    thread = ran(platform, READ)
    page = tab.open(f"#/thread/{thread}")
    page.once("dialog", lambda dialog: dialog.accept("The garden"))
    page.get_by_role("button", name="Rename…").click()
    expect(listed(page)).to_contain_text("The garden")
    page.reload()
    expect(listed(page)).to_contain_text("The garden")
    page.once("dialog", lambda dialog: dialog.dismiss())
    page.get_by_role("button", name="Delete…").click()
    expect(listed(page)).to_have_count(1)
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Delete…").click()
    expect(page.get_by_text("No threads yet.")).to_be_visible()
    assert platform.client.threads.search(limit=10) == []


def test_a_narrow_screen_has_a_menu(tab: Tab, platform: Platform) -> None:
    thread = ran(platform, THREE)
    tab.page.set_viewport_size({"width": 390, "height": 800})
    page = tab.open(f"#/thread/{thread}")
    menu = page.get_by_role("button", name="Menu")
    expect(menu).to_have_attribute("aria-expanded", "false")
    expect(listed(page)).to_have_count(0)
    expect(page.get_by_role("button", name="Delete…")).to_be_in_viewport(ratio=1)
    menu.click()
    expect(listed(page)).to_be_visible()
    assert axe_findings(page) == []
    page.get_by_role("link", name="New instruction").click()
    expect(page.get_by_role("heading", name="What should be done?")).to_be_visible()
    expect(menu).to_have_attribute("aria-expanded", "false")


def test_the_next_run_has_the_settings_that_were_chosen_where_one_asks(tab: Tab, platform: Platform) -> None:
    page = tab.open()
    page.locator("summary").filter(has_text="openai:scripted · board, planted").click()
    page.get_by_label("Its changes").select_option(label="only show changes")
    page.get_by_label("board", exact=True).check()
    assert axe_findings(page) == []
    page.get_by_label("Instruction").fill(CREATE)
    page.keyboard.press("Enter")
    expect(page.locator(".answer")).to_contain_text("Dry run: nothing was changed.")
    expect(listed(page)).to_contain_text("done · dry run")
    expect(listed(page)).not_to_contain_text("planted")
    assert platform.changes() == []
    [run] = platform.client.threads.search(limit=10)
    assert (run["metadata"]["apis"], run["metadata"]["is_dry"]) == (["board"], True)
