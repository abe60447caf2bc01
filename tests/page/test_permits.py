"""Guards the permissions of the page in a real browser: permitted is what was shown, and it can be taken back."""

import pytest
from browser import Tab, axe_findings, read
from langgraphserver import Platform
from pagescript import ALIKE, THREE
from playwright.sync_api import Locator, Page, expect

pytestmark = pytest.mark.slow

NEXT_TOO = "Next ones too…"
LINE = "body.title: any value you said"


def waiting(platform: Platform, instruction: str = ALIKE) -> str:
    thread = platform.new_thread()
    platform.run(thread, input={"instruction": instruction})
    return thread


def question(page: Page, title: str) -> Locator:
    """The question about the task of that title."""
    return page.get_by_role("article", name="POST create_task").filter(has_text=title)


def permit_titles(asked: Locator) -> None:
    asked.get_by_role("button", name=NEXT_TOO).click()
    asked.get_by_label(LINE).check()
    asked.get_by_role("button", name="Approve and permit").click()


def permitted(platform: Platform) -> list[str]:
    return [item["text"] for item in platform.client.http.get("/permissions")]


def test_a_permission_with_a_free_title_lets_the_next_tasks_go_out_unasked(tab: Tab, platform: Platform) -> None:
    page = tab.open(f"#/thread/{waiting(platform)}")
    asked = question(page, "Fill beds")
    asked.get_by_role("button", name=NEXT_TOO).click()
    expect(asked.get_by_label(LINE)).to_be_focused()
    expect(asked.get_by_role("status")).to_have_text(
        "The thread has no other request of this operation to compare with."
    )
    assert axe_findings(page) == []
    asked.get_by_label(LINE).check()
    asked.get_by_label("How many requests at most").fill("2")
    asked.get_by_label("For how many hours").fill("0.5")
    asked.get_by_role("button", name="Approve and permit").click()
    expect(page.locator(".answer")).to_have_text("All three are added.")
    assert platform.changes() == ["POST 201"] * 3
    [text] = permitted(platform)
    assert "create_task, POST /projects/{project_id}/tasks, unasked 2 times" in text
    assert text.endswith(f"with\n  {LINE}\n  path.project_id = 1")


def test_the_form_says_what_it_would_have_covered_and_a_cancel_permits_nothing(tab: Tab, platform: Platform) -> None:
    page = tab.open(f"#/thread/{waiting(platform)}")
    question(page, "Fill beds").get_by_role("button", name="Approve", exact=True).click()
    asked = question(page, "Turn compost")
    asked.get_by_role("button", name=NEXT_TOO).click()
    told = asked.get_by_role("status")
    expect(told).to_have_text("It would have covered 0 of the 1 other requests of this operation in the thread.")
    asked.get_by_label(LINE).check()
    expect(told).to_have_text(
        'It would have covered 1 of the 1 other requests of this operation in the thread, such as ["Fill beds"].'
    )
    asked.get_by_role("button", name="Cancel").click()
    approve = asked.get_by_role("button", name="Approve", exact=True)
    expect(approve).to_be_focused()
    approve.click()
    expect(question(page, "Water seedlings")).to_be_visible()
    assert permitted(platform) == []
    assert platform.changes() == ["POST 201"] * 2


def test_a_number_that_no_permission_may_have_is_refused_with_the_reason(tab: Tab, platform: Platform) -> None:
    page = tab.open(f"#/thread/{waiting(platform)}")
    asked = question(page, "Fill beds")
    asked.get_by_role("button", name=NEXT_TOO).click()
    asked.get_by_label("How many requests at most").fill("2000")
    asked.get_by_role("button", name="Approve and permit").click()
    expect(asked.get_by_role("alert")).to_contain_text("a whole number from 1 to 1000")
    assert permitted(platform) == []
    assert platform.changes() == []


def test_of_several_questions_one_is_permitted_and_each_is_decided_for_itself(tab: Tab, platform: Platform) -> None:
    page = tab.open(f"#/thread/{waiting(platform, THREE)}")
    asked = page.get_by_role("article", name="POST create_task")
    expect(asked.get_by_role("button", name=NEXT_TOO)).to_be_disabled()
    expect(asked.get_by_text("To approve it, read to its end.")).to_be_visible()
    read(asked)
    asked.get_by_role("button", name=NEXT_TOO).click()
    expect(asked.get_by_text("are the same in everything.")).to_be_visible()
    expect(asked.get_by_label("How many requests at most")).to_be_focused()
    asked.get_by_role("button", name="Approve and permit").click()
    expect(asked.get_by_text("Approved, and the next ones too")).to_be_visible()
    expect(asked.get_by_role("button", name="Change the decision")).to_be_focused()
    assert permitted(platform) == []
    for name in ("POST create_project", "PATCH update_task"):
        other = page.get_by_role("article", name=name)
        read(other)
        other.get_by_role("button", name="Approve", exact=True).click()
    page.get_by_role("button", name="Send the decisions").click()
    expect(page.locator(".answer")).to_be_visible()
    assert len(permitted(platform)) == 1
    assert len(platform.changes()) == 3


def test_a_permission_is_listed_and_taken_back_on_the_page(tab: Tab, platform: Platform) -> None:
    thread = waiting(platform)
    page = tab.open("#/inbox")
    permit_titles(question(page, "Fill beds"))
    expect(page.get_by_text("No change waits for a decision.")).to_be_visible()
    page.get_by_role("link", name="Permissions").click()
    expect(page.get_by_role("heading", name="Permissions")).to_be_focused()
    kept = page.get_by_role("article")
    expect(kept).to_contain_text("create_task, POST /projects/{project_id}/tasks, unasked 10 times")
    expect(kept).to_contain_text(LINE)
    assert axe_findings(page) == []
    page.get_by_role("button", name="Take back").click()
    expect(page.get_by_text("Nothing is permitted beyond one request.")).to_be_visible()
    expect(page.get_by_role("heading", name="Permissions")).to_be_focused()
    assert permitted(platform) == []
    again = platform.run(thread, input={"instruction": ALIKE})
    assert "__interrupt__" in again


def test_a_server_without_the_list_has_no_link_to_it(tab: Tab, platform: Platform) -> None:
    tab.page.route("**/permissions", lambda route: route.fulfill(status=404))
    with tab.page.expect_response("**/permissions"):
        page = tab.open("#/inbox")
    expect(page.get_by_text("No change waits for a decision.")).to_be_visible()
    expect(page.get_by_role("link", name="Permissions")).to_have_count(0)
