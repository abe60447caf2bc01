"""Guards the deadline of a turn: models, programs and requests end by it, and the turn ends with what was found."""

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from langchain_core.messages import BaseMessage
from langgraph.store.memory import InMemoryStore
from paths import api_of
from roles import call, plan, program, role_of, select
from scripted import Reply, ScriptedModel

from restgpt.graph.build import build_graph
from restgpt.nodes.run.services import Context, Services
from restgpt.tools.http.http_client import HttpClient
from restgpt.tools.response.content import Reply as HttpReply
from restgpt.tools.settings import Settings

LISTS, ADDS = {"operationId": "list_things", "responses": {}}, {"operationId": "add_note", "responses": {}}
API = api_of({"/things": {"get": LISTS}, "/notes": {"post": ADDS}}, base_url="http://127.0.0.1:9")
LOOK = {"thought": "", "decision": "functions", "text": "list things"}
OVER = "The budget for this instruction is used up (500 seconds)"


class Clock:
    """A clock that only the test moves."""

    def __init__(self) -> None:
        self.time = 1000.0

    def __call__(self) -> float:
        return self.time


class AnsweringClient(HttpClient):
    """Answers each request with a long list, and keeps the seconds that it might have taken."""

    def __init__(self) -> None:
        super().__init__(settings=Settings())
        self.left: list[float] = []

    def send(self, *given: Any, deadline: float | None = None, **more: Any) -> HttpReply:
        assert deadline is not None
        self.left.append(deadline - self._clock())
        body = str(list(range(500))).encode()
        return HttpReply(200, "OK", {"content-type": "application/json"}, "application/json", body)


def turn(
    model: ScriptedModel, clock: Callable[[], float], http: HttpClient | None = None, **context: Any
) -> dict[str, Any]:
    """Carry out an instruction that may take 500 seconds."""
    defaults = Context(**{"max_seconds": 500, "writes": "allow", **context})
    given: Any = {"defaults": defaults, "settings": Settings(), "http": http or AnsweringClient()}
    services = Services([API], model=model, clock=clock, **given)
    graph = build_graph(services=services, store=InMemoryStore())
    return graph.invoke({"instruction": "List the things"})  # type: ignore[return-value]


def slow_after(role: str, clock: Clock, told: Mapping[str, Reply]) -> ScriptedModel:
    """Return a model whose reply as one role takes longer than the turn may."""

    def reply(prompt: list[BaseMessage]) -> Reply:
        if role_of(prompt) == role:
            clock.time += 600
        return told[role_of(prompt)]

    return ScriptedModel(reply)


def test_a_planner_that_looks_again_and_again_is_not_asked_after_the_deadline() -> None:
    clock = Clock()

    def look(prompt: list[BaseMessage]) -> Reply:
        clock.time += 300
        return {**LOOK, "text": f"list things {clock.time}"}

    model = ScriptedModel(look)
    assert OVER in turn(model, clock)["answer"]
    assert len(model.prompts) == 2


@pytest.mark.parametrize(("slow", "not_asked"), [("planner", "selector"), ("selector", "caller"), ("caller", "parser")])
def test_no_role_is_asked_after_the_deadline(slow: str, not_asked: str) -> None:
    clock = Clock()
    told = {"planner": plan("List the things"), "selector": select("list_things"), "caller": call({}), "parser": "..."}
    model = slow_after(slow, clock, told)
    assert OVER in turn(model, clock, road="roles")["answer"]
    assert not_asked not in map(role_of, model.prompts)


def test_no_program_is_written_after_the_deadline() -> None:
    clock = Clock()
    model = slow_after("selector", clock, {"express": plan("List the things"), "selector": select("list_things")})
    assert OVER in turn(model, clock)["answer"]


def test_a_model_that_does_not_answer_is_not_waited_for() -> None:
    released, waits = threading.Event(), list[bool]()

    def silent(prompt: list[BaseMessage]) -> Reply:
        waits.append(released.wait(30))
        return LOOK

    answer = turn(ScriptedModel(silent), Clock(), max_seconds=0.2)["answer"]
    assert "is used up (0.2 seconds)" in answer
    assert waits == []
    released.set()


def test_the_error_of_a_model_is_that_of_the_turn() -> None:
    with pytest.raises(TimeoutError, match="of the model's own"):
        turn(ScriptedModel([TimeoutError("of the model's own")]), Clock())


def test_every_request_has_the_time_that_the_instruction_has_left() -> None:
    clock, http = Clock(), AnsweringClient()

    def write(prompt: list[BaseMessage]) -> Reply:
        clock.time += 200
        return program("list_things()\nadd_note()\nprint('done')")

    assert turn(ScriptedModel(write), clock, http)["answer"] == "done"
    assert len(http.left) == 2
    assert all(0 < left <= 300 for left in http.left)


def test_a_program_that_is_out_of_time_is_stopped_with_a_sentence_that_the_answer_holds() -> None:
    clock = Clock()

    def write(prompt: list[BaseMessage]) -> Reply:
        clock.time += 600
        return program("print('Good morning.')")

    answer = turn(ScriptedModel(write), clock)["answer"]
    assert OVER in answer
    assert "The program was stopped, because the time for this instruction is used up: 500 s." in answer


@pytest.mark.slow
def test_imports_that_fail_one_after_the_other_do_not_prolong_a_turn_by_much() -> None:
    code = """
import sys
for _ in range(900_000):
    sum(range(1000))
name = next(name[::-1] for name in ("diuu", "eueuq", "camh", "pizg") if name[::-1] not in sys.modules)
raise ImportError(f"No module named {name!r}")
"""
    started = time.monotonic()
    replies = ScriptedModel(lambda prompt: program(code))
    answer = turn(replies, time.monotonic, max_seconds=5)["answer"]
    assert "is used up (5 seconds)" in answer
    assert time.monotonic() - started < 20
