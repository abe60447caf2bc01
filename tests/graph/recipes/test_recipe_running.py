"""Guards the reads that the node `parser` of a recipe's graph sends itself: they differ only in their checkpoints."""

import asyncio
import logging
from collections.abc import Callable
from threading import Barrier, Event, Lock, local
from typing import Any

import pytest
from board import Board
from kitchen import Kitchen
from langgraph.errors import GraphDrained
from langgraph.runtime import RunControl
from langgraph.types import Command

from recipes import CREATED, LISTED, recipe
from restgpt.calling.claim import LostClaimError
from restgpt.nodes.run.services import Context, Services
from restgpt.recipes.recipe import Recipe
from restgpt.tools.errors import ConnectFault
from restgpt.tools.http.http_client import HttpClient
from restgpt.tools.response.content import Reply
from restgpt.tools.settings import ApiEntry, PolicyRule, Settings

SHOWN = "get_project"
TWO = """\
first = rows(list_projects())[0]
print(get_project(project_id=first["id"])["name"])
"""
"""A program with two reads, of which the second needs the answer to the first."""

GATHERED = """\
found = gather(*[get_project(project_id=number) for number in inputs["numbers"]])
print(", ".join(item["name"] for item in found))
"""
"""A program whose reads go out side by side."""

REPEATED = """\
found = [get_project(project_id=number) for number in inputs["numbers"]]
print(", ".join(item["name"] for item in found))
"""
"""A program whose reads go out one after the other."""

CHANGE = """\
first = rows(list_projects())[0]
shown = get_project(project_id=first["id"])
print(create_task(project_id=shown["id"], body={"title": inputs["title"]})["title"])
"""
"""A program with two reads and a change."""

TWICE = """\
found = rows(list_projects())[0]["id"]
try:
    first = create_task(project_id=found, body={"title": inputs["title"]})["title"]
except Rejected:
    first = "nothing"
print(first, create_task(project_id=found, body={"title": f"Again: {inputs['title']}"})["title"], sep=", ")
"""
"""A program with two changes, of which a person may reject the first."""

NOTHING: Any = {"type": "object", "properties": {}}
NUMBERS = {"type": "object", "properties": {"numbers": {"type": "array", "items": {"type": "integer"}}}}
READS = ["GET /projects 200", "GET /projects/{project_id} 200"]
ADDED = "POST /projects/{project_id}/tasks 201"
TITLE = {"project": "any", "title": "Buy soil"}
TITLED = {"type": "object", "properties": {"title": {"type": "string"}}}
REJECT: Any = Command(resume={"decisions": [{"type": "reject"}]})
APPROVE: Any = Command(resume={"decisions": [{"type": "approve"}]})


def two(board: Board) -> Recipe:
    return recipe(board.api, TWO, (LISTED, SHOWN), inputs=NOTHING)


def gathered(board: Board) -> Recipe:
    return recipe(board.api, GATHERED, (SHOWN,), inputs=NUMBERS)


def repeated(board: Board) -> Recipe:
    return recipe(board.api, REPEATED, (SHOWN,), inputs=NUMBERS)


def changing(board: Board) -> Recipe:
    return recipe(board.api, CHANGE, (LISTED, SHOWN, CREATED))


class Steps(local):
    """A clock that advances by a step at each reading of a thread."""

    def __init__(self, step: float) -> None:
        self._step, self._time = step, 0.0

    def __call__(self) -> float:
        self._time += self._step
        return self._time


QUICK = 0.001
"""The step of a clock, in seconds."""


def kitchen(made: Recipe, board: Board, http: HttpClient | None = None, **given: Any) -> Kitchen:
    options = {"clock": Steps(QUICK), "defaults": Context(max_seconds=1_000_000), **given}
    return Kitchen(made, board, services=Services([board.api], http=http, **options))


def nodes_of(opened: Kitchen, inputs: Any, **context: Any) -> list[str]:
    """Run a recipe and return the nodes of its updates."""
    given: Any = {"context": context or None, "stream_mode": "updates"}
    parts = opened.open().stream({"inputs": inputs}, opened.config, **given)
    return [name for part in parts for name in part]


class Told(HttpClient):
    """A client that calls `tell` with the number of each request before it sends the request."""

    def __init__(self, tell: Callable[[int], None]) -> None:
        super().__init__()
        self._tell, self._number = tell, 0

    def send(self, *args: Any, **more: Any) -> Reply:
        self._number += 1
        self._tell(self._number)
        return super().send(*args, **more)


class KilledError(BaseException):
    """The process is killed."""


def raising(number: int, error: BaseException) -> Callable[[int], None]:
    def tell(sent: int) -> None:
        if sent == number:
            raise error

    return tell


def test_the_reads_of_a_recipe_are_one_update_and_a_change_has_checkpoints_of_its_own(board: Board) -> None:
    assert nodes_of(kitchen(two(board), board), {}) == ["open", "parser"]
    assert board.calls() == READS
    opened = kitchen(changing(board), board)
    assert nodes_of(opened, TITLE, writes="allow") == ["open", "parser", "parser"]
    assert board.calls() == [*READS, *READS, ADDED]


def test_a_hundred_reads_are_kept_before_the_next_ones(board: Board) -> None:
    opened = kitchen(gathered(board), board)
    assert nodes_of(opened, {"numbers": [1] * 101}, max_requests=200) == ["open", "parser", "parser"]
    opened = kitchen(repeated(board), board)
    nodes = nodes_of(opened, {"numbers": [1] * 102}, max_requests=200)
    assert nodes == ["open", "parser", "parser"]
    assert len(board.calls()) == 101 + 102


def test_the_budget_of_requests_ends_a_run_between_two_reads(board: Board) -> None:
    opened = kitchen(two(board), board)
    opened.run({}, max_requests=1)
    assert board.calls() == READS[:1]
    assert opened.state["program"]["end"] == "budget"


def test_the_time_of_reads_that_the_node_sent_counts_at_once(board: Board) -> None:
    now = [0.0]

    def pass_time(number: int) -> None:
        now[0] += 0.5

    opened = kitchen(two(board), board, Told(pass_time), clock=lambda: now[0])
    assert "the time for this instruction is used up" in opened.run({}, max_seconds=0.4)["answer"]
    assert board.calls() == READS[:1]


def ruled(board: Board, made: Recipe, *rules: PolicyRule) -> Kitchen:
    settings = Settings(apis={board.api.name: ApiEntry(name=board.api.name, spec="board.yaml", policy=rules)})
    return Kitchen(made, board, services=Services([board.entry()], settings=settings, clock=Steps(QUICK)))


def test_a_read_that_a_rule_asks_about_waits_for_a_person_like_any_other_call(board: Board) -> None:
    opened = ruled(board, two(board), PolicyRule("ask", ids=("get_project",)))
    [pause] = opened.run({})["__interrupt__"]
    assert pause.value["program"]["calls"][0]["operation"] == "get_project"
    assert board.calls() == READS[:1]
    assert opened.run(APPROVE)["answer"] == "Winter timetable"
    assert board.calls() == READS


def test_a_read_beside_one_that_a_rule_asks_about_waits_too(board: Board) -> None:
    code = "both = gather(list_projects(), find_tasks())\nprint(rows(both[0])[0]['name'])"
    made = recipe(board.api, code, (LISTED, "find_tasks"), inputs=NOTHING)
    opened = ruled(board, made, PolicyRule("ask", ids=("find_tasks",)))
    assert len(opened.run({})["__interrupt__"][0].value["action_requests"]) == 1
    assert board.calls() == []
    assert opened.run(APPROVE)["answer"] == "Winter timetable"
    assert sorted(board.calls()) == ["GET /projects 200", "GET /tasks 200"]


def test_a_read_that_a_rule_refuses_ends_the_run_in_the_same_node(board: Board) -> None:
    opened = ruled(board, two(board), PolicyRule("deny", ids=("get_project",)))
    assert nodes_of(opened, {}) == ["open", "parser"]
    assert "does not allow get_project" in opened.state["answer"]
    assert board.calls() == READS[:1]


def test_a_dry_run_sends_the_reads_and_holds_the_change(board: Board) -> None:
    opened = kitchen(changing(board), board)
    answer = opened.run(TITLE, writes="dry-run")["answer"]
    for told in ("Dry run: nothing was changed.", "would have been sent", '"title": "Buy soil"'):
        assert told in answer
    assert board.calls() == READS


class Meeting(HttpClient):
    """A client that counts the requests that are under way at once, and can wait for some of them to meet."""

    def __init__(self, number: int = 1) -> None:
        super().__init__()
        self._barrier, self._lock = Barrier(number), Lock()
        self._now, self.most = 0, 0

    def send(self, *args: Any, **more: Any) -> Reply:
        with self._lock:
            self._now += 1
            self.most = max(self.most, self._now)
        self._barrier.wait(60)
        try:
            return super().send(*args, **more)
        finally:
            with self._lock:
                self._now -= 1


def test_a_few_reads_go_out_side_by_side(board: Board) -> None:
    opened = kitchen(gathered(board), board, Meeting(3))
    assert nodes_of(opened, {"numbers": [1, 2, 3]}) == ["open", "parser"]
    assert len(opened.state["requests"]) == 3


def test_reads_side_by_side_are_no_more_than_the_host_allows(board: Board) -> None:
    http = Meeting()
    opened = kitchen(gathered(board), board, http)
    opened.config = {**opened.config, "max_concurrency": 1}
    assert nodes_of(opened, {"numbers": [1, 2, 3]}) == ["open", "parser"]
    assert http.most == 1


def test_nodes_and_requests_have_events_with_thread_and_node(board: Board, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="restgpt"):
        kitchen(gathered(board), board).run({"numbers": [1, 2]})
    events = [record.event for record in caplog.records if hasattr(record, "event")]
    nodes = [event for event in events if "operation" not in event]
    assert [event["node"] for event in nodes] == ["open", "parser"]
    assert {(event["thread"], event["status"]) for event in nodes} == {("thread", "done")}
    requests = [event for event in events if "operation" in event]
    assert [(event["thread"], event["node"]) for event in requests] == [("thread", "parser")] * 2


def test_an_error_of_one_read_is_raised_when_the_others_have_ended_and_the_run_goes_on_later(board: Board) -> None:
    opened = kitchen(gathered(board), board, Told(raising(2, ConnectFault("the network is down"))))
    with pytest.raises(ConnectFault):
        opened.run({"numbers": [1, 2, 3]})
    before = len(board.calls())
    assert opened.run(None)["answer"].startswith("Winter timetable, ")
    assert len(board.calls()) == before + 3
    assert opened.state["usage"]["requests"] == 3


def test_a_run_that_is_killed_between_two_reads_sends_reads_again_and_no_change(board: Board) -> None:
    opened = kitchen(changing(board), board, Told(raising(2, KilledError())))
    with pytest.raises(KilledError):
        opened.run(TITLE, writes="allow")
    assert opened.run(None, writes="allow")["answer"] == "Buy soil"
    assert board.calls() == [READS[0], *READS, ADDED]
    assert opened.state["usage"]["requests"] == 3


def test_a_run_that_is_killed_at_its_change_sends_no_read_again(board: Board) -> None:
    opened = kitchen(changing(board), board, Told(raising(3, KilledError())))
    with pytest.raises(KilledError):
        opened.run(TITLE, writes="allow")
    assert board.calls() == READS
    assert opened.graph.get_state(opened.config).next == ("parser",)
    assert opened.run(None, writes="allow")["answer"] == "Buy soil"
    assert board.calls() == [*READS, ADDED]


def test_a_branch_of_a_thread_goes_on_with_its_own_answers(board: Board) -> None:
    opened = kitchen(recipe(board.api, TWICE, (LISTED, CREATED), inputs=TITLED), board)
    opened.run({"title": "Buy soil"})
    asked = opened.graph.get_state(opened.config).config
    opened.run(APPROVE)
    approved = opened.graph.get_state(opened.config).config
    opened.graph.invoke(None, opened.graph.update_state(asked, None, as_node="__copy__"))
    opened.run(REJECT)
    assert opened.graph.invoke(APPROVE, approved)["answer"] == "Buy soil, Again: Buy soil"


def test_a_run_that_was_overtaken_between_two_reads_sends_no_more(board: Board) -> None:
    def overtake(number: int) -> None:
        if number == 1:
            other.run(None)

    late = kitchen(two(board), board, Told(overtake))
    other = kitchen(two(board), board)
    other.saver, other.store = late.saver, late.store
    with pytest.raises(LostClaimError):
        late.run({})
    assert board.calls() == [*READS, READS[0]]
    assert other.state["answer"] == "Winter timetable"


def test_a_run_that_its_host_drains_ends_before_its_next_read(board: Board) -> None:
    control = RunControl()
    opened = kitchen(two(board), board, Told(lambda number: control.request_drain()))
    with pytest.raises(GraphDrained):
        opened.open().invoke({"inputs": {}}, opened.config, control=control)
    assert board.calls() == READS[:1]
    assert opened.run(None)["answer"] == "Winter timetable"
    assert board.calls() == READS


def test_reads_are_sent_the_same_way_under_asyncio(board: Board) -> None:
    async def run() -> list[str]:
        opened = kitchen(gathered(board), board, Meeting(2)).open()
        config: Any = {"configurable": {"thread_id": "1"}}
        parts = opened.astream({"inputs": {"numbers": [1, 2]}}, config, stream_mode="updates")
        return [name async for part in parts for name in part]

    assert asyncio.run(run()) == ["open", "parser"]


def test_a_cancelled_run_sends_no_further_read(board: Board) -> None:
    begun, free = Event(), Event()

    def hold(number: int) -> None:
        if number == 1:
            begun.set()
            free.wait()

    opened = kitchen(two(board), board, Told(hold))
    opened.options["concurrency"] = 1

    async def run() -> Any:
        graph = opened.open()
        task = asyncio.create_task(graph.ainvoke({"inputs": {}}, opened.config))
        await asyncio.to_thread(begun.wait)
        task.cancel()
        await asyncio.wait([task])
        free.set()
        # The graph has one thread, so this run begins when the node of the other one has ended.
        return await graph.ainvoke({"inputs": {}}, {"configurable": {"thread_id": "2"}})

    assert asyncio.run(run())["answer"] == "Winter timetable"
    assert board.calls() == READS


def test_reads_that_the_node_sends_side_by_side_are_streamed_as_they_go(board: Board) -> None:
    graph = kitchen(gathered(board), board).open()
    given: Any = {"inputs": {"numbers": [1, 2, 3]}}
    parts: list[Any] = list(graph.stream(given, {"configurable": {"thread_id": "1"}}, stream_mode="custom"))
    assert [part["type"] for part in parts][:2] == ["task_started", "program_written"]
    started = [part["id"] for part in parts if part["type"] == "request_started"]
    finished = [part["id"] for part in parts if part["type"] == "request_finished"]
    assert len(set(started)) == 3
    assert sorted(started) == sorted(finished)
    assert [part["end"] for part in parts if part["type"] == "step_finished"] == ["report"]
