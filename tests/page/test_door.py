"""Guards the door of the page in a real browser: token, foreign sites, policy, size and accessibility."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from browser import Tab, axe_findings, new_tab
from langgraphserver import Platform
from loopback import Handler, Server
from pagescript import CREATE, READ, THREE
from playwright.sync_api import Browser, expect
from uiserver import UiPlatform, cookie_of

pytestmark = pytest.mark.slow

MOST_BYTES = 60_000


@contextmanager
def foreign_site(html: str) -> Iterator[int]:
    """Serve one page to everybody, and give its port."""

    class Page(Handler):
        def do_GET(self) -> None:
            self.answer(html.encode(), 200, "text/html")

    with Server(Page) as server:
        yield server.server_port


ATTACK = """<!doctype html><script type="module">
const send = (path, body) => Promise.allSettled(["text/plain", "application/json"].flatMap((type) =>
  ["no-cors", "cors"].map((mode) => fetch(URL_ + path, {
    method: "POST", mode, headers: {"Content-Type": type}, body: JSON.stringify(body), credentials: "include" }))));
const given = { assistant_id: "restgpt", input: { instruction: CREATE_ }, context: { writes: "allow" } };
const approval = { assistant_id: "restgpt", command: { resume: { decisions: [{ type: "approve" }] } } };
await send("/runs/wait", given);
await send("/threads/" + THREAD_ + "/runs/wait", approval);
await send("/threads/" + THREAD_ + "/runs", { assistant_id: "restgpt", input: null });
const frame = document.createElement("iframe");
frame.src = URL_ + "/debug";
frame.onload = () => { document.title = "over"; };
document.body.append(frame);
</script><body></body>"""


def test_no_page_of_another_site_can_start_resume_or_approve(browser: Browser, platform: UiPlatform) -> None:
    thread = platform.new_thread()
    platform.run(thread, input={"instruction": CREATE})
    names = {"URL_": platform.url, "CREATE_": CREATE, "THREAD_": thread}
    html = ATTACK
    for name, value in names.items():
        html = html.replace(name, json.dumps(value))
    with foreign_site(html) as port:
        for host in ("evil.test", "127.0.0.1", "localhost"):
            tab = new_tab(browser, f"http://{host}:{port}")
            # The browser of the user has the cookie, and port and name of the other site may be as near as they like.
            tab.context.add_cookies([cookie_of(platform)])
            attack(tab)
    assert platform.changes() == []
    assert len(platform.client.runs.list(thread)) == 1
    [known] = platform.client.threads.search(limit=10)
    assert (known["thread_id"], known["status"]) == (thread, "interrupted")


def attack(tab: Tab) -> None:
    """Open the foreign page and wait until it has tried everything."""
    tab.page.goto(tab.url)
    expect(tab.page).to_have_title("over")
    # Our page does not let itself be put into a frame.
    assert tab.page.frames[1].locator("nav").count() == 0
    assert len([request for request in tab.requests if request.method == "POST"]) >= 3
    tab.context.close()


def test_the_page_is_small_and_paints_soon(tab: Tab, record_property: Any) -> None:
    sizes: dict[str, int] = {}
    tab.context.on("requestfinished", lambda request: sizes.update({request.url: request.sizes()["responseBodySize"]}))
    page = tab.open()
    expect(page.get_by_text("No threads yet.")).to_be_visible()
    files = {url: size for url, size in sizes.items() if "/debug" in url}
    assert len(files) >= 3
    assert sum(files.values()) < MOST_BYTES
    # What stands in the document may not be painted yet.
    entry = page.wait_for_function("performance.getEntriesByName('first-contentful-paint')[0]")
    paint = entry.evaluate("entry => entry.startTime")
    record_property("first contentful paint in ms", paint)
    print(f"{sum(files.values()):,} bytes, first contentful paint after {paint:.0f} ms")
    assert paint < 5_000


def test_axe_has_no_serious_finding_in_light_and_dark(tab: Tab, platform: Platform) -> None:
    page = tab.start(READ)
    expect(page.locator(".answer")).to_be_visible()
    assert axe_findings(page) == []
    given: Any = {"instruction": THREE}
    platform.run(platform.new_thread(), input=given)
    page.get_by_role("link", name="Inbox").click()
    asked = page.get_by_role("article", name="POST create_task")
    asked.get_by_role("button", name="Edit…").click()
    expect(asked.get_by_label("title required")).to_be_visible()
    page.get_by_role("article", name="PATCH update_task").get_by_role("button", name="Reject…").click()
    assert axe_findings(page) == []
