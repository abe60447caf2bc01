"""Guards the plain loop that RestGPT is compared with: what it sends, what a model reads of it, and what it costs."""

from typing import Any

from langchain_core.messages import AIMessage, ToolMessage
from scripted import ScriptedModel

from restgpt_bench.methods.plain_loop import looped
from restgpt_bench.restbench.perfect import Script, ScriptedPlayer, scripted
from restgpt_bench.restbench.suite import open_suite
from restgpt_bench.worlds import CREDENTIAL, open_world, served_api
from restgpt_bench.worlds.server import serve

GIVEN = {"today": "2026-03-02", "credential": CREDENTIAL}


def called(name: str, **arguments: Any) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": "call-1", "type": "tool_call"}])


def test_it_carries_out_every_task_of_a_suite_with_the_model_that_is_always_right() -> None:
    suite = open_suite("dev-toy")
    for item in suite.items:
        world = open_world(suite.world)
        world.reset(item.task.fixture)
        reader = scripted("scripted:perfect", item, world)
        with serve(world) as server:
            done = looped(reader, served_api("toy", server.url), item.instruction, **GIVEN)
        assert item.task.check(world, world.log, done["answer"]).ok
        assert done["calls"] == done["requests"] + 1 == len(world.log) + 1
        assert done["input_tokens"] > 1000 * done["calls"]


def test_a_failure_is_told_with_its_status() -> None:
    model = ScriptedModel([called("get_task", task_id=999), "There is none."])
    with serve(open_world("toy")) as server:
        looped(model, served_api("toy", server.url), "What is task 999?", **GIVEN)
    [result] = [message for message in model.prompts[-1] if isinstance(message, ToolMessage)]
    assert str(result.text).startswith("HTTP 404: ")


def test_known_calls_are_made_in_their_rounds() -> None:
    rounds = [
        [("get_task", {"task_id": 101}), ("get_task", {"task_id": 102})],
        [("update_task", {"task_id": 101, "hours": 5})],
    ]
    player = ScriptedPlayer.over(Script("", (), "Done.", rounds=rounds))
    world = open_world("toy")
    with serve(world) as server:
        done = looped(player, served_api("toy", server.url), "Look, and set the hours.", **GIVEN)
    assert (done["answer"], done["calls"], done["requests"]) == ("Done.", 3, 3)
    assert [entry.method for entry in world.log] == ["GET", "GET", "PATCH"]
