"""Guards the programs of the page in a real browser: code with each call beside its line, its state and its answer."""

import pytest
from browser import Tab
from langgraphserver import APPROVE, Platform
from pagescript import COPY, REPAIR, THREE
from playwright.sync_api import Locator, Page, expect

pytestmark = pytest.mark.slow

DECIDED = {"resume": {"decisions": [{"type": "approve"}, {"type": "reject", "message": "No."}, {"type": "approve"}]}}


def line(page: Page, program: str, number: int) -> Locator:
    """A line of a program, with the calls beside it."""
    return page.get_by_role("region", name=program).locator("ol.code > li").nth(number - 1)


def test_each_call_stands_beside_its_line_with_its_state_and_the_shape_of_its_answer(
    tab: Tab, platform: Platform
) -> None:
    thread = platform.new_thread()
    platform.run(thread, input={"instruction": COPY})
    page = tab.open(f"#/thread/{thread}/program")
    name = "Program 1 of task 1 in turn 1"
    read, change = line(page, name, 1), line(page, name, 2)
    expect(read).to_contain_text('task = find_tasks()["items"][1]')
    expect(read.locator(".badge")).to_have_text("sent")
    expect(read.locator(".shape")).to_contain_text("total: int")
    expect(change.locator(".badge")).to_have_text("waiting")
    expect(line(page, name, 3).locator(".badge")).to_have_count(0)
    platform.run(thread, command=APPROVE)
    expect(change.locator(".badge")).to_have_text("sent")
    expect(change.locator(".shape")).to_contain_text("hours: int = 13")
    change.get_by_role("button", name="update_task").click()
    expect(page.get_by_label("Body of the answer of update_task")).to_be_focused()


def test_a_refused_call_says_why(tab: Tab, platform: Platform) -> None:
    thread = platform.new_thread()
    platform.run(thread, input={"instruction": THREE})
    platform.run(thread, command=DECIDED)
    page = tab.open(f"#/thread/{thread}/program")
    name = "Program 1 of task 1 in turn 1"
    expect(line(page, name, 2).locator(".badge")).to_have_text("sent")
    expect(line(page, name, 3).locator(".badge")).to_have_text("refused")
    expect(line(page, name, 3)).to_contain_text("The user rejected it. No.")


def test_a_corrected_program_shows_the_change_that_it_did_not_make_again(tab: Tab, platform: Platform) -> None:
    thread = platform.new_thread()
    platform.run(thread, input={"instruction": REPAIR})
    platform.run(thread, command=APPROVE)
    assert platform.changes() == ["POST 201"]
    page = tab.open(f"#/thread/{thread}/program")
    expect(page.get_by_role("region", name="Program 1 of task 1")).to_contain_text("ZeroDivisionError")
    expect(line(page, "Program 1 of task 1", 1).locator(".badge")).to_have_text("sent")
    expect(line(page, "Program 2 of task 1", 1).locator(".badge")).to_have_text("replayed")
    expect(line(page, "Program 2 of task 1", 2)).to_contain_text('made["id"]')
