"""Guards the chat of the page in a real browser: progress, answer, reload, stop and going on, errors."""

import re
from typing import Any

import pytest
from browser import Tab, axe_findings
from langgraphserver import APPROVE, Platform
from pagescript import ANSWER, BROKEN, COPY, CREATE, READ, REPAIR, REPORT, SLOW, PageScript
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
        expect(page.locator(".live")).to_have_text(re.compile(r"^Working … [1-9]\d* s( · \S+)?$"))
        page.get_by_role("button", name="Stop").click()
        if platform.stops_at_once:
            expect(page.get_by_role("button", name="Resume")).to_be_visible()
        else:
            expect(page.get_by_role("button", name="Stop")).to_be_disabled()
    expect(page.get_by_role("button", name="Resume")).to_be_visible()
    expect(page.get_by_role("navigation").get_by_text("stopped")).to_be_visible()
    expect(page.get_by_text(WORKING)).to_have_count(0)
    page.get_by_role("button", name="Resume").click()
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
    expect(progress.locator("details[open]", has_text="The program failed").locator("pre")).to_be_visible()
    expect(progress).to_contain_text(re.compile(r"POST\s*http://\S+/projects"))
    expect(progress).to_contain_text(re.compile(r"201 · \d+ ms"))


def test_a_run_that_waits_shows_its_program_and_its_reads_where_it_is_opened_later(
    tab: Tab, platform: Platform
) -> None:
    thread = platform.new_thread()
    platform.run(thread, input={"instruction": COPY})
    page = tab.open(f"#/thread/{thread}")
    expect(page.get_by_role("button", name="Approve", exact=True)).to_be_visible()
    progress = page.get_by_role("list", name="Progress").last
    expect(progress.get_by_text("Program 1")).to_have_count(1)
    expect(progress).to_contain_text(re.compile(r"GET\s*http://\S+/tasks200 · \d+ ms"))
    page.get_by_role("button", name="Approve", exact=True).click()
    expect(page.locator(".answer")).to_have_text("It has one more.")
    expect(progress.get_by_text("Program 1")).to_have_count(1)


def test_an_answer_is_read_as_markdown_without_html_images_or_foreign_links(tab: Tab, script: PageScript) -> None:
    page = tab.start(READ)
    expect(page.locator(".answer")).to_be_visible()
    expect(page.get_by_role("button", name="Send", exact=True)).to_be_visible()
    host = page.get_by_role("list", name="Progress").locator(".url").inner_text().partition("/v1/")[0]
    script.report = f"""# Tasks

**Two** of *24* tasks, `done`:

1. Oil the hinges
   - 3 hours \\* or more
   - <b>bold</b> <img src=x onerror=alert(1)>
2. Paint [the fence]({host}/v1/tasks/2)

| task | hours |
|---|---|
| Oil | 3 |
| Paint | 2 * 3 * 4 |

```json
{{"a_b_c": [1, 2.50, null, {{"deep": {{"er": {{"x": 1}}}}}}]}}
```
> ![a picture](https://evil.test/x.png) [here](https://evil.test/) [there](javascript:alert(1))
"""
    page.get_by_label("Instruction").fill(REPORT)
    page.keyboard.press("Enter")
    answer = page.locator(".answer").last
    expect(answer.locator(".heading")).to_have_text("Tasks")
    expect(answer.locator("strong")).to_have_text("Two")
    expect(answer.locator("em")).to_have_text("24")
    expect(answer.locator("code")).to_have_text("done")
    expect(answer.locator("ol > li")).to_have_count(2)
    expect(answer.locator("ol > li ul > li")).to_have_text(
        ["3 hours * or more", "<b>bold</b> <img src=x onerror=alert(1)>"]
    )
    expect(answer.get_by_role("cell")).to_have_text(["Oil", "3", "Paint", "2 * 3 * 4"])
    expect(answer.get_by_role("link")).to_have_text([f"{host}/v1/tasks/2"])
    expect(answer.locator("blockquote")).to_contain_text(
        "a picture (https://evil.test/x.png) here (https://evil.test/)"
    )
    expect(answer.locator("img, b")).to_have_count(0)
    tree = answer.get_by_label("JSON")
    expect(tree.get_by_text('"deep":')).to_be_visible()
    expect(tree.get_by_text('"x":')).to_have_count(0)
    assert axe_findings(page) == []
    answer.get_by_role("button", name="Raw").click()
    expect(answer.locator("pre")).to_contain_text("2.50")


def test_an_answer_that_is_no_markdown_keeps_its_lines_and_signs(tab: Tab, script: PageScript) -> None:
    script.report = "snake_case_name and 2*3*4\n#1 of 3 | x\n5 * 6 * 7 [a]"
    page = tab.start(REPORT)
    expect(page.get_by_role("navigation").get_by_text("done")).to_be_visible()
    assert page.locator(".answer").inner_text() == script.report


def test_an_answer_of_signs_that_nest_without_end_is_shown(tab: Tab, script: PageScript) -> None:
    script.report = ">" * 300 + "*_`[" * 300 + "".join("\n" + " " * n + "- x" for n in range(60))
    page = tab.start(REPORT)
    expect(page.locator(".answer")).to_contain_text("- x")
