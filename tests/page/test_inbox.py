"""Guards the approvals of the page in a real browser: what is shown is what is sent, and only what a person decided."""

import json
from typing import Any

import pytest
from browser import Tab
from langgraphserver import Platform
from pagescript import CREATE, EXACT, HOSTILE, HUGE, LARGE, NOTES, STRANGE, THREE
from playwright.sync_api import Locator, Page, expect

pytestmark = pytest.mark.slow

SHOWN = STRANGE.replace("\x1b", "\ufffd").replace("\x07", "\ufffd")
"""The strange name in a form: no control characters. It is sent as it is."""


def question(page: Page, name: str) -> Locator:
    """The question about a call, such as `POST create_task`."""
    return page.get_by_role("article", name=name, exact=True)


def waiting(platform: Platform, instruction: str) -> str:
    """Start a run by the SDK, as another client would, up to its pause; return its thread."""
    thread = platform.new_thread()
    given: Any = {"instruction": instruction}
    assert "__interrupt__" in platform.run(thread, input=given)
    return thread


def state(platform: Platform, kind: str) -> list[dict[str, Any]]:
    return list(platform.world.snapshot()["state"][kind].values())


def test_one_change_is_shown_and_sent_only_after_its_approval(tab: Tab, platform: Platform) -> None:
    page = tab.start(CREATE)
    asked = question(page, "POST create_project")
    expect(asked).to_contain_text("/v1/projects")
    expect(asked.locator("pre").first).to_have_text('{"name":"Roof garden"}')
    expect(asked).to_contain_text("DELETE /projects/{project_id} deletes what it makes")
    expect(asked).to_contain_text("body.name: you said it")
    expect(page.get_by_role("link", name="Inbox")).to_contain_text("1")
    assert platform.changes() == []
    asked.get_by_role("button", name="Approve", exact=True).click()
    expect(page.locator(".answer")).to_have_text("It is created.")
    expect(page.get_by_label("Instruction")).to_be_focused()
    assert platform.changes() == ["POST 201"]
    expect(page.get_by_role("link", name="Inbox")).not_to_contain_text("1")


def test_a_change_waits_in_the_inbox_however_many_threads_are_newer(tab: Tab, platform: Platform) -> None:
    thread = waiting(platform, CREATE)
    for _ in range(60):
        platform.client.threads.create(metadata={"graph_id": "restgpt"})
    page = tab.open("#/inbox")
    expect(page.get_by_text("1 change waits for your decision.")).to_be_visible()
    question(page, "POST create_project").get_by_role("button", name="Approve", exact=True).click()
    expect(page.get_by_text("No change waits for a decision.")).to_be_visible()
    page = tab.open(f"#/thread/{thread}")
    expect(page.locator(".answer")).to_have_text("It is created.")
    assert platform.changes() == ["POST 201"]


def test_three_changes_are_approved_edited_and_rejected_each_for_itself(tab: Tab, platform: Platform) -> None:
    waiting(platform, THREE)
    page = tab.open("#/inbox")
    expect(page.get_by_text("3 changes wait for your decision.")).to_be_visible()
    send = page.get_by_role("button", name="Send the decisions")
    expect(send).to_be_disabled()

    project = question(page, "POST create_project")
    project.get_by_role("button", name="Approve", exact=True).click()
    expect(project.get_by_role("button", name="Change the decision")).to_be_focused()
    task = question(page, "POST create_task")
    task.get_by_role("button", name="Edit…").click()
    title = task.get_by_label("title required")
    expect(title).to_have_value("Sow the peas")
    expect(task).to_contain_text("path.project_id")
    expect(task.get_by_label("hours")).to_have_attribute("type", "number")
    title.fill("")
    task.get_by_label("hours").fill("-2")
    task.get_by_role("button", name="Use the edit").click()
    hours = question(page, "PATCH update_task")
    hours.get_by_role("button", name="Reject…").click()
    hours.get_by_label("Reason").fill("Nine are too many.")
    hours.get_by_role("button", name="Reject", exact=True).click()
    expect(send).to_be_focused()
    page.keyboard.press("Enter")

    # The product refuses the edit and says so at the fields; what was written is still there.
    expect(page.get_by_text("1 change waits for your decision.")).to_be_visible()
    expect(task.get_by_role("alert")).to_contain_text("The edit does not fit the operation.")
    expect(title).to_be_focused()
    expect(title).to_have_attribute("aria-invalid", "true")
    expect(title).to_have_accessible_description("'' should be non-empty")
    expect(task.get_by_label("hours")).to_have_value("-2")
    expect(task.get_by_text("-2 is less than the minimum of 0")).to_be_visible()
    assert platform.changes() == []
    title.fill("Sow the beans")
    task.get_by_label("hours").fill("")
    task.get_by_label("done").select_option("true")
    task.get_by_role("button", name="Use the edit").click()

    expect(page.get_by_text("No change waits for a decision.")).to_be_visible()
    expect(page.get_by_role("navigation").get_by_text("done")).to_be_visible()
    assert sorted(platform.changes()) == ["POST 201", "POST 201"]
    [made] = [item for item in state(platform, "tasks") if item["title"] == "Sow the beans"]
    assert (made["done"], made["hours"]) == (True, 0)
    assert "Rain garden" in platform.projects()
    page.get_by_role("navigation").get_by_role("link", name=THREE[:20]).click()
    expect(page.locator(".answer")).to_have_text("One change was left out, as you said.")


def test_all_changes_are_approved_together_once_all_were_on_the_screen(tab: Tab, platform: Platform) -> None:
    thread = waiting(platform, THREE)
    page = tab.page
    page.set_viewport_size({"width": 1100, "height": 500})
    tab.open(f"#/thread/{thread}")
    together = page.get_by_role("button", name="Approve all 3")
    expect(together).to_be_disabled()
    alone = question(page, "PATCH update_task").get_by_role("button", name="Approve", exact=True)
    expect(alone).to_be_disabled()  # its request is below the edge of the screen
    for name in ("PATCH update_task", "POST create_task", "POST create_project"):
        expect(together).to_be_disabled()
        question(page, name).evaluate(
            "at => (at.scrollIntoView(), new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go))))"
        )
    expect(together).to_be_enabled()
    expect(alone).to_be_enabled()
    reject = question(page, "PATCH update_task")
    reject.get_by_role("button", name="Reject…").click()
    reject.get_by_role("button", name="Reject", exact=True).click()
    assert platform.changes() == []
    page.get_by_role("button", name="Approve the other 2").click()
    expect(page.locator(".answer")).to_be_visible()
    assert sorted(platform.changes()) == ["POST 201", "POST 201"]


def test_keys_decide_on_the_change_that_has_the_focus_and_on_no_other(tab: Tab, platform: Platform) -> None:
    thread = waiting(platform, CREATE)
    tab.page.clock.install()
    page = tab.open(f"#/thread/{thread}")
    asked = question(page, "POST create_project")
    expect(asked).to_be_visible()

    def press(*keys: str) -> None:
        tab.page.clock.fast_forward(1_000)
        for key in keys:
            page.keyboard.press(key)

    # The first key only leads to the change, and a text that somebody types decides nothing.
    press("Shift+Slash")
    expect(page.get_by_text("Keys, in the change that has the focus: a approve")).to_be_visible()
    expect(asked).to_be_focused()
    press(*"xa")
    press("e")
    expect(asked.get_by_label("name required")).to_be_focused()
    press("Escape")
    expect(asked.get_by_role("button", name="Approve", exact=True)).to_be_focused()
    press("r")
    press("a")
    expect(asked.get_by_label("Reason")).to_have_value("a")
    press("Escape")
    expect(asked.get_by_role("button", name="Approve", exact=True)).to_be_focused()
    assert platform.changes() == []
    press("a")
    expect(page.locator(".answer")).to_have_text("It is created.")
    assert platform.changes() == ["POST 201"]


def test_the_buttons_of_a_long_question_are_on_the_screen(tab: Tab, platform: Platform) -> None:
    thread = waiting(platform, LARGE)
    tab.page.set_viewport_size({"width": 390, "height": 700})
    page = tab.open(f"#/thread/{thread}")
    for name in ("Approve", "Reject…"):
        expect(question(page, "POST create_task").get_by_role("button", name=name, exact=True)).to_be_in_viewport(
            ratio=1
        )


def test_what_a_person_decided_stands_where_it_happened_also_after_a_reload(tab: Tab, platform: Platform) -> None:
    page = tab.start(THREE)
    question(page, "POST create_project").get_by_role("button", name="Approve", exact=True).click()
    task = question(page, "POST create_task")
    task.get_by_role("button", name="Edit…").click()
    task.get_by_label("hours").fill("3")
    task.get_by_role("button", name="Use the edit").click()
    hours = question(page, "PATCH update_task")
    hours.get_by_role("button", name="Reject…").click()
    hours.get_by_label("Reason").fill("Nine are too many.")
    hours.get_by_role("button", name="Reject", exact=True).click()
    page.get_by_role("button", name="Send the decisions").click()
    expect(page.locator(".answer")).to_be_visible()
    told = page.get_by_role("list", name="Progress").get_by_role("listitem").filter(has_text="You ")
    for _ in range(2):
        expect(told).to_have_text(
            [
                "You approved POST /v1/projects",
                "You edited and approved POST /v1/projects/1/tasks",
                "You rejected PATCH /v1/tasks/101: Nine are too many.",
            ]
        )
        page.reload()


def test_a_change_can_wait_while_another_thread_is_decided(tab: Tab, platform: Platform) -> None:
    waiting(platform, CREATE)
    waiting(platform, EXACT)
    page = tab.open("#/inbox")
    expect(page.get_by_text("2 changes wait for your decision.")).to_be_visible()
    later = question(page, "PATCH update_task")
    later.get_by_role("button", name="Later").click()
    expect(later).not_to_contain_text("Where values come from")
    question(page, "POST create_project").get_by_role("button", name="Approve", exact=True).click()
    expect(page.get_by_text("1 change waits for your decision.")).to_be_visible()
    expect(later.get_by_role("button", name="Later")).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_role("navigation").get_by_text("done")).to_be_visible()
    assert platform.changes() == ["POST 201"]


def test_hostile_text_is_shown_as_such_and_does_nothing(tab: Tab, platform: Platform) -> None:
    page = tab.start(HOSTILE)
    asked = question(page, "POST create_project")
    shown = asked.locator("pre").first
    expect(shown).to_contain_text(r"pay\u202ealice\u202c \u200bp")
    expect(shown.locator(".mark").filter(has_text="U+0430")).to_be_visible()
    expect(shown).to_contain_text("<img src=x onerror=alert(1)>")
    assert page.locator("img").count() == 0
    text = page.inner_text("body")
    assert not set(text) & set("\u202e\u202c\u200b\x1b\x07")
    asked.get_by_role("button", name="Edit…").click()
    expect(asked.get_by_label("name required")).to_have_value(SHOWN)
    asked.get_by_role("button", name="Cancel").click()
    expect(asked.get_by_role("button", name="Approve", exact=True)).to_be_focused()
    asked.get_by_role("button", name="Approve", exact=True).click()
    expect(page.locator(".answer")).to_have_text("It is created.")
    assert STRANGE in platform.projects()


def test_a_long_body_is_cut_with_a_note_and_can_be_read_to_its_end(tab: Tab, platform: Platform) -> None:
    waiting(platform, LARGE)
    page = tab.open("#/inbox")
    asked = question(page, "POST create_task")
    expect(asked).to_contain_text("too long to show here as a whole")
    expect(asked.locator(".remark")).to_have_text("397,030 bytes are left out here")
    assert len(asked.inner_text()) < 10_000
    asked.get_by_role("button", name="Show the whole body").click()
    whole = asked.get_by_label("The whole body")
    more = whole.get_by_role("button", name="more characters")
    more.click()
    expect(more).to_have_count(0)
    assert json.loads(whole.inner_text())["notes"] == "n" * NOTES + "END"
    assert platform.changes() == []


def test_a_number_that_javascript_cannot_hold_stays_as_it_is(tab: Tab, platform: Platform) -> None:
    waiting(platform, EXACT)
    page = tab.open("#/inbox")
    asked = question(page, "PATCH update_task")
    expect(asked.locator("pre").first).to_have_text(f'{{"hours":{HUGE}}}')
    asked.get_by_role("button", name="Edit…").click()
    expect(asked.get_by_label("hours")).to_have_value(str(HUGE))
    expect(asked.get_by_label("task_id required")).to_have_value("101")  # given as text
    asked.get_by_label("notes").fill("exact")
    asked.get_by_role("button", name="Use the edit").click()
    expect(page.get_by_text("No change waits for a decision.")).to_be_visible()
    expect(page.get_by_role("navigation").get_by_text("done")).to_be_visible()
    changed = platform.world.snapshot()["state"]["tasks"]["101"]
    assert (changed["hours"], changed["notes"]) == (HUGE, "exact")


def test_an_answer_to_an_older_question_approves_no_newer_one(tab: Tab, platform: Platform) -> None:
    thread = waiting(platform, CREATE)
    page = tab.open("#/inbox")
    asked = question(page, "POST create_project")
    expect(asked).to_be_visible()
    [interrupt] = platform.client.threads.get_state(thread)["interrupts"]
    # Another client answers with an edit that does not fit, so that the thread asks anew.
    unfit = {"type": "edit", "edited_action": {"name": "create_project", "args": {"body": {"name": ""}}}}
    old = {"resume": {interrupt["id"]: {"decisions": [{"type": "approve"}]}}}
    platform.run(thread, command={"resume": {"decisions": [unfit]}})
    platform.run(thread, command=old)
    assert platform.changes() == []
    expect(asked.get_by_role("alert")).to_contain_text("/body/name: '' should be non-empty")


def test_letters_that_imitate_latin_ones_are_marked_and_a_text_of_their_alphabet_is_not(
    tab: Tab, platform: Platform
) -> None:
    for name in ("Сколько задач не готово? сон", "\u0440\u0430\u0443 the bill"):
        platform.client.threads.create(graph_id="restgpt", metadata={"name": name})
    page = tab.open()
    listed = page.get_by_role("navigation").locator(".name")
    expect(listed).to_have_count(2)
    expect(listed.filter(has_text="задач").locator(".mark")).to_have_count(0)
    expect(listed.filter(has_text="the bill").locator(".mark")).to_have_text(
        ["\u0440 U+0440", "\u0430 U+0430", "\u0443 U+0443"]
    )
