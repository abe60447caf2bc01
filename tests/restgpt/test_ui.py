"""Guards `restgpt ui`: the page and the commands have the same threads, locks and journal; only the token opens it."""

import json
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
import requests
from asgi import requested
from chatserver import ChatServer
from cli import Cli
from httpx2 import Response
from roles import end, program
from uiserver import UiPlatform, running_ui, started

from restgpt.calling.permissions import Permissions
from restgpt.commands.terminal import Terminal, UsageError
from restgpt.commands.ui.command import PORTS, listen_near
from restgpt.commands.ui.page_runs import Runs
from restgpt.commands.ui.page_threads import MOST_HISTORY, TITLES, PageThreads
from restgpt.commands.ui.web import REFUSED, make_app
from restgpt.graph.build import build_graph
from restgpt.graph.persistence import Persistence, open_persistence, thread_config
from restgpt.sources import Sources
from restgpt.specs import load_api
from restgpt.specs.reading.download import bundled_document
from restgpt.threads import ThreadRecord, Threads
from restgpt.tools.settings import Secret, Settings
from restgpt_bench.worlds import CREDENTIAL
from restgpt_bench.worlds.faults import Fault, FaultKind
from restgpt_bench.worlds.server import WorldServer

ONCE, TOKEN, ORIGIN = "the-token-that-works-once", "the-token-of-the-server", "http://127.0.0.1:3000"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
CREATE = program('create_project(body={"name": "Moss"})\nprint("It is created.")')
COUNT = program("print('There are', find_tasks()['total'], 'tasks.')")
PATIENCE_S = 120


class Page:
    """The app of `restgpt ui` in this process, and what the page does with it."""

    def __init__(self, kept: Persistence, **context: Any) -> None:
        self.kept = kept
        self.runs = Runs()
        given: Any = {"sources": Sources(), "context": context, "terminal": Terminal(quiet=True)}
        self.threads = threads = PageThreads(kept, Settings.from_env(), runs=self.runs, **given)
        self.app = make_app(threads, self.runs, kept, token=Secret(TOKEN), once=Secret(ONCE))

    def send(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] = BEARER, *, text: str = ""
    ) -> Response:
        """Send one request, with JSON or with a text that is declared as JSON."""
        given: dict[str, Any] = {} if body is None else {"json": body}
        if text:
            headers = {**headers, "Content-Type": "application/json"}
            given = {"content": text}
        return requested(self.app, method, path, at=ORIGIN, headers=headers, **given)

    def get(self, path: str) -> Any:
        """Return the answer to a GET that succeeds."""
        answer = self.send("GET", path)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def listed(self, graph: str = "restgpt", **wanted: Any) -> list[Any]:
        """Return the list of threads."""
        found: list[Any] = self.send("POST", "/threads/search", {"metadata": {"graph_id": graph}, **wanted}).json()
        return found

    def run(self, thread: str, **given: Any) -> Response:
        """Begin a run and wait for its end; return the answer to its beginning."""
        answer = self.send("POST", f"/threads/{thread}/runs", given)
        if answer.is_success:
            assert self.runs.get(thread, answer.json()["run_id"]).ended.wait(PATIENCE_S)
        return answer

    def say(self, text: str) -> str:
        """Begin a thread with an instruction, and return it."""
        made = self.send("POST", "/threads", {"metadata": {"graph_id": "restgpt", "name": text}}).json()
        assert self.tell(made["thread_id"], text).is_success
        return str(made["thread_id"])

    def tell(self, thread: str, text: str) -> Response:
        """Give a thread an instruction."""
        return self.run(thread, input={"messages": [{"type": "human", "content": text}]})

    def values(self, thread: str) -> Any:
        """Return what the state of a thread holds."""
        return self.get(f"/threads/{thread}/state")["values"]

    def due(self, thread: str) -> None:
        """Go on with what is due until the thread has ended."""
        over = Event()
        looking = Thread(target=self.threads.resume_due, args=(over, 0.05))
        looking.start()
        while self.get(f"/threads/{thread}")["status"] not in ("idle", "error"):
            time.sleep(0.05)
        over.set()
        looking.join(PATIENCE_S)

    def approve(self, thread: str) -> Response:
        """Approve the question of a thread."""
        [waiting] = self.get(f"/threads/{thread}/state")["interrupts"]
        return self.run(thread, command={"resume": {waiting["id"]: {"decisions": [{"type": "approve"}]}}})


@pytest.fixture
def configured(cli: Cli, toy: WorldServer, chat: ChatServer, monkeypatch: pytest.MonkeyPatch) -> WorldServer:
    """The toy board, as the entry `board` of the `apis.yaml` in the working folder, and a model."""
    monkeypatch.setenv("OPENAI_BASE_URL", chat.url)
    monkeypatch.setenv("RESTGPT_MODEL", "openai:scripted")
    entry = f"board: {{spec: {bundled_document('toy')}, base_url: {toy.url}, auth: {{key: {CREDENTIAL}}}}}\n"
    Path("apis.yaml").write_text(entry, encoding="utf-8")
    return toy


@pytest.fixture
def page(cli: Cli, configured: WorldServer) -> Iterator[Page]:
    with open_persistence(Settings.from_env()) as kept:
        yield Page(kept)


def changes(toy: WorldServer) -> list[str]:
    return [f"{entry.method} {entry.status}" for entry in toy.world.log if entry.method != "GET"]


Write = Callable[..., ChatServer]


# The door.


def test_the_address_opens_the_door_for_a_browser_until_the_end(page: Page) -> None:
    def opened(token: str) -> Response:
        return page.send("POST", "/debug/token", {"token": token}, {})

    assert opened("wrong").status_code == 403
    for _ in range(2):
        told = opened(TOKEN)
        [cookie, *attributes] = told.headers["set-cookie"].split("; ")
        assert (told.status_code, cookie) == (204, f"restgpt-3000={TOKEN}")
        # It ends with the browser, no script reads it, and no page of another site has it sent.
        assert set(attributes) == {"HttpOnly", "Path=/", "SameSite=strict"}
        others = "theme=dark; broken; {}=[; restgpt-8780=another"
        assert page.send("POST", "/threads/search", {}, {"Cookie": f"{others}; {cookie}"}).is_success
    # The address that a browser is started with works once.
    assert opened(ONCE).status_code == 204
    again = opened(ONCE)
    assert (again.status_code, again.json()["detail"]) == (403, REFUSED)
    assert opened(TOKEN).status_code == 204


def test_a_page_has_its_own_port_or_the_next_that_is_free() -> None:
    with listen_near("127.0.0.1", 0) as taken:
        first = taken.getsockname()[1]
        with listen_near("127.0.0.1", None, first) as near:
            assert first < near.getsockname()[1] < first + PORTS
        with pytest.raises(UsageError, match=f"{first} cannot be used"):
            listen_near("127.0.0.1", first)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Bearer wrong"},
        {"Authorization": f"Bearer {ONCE}"},
        {"Cookie": f"restgpt-3000={ONCE}"},
        {"Cookie": f"restgpt-8780={TOKEN}"},
        {"Cookie": f"restgpt-3000={TOKEN}", "Authorization": "Bearer wrong"},
    ],
)
def test_nothing_but_the_files_of_the_page_is_served_without_the_token(page: Page, headers: dict[str, str]) -> None:
    for method, path in (
        ("POST", "/threads/search"),
        ("GET", "/debug/wire?thread=x"),
        ("GET", "/threads/x/state"),
        ("GET", "/permissions"),
        ("DELETE", "/permissions/x"),
    ):
        refused = page.send(method, path, {} if method == "POST" else None, headers)
        assert (refused.status_code, refused.json()["detail"]) == (403, REFUSED)
    assert page.send("GET", "/debug", None, headers).status_code == 200


@pytest.mark.parametrize(
    "foreign",
    [
        {"Host": "evil.example"},
        {"Origin": "http://evil.example"},
        # A page of another port of this machine, to which SameSite does not apply.
        {"Origin": "http://127.0.0.1:3001"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "cross-site"},
    ],
)
def test_no_foreign_page_gets_in_even_with_the_token(page: Page, foreign: dict[str, str]) -> None:
    for own in (BEARER, {"Cookie": f"restgpt-3000={TOKEN}"}):
        assert page.send("POST", "/threads/search", {}, own | foreign).status_code == 403
    assert page.send("POST", "/debug/token", {"token": TOKEN}, foreign).status_code == 403


@pytest.mark.parametrize(("path", "status"), [("/debug/token", 403), ("/threads/search", 422)])
@pytest.mark.parametrize("text", ["[" * 200_000, "{", "[]", '"text"', '{"token": ' + "[" * 200 + "]" * 200 + "}"])
def test_a_body_that_is_no_plain_object_is_refused(page: Page, path: str, status: int, text: str) -> None:
    assert page.send("POST", path, text=text).status_code == status


def test_only_the_recipes_of_the_page_are_written_into_the_store(page: Page) -> None:
    given = {"namespace": ["restgpt", "threads"], "key": "x", "value": {}}
    assert page.send("PUT", "/store/items", given).status_code == 422
    assert page.send("PUT", "/store/items", given | {"namespace": ["restgpt", "page", "recipes"]}).is_success
    assert page.send("POST", "/store/items/search", {}).json() == {"items": [{"key": "x", "value": {}}]}


def test_a_permission_is_listed_and_one_is_taken_back(page: Page) -> None:
    board, kept = load_api(bundled_document("toy")), Permissions(page.kept.store)
    for name in ("create_project", "create_task"):
        kept.confirm_read(board.operation(name), "a person said so")
    first, second = page.get("/permissions")
    assert (first["text"], second["text"]) == tuple(map(str, kept.listed()))
    for _ in range(2):
        assert page.send("DELETE", f"/permissions/{first['key']}").is_success
    assert page.get("/permissions") == [second]


# The same threads.


def test_what_a_command_began_is_decided_by_a_page(
    page: Page, cli: Cli, configured: WorldServer, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(CREATE)
    assert cli("ask", "Create Moss", "--thread", "mine").code == 3
    [listed] = page.listed()
    assert (listed["thread_id"], listed["status"], listed["metadata"]["name"]) == ("mine", "interrupted", "Create Moss")
    [[question]] = listed["interrupts"].values()
    assert question["value"]["action_requests"][0]["request"]["body"] == {"name": "Moss"}
    # A thread that names no model goes on with that of the page.
    monkeypatch.delenv("RESTGPT_MODEL")
    page = Page(page.kept, model="openai:scripted")
    assert page.approve("mine").is_success
    assert page.get("/threads/mine")["status"] == "idle"
    assert page.values("mine")["answer"] == "It is created."
    shown = cli("threads", "mine")
    assert "mine (done)" in shown.out
    assert "It is created." in shown.out
    assert changes(configured) == ["POST 201"]


def test_what_a_page_began_is_decided_by_a_command(page: Page, cli: Cli, configured: WorldServer, write: Write) -> None:
    write(CREATE, COUNT)
    thread = page.say("Create Moss")
    before = page.get(f"/threads/{thread}")
    assert before["status"] == "interrupted"
    resumed = cli("resume", thread, "--approve")
    assert (resumed.code, resumed.out) == (0, "It is created.\n")
    after = page.get(f"/threads/{thread}")
    assert (after["status"], after["interrupts"]) == ("idle", {})
    # The page reads the open thread again when this changes, also within one second.
    assert after["updated_at"] > before["updated_at"]
    assert changes(configured) == ["POST 201"]
    # The conversation goes on at the command line, with the APIs of the thread.
    assert cli("ask", "Count the tasks", "--thread", thread).out == "There are 24 tasks.\n"
    assert [message["type"] for message in page.values(thread)["messages"]] == ["human", "ai"] * 2


def test_what_waits_is_listed_however_many_threads_are_newer(page: Page, configured: WorldServer, write: Write) -> None:
    write(CREATE, CREATE)
    waiting = page.say("Add the project Moss")
    undone = page.say("Add the project Moss")
    assert page.approve(undone).is_success
    assert page.run(f"{undone}/undo", input={"changes": 1}).is_success
    threads = Threads(page.kept.store)
    for number in range(60):
        threads.keep(ThreadRecord(f"newer-{number}", "Count the tasks", Sources(("board",)), status="done"))
        threads.keep(ThreadRecord(f"newer-{number}/undo", "Undo", Sources(("board",)), status="done"))
    for graph, thread in (("restgpt", waiting), ("undo", f"{undone}/undo")):
        [listed] = page.listed(graph, status="interrupted", limit=1_000)
        assert (listed["thread_id"], len(listed["interrupts"])) == (thread, 1)
    assert page.approve(f"{undone}/undo").is_success
    assert page.listed("undo", status="interrupted") == []
    assert changes(configured) == ["POST 201", "DELETE 204"]


def test_a_thread_that_another_process_uses_is_refused_as_by_the_commands(page: Page, cli: Cli, write: Write) -> None:
    write(CREATE)
    cli("ask", "Create Moss", "--thread", "mine")
    with open_persistence(Settings.from_env()) as other, other.lock("mine"):
        refused = page.approve("mine")
        assert (refused.status_code, "in use by another process" in refused.json()["detail"]) == (409, True)
        edited = page.send("POST", "/threads/mine/state", {"values": {"plan": "x"}})
        assert edited.status_code == 409
        assert "in use by another process" in page.send("DELETE", "/threads/mine").json()["detail"]


def test_what_a_command_refuses_and_an_answer_without_its_question_are_told_in_a_sentence(
    page: Page, cli: Cli, configured: WorldServer, write: Write
) -> None:
    write(CREATE)
    cli("ask", "Create Moss", "--thread", "mine")
    for resume in ({"decisions": [{"type": "approve"}]}, {"another": {"decisions": [{"type": "approve"}]}}, {}, "yes"):
        refused = page.run("mine", command={"resume": resume})
        assert (refused.status_code, "no longer open" in refused.json()["detail"]) == (409, True)
    told = [
        page.tell("mine", "And now?"),
        page.run("mine", input=None),
        page.run("mine", input={"messages": []}),
        page.send("GET", "/threads/no-such/state"),
        page.send("GET", "/debug/undo?thread=no-such"),
        page.send("POST", "/threads/mine/state", {"values": {"program": {"code": 7}}}),
    ]
    assert [answer.json()["detail"] for answer in told] == [
        "Thread mine has not finished its last instruction. Resume it with: restgpt resume mine.",
        "A change waits for a decision.",
        "The input has no instruction.",
        "There is no thread no-such. List the threads with `restgpt threads`.",
        "There is no thread no-such. List the threads with `restgpt threads`.",
        told[-1].json()["detail"],
    ]
    assert "'program' was not changed" in told[-1].json()["detail"]
    assert changes(configured) == []


def test_a_run_that_was_killed_before_its_first_checkpoint_goes_on_in_the_page(page: Page, write: Write) -> None:
    write(COUNT)
    killed = ThreadRecord("mine", "Count the tasks", Sources(("board",)))
    Threads(page.kept.store).keep(killed)
    state = page.get("/threads/mine/state")
    assert page.get("/threads/mine")["status"] == "interrupted"
    assert (state["next"], [message["content"] for message in state["values"]["messages"]]) == (
        ["__start__"],
        ["Count the tasks"],
    )
    assert page.run("mine", input=None).is_success
    assert page.values("mine")["answer"] == "There are 24 tasks."


def test_resume_goes_on_with_a_fork_of_an_old_turn(page: Page, cli: Cli, configured: WorldServer, write: Write) -> None:
    write(CREATE, COUNT)
    cli("ask", "Create Moss", "--thread", "mine")
    cli("resume", "mine", "--approve")
    cli("ask", "Count the tasks", "--thread", "mine")
    history = page.send("POST", "/threads/mine/history", {"limit": 100}).json()
    parser = [item for item in history if item["next"] == ["parser"] and item["values"]["turn"] == 1][-1]
    assert page.run("mine", input=None, checkpoint_id=parser["checkpoint"]["checkpoint_id"]).is_success
    assert page.get("/threads/mine")["status"] == "interrupted"
    resumed = cli("resume", "mine", "--reject", "It is there already.")
    assert "Traceback" not in resumed.err
    assert page.values("mine")["turn"] == 1
    assert changes(configured) == ["POST 201"]


# Calls and undos.


def test_a_history_comes_in_pages_of_few_megabytes_with_the_steps_of_each_turn(page: Page, write: Write) -> None:
    write(COUNT, COUNT)
    thread = page.say("How many tasks are there?")
    assert page.tell(thread, "And now?").is_success
    graph = build_graph([], **page.kept.saved)
    for size in (MOST_HISTORY, MOST_HISTORY // 2, MOST_HISTORY // 2):
        graph.update_state(thread_config(thread), {"hint": "x" * size}, as_node="intake")
    read, before = [], None
    while True:
        given = {"limit": 1000, "before": before and {"configurable": before}}
        answer = page.send("POST", f"/threads/{thread}/history", given)
        if not answer.json():
            break
        assert len(answer.content) < 1.1 * MOST_HISTORY
        read += answer.json()
        before = read[-1]["checkpoint"]
    saved = list(graph.get_state_history(thread_config(thread)))
    assert len(read) == len(saved)
    for shown, item in zip(read, saved, strict=True):
        steps = item.values.get("steps", [])
        assert shown["checkpoint"] == item.config.get("configurable")
        assert shown["values"].get("steps", []) == [step for step in steps if step["turn"] == item.values["turn"]]
        assert len(shown["values"].get("messages", [])) == len(item.values.get("messages", []))
    assert {step["turn"] for item in saved for step in item.values.get("steps", [])} == {1, 2}


def test_an_undo_begun_in_the_page_is_the_undo_of_the_commands(page: Page, cli: Cli, configured: WorldServer) -> None:
    ran = cli("call", "create_project", "--args", '{"body": {"name": "Moss"}}', "--approve", "--json")
    thread = ran.document["thread"]
    preview = page.get(f"/debug/undo?thread={thread}")
    assert (preview["thread"], len(preview["changes"])) == (f"{thread}/undo", 1)
    undo = preview["thread"]
    page.send("POST", "/threads", {"thread_id": undo, "metadata": {"graph_id": "undo"}, "if_exists": "do_nothing"})
    assert page.run(undo, input={"thread": thread, "changes": None}).is_success
    [listed] = page.listed("undo")
    assert (listed["thread_id"], listed["status"]) == (undo, "interrupted")
    assert changes(configured) == ["POST 201"]
    # The command finds its question, and the page what the command did.
    assert cli("undo", thread, "--approve").code == 0
    assert changes(configured) == ["POST 201", "DELETE 204"]
    [human, ai] = page.get(f"/threads/{undo}/state")["values"]["messages"]
    assert (human["type"], "Done." in ai["content"]) == ("human", True)
    assert page.get(f"/debug/undo?thread={thread}")["changes"] == []


def test_an_undo_begun_by_a_command_is_decided_in_the_page(page: Page, cli: Cli, configured: WorldServer) -> None:
    call = ("call", "create_project", "--args", '{"body": {"name": "Moss"}}', "--approve", "--json")
    thread = cli(*call).document["thread"]
    assert cli("undo", thread).code == 3
    [listed] = page.listed("undo")
    assert page.approve(listed["thread_id"]).is_success
    assert changes(configured) == ["POST 201", "DELETE 204"]
    assert "nothing to undo" in cli("undo", thread).out
    told = page.tell(thread, "More")
    assert "is a single call" in told.json()["detail"]


def test_a_title_is_shown_by_the_page_alone_and_is_gone_with_its_thread(page: Page, cli: Cli, write: Write) -> None:
    write(COUNT)
    thread = page.say("Count the tasks")
    about = {"metadata": {"name": " My tasks "}}
    assert page.send("PATCH", f"/threads/{thread}", about).json()["metadata"]["name"] == "My tasks"
    assert [item["metadata"]["name"] for item in page.listed()] == ["My tasks"]
    assert "Count the tasks" in cli("threads").out
    assert page.send("PATCH", f"/threads/{thread}", {}).json()["metadata"]["name"] == "Count the tasks"
    assert page.send("PATCH", "/threads/no-such", about).status_code == 422
    assert page.send("DELETE", f"/threads/{thread}").is_success
    assert page.kept.store.search(TITLES) == []
    assert (page.listed(), cli("threads").out) == ([], "There are no threads.\n")


def test_a_run_has_the_chosen_settings_within_the_commands(page: Page, configured: WorldServer, write: Write) -> None:
    write(CREATE, COUNT)
    choices = page.get("/settings")
    assert choices == {"apis": ["board"], "writes": ["deny", "dry-run", "ask"], "model": "openai:scripted"}
    thread = page.send("POST", "/threads", {}).json()["thread_id"]
    said: Any = {"messages": [{"type": "human", "content": "Create Moss"}]}
    for wish in ({"writes": "allow"}, {"writes": "no"}, {"apis": ["another"]}):
        refused = page.run(thread, input=said, context=wish)
        assert (refused.status_code, "go beyond" in refused.json()["detail"]) == (422, True)
    assert page.run(thread, input=said, context={"writes": "dry-run", "apis": ["board"]}).is_success
    shown = page.get(f"/threads/{thread}")
    assert (shown["status"], shown["metadata"]["is_dry"], shown["metadata"]["apis"]) == ("idle", True, ["board"])
    # The next turn keeps what is not chosen anew.
    assert page.run(thread, input=said, context={"model": "openai:another", "writes": "", "apis": []}).is_success
    record = Threads(page.kept.store).get(thread)
    assert record.context == {"writes": "dry-run", "model": "openai:another"}
    assert changes(configured) == []


def test_stop_ends_a_run_before_its_next_request_and_the_thread_goes_on(
    page: Page, toy: WorldServer, write: Write
) -> None:
    both = "gather(*[create_project(body={'name': name}) for name in ('Moss', 'Fern')])"
    write(program(f"print(len({both}))"))
    thread = page.say("Add Moss and Fern")
    toy.world.faults.replace([Fault(kind=FaultKind.SLOW, seconds=1)])
    [waiting] = page.get(f"/threads/{thread}/state")["interrupts"]
    answer = {"command": {"resume": {waiting["id"]: {"decisions": [{"type": "approve"}] * 2}}}}
    run = page.runs.get(thread, page.send("POST", f"/threads/{thread}/runs", answer).json()["run_id"])
    while not changes(toy) and not run.ended.wait(0.02):
        pass
    page.send("POST", f"/threads/{thread}/runs/{run.id}/cancel")
    assert (changes(toy), page.get(f"/threads/{thread}")["status"]) == (["POST 201"], "interrupted")
    assert page.run(thread).is_success
    assert (changes(toy), page.values(thread)["answer"]) == (["POST 201"] * 2, "2")


def test_the_page_goes_on_with_a_thread_whose_wait_is_over(page: Page, toy: WorldServer, write: Write) -> None:
    write(program("import time\nlist_projects()\ntime.sleep(0.5)\nprint(len(rows(list_projects())))"))
    page = Page(page.kept, max_wait=0)
    thread = page.say("How many projects are there?")
    assert [event for event, _ in page.runs.of(thread)[0].events][-1] == "error"
    page.due(thread)
    assert page.values(thread)["answer"] == "4"
    assert len(toy.world.log) == 2


def test_the_page_rejects_a_question_that_has_expired(page: Page, toy: WorldServer, write: Write) -> None:
    write(program("create_project(body={'name': 'Moss'})"), end("No answer came."))
    page = Page(page.kept, approval_hours=0.0001)
    thread = page.say("Add Moss")
    page.due(thread)
    assert (page.values(thread)["answer"], changes(toy)) == ("No answer came.", [])


# The process.


def children(process: "subprocess.Popen[Any]") -> str:
    return Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="ascii")


def interrupted(platform: UiPlatform, chat: ChatServer, over: Event) -> str:
    """Begin a run, and press Ctrl-C while its model waits for `over`; return the thread when that is told."""
    asked = Event()

    def slow(request: Any) -> Any:
        asked.set()
        assert over.wait(PATIENCE_S)
        return CREATE

    chat.use(slow)
    thread = str(platform.client.threads.create(graph_id="restgpt")["thread_id"])
    given: Any = {"messages": [{"type": "human", "content": "Create"}]}
    platform.client.runs.create(thread, "restgpt", input=given)
    assert asked.wait(PATIENCE_S)
    platform.process.send_signal(signal.SIGINT)
    while "Stopping after" not in platform.log.read_text():
        assert platform.process.poll() is None
        time.sleep(0.05)
    return thread


@pytest.mark.slow
def test_ctrl_c_stops_the_run_after_its_model_call_and_leaves_nothing(
    cli: Cli, configured: WorldServer, tmp_path: Path, chat: ChatServer
) -> None:
    noticed = Event()
    with running_ui(tmp_path, chat.url) as platform:
        thread = interrupted(platform, chat, noticed)
        noticed.set()
        assert platform.process.wait(PATIENCE_S) == 0, platform.log.read_text()
        told = platform.log.read_text()
        assert told.count(platform.token) == 1
    assert "Traceback" not in told
    assert cli("threads").out.split()[:2] == [thread, "stopped"]
    with open_persistence(Settings.from_env()) as kept:
        assert not kept.is_busy(thread)
    assert changes(configured) == []


@pytest.mark.slow
def test_a_second_ctrl_c_ends_the_process(cli: Cli, configured: WorldServer, tmp_path: Path, chat: ChatServer) -> None:
    over = Event()
    with running_ui(tmp_path, chat.url) as platform:
        thread = interrupted(platform, chat, over)
        platform.process.send_signal(signal.SIGINT)
        assert platform.process.wait(PATIENCE_S) == 130
    over.set()
    assert cli("threads").out.split()[:2] == [thread, "stopped"]
    chat.use([COUNT])
    assert cli("resume", thread).code in (0, 2)


@pytest.mark.slow
def test_wrong_options_are_told_at_once(cli: Cli, configured: WorldServer, tmp_path: Path, chat: ChatServer) -> None:
    assert "has no entry nowhere" in cli("ui", "--api", "nowhere").err
    with started(tmp_path, chat.url) as (process, address, _):
        port = address.split(":")[2].split("/")[0]
        taken = cli("ui", "--port", port)
        assert (taken.code, f"127.0.0.1:{port} cannot be used" in taken.err) == (2, True)
        assert requests.get(f"http://127.0.0.1:{port}/threads", timeout=PATIENCE_S).status_code == 403
        assert children(process) == ""
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_S) == 0


RUN = {
    "input": {"messages": [{"content": "Wait"}], "recipe": {"recipe": {}, "inputs": {}}},
    "command": {"resume": {"x": {"decisions": []}}},
    "checkpoint_id": "x",
    "context": {"model": "openai:scripted", "writes": "ask", "apis": ["board"]},
}
BODIES: list[tuple[str, str, dict[str, Any]]] = [
    ("POST", "/threads/search", {"metadata": {"graph_id": "restgpt"}, "limit": 10}),
    ("POST", "/threads", {"metadata": {"graph_id": "restgpt", "name": "Moss"}, "thread_id": "moss"}),
    ("POST", "/threads/THREAD/state", {"values": {}, "as_node": "planner", "checkpoint_id": "x"}),
    ("POST", "/threads/THREAD/history", {"limit": 10, "before": {"configurable": {"checkpoint_id": "x"}}}),
    ("POST", "/threads/THREAD/runs", RUN),
    ("PATCH", "/threads/THREAD", {"metadata": {"name": "Moss"}}),
    ("PUT", "/store/items", {"namespace": ["restgpt", "page", "recipes"], "key": "k", "value": {}}),
]
WRONG: list[Any] = [None, True, -1, 10**30, 1.5, "", "\x00", "no", [], [1], {}, {"x": 1}, {"recipe": 5}]


def places(body: Any, before: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name, inner in body.items() if isinstance(body, dict) else ():
        yield (*before, name)
        yield from places(inner, (*before, name))


@pytest.mark.parametrize(("method", "path", "body"), BODIES, ids=[path for _, path, _ in BODIES])
def test_no_wrong_value_in_a_body_is_an_error_that_nobody_foresaw(
    page: Page, write: Write, method: str, path: str, body: dict[str, Any]
) -> None:
    write({})
    thread = page.send("POST", "/threads", {"thread_id": "garden"}).json()["thread_id"]
    for place in places(body):
        for wrong in WRONG:
            sent: Any = json.loads(json.dumps(body))
            inner = sent
            for name in place[:-1]:
                inner = inner[name]
            inner[place[-1]] = wrong
            if path.endswith("/runs") and place[0] != "command":
                del sent["command"]
            answer = page.send(method, path.replace("THREAD", thread), sent)
            assert answer.is_success or answer.json()["detail"], (place, wrong)


def test_an_edit_that_fits_no_state_is_told_and_changes_nothing(page: Page, write: Write) -> None:
    write(COUNT)
    thread = page.say("How many tasks are there?")
    history = page.send("POST", f"/threads/{thread}/history", {"limit": 99}).json()
    for checkpoint, values, told in [
        ("none", {}, "has no checkpoint none"),
        (history[-1]["checkpoint"]["checkpoint_id"], {}, "This state has no decision"),
        (None, {"messages": {"text": "hidden"}}, "invalid at messages: Message dict must contain"),
    ]:
        edit = {"values": values, "as_node": "planner", "checkpoint_id": checkpoint}
        refused = page.send("POST", f"/threads/{thread}/state", edit)
        assert (refused.status_code, told in refused.text, "hidden" in refused.text) == (422, True, False)
    assert page.run(thread, checkpoint_id="none").status_code == 422
    assert len(page.send("POST", f"/threads/{thread}/history", {"limit": 99}).json()) == len(history)


def test_a_wrong_body_is_told_by_its_place_and_without_its_value(page: Page) -> None:
    refused = page.send("POST", "/threads/search", {"limit": "a secret"})
    told = "The body is wrong at limit: Input should be a valid integer, unable to parse string as an integer."
    assert (refused.status_code, refused.json()["detail"]) == (422, told)
