"""Guards that the page says how an instruction ended, what was decided, and every request that the cost counts."""

import re

import pytest
from browser import Tab
from langgraphserver import APPROVE, Platform
from pagescript import ASTRAY, COPY, READ, UNABLE, UNFIT
from playwright.sync_api import Route, expect

pytestmark = pytest.mark.slow


def test_the_list_says_which_instruction_was_not_carried_out(tab: Tab, platform: Platform) -> None:
    for instruction in (READ, UNABLE, ASTRAY):
        thread = platform.new_thread()
        platform.run(thread, input={"instruction": instruction})
        if instruction == ASTRAY:
            platform.run(thread, command=APPROVE)
    assert platform.changes() == ["PATCH 422"]
    page = tab.open()
    listed = page.get_by_role("navigation", name="Threads").get_by_role("listitem")
    for instruction, state in ((READ, "done"), (UNABLE, "not fulfilled"), (ASTRAY, "not fulfilled")):
        expect(listed.filter(has_text=instruction).locator(".state")).to_have_text(state)


def test_a_call_that_was_refused_is_marked_at_its_line(tab: Tab, platform: Platform) -> None:
    thread = platform.new_thread()
    platform.run(thread, input={"instruction": UNFIT})
    page = tab.open(f"#/thread/{thread}/program")
    line = page.get_by_role("region", name="Program 1 of task 1").locator("ol.code > li").nth(1)
    expect(line).to_contain_text("update_task")
    expect(line.locator(".badge")).to_have_text("failed here")


def test_json_folds_and_is_there_raw_and_requests_beside_the_calls_are_told(tab: Tab, platform: Platform) -> None:
    thread = platform.new_thread()
    platform.run(thread, input={"instruction": COPY})
    platform.run(thread, command=APPROVE)
    page = tab.open(f"#/thread/{thread}/wire")
    expect(
        page.get_by_text(
            "The cost counts 4 requests: the others read further pages, looked at what a change would change"
        )
    ).to_be_visible()
    changed = page.get_by_role("list", name="Requests").locator("> li").last
    changed.locator("summary").first.click()
    body = changed.get_by_label("Piece of the answer")
    expect(body.locator(".parts > div").first).to_have_text('"id": 102')
    body.locator("summary").click()
    expect(body.get_by_text('"id"')).to_have_count(0)
    changed.get_by_role("button", name="Raw").last.click()
    expect(body).to_contain_text(re.compile(r'^\{"id": ?102,'))


def test_what_a_run_asks_is_shown_though_it_ended_while_its_thread_was_read(tab: Tab, platform: Platform) -> None:
    """The thread is still busy when the page reads it, and its run is over when the page asks for that."""
    thread = platform.new_thread()
    platform.run(thread, input={"instruction": COPY})
    # The page reads it when it is opened, and when the list of threads has come.
    busy = [True, True]

    def answer(route: Route) -> None:
        found = route.fetch()
        route.fulfill(response=found, json={**found.json(), **({"status": "busy"} if busy and busy.pop() else {})})

    tab.page.route(f"**/threads/{thread}", answer)
    expect(tab.open(f"#/thread/{thread}").get_by_role("button", name="Approve", exact=True)).to_be_visible()
    assert not busy
    # The page asks for its thread again and again; no answer may be on its way when the tab is closed.
    tab.page.unroute_all(behavior="wait")
