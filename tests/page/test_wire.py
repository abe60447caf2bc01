"""Guards the wire of the page in a real browser: requests and answers, secrets hidden, and where values came from."""

import json
import shlex
from typing import Any

import pytest
from browser import Tab, axe_findings
from langgraphserver import APPROVE, Platform
from pagescript import COPY, HOSTILE, LARGE, NOTES, QUOTED, STRANGE
from playwright.sync_api import Locator, Page, expect

from restgpt_bench.worlds import CREDENTIAL

pytestmark = pytest.mark.slow


def started(platform: Platform, instruction: str) -> str:
    """Start a run up to its pause; return its thread."""
    thread = platform.new_thread()
    given: Any = {"instruction": instruction}
    assert "__interrupt__" in platform.run(thread, input=given)
    return thread


def call(page: Page, number: int) -> Locator:
    """The call of this number, opened."""
    found = page.get_by_role("list", name="Requests").locator("> li").nth(number)
    found.locator("summary").first.click()
    return found


def test_a_value_leads_to_the_answer_it_was_read_from(tab: Tab, platform: Platform) -> None:
    thread = started(platform, COPY)
    page = tab.open(f"#/thread/{thread}/wire")
    expect(page.get_by_role("status")).to_have_text("2 requests")
    changed = call(page, 1)
    expect(changed.locator("summary").first).to_contain_text("PATCH")
    expect(changed.locator("summary").first).to_contain_text("/v1/tasks/102")
    expect(changed.locator("summary").first).to_contain_text("waits for a person")
    expect(changed.get_by_label("Values of update_task")).to_contain_text("path.task_id = 102")
    source = changed.get_by_role("button", name="read from the answer of find_tasks, at /items/1/id")
    source.press("Enter")
    answer = page.get_by_label("Body of the answer of find_tasks")
    expect(answer).to_be_focused()
    expect(answer.locator("mark")).to_have_text("102")
    expect(answer.get_by_label("Piece of the answer")).to_contain_text("Paint the cables")
    answer.get_by_role("button", name="whole body").click()
    expect(answer.get_by_label("Piece of the answer")).to_contain_text('"total"')
    platform.run(thread, command=APPROVE)
    expect(changed.locator("summary").first).to_contain_text("200")
    expect(changed).to_contain_text("as the journal of changes holds it")
    expect(changed.get_by_label("Answer of update_task", exact=True)).to_contain_text("application/json")
    assert axe_findings(page) == []
    assert CREDENTIAL not in page.content()


def test_a_large_body_is_read_in_pieces(tab: Tab, platform: Platform) -> None:
    page = tab.open(f"#/thread/{started(platform, LARGE)}/wire")
    asked = call(page, 0)
    body = asked.get_by_label("Body of the request of create_task")
    expect(body).to_contain_text("some are shortened")
    assert len(body.inner_text()) < 12_000
    body.get_by_label("JSON pointer of the value to read").fill("/notes")
    page.keyboard.press("Enter")
    expect(body).to_contain_text(f"of {NOTES + 3:,}")
    expect(body.get_by_role("button", name="Previous")).to_be_disabled()
    body.get_by_role("button", name="Next").click()
    expect(body.get_by_role("button", name="Previous")).to_be_enabled()
    assert len(body.inner_text()) < 12_000
    body.get_by_role("button", name="whole body").click()
    expect(body).to_contain_text('"title"')


def test_hostile_text_of_a_request_is_shown_as_such(tab: Tab, platform: Platform) -> None:
    page = tab.open(f"#/thread/{started(platform, HOSTILE)}/wire")
    shown = call(page, 0).get_by_label("Piece of the request")
    expect(shown).to_contain_text("<img src=x onerror=alert(1)>")
    expect(shown.locator(".mark").filter(has_text="U+0430")).to_be_visible()
    assert page.locator("img").count() == 0
    assert not set(page.inner_text("main")) & set("\u202e\u202c\u200b\x1b\x07")
    assert json.dumps(STRANGE)[1:4] in shown.inner_text()


def test_a_request_is_copied_as_a_command_of_curl_without_credentials(tab: Tab, platform: Platform) -> None:
    tab.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = tab.open(f"#/thread/{started(platform, QUOTED)}/wire")
    call(page, 0).get_by_role("button", name="Copy as curl").click()
    expect(page.get_by_text("Copied, without credentials.")).to_be_visible()
    sent = shlex.split(page.evaluate("navigator.clipboard.readText()").replace("\\\n", ""))
    assert (sent[0], sent[sent.index("-X") + 1]) == ("curl", "POST")
    assert sent[3].endswith("/v1/projects")
    assert json.loads(sent[sent.index("--data-binary") + 1]) == {"name": "Bo's $HOME `id`"}
    assert CREDENTIAL not in " ".join(sent)
