"""Guards that of several who decide on one change exactly one does, and that the others are told at once."""

import re
from collections.abc import Iterator

import pytest
from browser import Tab, read
from langgraphserver import Platform
from pagescript import CREATE, EXACT, THREE
from playwright.sync_api import Browser, Page, Route, expect
from uiserver import admitted

pytestmark = pytest.mark.slow

AT_ONCE_MS = 5_000


@pytest.fixture
def person(browser: Browser, platform: Platform) -> Iterator[Tab]:
    """The tab of another person, in a browser of their own."""
    opened = admitted(browser, platform)
    yield opened
    opened.context.close()


def waiting(platform: Platform, instruction: str) -> str:
    thread = platform.new_thread()
    platform.run(thread, input={"instruction": instruction})
    return thread


def decide(page: Page, choice: str = "Approve") -> None:
    page.get_by_role("button", name=choice, exact=True).click()


def run_count(platform: Platform, thread: str) -> int:
    return len(platform.client.runs.list(thread))


@pytest.mark.parametrize("place", ["#/inbox", "#/thread/{}"])
def test_what_one_tab_decides_another_tab_is_told(tab: Tab, platform: Platform, place: str) -> None:
    thread = waiting(platform, CREATE)
    one, other = tab.open(place.format(thread)), tab.context.new_page()
    other.goto(f"{platform.url}/debug{place.format(thread)}")
    expect(other.get_by_role("button", name="Approve", exact=True)).to_be_visible()
    decide(one)
    expect(other.get_by_text("This was decided in another tab: POST /v1/projects approved.")).to_be_visible(
        timeout=AT_ONCE_MS
    )
    expect(other.get_by_role("article")).to_have_count(0)
    expect(one.get_by_text("You approved POST /v1/projects")).to_be_visible()
    expect(one.get_by_role("navigation").get_by_text("done")).to_be_visible()
    assert platform.changes() == ["POST 201"]
    assert run_count(platform, thread) == 2


def test_what_another_person_decides_is_told_with_the_decision(tab: Tab, person: Tab, platform: Platform) -> None:
    created, edited = waiting(platform, CREATE), waiting(platform, EXACT)
    mine, theirs = tab.open(f"#/thread/{created}"), person.open(f"#/thread/{created}")
    expect(mine.get_by_role("button", name="Approve", exact=True)).to_be_visible()
    theirs.get_by_role("button", name="Reject…").click()
    decide(theirs, "Reject")
    told = mine.get_by_text("This was decided in another place: POST /v1/projects rejected.")
    expect(told).to_be_visible(timeout=AT_ONCE_MS)
    expect(mine.get_by_role("article")).to_have_count(0)
    # An edit has other arguments than the question.
    tab.open("#/inbox")
    person.open(f"#/thread/{edited}")
    expect(mine.get_by_role("article", name="PATCH update_task")).to_be_visible()
    theirs.get_by_role("button", name="Edit…").click()
    theirs.get_by_label("hours").fill("3")
    decide(theirs, "Use the edit")
    expect(mine.get_by_text("This was decided in another place: PATCH /v1/tasks/101 edited.")).to_be_visible()
    assert platform.changes() == ["PATCH 200"]


def test_of_two_who_click_at_the_same_moment_one_decides(tab: Tab, person: Tab, platform: Platform) -> None:
    thread = waiting(platform, CREATE)
    held: list[Route] = []
    pages = [tab.open(f"#/thread/{thread}"), person.open("#/inbox")]
    for page in pages:
        expect(page.get_by_role("button", name="Approve", exact=True)).to_be_visible()
        # What a page reads before it sends is held until both have clicked, so both find the question open.
        page.route("**/runs", lambda route: held.append(route))
    for page in pages:
        decide(page)
    while len(held) < 2:
        pages[0].wait_for_timeout(20)
    for route in held:
        route.continue_()
    told = [page.get_by_text("This was decided in another place: POST /v1/projects approved.") for page in pages]
    mine = [page.get_by_text("You approved POST /v1/projects") for page in pages]
    # In the thread stands what was decided, whoever did; the inbox tells only what this page did.
    winner = 1 if mine[1].or_(told[1]).first.inner_text(timeout=AT_ONCE_MS).startswith("You") else 0
    expect(mine[winner]).to_be_visible()
    expect(told[1 - winner]).to_be_visible(timeout=AT_ONCE_MS)
    for page in pages:
        expect(page.get_by_role("article")).to_have_count(0)
        expect(page.get_by_role("navigation").get_by_text("done")).to_be_visible()
    assert platform.changes() == ["POST 201"]
    assert run_count(platform, thread) == 2


def test_a_click_on_a_question_that_is_decided_sends_nothing(tab: Tab, platform: Platform) -> None:
    thread = waiting(platform, THREE)
    page = tab.open("#/inbox")
    expect(page.get_by_role("article")).to_have_count(3)
    for article in page.get_by_role("article").all():
        read(article)
        article.get_by_role("button", name="Approve", exact=True).click()
    # The list of this tab is old: it does not come any more.
    page.route("**/threads/search", lambda route: route.abort())
    rejected = [{"type": "reject", "message": "No."}] * 2
    platform.run(thread, command={"resume": {"decisions": [{"type": "approve"}, *rejected]}})
    decide(page, "Send the decisions")
    told = "POST /v1/projects approved, POST /v1/projects/1/tasks rejected, PATCH /v1/tasks/101 rejected."
    expect(page.get_by_text(re.compile(f"decided in another place: {told}"))).to_be_visible()
    expect(page.get_by_role("article")).to_have_count(0)
    assert platform.changes() == ["POST 201"]
    assert run_count(platform, thread) == 2
