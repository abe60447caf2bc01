"""Guards the chat of the page in a real browser: progress, answer, reload, stop and going on, errors."""

import re
from typing import Any

import pytest
from browser import Tab
from langgraphserver import APPROVE, Platform
from pagescript import ANSWER, BROKEN, CREATE, READ, REPAIR, SLOW, PageScript
from playwright.sync_api import expect

pytestmark = pytest.mark.slow

WORKING = re.compile("Working")


def test_an_instruction_shows_its_requests_and_its_answer(tab: Tab) -> None:
    page = tab.start(READ)
    expect(page.get_by_text("There are 24 tasks.", exact=True).last).to_be_visible()
    progress = page.get_by_role("list", name="Progress")
    expect(progress).to_contain_text("/v1/tasks")
    expect(progress).to_contain_text("200")
    expect(page.get_by_role("button", name="Stop")).to_have_count(0)
    listed = page.get_by_role("navigation").get_by_role("link", name=READ)
    expect(listed).to_contain_text("done")
    expect(page.locator(".cost")).to_contain_text("1 model call · 15 tokens · 1 request")
    # The next instruction continues the conversation.
    page.get_by_label("Instruction").fill(READ)
    page.keyboard.press("Enter")
    expect(page.locator(".turn")).to_have_count(2)
    expect(page.locator(".answer")).to_have_count(2)


def test_a_reload_in_the_middle_of_a_run_loses_nothing(tab: Tab, script: PageScript) -> None:
    with script.closed():
        page = tab.start(SLOW)
        progress = page.get_by_role("list", name="Progress")
        expect(progress.get_by_role("listitem")).to_have_count(5)
        before = progress.inner_text()
        page.reload()
        expect(progress.get_by_role("listitem")).to_have_count(5)
        assert progress.inner_text() == before
        expect(page.get_by_text(WORKING)).to_be_visible()
    expect(page.locator(".answer")).to_have_text(ANSWER)
    page.reload()
    expect(page.locator(".answer")).to_have_text(ANSWER)
    expect(page.get_by_role("list", name="Progress")).to_contain_text("200")


def test_a_run_is_stopped_and_goes_on_where_it_was(tab: Tab, platform: Platform, script: PageScript) -> None:
    with script.closed():
        page = tab.start(SLOW)
        expect(page.get_by_role("list", name="Progress")).to_contain_text("200")
        page.get_by_role("button", name="Stop").click()
        if platform.stops_at_once:
            expect(page.get_by_role("button", name="Go on")).to_be_visible()
        else:
            expect(page.get_by_role("button", name="Stop")).to_be_disabled()
    expect(page.get_by_role("button", name="Go on")).to_be_visible()
    expect(page.get_by_role("navigation").get_by_text("stopped")).to_be_visible()
    expect(page.get_by_text(WORKING)).to_have_count(0)
    page.get_by_role("button", name="Go on").click()
    expect(page.locator(".answer")).to_have_text(ANSWER)


def test_an_error_is_worded_as_the_product_words_it(tab: Tab) -> None:
    page = tab.start(BROKEN)
    told = page.get_by_role("alert").filter(has_text="The model refused the request")
    expect(told).to_contain_text("Error code: 400 - The model is out of order.")
    expect(page.get_by_role("navigation").get_by_text("failed")).to_be_visible()
    page.reload()
    expect(told).to_be_visible()


def test_an_open_thread_follows_what_another_client_does_in_it(tab: Tab, platform: Platform) -> None:
    thread = platform.new_thread()
    given: Any = {"instruction": CREATE}
    platform.run(thread, input=given)
    page = tab.open(f"#/thread/{thread}")
    expect(page.get_by_role("button", name="Approve", exact=True)).to_be_visible()
    platform.run(thread, command=APPROVE)
    expect(page.locator(".answer")).to_have_text("It is created.")
    expect(page.get_by_role("button", name="Approve", exact=True)).to_have_count(0)


def test_a_thread_that_is_opened_later_says_what_was_called_and_which_program_failed(
    tab: Tab, platform: Platform
) -> None:
    thread = platform.new_thread()
    platform.run(thread, input={"instruction": REPAIR})
    platform.run(thread, command=APPROVE)
    page = tab.open(f"#/thread/{thread}")
    progress = page.get_by_role("list", name="Progress").last
    expect(progress).to_contain_text("The program failed")
    expect(progress).to_contain_text(re.compile(r"POST\s*http://\S+/projects"))
    expect(progress).to_contain_text(re.compile(r"201 · \d+ ms"))
