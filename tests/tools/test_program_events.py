"""Guards the observability of programs: an event of the parser has numbers and fixed words, no code and no values."""

import logging
from typing import Any

import pytest
from board import served_board
from scripted import ScriptedModel

from restgpt.tools.tracing.telemetry import annotate, observed

WORD = "Chestnut"
CODE = f'made = gather(*[create_project(body={{"name": f"{WORD} {{n}}"}}) for n in range(2)])\nprint(made[0]["name"])'


def events(caplog: pytest.LogCaptureFixture, node: str) -> list[dict[str, Any]]:
    found = [record.event for record in caplog.records if hasattr(record, "event")]
    return [event for event in found if event["node"] == node and "operation" not in event]


def test_each_run_of_a_program_tells_its_number_its_calls_and_how_it_ended(caplog: pytest.LogCaptureFixture) -> None:
    reply = {"thought": "", "decision": "program", "text": CODE}
    with served_board() as board, caplog.at_level(logging.INFO, logger="restgpt"):
        board.agent(ScriptedModel([reply]), context={"road": "program"}).ask("Create two", writes="allow")
    told = [(event["program"], event["program_calls"], event["program_end"]) for event in events(caplog, "parser")]
    assert told == [(1, 2, "calls"), (1, 0, "finished")]
    assert WORD not in str(events(caplog, "parser"))
    assert "program" not in events(caplog, "planner")[0]


def test_facts_belong_to_the_node_that_runs(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="restgpt"):
        annotate(program=1)
        observed("first", lambda: annotate(program=2))()
        observed("second", lambda: None)()
    assert [event["program"] for event in events(caplog, "first")] == [2]
    assert "program" not in events(caplog, "second")[0]
