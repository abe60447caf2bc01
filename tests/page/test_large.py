"""Guards that a large thread opens without a pause: what is drawn and fetched is bounded, and the pauses are told."""

from collections.abc import Callable
from typing import Any

import pytest
from browser import Tab
from langgraphserver import APPROVE, Platform
from pagescript import BIG, CHANGES, MANY
from playwright.sync_api import Page, Response, expect

pytestmark = pytest.mark.slow

STEPS = 120
BYTES = 33_000_000
"""Nearly the 32 MiB that are read of an answer."""
MOST_NODES = 1_000
MOST_FETCHED = 100_000
WATCH = """
  window.pauses = [];
  new PerformanceObserver((list) => window.pauses.push(...list.getEntries().map((entry) => entry.duration)))
    .observe({ type: "longtask", buffered: true });
"""
VIEWS = {
    "chat": "They have 32999994 characters.",
    "timeline": f"{2 * (7 + 2 * CHANGES) + 7} steps; the run is over.",
    "wire": f"{2 * CHANGES + 1} requests",
    "program": "Program 1 of task 1 in turn 3",
    "cost": "By step",
    "steer": "This run beside",
}
"""For each view, a text that is there once everything is read."""


@pytest.fixture
def thread(platform: Platform) -> str:
    """A thread of more than 120 steps, whose last answer is huge."""
    made = platform.new_thread()
    for _ in range(2):
        ended = platform.run(made, input={"instruction": MANY})
        while "__interrupt__" in ended:
            ended = platform.run(made, command=APPROVE)
    platform.world.state.tasks[101]["notes"] = "pay the rent; and " * (BYTES // 18)
    platform.run(made, input={"instruction": BIG})
    assert platform.client.threads.get_state(made)["metadata"]["step"] > STEPS
    return made


def longest(page: Page) -> int:
    """The longest time in milliseconds that the page did not react."""
    return int(page.evaluate("Math.round(Math.max(0, ...window.pauses.splice(0)))"))


def test_a_thread_of_120_steps_with_a_huge_answer_opens_in_every_view(
    tab: Tab, platform: Platform, thread: str, record_property: Callable[[str, Any], None]
) -> None:
    tab.page.add_init_script(WATCH)
    page = tab.open()
    for view, text in VIEWS.items():
        page = tab.open(f"#/thread/{thread}/{view}")
        page.reload()
        expect(page.get_by_text(text).first).to_be_visible()
        assert page.evaluate("document.querySelectorAll('*').length") < MOST_NODES, view
        record_property(f"longest pause of the {view} of {STEPS} steps", f"{longest(page)} ms")

    fetched: list[Response] = []
    page.on("response", lambda answer: "/debug/wire/body" in answer.url and fetched.append(answer))
    page = tab.open(f"#/thread/{thread}/wire")
    last = page.get_by_role("list", name="Requests").locator("> li").last
    last.locator("summary").first.click()
    body = last.get_by_label("Body of the answer of get_task")
    expect(body).to_contain_text("some are shortened")
    body.get_by_label("JSON pointer of the value to read").fill("/notes")
    page.keyboard.press("Enter")
    expect(body).to_contain_text("of 32,999,994")
    body.get_by_role("button", name="Next").click()
    expect(body.get_by_role("button", name="Previous")).to_be_enabled()
    assert len(fetched) >= 3
    assert sum(len(answer.body()) for answer in fetched) < MOST_FETCHED
    assert page.evaluate("document.querySelectorAll('*').length") < MOST_NODES
    record_property(f"longest pause with an answer of {BYTES:,} bytes", f"{longest(page)} ms")
    # Older turns and calls are drawn when they are asked for.
    assert page.get_by_role("list", name="Requests").locator("> li").count() == 50
    page.get_by_role("button", name=f"Show more requests; {2 * CHANGES + 1 - 50} are left").click()
    expect(page.get_by_role("list", name="Requests").locator("> li")).to_have_count(2 * CHANGES + 1)
    page.get_by_role("link", name="Timeline").click()
    expect(page.get_by_role("list", name="Steps of turn 3")).to_be_visible()
    expect(page.get_by_role("list", name="Steps of turn 1")).to_have_count(0)
    page.locator("summary").filter(has_text="Turn 1").click()
    first = page.get_by_role("list", name="Steps of turn 1")
    expect(first.get_by_role("listitem")).to_have_count(50)
    page.get_by_role("button", name="Show more steps").click()
    expect(first.locator("strong").first).to_have_text("input")
