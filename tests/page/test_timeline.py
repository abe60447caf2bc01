"""Guards the timeline of the page in a real browser: steps, what they changed, and the graph with the road taken."""

import re
from typing import Any

import pytest
from browser import Tab
from langgraphserver import APPROVE, Platform
from pagescript import ANSWER, CREATE, READ, SLOW, PageScript
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.slow


def open_view(page: Page, name: str) -> None:
    page.get_by_role("navigation", name="Views").get_by_role("link", name=name).click()


def road(page: Page) -> dict[str, int]:
    """How often the picture says that each edge was taken, without those that were not."""
    paths = page.locator("path[data-edge]").all()
    counted = {str(path.get_attribute("data-edge")): int(path.get_attribute("data-count") or 0) for path in paths}
    return {edge: count for edge, count in counted.items() if count}


def test_the_steps_tell_role_time_tokens_and_what_they_did(tab: Tab) -> None:
    page = tab.start(READ)
    expect(page.locator(".answer")).to_be_visible()
    open_view(page, "Timeline")
    expect(page.get_by_role("status").filter(has_text="the run is over")).to_be_visible()
    steps = page.get_by_role("list", name="Steps").get_by_role("listitem")
    roles = [str(step.locator("strong").inner_text()) for step in steps.all()]
    passed = ["planner", "selector", "caller", "parser", "planner"]
    assert roles == ["input", "intake", *passed]
    caller = steps.nth(4)
    expect(caller).to_contain_text("15 tokens")
    expect(caller.locator(".facts")).to_have_text(re.compile(r"^\d\d:\d\d:\d\d · \d+\.\d\d s · 15 tokens$"))
    expect(steps.locator(".changed")).to_have_text(
        [
            f"was told: {READ}",
            "began the turn",
            f"set the sub-task: {READ}",
            "chose 12 functions",
            "wrote a program of 1 line",
            "GET /v1/tasks → 200, 10 in items",
            "the program ended",
            "answered: There are 24 tasks.",
        ]
    )
    expect(steps.nth(5)).to_contain_text("1 request")
    caller.locator("summary").click()
    expect(caller).to_contain_text("/api_plan/reason")
    expect(caller).to_contain_text("/program")
    expect(caller).to_contain_text("find_tasks()['total']")
    expect(caller).not_to_contain_text("/usage/")
    steps.nth(3).locator("summary").click()
    expect(steps.nth(3)).to_contain_text("All functions fit the prompt.")


def test_the_graph_shows_the_road_taken(tab: Tab, platform: Platform) -> None:
    thread = platform.new_thread()
    platform.run(thread, input={"instruction": CREATE})
    page = tab.open(f"#/thread/{thread}/timeline")
    expect(page.get_by_role("status")).to_contain_text("parser waits for a person")
    expect(page.locator("[data-node=parser]")).to_have_class("node work")
    platform.run(thread, command=APPROVE)
    expect(page.get_by_role("status")).to_contain_text("the run is over")
    expect(page.locator(".node.work")).to_have_count(0)
    taken = ["__start__ intake", "intake planner", "planner selector", "selector caller", "caller parser"]
    expected = dict.fromkeys([*taken, "parser planner", "planner __end__"], 1)
    assert road(page) == {**expected, "parser parser": 2}
    picture = page.get_by_role("img", name="The graph")
    expect(picture).to_have_accessible_name(
        re.compile("intake, planner, selector, caller, parser, parser, parser, planner")
    )


def test_the_timeline_tells_what_was_asked_and_what_a_person_decided(tab: Tab, platform: Platform) -> None:
    thread = platform.new_thread()
    platform.run(thread, input={"instruction": CREATE})
    reason: Any = {"resume": {"decisions": [{"type": "reject", "message": "Not on the roof."}]}}
    platform.run(thread, command=reason)
    page = tab.open(f"#/thread/{thread}/timeline")
    told = page.get_by_role("list", name="Steps").locator(".changed")
    expect(told.filter(has_text="asks a person about POST /v1/projects")).to_have_count(1)
    expect(told.filter(has_text="You rejected POST /v1/projects: Not on the roof.")).to_have_count(1)


def test_the_node_at_work_is_marked_and_the_focus_stays_while_steps_come(tab: Tab, script: PageScript) -> None:
    with script.closed():
        page = tab.start(SLOW)
        expect(page.get_by_role("list", name="Progress")).to_contain_text("200")
        open_view(page, "Timeline")
        expect(page.locator("[data-node=caller]")).to_have_class("node work")
        expect(page.get_by_role("status").filter(has_text="caller is at work")).to_be_visible()
        opened = page.get_by_role("list", name="Steps").get_by_role("listitem").nth(2)
        opened.locator("summary").focus()
        page.keyboard.press("Enter")
        expect(opened).to_contain_text("/decision/kind")
    expect(page.get_by_role("status").filter(has_text="the run is over")).to_be_visible()
    expect(opened.locator("summary")).to_be_focused()
    expect(opened).to_contain_text("/decision/kind")
    open_view(page, "Chat")
    expect(page.locator(".answer")).to_have_text(ANSWER)
