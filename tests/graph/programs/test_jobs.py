"""Guards jobs that take time: a program that waits is saved, holds no thread, and begins no job twice."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from threading import Event, Thread
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests
import yaml
from board import Agent, agent_of
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from loopback import Handler, served
from paths import api_of
from requests.adapters import HTTPAdapter
from roles import by_role, end, program

from restgpt.nodes.run.services import Context, Services
from restgpt.specs import Api
from restgpt.tools.errors import WaitingError
from restgpt.tools.http.cancellation import Cancellation, CancelledRunError, cancellable

PATHS = """
/jobs:
  post:
    operationId: start_job
    requestBody: {content: {application/json: {schema: {type: object, properties: {name: {type: string}}}}}}
    responses: {"202": {description: ok, content: {application/json: {schema: {type: object}}}}}
/jobs/{job_id}:
  get:
    operationId: get_job
    parameters: [{name: job_id, in: path, required: true, schema: {type: integer}}]
    responses: {"200": {description: ok, content: {application/json: {schema: {type: object}}}}}
"""
WAITS = """
import time
job = start_job(body={"name": "Poster"})
while get_job(job_id=job["id"])["state"] != "done":
    time.sleep(0.05)
print("done")
"""


class Printer:
    """A server whose jobs are done when somebody has asked for them `asked` times."""

    def __init__(self) -> None:
        self.asked = 4
        self.begun: list[int] = []
        self.heard = Event()
        printer = self

        class Answers(Handler):
            def do_POST(self) -> None:
                self.body()
                printer.begun.append(0)
                self.answer({"id": len(printer.begun), "state": "running"}, 202)

            def do_GET(self) -> None:
                number = int(urlsplit(self.path).path.rpartition("/")[2]) - 1
                printer.begun[number] += 1
                self.answer({"state": "done" if printer.begun[number] >= printer.asked else "running"})
                printer.heard.set()

        self.handler = Answers


@pytest.fixture
def printer() -> Printer:
    return Printer()


@pytest.fixture
def api(printer: Printer) -> Iterator[Api]:
    with served(printer.handler) as url:
        yield api_of(yaml.safe_load(PATHS), base_url=url)


def agent(api: Api, code: str = WAITS, now: Callable[[], float] | None = None, **context: Any) -> Agent:
    model = by_role({"express": [program(code)], "planner": [end("No.", fulfilled=False)]})
    clock = {} if now is None else {"now": now}
    services = Services([api], model=model, defaults=Context(writes="allow", **context), **clock)
    return agent_of(None, model, services=services)


def test_a_program_waits_for_a_job_and_its_polls_cost_no_requests(api: Api, printer: Printer) -> None:
    done = agent(api, max_requests=2).ask("Print the poster")
    assert done["answer"] == "done"
    assert printer.begun == [4]


def test_the_same_read_without_a_wait_is_no_poll(api: Api, printer: Printer) -> None:
    printer.begun.append(0)
    code = "import time\nfor _ in range(9):\n    get_job(job_id=1)\ntime.sleep(0.01)\nprint('read')"
    state = agent(api, code, max_requests=4).ask("Read the job")
    assert printer.begun == [4]
    assert state["answer"] == "No."


def test_a_long_wait_stops_the_run_and_it_goes_on_when_it_is_resumed_later(api: Api, printer: Printer) -> None:
    printer.asked, now = 2, [1_700_000_000.0]
    made = agent(api, WAITS.replace("0.05", "600"), lambda: now[0])
    late = r"waits until 2023-11-14 22:23:20 UTC before it goes on after get_job\. Thread thread is saved"
    for given in ({"instruction": "Print the poster"}, None):
        with pytest.raises(WaitingError, match=late):
            made.graph.invoke(given, made.config)
        assert (printer.begun, len(made.model.prompts)) == ([1], 1)
    now[0] += 600
    assert made.graph.invoke(None, made.config)["answer"] == "done"
    assert (printer.begun, len(made.model.prompts)) == ([2], 1)


def test_a_run_that_is_stopped_while_it_waits_ends_at_once_and_can_go_on(api: Api, printer: Printer) -> None:
    printer.asked, now, stopped = 2, [1_700_000_000.0], Cancellation()
    made = agent(api, WAITS.replace("0.05", "50"), lambda: now[0])

    def stop() -> None:
        printer.heard.wait(60)
        stopped.cancel()

    Thread(target=stop).start()
    with cancellable(stopped), pytest.raises(CancelledRunError):
        made.ask("Print the poster")
    assert printer.begun == [1]
    now[0] += 50
    assert made.graph.invoke(None, made.config)["answer"] == "done"
    assert printer.begun == [2]


class Breaking(HTTPAdapter):
    """A connection that a kill ends at the request of a number, before or after it was sent."""

    def __init__(self, at: int, *, is_after: bool) -> None:
        super().__init__()
        self.count, self.at, self.is_after = 0, at, is_after

    def send(self, request: Any, *given: Any, **options: Any) -> Any:
        self.count += 1
        if self.count == self.at and not self.is_after:
            raise Killed
        answer = super().send(request, *given, **options)
        if self.count == self.at:
            raise Killed
        return answer


class Killed(BaseException):
    """The end of a process."""


@pytest.mark.parametrize("is_after", [False, True])
@pytest.mark.parametrize("at", [1, 2, 3, 4])
def test_a_run_that_is_killed_while_it_waits_begins_no_job_twice(
    api: Api, printer: Printer, at: int, is_after: bool
) -> None:
    saved: Any = {"store": InMemoryStore(), "checkpointer": InMemorySaver()}
    model = by_role({"express": [program(WAITS)]})
    given: Any = {"model": model, "defaults": Context(writes="allow")}
    session = requests.Session()
    session.mount("http://", Breaking(at, is_after=is_after))
    broken = Services([api], session=session, **given)
    with pytest.raises(Killed):
        agent_of(None, model, services=broken, **saved).ask("Print the poster")
    again = agent_of(None, model, services=Services([api], **given), **saved)
    state = again.graph.invoke(None, again.config)
    if at == 1:  # whether the first request was carried out is not known, so it is asked about
        assert len(printer.begun) == (1 if is_after else 0)
        assert "__interrupt__" in state
    else:
        assert state["answer"] == "done"
        assert len(printer.begun) == 1
    assert len(model.prompts) == 1


def ours() -> int:
    """The threads in which nodes run."""
    return sum(thread.name.startswith("restgpt_") for thread in threading.enumerate())


def test_runs_that_wait_hold_no_thread(api: Api, printer: Printer) -> None:
    model = by_role({"express": [program(WAITS.replace("0.05", "0.2"))] * 12})
    graph = agent_of([api], model, concurrency=2, context={"writes": "allow"}).graph
    before = most = ours()

    async def watched() -> list[Any]:
        nonlocal most
        configs: list[Any] = [{"configurable": {"thread_id": f"thread {number}"}} for number in range(12)]
        runs = [asyncio.create_task(graph.ainvoke({"instruction": "Print it"}, config)) for config in configs]
        while not all(run.done() for run in runs):
            most = max(most, ours())
            await asyncio.sleep(0.05)
        return [run.result() for run in runs]

    states = asyncio.run(watched())
    assert [state["answer"] for state in states] == ["done"] * 12
    assert printer.begun == [4] * 12
    assert most - before <= 2
