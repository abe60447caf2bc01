"""Guards the log: each node and request has an event, and no event holds confidential values."""

import logging
from typing import Any

import pytest
from board import served_board
from roles import by_role, call, end, plan, select

from restgpt.tools.tracing.telemetry import node_context, observed

WORDS = "Chestnut"


def run(board: Any, *, thread: str = "watched") -> None:
    body = {"path": {"project_id": 1}, "body": {"title": f"{WORDS} planting"}}
    planner = [plan("Add a task"), end("Done.")]
    agent = board.agent(by_role({"planner": planner, "selector": [select("create_task")], "caller": [call(body)]}))
    agent.thread = thread
    agent.ask(f"Add the task '{WORDS} planting' to project 1", writes="allow")


def test_each_node_and_request_is_one_event_with_thread_step_and_time(caplog: pytest.LogCaptureFixture) -> None:
    with served_board() as board, caplog.at_level(logging.INFO, logger="restgpt"):
        run(board)
    events = [record.event for record in caplog.records if hasattr(record, "event")]
    nodes = [event for event in events if "operation" not in event]
    told = [event["node"] for event in nodes]
    assert told == ["intake", "planner", "selector", "caller", "parser", "parser", "planner"]
    assert {event["status"] for event in nodes} == {"done"}
    assert [event["step"] for event in nodes] == list(range(1, 8))
    [sent] = [event for event in events if "operation" in event]
    assert (sent["thread"], sent["node"]) == ("watched", "parser")
    assert (sent["operation"], sent["status"]) == ("create_task", 201)
    assert sent["bytes"] > 0
    assert {"ms", "attempts", "method", "api"} <= sent.keys()
    assert WORDS not in str(events)


def test_a_pause_and_a_failure_are_told_apart(caplog: pytest.LogCaptureFixture) -> None:
    def failing() -> None:
        raise ValueError(WORDS)

    with caplog.at_level(logging.INFO, logger="restgpt"), pytest.raises(ValueError, match=WORDS):
        observed("node", failing)()
    [record] = caplog.records
    assert (record.event["status"], record.event["fault"]) == ("failed", "ValueError")  # type: ignore[attr-defined]
    assert WORDS not in record.getMessage()
    assert node_context() == {}
